"""Members that forecast each target of each series by itself, in its own units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from skinformer.classical.panel_profile import PanelProfile, find_panel_profile
from skinformer.classical.windows import SeriesRows, UnitWindows
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.known_effect import Effects, KnownEffect, fit_known_effect
from skinformer.ensemble.member import Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import window_rows

WINDOWS_AT_ONCE = 4096


@dataclass(frozen=True)
class PerSeriesMember(Member):
    """Forecasts of a timeline's targets by a fit that forecasts single series.

    fit: of each target of each series, in its own units, series by series for the first target,
    then for the second.
    effect: what columns known ahead do to the targets of their own row; it is taken off first and
    put on last.
    profiles: of each target, the season that series share, see `find_panel_profile`.
    of_mean: whether forecasts are means; else medians.
    scaler: of the fit, and of series that it did not hold. Targets that it transforms are forecast
    as they are standardised, but for logarithms that `own_logs` undoes.
    """

    fit: Any
    effect: KnownEffect
    profiles: tuple[PanelProfile, ...]
    scaler: Scaler
    of_mean: bool

    forecasts_short = True
    #: Whether the fit finds out by itself which series are better seen in logarithms.
    own_logs = False

    @staticmethod
    def fit_series(
        rows: SeriesRows, sizes: ModelSizes, *, of_mean: bool, whole: Any
    ) -> Any:
        """Fit what has a `seq_len`, a `pred_len`, and forecasts windows as `ClassicalFit` does.

        rows: of all series for the first target, then for the second.
        of_mean: whether forecasts are to be means; else medians.
        whole: what was fitted to all rows, where these are some of them.
        """
        raise NotImplementedError

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return int(self.fit.seq_len)

    @property
    def n_targets(self) -> int:
        """Number of first columns that are forecast."""
        return self.effect.n_targets

    @classmethod
    def from_rows(cls, rows: FitRows, settings: FitSettings) -> Self:
        """Fit it to each target of each series."""
        return cls.from_timeline(
            rows.timeline, rows.sizes, rows.scaler, of_mean=settings.head.of_mean
        )

    @classmethod
    def from_timeline(
        cls,
        timeline: Timeline,
        sizes: ModelSizes,
        scaler: Scaler,
        *,
        of_mean: bool,
        whole: Any = None,
    ) -> Self:
        """Fit them to the rows of a timeline, standardised by this scaler; see `fit_series`."""
        effect = fit_known_effect(timeline, sizes, scaler)
        values = targets_in_units(timeline, effect, scaler, own_logs=cls.own_logs)
        # Forecasts of logarithms that the scaler takes are raised to means by the scaler.
        targets = _log_targets(scaler)
        is_raised = cls.own_logs and targets is not None and bool(targets.logs.any())
        series = single_series(timeline, values)
        profiles = _panel_profiles(series, sizes.n_targets)
        fit = cls.fit_series(
            _without_profiles(series, profiles),
            sizes,
            of_mean=of_mean and not is_raised,
            whole=whole,
        )
        return cls(fit, effect, profiles, scaler.with_unseen(), of_mean)

    def fitted_before(self, rows: FitRows) -> Self:
        """Return the same, fitted to the rows before a cut-off; seasons stay those of all rows."""
        return self.from_timeline(
            rows.timeline, rows.sizes, rows.scaler, of_mean=self.of_mean, whole=self.fit
        )

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`; the training mean where nothing is known."""
        y_pred = np.zeros(
            (len(windows), self.fit.pred_len, self.n_targets), dtype=np.float32
        )
        for some, chunk in windows.chunks(WINDOWS_AT_ONCE):
            y_pred[some] = self._forecast_chunk(chunk)
        return y_pred

    def _forecast_chunk(self, windows: Windows) -> Float64Array:
        past, known = self._read_past(windows)
        first, group = _group_equal(windows, past, known)
        y_pred = self._forecast_distinct(windows.take(first), past[first], known[first])
        ahead = window_rows(windows.origins, self.fit.pred_len)
        return self._effect_at(windows, ahead).put_on(y_pred[group])

    def _read_past(
        self, windows: Windows, n_rows: int | None = None
    ) -> tuple[Float64Array, BoolArray]:
        """Return targets before origins without effects, (n, n_rows, n_targets), and if known.

        They are standardised. Before the first row of a series stands this row.

        n_rows: None for `look_back`.
        """
        n_rows = n_rows or self.look_back
        rows = window_rows(windows.origins - n_rows, n_rows)
        rows = np.maximum(rows, windows.begin[:, None])
        past = windows.values[:, : self.n_targets][rows].astype(np.float64)
        return self._effect_at(windows, rows).taken_off(past), windows.known[rows]

    def _effect_at(self, windows: Windows, rows: IntArray) -> Effects:
        """Return the effect of columns known ahead in rows of windows, (n, n_rows)."""
        series = np.minimum(windows.series, len(self.scaler.mean) - 1)[:, None]
        return self.effect.at(windows.values, rows, series, self.scaler)

    def _forecast_distinct(
        self, windows: Windows, past: Float64Array, known: BoolArray
    ) -> Float64Array:
        """Forecast windows, (n, pred_len, n_targets), standardised as is their past."""
        targets = []
        for j in range(self.n_targets):
            units, unit_windows = self._in_units(windows, past, known, j)
            y_pred = self.profiles[j].forecast(self.fit.forecast, unit_windows)
            targets.append(units.transform(y_pred))
        return np.stack(targets, axis=-1)

    def _in_units(
        self, windows: Windows, past: Float64Array, known: BoolArray, j: int
    ) -> tuple[SeriesUnits, UnitWindows]:
        """Put target j of windows into its units."""
        n_series = len(self.scaler.mean) - 1
        series = np.minimum(windows.series, n_series)
        units = SeriesUnits.of(self.scaler, series, j, own_logs=self.own_logs)
        return units, UnitWindows(
            units.inverse_transform(past[:, :, j]),
            np.minimum(windows.origins - windows.begin, self.look_back),
            known[:, :, j],
            windows.steps,
            np.where(series == n_series, -1, j * n_series + series),
            windows.buffer.clock,
        )


