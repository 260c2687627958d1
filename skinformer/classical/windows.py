"""Windows of a panel, right-aligned: the newest row is the last column, older ones may be missing.

A window that begins before its series is padded on the left by the series' first value, so that
every function here meets numbers only; what the padding holds never reaches a forecast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

__all__ = ["Truths", "futures", "padded", "pasts", "row_products", "unit_of"]


class Truths(NamedTuple):
    """What followed some windows, and which of it exists."""

    values: Float64Array
    """Shape (n, pred_len); where `known` is False the last known value, or the window's."""
    known: BoolArray
    """Shape (n, pred_len)."""


def pasts(
    values: Float64Array, begin: IntArray, origin: IntArray, seq_len: int
) -> tuple[Float64Array, IntArray]:
    """
    Cut windows that end before their origins.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        Series after series.
    begin : ndarray of int64, shape (n,)
        First row of each window's series.
    origin : ndarray of int64, shape (n,)
        The row after each window's last one, above `begin`.
    seq_len : int
        Rows of a window.

    Returns
    -------
    tuple of ndarray
        Windows of shape (n, seq_len) and how many of their last rows are real.

    Examples
    --------
    >>> pasts(np.arange(5.0), np.array([0, 3]), np.array([3, 5]), 3)
    (array([[0., 1., 2.],
           [3., 3., 4.]]), array([3, 2]))
    """
    rows = origin[:, None] + np.arange(-seq_len, 0)
    length = np.minimum(origin - begin, seq_len)
    return values[np.maximum(rows, begin[:, None])], length


def futures(values: Float64Array, origin: IntArray, end: IntArray, pred_len: int) -> Truths:
    """
    Cut what follows some origins.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        Series after series.
    origin : ndarray of int64, shape (n,)
        First row that is cut.
    end : ndarray of int64, shape (n,)
        The row after the last one that may be seen.
    pred_len : int
        Rows wanted.

    Returns
    -------
    Truths
        The rows, and which of them lie before `end`.

    Examples
    --------
    >>> futures(np.arange(5.0), np.array([3]), np.array([5]), 3)
    Truths(values=array([[3., 4., 4.]]), known=array([[ True,  True, False]]))
    """
    rows = origin[:, None] + np.arange(pred_len)
    known = rows < end[:, None]
    last = np.minimum(end, len(values)) - 1
    return Truths(values[np.minimum(rows, last[:, None])], known)


def row_products(rows: Float64Array, maps: Float64Array) -> Float64Array:
    """
    Multiply each row by a matrix, so that it is rounded the same whatever rows are beside it.

    Parameters
    ----------
    rows : ndarray of shape (..., n_features)
        Features.
    maps : ndarray of shape (n_features, n_outputs)
        The matrix.

    Returns
    -------
    ndarray of float64, shape (..., n_outputs)
        ``rows @ maps``. PERF: five times as long as by BLAS, whose rounding goes by the number of
        rows, and a forecast must not depend on which others are asked for.

    Examples
    --------
    >>> row_products(np.array([[1.0, 2.0]]), np.eye(2))
    array([[1., 2.]])
    """
    products: Float64Array = np.einsum("...p,ph->...h", rows, maps)
    return products


def padded(past: Float64Array, length: IntArray) -> Float64Array:
    """
    Write each window's first real value over its padding.

    Parameters
    ----------
    past : ndarray of shape (n, seq_len)
        Windows; anything may stand in front of the real rows, NaN too.
    length : ndarray of int64, shape (n,)
        How many of the last rows are real, at least 1.

    Returns
    -------
    ndarray of float64, shape (n, seq_len)
        A copy.

    Examples
    --------
    >>> padded(np.array([[np.nan, 2.0, 3.0]]), np.array([2]))
    array([[2., 2., 3.]])
    """
    seq_len = past.shape[1]
    columns = np.maximum(np.arange(seq_len), seq_len - length[:, None])
    return np.take_along_axis(np.asarray(past, dtype=np.float64), columns, axis=1)


def unit_of(past: Float64Array, length: IntArray, period: int) -> Float64Array:
    """
    Measure each window by its mean absolute seasonal difference, which a trend does not blow up.

    Parameters
    ----------
    past : ndarray of shape (n, seq_len)
        Padded windows.
    length : ndarray of int64, shape (n,)
        How many of the last rows are real.
    period : int
        Rows of a season. A window of no more rows is measured by differences of neighbours.

    Returns
    -------
    ndarray of float64, shape (n,)
        Above 0: where nothing changes a trillionth of the values, or 1 where they are all 0.

    Examples
    --------
    >>> past = np.array([[0.0, 2.0, 1.0, 3.0], [5.0, 5.0, 5.0, 5.0]])
    >>> unit_of(past, np.array([4, 4]), 2)
    array([1.e+00, 5.e-12])
    """
    lag = np.where(length > period, period, 1)
    unit = np.zeros(len(past))
    for step in np.unique(lag):
        rows = lag == step
        moved = np.abs(past[rows, step:] - past[rows, :-step])
        real = np.arange(moved.shape[1]) >= moved.shape[1] - (length[rows, None] - step)
        unit[rows] = (moved * real).sum(axis=1) / np.maximum(real.sum(axis=1), 1)
    least = 1e-12 * np.abs(past).max(axis=1)
    return np.where(least > 0, np.maximum(unit, least), 1.0)
