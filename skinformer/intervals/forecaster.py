"""Forecasts with the sizes of their errors, and intervals, quantiles and paths made of these.

The windows that ended before an origin are forecast, too: after large errors intervals are wide.
Which members forecast does not matter here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skinformer.ensemble.head import Head
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.intervals.changes import level_sizes
from skinformer.intervals.features import STILL, WIDTH, features_of, unmoved, volatility
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.runs import (
    N_TRAILING,
    earliest_origins,
    spare_rows,
    trailing_origins,
    trailing_sizes,
)
from skinformer.intervals.spread import Spread, mean_of_known
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import window_rows

#: Levels of the quantiles that paths are made of: the middles of equal shares.
_PATH_LEVELS = (np.arange(99) + 0.5) / 99


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
            table = np.where(
                targets.is_decreasing, self.residuals.quantiles(1 - levels), table
            )
        point, size, ahead = self._parts(outputs)
        errors = table[:, ahead, np.arange(point.shape[1])]
        restored = [scaler.restored(point + size * error, series) for error in errors]
        return np.stack(restored, axis=2)

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
        point, size, ahead = self._parts(outputs)
        limit = _error_limits(scaler, series, point.shape[1])

        def restore(errors: Float64Array) -> Float64Array:
            limited = np.clip(size * errors, -limit, limit)
            return np.stack(
                [scaler.restored(point + error, series) for error in limited], axis=2
            )

        table = np.clip(self.residuals.quantiles(_PATH_LEVELS), -most_error, most_error)
        paths = restore(_interpolate(table, levels, ahead))
        if not head.of_mean:
            return paths
        mean = restore(table[:, ahead, np.arange(point.shape[1])]).mean(axis=2)
        wanted = scaler.inverse(outputs[..., 0].astype(np.float32), series)
        return _with_mean(paths, mean, wanted, scaler, series)

    def _parts(
        self, outputs: Float64Array
    ) -> tuple[Float64Array, Float64Array, IntArray]:
        """Split outputs into the forecast, the size of its error, and the step of its residuals."""
        point, log_size, ahead = np.moveaxis(outputs, 2, 0)
        typical = np.concatenate([self.spread.typical, self.far])
        n_steps, n_targets = typical.shape
        step = np.minimum(ahead, n_steps - 1).astype(np.int64)
        growth = self.growth * np.log(np.maximum((ahead + 1) / n_steps, 1.0))
        size = np.exp(log_size + growth + typical[step, np.arange(n_targets)])
        return point, size, np.minimum(step, len(self.spread.typical) - 1)


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

    @property
    def shape(self) -> tuple[int, ...]:
        """Three values."""
        return (3,)

    def point(self, outputs: Any) -> Any:
        """Return the forecast, the first of them."""
        return outputs[..., 0]

    def forecasts(
        self, outputs: Float64Array, levels: Float64Array, series: IntArray
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
        self, outputs: Float32Array, where: BoolArray, value: Float32Array
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


@dataclass
class _SizedWindows:
    """Forecast windows with the sizes of their errors.

    known: which rows were observed, the same in all calls.
    known_until: for each row, the one after the last that is known before it.
    """

    forecaster: IntervalForecaster
    inner: Forecaster
    requested: RequestedSteps
    known: BoolArray | None = None
    known_until: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        fit = self.forecaster
        if self.known is None:
            self.known, self.known_until = _known_rows(fit, rows, self.requested)
        # 1. The windows, and those that ended before them.
        known_until, anchor = self._anchors(rows, origins)
        trailing = self._trailing(rows, origins, anchor)
        earlier = np.unique(trailing[trailing >= 0])
        # 2. Forecasts of both, and the sizes of their errors by what is known at the origins.
        point, log_size, changes = self._predict(
            rows,
            np.append(origins, earlier),
            np.append(known_until, self.known_until[earlier]),
            np.append(anchor, earlier),
        )
        # 3. Compare the earlier errors with the sizes that were predicted in the same way.
        n = len(origins)
        errors = self._errors(point[n:], rows, earlier)
        relative = np.abs(errors) * np.exp(-fit.intervals.spread.typical - log_size[n:])
        sizes = mean_of_known(relative, axis=1)
        was_still = unmoved(errors, changes[n:])
        recent = _recent_sizes(
            sizes, was_still, changes[:n] >= STILL, earlier, trailing
        )
        # 4. Join them.
        sized = np.empty((*point[:n].shape, 3), dtype=np.float32)
        sized[..., 0] = point[:n]
        sized[..., 1] = log_size[:n] + np.log(trailing_sizes(recent))[:, None]
        self._widen_unknown(sized, rows, origins)
        sized[..., 2] = window_rows(origins - known_until, fit.sizes.pred_len)[
            ..., None
        ]
        return sized

    def _series(self, rows: Rows, origins: IntArray) -> IntArray:
        """Return the series of windows, those that the fit did not hold behind all others."""
        return self.requested.place.series[rows.segment[origins]]

    def _anchors(self, rows: Rows, origins: IntArray) -> tuple[IntArray, IntArray]:
        """Find where what is known before windows ends, and from where earlier ones count back.

        Rows that are farther back than a forecast looks do not matter: whether they are there
        depends on the other steps of the request.
        """
        begin = self.requested.place.begin[rows.segment[origins]]
        start = origins - np.maximum(rows.steps[origins] - begin, 0)
        known_until = np.maximum(
            self.known_until[origins], start - self.forecaster.look_back
        )
        return known_until, np.maximum(known_until, start)

    def _trailing(self, rows: Rows, origins: IntArray, anchor: IntArray) -> IntArray:
        """Return the windows that ended before others: (n, N_TRAILING), -1 for none."""
        fit = self.forecaster
        distance = fit.intervals.distance
        earliest = earliest_origins(
            np.maximum(rows.begin[rows.segment[origins]], anchor - fit.look_back),
            anchor,
            seq_len=fit.sizes.seq_len,
            pred_len=fit.sizes.pred_len,
            fewest=fit.ensemble.fewest_rows,
            spare=spare_rows(fit.history.n_series, distance),
        )
        return trailing_origins(anchor, earliest, distance)

    def _predict(
        self, rows: Rows, origins: IntArray, known_until: IntArray, anchor: IntArray
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Forecast windows, and predict the sizes of their errors by the volatility before them."""
        fit = self.forecaster
        distinct, of_origin = np.unique(origins, return_inverse=True)
        outputs = self.inner(rows, distinct).astype(np.float64)[of_origin]
        begin = np.maximum(rows.begin[rows.segment[origins]], anchor - fit.near)
        targets = rows.values[:, : fit.sizes.n_targets]
        changes = volatility(targets, begin, np.maximum(known_until, begin))
        series = np.minimum(self._series(rows, origins), len(fit.scaler.mean))
        features = features_of(fit, outputs, changes, series, fit.intervals.quiet)
        steps = window_rows(rows.steps[origins], fit.sizes.pred_len)
        log_size = fit.intervals.spread.log_size(features, steps)
        return fit.head.point(outputs), log_size, changes

    def _errors(
        self, point: Float64Array, rows: Rows, origins: IntArray
    ) -> Float64Array:
        """Compute errors of earlier windows, as they would be on rows that the fit did not see."""
        fit = self.forecaster
        known = np.asarray(self.known)
        ahead = np.minimum(window_rows(origins, fit.sizes.pred_len), len(known) - 1)
        y = rows.values[ahead, : fit.sizes.n_targets].astype(np.float64)
        errors = np.where(known[ahead][..., None], y - point, np.nan)
        if self.requested.clock == fit.history.clock:
            until = fit.intervals.fitted_until
            series = self._series(rows, origins)
            fitted = series < len(until)
            fitted &= rows.steps[origins] < until[np.where(fitted, series, 0)]
            errors[fitted] *= fit.intervals.optimism
        return errors

    def _widen_unknown(
        self, sized: Float32Array, rows: Rows, origins: IntArray
    ) -> None:
        """Make errors of series never observed as large as the levels of all others vary."""
        fit = self.forecaster
        segment = rows.segment[origins]
        series = self._series(rows, origins)
        first_row = np.searchsorted(rows.segment, segment)
        blank = (self.known_until[origins] == first_row) & (
            series < fit.history.n_series
        )
        if blank.any():
            by_level = level_sizes(fit.history, fit.scaler, fit.sizes.n_targets)
            log_size = by_level[series[blank], None] - fit.intervals.spread.typical
            sized[blank, ..., 1] = np.where(
                np.isnan(log_size), sized[blank, ..., 1], log_size
            )


