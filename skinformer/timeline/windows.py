"""Windows as row numbers: which ones exist in a timeline, and which rows each one holds.

A window is named by its origin: the row of its first forecast step. The rows before the origin
are its context. No window is ever copied out of the series before a batch needs it.
"""

from dataclasses import dataclass

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


def window_rows(first: IntArray, length: int) -> IntArray:
    """Return the consecutive row numbers of windows, (n_windows, length), from their first rows."""
    return first[:, None] + np.arange(length)


def pasts(
    values: Float64Array, begin: IntArray, origin: IntArray, seq_len: int
) -> tuple[Float64Array, IntArray]:
    """Cut windows, (n, seq_len), that end before their origins, and count their real rows.

    ``begin`` holds the first row of each window's series, below its origin.
    """
    rows = origin[:, None] + np.arange(-seq_len, 0)
    length = np.minimum(origin - begin, seq_len)
    return values[np.maximum(rows, begin[:, None])], length


def real_rows(length: IntArray, n_rows: int) -> BoolArray:
    """Return which rows of windows are real, the last ones, (n, n_rows).

    >>> real_rows(np.array([1]), 3)
    array([[False, False,  True]])
    """
    return np.arange(n_rows) >= n_rows - length[:, None]


def repeat_numbers(counts: IntArray) -> IntArray:
    """Repeat the number of each place, such as that of a series, so many times.

    >>> repeat_numbers(np.array([2, 0, 1]))
    array([0, 0, 2])
    """
    numbers = np.arange(len(counts))
    return np.repeat(numbers, counts)


def origins_between(low: IntArray, high: IntArray) -> IntArray:
    """List the origins of several series, from low to high, both included, without a loop.

    >>> origins_between(np.array([2, 10]), np.array([4, 9]))
    array([2, 3, 4])
    """
    counts = Origins(low, high).counts
    before = np.cumsum(counts) - counts
    offset = np.repeat(low - before, counts)
    return offset + np.arange(len(offset))


def spread_places(count: int, n_most: int) -> IntArray:
    """Choose at most so many places, ascending: one at random in each of equal runs.

    At random, but always the same: places at equal distances would meet the same hour of each day.
    """
    if count <= n_most:
        return np.arange(count)
    inside = np.random.default_rng(0).random(n_most)
    run = np.arange(n_most) + inside
    places = run * (count / n_most)
    return places.astype(np.int64)


@dataclass(frozen=True)
class Origins:
    """The origins of several series, as ranges: a hundred million take no memory.

    low, high: first and last origin of each series, both included; none where ``high < low``.

    >>> origins = Origins(np.array([2, 10]), np.array([4, 11]))
    >>> origins.count, origins.take(np.array([0, 3])), len(origins.thinned(2))
    (5, array([ 2, 10]), 2)
    """

    low: IntArray
    high: IntArray

    @property
    def counts(self) -> IntArray:
        """Number of origins of each series."""
        return np.maximum(self.high - self.low + 1, 0)

    @property
    def count(self) -> int:
        """Number of origins."""
        return int(self.counts.sum())

    def take(self, places: IntArray) -> IntArray:
        """Return the origins at some places, 0 … count - 1, series after series."""
        ends = np.cumsum(self.counts)
        series = np.searchsorted(ends, places, side="right")
        starts = ends - self.counts
        place_in_series = places - starts[series]
        return self.low[series] + place_in_series

    def thinned(self, n_most: int) -> IntArray:
        """Return all origins in order, or at most so many that are spread over them."""
        places = spread_places(self.count, n_most)
        return self.take(places)
