"""Intervals of a fit: its errors on windows of the history, made as large as those on unseen rows.

Windows of all seasons are needed, and few rows were held out: so the final forecaster's errors on
the rows that it was fitted to are multiplied by what they gain there. That is found on windows that
members forecast before they were fitted to them: those of the proof that weighed them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    unmoved,
    volatility,
)
from skinformer.intervals.forecaster import Intervals
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
        history = forecaster.history
        if (np.diff(history.first_row) != self.n_rows).any():
            history = history.head(history.first_row[:-1] + self.n_rows)
        forecaster = replace(forecaster, history=history)
        if self.alone:
            return calibrate(forecaster, None, split=self.split)
        return calibrate(forecaster, self.proved or self._prove_alone(forecaster))

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
    timeline = forecaster.history
    distance = _distance_of_windows(forecaster)
    # 1. Errors of windows of the history, as if it had not been fitted to.
    windows = choose_windows(forecaster, distance, split)
    if not len(windows.origins):
        return None
    n = len(windows.origins)
    compared = windows.origins[:0] if proved is None else proved.origins
    both = forecast_windows(forecaster, np.append(windows.origins, compared))
    outputs, errors = both.outputs[:n], both.errors[:n]
    held_out = np.empty_like(both.errors[n:])
    optimism = np.ones(errors.shape[2])
    if proved is not None:
        held_out = proved_errors(forecaster, proved)
        n_apart = count_apart(compared, forecaster.sizes.pred_len)
        optimism = optimism_of(held_out, both.errors[n:], n_apart)
    errors *= optimism
    if np.isnan(errors).all():
        return None
    # 2. Their sizes, and the residuals in these.
    spread, residuals, volatility_floor = _fit_sizes(
        forecaster, windows, outputs, errors
    )
    found = Intervals(
        spread=spread,
        residuals=residuals,
        quiet=volatility_floor,
        far=np.empty((0, len(volatility_floor))),
        growth=_growth_exponent(spread.typical),
        optimism=optimism,
        distance=distance,
        fitted_until=timeline.end_step,
    )
    # 3. What the windows do not hold: unseen rows, and later steps.
    if proved is not None:
        errors = np.concatenate([errors, held_out])
        found = _with_proved_level(
            forecaster, found, windows, compared, both.outputs, errors
        )
    return replace(found, far=_log_sizes_beyond(forecaster, found, split))


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
    outputs: Float64Array,
    errors: Float64Array,
) -> tuple[Spread, Residuals, Float64Array]:
    """Fit the sizes of errors, and keep a sample of these in sizes.

    Beside them stands the volatility that is added to that of windows.
    """
    timeline = forecaster.history
    origins = windows.origins
    series = timeline.series_of(origins)
    # 1. What is known at the origins.
    begin = timeline.first_row[series]
    targets = open_targets(forecaster)
    changes = volatility(targets, begin, origins)
    volatility_floor = fit_volatility_floor(changes)
    features = features_of(forecaster, outputs, changes, series, volatility_floor)
    # 2. Sizes, and errors in these.
    latest = volatility(targets, begin, timeline.first_row[series + 1])
    errors = _without_standstill(errors, changes, latest)
    steps = window_rows(timeline.steps_of(origins), errors.shape[1])
    spread = fit_spread(
        errors, features, steps, seasons=_seasons(timeline), n_windows=windows.n_apart
    )
    log_size = spread.log_size(features, steps)
    relative = spread.relative(errors, log_size)
    residuals = _sample(relative, windows, timeline)
    # 3. Targets of which few errors are known.
    spread, residuals = with_random_walk(spread, residuals, timeline, targets, errors)
    return spread, residuals, volatility_floor


def _without_standstill(
    errors: Float64Array, changes: Float64Array, latest: Float64Array
) -> Float64Array:
    """Leave out windows in which series stood still that have moved since; round to zero.

    changes, latest: (n, n_targets), the volatility before each window, and that of the last rows.
    """
    is_left_out = unmoved(errors, changes) & (latest >= STILL)
    errors = np.where(is_left_out[:, None], np.nan, errors)
    errors[np.abs(errors) < STILL] = 0.0  # rounding is no error to one side
    return errors


def _sample(
    relative: Float64Array, windows: CalibrationWindows, timeline: Timeline
) -> Residuals:
    """Keep a sample of errors, divided by the sizes of those of the windows before them."""
    most_values = 2_000_000
    relative = relative / _sizes_before(relative, windows.run)[:, None]
    # How many independent forecasts they amount to.
    n_independent: float = windows.n_moments
    if timeline.n_series == 1:
        n_independent = independent_errors(relative, windows.n_apart)
    n_kept = max(1, most_values // relative[0].size)
    kept = spread_places(len(relative), n_kept)
    origins = windows.origins[kept]
    return Residuals(
        relative[kept].astype(np.float32),
        n_independent,
        timeline.series_of(origins),
        timeline.steps_of(origins),
    )


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
    """Estimate the sizes of errors of steps after `pred_len`, from windows forecast that far."""
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
    forecaster: StepForecaster,
    found: Intervals,
    windows: CalibrationWindows,
    compared: IntArray,
    outputs: Float64Array,
    errors: Float64Array,
) -> Intervals:
    """Correct the level of sizes by windows that were not fitted to, as far as these are many.

    compared: their origins; outputs and errors are of calibration windows, then of these.
    """
    prior = 30.0  # windows that stand for no correction
    timeline = forecaster.history
    # 1. Errors in the sizes that would have been predicted.
    origins = np.append(windows.origins, compared)
    series = timeline.series_of(origins)
    begin = timeline.first_row[series]
    changes = volatility(open_targets(forecaster), begin, origins)
    features = features_of(forecaster, outputs, changes, series, found.quiet)
    steps = window_rows(timeline.steps_of(origins), errors.shape[1])
    relative = found.spread.relative(errors, found.spread.log_size(features, steps))
    # 2. In the sizes of errors before them.
    n = len(windows.origins)
    earlier = _windows_before(timeline, windows, compared, found.distance)
    recent = mean_size(relative[:n], axis=1)[earlier]
    recent[earlier < 0] = np.nan
    held_out = relative[n:] / trailing_sizes(recent)[:, None]
    # 3. Their level.
    ratio = size_ratio(held_out, found.residuals.errors.astype(np.float64))
    share = shrinkage(count_apart(compared, found.distance), prior)
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


def _growth_exponent(typical: Float64Array) -> Float64Array:
    """Estimate the power of the step by which sizes grew over the later steps."""
    most = 0.5  # that of a random walk
    pred_len, n_targets = typical.shape
    first = pred_len // 4
    if pred_len - first < 3:
        return np.full(n_targets, most / 2)
    log_step = np.log(np.arange(first + 1.0, pred_len + 1))
    slope, _ = np.polyfit(log_step, typical[first:], 1)
    return np.clip(slope, 0.0, most)
