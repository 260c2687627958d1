"""What the seasons do to a window, by classical decomposition."""

import numpy as np

from skinformer.classical.windows import row_products
from skinformer.timeline.arrays import Float64Array, IntArray


def effects(past: Float64Array, length: IntArray, period: int) -> Float64Array:
    """Average distances from the moving average phase by phase: (n, period), of the next rows.

    Their mean is 0, and so are all of a window of fewer than two seasons. The period is above 1.
    """
    n, seq_len = past.shape
    half = period // 2
    out = np.zeros((n, period))
    if seq_len < 2 * period:
        return out
    weights = np.full(2 * half + 1, 1 / period)
    if period % 2 == 0:
        weights[[0, -1]] /= 2
    centred = past - past[:, -1:]
    views = np.lib.stride_tricks.sliding_window_view(centred, 2 * half + 1, axis=1)
    distance = centred[:, half : seq_len - half] - row_products(views, weights[:, None])[..., 0]
    real = np.arange(seq_len - 2 * half) >= seq_len - length[:, None]
    for phase in range(period):
        # The column that is a whole number of seasons before the next row of this phase.
        columns = np.flatnonzero((np.arange(half, seq_len - half) - seq_len - phase) % period == 0)
        seen = real[:, columns]
        out[:, phase] = (distance[:, columns] * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    out -= out.mean(axis=1, keepdims=True)
    return np.where(length[:, None] >= 2 * period, out, 0)


def repeated(season: Float64Array, horizon: int) -> Float64Array:
    """Continue seasonal effects of the next rows, (n, period), over the horizon."""
    return season[:, np.arange(horizon) % season.shape[1]]


def adjusted(past: Float64Array, season: Float64Array) -> Float64Array:
    """Take seasonal effects, those of the next rows, out of windows."""
    seq_len = past.shape[1]
    return past - season[:, (np.arange(seq_len) - seq_len) % season.shape[1]]


def last_seasons(past: Float64Array, length: IntArray, period: int, most: int) -> Float64Array:
    """Average at most so many last seasons: (n, period), the phases of the next rows.

    A shorter window gives the seasons that it holds; a phase never seen has the last value.
    """
    n, seq_len = past.shape
    total, count = np.zeros((n, period)), np.zeros((n, period))
    for back in range(min(most, seq_len // period + 1)):
        stop = seq_len - back * period
        columns = np.arange(stop - period, stop)
        seen = columns >= seq_len - length[:, None]
        total += past[:, np.maximum(columns, 0)] * seen
        count += seen
    return np.where(count > 0, total / np.maximum(count, 1), past[:, -1:])
