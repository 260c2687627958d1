"""The end of a fit: what was trained and fitted is judged, and joined to one forecaster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skinformer.ensemble.batches import WindowSource
from skinformer.ensemble.classical import SimplePath, fit_simple_path, label_rows
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.naive_check import compare_with_naive, some_of_tail
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.ridges import choose_trust
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.shares import Shares, judge, judging_origins
from skinformer.ensemble.tabular import (
    Challenger,
    fit_tabular_path,
    forecast_windows,
    judge_tabular,
)
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath
from skinformer.stopwatch import timed
from skinformer.tabular.fit import TabularFit
from skinformer.timeline.arrays import Float32Array, Float64Array
from skinformer.timeline.windows import window_rows

__all__ = ["Judged", "find_challenger", "join"]


@dataclass(frozen=True)
class Judged:
    """Who forecasts, and with what share.

    trust: mean share of the network's correction in the forecasts.
    shares: those of each series, where it judges for itself.
    simple: the classical forecasters, where they count.
    tabular: the regressor on features, where it counts.
    earlier: the same as it was before it was fitted to the validation tail.
    """

    trust: float
    shares: Shares | None = None
    simple: SimplePath | None = None
    tabular: TabularFit | None = None
    earlier: TabularFit | None = None

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read beside a window's own."""
        return 0 if self.tabular is None else self.tabular.look_back

    def blend(self, ridges: dict[str, float]) -> dict[str, float]:
        """Give mean weights of the candidates that are fitted without the network.

        Ridges come with weights among themselves; classical candidates that hardly count are left
        out.
        """
        if self.shares is None:
            return ridges if self.simple is None else self.simple.blend
        ridge, classical, tabular = (
            float(share[:-1].mean())
            for share in (self.shares.ridges, self.shares.classical, self.shares.tabular)
        )
        blend = {name: round(ridge * weight, 4) for name, weight in ridges.items()}
        for name, weight in ({} if self.simple is None else self.simple.blend).items():
            blend[name] = round(blend.get(name, 0.0) + classical * weight, 4)
        if self.tabular is not None:
            blend[self.tabular.name] = round(tabular, 4)
        return blend

    def series_blend(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame | None:
        """Give each forecaster's weight for each series, see `SimplePath.weights`.

        It is None where all series have the same.
        """
        if self.shares is None:
            return None if self.simple is None else self.simple.weights(series, targets)
        shares = self.shares
        classical, tabular, ridges, trust = (
            share[:-1].T.ravel()
            for share in (
                shares.classical,
                shares.tabular.mean(axis=1),
                shares.ridges.mean(axis=1),
                shares.trust,
            )
        )
        table = pd.DataFrame(index=label_rows(series, targets))
        if self.simple is not None:
            table = self.simple.weights(series, targets).mul(classical, axis=0)
        if self.tabular is not None:
            table[self.tabular.name] = tabular
        return table.assign(
            **{"ridges": ridges * (1 - trust), "ridges and network": ridges * trust}
        )


def find_challenger(
    module: Informer | Corrected, batches: FitBatches, rows: FitRows, settings: FitSettings
) -> Challenger | None:
    """Judge a regressor on features beside the linear path of a long table, before training.

    It is None where none takes part, and where each series judges for itself, see `join`.
    """
    if rows.tail is None or batches.validation is None or rows.timeline.n_series > 1:
        return None
    if settings.simple_path or settings.regressor is None or not isinstance(module, Corrected):
        return None
    return judge_tabular(module.path, batches.validation.source, rows, settings)


def join(
    module: Informer | Corrected,
    final: LinearFit | None,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
    challenger: Challenger | None = None,
) -> Judged:
    """Let everything that was fitted before the validation tail forecast it, and choose shares.

    module: in evaluation mode, with trust 1; it takes its trust and the final ridges.
    final: the ridges, fitted again; None without them.
    challenger: the regressor beside ridges and network of a long table, see `judge_tabular`.

    A panel and short tables judge series by series, a long table by stretches of its tail. The
    ridges have an advantage: the tail is one of four stretches by which their blend was chosen.
    """
    if settings.simple_path and not settings.linear_path:
        return Judged(0.0, simple=_classical(rows))
    if final is None or not isinstance(module, Corrected):
        _compare(module, batches, rows, settings)
        return Judged(1.0)
    judged = _judged(module, batches, rows, settings, challenger)
    trust = judged.trust if judged.shares is None else judged.shares.trust[:-1].mean()
    module.trust.fill_(trust)
    if judged.shares is None or challenger is not None:  # else the shares were compared
        _compare(module, batches, rows, settings, challenger)  # final ridges know the tail
    module.path = LinearPath(final).to(module.trust.device)
    return judged


def _compare(
    module: Informer | Corrected,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
    challenger: Challenger | None = None,
) -> None:
    """Warn if what forecasts a long table is worse than a repeated season."""
    head, held_out = settings.head, batches.validation
    if rows.tail is None or held_out is None or not head.on_path:
        return  # nothing to compare on, or no forecast of what came
    origins = some_of_tail(rows.tails)
    forecast = head.point(predict_windows(module, held_out.source, origins))
    if challenger is not None:
        beside = forecast_windows(challenger.fit, rows, origins)
        forecast += challenger.share[:, None].astype(np.float32) * (beside - forecast)
    compare_with_naive(forecast, origins, rows.timeline, rows.tail, seq_len=rows.sizes.seq_len)


def _judged(
    module: Corrected,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
    challenger: Challenger | None,
) -> Judged:
    if rows.tail is None or batches.validation is None or not settings.head.on_path:
        return _unjudged(rows, settings)
    if settings.simple_path or rows.timeline.n_series > 1:
        weights, tabular = _weights(module, batches.validation.source, rows, settings)
        shares = Shares.of_weights(weights)
    else:
        steps = rows.timeline.steps_of(batches.validation.draw())
        error = settings.head.point_error
        trust = choose_trust(module, batches.validation, steps=steps, error=error)
        if challenger is None:
            return Judged(trust)
        tabular, share = challenger
        one = np.ones((2, rows.sizes.n_targets))
        shares = Shares(0 * one, share[:, None] * one[:, None], trust * one)
    refit = settings.early_stopping is not True
    simple = None
    if shares.classical.any():
        simple = _classical(rows, before_tail=not refit)
    if tabular is None or not shares.tabular.any():
        return Judged(shares.mean_trust, shares, simple)
    final = tabular
    if refit:
        final = fit_tabular_path(rows, settings, plain=tabular.maker.plain)
    return Judged(shares.mean_trust, shares, simple, final, tabular)


def _unjudged(rows: FitRows, settings: FitSettings) -> Judged:
    """Join what nothing tells apart: all the same, but for a network that nothing speaks beside."""
    if settings.train_network:
        return Judged(1.0)
    even = np.full((rows.timeline.n_series + 1, rows.sizes.n_targets, 4), [0.5, 0.0, 0.5, 0.0])
    return Judged(0.0, Shares.of_weights(even), _classical(rows))


def _weights(
    module: Corrected, source: WindowSource, rows: FitRows, settings: FitSettings
) -> tuple[Float64Array, TabularFit | None]:
    """Weigh all forecasters that take part, in the order of `Shares.of_weights`; 0 for others."""
    timeline, k = rows.timeline, rows.sizes.n_targets
    origins = judging_origins(rows.tails)
    series = timeline.series_of(origins)
    forecasts: dict[int, Float32Array] = {}
    tabular = None
    if settings.simple_path:
        simple = _classical(rows, before_tail=True)
        begin = timeline.first_row[series]
        forecasts[0] = simple.forecast(timeline.values, begin, series, origins)
    if settings.regressor is not None:
        tabular = fit_tabular_path(rows, settings, before_tail=True)
        forecasts[1] = forecast_windows(tabular, rows, origins)
    forecasts[2] = predict_windows(lambda *inputs: module.path(*inputs[:4]), source, origins)
    if settings.train_network:
        forecasts[3] = settings.head.point(predict_windows(module, source, origins))
    ahead = window_rows(origins, rows.sizes.pred_len)
    weights = judge(
        list(forecasts.values()),
        timeline.values[ahead, :k],
        None if timeline.weight is None else timeline.weight[ahead],
        series,
        n_series=timeline.n_series,
    )
    if rows.tail is not None:
        each = np.stack(list(forecasts.values()), axis=-1)
        joint = (each * weights[series, None]).sum(axis=-1, dtype=np.float32)
        compare_with_naive(joint, origins, timeline, rows.tail, seq_len=rows.sizes.seq_len)
    out = np.zeros((*weights.shape[:2], 4))
    out[..., list(forecasts)] = weights
    if tabular is not None:
        # A new series has the panel's scale, which may be far from its own: what is linear does
        # not mind, and a tree knows no values but those that it has seen.
        out[-1, :, 1] = 0.0
        out[-1] /= out[-1].sum(axis=-1, keepdims=True)
    return out, tabular


@timed("classical")
def _classical(rows: FitRows, *, before_tail: bool = False) -> SimplePath:
    timeline = rows.timeline
    if before_tail and rows.tail is not None:
        timeline = timeline.head(rows.tail)
    return fit_simple_path(timeline, rows.sizes, rows.scaler)
