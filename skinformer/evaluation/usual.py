"""The usual values of a series' columns, which stand in for its own."""

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Timeline


def usual_values(
    history: Timeline, series: int, steps: IntArray, clock: Clock
) -> Float32Array:
    """Return the usual standardised values of a series at steps of a clock: (n, n_columns).

    They are the medians of each phase over the last 52 of the longest seasons of which the history
    holds four; without dates over all rows.
    """
    first = history.first_truth[series]
    stop = history.first_row[series + 1]
    season = 1
    for length in calendar_seasons(history.clock):
        if 4 * length <= stop - first:
            season = length
    if season > 1:
        first = max(first, stop - 52 * season)
    rows = np.arange(first, stop)
    values = pd.DataFrame(history.values[rows])
    phases = _phases(history.clock, history.steps_of(rows), season)
    medians = values.groupby(phases).median().reindex(range(season))
    # A phase that never came, such as an hour that the clocks skip, is as usual as any.
    medians = medians.fillna(values.median()).fillna(0.0)
    usual = medians.to_numpy(dtype=np.float32)
    return usual[_phases(clock, steps, season)]


def _phases(clock: Clock, steps: IntArray, season: int) -> IntArray:
    """Count steps within a season; hours by the clock on the wall, which is moved in summer."""
    day = 86_400_000_000  # microseconds
    length = clock.elapsed(np.array([1]))[0]
    if season == 1 or length >= day:
        return steps % season
    wall = wall_times(clock.labels(steps)).as_unit("us")
    return wall.asi8 // length % season
