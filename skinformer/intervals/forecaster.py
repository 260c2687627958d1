"""Forecasts with the sizes of their errors, and intervals, quantiles and paths made of these.

The windows that ended before an origin are forecast, too: after large errors intervals are wide.
Which members forecast does not matter here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.head import Head
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.intervals.changes import level_sizes
from skinformer.intervals.collapses import Collapses
from skinformer.intervals.features import STILL, WIDTH, features_of, volatility
from skinformer.intervals.recent import recent_distribution, recent_quantiles
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
from skinformer.rolling.blocks import RequestedSteps, block_starts
from skinformer.rolling.forecaster import Places, StepForecaster
from skinformer.rolling.own_size import Resized
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import window_rows


@dataclass(frozen=True)
class Intervals:
    """Sizes of errors, which recent errors multiply, and residuals in such sizes.

    Recent errors are those of windows that ended before the origin.

    spread: their sizes, by step ahead and by what is known at the origin.
    residuals: what they are in such sizes: a sample of whole forecasts.
    quiet: (n_targets,), the volatility floor: it is added to the volatility of a window before its
    logarithm is taken, since a window in which nothing moved has none.
    far: (n_far, n_targets), logs of the typical sizes of the steps after `pred_len`, which are
    forecast from forecasts: they go on where `spread.typical` ends. There may be none; None until
    such a step is asked for.
    growth: (n_targets,), the exponent of sizes beyond all steps whose sizes are known: one at n
    times the last step is n ** growth times as large.
    optimism: (n_targets,), by how much errors are larger on rows that the forecaster was not fitted
    to.
    distance: rows between windows whose errors predict each other's.
    fitted_until: (n_series,), the step after the last row that the fit saw.
    """

    spread: Spread
    residuals: Residuals
    quiet: Float64Array
    far: Float64Array | None
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

        The sizes in outputs have been multiplied by the recent errors of windows that ended before
        the origin; the median of residuals is shrunk to 0, see `Residuals.quantiles`.

        outputs: (n, n_targets, …), from `IntervalForecaster.standardised`.
        scaler: of the fit, and of series that it did not hold.
        series: that of each row.
        """
        rows = self._sized_rows(outputs, scaler, series)
        residuals = self._residuals(rows, levels)
        is_decreasing = scaler.targets.is_decreasing
        if is_decreasing.any():
            mirrored = self._residuals(rows, 1 - levels)
            residuals = np.where(is_decreasing, mirrored, residuals)
        return rows.around(rows.size * residuals)

    def _residuals(self, rows: SizedRows, levels: Float64Array) -> Float64Array:
        """Return quantiles of residuals of rows, (n_levels, n, n_targets).

        As far as recent rows count, they lead to the quantiles of these.
        """
        found = self.residuals.quantiles_at(levels, rows.point, rows.ahead)
        share = self.residuals.recent_share
        if not share.any():
            return found
        some = np.flatnonzero(share)
        of_recent = recent_quantiles(rows.recent[:, some], levels)
        of_recent = (of_recent - rows.point[:, some]) / rows.size[:, some]
        change = share[some] * (of_recent - found[..., some])
        found[..., some] += np.nan_to_num(change)
        return found

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
        rows = self._sized_rows(outputs, scaler, series)
        residuals = self._residuals(rows, shares)
        residuals = np.clip(residuals, -most_error, most_error)
        drawn = interpolate(residuals, levels, rows.ahead)
        paths = rows.around_within_limits(drawn)
        if not head.of_mean:
            return paths
        of_shares = rows.around_within_limits(residuals)
        return rows.with_mean(paths, of_shares.mean(axis=2))

    def _sized_rows(
        self, outputs: Float64Array, scaler: Scaler, series: IntArray
    ) -> SizedRows:
        """Split outputs into the forecast, the size of its error, and the step of its residuals."""
        point, log_size, ahead = np.moveaxis(outputs[:, :, :3], 2, 0)
        typical = self.spread.typical
        if self.far is not None:
            typical = np.concatenate([typical, self.far])
        n_steps = len(typical)
        step = np.minimum(ahead, n_steps - 1).astype(np.int64)
        log_size = log_size + np.take_along_axis(typical, step, axis=0)
        # Beyond the steps whose sizes are known.
        times_farther = np.maximum((ahead + 1) / n_steps, 1.0)
        log_size += self.growth * np.log(times_farther)
        last_residual = len(self.spread.typical) - 1
        return SizedRows(
            point,
            np.exp(log_size),
            np.minimum(step, last_residual),
            scaler,
            series,
            outputs[:, :, 3:],
        )


