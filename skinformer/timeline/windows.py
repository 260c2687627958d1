"""Windows as row numbers: which ones exist in a timeline, and which rows each one holds.

A window is named by its origin: the row of its first forecast step. The rows before the origin
are its context. No window is ever copied out of the series before a batch needs it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["origins_between", "window_rows"]

Rows = npt.NDArray[np.int64]


def window_rows(first: Rows, length: int) -> Rows:
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


def origins_between(low: Rows, high: Rows) -> Rows:
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
