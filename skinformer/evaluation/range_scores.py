"""Scores of quantiles, samples and intervals, by the rules of the scores of points.

Quantiles, samples and bounds have one axis more than the truth, behind it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skinformer.evaluation.averages import mean_score, ratio_score, read_scored
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_coverage, check_levels


def pinball_loss(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Compute the mean pinball loss of quantiles (quantile loss).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of the quantiles.
    levels : array-like of shape (n_levels,)
        The levels of the quantiles, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean over rows and levels of ``max(level * (y - q), (level - 1) * (y - q))``, in the units
        of the target [1]_; lower is better.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known; if levels are not in (0, 1).

    References
    ----------
    .. [1] Koenker and Bassett (1978), Regression Quantiles, Econometrica 46, 33-50.

    Examples
    --------
    >>> pinball_loss([3.0, float("nan")], [[1.0, 2.0], [9.0, 9.0]], levels=[0.1, 0.5])
    0.35
    """
    _, losses = _pinball(y_true, y_quantiles, check_levels(levels))
    return mean_score(losses.mean(axis=2), sample_weight)


def weighted_quantile_loss(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Compute the weighted quantile loss (WQL), a pinball loss without units.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of the quantiles.
    levels : array-like of shape (n_levels,)
        The levels of the quantiles, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean over levels of ``2 * sum(pinball) / sum |y|``; lower is better. For the median alone it
        is `wape`.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known; if levels are not in (0, 1).

    Examples
    --------
    >>> round(weighted_quantile_loss([3.0, 1.0], [[1.0, 2.0], [1.0, 1.0]], levels=[0.1, 0.5]), 4)
    0.175
    """
    y, losses = _pinball(y_true, y_quantiles, check_levels(levels))
    errors = 2 * losses.mean(axis=2)
    return ratio_score(errors, np.abs(y), sample_weight)


def crps_of_quantiles(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Estimate the continuous ranked probability score (CRPS) from quantiles.

    The CRPS is twice the integral of the pinball loss over all levels. Each given level stands for
    the levels that lie nearest to it.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of the quantiles.
    levels : array-like of shape (n_levels,)
        The levels of the quantiles, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        The score in the units of the target [1]_; lower is better. If all quantiles are equal, it
        is the absolute error.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known; if levels are not in (0, 1).

    References
    ----------
    .. [1] Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation,
       Journal of the American Statistical Association 102, 359-378.

    Examples
    --------
    >>> crps_of_quantiles([3.0], [[2.0, 2.0, 2.0]], levels=[0.25, 0.5, 0.75])
    1.0
    """
    levels = check_levels(levels)
    _, losses = _pinball(y_true, y_quantiles, levels)
    order = np.argsort(levels)
    ascending = levels[order]
    between = (ascending[1:] + ascending[:-1]) / 2
    width = np.diff(between, prepend=0.0, append=1.0)
    crps = 2 * losses[..., order] @ width
    return mean_score(crps, sample_weight)


def crps_of_samples(y_true: Any, y_samples: Any, *, sample_weight: Any = None) -> float:
    """
    Estimate the continuous ranked probability score (CRPS) from samples.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_samples : array-like of shape (n, n_samples) or (n, n_targets, n_samples)
        Samples, such as those of `InformerRegressor.sample`.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean of ``mean |x - y| - mean |x - x'| / 2`` over samples x and pairs of different samples
        x, x', in the units of the target [1]_; lower is better. Pairs of equal samples are left
        out, so that the score does not depend on the number of samples.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    References
    ----------
    .. [1] Gneiting and Raftery (2007), Strictly Proper Scoring Rules, Prediction, and Estimation,
       Journal of the American Statistical Association 102, 359-378.

    Examples
    --------
    >>> crps_of_samples([3.0], [[2.0, 4.0]])
    0.0
    """
    n_samples = np.shape(y_samples)[-1:]
    y, samples = read_scored(y_true, y_samples, *n_samples)
    n = samples.shape[2]
    errors = np.abs(samples - y[..., None])
    # Half the mean distance of pairs: in ascending order each draw counts by its place.
    ascending = np.sort(samples, axis=2)
    place = 2 * np.arange(n) - n + 1.0
    n_pairs = max(n * (n - 1), 1)
    distance = ascending @ place / n_pairs
    return mean_score(errors.mean(axis=2) - distance, sample_weight)


def interval_coverage(
    y_true: Any, y_interval: Any, *, sample_weight: Any = None
) -> float:
    """
    Compute the coverage: the share of actual values that lie inside their interval.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds; an actual value on a bound is covered.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        A share in [0, 1]; the closer to the requested coverage, the better.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    Examples
    --------
    >>> interval_coverage([1.0, 2.0, float("nan")], [[0, 1], [0, 1], [0, 1]])
    0.5
    """
    y, bounds = read_scored(y_true, y_interval, 2)
    is_covered = (bounds[..., 0] <= y) & (y <= bounds[..., 1])
    return mean_score(np.where(np.isnan(y), y, is_covered), sample_weight)


def interval_width(y_true: Any, y_interval: Any, *, sample_weight: Any = None) -> float:
    """
    Compute the mean width of intervals.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values. Rows without one are left out, as in the other scores.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean of upper less lower bound, in the units of the target; lower is better at equal
        coverage.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    Examples
    --------
    >>> interval_width([1.0, 2.0], [[0, 1], [0, 2]])
    1.5
    """
    y, bounds = read_scored(y_true, y_interval, 2)
    width = bounds[..., 1] - bounds[..., 0]
    return mean_score(np.where(np.isnan(y), y, width), sample_weight)


def winkler_score(
    y_true: Any, y_interval: Any, *, coverage: float, sample_weight: Any = None
) -> float:
    """
    Compute the Winkler score (interval score).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds.
    coverage : float
        Nominal coverage of the intervals, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean of the width plus ``2 / (1 - coverage)`` times the distance of the actual value from
        the interval, in the units of the target [1]_; lower is better.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known; if `coverage` is not in (0, 1).

    References
    ----------
    .. [1] Winkler (1972), A Decision-Theoretic Approach to Interval Estimation, Journal of the
       American Statistical Association 67, 187-191.

    Examples
    --------
    >>> round(winkler_score([1.0, 3.0], [[0, 2], [0, 2]], coverage=0.8), 6)
    7.0
    """
    check_coverage(coverage)
    y, bounds = read_scored(y_true, y_interval, 2)
    low = bounds[..., 0]
    high = bounds[..., 1]
    below = np.maximum(low - y, 0)
    above = np.maximum(y - high, 0)
    penalty = 2 / (1 - coverage) * (below + above)
    return mean_score(high - low + penalty, sample_weight)


def _pinball(
    y_true: Any, y_quantiles: Any, levels: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the truth, (n, n_targets), and the loss of each quantile: (n, n_targets, n_levels)."""
    y, quantiles = read_scored(y_true, y_quantiles, len(levels))
    residuals = y[..., None] - quantiles
    losses = np.maximum(levels * residuals, (levels - 1) * residuals)
    return y, losses