@dataclass(frozen=True)
class IntervalForecaster(StepForecaster):
    """A forecaster whose outputs hold the sizes of errors.

    There are three of each step and target: the forecast, the log of its error's size by what is
    known, and the steps since the last observed target. Where recent rows count, their distribution
    is behind them. They have no units: `standardised` returns
    them, and `Intervals` transforms them.

    intervals_beyond: returns intervals that know steps after `pred_len`, too.
    """

    intervals: Intervals
    intervals_beyond: Callable[[], Intervals]

    @classmethod
    def of(
        cls,
        forecaster: StepForecaster,
        intervals: Intervals,
        intervals_beyond: Callable[[], Intervals],
    ) -> IntervalForecaster:
        """Copy a forecaster, with the intervals of its fit."""
        parts = {
            field.name: getattr(forecaster, field.name)
            for field in fields(StepForecaster)
        }
        return cls(**parts, intervals=intervals, intervals_beyond=intervals_beyond)

    def intervals_of(self, outputs: Float64Array) -> Intervals:
        """Return intervals that know steps as far ahead as outputs are, (n, n_targets, …)."""
        if (outputs[:, :, 2] < self.sizes.pred_len).all():
            return self.intervals
        return self.intervals_beyond()

    def point(self, outputs: Any) -> Any:
        """Return the forecast, the first of them."""
        return outputs[..., 0]

    def forecasts(
        self, outputs: Float64Array, levels: Float64Array, places: Places
    ) -> Float64Array:
        """Return forecasts of `predict` and quantiles behind them: (n, n_targets, 1 + n_levels).

        outputs: (n, n_targets, …), from `standardised`.
        """
        series = places.series
        scaler = self.scaler.with_unseen()
        level = self.head.level
        wanted = levels if level is None else np.append(level, levels)
        intervals = self.intervals_of(outputs)
        found = intervals.quantiles(outputs, wanted, scaler, series)
        if level is None:
            points = scaler.inverse_with_smearing(self.point(outputs), series)
            found = np.concatenate([points[..., None], found], axis=2)
        bounded = self.bounds.below_ceilings(found, series)
        return places.with_months(bounded)

    def set_constant(
        self, outputs: Float32Array, where: BoolArray, value: Float32Array
    ) -> None:
        """Put a value in the place of some outputs, without an error."""
        log_of_no_size = -100.0
        outputs[where, 0] = value[where]
        outputs[where, 1] = log_of_no_size
        outputs[where, 3:] = value[where][:, None]

    def restored(self, outputs: Float32Array, size: Resized) -> Float32Array:
        """Put forecasts, the sizes of their errors and recent values back."""
        restored = outputs.astype(np.float64)
        restored[..., 0] = size.undone(outputs[..., 0])
        restored[..., 1] -= np.log(size.gain)[:, None]
        restored[..., 3:] = size.undone(outputs[..., 3:])
        return restored.astype(np.float32)

    @property
    def look_back(self) -> int:
        """Rows before an origin that a forecast and those before it are made from."""
        return self.near + N_TRAILING * self.intervals.distance

    @property
    def near(self) -> int:
        """Rows before an origin that its forecast and volatility are made from."""
        return max(super().look_back, WIDTH)

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        inner = self.ensemble_forecaster(requested.place.series, requested.clock)
        return _SizedWindows(self, inner, requested)


