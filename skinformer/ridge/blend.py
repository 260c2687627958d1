"""How much each candidate counts, from its errors on several stretches of time."""

from typing import TypeAlias

import numpy as np

from skinformer.selection import softmax
from skinformer.timeline.arrays import Float64Array, IntArray

#: Relative error by which a candidate falls to 1/e of the best one's weight, on its worst stretch.
_TEMPERATURE = 0.1
#: Price, in relative error, of leaving these first weights (times the relative entropy).
_PRICE = 0.1
_MAX_STEPS, _TOLERANCE = 5000, 1e-10  # of the search for the weights
_LEAST_RATE, _GREATEST_RATE = 1e-12, 1e6
_FLOOR = 1e-9  # of squared errors: those of a constant series are 0


#: Squared errors of all mixtures of forecasts on one stretch of time, as a quadratic form: the mean
#: products of errors with errors, (n_forecasts, n_forecasts). Forecasts are numbered candidate by
#: candidate, strength by strength. Weights that sum to 1 make it the error of the mixture.
Stretch: TypeAlias = Float64Array


def choose_strengths(stretches: list[Stretch], n_strengths: int) -> IntArray:
    """Choose each candidate's strength, by number: the least mean error over the stretches."""
    errors = np.mean([np.diag(stretch) + _FLOOR for stretch in stretches], axis=0)
    return np.asarray(errors.reshape(-1, n_strengths).argmin(axis=1))


def choose_weights(
    stretches: list[Stretch], chosen: IntArray, n_strengths: int, *, margins: Float64Array
) -> Float64Array:
    """Weigh candidates so that their mixture errs little, and none that failed once counts much.

    chosen: each candidate's strength, from `choose_strengths`.
    margins: relative error by which a candidate has to be better to count as much as one of 0.

    The first weights are ``exp(-(e + margin) / 0.1)``, e being the logarithm of a candidate's error
    over that of the best one, on the stretch where this is worst. The final ones minimise the
    mixture's mean relative error over the stretches plus a price times their relative entropy to
    the first, by multiplicative steps.

    >>> stretches, chosen = [np.diag([1.0, 1.5])], np.zeros(2, dtype=int)
    >>> choose_weights(stretches, chosen, 1, margins=np.zeros(2)).round(2)
    array([0.67, 0.33])
    """
    forecasts = np.arange(len(chosen)) * n_strengths + chosen
    errors = np.array([np.diag(stretch)[forecasts] + _FLOOR for stretch in stretches])
    worst = np.log(errors / errors.min(axis=1, keepdims=True)).max(axis=0) + margins
    first = np.maximum(softmax(-worst / _TEMPERATURE), np.finfo(float).tiny)
    errors = np.zeros((len(chosen), len(chosen)))
    for stretch in stretches:
        between = stretch[np.ix_(forecasts, forecasts)]
        errors += between / (first @ between @ first + _FLOOR) / len(stretches)
    return _descend(errors, first)


def _descend(errors: Float64Array, first: Float64Array) -> Float64Array:
    """Minimise ``w'Ew + 0.1 · Σ w ln(w / first)`` over weights that sum to 1."""
    tiny = np.finfo(float).tiny

    def objective(w: Float64Array) -> float:
        return float(w @ errors @ w + _PRICE * (w @ np.log(w / first)))

    weights, best, rate = first, objective(first), 1.0
    for _ in range(_MAX_STEPS):
        slope = 2 * (errors @ weights) + _PRICE * np.log(weights / first)
        # Only ever downwards from the least slope, so that no exponent overflows.
        moved = weights * np.exp(-rate * (slope - slope.min()))
        moved = np.maximum(moved / moved.sum(), tiny)
        value = objective(moved)
        if value > best:
            rate /= 2
            if rate < _LEAST_RATE:
                break
            continue
        done = best - value < _TOLERANCE * abs(best) and np.abs(moved - weights).max() < 1e-6
        weights, best, rate = moved, value, min(rate * 1.5, _GREATEST_RATE)
        if done:
            break
    return weights


def mixed_errors(
    stretches: list[Stretch], weights: Float64Array, chosen: IntArray, n_strengths: int
) -> Float64Array:
    """Return the mean squared error of a mixture of candidates on each stretch.

    >>> stretch = np.diag([3.0, 0.0])
    >>> mixed_errors([stretch], np.array([0.0, 1.0]), np.array([0, 0]), 1).round(3)
    array([0.])
    """
    place = np.arange(len(weights)) * n_strengths + chosen
    errors = [weights @ s[np.ix_(place, place)] @ weights for s in stretches]
    return np.array(errors) + _FLOOR
