"""Intervals of a fit: its errors on windows of the history, made as large as those on unseen rows.

Windows of all seasons are needed, and few rows were held out: so the final forecaster's errors on
the rows that it was fitted to are multiplied by what they gain there. That is found on windows that
members forecast before they were fitted to them: those of the proof that weighed them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.ensemble.settings import FitSettings
from skinformer.intervals.changes import with_random_walk
from skinformer.intervals.errors import (
    forecast_windows,
    open_targets,
    optimism_of,
    proved_errors,
    size_ratio,
)
from skinformer.intervals.features import (
    STILL,
    features_of,
    fit_volatility_floor,
    volatility,
)
from skinformer.intervals.forecaster import Intervals
from skinformer.intervals.levels import level_shares
from skinformer.intervals.recent import recent_distribution, recent_shares
from skinformer.intervals.residuals import Residuals, independent_errors
from skinformer.intervals.runs import run_distance, trailing_origins, trailing_sizes
from skinformer.intervals.spread import Spread, fit_spread, mean_of_known, mean_size
from skinformer.intervals.windows import (
    CalibrationWindows,
    choose_far_windows,
    choose_windows,
    count_apart,
)
from skinformer.judging.alone import prove_alone
from skinformer.judging.proof import Proved
from skinformer.rolling.forecaster import StepForecaster
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import spread_places, window_rows


@dataclass(frozen=True)
class Calibration:
    """What a fit keeps to calibrate intervals when they are first asked for.

    split: the row at which each series' validation split begins.
    alone: whether the network forecasts alone: it may have memorised rows before the split.
    n_rows: of each series that the fit saw.
    proved: what its members forecast before they were fitted to all rows; None where nothing
    compared them.
    """

    split: IntArray | None
    alone: bool
    n_rows: IntArray
    proved: Proved | None = None

    @classmethod
    def prepare(
        cls, timeline: Timeline, split: IntArray | None, settings: FitSettings
    ) -> Calibration:
        """Keep what the ensemble does not hold; the split is the row where each series' begins."""
        members = settings.members
        alone = NETWORK in members and RIDGES not in members
        return cls(split, alone, np.diff(timeline.first_row))

    def intervals(self, forecaster: StepForecaster) -> Intervals | None:
        """Calibrate intervals of a fit, whatever rows `update` has brought since.

        It is None where no window has an observed target. Cost: forecasts of some 1,500 windows;
        where classical forecasters forecast alone, a fit of them to 256 series at most.
        """
        forecaster = self._as_fitted(forecaster)
        if self.alone:
            return calibrate(forecaster, None, split=self.split)
        return calibrate(forecaster, self.proved or self._prove_alone(forecaster))

    def with_steps_beyond(
        self, forecaster: StepForecaster, found: Intervals
    ) -> Intervals:
        """Add the sizes of errors of steps after `pred_len`, and how they grow from there.

        Cost: forecasts of some 100 windows that are four times as long as others.
        """
        split = self.split if self.alone else None
        far = _log_sizes_beyond(self._as_fitted(forecaster), found, split)
        growth = found.growth
        if len(far):
            known = np.concatenate([found.spread.typical, far])
            # Up to that of a line whose slope is not known.
            beyond = _growth_exponent(known, most=1.0)
            growth = np.maximum(found.growth, beyond)
        return replace(found, far=far, growth=growth)

    def _as_fitted(self, forecaster: StepForecaster) -> StepForecaster:
        """Take off the rows that `update` has brought since the fit."""
        history = forecaster.history
        if (np.diff(history.first_row) != self.n_rows).any():
            history = history.head(history.first_row[:-1] + self.n_rows)
        return replace(forecaster, history=history)

    def _prove_alone(self, forecaster: StepForecaster) -> Proved | None:
        """Prove now what a member forecasts alone; None where rows were held out at the fit."""
        if self.split is not None:
            return None
        return prove_alone(
            forecaster.ensemble,
            forecaster.history,
            forecaster.sizes,
            forecaster.scaler,
            head=forecaster.head,
            device=forecaster.device,
        )


