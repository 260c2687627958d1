"""Who a forecast is shared among: each column's blocks of lags, and its values ahead."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.roles import Roles
from skinformer.timeline.seasons import likely_seasons

__all__ = ["Player", "default_blocks", "lay_out"]


class Player(NamedTuple):
    """
    A block of a column.

    Parameters
    ----------
    source : hashable
        The column.
    lag : str
        Which of its rows: "1" is the last before the origin, "2-24" those before that; "ahead"
        the forecast steps, "static" all.

    Examples
    --------
    >>> Player("load", "2-24").lag
    '2-24'
    """

    source: Hashable
    lag: str


def default_blocks(clock: Clock, look_back: int, pred_len: int) -> list[int]:
    """
    Choose the oldest lag of each block: the last row, the last day, the last week.

    Parameters
    ----------
    clock : Clock
        What rows count.
    look_back, pred_len : int
        Rows that a forecast is made from, and that it has.

    Returns
    -------
    list of int
        Ascending, below `look_back`: 1 and the clock's seasons; without dates 1 and `pred_len`.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> hours = pd.date_range("2024-01-01", periods=3, freq="h")
    >>> default_blocks(clock_for(hours, hours.freq), 336, 24)
    [1, 24, 168]
    """
    seasons = likely_seasons(clock) if clock.dated else (pred_len,)
    return sorted({1, *(season for season in seasons if season < look_back)})


def lay_out(
    roles: Roles, look_back: int, pred_len: int, blocks: Sequence[int]
) -> tuple[list[Player], IntArray]:
    """
    Give each place of a window to a player.

    Parameters
    ----------
    roles : Roles
        What the columns are.
    look_back, pred_len : int
        Rows before and from the origin.
    blocks : sequence of int
        The oldest lag of each block, ascending; what is older is one block more.

    Returns
    -------
    tuple of list of Player and ndarray of int64, shape (look_back + pred_len, n_columns)
        The players, column by column, and the number of the one who has each place; -1 where
        nobody has, as in the rows ahead of columns that are not known there.

    Examples
    --------
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
