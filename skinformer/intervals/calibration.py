"""Intervals of a fit: its errors on windows of the history, made as large as those on unseen rows.

Windows of all seasons are needed, and few rows were held out: so the final forecaster's errors on
the rows that it was fitted to are multiplied by what they gain there. That is found on the
validation split, which the same forecasters forecast before they were fitted to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.ensemble.settings import FitSettings
from skinformer.intervals import runs
from skinformer.intervals.changes import with_random_walk
from skinformer.intervals.features import (
    STILL,
    features_of,
    least_volatility,
    unmoved,
    volatility,
)
from skinformer.intervals.forecaster import IntervalForecaster, Intervals
from skinformer.intervals.residuals import Residuals, independent_errors
from skinformer.intervals.spread import Spread, fit_spread, mean_of_known
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, spread_places, window_rows


class HeldOut(NamedTuple):
    """A forecaster that was not fitted to some windows.

    forecaster: with a history of its own.
    origins, own_origins: the windows, by rows of the whole history and of its own.
    """

    forecaster: StepForecaster
    origins: IntArray
    own_origins: IntArray


class _Windows(NamedTuple):
    """Windows of the history by which intervals are found.

    origins, run: (n,), their first forecast rows, and the run of windows that each is in.
    n_apart: how many of them share no row.
    n_moments: the same of the series that has most, since series of a panel are alike.
    """

    origins: IntArray
    run: IntArray
    n_apart: int
    n_moments: int


@dataclass(frozen=True)
class Calibration:
    """What a fit keeps to calibrate intervals when they are first asked for.

    split: the row at which each series' validation split begins.
    alone: whether the network forecasts alone: it may have memorised rows before the split.
    n_rows: of each series that the fit saw.
    """

    split: IntArray | None
    alone: bool
    n_rows: IntArray

    @classmethod
    def of(
        cls, timeline: Timeline, split: IntArray | None, settings: FitSettings
    ) -> Calibration:
        """Keep what the ensemble does not hold; the split is the row where each series' begins."""
        alone = settings.train_network and not settings.linear_path
        return cls(split, alone, np.diff(timeline.first_row))

    def intervals(self, forecaster: StepForecaster) -> Intervals | None:
        """Calibrate intervals of a fit, whatever rows `update` has brought since.

        It is None where no window has an observed target. Cost: forecasts of some 1,500 windows;
        where classical forecasters take part, a fit of them to 256 series at most.
        """
        history = forecaster.history
        if (np.diff(history.first_row) != self.n_rows).any():
            history = history.head(history.first_row[:-1] + self.n_rows)
        forecaster = replace(forecaster, history=history)
        if self.alone:
            return calibrate(forecaster, None, split=self.split)
        is_refitted = self.split is not None or _fits_again(forecaster)
        return calibrate(
            forecaster, before_refit(forecaster, self.split) if is_refitted else None
        )


def _fits_again(forecaster: StepForecaster) -> bool:
    return any(member.fits_again for member in forecaster.ensemble.members.values())


