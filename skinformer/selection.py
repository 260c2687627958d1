"""Weights of forecasts by their errors on held-out rows.

Stretches of time, standard errors of a gain, shrinkage, and shares of a correction.
"""

from typing import Any

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Shares that compete.
SHARES = tuple(np.linspace(0, 1, 21).tolist())
#: Stretches on which a correction has to prove itself, fewer where they would be shorter than a
#: forecast.
MOST_STRETCHES = 12


def shrinkage(n: Any, prior: float) -> Any:
    """Return the weight of n observations beside so many that a prior counts for."""
    return n / (n + prior)


def softmax(scores: Float64Array) -> Float64Array:
    """Turn scores, (…, n), the higher the better, into weights of sum 1."""
    most = scores.max(axis=-1, keepdims=True)
    raised = np.exp(scores - most)
    total = raised.sum(axis=-1, keepdims=True)
    return raised / total


def finite_logs(values: Float64Array) -> Float64Array:
    """Return logs of values from 0 on; of 0 one which no other comes near."""
    least = np.finfo(np.float64).tiny
    return np.log(np.maximum(values, least))


def standard_error(values: Float64Array) -> Float64Array:
    """Return the standard error of the mean over the first axis; 0 of one value."""
    n = len(values)
    deviation = values.std(axis=0, ddof=n > 1)
    return deviation / np.sqrt(n)


def mean_less_error(gains: Float64Array) -> float:
    """Return the mean gain less its standard error: walks, too, look like a part of a wave."""
    return float(gains.mean() - standard_error(gains))


def nearby_steps(pred_len: int) -> Float64Array:
    """Weigh steps by how near they are: neighbours far ahead are alike, the first few are not."""
    doublings = np.log2(np.arange(pred_len) + 1.0)
    distance = np.subtract.outer(doublings, doublings)
    width = 0.5  # so far apart, in doublings, what a step proves counts for e^-½
    return np.exp(-0.5 * (distance / width) ** 2)


def mean_errors(
    forecast: Float32Array,
    y: Float32Array,
    weight: Float32Array | Float64Array,
    series: IntArray,
    n_series: int,
) -> Float64Array:
    """Return the mean absolute error of each series and target, NaN where there is no truth.

    `forecast`, `y` and `weight` have shape (n_windows, pred_len, n_targets).
    """
    weight = weight.astype(np.float64)
    distance = np.abs(forecast.astype(np.float64) - y)
    errors = (distance * weight).sum(axis=1)
    shape = n_series, y.shape[2]
    total = np.zeros(shape)
    total_weight = np.zeros(shape)
    np.add.at(total, series, errors)
    np.add.at(total_weight, series, weight.sum(axis=1))
    with np.errstate(invalid="ignore"):
        return total / total_weight


def log_errors(errors: Float64Array) -> tuple[Float64Array, BoolArray]:
    """Return logs of errors, (…, n), less their mean, and where they can be compared.

    They cannot where one is unknown, or all are next to none.
    """
    small = 0.01  # standardised, below which all are as good: rounding of a constant
    is_finite = np.isfinite(errors).all(axis=-1)
    is_judged = np.asarray(is_finite & (errors > small).any(axis=-1))
    at_least_small = np.maximum(errors, small)
    comparable = np.where(is_judged[..., None], at_least_small, 1.0)
    logs = np.log(comparable)
    logs -= logs.mean(axis=-1, keepdims=True)
    # No single series decides.
    return np.clip(logs, -1.5, 1.5), is_judged


def stretch_sums(losses: Float64Array, stretches: IntArray) -> Float64Array:
    """Add up the losses of windows, (n_windows, …), on each stretch."""
    n_stretches = stretches.max() + 1
    total = np.zeros((n_stretches, *losses.shape[1:]))
    np.add.at(total, stretches, losses)
    return total


def time_stretches(
    steps: IntArray, pred_len: int, *, n_most: int = 4
) -> IntArray | None:
    """Assign held-out windows to stretches of time, numbered from 0.

    Each holds a whole forecast at least; None where there would be one alone.

    >>> time_stretches(np.arange(8), 4)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    span = int(np.ptp(steps)) + 1
    n_stretches = min(n_most, span // pred_len)
    if n_stretches < 2:
        return None
    return (steps - steps.min()) * n_stretches // span


def minimax_share(losses: Float64Array) -> int:
    """Find the share whose worst stretch is the best; 0 if any share does harm somewhere.

    Losses have shape (n_stretches, n_shares), the first share being none, to which others relate.

    >>> minimax_share(np.array([[2.0, 1.6, 1.0], [2.0, 1.8, 2.2]]))
    1
    """
    relative = _relative(losses)
    if not len(relative):
        return 0
    worst = relative.max(axis=0)
    return int(worst.argmin())


def mean_log_share(losses: Float64Array, *, margin: float = 0.0) -> int:
    """Find the share of the lowest mean log loss, so that no stretch counts for its size.

    losses: (n_stretches, n_shares); the first share is none.
    margin: standard errors by which a share has to gain on none; 0 where neither is the safe one.

    >>> losses = np.array([[2.0, 1.6, 1.0], [2.0, 1.8, 2.2]])
    >>> mean_log_share(losses), mean_log_share(losses, margin=1.0)
    (2, 1)
    """
    losses = losses[losses.sum(axis=1) > 0]
    logs = finite_logs(losses)
    if len(logs) < 2:
        return int(logs.sum(axis=0).argmin())
    changes = logs - logs[:, :1]
    pessimistic = changes.mean(axis=0) + margin * standard_error(changes)
    return int(pessimistic.argmin())


def upper_bound_share(losses: Float64Array) -> int:
    """Find the share of the lowest upper bound of its mean loss: as far as a gain is no chance.

    Of losses, (n_stretches, n_shares), relative to those of the first share, which is none, the
    lowest mean with two standard errors added counts; 0 if all are above 1.

    >>> upper_bound_share(np.array([[2.0, 1.6, 1.0], [2.0, 1.7, 1.9]]))
    1
    """
    pessimistic = _pessimistic_losses(losses, 2.0)
    return int(pessimistic.argmin())


def gain_of_best_share(losses: Float64Array) -> float:
    """Return what part of the loss the best share takes off, less one standard error.

    >>> round(gain_of_best_share(np.array([[2.0, 1.6, 1.0], [2.0, 1.7, 1.9]])), 3)
    0.15
    """
    pessimistic = _pessimistic_losses(losses, 1.0)
    return float(1 - pessimistic.min())


def _pessimistic_losses(losses: Float64Array, margin: float) -> Float64Array:
    """Return the mean relative loss of each share with so many standard errors; 1 for none."""
    relative = _relative(losses)
    has_infinite = np.isinf(relative[:, 1:]).any()
    if len(relative) < 2 or has_infinite:
        return np.ones(losses.shape[1])
    return relative.mean(axis=0) + margin * standard_error(relative)


def _relative(losses: Float64Array) -> Float64Array:
    """Return losses relative to those of the first share, on stretches where any has a loss."""
    losses = losses[losses.sum(axis=1) > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = losses / losses[:, :1]
    # Where none has no error, any share does infinite harm.
    return np.where(np.isnan(relative), 1.0, relative)
