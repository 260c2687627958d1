"""
Errors by the level of the forecast: one of little rain can be far too low, hardly too high.

Quantiles of errors are found at some places on the scale of forecasts, from the errors of forecasts
nearby, and interpolated between these (Mondrian conformal prediction, Boström et al., 2021, with
smooth borders). How far they are believed is chosen for each target by the quantile loss on blocks
of time that they were not found on.
"""

from __future__ import annotations

import numpy as np

from skinformer.intervals.residuals import Residuals
from skinformer.selection import SHARES, mean_log_share, shrinkage
from skinformer.timeline.arrays import Float64Array, IntArray

#: Blocks of time, on each of which quantiles of the others are judged.
_N_BLOCKS = 4
#: Steps ahead at which they are judged.
_N_STEPS = 6
#: Independent forecasts that stand for errors which do not depend on the level.
_PRIOR = 30.0
#: Levels at which quantiles are judged.
LEVELS = np.arange(1, 10) / 10


def level_shares(residuals: Residuals) -> Float64Array:
    """
    Choose how far errors of forecasts alike are believed beside those of all forecasts.

    Parameters
    ----------
    residuals : Residuals
        With the forecasts of their windows.

    Returns
    -------
    ndarray of shape (n_targets,)
        From 0 to 1: the share of the least mean log loss on later and earlier rows, the smaller the
        fewer independent forecasts there are; 0 where these are fewer than two a block. Cost: some
        hundred sorts of 1,600 errors for each target.
    """
    n_windows, _, n_targets = residuals.errors.shape
    n_forecasts = min(residuals.n_windows, n_windows)
    if n_forecasts < 2 * _N_BLOCKS:
        return np.zeros(n_targets)
    steps = chosen_steps(residuals)
    losses = np.zeros((_N_BLOCKS, n_targets, len(SHARES)))
    block = blocks_of_time(residuals.origins)
    for number in range(_N_BLOCKS):
        inside = residuals.some(block == number)
        others = residuals.some(block != number)
        for target in range(n_targets):
            for step in steps:
                losses[number, target] += _losses(inside, others, step, target)
    best = [mean_log_share(losses[:, target]) for target in range(n_targets)]
    return np.array(SHARES)[best] * shrinkage(n_forecasts, _PRIOR)


def chosen_steps(residuals: Residuals) -> list[int]:
    """Choose the steps ahead at which quantiles are judged."""
    last = residuals.errors.shape[1] - 1
    return np.unique(np.linspace(0, last, _N_STEPS).astype(int)).tolist()


def blocks_of_time(origins: IntArray) -> IntArray:
    """Return the number of the block of each window, as many moments in each: (n,)."""
    moments, moment = np.unique(origins, return_inverse=True)
    return moment * _N_BLOCKS // len(moments)


def _losses(
    inside: Residuals, others: Residuals, step: int, target: int
) -> Float64Array:
    """Return the quantile losses of windows by the errors of others, one of each share."""
    errors = inside.errors[:, step, target].astype(np.float64)
    points = inside.points[:, step, target].astype(np.float64)
    is_known = ~np.isnan(errors)
    found = others.quantiles_near(LEVELS, step, target, points[is_known])
    if found is None:
        return np.zeros(len(SHARES))
    of_all = np.quantile(others.known_near(step, target), LEVELS, method="weibull")
    change = found - of_all[:, None]
    return quantile_losses(errors[is_known], of_all[:, None], change)


def quantile_losses(
    errors: Float64Array, quantiles: Float64Array, change: Float64Array
) -> Float64Array:
    """Return the quantile losses of errors, one of each share of a change, (n_shares,).

    errors: (n,).
    quantiles, change: those of `LEVELS`, and what is added to them in full, (n_levels, n) or such
    that they become so.
    """
    level = LEVELS[:, None]
    shares = np.array(SHARES)[:, None, None]
    excess = errors - quantiles - shares * change
    loss = np.maximum(level * excess, (level - 1) * excess)
    return loss.sum(axis=(1, 2))
