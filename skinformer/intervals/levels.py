"""
Errors by the level of the forecast: where little rain is forecast only more can come.

Quantiles of errors are found at some places on the scale of forecasts, from the errors of forecasts
nearby, and interpolated between these (Mondrian conformal prediction, Boström et al., 2021, with
smooth borders). How far they are believed is chosen for each target by the quantile loss on blocks
of time that they were not found on.
"""

from __future__ import annotations

import numpy as np

from skinformer.intervals.residuals import Residuals
from skinformer.selection import SHARES, shrinkage
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Blocks of time, on each of which quantiles of the others are judged.
_N_BLOCKS = 4
#: Steps ahead at which they are judged.
_N_STEPS = 6
#: Independent forecasts that stand for errors which do not depend on the level.
_PRIOR = 30.0
_LEVELS = np.arange(1, 10) / 10


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
        From 0 to 1: the share of the least quantile loss on later and earlier rows, the smaller the
        fewer independent forecasts there are; 0 where these are fewer than two a block. Cost: some
        hundred sorts of 1,600 errors for each target.
    """
    n_targets = residuals.errors.shape[2]
    if residuals.n_windows < 2 * _N_BLOCKS:
        return np.zeros(n_targets)
    block = _blocks_of_time(residuals.origins)
    best = [_best_share(residuals, target, block) for target in range(n_targets)]
    return np.array(best) * shrinkage(residuals.n_windows, _PRIOR)


def _blocks_of_time(origins: IntArray) -> IntArray:
    """Return the number of the block of each window, as many windows in each: (n,)."""
    rank = np.argsort(np.argsort(origins, kind="stable"))
    return rank * _N_BLOCKS // len(origins)


def _best_share(residuals: Residuals, target: int, block: IntArray) -> float:
    """Return the share of the least mean loss relative to that of none, one of `SHARES`."""
    pred_len = residuals.errors.shape[1]
    steps = np.unique(np.linspace(0, pred_len - 1, _N_STEPS).astype(int))
    losses = np.zeros((_N_BLOCKS, len(SHARES)))
    for number in range(_N_BLOCKS):
        is_inside = block == number
        others = residuals.some(~is_inside)
        for step in steps:
            losses[number] += _losses(residuals, others, is_inside, step, target)
    losses = losses[losses[:, 0] > 0]
    if not len(losses):
        return 0.0
    relative = losses / losses[:, :1]
    return SHARES[int(relative.mean(axis=0).argmin())]


def _losses(
    residuals: Residuals,
    others: Residuals,
    is_inside: BoolArray,
    step: int,
    target: int,
) -> Float64Array:
    """Return the quantile losses of windows by the errors of others, one of each share."""
    assert residuals.points is not None
    errors = residuals.errors[is_inside, step, target].astype(np.float64)
    points = residuals.points[is_inside, step, target].astype(np.float64)
    is_known = ~np.isnan(errors)
    found = others.quantiles_near(_LEVELS, step, target, points[is_known])
    if found is None:
        return np.zeros(len(SHARES))
    of_all = np.quantile(others.known_near(step, target), _LEVELS, method="weibull")
    losses = []
    for share in SHARES:
        quantiles = of_all[:, None] + share * (found - of_all[:, None])
        excess = errors[is_known] - quantiles
        level = _LEVELS[:, None]
        losses.append(np.maximum(level * excess, (level - 1) * excess).sum())
    return np.array(losses)