def _known_rows(
    fit: IntervalForecaster, rows: Rows, requested: RequestedSteps
) -> tuple[BoolArray, IntArray]:
    """Find rows that were observed, and for each the one after the last that is before it."""
    history = fit.history
    observed = requested.observed
    place = requested.place
    # 1. Rows of the history.
    stored = history.find(place.series[rows.segment], rows.steps)
    known = place.stored[rows.segment] & (stored >= 0)
    if history.weight is not None:
        known[known] = (history.weight[stored[known]] > 0).all(axis=1)
    # 2. Rows of X.
    seen = ~np.isnan(observed.values[:, : fit.sizes.n_targets]).any(axis=1)
    if requested.observed.filled is not None:
        seen &= ~requested.observed.filled
    first_row = np.searchsorted(rows.segment, np.arange(len(place.series) + 1))
    first_step = rows.steps[np.minimum(first_row[:-1], len(rows.steps) - 1)]
    segments = Timeline(rows.values, None, first_row, first_step, requested.clock)
    row = segments.find(observed.segment[seen], observed.steps[seen])
    known[row[row >= 0]] = True
    return known, _known_until(known, first_row[rows.segment])


def _known_until(known: BoolArray, first_row: IntArray) -> IntArray:
    """Return for each row the one after the last known before it, from its segment's first on."""
    after_known = np.where(known, np.arange(1, len(known) + 1), 0)
    until = np.maximum.accumulate(np.append(0, after_known[:-1]))
    return np.maximum(until, first_row)


