"""A forecaster of the user's as a member: windows are histories in the units of the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.history_forecaster import History, HistoryForecaster
from skinformer.ensemble.in_units import SeriesUnits, single_series, targets_in_units
from skinformer.ensemble.known_effect import KnownEffect
from skinformer.ensemble.member import Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import spread_places
from skinformer.validation.forecasters import check_seconds

#: Windows that a forecaster is weighed by at most, or one a series.
MOST_WEIGHED = 256


@dataclass(frozen=True)
class UserForecaster(Member):
    """Forecasts of each target of each series by itself.

    source: what is asked, fitted if it has a `fit`.
    sizes, scaler: of the fit.
    n_rows: rows of the longest series, to which it may look back.
    levels: of the quantiles that it forecasts, where several are wanted and it has them.
    """

    source: HistoryForecaster
    sizes: ModelSizes
    scaler: Scaler
    n_rows: int
    levels: tuple[float, ...] | None = None

    forecasts_short = True
    cost = 8

    @property
    def name(self) -> str:
        """Its name among members."""
        return self.source.name

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read: its `max_context`, or the longest series."""
        longest = self.source.max_context
        return self.n_rows if longest is None else min(longest, self.n_rows)

    @classmethod
    def from_source(
        cls, source: HistoryForecaster, rows: FitRows, settings: FitSettings
    ) -> Self:
        """Fit a forecaster to rows: to those before a cut-off, or to all."""
        unfitted = cls(
            source,
            rows.sizes,
            rows.scaler,
            rows.longest,
            settings.head.learnt_levels if source.takes("levels") else None,
        )
        return unfitted._fitted_to(rows)

    def refitted(self, rows: FitRows, settings: FitSettings) -> Self:
        """Return the same, fitted to all rows."""
        return self.from_source(self.source, rows, settings)

    def fitted_before(self, rows: FitRows) -> Self | None:
        """Return the same, fitted to the rows before a cut-off, where it has a `fit`."""
        return self._fitted_to(rows) if self.source.learns else None

    def _fitted_to(self, rows: FitRows) -> Self:
        """Return a copy for rows; where it has a `fit`, it is fitted to them, in units."""
        source = self.source
        if source.learns:
            with timed(self.name):
                series = _all_series(rows.timeline, rows.sizes, rows.scaler)
                source = source.fitted(series)
        return replace(
            self, source=source, sizes=rows.sizes, scaler=rows.scaler.with_unseen()
        )

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`; the training mean where nothing is known.

        Where it has `levels` they are quantiles, (n, pred_len, n_targets, n_levels).
        """
        sizes = self.sizes
        outputs = () if self.levels is None else (len(self.levels),)
        out = np.zeros(
            (len(windows), sizes.pred_len, sizes.n_targets, *outputs), dtype=np.float32
        )
        with timed(self.name):
            for j in range(sizes.n_targets):
                self._forecast_target(windows, j, out[:, :, j])
        return out

    def _forecast_target(self, windows: Windows, j: int, out: Float32Array) -> None:
        """Put forecasts of a target, standardised, where anything of it was observed before."""
        # All new series have the last scale.
        series = np.minimum(windows.series, self._n_series)
        units = SeriesUnits.of(self.scaler, series, j, own_logs=True)
        histories = self._histories(windows, j, series, units)
        some = np.flatnonzero([len(history.values) for history in histories])
        if not len(some):
            return
        y_pred = self.source.forecast(
            [histories[i] for i in some], self.sizes.pred_len, self.levels
        )
        flat = y_pred.reshape(len(some), -1)
        flat = units.take(some).transform(flat)
        out[some] = flat.reshape(y_pred.shape)

    def check_seconds(self, windows: Windows) -> None:
        """Raise if these windows and a forecast would take longer than is allowed.

        Some of them are timed.
        """
        n_asked = (len(windows) + self._n_series) * self.sizes.n_targets
        some = windows.take(spread_places(len(windows), 8))
        n_timed = len(some)
        if n_timed > 1:
            # What is imported and compiled at first is not counted; that forecast is kept.
            self.forecast(some.take(np.array([0])))
            n_timed -= 1
        began = time.perf_counter()
        self.forecast(some)
        seconds = (time.perf_counter() - began) / n_timed
        check_seconds(seconds * n_asked, self.source.max_seconds, self.name, n_asked)

    @property
    def _n_series(self) -> int:
        """Number of fitted series."""
        return len(self.scaler.mean) - 1

    def _histories(
        self, windows: Windows, j: int, series: IntArray, units: SeriesUnits
    ) -> list[History]:
        """Gather what was observed of a target before each origin, in its units; NaN is missing.

        series, units: those of each window.

        They begin with an observed value; empty where there is none. Behind the last observed one
        stand the forecasts that further ones are built on.
        """
        wanted = self._wanted_columns
        begin = np.maximum(windows.begin, windows.origins - self.look_back)
        found = []
        for i, (first, origin) in enumerate(zip(begin, windows.origins, strict=True)):
            values = windows.values[None, first:origin, j].astype(np.float64)
            history = units.take([i]).inverse_transform(values)[0]
            history = _between_observed(history, windows.known[first:origin, j])
            columns = {}
            for name, place in wanted.items():
                n_ahead = self.sizes.pred_len if name == "known" else 0
                rows = np.arange(origin - len(history), origin + n_ahead)
                columns[name] = self._in_units(windows.values, rows, place, series[i])
            found.append(History(history, columns))
        return found

    def _in_units(
        self, values: Float32Array, rows: IntArray, place: slice, series: int
    ) -> Float64Array:
        """Take rows of some columns of a series, (n_rows, n_columns), in their units."""
        # Rows behind the last one are those of steps that nobody asked for.
        standardised = values[np.minimum(rows, len(values) - 1), place]
        scale = self.scaler.scale[series, place]
        return standardised * scale + self.scaler.mean[series, place]

    @property
    def _wanted_columns(self) -> dict[str, slice]:
        """The places of columns that the forecaster takes, by the argument's name."""
        sizes = self.sizes
        first_known = sizes.n_targets + sizes.n_past
        wanted = {}
        if sizes.n_past and self.source.takes("past"):
            wanted["past"] = slice(sizes.n_targets, first_known)
        if sizes.n_known and self.source.takes("known"):
            wanted["known"] = slice(first_known, first_known + sizes.n_known)
        return wanted


def _all_series(
    timeline: Timeline, sizes: ModelSizes, scaler: Scaler
) -> list[Float64Array]:
    """Return each target of each series in its units, series by series for the first target."""
    no_effect = KnownEffect.of_nothing(sizes.n_targets)
    values = targets_in_units(timeline, no_effect, scaler, own_logs=True)
    series = single_series(timeline, values)
    return [
        _between_observed(series.values[first:end], series.known[first:end])
        for first, end in pairwise(series.first_row)
    ]


def _between_observed(values: Float64Array, known: BoolArray) -> Float64Array:
    """Leave out rows before the first known one; those between known ones are NaN.

    >>> _between_observed(np.arange(5.0), np.array([False, True, False, True, False]))
    array([ 1., nan,  3.,  4.])
    """
    observed = np.flatnonzero(known)
    if not len(observed):
        return values[:0]
    first, last = observed[[0, -1]]
    inside = np.arange(len(values)) < last
    return np.where(inside & ~known, np.nan, values)[first:]