def _panel_profiles(series: SeriesRows, n_targets: int) -> tuple[PanelProfile, ...]:
    """Find the season that the series of each target share."""
    n_series = (len(series.first_row) - 1) // n_targets
    # Where there are no dates nothing says from which row a new series counts.
    seasons = calendar_seasons(series.clock, least_days=1)
    profiles = []
    for j in range(n_targets):
        first_row = series.first_row[j * n_series : (j + 1) * n_series + 1]
        of_target = series._replace(first_row=first_row)
        profiles.append(find_panel_profile(of_target, seasons))
    return tuple(profiles)


def _without_profiles(
    series: SeriesRows, profiles: tuple[PanelProfile, ...]
) -> SeriesRows:
    """Take the season of each panel off the series that are too short to show their own."""
    n_series = (len(series.first_row) - 1) // len(profiles)
    values = series.values.copy()
    for i, (first, end) in enumerate(pairwise(series.first_row)):
        profile = profiles[i // n_series]
        n_known = series.known[first:end].sum()
        if profile.is_needed(n_known):
            wall = series.clock.wall_steps(series.steps[first:end])
            values[first:end] /= profile.at(wall, n_known)
    return series._replace(values=values)


def targets_in_units(
    timeline: Timeline, effect: KnownEffect, scaler: Scaler, *, own_logs: bool
) -> Float64Array:
    """Put the targets of a timeline, (n_rows, n_targets), into their units.

    effect: of columns known ahead, which is taken off first.
    """
    n_targets = effect.n_targets
    values = timeline.values[:, :n_targets].astype(np.float64)
    rows = np.arange(len(values))
    values = effect.at(timeline.values, rows, timeline.series, scaler).taken_off(values)
    for j in range(n_targets):
        units = SeriesUnits.of(scaler, timeline.series, j, own_logs=own_logs)
        values[:, [j]] = units.inverse_transform(values[:, [j]])
    return values


def _group_equal(
    windows: Windows, past: Float64Array, known: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return the first window of each group of equal ones, and the group of each window.

    PERF: explanations forecast many windows that differ in columns that nothing reads here.
    """
    n = len(windows)
    table = np.column_stack(
        [
            windows.begin - windows.origins,
            windows.series,
            windows.steps,
            past.reshape(n, -1),
            known.reshape(n, -1),
        ]
    )
    keys = [row.tobytes() for row in table]
    group, _ = pd.factorize(np.array(keys, dtype=object))
    first = np.unique(group, return_index=True)[1]
    return first, group


def single_series(timeline: Timeline, values: Float64Array) -> SeriesRows:
    """Lay each target of each series behind the other, from its first to its last observed row.

    values: (n_rows, n_targets), in their units. A target without an observed row has all its rows.
    """
    n_rows, n_targets = values.shape
    observed = timeline.observed(n_targets)
    spans = []
    for j in range(n_targets):
        for first, end in pairwise(timeline.first_row):
            rows = np.arange(first, end)
            places = np.flatnonzero(observed[rows, j])
            if len(places):
                rows = rows[places[0] : places[-1] + 1]
            spans.append(j * n_rows + rows)
    rows = np.concatenate(spans)
    lengths = [len(span) for span in spans]
    return SeriesRows(
        values=values.T.ravel()[rows],
        known=observed.T.ravel()[rows],
        steps=timeline.steps[rows % n_rows],
        first_row=np.cumsum([0, *lengths]),
        clock=timeline.clock,
    )


def _log_targets(scaler: Scaler) -> TargetScale | None:
    """Return how logarithms of targets are taken; None where transformers are the user's."""
    targets = scaler.targets
    return None if targets.transformers else targets


class SeriesUnits(NamedTuple):
    """How standardised values of some windows are put into their units, (n, 1) each.

    low: what logarithms count as the least value; NaN where there are none.
    """

    mean: Float64Array
    deviation: Float64Array
    low: Float64Array

    @classmethod
    def of(
        cls, scaler: Scaler, series: IntArray, j: int, *, own_logs: bool
    ) -> SeriesUnits:
        """Read those of target j off a scaler."""
        means, deviations = scaler.affine_parameters(series, j + 1)
        mean = means[:, [j]]
        deviation = deviations[:, [j]]
        low = np.full(mean.shape, np.nan)
        targets = _log_targets(scaler)
        if own_logs and targets is not None:
            places = series, j, None
            logs = targets.logs[places]
            mean = np.where(logs, scaler.mean[places], mean)
            deviation = np.where(logs, scaler.scale[places], deviation)
            low = np.where(logs, targets.low[places], np.nan)
        return cls(mean, deviation, low)

    def take(self, some: Any) -> SeriesUnits:
        """Choose series by number."""
        return SeriesUnits(*(each[some] for each in self))

    def inverse_transform(self, values: Float64Array) -> Float64Array:
        """Put standardised values into units; what float32 made of a zero is zero again."""
        out: Float64Array = values * self.deviation + self.mean
        rounding = 1e-6 * (np.abs(self.mean) + self.deviation)
        takes_logs = self._takes_logs
        is_zero = np.abs(out) < rounding
        is_zero[takes_logs] = False
        out[is_zero] = 0.0
        out[takes_logs] = np.exp(out[takes_logs])
        return out

    def transform(self, values: Float64Array) -> Float64Array:
        """Standardise values in units."""
        takes_logs = self._takes_logs
        bounded = np.maximum(values[takes_logs], self.low[takes_logs])
        out = values.copy()
        out[takes_logs] = np.log(bounded)
        return (out - self.mean) / self.deviation

    @property
    def _takes_logs(self) -> BoolArray:
        """Which windows are standardised as logarithms, (n,)."""
        return ~np.isnan(self.low[:, 0])
