"""Forecasts with the sizes of their errors, and intervals, quantiles and paths made of these.

The windows that ended before an origin are forecast, too: after large errors intervals are wide.
Which members forecast does not matter here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from skinformer.ensemble.head import Head
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.intervals.changes import level_sizes
from skinformer.intervals.features import STILL, WIDTH, features_of, unmoved, volatility
from skinformer.intervals.known import find_known, first_rows, known_until
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.runs import (
    N_TRAILING,
    earliest_origins,
    spare_rows,
    trailing_origins,
    trailing_sizes,
)
from skinformer.intervals.sized_rows import SizedRows, interpolate
from skinformer.intervals.spread import Spread, mean_size
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import window_rows


@dataclass(frozen=True)
class Intervals:
    """Errors of a fit.

    spread: their sizes, by step ahead and by what is known at the origin.
    residuals: what they are in such sizes: a sample of whole forecasts.
    quiet: (n_targets,), volatility that is added to that of a window.
    far: (n_far, n_targets), logs of the sizes of the steps after `pred_len`, which are forecast
    from forecasts.
    growth: (n_targets,), power of the step by which sizes grow beyond these.
    optimism: (n_targets,), by how much errors are larger on rows that the forecaster was not fitted
    to.
    distance: rows between windows whose errors predict each other's.
    fitted_until: (n_series,), the step after the last row that the fit saw.
    """

    spread: Spread
    residuals: Residuals
    quiet: Float64Array
    far: Float64Array
    growth: Float64Array
    optimism: Float64Array
    distance: int
    fitted_until: IntArray

    def quantiles(
        self,
        outputs: Float64Array,
        levels: Float64Array,
        scaler: Scaler,
        series: IntArray,
    ) -> Float64Array:
        """Return quantiles of rows, (n, n_targets, n_levels), in y's units, ascending.

        outputs: (n, n_targets, 3), from `IntervalForecaster.standardised`.
        scaler: of the fit, and of series that it did not hold.
        series: that of each row.
        """
        targets: Any = scaler.targets  # a regressor's always has it
        table = self.residuals.quantiles(levels)
        if targets.is_decreasing.any():
            mirrored = self.residuals.quantiles(1 - levels)
            table = np.where(targets.is_decreasing, mirrored, table)
        rows = self._sized_rows(outputs, scaler, series)
        return rows.around(rows.size * rows.residuals(table))

    def paths(
        self,
        head: Head,
        outputs: Float64Array,
        levels: Float32Array,
        scaler: Scaler,
        series: IntArray,
    ) -> Float64Array:
        """Return paths, (n, n_targets, n_paths), in y's units.

        head: of the fit. Where the forecast is a mean, that of many paths is the same.
        levels: (n, n_paths, pred_len, n_targets), from `draw_levels`; all else is as for
        `quantiles`.
        """
        # In usual sizes: larger errors are of products that began to be sold, a hundred times what
        # was usual for them, and not to be expected of other series.
        most_error = 10.0
        # The middles of equal shares.
        n_shares = 99
        shares = (np.arange(n_shares) + 0.5) / n_shares
        table = self.residuals.quantiles(shares)
        table = np.clip(table, -most_error, most_error)
        rows = self._sized_rows(outputs, scaler, series)
        drawn = interpolate(table, shares, levels, rows.ahead)
        paths = rows.around_within_limits(drawn)
        if not head.of_mean:
            return paths
        of_shares = rows.around_within_limits(rows.residuals(table))
        return rows.with_mean(paths, of_shares.mean(axis=2))

    def _sized_rows(
        self,
        outputs: Float64Array,
        scaler: Scaler,
        series: IntArray,
    ) -> SizedRows:
        """Split outputs into the forecast, the size of its error, and the step of its residuals."""
        point, log_size, ahead = np.moveaxis(outputs, 2, 0)
        typical = np.concatenate([self.spread.typical, self.far])
        n_steps, n_targets = typical.shape
        step = np.minimum(ahead, n_steps - 1).astype(np.int64)
        times_farther = np.maximum((ahead + 1) / n_steps, 1.0)
        growth = self.growth * np.log(times_farther)
        size = np.exp(log_size + growth + typical[step, np.arange(n_targets)])
        last_residual = len(self.spread.typical) - 1
        return SizedRows(
            point,
            size,
            np.minimum(step, last_residual),
            scaler,
            series,
        )


@dataclass(frozen=True)
class IntervalForecaster(StepForecaster):
    """A forecaster whose outputs hold the sizes of errors.

    There are three of each step and target: the forecast, the log of its error's size by what is
    known, and the steps since the last observed target. They have no units: `standardised` returns
    them, and `Intervals` transforms them.
    """

    intervals: Intervals

    @classmethod
    def of(cls, forecaster: StepForecaster, intervals: Intervals) -> IntervalForecaster:
        """Copy a forecaster, with the intervals of its fit."""
        return cls(**vars(forecaster), intervals=intervals)

    def point(self, outputs: Any) -> Any:
        """Return the forecast, the first of them."""
        return outputs[..., 0]

    def forecasts(
        self,
        outputs: Float64Array,
        levels: Float64Array,
        series: IntArray,
    ) -> Float64Array:
        """Return forecasts of `predict` and quantiles behind them: (n, n_targets, 1 + n_levels).

        outputs: (n, n_targets, 3), from `standardised`.
        series: that of each row.
        """
        scaler = self.scaler.with_unseen()
        if self.head.level is not None:
            levels = np.append(self.head.level, levels)
            return self.intervals.quantiles(outputs, levels, scaler, series)
        points = scaler.inverse(self.point(outputs).astype(np.float32), series)
        quantiles = self.intervals.quantiles(outputs, levels, scaler, series)
        return np.concatenate([points[..., None], quantiles], axis=2)

    def set_constant(
        self,
        outputs: Float32Array,
        where: BoolArray,
        value: Float32Array,
    ) -> None:
        """Put a value in the place of some outputs, without an error."""
        log_of_no_size = -100.0
        outputs[where, 0] = value[where]
        outputs[where, 1] = log_of_no_size

    @property
    def look_back(self) -> int:
        """Rows before an origin that a forecast and those before it are made from."""
        return self.near + N_TRAILING * self.intervals.distance

    @property
    def near(self) -> int:
        """Rows before an origin that its forecast and volatility are made from."""
        return max(super().look_back, WIDTH)

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        return _SizedWindows(self, super()._window_forecaster(requested), requested)


class _Windows(NamedTuple):
    """Windows that are forecast.

    origins: (n,), their first forecast rows.
    known_until: (n,), the row after the last known one before each.
    anchor: (n,), the row from which earlier windows count back.
    """

    origins: IntArray
    known_until: IntArray
    anchor: IntArray


class _Prediction(NamedTuple):
    """Forecasts of windows, and the sizes of their errors by what is known at the origins.

    point, log_size: (n, pred_len, n_targets).
    changes: (n, n_targets), the volatility before them.
    """

    point: Float64Array
    log_size: Float64Array
    changes: Float64Array


@dataclass
class _SizedWindows:
    """Forecast windows with the sizes of their errors.

    known: which rows were observed, the same in all calls.
    known_until: for each row, the one after the last that is known before it.
    """

    forecaster: IntervalForecaster
    inner: Forecaster
    requested: RequestedSteps
    known: BoolArray = field(default_factory=lambda: np.empty(0, dtype=bool))
    known_until: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        if not len(self.known):
            self._find_known(rows)
        # 1. The windows, and those that ended before them.
        windows = self._windows(rows, origins)
        trailing = self._trailing(rows, windows)
        earlier = np.unique(trailing[trailing >= 0])
        before = _Windows(earlier, self.known_until[earlier], earlier)
        # 2. Forecasts of both, and the sizes of their errors by what is known at the origins.
        outputs, outputs_before = self._forecast(rows, origins, earlier)
        predicted = self._predict(rows, windows, outputs)
        predicted_before = self._predict(rows, before, outputs_before)
        # 3. Sizes of the earlier errors.
        has_moved = predicted.changes >= STILL
        recent = self._recent_sizes(
            rows,
            earlier,
            trailing,
            predicted_before,
            has_moved,
        )
        # 4. All together.
        log_size = predicted.log_size + np.log(trailing_sizes(recent))[:, None]
        self._widen_unknown(log_size, rows, origins)
        n_since = origins - windows.known_until
        return _join(predicted.point, log_size, n_since)

    def _find_known(self, rows: Rows) -> None:
        fit = self.forecaster
        n_targets = fit.sizes.n_targets
        self.known = find_known(rows, fit.history, self.requested, n_targets)
        self.known_until = known_until(rows, self.known)

    def _series(self, rows: Rows, origins: IntArray) -> IntArray:
        """Return the series of windows; the number behind all is of those that the fit lacked."""
        series = self.requested.place.series[rows.segment[origins]]
        return np.minimum(series, self.forecaster.history.n_series)

    def _windows(self, rows: Rows, origins: IntArray) -> _Windows:
        """Find where what is known before windows ends, and from where earlier ones count back.

        Rows that are farther back than a forecast looks do not matter: whether they are there
        depends on the other steps of the request.
        """
        begin = self.requested.place.begin[rows.segment[origins]]
        n_since = np.maximum(rows.steps[origins] - begin, 0)
        start = origins - n_since
        farthest = start - self.forecaster.look_back
        until = np.maximum(self.known_until[origins], farthest)
        return _Windows(origins, until, np.maximum(until, start))

    def _trailing(self, rows: Rows, windows: _Windows) -> IntArray:
        """Return the windows that ended before others: (n, N_TRAILING), -1 for none."""
        fit = self.forecaster
        anchor = windows.anchor
        distance = fit.intervals.distance
        begin = rows.begin[rows.segment[windows.origins]]
        earliest = earliest_origins(
            np.maximum(begin, anchor - fit.look_back),
            anchor,
            seq_len=fit.sizes.seq_len,
            pred_len=fit.sizes.pred_len,
            fewest=fit.ensemble.fewest_rows,
            spare=spare_rows(fit.history.n_series, distance),
        )
        return trailing_origins(anchor, earliest, distance)

    def _forecast(
        self,
        rows: Rows,
        origins: IntArray,
        earlier: IntArray,
    ) -> tuple[Float64Array, Float64Array]:
        """Forecast windows and earlier ones, those that are both once."""
        both = np.append(origins, earlier)
        distinct, place = np.unique(both, return_inverse=True)
        outputs = self.inner(rows, distinct).astype(np.float64)[place]
        n = len(origins)
        return outputs[:n], outputs[n:]

    def _predict(
        self,
        rows: Rows,
        windows: _Windows,
        outputs: Float64Array,
    ) -> _Prediction:
        """Predict the sizes of errors of forecasts by what is known at the origins."""
        fit = self.forecaster
        origins = windows.origins
        first = rows.begin[rows.segment[origins]]
        begin = np.maximum(first, windows.anchor - fit.near)
        end = np.maximum(windows.known_until, begin)
        targets = rows.values[:, : fit.sizes.n_targets]
        changes = volatility(targets, begin, end)
        series = self._series(rows, origins)
        features = features_of(
            fit,
            outputs,
            changes,
            series,
            fit.intervals.quiet,
        )
        steps = window_rows(rows.steps[origins], fit.sizes.pred_len)
        log_size = fit.intervals.spread.log_size(features, steps)
        return _Prediction(fit.head.point(outputs), log_size, changes)

    def _recent_sizes(
        self,
        rows: Rows,
        earlier: IntArray,
        trailing: IntArray,
        predicted: _Prediction,
        has_moved: BoolArray,
    ) -> Float64Array:
        """Compute the sizes of the errors before each window: (n, N_TRAILING, n_targets).

        They are in sizes that were predicted in the same way. Those of a standstill are left out
        where something has moved since.

        earlier, trailing: origins of the earlier windows, ascending, and those of them that ended
        before each window; -1 for none.
        predicted: of the earlier windows.
        has_moved: (n, n_targets), of each window.
        """
        errors = self._errors(predicted.point, rows, earlier)
        spread = self.forecaster.intervals.spread
        sizes = mean_size(spread.relative(errors, predicted.log_size), axis=1)
        was_still = unmoved(errors, predicted.changes)
        window, age = np.nonzero(trailing >= 0)
        number = np.searchsorted(earlier, trailing[window, age])
        found = sizes[number]
        found[was_still[number] & has_moved[window]] = np.nan
        recent = np.full((*trailing.shape, found.shape[1]), np.nan)
        recent[window, age] = found
        return recent

    def _errors(
        self,
        point: Float64Array,
        rows: Rows,
        origins: IntArray,
    ) -> Float64Array:
        """Compute errors of earlier windows, as they would be on rows that the fit did not see."""
        fit = self.forecaster
        last = len(self.known) - 1
        ahead = np.minimum(window_rows(origins, fit.sizes.pred_len), last)
        y = rows.values[ahead, : fit.sizes.n_targets].astype(np.float64)
        errors = y - point
        errors[~self.known[ahead]] = np.nan
        if self.requested.clock == fit.history.clock:
            # Before all times for series that the fit lacked.
            until = np.append(fit.intervals.fitted_until, -np.inf)
            was_fitted = rows.steps[origins] < until[self._series(rows, origins)]
            errors[was_fitted] *= fit.intervals.optimism
        return errors

    def _widen_unknown(
        self,
        log_size: Float64Array,
        rows: Rows,
        origins: IntArray,
    ) -> None:
        """Make errors of series never observed as large as the levels of all others vary."""
        fit = self.forecaster
        series = self._series(rows, origins)
        is_unknown = self.known_until[origins] == first_rows(rows, origins)
        is_unknown &= series < fit.history.n_series
        if not is_unknown.any():
            return
        by_level = level_sizes(fit.history, fit.scaler, fit.sizes.n_targets)
        wider = by_level[series[is_unknown], None] - fit.intervals.spread.typical
        wider = np.where(np.isnan(wider), log_size[is_unknown], wider)
        log_size[is_unknown] = wider


def _join(
    point: Float64Array,
    log_size: Float64Array,
    n_since: IntArray,
) -> Float32Array:
    """Join the three values of each step: (n, pred_len, n_targets, 3).

    n_since: (n,), steps from the last known row to each origin.
    """
    ahead = window_rows(n_since, point.shape[1])[..., None]
    parts = np.broadcast_arrays(point, log_size, ahead)
    return np.stack(parts, axis=-1).astype(np.float32)
