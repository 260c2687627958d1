"""Intervals of a fit: its errors on windows of the history, made as large as those on unseen rows.

Windows of all seasons are needed, and few rows were held out: so the final forecaster's errors on
the rows that it was fitted to are multiplied by what they gain there. That is found on the
validation split, which the same forecasters forecast before they were fitted to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skinformer.ensemble.settings import FitSettings
from skinformer.intervals import runs
from skinformer.intervals.changes import by_changes
from skinformer.intervals.features import QUIET, STILL, features_of, unmoved, volatility
from skinformer.intervals.forecaster import IntervalForecaster, Intervals
from skinformer.intervals.residuals import Residuals, independent_errors
from skinformer.intervals.spread import fit_spread, mean_of_known
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, spread_places, window_rows

#: Windows by which intervals are found, and by which the forecaster's optimism is.
_N_WINDOWS, _N_TAIL = 1024, 256
#: The latter are fewer by the cost of the members; of the former it is half: from a quarter, steps
#: ahead cover 5 points more or less than asked.
#: Series of a panel by which the latter is.
_N_SERIES = 256
#: Held-out windows by which they are believed half.
_PRIOR = 30.0
#: Windows that are forecast far ahead, and how many times `pred_len` that is.
_N_FAR, _N_BLOCKS = 96, 4
#: Windows that share a row, at most, where they are few.
_OVERLAP = 4
#: Numbers in the sample of errors, and errors' optimism, at most.
_MOST_VALUES, _MOST_OPTIMISM = 2_000_000, 4.0
#: Rows of a season beyond which it has no profile: those of a week of quarters of an hour.
_LONGEST_SEASON = 700
#: Power by which sizes grow at most: that of a random walk.
_MOST_GROWTH = 0.5


class HeldOut(NamedTuple):
    """A forecaster that was not fitted to some windows.

    forecaster: with a history of its own.
    origins, own_origins: the windows, by rows of the whole history and of its own.
    """

    forecaster: StepForecaster
    origins: IntArray
    own_origins: IntArray


@dataclass(frozen=True)
class Calibration:
    """What a fit keeps to find out, once somebody asks, how far its forecasts are off.

    split: the row at which each series' validation split begins.
    alone: whether the network forecasts alone: it may know rows before the split by heart.
    n_rows: of each series that the fit saw.
    """

    split: IntArray | None
    alone: bool
    n_rows: IntArray

    @classmethod
    def of(cls, timeline: Timeline, split: IntArray | None, settings: FitSettings) -> Calibration:
        """Keep what the ensemble does not say; the split is the row where each series' begins."""
        alone = settings.train_network and not settings.linear_path
        return cls(split, alone, np.diff(timeline.first_row))

    def intervals(self, forecaster: StepForecaster) -> Intervals | None:
        """Find how far a fit's forecasts are off, whatever `update` has brought since.

        It is None where no window has a truth. Cost: forecasts of some 1,500 windows; where
        classical forecasters take part, a fit of them to 256 series at most.
        """
        history = forecaster.history
        if (np.diff(history.first_row) != self.n_rows).any():
            history = history.head(history.first_row[:-1] + self.n_rows)
        forecaster = replace(forecaster, history=history)
        if self.alone:
            return calibrate(forecaster, None, split=self.split)
        if self.split is None and not _fits_again(forecaster):
            return calibrate(forecaster, None)
        return calibrate(forecaster, before_refit(forecaster, self.split))


def _fits_again(forecaster: StepForecaster) -> bool:
    return any(member.fits_again for member in forecaster.ensemble.members.values())


