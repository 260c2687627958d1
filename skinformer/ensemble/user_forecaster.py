"""A forecaster of the user's as a member: windows are histories in the units of the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.history_forecaster import Columns, History, HistoryForecaster
from skinformer.ensemble.in_units import SeriesUnits, observed_targets, targets_in_units
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

    @property
    def fits_again(self) -> bool:  # type: ignore[override]
        """Whether it learns from rows, so that it has to be fitted anew to fewer of them."""
        return self.source.learns

    @classmethod
    def from_source(
        cls,
        source: HistoryForecaster,
        rows: FitRows,
        settings: FitSettings,
        *,
        before_split: bool,
    ) -> Self:
        """Fit a forecaster to rows before the validation split, or to all."""
        timeline = rows.before_split() if before_split else rows.timeline
        n_rows = int(np.diff(rows.timeline.first_row).max())
        levels = settings.head.learnt_levels if source.takes("levels") else None
        unfitted = cls(
            source,
            rows.sizes,
            rows.scaler.with_unseen(),
            n_rows,
            levels,
        )
        return unfitted.fitted_again(timeline, rows.sizes, rows.scaler)

    @classmethod
    def from_rows(
        cls,
        rows: FitRows,
        settings: FitSettings,
        *,
        before_split: bool,
        earlier: Self | None = None,
    ) -> Self:
        """Fit the forecaster of an earlier one to other rows."""
        assert earlier is not None
        return cls.from_source(
            earlier.source, rows, settings, before_split=before_split
        )

    def fitted_again(
        self,
        timeline: Timeline,
        sizes: ModelSizes,
        scaler: Scaler,
    ) -> Self:
        """Return a copy for other rows; where it has a `fit`, it is fitted to them, in units."""
        source = self.source
        if source.learns:
            with timed(self.name):
                source = source.fitted(_all_series(timeline, sizes, scaler))
        return replace(
            self,
            source=source,
            sizes=sizes,
            scaler=scaler.with_unseen(),
        )

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`; the training mean where nothing is known.

        Where it has `levels` they are quantiles, (n, pred_len, n_targets, n_levels).
        """
        outputs = () if self.levels is None else (len(self.levels),)
        shape = len(windows), self.sizes.pred_len, self.sizes.n_targets, *outputs
        out = np.zeros(shape, dtype=np.float32)
        with timed(self.name):
            for j in range(self.sizes.n_targets):
                histories = self._histories(windows, j)
                some = np.flatnonzero([len(history) for history in histories])
                if len(some):
                    histories = [histories[i] for i in some]
                    y_pred = self._forecast_target(windows.take(some), j, histories)
                    out[some, :, j] = y_pred
        return out

    def check_seconds(self, windows: Windows) -> None:
        """Raise if these windows and a forecast would take longer than is allowed.

        Some of them are timed.
        """
        n_series = len(self.scaler.mean) - 1
        n_asked = (len(windows) + n_series) * self.sizes.n_targets
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

    def _series(self, windows: Windows) -> IntArray:
        """Return the series of windows, all new ones as the last."""
        return np.minimum(windows.series, len(self.scaler.mean) - 1)

    def _histories(self, windows: Windows, j: int) -> list[Float64Array]:
        """Return what was observed of a target before each origin, in its units; NaN is missing.

        They begin with an observed value; empty where there is none. Behind the last observed one
        stand the forecasts that further ones are built on.
        """
        begin = np.maximum(windows.begin, windows.origins - self.look_back)
        units = SeriesUnits.of(self.scaler, self._series(windows), j, own_logs=True)
        found = []
        for i, (first, origin) in enumerate(zip(begin, windows.origins, strict=True)):
            values = windows.values[None, first:origin, j].astype(np.float64)
            history = units.take([i]).inverse_transform(values)[0]
            known = np.ones(len(history), bool)
            if windows.known is not None:
                known = windows.known[first:origin, j]
            found.append(_between_observed(history, known))
        return found

    def _forecast_target(
        self,
        windows: Windows,
        j: int,
        histories: list[Float64Array],
    ) -> Float64Array:
        """Forecast a target of windows by their histories, standardised: (n, pred_len, …)."""
        asked = self._with_columns(windows, histories)
        answers = self.source.forecast(asked, self.sizes.pred_len, self.levels)
        units = SeriesUnits.of(self.scaler, self._series(windows), j, own_logs=True)
        flat = units.transform(answers.reshape(len(answers), -1))
        return flat.reshape(answers.shape)

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

    def _with_columns(
        self, windows: Windows, histories: list[Float64Array]
    ) -> list[History]:
        """Put other columns beside each history, in their units.

        past: (n_rows, n_past); known: (n_rows + pred_len, n_known), of the steps ahead, too.
        """
        wanted = self._wanted_columns
        series = self._series(windows)
        scale = self.scaler.scale[series]
        mean = self.scaler.mean[series]
        last = len(windows.values) - 1
        found = []
        for i, history in enumerate(histories):
            columns: Columns = {}
            for name, place in wanted.items():
                n_ahead = self.sizes.pred_len if name == "known" else 0
                origin = windows.origins[i]
                rows = np.arange(origin - len(history), origin + n_ahead)
                values = windows.values[np.minimum(rows, last), place]
                columns[name] = values * scale[i, place] + mean[i, place]
            found.append(History(history, columns))
        return found


def _all_series(
    timeline: Timeline,
    sizes: ModelSizes,
    scaler: Scaler,
) -> list[Float64Array]:
    """Return each target of each series in its units, series by series for the first target."""
    no_effect = np.zeros((0, sizes.n_targets))
    values = targets_in_units(timeline, no_effect, scaler, own_logs=True)
    known = observed_targets(timeline, sizes.n_targets)
    found = []
    for j in range(sizes.n_targets):
        for i in range(timeline.n_series):
            rows = slice(timeline.first_row[i], timeline.first_row[i + 1])
            found.append(_between_observed(values[rows, j], known[rows, j]))
    return found


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
