"""The end of a fit: what was trained and fitted is judged, and joined to one forecaster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skinformer.estimators.batches import WindowSource, predict_windows
from skinformer.estimators.building import ModelSizes
from skinformer.estimators.fitting import FitBatches
from skinformer.estimators.hybrid import choose_trust, load_linear
from skinformer.estimators.settings import FitSettings
from skinformer.estimators.shares import Shares, judge, judging_origins
from skinformer.estimators.simple_path import SimplePath, fit_simple_path, label_rows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.fit import LinearFit
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, window_rows

__all__ = ["FitRows", "Judged", "join"]


@dataclass(frozen=True)
class Judged:
    """
    Who forecasts, and with what share.

    Parameters
    ----------
    trust : float
        Mean share of the network's correction in the forecasts.
    shares : Shares or None
        Those of each series, where it judges for itself.
    simple : SimplePath or None
        The classical forecasters, where they count.
    """

    trust: float
    shares: Shares | None = None
    simple: SimplePath | None = None

    def blend(self, ridges: dict[str, float]) -> dict[str, float]:
        """
        Tell how much each candidate of the closed form counts.

        Parameters
        ----------
        ridges : dict of str to float
            Weights of the ridges among themselves.

        Returns
        -------
        dict of str to float
            Mean weights; classical candidates that hardly count are left out.
        """
        if self.simple is None:
            return ridges
        if self.shares is None:
            return self.simple.blend
        share = float(self.shares.classical[:-1].mean())
        blend = {name: round((1 - share) * weight, 4) for name, weight in ridges.items()}
        for name, weight in self.simple.blend.items():
            blend[name] = round(blend.get(name, 0.0) + share * weight, 4)
        return blend

    def series_blend(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame | None:
        """
        Tell how much each forecaster counts for each series.

        Parameters
        ----------
        series : Index or None
            Names of the series of a panel.
        targets : Index
            Names of the targets.

        Returns
        -------
        DataFrame or None
            Rows of sum 1, see `SimplePath.weights`; None where all series have the same.
        """
        if self.shares is None:
            return None if self.simple is None else self.simple.weights(series, targets)
        classical, trust = (a[:-1].T.ravel() for a in (self.shares.classical, self.shares.trust))
        parts = {"ridges": 1 - trust, "ridges and network": trust}
        if self.simple is None:
            return pd.DataFrame(parts, index=label_rows(series, targets))
        table = self.simple.weights(series, targets).mul(classical, axis=0)
        return table.assign(**{name: (1 - classical) * part for name, part in parts.items()})


@dataclass(frozen=True)
class FitRows:
    """
    The rows of a fit, and how they are parted.

    Parameters
    ----------
    timeline : Timeline
        Standardised.
    sizes : ModelSizes
        What the columns are.
    scaler : Scaler
        How they were standardised.
    tail : ndarray of int64, shape (n_series,), or None
        The row at which each series' validation tail begins.
    tails : Origins
        The windows within these.
    """

    timeline: Timeline
    sizes: ModelSizes
    scaler: Scaler
    tail: IntArray | None
    tails: Origins


def join(
    module: Informer | Corrected,
    final: LinearFit | None,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
) -> Judged:
    """
    Let everything that was fitted before the validation tail forecast it, and share the forecast.

    The ridges have an advantage: the tail is one of four stretches by which their blend was chosen.

    Parameters
    ----------
    module : Informer or Corrected
        In evaluation mode, with trust 1; it takes its trust and the final ridges.
    final : LinearFit or None
        The ridges, fitted again; None without them.
    batches : FitBatches
        Where windows come from.
    rows : FitRows
        Of the fit.
    settings : FitSettings
        Who takes part.

    Returns
    -------
    Judged
        Of a panel and of short tables, series by series; of a long table by stretches of its tail.
    """
    if settings.simple_path and not settings.linear_path:
        return Judged(0.0, simple=_classical(rows))
    if final is None or not isinstance(module, Corrected):
        return Judged(1.0)
    judged = _judged(module, batches, rows, settings)
    trust = judged.trust if judged.shares is None else judged.shares.trust[:-1].mean()
    module.trust.fill_(trust)
    load_linear(module.path, final)
    return judged


def _judged(module: Corrected, batches: FitBatches, rows: FitRows, settings: FitSettings) -> Judged:
    if rows.tail is None or batches.validation is None or not settings.head.on_path:
        if settings.train_network:
            return Judged(1.0)  # nothing to judge by, or nothing else that forecasts the same
        even = np.full((rows.timeline.n_series + 1, rows.sizes.n_targets, 3), [0.5, 0.5, 0.0])
        return Judged(0.0, Shares.of_weights(even), _classical(rows))
    if not settings.simple_path and rows.timeline.n_series == 1:
        steps = rows.timeline.steps_of(batches.validation.draw())
        return Judged(
            choose_trust(module, batches.validation, steps=steps, error=settings.head.error)
        )
    shares = Shares.of_weights(_weights(module, batches.validation.source, rows, settings))
    simple = None
    if shares.classical.any():
        simple = _classical(rows, before_tail=settings.early_stopping is True)
    return Judged(shares.mean_trust, shares, simple)


def _weights(
    module: Corrected, source: WindowSource, rows: FitRows, settings: FitSettings
) -> Float64Array:
    """Weigh classical forecasters, ridges, and ridges with the network; 0 for who takes no part."""
    timeline, k = rows.timeline, rows.sizes.n_targets
    origins = judging_origins(rows.tails)
    series = timeline.series_of(origins)
    forecasts: dict[int, Float32Array] = {}
    if settings.simple_path:
        simple = _classical(rows, before_tail=True)
        begin = timeline.first_row[series]
        forecasts[0] = simple.forecast(timeline.values, begin, series, origins)
    forecasts[1] = predict_windows(
        lambda past, future, *_: module.path(past, future), source, origins
    )
    if settings.train_network:
        forecasts[2] = settings.head.point(predict_windows(module, source, origins))
    ahead = window_rows(origins, rows.sizes.pred_len)
    weights = judge(
        list(forecasts.values()),
        timeline.values[ahead, :k],
        None if timeline.weight is None else timeline.weight[ahead],
        series,
        n_series=timeline.n_series,
    )
    out = np.zeros((*weights.shape[:2], 3))
    out[..., list(forecasts)] = weights
    return out


def _classical(rows: FitRows, *, before_tail: bool = False) -> SimplePath:
    timeline = rows.timeline
    if before_tail and rows.tail is not None:
        timeline = timeline.head(rows.tail)
    return fit_simple_path(timeline, rows.sizes, rows.scaler)