def before_refit(forecaster: StepForecaster, split: IntArray | None) -> HeldOut | None:
    """Return the forecaster as it was before it was fitted to the last rows, and windows of these.

    It is None where no window lies in these.

    forecaster: the final one, whose weights are kept.
    split: the row at which each series' validation split begins; None for the last `pred_len` rows.

    Classical forecasters are chosen anew, before the split, on some of the series, since the final
    choice was made by the last rows. Where these are half of all rows, the choice is another one:
    in a panel it is replaced by the choice without the series' own errors if that is better.
    """
    n_most_series = 256  # of a panel, by the cost of the members
    timeline = forecaster.history
    sizes = forecaster.sizes
    first = timeline.first_row[:-1]
    end = timeline.first_row[1:]
    if split is None:  # of a short series half of its rows
        split = np.maximum(end - sizes.pred_len, (first + end) // 2)
    # 1. The series, and their rows before the split.
    fits_again = _fits_again(forecaster)
    chosen = np.arange(timeline.n_series)
    if fits_again and not sizes.n_series:  # embedded series keep their numbers
        chosen = spread_places(timeline.n_series, n_most_series)
    history = timeline.of_series(chosen)
    scaler = forecaster.scaler.of_series(chosen)
    moved = history.first_row[:-1] - first[chosen]
    before = history.head(split[chosen] + moved)
    # 2. The forecaster that knew these alone.
    ensemble = forecaster.ensemble.before_split(chosen, before, sizes, scaler)
    earlier = replace(forecaster, history=history, scaler=scaler, ensemble=ensemble)
    # 3. Windows after the split.
    n_most_windows = 256 // ensemble.cost
    origins = Origins(split[chosen], end[chosen] - sizes.pred_len).thinned(
        n_most_windows
    )
    if not len(origins):
        return None
    place = np.searchsorted(chosen, timeline.series_of(origins))
    held_out = HeldOut(earlier, origins, origins + moved[place])
    if not fits_again or timeline.n_series < runs.FEWEST:
        return held_out
    shared = replace(earlier, ensemble=ensemble.with_shared_fit(forecaster.ensemble))
    return min(held_out, held_out._replace(forecaster=shared), key=_mean_error)


def _mean_error(held_out: HeldOut) -> float:
    errors = _forecast_errors(held_out.forecaster, held_out.own_origins)[1]
    return float(np.nan_to_num(mean_of_known(np.abs(errors), axis=(0, 1))).sum())


def calibrate(
    forecaster: StepForecaster,
    held_out: HeldOut | None,
    *,
    split: IntArray | None = None,
) -> Intervals | None:
    """Estimate the errors of forecasts; None where no window has an observed target.

    held_out: what was not fitted to some windows; None where there is none.
    split: rows before these may have been memorised: their errors are not representative.

    Cost: forecasts of some 1,500 windows, and those of `held_out`.
    """
    timeline = forecaster.history
    seasons = _seasons(timeline)
    # A run meets all hours of the day; those of the week are met by several runs.
    distance = runs.run_distance(
        forecaster.sizes.pred_len, max(seasons[:-1] or seasons, default=1)
    )
    # 1. Errors of windows of the history, as if it had not been fitted to.
    windows = _choose(forecaster, distance, split)
    if not len(windows.origins):
        return None
    outputs, errors = _forecast_errors(forecaster, windows.origins)
    optimism = np.ones(errors.shape[2])
    if held_out is not None:
        optimism = _optimism(forecaster, held_out)
    errors *= optimism
    if np.isnan(errors).all():
        return None
    # 2. Their sizes, and the residuals in these.
    spread, residuals, quiet = _fit_sizes(forecaster, windows, outputs, errors, seasons)
    found = Intervals(
        spread=spread,
        residuals=residuals,
        quiet=quiet,
        far=np.empty((0, len(quiet))),
        growth=_growth(spread.typical),
        optimism=optimism,
        distance=distance,
        fitted_until=timeline.end_step,
    )
    # 3. What the windows do not hold: unseen rows, and later steps.
    if held_out is not None:
        found = _recalibrated(found, held_out)
    return replace(found, far=_far_sizes(forecaster, found, split))


def _fit_sizes(
    forecaster: StepForecaster,
    windows: _Windows,
    outputs: Float64Array,
    errors: Float64Array,
    seasons: tuple[int, ...],
) -> tuple[Spread, Residuals, Float64Array]:
    """Fit the sizes of errors, (n, pred_len, n_targets), and keep a sample of these in sizes.

    Beside them stands the volatility that is added to that of windows.
    """
    timeline = forecaster.history
    series = timeline.series_of(windows.origins)
    targets = timeline.values[:, : errors.shape[2]]
    # 1. What is known at the origins.
    changes = volatility(targets, timeline.first_row[series], windows.origins)
    quiet = least_volatility(changes)
    features = features_of(forecaster, outputs, changes, series, quiet)
    # 2. Windows in which series stood still that have moved since are left out.
    latest = volatility(targets, timeline.first_row[:-1], timeline.first_row[1:])
    left_out = unmoved(errors, changes) & (latest[series] >= STILL)
    errors = np.where(left_out[:, None], np.nan, errors)
    errors[np.abs(errors) < STILL] = 0.0  # rounding is no error to one side
    # 3. Sizes, and errors in these.
    steps = window_rows(timeline.steps_of(windows.origins), errors.shape[1])
    spread = fit_spread(
        errors, features, steps, seasons=seasons, n_windows=windows.n_apart
    )
    relative = errors * np.exp(-spread.typical - spread.log_size(features, steps))
    residuals = _sample(relative, windows, timeline)
    # 4. Targets of which too few errors are known.
    few = (~np.isnan(errors)).sum(axis=(0, 1)) < runs.FEWEST
    if few.any():
        spread, residuals = with_random_walk(spread, residuals, timeline, few)
    return spread, residuals, quiet


def _sample(relative: Float64Array, windows: _Windows, timeline: Timeline) -> Residuals:
    """Keep a sample of errors, divided by the sizes of those of the windows before them."""
    most_values = 2_000_000
    # 1. The windows before each, of its run.
    earlier = np.arange(len(relative))[:, None] - np.arange(1, runs.N_TRAILING + 1)
    place = np.maximum(earlier, 0)
    is_same_run = (earlier >= 0) & (windows.run[place] == windows.run[:, None])
    mean_sizes = mean_of_known(np.abs(relative), axis=1)
    recent = np.where(is_same_run[..., None], mean_sizes[place], np.nan)
    relative = relative / runs.trailing_sizes(recent)[:, None]
    # 2. How many independent forecasts they amount to.
    n_independent: float = windows.n_moments
    if timeline.n_series == 1:
        n_independent = independent_errors(relative, windows.n_apart)
    kept = spread_places(len(relative), max(1, most_values // relative[0].size))
    origins = windows.origins[kept]
    return Residuals(
        relative[kept].astype(np.float32),
        n_independent,
        timeline.series_of(origins),
        timeline.steps_of(origins),
    )


def _seasons(timeline: Timeline) -> tuple[int, ...]:
    """Return the seasons whose phases have sizes of errors of their own, the shortest first."""
    longest = (
        700  # rows: a week of quarters of an hour has a profile, and a year has none
    )
    found: tuple[int, ...] = ()
    for season in likely_seasons(timeline.clock):
        if season <= longest and season % max(found, default=1) == 0:
            found = (*found, season)
    return found if timeline.clock.dated else found[:1]  # which is a guess


def _far_sizes(
    forecaster: StepForecaster, found: Intervals, split: IntArray | None
) -> Float64Array:
    """Estimate the sizes of errors of steps after `pred_len`, from windows forecast that far."""
    pred_len = forecaster.sizes.pred_len
    typical = found.spread.typical
    n_most = 96 // forecaster.ensemble.cost
    distance = found.distance
    for n_blocks in (4, 3, 2):  # as long as there are some windows of this length
        horizon = n_blocks * pred_len
        low, end = _extent(forecaster, horizon, distance, split)
        origins, _, n_apart = runs.choose_runs(
            low, end - horizon, distance=distance, n_most=n_most
        )
        if n_apart >= runs.FEWEST:
            break
    else:
        return np.empty((0, typical.shape[1]))
    errors = _forecast_errors(forecaster, origins, horizon)[1]
    mean = mean_of_known(np.abs(errors), axis=0)
    logs = np.log(np.maximum(np.nan_to_num(mean), 1e-12))
    # These windows are few: their last near steps are made as large as those of all windows.
    near = slice(pred_len * 3 // 4, pred_len)
    logs += (typical[near] - logs[near]).mean(axis=0)
    far = pd.DataFrame(logs[pred_len:])
    width = 2 * (pred_len // 2) + 1
    smooth = far.rolling(width, center=True, min_periods=1).mean().to_numpy()
    return np.asarray(np.maximum(smooth, typical.mean(axis=0)))


def _recalibrated(found: Intervals, held_out: HeldOut) -> Intervals:
    """Correct the level of sizes by windows that were held out, as far as these are many."""
    prior = 30.0  # windows that stand for no correction
    forecaster, _, own_origins = held_out
    timeline = forecaster.history
    fitted_until = timeline.end_step.copy()
    series = timeline.series_of(own_origins)
    np.minimum.at(fitted_until, series, timeline.steps_of(own_origins))
    before = replace(found, fitted_until=fitted_until)
    outputs, errors = _forecast_errors(
        IntervalForecaster.of(forecaster, before), own_origins
    )
    relative = errors * np.exp(-outputs[..., 1] - found.spread.typical)
    ratio = _ratio(relative, found.residuals.errors.astype(np.float64))
    share = shrinkage(_count_apart(own_origins, found.distance), prior)
    typical = found.spread.typical + share * np.log(ratio)
    return replace(found, spread=replace(found.spread, typical=typical))


def _count_apart(origins: IntArray, distance: int) -> int:
    """Count windows that share no row, at most."""
    count = 0
    last = -distance
    for origin in np.sort(origins):
        if origin >= last + distance:
            count += 1
            last = origin
    return count


def _choose(
    forecaster: StepForecaster, distance: int, split: IntArray | None
) -> _Windows:
    """Choose windows in runs, whole ones if there are any, else those that the history cuts off."""
    # Half as many where members are costly: from a quarter, steps ahead cover 5 points more or less
    # than asked.
    n_most = 1024 if forecaster.ensemble.cost == 1 else 512
    overlap = 4  # windows that share a row, at most, where they are few
    pred_len = forecaster.sizes.pred_len
    low, end = _extent(forecaster, pred_len, distance, split)
    for last in (end - pred_len, end - 1):
        last = _at_same_steps(forecaster.history, low, last, distance)
        n_each = runs.count_windows(low, last, distance)
        n_wanted = min(n_most, overlap * int(n_each.sum()))
        origins, run, n_apart = runs.choose_runs(
            low, last, distance=distance, n_most=n_wanted
        )
        if n_apart:
            break
    n_moments = max(int(n_each.max()), runs.FEWEST)
    return _Windows(origins, run, n_apart, min(n_apart, n_moments))


def _at_same_steps(
    timeline: Timeline, low: IntArray, last: IntArray, distance: int
) -> IntArray:
    """Return last origins such that windows of all series begin at the same steps of the clock.

    What happens to all series at one time is seen by windows of one time. A series that ends
    earlier than others loses rows for it, but never its only window.
    """
    step = timeline.first_step + last - timeline.first_row[:-1]
    earlier = last - (step - step.max()) % distance
    return np.where(earlier >= low, earlier, last)


def _extent(
    forecaster: StepForecaster, horizon: int, distance: int, split: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the first representative origin of each series, and the row after its last one."""
    begin = forecaster.history.first_row[:-1]
    end = forecaster.history.first_row[1:]
    low = runs.earliest_origins(
        begin,
        end,
        seq_len=forecaster.sizes.seq_len,
        pred_len=horizon,
        fewest=forecaster.ensemble.fewest_rows,
        spare=runs.spare_rows(len(begin), distance),
    )
    if split is not None:
        low = np.maximum(low, split)
    return low, end


def _forecast_errors(
    forecaster: StepForecaster, origins: IntArray, horizon: int | None = None
) -> tuple[Float64Array, Float64Array]:
    """Forecast windows of the history: outputs, and their errors, of which NaN is unknown."""
    timeline = forecaster.history
    horizon = horizon or forecaster.sizes.pred_len
    horizons = np.full(len(origins), horizon)
    outputs = forecast_origins(forecaster, origins, horizons)[0]
    outputs = outputs.reshape(len(origins), horizon, *outputs.shape[1:])
    steps = window_rows(timeline.steps_of(origins), horizon)
    rows = timeline.find(timeline.series_of(origins)[:, None], steps)
    y = timeline.values[rows, : forecaster.sizes.n_targets].astype(np.float64)
    y[rows < 0] = np.nan
    if timeline.weight is not None:
        y[timeline.weight[rows] == 0] = np.nan
    return outputs, y - forecaster.point(outputs)


def _optimism(forecaster: StepForecaster, held_out: HeldOut) -> Float64Array:
    """Divide errors of windows before they were fitted to by those after it."""
    most = 4.0
    before = _forecast_errors(held_out.forecaster, held_out.own_origins)[1]
    after = _forecast_errors(forecaster, held_out.origins)[1]
    return np.clip(_ratio(before, after), 1.0, most)


def _ratio(errors: Float64Array, others: Float64Array) -> Float64Array:
    """Divide mean sizes of errors of targets by those of others; 1 where there are none."""
    size = mean_of_known(np.abs(errors), axis=(0, 1))
    other = mean_of_known(np.abs(others), axis=(0, 1))
    is_known = (size > 0) & (other > 0)
    return np.divide(size, other, out=np.ones_like(size), where=is_known)


def _growth(typical: Float64Array) -> Float64Array:
    """Estimate the power of the step by which sizes grew over the later steps."""
    most = 0.5  # that of a random walk
    pred_len, n_targets = typical.shape
    first = pred_len // 4
    if pred_len - first < 3:
        return np.full(n_targets, most / 2)
    log_step = np.log(np.arange(first + 1.0, pred_len + 1))
    slope: Float64Array = np.polyfit(log_step, typical[first:], 1)[0]
    return np.clip(slope, 0.0, most)
