"""Who a forecast is shared among, blocks of each column, and the usual values that stand in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.roles import Roles
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline


class Player(NamedTuple):
    """A block of a column.

    source: the column.
    lag: which of its rows: "1" is the last before the origin, "2-24" those before that; "ahead" the
    forecast steps, "static" all.
    """

    source: Hashable
    lag: str


def default_blocks(clock: Clock, look_back: int, pred_len: int) -> list[int]:
    """Choose the oldest lag of each block, ascending: the last row, the last day, the last week.

    All lie below `look_back`: 1 and the clock's seasons; without dates 1 and `pred_len`.
    """
    seasons = likely_seasons(clock) if clock.dated else (pred_len,)
    return sorted({1, *(season for season in seasons if season < look_back)})


def lay_out(
    roles: Roles, look_back: int, pred_len: int, blocks: Sequence[int]
) -> tuple[list[Player], IntArray]:
    """Give each place of a window to a player.

    blocks: the oldest lag of each block, ascending; what is older is one block more.

    Players come column by column, then the number of the one who has each place, (look_back +
    pred_len, n_columns); -1 where nobody has, as ahead in columns that are not known there.

    >>> roles = Roles("frame", ("load",), (), ("price",), True, ("price", "load"))
    >>> players, place = lay_out(roles, 3, 1, [1])
    >>> [tuple(player) for player in players][:3], place[:, 0].tolist()
    ([('load', '1'), ('load', '2-3'), ('price', '1')], [1, 1, 0, -1])
    """
    edges = [edge for edge in blocks if edge < look_back] + [look_back]
    block = np.searchsorted(edges, np.arange(look_back, 0, -1))
    starts = [1, *(edge + 1 for edge in edges[:-1])]
    ends = zip(starts, edges, strict=True)
    lags = [str(low) if low == high else f"{low}-{high}" for low, high in ends]
    columns = (*roles.targets, *roles.past, *roles.known)
    players: list[Player] = []
    place = np.full((look_back + pred_len, len(columns)), -1)
    first_known = len(columns) - len(roles.known)
    for j, name in enumerate(columns):
        if j >= first_known and name in roles.static:
            place[:, j] = len(players)
            players.append(Player(name, "static"))
            continue
        place[:look_back, j] = len(players) + block
        players += [Player(name, lag) for lag in lags]
        if j >= first_known:
            place[look_back:, j] = len(players)
            players.append(Player(name, "ahead"))
    return players, place


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
        first, stop = history.first_row[series : series + 2]
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
        """Give standardised usual values, (n, n_columns), of steps on a clock of the same step."""
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
