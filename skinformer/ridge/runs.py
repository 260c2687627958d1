"""Sums of windows that begin side by side: no window is laid out.

Row i of a window is row i + 1 of the window before it. So the sum over all windows of the product
of rows i and i + k, and that of rows i + 1 and i + 1 + k, differ by two products, one at each end.
n windows of a length L cost some n log n + L² products for each pair of columns, in place of n L².
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import irfft, next_fast_len, rfft

from skinformer.timeline.arrays import Float64Array, IntArray


def split_runs(origins: IntArray, n_least: int) -> tuple[list[IntArray], IntArray]:
    """Find runs of `n_least` origins, of windows side by side; return also all other origins.

    Long runs are cut, for the memory that they need.

    >>> split_runs(np.array([3, 4, 5, 8, 9]), 3)
    ([array([3, 4, 5])], array([8, 9]))
    """
    n_most = max(50_000, n_least)
    origins = np.sort(origins)
    borders = np.flatnonzero(np.diff(origins) != 1) + 1
    parts = [
        run[start : start + n_most]
        for run in np.split(origins, borders)
        for start in range(0, len(run), n_most)
    ]
    runs = [part for part in parts if len(part) >= n_least]
    others = [part for part in parts if len(part) < n_least]
    return runs, np.concatenate([origins[:0], *others])


def sum_products(rows: Float64Array, n: int, n_first: int) -> Float64Array:
    """Sum products of rows over windows: (n_first, n_columns, length, n_columns).

    At [i, a, j, b] it is the sum, over n windows side by side, of what column a has in row i of the
    window times what column b has in row j.

    rows: (n + length - 1, n_columns), of all windows.
    n_first: of the rows of a window, the first so many are i.
    """
    length = len(rows) - n + 1
    # 1. Of rows 0 and k; then of i and i + k.
    by_lag = np.empty((n_first, length, rows.shape[1], rows.shape[1]))
    by_lag[0] = _correlate(rows, n)
    by_lag[1:] = _ends(rows[n:], n_first, length) - _ends(rows, n_first, length)
    np.cumsum(by_lag, axis=0, out=by_lag)
    # 2. Of i and j, where j is not before i; else of j and i.
    i, j = np.ogrid[:n_first, :length]
    products = by_lag[i, np.maximum(j - i, 0)]
    later = products[:, :n_first].transpose(1, 0, 3, 2)
    is_before = (j < i)[:, :n_first, None, None]
    products[:, :n_first] = np.where(is_before, later, products[:, :n_first])
    return products.transpose(0, 2, 1, 3)


def _correlate(rows: Float64Array, n: int) -> Float64Array:
    """Sum products of the first n rows with those k later, for all k: (length, n_columns, …)."""
    length = len(rows) - n + 1
    size = next_fast_len(len(rows), real=True)
    every = rfft(rows, size, axis=0)
    first = rfft(rows[:n], size, axis=0).conj()
    columns = range(rows.shape[1])
    # Column by column: all at once they would need the square of their memory.
    found = [irfft(first[:, [a]] * every, size, axis=0)[:length] for a in columns]
    return np.stack(found, axis=1)


def _ends(rows: Float64Array, n_first: int, length: int) -> Float64Array:
    """Multiply rows i by i + k, for i + 1 < n_first: (n_first - 1, length, n_columns, …).

    Beyond the rows that there are, which no window has, it is 0.
    """
    n_rows = n_first - 1 + length
    padded = np.pad(rows[:n_rows], [(0, max(n_rows - len(rows), 0)), (0, 0)])
    later = sliding_window_view(padded, length, axis=0)
    return np.einsum("ia,ibk->ikab", padded[: n_first - 1], later[: n_first - 1])