def before_refit(forecaster: StepForecaster, split: IntArray | None) -> HeldOut:
    """Return the forecaster as it was before it was fitted to the last rows, and windows of these.

    forecaster: the final one, whose weights are kept.
    split: the row at which each series' validation split begins; None for the last `pred_len` rows.

    Classical forecasters compete anew, before the split, on some of the series: it is by the choice
    among them that they know their last rows. Where these were half of all that they learnt from,
    that is another forecaster: in a panel nobody is worse than the choice that the others' errors
    make, without the series' own.
    """
    timeline, sizes = forecaster.history, forecaster.sizes
    first, end = timeline.first_row[:-1], timeline.first_row[1:]
    if split is None:
        split = np.maximum(end - sizes.pred_len, first + (end - first) // 2)
    chosen = np.arange(timeline.n_series)
    if _fits_again(forecaster) and not sizes.n_series:  # vectors of series have their places
        chosen = spread_places(timeline.n_series, _N_SERIES)
    some, scaler = timeline.of_series(chosen), forecaster.scaler.of_series(chosen)
    begin = some.first_row[:-1] - first[chosen]
    head = some.head((split - first)[chosen] + some.first_row[:-1])
    ensemble = forecaster.ensemble.before_split(chosen, head, sizes, scaler)
    other = replace(forecaster, history=some, scaler=scaler, ensemble=ensemble)
    n_most = _N_TAIL // ensemble.cost
    origins = Origins(split[chosen], end[chosen] - sizes.pred_len).thinned(n_most)
    owner = np.searchsorted(chosen, timeline.series_of(origins))
    held_out = HeldOut(other, origins, origins + begin[owner])
    if not _fits_again(forecaster) or timeline.n_series < runs.FEWEST or not len(origins):
        return held_out
    shared = replace(other, ensemble=ensemble.knowing(forecaster.ensemble))
    return min(held_out, held_out._replace(forecaster=shared), key=_mean_error)


def _mean_error(held_out: HeldOut) -> float:
    sizes = np.abs(_errors(held_out.forecaster, held_out.own_origins)[1])
    return float(np.nan_to_num(mean_of_known(sizes, axis=(0, 1))).sum())


def calibrate(
    forecaster: StepForecaster, held_out: HeldOut | None, *, split: IntArray | None = None
) -> Intervals | None:
    """Find how far forecasts are off; None where no window has a truth.

    held_out: what was not fitted to some windows; None where there is none.
    split: rows before these were learnt by heart: their errors say nothing.

    Cost: forecasts of some 1,500 windows, and those of `held_out`.
    """
    timeline, sizes = forecaster.history, forecaster.sizes
    seasons = _seasons(timeline)
    # A run meets all hours of the day; those of the week are met by several runs.
    distance = runs.run_distance(sizes.pred_len, max(seasons[:-1] or seasons, default=1))
    n_most = _N_WINDOWS if forecaster.ensemble.cost == 1 else _N_WINDOWS // 2
    origins, run, n_windows, n_moments = _choose(forecaster, n_most, distance, split)
    if not len(origins):
        return None
    outputs, errors = _errors(forecaster, origins)
    optimism = _optimism(forecaster, held_out)
    errors *= optimism
    if np.isnan(errors).all():
        return None
    series, head, scaler = timeline.series_of(origins), forecaster.head, forecaster.scaler
    targets = timeline.values[:, : sizes.n_targets]
    changes = volatility(targets, timeline.first_row[series], origins)
    errors = _telling(errors, changes, timeline, series)
    quiet = QUIET * np.nan_to_num(mean_of_known(changes, axis=0)) + 1e-9
    features = features_of(outputs, changes, series, head=head, quiet=quiet, scaler=scaler)
    steps = window_rows(timeline.steps_of(origins), sizes.pred_len)
    spread = fit_spread(errors, features, steps, seasons=seasons, n_windows=n_windows)
    relative = errors * np.exp(-spread.typical - spread.log_size(features, steps))
    relative /= _recent(mean_of_known(np.abs(relative), axis=1), run)[:, None]
    # At one time the series of a panel go through the same.
    panel = timeline.n_series > 1
    n_alike = n_moments if panel else independent_errors(relative, n_windows)
    kept = spread_places(len(relative), max(1, _MOST_VALUES // relative[0].size))
    residuals = Residuals(relative[kept].astype(np.float32), n_alike, series[kept], steps[kept, 0])
    few = (~np.isnan(errors)).sum(axis=(0, 1)) < runs.FEWEST
    if few.any():
        spread, residuals = by_changes(spread, residuals, timeline, few)
    found = Intervals(
        spread=spread,
        residuals=residuals,
        quiet=quiet,
        far=np.empty((0, sizes.n_targets)),
        growth=_growth(spread.typical),
        optimism=optimism,
        distance=distance,
        fitted_until=timeline.end_step,
    )
    found = found if held_out is None else _recalibrated(found, held_out)
    return replace(found, far=_far_sizes(forecaster, found, split))


def _seasons(timeline: Timeline) -> tuple[int, ...]:
    """Return the seasons whose phases have sizes of errors of their own, the shortest first."""
    found: list[int] = []
    for season in likely_seasons(timeline.clock):
        if season <= _LONGEST_SEASON and season % max(found, default=1) == 0:
            found.append(season)
    return tuple(found) if timeline.clock.dated else tuple(found[:1])  # which is a guess


def _telling(
    errors: Float64Array, changes: Float64Array, timeline: Timeline, series: IntArray
) -> Float64Array:
    """Leave out errors of windows in which series stood still that have moved since."""
    targets = timeline.values[:, : errors.shape[2]]
    woken = volatility(targets, timeline.first_row[:-1], timeline.first_row[1:]) >= STILL
    out = np.where((unmoved(errors, changes) & woken[series])[:, None], np.nan, errors)
    out[np.abs(out) < STILL] = 0.0  # rounding is no error to one side
    return out


def _far_sizes(
    forecaster: StepForecaster, found: Intervals, split: IntArray | None
) -> Float64Array:
    """Forecast some blocks from forecasts, and find by how much errors grow on the way."""
    sizes, typical = forecaster.sizes, found.spread.typical
    n_far = _N_FAR // forecaster.ensemble.cost
    for n_blocks in range(_N_BLOCKS, 1, -1):
        horizon = n_blocks * sizes.pred_len
        low, end = _extent(forecaster, horizon, found.distance, split)
        last = end - horizon
        origins, _, count = runs.choose_runs(low, last, distance=found.distance, n_most=n_far)
        if count >= runs.FEWEST:
            break
    else:
        return np.empty((0, sizes.n_targets))
    mean = mean_of_known(np.abs(_errors(forecaster, origins, horizon)[1]), axis=0)
    logs = np.log(np.maximum(np.nan_to_num(mean), 1e-12))
    near = slice(sizes.pred_len * 3 // 4, sizes.pred_len)
    logs += (typical[near] - logs[near]).mean(axis=0)
    first, width = sizes.pred_len, sizes.pred_len // 2
    around = (slice(max(at - width, first), at + width + 1) for at in range(first, horizon))
    far = [logs[steps].mean(axis=0) for steps in around]
    return np.asarray(np.maximum(far, typical.mean(axis=0)))


def _recalibrated(found: Intervals, held_out: HeldOut) -> Intervals:
    """Let the windows that were held out say how large errors are, as far as they are many."""
    forecaster, origins = held_out.forecaster, held_out.own_origins
    timeline = forecaster.history
    if not len(origins):
        return found
    first = timeline.end_step.copy()
    np.minimum.at(first, timeline.series_of(origins), timeline.steps_of(origins))
    fitted = replace(found, fitted_until=first)
    other = IntervalForecaster.of(forecaster, fitted)
    outputs, errors = _errors(other, origins)
    relative = errors * np.exp(-outputs[..., 1] - found.spread.typical)
    before = found.residuals.errors.astype(np.float64)
    share = shrinkage(_independent(origins, found.distance), _PRIOR)
    shift = share * np.log(_ratio(relative, before))
    spread = replace(found.spread, typical=found.spread.typical + shift)
    return replace(found, spread=spread)


def _independent(origins: IntArray, distance: int) -> int:
    """Count windows that share no row, at most."""
    origins, count, last = np.sort(origins), 0, -distance
    for origin in origins:
        if origin >= last + distance:
            count, last = count + 1, origin
    return count


def _choose(
    forecaster: StepForecaster, n_windows_most: int, distance: int, split: IntArray | None
) -> tuple[IntArray, IntArray, int, int]:
    """Choose the windows, whole ones if there are any, in runs; tell how many are independent."""
    pred_len = forecaster.sizes.pred_len
    low, end = _extent(forecaster, pred_len, distance, split)
    for last in (end - pred_len, end - 1):
        last = _at_same_steps(forecaster.history, low, last, distance)
        each = np.maximum((last - low) // distance + 1, 0)
        n_most = min(n_windows_most, _OVERLAP * int(each.sum()))
        origins, run, n_windows = runs.choose_runs(low, last, distance=distance, n_most=n_most)
        if n_windows:
            break
    return origins, run, n_windows, min(n_windows, max(int(each.max()), runs.FEWEST))


def _at_same_steps(timeline: Timeline, low: IntArray, last: IntArray, distance: int) -> IntArray:
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
    """Return the first row of each series whose forecasts show errors, and where it ends."""
    begin, end = forecaster.history.first_row[:-1], forecaster.history.first_row[1:]
    low = runs.earliest_origins(
        begin,
        end,
        seq_len=forecaster.sizes.seq_len,
        pred_len=horizon,
        fewest=forecaster.ensemble.fewest_rows,
        spare=runs.spare_rows(len(begin), distance),
    )
    return low if split is None else np.maximum(low, split), end


def _errors(
    forecaster: StepForecaster, origins: IntArray, horizon: int | None = None
) -> tuple[Float64Array, Float64Array]:
    """Forecast windows of the history: outputs, and how far off they are; NaN is unknown."""
    timeline, sizes = forecaster.history, forecaster.sizes
    horizon = horizon or sizes.pred_len
    outputs = forecast_origins(forecaster, origins, np.full(len(origins), horizon))[0]
    outputs = outputs.reshape(len(origins), horizon, *outputs.shape[1:])
    steps = window_rows(timeline.steps_of(origins), horizon)
    rows = timeline.find(timeline.series_of(origins)[:, None], steps)
    truth = timeline.values[rows, : sizes.n_targets].astype(np.float64)
    truth[rows < 0] = np.nan
    if timeline.weight is not None:
        truth[timeline.weight[rows] == 0] = np.nan
    return outputs, truth - forecaster.point(outputs)


def _optimism(forecaster: StepForecaster, held_out: HeldOut | None) -> Float64Array:
    """Compare errors of the same windows before and after they were fitted to."""
    if held_out is None or not len(held_out.origins):
        return np.ones(forecaster.sizes.n_targets)
    before = _errors(held_out.forecaster, held_out.own_origins)[1]
    after = _errors(forecaster, held_out.origins)[1]
    return np.clip(_ratio(before, after), 1.0, _MOST_OPTIMISM)


def _ratio(errors: Float64Array, others: Float64Array) -> Float64Array:
    """Return how many times as large errors of targets are as others; 1 where there are none."""
    size, other = (mean_of_known(np.abs(part), axis=(0, 1)) for part in (errors, others))
    return np.divide(size, other, out=np.ones_like(size), where=(size > 0) & (other > 0))


def _recent(sizes: Float64Array, run: IntArray) -> Float64Array:
    """Average the sizes of the windows before each, of its run."""
    earlier = np.arange(len(run))[:, None] - np.arange(1, runs.N_TRAILING + 1)
    place = np.maximum(earlier, 0)
    same = (earlier >= 0) & (run[place] == run[:, None])
    return runs.trailing_sizes(np.where(same[..., None], sizes[place], np.nan))


def _growth(typical: Float64Array) -> Float64Array:
    """Return the power of the step by which sizes grew over the later steps."""
    first = len(typical) // 4
    if len(typical) - first < 3:
        return np.full(typical.shape[1], _MOST_GROWTH / 2)
    logs = np.log(np.arange(first + 1.0, len(typical) + 1))
    logs -= logs.mean()
    slope: Float64Array = logs @ typical[first:] / (logs @ logs)
    return np.clip(slope, 0.0, _MOST_GROWTH)
