"""
Quantiles of recent rows beside those of errors: of rare sales, of what is full or dry.

Errors around a forecast of a fifth of a piece say little of how many pieces will be sold; what was
sold in the last months says it. Both kinds of quantiles are averaged, level by level. The share of
the second is the one with the lowest quantile loss on windows of the history.
"""

from __future__ import annotations

import numpy as np

from skinformer.intervals.levels import (
    LEVELS,
    blocks_of_time,
    chosen_steps,
    quantile_losses,
)
from skinformer.intervals.residuals import Residuals
from skinformer.selection import SHARES, mean_log_share
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.windows import window_rows

#: Recent rows at least.
_FEWEST = 18
#: Numbers by which the distribution of recent rows is kept: the least, the greatest, and between.
N_KEPT = 21
#: Parts of the series of a panel, where all windows begin at the same time.
_N_PARTS = 4


def n_recent(pred_len: int) -> int:
    """Return how many rows are recent beside so many to forecast."""
    return max(_FEWEST, 3 * pred_len // 2)


def recent_distribution(
    values: Floats, begin: IntArray, until: IntArray, pred_len: int
) -> Float64Array:
    """
    Describe the rows before others: one and a half times as many as are forecast.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_targets)
        All rows, standardised.
    begin, until : ndarray of shape (n,)
        The first row of each series, and the row behind the last one that counts.
    pred_len : int
        Rows of a forecast.

    Returns
    -------
    ndarray of shape (n, n_targets, N_KEPT)
        Quantiles of equal distance, from the least to the greatest of the last ``n_recent`` rows,
        or of all if there are fewer.
    """
    n_most = n_recent(pred_len)
    rows = window_rows(until - n_most, n_most)
    begin = np.minimum(begin, until - 1)
    recent = values[np.maximum(rows, 0)].astype(np.float64)
    recent[rows < begin[:, None]] = np.nan
    ascending = np.sort(np.moveaxis(recent, 1, 2), axis=2)
    n_known = np.minimum(until - begin, n_most)
    place = np.linspace(0, 1, N_KEPT) * (n_known[:, None] - 1)
    low = place.astype(np.int64)
    high = np.minimum(low + 1, n_known[:, None] - 1)
    below = np.take_along_axis(ascending, low[:, None], axis=2)
    above = np.take_along_axis(ascending, high[:, None], axis=2)
    return below + (place - low)[:, None] * (above - below)


def recent_quantiles(recent: Float64Array, levels: Float64Array) -> Float64Array:
    """Return quantiles of what `recent_distribution` describes, (n_levels, n, n_targets)."""
    return np.quantile(recent, levels, axis=-1)


def recent_shares(
    residuals: Residuals, sizes: Float64Array, recent: Float64Array
) -> Float64Array:
    """
    Choose how much quantiles of recent rows count beside those of errors.

    Parameters
    ----------
    residuals : Residuals
        With the forecasts of their windows.
    sizes : ndarray of shape (n_windows, pred_len, n_targets)
        The sizes in which its errors are.
    recent : ndarray of shape (n_windows, n_targets, N_KEPT)
        The rows before each window, see `recent_distribution`.

    Returns
    -------
    ndarray of shape (n_targets,)
        From 0 to 1: the share of the least mean log loss, with one standard error added, on blocks
        of time, or of series where all windows begin at one time. Errors are those of the other
        blocks. It is 0 where there is one block alone.
    """
    n_targets = residuals.errors.shape[2]
    block = blocks_of_time(residuals.origins)
    if not block.any():
        _, series = np.unique(residuals.series, return_inverse=True)
        block = series % _N_PARTS
    if not block.any():
        return np.zeros(n_targets)
    of_recent = recent_quantiles(recent, LEVELS)
    losses = np.stack(
        [
            _block_losses(residuals, sizes, of_recent, block == number)
            for number in np.unique(block)
        ]
    )
    best = [mean_log_share(losses[:, j], margin=1.0) for j in range(n_targets)]
    return np.array(SHARES)[best]


def _block_losses(
    residuals: Residuals,
    sizes: Float64Array,
    of_recent: Float64Array,
    inside: BoolArray,
) -> Float64Array:
    """Return the quantile losses of some windows by the errors of others, (n_targets, n_shares)."""
    # 1. Step after step, all windows of the block, (n_steps * n_inside, n_targets).
    steps = chosen_steps(residuals)
    ahead = np.repeat(steps, inside.sum())
    window = np.tile(np.flatnonzero(inside), len(steps))
    errors = residuals.errors[window, ahead].astype(np.float64)
    points = residuals.points[window, ahead].astype(np.float64)
    # 2. Both kinds of quantiles, in sizes of errors.
    others = residuals.some(~inside)
    of_steps = np.broadcast_to(ahead[:, None], points.shape)
    of_errors = others.quantiles_at(LEVELS, points, of_steps)
    change = (of_recent[:, window] - points) / sizes[window, ahead] - of_errors
    # 3. Losses of each target.
    losses = []
    for j, known in enumerate(~np.isnan(errors.T)):
        of_known = of_errors[:, known, j], change[:, known, j]
        losses.append(quantile_losses(errors[known, j], *of_known))
    return np.stack(losses)
