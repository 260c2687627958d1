"""Windows as row numbers: which ones exist in a timeline, and which rows each one holds.

A window is named by its origin: the row of its first forecast step. The rows before the origin
are its context. No window is ever copied out of the series before a batch needs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skinformer.timeline.arrays import IntArray

__all__ = ["Origins", "origins_between", "spread_places", "window_rows"]


def window_rows(first: IntArray, length: int) -> IntArray:
    """
    Give the row numbers of windows.

    Parameters
    ----------
    first : ndarray of int64, shape (n_windows,)
        First row of each window.
    length : int
        Rows in a window.

    Returns
    -------
    ndarray of int64, shape (n_windows, length)
        Consecutive row numbers.

    Examples
    --------
    >>> window_rows(np.array([0, 5]), 3)
    array([[0, 1, 2],
           [5, 6, 7]])
    """
    return first[:, None] + np.arange(length)


def origins_between(low: IntArray, high: IntArray) -> IntArray:
    """
    List the origins of several series without a loop.

    Parameters
    ----------
    low, high : ndarray of int64, shape (n_series,)
        First and last origin of each series, both included; none where ``high < low``.

    Returns
    -------
    ndarray of int64, shape (n_windows,)
        All origins, series after series.

    Examples
    --------
    >>> origins_between(np.array([2, 10]), np.array([4, 9]))
    array([2, 3, 4])
    """
    counts = np.maximum(high - low + 1, 0)
    before = np.cumsum(counts) - counts
    return np.repeat(low - before, counts) + np.arange(counts.sum())


def spread_places(count: int, n_most: int) -> IntArray:
    """
    Choose places that are spread over all: one at random in each of so many equal runs.

    At random, but always the same: places at equal distances would meet the same hour of each day.

    Parameters
    ----------
    count : int
        Places in all.
    n_most : int
        Places wanted at most.

    Returns
    -------
    ndarray of int64, shape (min(count, n_most),)
        Ascending numbers in 0 … count - 1.

    Examples
    --------
    >>> spread_places(3, 5), len(spread_places(1000, 10))
    (array([0, 1, 2]), 10)
    """
    if count <= n_most:
        return np.arange(count)
    inside = np.random.default_rng(0).random(n_most)
    return ((np.arange(n_most) + inside) * (count / n_most)).astype(np.int64)


@dataclass(frozen=True)
class Origins:
    """
    The origins of several series, as ranges: a hundred million take no memory.

    Parameters
    ----------
    low, high : ndarray of int64, shape (n_series,)
        First and last origin of each series, both included; none where ``high < low``.

    Examples
    --------
    >>> origins = Origins(np.array([2, 10]), np.array([4, 11]))
    >>> origins.count, origins.take(np.array([0, 3])), len(origins.thinned(2))
    (5, array([ 2, 10]), 2)
    """

    low: IntArray
    high: IntArray

    @property
    def count(self) -> int:
        """Number of origins."""
        return int(np.maximum(self.high - self.low + 1, 0).sum())

    def take(self, places: IntArray) -> IntArray:
        """
        Give some origins.

        Parameters
        ----------
        places : ndarray of int64, shape (n,)
            Numbers in 0 … count - 1, series after series.

        Returns
        -------
        ndarray of int64, shape (n,)
            The origins at these places.
        """
        ends = np.cumsum(np.maximum(self.high - self.low + 1, 0))
        series = np.searchsorted(ends, places, side="right")
        begun = np.concatenate([[0], ends[:-1]])
        origins: IntArray = self.low[series] + places - begun[series]
        return origins

    def thinned(self, n_most: int | None) -> IntArray:
        """
        Give all origins, or so many that are spread over them.

        Parameters
        ----------
        n_most : int or None
            Origins at most; None for all.

        Returns
        -------
        ndarray of int64, shape (n,)
            In order.
        """
        return self.take(spread_places(self.count, self.count if n_most is None else n_most))
