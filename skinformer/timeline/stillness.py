"""Where targets stand still, as in nights, on weekends and in closures."""

from __future__ import annotations

from typing import Any

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, IntArray

#: A series that stands still for so many times as long as ever before is no longer what it was.
_LONGER = 1.5
#: How probable it may be that rows stand still because moves are rare, as sales of spare parts.
_MOST_CHANCE = 1e-3


def find_moves(targets: AnyArray) -> BoolArray:
    """Return where targets, (n_rows, …), differ from the row before; nowhere beside unknown ones.

    >>> find_moves(np.array([0.0, 0.0, 2.0, np.nan, 3.0]))
    array([False, False,  True, False, False])
    """
    moves = np.zeros(targets.shape, dtype=bool)
    before = targets[:-1]
    after = targets[1:]
    moves[1:] = (after < before) | (after > before)
    return moves


def resting_rows(moves: BoolArray, start: IntArray, end: IntArray) -> IntArray:
    """Count the last rows in which each series rests, (n_series,), as at night or in a closure.

    0 where it stands still for longer than between any two moves before, for that may last, and
    where moves are so rare that it is chance.

    moves: whether a target moved, (n_rows,), see `find_moves`.
    start, end: where each series begins and ends, (n_series,).

    >>> moves = np.tile(np.repeat([True, False], 16), 3)
    >>> resting_rows(moves, np.array([0]), np.array([96]))
    array([16])
    """
    n_series = len(start)
    places = np.flatnonzero(moves)
    series = np.searchsorted(start, places, side="right") - 1
    # From the last row of another series to its first row there is no move of any.
    is_inside = (series >= 0) & (places > start[series]) & (places < end[series])
    places = places[is_inside]
    series = series[is_inside]
    last_move = np.full(n_series, -1)
    last_move[series] = places
    longest = np.full(n_series, -1)
    is_same = series[1:] == series[:-1]
    np.maximum.at(longest, series[1:][is_same], np.diff(places)[is_same] - 1)
    n_still = end - 1 - last_move
    n_moves = np.bincount(series, minlength=n_series)
    n_rows = np.maximum(end - start, 1)
    as_before = n_still <= _LONGER * longest
    return np.where(as_before & is_no_chance(n_still, n_moves, n_rows), n_still, 0)


def is_no_chance(n_still: Any, n_moves: Any, n_rows: Any) -> Any:
    """Return whether so many still rows in a row are no chance, where so many of all move.

    >>> is_no_chance(10, 50, 100), is_no_chance(10, 20, 100)
    (True, False)
    """
    return (1 - n_moves / n_rows) ** n_still < _MOST_CHANCE
