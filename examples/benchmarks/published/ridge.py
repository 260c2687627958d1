"""The closed-form ridge on windows: a yardstick that every forecaster has to beat.

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

_CHUNK = 2048  # windows at a time


class NormalEquations(NamedTuple):
    """Sums over windows, one set per group of columns that share their map."""

    gram: Float64Array
    """Products of distances with distances, shape (n_groups, seq_len, seq_len)."""
    cross: Float64Array
    """Products of distances with what followed, shape (n_groups, seq_len, pred_len)."""


def normal_equations(
    values: Float64Array,
    origins: IntArray,
    *,
    seq_len: int,
    pred_len: int,
    shared: bool,
) -> NormalEquations:
    """Add up what the ridge needs of windows, which have their first forecast step at ``origins``.

    n_windows · n_columns · seq_len · (seq_len + pred_len) products; memory for 2048 windows of one
    column. With ``shared`` all columns have one map, else each its own.
    """
    n_columns = values.shape[1]
    n_groups = 1 if shared else n_columns
    gram = np.zeros((n_groups, seq_len, seq_len))
    cross = np.zeros((n_groups, seq_len, pred_len))
    for start in range(0, len(origins), _CHUNK):
        rows = window_rows(
            origins[start : start + _CHUNK] - seq_len, seq_len + pred_len
        )
        for j in range(n_columns):
            window = values[:, j][rows].astype(np.float64)
            window -= window[:, seq_len - 1 : seq_len]
            past, future = window[:, :seq_len], window[:, seq_len:]
            group = 0 if shared else j
            gram[group] += past.T @ past
            cross[group] += past.T @ future
    return NormalEquations(gram, cross)


def solve_ridge(equations: NormalEquations, *, alpha: float) -> Float64Array:
    """Solve for the maps of least squared error plus ``alpha`` times their squared size.

    (n_groups, seq_len, pred_len); alpha has to be above 0, as the last distance of a window is 0.
    """
    penalty = alpha * np.eye(equations.gram.shape[1])
    maps = np.linalg.solve(equations.gram + penalty, equations.cross)
    return maps.astype(np.float64, copy=False)


def forecast_ridge(
    maps: Float64Array, values: Float64Array, origins: IntArray
) -> Float64Array:
    """Forecast windows, (n_windows, pred_len, n_columns): last values plus the mapped distances."""
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