def calibrate(
    forecaster: StepForecaster, proved: Proved | None, *, split: IntArray | None = None
) -> Intervals | None:
    """Estimate the errors of forecasts; None where no window has an observed target.

    proved: forecasts by members that had not learnt the windows, which tell by how much errors of
    the final ones are too small; None where there are none.
    split: rows before these may have been memorised: their errors are not representative.

    Cost: forecasts of some 1,500 windows.
    """
    distance = _distance_of_windows(forecaster)
    # 1. Errors of windows of the history, as if it had not been fitted to.
    windows = choose_windows(forecaster, distance, split)
    n = len(windows.origins)
    if not n:
        return None
    compared = windows.origins[:0] if proved is None else proved.origins
    origins = np.append(windows.origins, compared)
    both = forecast_windows(forecaster, origins)
    errors, optimism = _as_unseen(forecaster, both.errors, proved, n)
    if np.isnan(errors[:n]).all():
        return None
    # 2. Their sizes by what is known at the origins, and the residuals in these.
    known = _KnownBefore.of(forecaster, origins, both.outputs, n)
    points = forecaster.head.point(both.outputs[:n])
    spread, residuals = _fit_sizes(
        forecaster, windows, known.head(n), errors[:n], points
    )
    found = Intervals(
        spread=spread,
        residuals=residuals,
        quiet=known.volatility_floor,
        far=None,
        growth=_growth_exponent(spread.typical, most=0.5),
        optimism=optimism,
        distance=distance,
        fitted_until=forecaster.history.end_step,
    )
    # 3. What the windows do not hold: unseen rows.
    if proved is None:
        return found
    relative = known.relative(spread, errors)
    earlier = _windows_before(forecaster.history, windows, compared, distance)
    return _with_proved_level(
        found, relative[:n], earlier, relative[n:], count_apart(compared, distance)
    )


def _as_unseen(
    forecaster: StepForecaster, errors: Float64Array, proved: Proved | None, n: int
) -> tuple[Float64Array, Float64Array]:
    """Make errors of fitted rows as large as those of others; return also by what factor.

    errors: of n windows, and then of those that were proved, in whose place those of the proof
    stand.
    """
    optimism = np.ones(errors.shape[2])
    if proved is not None:
        held_out = proved_errors(forecaster, proved)
        n_apart = count_apart(proved.origins, forecaster.sizes.pred_len)
        optimism = optimism_of(held_out, errors[n:], n_apart)
        errors[n:] = held_out
    errors[:n] *= optimism
    return errors, optimism


class _KnownBefore(NamedTuple):
    """What sizes of errors of windows are predicted by.

    changes: (n, n_targets), the volatility before each window.
    volatility_floor: (n_targets,), is added to it.
    features: see `features_of`.
    steps: (n, pred_len), of the windows.
    """

    changes: Float64Array
    volatility_floor: Float64Array
    features: Float64Array
    steps: IntArray

    @classmethod
    def of(
        cls,
        forecaster: StepForecaster,
        origins: IntArray,
        outputs: Float64Array,
        n: int,
    ) -> _KnownBefore:
        """Find it for windows, of which the first n say what is usual."""
        timeline = forecaster.history
        series = timeline.series_of(origins)
        begin = timeline.first_row[series]
        changes = volatility(open_targets(forecaster), begin, origins)
        floor = fit_volatility_floor(changes[:n])
        features = features_of(forecaster, outputs, changes, series, floor)
        steps = window_rows(timeline.steps_of(origins), outputs.shape[1])
        return cls(changes, floor, features, steps)

    def head(self, n: int) -> _KnownBefore:
        """Keep the first windows."""
        return self._replace(
            changes=self.changes[:n], features=self.features[:n], steps=self.steps[:n]
        )

    def relative(self, spread: Spread, errors: Float64Array) -> Float64Array:
        """Divide errors by the sizes that are predicted for them."""
        return spread.relative(errors, spread.log_size(self.features, self.steps))


