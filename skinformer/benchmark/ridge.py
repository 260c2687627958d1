"""The closed-form ridge on windows: the floor that every forecaster has to stand on.

``ŷ = x_L + (x - x_L) W``: a linear map of a window's distances from its last value. The normal
equations are added up chunk by chunk in float64, so the windows never exist all at once.

This is the benchmark's yardstick, apart from `skinformer.ridge` on purpose: an estimator that was
measured by its own code could share that code's mistakes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import window_rows

__all__ = ["NormalEquations", "forecast_ridge", "normal_equations", "solve_ridge"]


_CHUNK = 2048  # windows at a time


class NormalEquations(NamedTuple):
    """Sums over windows, one set per group of columns that share their map."""

    gram: Float64Array
    """Products of distances with distances, shape (n_groups, seq_len, seq_len)."""
    cross: Float64Array
    """Products of distances with what followed, shape (n_groups, seq_len, pred_len)."""


def normal_equations(
    values: Float64Array, origins: IntArray, *, seq_len: int, pred_len: int, shared: bool
) -> NormalEquations:
    """
    Add up what the ridge needs of windows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Standardised series without NaN.
    origins : ndarray of int64, shape (n_windows,)
        The row of each window's first forecast step.
    seq_len, pred_len : int
        Rows before and from an origin.
    shared : bool
        Whether all columns share one map; else each has its own.

    Returns
    -------
    NormalEquations
        Cost: n_windows · n_columns · seq_len · (seq_len + pred_len) products; memory for 2048
        windows of one column.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(9.0)[:, None]
    >>> normal_equations(ramp, np.array([2, 3]), seq_len=2, pred_len=1, shared=True).gram[0]
    array([[2., 0.],
           [0., 0.]])
    """
    n_columns = values.shape[1]
    n_groups = 1 if shared else n_columns
    gram = np.zeros((n_groups, seq_len, seq_len))
    cross = np.zeros((n_groups, seq_len, pred_len))
    for start in range(0, len(origins), _CHUNK):
        rows = window_rows(origins[start : start + _CHUNK] - seq_len, seq_len + pred_len)
        for j in range(n_columns):
            window = values[:, j][rows].astype(np.float64)
            window -= window[:, seq_len - 1 : seq_len]
            past, future = window[:, :seq_len], window[:, seq_len:]
            group = 0 if shared else j
            gram[group] += past.T @ past
            cross[group] += past.T @ future
    return NormalEquations(gram, cross)


def solve_ridge(equations: NormalEquations, *, alpha: float) -> Float64Array:
    """
    Solve for the linear map of least squared error plus ``alpha`` times its squared size.

    Parameters
    ----------
    equations : NormalEquations
        Sums over the training windows.
    alpha : float
        Strength of the ridge, above 0: the last distance of each window is 0.

    Returns
    -------
    ndarray of shape (n_groups, seq_len, pred_len)
        The maps.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(9.0)[:, None]
    >>> sums = normal_equations(ramp, np.arange(2, 9), seq_len=2, pred_len=1, shared=True)
    >>> solve_ridge(sums, alpha=1e-9).round(3)
    array([[[-1.],
            [ 0.]]])
    """
    penalty = alpha * np.eye(equations.gram.shape[1])
    maps = np.linalg.solve(equations.gram + penalty, equations.cross)
    return maps.astype(np.float64, copy=False)


def forecast_ridge(maps: Float64Array, values: Float64Array, origins: IntArray) -> Float64Array:
    """
    Forecast windows by linear maps.

    Parameters
    ----------
    maps : ndarray of shape (n_groups, seq_len, pred_len)
        One for all columns, or one for each.
    values : ndarray of shape (n_rows, n_columns)
        Standardised series without NaN.
    origins : ndarray of int64, shape (n_windows,)
        The row of each window's first forecast step.

    Returns
    -------
    ndarray of float64, shape (n_windows, pred_len, n_columns)
        The last value plus the mapped distances from it.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.arange(9.0)[:, None]
    >>> forecast_ridge(np.array([[[-1.0], [0.0]]]), ramp, np.array([4])).ravel()
    array([4.])
    """
    seq_len = maps.shape[1]
    out = np.empty((len(origins), maps.shape[2], values.shape[1]))
    for start in range(0, len(origins), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        rows = window_rows(origins[chunk] - seq_len, seq_len)
        for j in range(values.shape[1]):
            past = values[:, j][rows].astype(np.float64)
            last = past[:, -1:]
            out[chunk, :, j] = last + (past - last) @ maps[min(j, len(maps) - 1)]
    return out
