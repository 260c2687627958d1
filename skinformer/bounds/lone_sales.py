"""One sale after many zeros: no forecast behind it was judged as yet, and it is no level."""

from typing import NamedTuple

import numpy as np

from skinformer.bounds.windows import SeenWindows
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray

#: Rows without a sale that have to be known beside the one with it.
MANY = 30


class LoneSales(NamedTuple):
    """Which windows show one sale alone, and what is known of it, all (n, n_targets).

    is_lone: whether the last known rows of a window, a horizon of them, hold a sale, and no other
    row does.
    zero: what zero is in the window's series, standardised.
    mean: of all known rows, where a sale is lone.
    """

    is_lone: BoolArray
    zero: Float32Array
    mean: Float32Array


def find_lone_sales(
    windows: SeenWindows, zero: Float32Array, *, pred_len: int, look_back: int
) -> LoneSales:
    """Find the windows of series that hold one sale, of late, and zeros.

    zero: (n_series + 1, n_targets), as `standardised_zeros` returns it.
    look_back: rows up to the last known one that a forecast is made from. Of more rows none is
    read, so that what else is asked for changes nothing.
    """
    last_series, n_targets = len(zero) - 1, zero.shape[1]
    y = windows.values[:, :n_targets]
    zero_of_row = zero[np.minimum(windows.series_of_rows, last_series)]
    is_sale = windows.known & (y != zero_of_row)
    # 1. Known rows and sales of each window; what is fed back is neither.
    origins = windows.origins
    begin = _first_read(windows, look_back)
    known_before = _count_before(windows.known)
    sales_before = _count_before(is_sale)
    n_known = known_before[origins] - known_before[begin]
    n_sales = sales_before[origins] - sales_before[begin]
    # 2. The last sale.
    at_sale = (
        np.maximum(_row_behind_last(is_sale, origins) - 1, 0),
        np.arange(n_targets),
    )
    n_from_sale = known_before[origins] - known_before[at_sale]
    is_lone = (n_sales == 1) & (n_known > MANY) & (n_from_sale <= pred_len)
    zero_of_window = zero[np.minimum(windows.series, last_series)]
    excess = y[at_sale] - zero_of_window
    mean = zero_of_window + excess / np.maximum(n_known, 1)
    return LoneSales(is_lone, zero_of_window, mean.astype(np.float32))


def _first_read(windows: SeenWindows, look_back: int) -> IntArray:
    """Return the first row that a forecast of each window is made from, (n,)."""
    is_known = np.any(windows.known, axis=1)
    known_until = _row_behind_last(is_known, windows.origins)
    return np.maximum(windows.begin, known_until - look_back)


def _row_behind_last(is_true: BoolArray, origins: IntArray) -> IntArray:
    """Return the row behind the last true one before each origin, 0 for none, (n, …)."""
    number = np.arange(1, len(is_true) + 1).reshape(-1, *[1] * (is_true.ndim - 1))
    behind = np.where(is_true, number, 0)
    return np.maximum.accumulate(behind, axis=0)[origins - 1]


def _count_before(is_true: BoolArray) -> IntArray:
    """Count the true rows before each one and before the end, (n_rows + 1, n_targets)."""
    return np.insert(is_true.cumsum(axis=0), 0, 0, axis=0)
