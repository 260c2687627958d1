"""The usual values of a series' columns, which stand in for its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline

#: Seasons of which a median is usual, and those that are looked at, the last ones.
_FEWEST, _MOST = 4, 52
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class UsualValues:
    """The usual values of a series' columns.

    season: steps of the longest season of which the history holds four; 1 for none.
    medians: (season, n_columns), of each phase, over the last 52 seasons of the history.
    """

    season: int
    medians: Float32Array

    @classmethod
    def of(cls, history: Timeline, series: int) -> UsualValues:
        """Find what is usual in the standardised history of a series, by one pass over its rows.

        A series that the history does not hold usually has the training means.
        """
        n_columns = history.values.shape[1]
        if series >= history.n_series:
            return cls(1, np.zeros((1, n_columns), dtype=np.float32))
        first, stop = history.first_truth[series], history.first_row[series + 1]
        # Dates alone tell of seasons.
        seasons = likely_seasons(history.clock) if history.clock.dated else ()
        season = max((each for each in seasons if _FEWEST * each <= stop - first), default=1)
        first = max(first, stop - _MOST * season) if season > 1 else first
        steps = history.steps_of(np.arange(first, stop))
        values = pd.DataFrame(history.values[first:stop])
        medians = values.groupby(_phases(history.clock, steps, season)).median()
        # A phase that never came, such as an hour that the clocks skip, is as usual as any.
        medians = medians.reindex(range(season)).fillna(values.median()).fillna(0.0)
        return cls(season, medians.to_numpy(dtype=np.float32))

    def at(self, steps: IntArray, clock: Clock) -> Float32Array:
        """Return standardised usual values, (n, n_columns), of steps of a clock."""
        return self.medians[_phases(clock, steps, self.season)]


def _phases(clock: Clock, steps: IntArray, season: int) -> IntArray:
    """Count steps within a season; hours by the clock on the wall, which is moved in summer."""
    if season == 1:
        return np.zeros(len(steps), dtype=np.int64)
    length = int(np.ptp(clock.elapsed(np.array([0, 1]))))
    if length >= _DAY:
        return np.asarray(steps % season)
    wall = wall_times(clock.labels(steps)).as_unit("us").asi8
    return np.asarray(wall // length % season, dtype=np.int64)