def _distance_of_windows(forecaster: StepForecaster) -> int:
    """Return the distance of windows, a run of which meets all phases of a season.

    These are all hours of the day; those of the week are met by several runs.
    """
    seasons = _seasons(forecaster.history)
    shorter = seasons[:-1] or seasons
    return run_distance(forecaster.sizes.pred_len, max(shorter, default=1))


def _fit_sizes(
    forecaster: StepForecaster,
    windows: CalibrationWindows,
    known: _KnownBefore,
    errors: Float64Array,
    points: Float64Array,
) -> tuple[Spread, Residuals]:
    """Fit the sizes of errors of windows, and keep a sample of these in sizes.

    errors, points: (n, pred_len, n_targets), of forecasts, and these themselves.
    """
    timeline = forecaster.history
    targets = open_targets(forecaster)
    # 1. Sizes, and errors in these.
    series = timeline.series_of(windows.origins)
    begin, end = timeline.first_row[[series, series + 1]]
    latest = volatility(targets, begin, end)
    errors = _without_standstill(errors, known.changes, latest)
    spread = fit_spread(
        errors,
        known.features,
        known.steps,
        seasons=_seasons(timeline),
        n_windows=windows.n_apart,
    )
    relative = known.relative(spread, errors)
    residuals, kept = _sample(relative, points, windows, timeline)
    # 2. How far errors depend on what is forecast.
    residuals = replace(residuals, level_share=level_shares(residuals))
    # 3. How far what was seen lately says more than errors.
    recent = _recent_before(timeline, windows.origins[kept], *points.shape[1:])
    log_size = spread.typical + spread.log_size(known.features, known.steps)
    sizes = np.exp(log_size) * _sizes_before(relative, windows.run)[:, None]
    share = recent_shares(residuals, sizes[kept], recent)
    residuals = replace(residuals, recent_share=share)
    # 4. Targets of which few errors are known.
    return with_random_walk(spread, residuals, timeline, targets, errors)


def _recent_before(
    timeline: Timeline, origins: IntArray, pred_len: int, n_targets: int
) -> Float64Array:
    """Describe the rows before windows of the history, see `recent_distribution`."""
    begin = timeline.first_truth[timeline.series_of(origins)]
    return recent_distribution(timeline.values[:, :n_targets], begin, origins, pred_len)


def _without_standstill(
    errors: Float64Array, changes: Float64Array, latest: Float64Array
) -> Float64Array:
    """Leave out windows before which series stood still that have moved since; round to zero.

    A season that began out of nothing says nothing of what comes amid it.

    changes, latest: (n, n_targets), the volatility before each window, and that of the last rows.
    """
    is_left_out = (changes < STILL) & (latest >= STILL)
    errors = np.where(is_left_out[:, None], np.nan, errors)
    errors[np.abs(errors) < STILL] = 0.0  # rounding is no error to one side
    return errors