class _WindowsWithEarlier(NamedTuple):
    """Requested windows and, behind them, the earlier ones whose errors their sizes depend on.

    origins: (n + n_earlier,), their first forecast rows.
    until: (n + n_earlier,), the row after the last known one before each.
    anchor: (n + n_earlier,), the row from which what is looked at counts back.
    earlier: (n, N_TRAILING), the places in these arrays of the windows that ended before each
    requested one, the latest first; -1 for none.
    """

    origins: IntArray
    until: IntArray
    anchor: IntArray
    earlier: IntArray


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

    Sizes are those of the windows that are asked for. Others fill gaps before these, by what is
    forecast alone: no window that ended before them is forecast.

    asked: the first forecast rows of the windows that are asked for.
    known: which rows were observed.
    known_until: for each row, the one after the last that was observed up to it in its segment.
    collapses: of the history.
    is_left_out: (n_rows, n_targets), which targets are always zero at their phase, or lie in a
    collapse.

    All are found in the first call, and are the same in all.
    """

    forecaster: IntervalForecaster
    inner: EnsembleForecaster
    requested: RequestedSteps
    asked: Any = None
    known: Any = None
    known_until: Any = None
    collapses: Any = None
    is_left_out: Any = None

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        if self.known is None:
            self._find_asked(rows)
            self._find_known(rows)
        n = len(origins)
        # 1. The windows, and those that ended before them.
        windows = self._with_earlier(rows, origins)
        # 2. Forecasts of both, and the sizes of their errors by what is known at the origins.
        predicted = self._predict(rows, windows)
        # 3. The sizes of the earlier errors in these.
        recent = self._recent_log_size(rows, windows, predicted)
        log_size = predicted.log_size[:n] + recent[:, None]
        log_size += self.inner.log_widening(rows, origins)
        self._widen_unknown(log_size, rows, origins)
        # 4. The steps since the last known row.
        ahead = window_rows(origins - windows.until[:n], log_size.shape[1])[..., None]
        parts = np.broadcast_arrays(predicted.point[:n], log_size, ahead)
        sized = np.stack(parts, axis=-1)
        # 5. What was seen lately, where it counts.
        outputs = self._with_recent(sized, rows, origins, windows.until[:n])
        return outputs.astype(np.float32)

    def _with_recent(
        self, outputs: Float64Array, rows: Rows, origins: IntArray, until: IntArray
    ) -> Float64Array:
        """Put the distribution of recent rows behind outputs, see `recent_distribution`.

        It is NaN for series that were never observed.
        """
        fit = self.forecaster
        if not fit.intervals.residuals.recent_share.any():
            return outputs
        begin = rows.begin[rows.segment[origins]]
        values = rows.values[:, : fit.sizes.n_targets]
        recent = recent_distribution(values, begin, until, fit.sizes.pred_len)
        recent[self._is_unknown(rows, origins)] = np.nan
        of_steps = np.repeat(recent[:, None], outputs.shape[1], axis=1)
        return np.concatenate([outputs, of_steps], axis=-1)

    def _find_asked(self, rows: Rows) -> None:
        asked = self.requested
        pred_len = self.forecaster.sizes.pred_len
        start = block_starts(asked.place, asked.segment, asked.steps, pred_len)
        first_row = np.searchsorted(rows.segment, asked.segment)
        self.asked = np.unique(first_row + start - rows.steps[first_row])

    def _find_known(self, rows: Rows) -> None:
        known: Any = rows.known  # rows of a recursion always have it
        self.known = known.all(axis=1)
        first_row = np.searchsorted(rows.segment, rows.segment)
        after = np.arange(1, len(first_row) + 1)
        until = np.where(self.known, after, first_row)
        self.known_until = np.maximum.accumulate(until)
        fit = self.forecaster
        series = self._series(rows, np.arange(len(rows.steps)))
        self.collapses = Collapses.of(fit, self.requested.clock, series)
        self.is_left_out = self.collapses.at(series, rows.steps)
        zeros = fit.bounds.on_clock(self.requested.clock).zero_phases
        if zeros is not None:
            self.is_left_out |= zeros.at(series, rows.steps)

    def _open_targets(self, rows: Rows) -> Float32Array:
        """Return targets of rows, (n_rows, n_targets), with NaN where they are left out."""
        targets = rows.values[:, : self.forecaster.sizes.n_targets]
        return np.where(self.is_left_out, np.float32(np.nan), targets)

    def _series(self, rows: Rows, origins: IntArray) -> IntArray:
        """Return the series of windows; the number behind all is of those that the fit lacked."""
        series = self.requested.place.series[rows.segment[origins]]
        return np.minimum(series, self.forecaster.history.n_series)

    def _with_earlier(self, rows: Rows, origins: IntArray) -> _WindowsWithEarlier:
        """Put behind requested windows those that ended before them, each once."""
        until, anchor = self._last_known(rows, origins)
        trailing = self._trailing_origins(rows, origins, anchor)
        trailing[~np.isin(origins, self.asked)] = -1
        earlier = np.unique(trailing[trailing >= 0])
        place = len(origins) + np.searchsorted(earlier, trailing)
        return _WindowsWithEarlier(
            np.append(origins, earlier),
            np.append(until, self.known_until[earlier - 1]),
            np.append(anchor, earlier),
            np.where(trailing >= 0, place, -1),
        )

    def _last_known(self, rows: Rows, origins: IntArray) -> tuple[IntArray, IntArray]:
        """Return the row after the last known one before windows, and where they look back from.

        Rows that are farther back than a forecast looks do not matter: whether they are there
        depends on the other steps of the request.
        """
        first_step = self.requested.place.begin[rows.segment[origins]]
        n_since = np.maximum(rows.steps[origins] - first_step, 0)
        request_start = origins - n_since
        farthest = request_start - self.forecaster.look_back
        until = np.maximum(self.known_until[origins - 1], farthest)
        return until, np.maximum(until, request_start)

    def _trailing_origins(
        self, rows: Rows, origins: IntArray, anchor: IntArray
    ) -> IntArray:
        """Return origins of the windows that ended before others: (n, N_TRAILING), -1 for none.

        anchor: (n,), the row from which they count back.
        """
        fit = self.forecaster
        distance = fit.intervals.distance
        begin = rows.begin[rows.segment[origins]]
        earliest = earliest_origins(
            np.maximum(begin, anchor - fit.look_back),
            anchor,
            seq_len=fit.sizes.seq_len,
            pred_len=fit.sizes.pred_len,
            fewest=fit.ensemble.fewest_rows,
            spare=spare_rows(fit.history.n_series, distance),
        )
        return trailing_origins(anchor, earliest, distance)

    def _predict(self, rows: Rows, windows: _WindowsWithEarlier) -> _Prediction:
        """Forecast windows, and predict the sizes of errors by what is known at their origins."""
        fit = self.forecaster
        origins = windows.origins
        # 1. Forecasts, of each window once.
        distinct, place = np.unique(origins, return_inverse=True)
        outputs = self.inner(rows, distinct).astype(np.float64)[place]
        # 2. What is known at the origins.
        first = rows.begin[rows.segment[origins]]
        begin = np.maximum(first, windows.anchor - fit.near)
        end = np.maximum(windows.until, begin)
        changes = volatility(self._open_targets(rows), begin, end)
        features = features_of(
            fit, outputs, changes, self._series(rows, origins), fit.intervals.quiet
        )
        # 3. Sizes by this.
        steps = window_rows(rows.steps[origins], fit.sizes.pred_len)
        log_size = fit.intervals.spread.log_size(features, steps)
        return _Prediction(fit.head.point(outputs), log_size, changes)

    def _recent_log_size(
        self, rows: Rows, windows: _WindowsWithEarlier, predicted: _Prediction
    ) -> Float64Array:
        """Average the sizes of the errors before requested windows: their logs, (n, n_targets).

        They are in sizes that were predicted in the same way. Those behind a standstill are left
        out where something has moved since.
        """
        errors = self._errors(rows, windows.origins, predicted.point)
        spread = self.forecaster.intervals.spread
        relative = spread.relative(errors, predicted.log_size)
        sizes = mean_size(relative, axis=1)
        was_still = predicted.changes < STILL
        earlier = windows.earlier
        has_moved = predicted.changes[: len(earlier), None] >= STILL
        is_left_out = was_still[earlier] & has_moved
        is_left_out[earlier < 0] = True
        recent = np.where(is_left_out, np.nan, sizes[earlier])
        return np.log(trailing_sizes(recent))

    def _errors(
        self, rows: Rows, origins: IntArray, point: Float64Array
    ) -> Float64Array:
        """Compute errors of windows, as they would be on rows that the fit did not see."""
        fit = self.forecaster
        ahead = window_rows(origins, fit.sizes.pred_len)
        errors = self._open_targets(rows)[ahead] - point
        errors[~self.known[ahead]] = np.nan
        series = self._series(rows, origins)
        in_collapse = self.collapses.before(series, rows.steps[origins])
        errors = np.where(in_collapse[:, None], np.nan, errors)
        if self.requested.clock == fit.history.clock:
            # Before all times for series that the fit lacked.
            until = np.append(fit.intervals.fitted_until, -np.inf)
            was_fitted = rows.steps[origins] < until[series]
            errors[was_fitted] *= fit.intervals.optimism
        return errors

    def _is_unknown(self, rows: Rows, origins: IntArray) -> BoolArray:
        """Return before which windows nothing was observed."""
        first_row = np.searchsorted(rows.segment, rows.segment[origins])
        return self.known_until[origins - 1] == first_row

    def _widen_unknown(
        self, log_size: Float64Array, rows: Rows, origins: IntArray
    ) -> None:
        """Make errors of series never observed as large as the levels of all others vary."""
        fit = self.forecaster
        series = self._series(rows, origins)
        is_unknown = self._is_unknown(rows, origins)
        is_unknown &= series < fit.history.n_series
        if not is_unknown.any():
            return
        by_level = level_sizes(fit.history, fit.scaler, fit.sizes.n_targets)
        wider = by_level[series[is_unknown], None] - fit.intervals.spread.typical
        wider = np.where(np.isnan(wider), log_size[is_unknown], wider)
        log_size[is_unknown] = wider
