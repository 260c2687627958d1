"""The usual values of a series' columns, which stand in for its own."""

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline


def usual_values(
    history: Timeline, series: int, steps: IntArray, clock: Clock
) -> Float32Array:
    """Return the usual standardised values of a series at steps of a clock: (n, n_columns).

    They are the medians of each phase over the last 52 of the longest seasons of which the history
    holds four. A series that the history does not hold usually has the training means.
    """
    n_columns = history.values.shape[1]
    if series >= history.n_series:
        return np.zeros((len(steps), n_columns), dtype=np.float32)
    first = history.first_truth[series]
    stop = history.first_row[series + 1]
    season = _longest_season(history.clock, stop - first)
    if season > 1:
        first = max(first, stop - 52 * season)
    values = pd.DataFrame(history.values[first:stop])
    phases = _phases(history.clock, history.steps_of(np.arange(first, stop)), season)
    medians = values.groupby(phases).median()
    # A phase that never came, such as an hour that the clocks skip, is as usual as any.
    medians = medians.reindex(range(season)).fillna(values.median()).fillna(0.0)
    return medians.to_numpy(dtype=np.float32)[_phases(clock, steps, season)]


def _longest_season(clock: Clock, n_rows: int) -> int:
    """Return the longest season of which so many rows hold four; 1 without dates."""
    if not clock.dated:
        return 1
    return max(
        (season for season in likely_seasons(clock) if 4 * season <= n_rows), default=1
    )


def _phases(clock: Clock, steps: IntArray, season: int) -> IntArray:
    """Count steps within a season; hours by the clock on the wall, which is moved in summer."""
    if season == 1:
        return np.zeros(len(steps), dtype=np.int64)
    day = 86_400_000_000  # microseconds
    elapsed = clock.elapsed(np.array([0, 1]))
    length = int(np.ptp(elapsed))
    if length >= day:
        return np.asarray(steps % season)
    wall = wall_times(clock.labels(steps)).as_unit("us").asi8
    return np.asarray(wall // length % season, dtype=np.int64)