def _sample(
    relative: Float64Array,
    points: Float64Array,
    windows: CalibrationWindows,
    timeline: Timeline,
) -> tuple[Residuals, IntArray]:
    """Keep a sample of errors, divided by the sizes of those of the windows before them.

    Return also which windows it holds.
    """
    most_values = 2_000_000
    relative = relative / _sizes_before(relative, windows.run)[:, None]
    # How many independent forecasts they amount to.
    n_independent: float = windows.n_moments
    if timeline.n_series == 1:
        n_independent = independent_errors(relative, windows.n_apart)
    n_kept = max(1, most_values // relative[0].size)
    kept = spread_places(len(relative), n_kept)
    origins = windows.origins[kept]
    sample = Residuals(
        relative[kept].astype(np.float32),
        n_independent,
        timeline.series_of(origins),
        timeline.steps_of(origins),
        points[kept].astype(np.float32),
        level_share=np.zeros(points.shape[2]),
        recent_share=np.zeros(points.shape[2]),
    )
    return sample, kept


def _sizes_before(relative: Float64Array, run: IntArray) -> Float64Array:
    """Average the sizes of the errors before each window, of its run: (n, n_targets)."""
    first_of_run = np.searchsorted(run, run)
    earlier = trailing_origins(np.arange(len(run)), first_of_run, 1)
    recent = mean_size(relative, axis=1)[earlier]
    recent[earlier < 0] = np.nan
    return trailing_sizes(recent)


def _seasons(timeline: Timeline) -> tuple[int, ...]:
    """Return the seasons whose phases have sizes of errors of their own, the shortest first."""
    longest = 700  # a week of quarters of an hour has a profile, and a year has none
    found: list[int] = []
    for season in likely_seasons(timeline.clock):
        if season <= longest and season % max(found, default=1) == 0:
            found.append(season)
    if not timeline.clock.dated and not timeline.clock.seasons:
        found = found[:1]  # which is a guess
    return tuple(found)


def _log_sizes_beyond(
    forecaster: StepForecaster, found: Intervals, split: IntArray | None
) -> Float64Array:
    """Estimate sizes of errors of steps after `pred_len`, (n_far, n_targets), in logarithms."""
    pred_len = forecaster.sizes.pred_len
    typical = found.spread.typical
    origins, horizon = choose_far_windows(forecaster, found.distance, split)
    if not len(origins):
        return np.empty((0, typical.shape[1]))
    errors = forecast_windows(forecaster, origins, horizon).errors
    # Of steps without a known error it is NaN.
    logs = np.log(np.maximum(mean_size(errors, axis=0), 1e-12))
    # These windows are few: their last near steps are made as large as those of all windows.
    near = slice(pred_len * 3 // 4, pred_len)
    logs += np.nan_to_num(mean_of_known(typical[near] - logs[near], axis=0))
    far = pd.DataFrame(logs[pred_len:])
    width = 2 * (pred_len // 2) + 1
    smooth = far.rolling(width, center=True, min_periods=1).mean().to_numpy()
    return np.fmax(smooth, typical.mean(axis=0))


def _with_proved_level(
    found: Intervals,
    relative: Float64Array,
    earlier: IntArray,
    held_out: Float64Array,
    n_apart: int,
) -> Intervals:
    """Correct the level of sizes by windows that were not fitted to, as far as these are many.

    relative: errors of calibration windows in the sizes that are predicted for them.
    earlier: of each window that was not fitted to, the places of those that ended before it.
    held_out: its own errors in such sizes.
    n_apart: how many of these windows share no row.
    """
    prior = 30.0  # windows that stand for no correction
    recent = mean_size(relative, axis=1)[earlier]
    recent[earlier < 0] = np.nan
    held_out = held_out / trailing_sizes(recent)[:, None]
    ratio = size_ratio(held_out, found.residuals.errors.astype(np.float64))
    share = shrinkage(n_apart, prior)
    typical = found.spread.typical + share * np.log(ratio)
    return replace(found, spread=replace(found.spread, typical=typical))


def _windows_before(
    timeline: Timeline, windows: CalibrationWindows, origins: IntArray, distance: int
) -> IntArray:
    """Find calibration windows that ended before origins: (n, N_TRAILING), -1 for none.

    They are the last one of its series, and those before it in its run, the latest first.
    """
    order = np.argsort(windows.origins, kind="stable")
    ascending = windows.origins[order]
    place = np.searchsorted(ascending, origins - distance, side="right") - 1
    first_row = timeline.first_row[timeline.series_of(origins)]
    is_there = (place >= 0) & (ascending[place] >= first_row)
    last = order[place]
    first_of_run = np.searchsorted(windows.run, windows.run[last])
    earlier = trailing_origins(last + 1, first_of_run, 1)
    return np.where(is_there[:, None], earlier, -1)


def _growth_exponent(typical: Float64Array, most: float) -> Float64Array:
    """Estimate the power of the step by which sizes grew over the later steps.

    most: that of a random walk, 0.5, where steps are few.
    """
    n_steps, n_targets = typical.shape
    first = n_steps // 4
    if n_steps - first < 3:
        return np.full(n_targets, most / 2)
    log_step = np.log(np.arange(first + 1.0, n_steps + 1))
    slope, _ = np.polyfit(log_step, typical[first:], 1)
    return np.clip(slope, 0.0, most)
