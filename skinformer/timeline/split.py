"""The chronological validation split."""

from __future__ import annotations

import math

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.stillness import find_moves, resting_rows
from skinformer.timeline.timeline import Table


def split_rows(
    table: Table, *, seq_len: int, pred_len: int, fraction: float, n_forecasts: int = 1
) -> IntArray | None:
    """
    Find the row at which the validation split of each series begins.

    As many rows before each series' own last truth: series that end apart are all judged, and those
    that end together are parted at one moment. Where all end in a night, a weekend or a closure
    that fills half of the split, it begins so much earlier: what stands still judges nothing.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    seq_len, pred_len : int
        Steps in a context and in a forecast.
    fraction : float
        Share of the rows, the latest ones, for validation, in (0, 1): at least `n_forecasts` long,
        and never so long that no training window is left.
    n_forecasts : int, default=1
        Forecasts, one after the other, that the split should hold.

    Returns
    -------
    ndarray of int64, shape (n_series,), or None
        Targets in this row and later belong to validation; the end of the series where it holds
        less than ``seq_len + 2 * pred_len`` rows up to its last truth. None if all do: rows after
        that have nothing to judge by.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.timeline.clock import RowClock
    >>> table = Table([np.ones(99)], 1, np.zeros(99, dtype=int), np.arange(99), RowClock())
    >>> split_rows(table, seq_len=8, pred_len=4, fraction=0.1)
    array([89])
    """
    start = table.first_row[:-1]
    end = table.first_row[1:]
    counted = np.flatnonzero(_counted(table))
    # Of each series, the row after its last truth: of several rows the last one is kept.
    known = start.copy()
    known[table.series[counted]] = counted + 1
    length = known - start
    window = seq_len + pred_len
    # Both sides need a window: one that ends before the split, one whose targets lie in it.
    parted = length >= window + pred_len
    if not parted.any():
        return None
    n_rows = max(n_forecasts * pred_len, _share(length, fraction))
    n_rows = _with_moves(table, known, parted, n_rows)
    split = np.maximum(known - n_rows, start + window)
    return np.where(parted, split, end)


def _share(length: IntArray, fraction: float) -> int:
    """Find how many last rows of each series are that share of all rows."""
    total = math.ceil(fraction * length.sum())
    ordered = np.sort(length)
    n_series = len(ordered)
    # Up to the length of the next shorter series, each row more takes one of all the longer ones.
    n_longer = n_series - 1 - np.arange(n_series)
    taken = np.cumsum(ordered) + ordered * n_longer
    place = np.searchsorted(taken[:-1], total)
    rest = total - ordered[:place].sum()
    return math.ceil(rest / (n_series - place))


def _with_moves(table: Table, known: IntArray, parted: BoolArray, n_rows: int) -> int:
    """Add the rows in which all series stand still at last, if they are half of the split.

    known: the row after each series' last truth; parted: which series have a split.
    n_rows: of the split so far; half of the shortest series are its most rows.
    """
    start = table.first_row[:-1][parted]
    end = known[parted]
    targets = table.targets
    moves = np.any([find_moves(column) for column in targets], axis=0)
    n_still = resting_rows(moves, start, end).min()
    if 2 * n_still < n_rows:
        return n_rows
    n_most = (end - start).min() // 2
    return max(n_rows, min(n_rows + n_still, n_most))


def _counted(table: Table) -> BoolArray:
    """Return which rows have a truth that counts in the loss."""
    if table.weight is None:
        return np.ones(len(table.steps), dtype=bool)
    return np.any(table.weight > 0, axis=1)


def series_with_truth(
    table: Table, split: IntArray | None, *, seq_len: int, pred_len: int
) -> tuple[BoolArray, BoolArray]:
    """
    Find the series that have a truth to train on, and those that have one to validate on.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    split : ndarray of int64, shape (n_series,), or None
        From `split_rows`; None for no split.
    seq_len, pred_len : int
        Steps in a context and in a forecast.

    Returns
    -------
    tuple of ndarray of bool, shape (n_series,)
        Whether a window before the split has a truth, and whether one within the split has.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.timeline.clock import RowClock
    >>> series, steps = np.repeat([0, 1], [9, 3]), np.r_[:9, :3]
    >>> table = Table([np.ones(12)], 1, series, steps, RowClock())
    >>> series_with_truth(table, np.array([7, 12]), seq_len=3, pred_len=2)
    (array([ True, False]), array([ True, False]))
    """
    start = table.first_row[:-1]
    end = table.first_row[1:]
    stop = end if split is None else split
    count = np.append(0, np.cumsum(_counted(table)))

    def hold(low: IntArray, high: IntArray) -> BoolArray:
        """Return which rows from `low` to `high` hold a window with a truth."""
        low = np.minimum(low, high)
        has_truth = count[high] > count[low]
        return (high - low >= pred_len) & has_truth

    first_target = start + seq_len
    is_trained = hold(first_target, stop)
    first_target = np.maximum(first_target, stop)
    return is_trained, hold(first_target, end)
