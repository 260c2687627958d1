"""Windows of a panel, right-aligned: the newest row is the last column, older ones may be missing.

Throughout, ``past`` has shape (n, seq_len), and ``length``, (n,), says how many of its last rows
are real. A window that begins before its series is padded on the left by the series' first value,
so that every function here meets numbers only; what the padding holds never reaches a forecast.
``values`` are the rows of all series, (n_rows,), series after series.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


class Truths(NamedTuple):
    """What followed some windows, and which of it is `known`, (n, pred_len) each.

    values: where they are not known the last known value, or the window's.
    """

    values: Float64Array
    known: BoolArray


def pasts(
    values: Float64Array, begin: IntArray, origin: IntArray, seq_len: int
) -> tuple[Float64Array, IntArray]:
    """Cut windows, (n, seq_len), that end before their origins, and count their real rows.

    ``begin`` holds the first row of each window's series, below its origin.
    """
    rows = origin[:, None] + np.arange(-seq_len, 0)
    length = np.minimum(origin - begin, seq_len)
    return values[np.maximum(rows, begin[:, None])], length


def futures(values: Float64Array, origin: IntArray, end: IntArray, pred_len: int) -> Truths:
    """Cut the rows from each origin on, and tell which of them lie before ``end``.

    >>> futures(np.arange(5.0), np.array([3]), np.array([5]), 3)
    Truths(values=array([[3., 4., 4.]]), known=array([[ True,  True, False]]))
    """
    rows = origin[:, None] + np.arange(pred_len)
    known = rows < end[:, None]
    last = np.minimum(end, len(values)) - 1
    return Truths(values[np.minimum(rows, last[:, None])], known)


def row_products(rows: Float64Array, maps: Float64Array) -> Float64Array:
    """Multiply rows, (..., p), by a matrix; a row's rounding does not depend on those beside it.

    PERF: five times as long as by BLAS, whose rounding goes by the number of rows, and a forecast
    must not depend on which others are asked for.
    >>> row_products(np.array([[1.0, 2.0]]), np.eye(2))
    array([[1., 2.]])
    """
    return np.asarray(np.einsum("...p,ph->...h", rows, maps))


def on_both_scales(
    forecast: Callable[[str, IntArray, Float64Array], Float64Array],
    past: Float64Array,
    log_shift: Float64Array | float = 0.0,
) -> Float64Array:
    """Forecast windows as they are, and by their logarithms: (n, 2 * n_candidates, horizon).

    forecast: of some windows, by their numbers, on a scale ("" or "log "), of (n_some, seq_len).
    log_shift: (n,), added to forecasts of logarithms, see `mean_log_shift`.
    A window that holds anything but positive values has the former twice.
    """
    plain = forecast("", np.arange(len(past)), past)
    logs, positive = plain, np.flatnonzero(past.min(axis=1) > 0)
    if len(positive):
        there = np.log(past[positive])
        middle, logs = there[:, -1, None, None], plain.copy()
        # Within what has an exponential.
        found = np.clip(forecast("log ", positive, there), middle - 30, middle + 30)
        shift = np.broadcast_to(log_shift, len(past))[positive]
        logs[positive] = np.exp(found + shift[:, None, None])
    return np.concatenate([plain, logs], axis=1)


def padded(past: Float64Array, length: IntArray) -> Float64Array:
    """Copy windows, with each one's first real value over its padding, which may hold NaN."""
    seq_len = past.shape[1]
    columns = np.maximum(np.arange(seq_len), seq_len - length[:, None])
    return np.take_along_axis(np.asarray(past, dtype=np.float64), columns, axis=1)


def unit_of(past: Float64Array, length: IntArray, period: int) -> Float64Array:
    """Measure each window by its mean absolute seasonal difference, which a trend does not blow up.

    A window of no more rows than a season is measured by differences of neighbours. The unit, (n,),
    is above 0: where nothing changes a trillionth of the values, or 1 where they are all 0.
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
