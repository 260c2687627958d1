"""How much each candidate counts, from its errors on several stretches of time."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import minimize

from skinformer.selection import softmax
from skinformer.timeline.arrays import Float64Array, IntArray

_FLOOR = 1e-9  # of squared errors: those of a constant series are 0


def errors_by_target(stretches: list[Float64Array]) -> Iterator[list[Float64Array]]:
    """Return what chooses the blend of each target: its own errors and those of all, half and half.

    What is exact for one column, the hours of daylight, is far off for another, the wind. Of one
    column alone little is known.

    stretches: of each stretch of time, mean products of errors with errors of each target,
    (n_targets, n_forecasts, n_forecasts); where all targets share one blend there is one of all.

    Returned are those of each target in turn, (n_forecasts, n_forecasts) on each stretch, in units
    of the least mean error.
    """
    of_all = _in_least_errors([products.sum(axis=0) for products in stretches])
    for own in zip(*stretches, strict=True):
        of_target = _in_least_errors(own)
        yield [(one + other) / 2 for one, other in zip(of_target, of_all, strict=True)]


def _in_least_errors(stretches: Sequence[Float64Array]) -> list[Float64Array]:
    """Divide errors by the least mean error of a forecast over all stretches.

    What is exact but for rounding counts as exact.
    """
    errors = np.mean([np.diag(products) for products in stretches], axis=0)
    unit = errors.min() + _FLOOR
    return [(products + _FLOOR) / unit for products in stretches]


def choose_strengths(stretches: list[Float64Array], n_strengths: int) -> IntArray:
    """Choose each candidate's strength, by number: the least mean error over the stretches.

    stretches: of each stretch of time, squared errors of all mixtures of forecasts as a quadratic
    form, the mean products of errors with errors, (n_forecasts, n_forecasts). Forecasts are
    numbered candidate by candidate, strength by strength. Weights that sum to 1 make it the error
    of the mixture.
    """
    errors = np.diag(np.mean(stretches, axis=0)) + _FLOOR
    return errors.reshape(-1, n_strengths).argmin(axis=1)


def choose_weights(
    stretches: list[Float64Array], chosen: IntArray, *, margins: Float64Array
) -> Float64Array:
    """Weigh candidates so that their mixture errs little, and none that failed once counts much.

    stretches: see `choose_strengths`.
    chosen: the number of each candidate's forecast by its strength.
    margins: relative error by which a candidate has to be better to count as much as one of 0.

    The first weights are ``exp(-(e + margin) / 0.1)``, e being the logarithm of a candidate's error
    over that of the best one, on the stretch where this is worst. The final ones minimise the
    mixture's mean relative error over the stretches plus a tenth of their relative entropy to the
    first.

    >>> stretches, chosen = [np.diag([1.0, 1.5])], np.arange(2)
    >>> choose_weights(stretches, chosen, margins=np.zeros(2)).round(2)
    array([0.67, 0.33])
    """
    products = _of_chosen(stretches, chosen)
    errors = np.diagonal(products, axis1=1, axis2=2) + _FLOOR
    relative = np.log(errors / errors.min(axis=1, keepdims=True))
    worst = relative.max(axis=0) + margins
    first = np.maximum(softmax(-worst / 0.1), np.finfo(float).tiny)
    of_first = mixed_errors(stretches, first, chosen)
    return _minimise((products / of_first[:, None, None]).mean(axis=0), first)


def _minimise(errors: Float64Array, first: Float64Array) -> Float64Array:
    """Minimise ``w'Ew + 0.1 · Σ w ln(w / first)`` over weights ``w = softmax(logits)``."""

    def objective(logits: Float64Array) -> tuple[float, Float64Array]:
        weights = np.maximum(softmax(logits), np.finfo(float).tiny)
        log_ratio = np.log(weights / first)
        mixed = errors @ weights
        slope = 2 * mixed + 0.1 * log_ratio
        price = weights @ (mixed + 0.1 * log_ratio)
        return float(price), weights * (slope - weights @ slope)

    # Not by BFGS, whose line search in Python warns: scipy hides that from one thread at a time.
    found = minimize(
        objective,
        np.log(first),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-9, "ftol": 1e-15, "maxcor": 60, "maxiter": 1000},
    )
    return softmax(found.x)


def mixed_errors(
    stretches: list[Float64Array], weights: Float64Array, chosen: IntArray
) -> Float64Array:
    """Return the mean squared error of a mixture of candidates on each stretch.

    chosen: the number of each candidate's forecast by its strength.

    >>> stretch = np.diag([3.0, 0.0])
    >>> mixed_errors([stretch], np.array([0.0, 1.0]), np.array([0, 1])).round(3)
    array([0.])
    """
    products = _of_chosen(stretches, chosen)
    return np.einsum("i,sij,j->s", weights, products, weights) + _FLOOR


def _of_chosen(stretches: list[Float64Array], chosen: IntArray) -> Float64Array:
    """Return the products of the candidates' errors at their strengths, stretch by stretch."""
    return np.stack(stretches)[:, chosen[:, None], chosen]
