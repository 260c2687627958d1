"""Who a forecast is shared among: each column's blocks of lags, and its values ahead."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.roles import Roles
from skinformer.timeline.seasons import likely_seasons


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
    lags = [
        str(low) if low == high else f"{low}-{high}"
        for low, high in zip(starts, edges, strict=True)
    ]
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