def _recent_sizes(
    sizes: Float64Array,
    was_still: BoolArray,
    has_moved: BoolArray,
    earlier: IntArray,
    trailing: IntArray,
) -> Float64Array:
    """Return the sizes of the errors before each window: (n, N_TRAILING, n_targets).

    Those of a standstill are left out where something has moved since.

    sizes, was_still: (n_earlier, n_targets), of the earlier windows.
    has_moved: (n, n_targets), of each window.
    earlier, trailing: origins of the former, ascending, and those of the latter; -1 for none.
    """
    window, age = np.nonzero(trailing >= 0)
    number = np.searchsorted(earlier, trailing[window, age])
    recent = np.full((*trailing.shape, sizes.shape[1]), np.nan)
    recent[window, age] = np.where(
        was_still[number] & has_moved[window], np.nan, sizes[number]
    )
    return recent


def _interpolate(
    table: Float64Array, levels: Float32Array, ahead: IntArray
) -> Float64Array:
    """Interpolate the errors of levels, (n_paths, n, n_targets), in those of equal shares.

    table: (n_shares, pred_len, n_targets).
    levels: (n, n_paths, pred_len, n_targets).
    ahead: (n, n_targets), the step of each row.
    """
    errors = np.empty((levels.shape[1], *ahead.shape))
    for step in range(table.shape[1]):
        for j in range(table.shape[2]):
            rows = np.flatnonzero(ahead[:, j] == step)
            of_rows = levels[rows, :, step, j].T
            errors[:, rows, j] = np.interp(of_rows, _PATH_LEVELS, table[:, step, j])
    return errors


def _error_limits(scaler: Scaler, series: IntArray, n_targets: int) -> Float64Array:
    """Return the largest error of a path, (n, n_targets): a factor of 20, of logarithms."""
    most_log = 3.0
    targets: Any = scaler.targets
    scale = scaler.scale[series, :n_targets]
    return np.where(targets.logs[series], most_log / scale, np.inf)


def _with_mean(
    paths: Float64Array,
    mean: Float64Array,
    wanted: Float64Array,
    scaler: Scaler,
    series: IntArray,
) -> Float64Array:
    """Move the mean of the distribution of paths to the forecast: by a factor, of amounts.

    mean, wanted: (n, n_targets), what it is and what it is to be.

    Amounts that are moved so stay amounts.
    """
    most_ratio = 2.0
    targets: Any = scaler.targets
    is_amount = (targets.floor[series] == 0) & (mean > 0)
    ratio = np.divide(wanted, mean, out=np.ones_like(mean), where=is_amount)
    ratio = np.clip(ratio, 1 / most_ratio, most_ratio)
    shifted = paths + (wanted - mean)[..., None]
    return np.where(is_amount[..., None], paths * ratio[..., None], shifted)
