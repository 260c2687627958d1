"""A multinomial logistic map of standardised features, whose penalty later truths choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from skinformer.algebra import product
from skinformer.timeline.arrays import BoolArray, Float64Array


@dataclass(frozen=True)
class Logistic:
    """Logits as a linear map of standardised features.

    mean, scale: of features; one that never varied has the scale infinity.
    slope, intercept: of logits, (n_classes, n_features) and (n_classes,).
    """

    mean: Float64Array
    scale: Float64Array
    slope: Float64Array
    intercept: Float64Array

    def probabilities(self, features: Float64Array) -> Float64Array:
        """Forecast, (n, n_classes); a NaN counts as the mean, and no row depends on others."""
        standardised = _standardise(features, self.mean, self.scale)
        # Not by a matrix product, which rounds by its shape.
        logits = np.einsum("nf,cf->nc", standardised, self.slope)
        return softmax(logits + self.intercept, axis=-1)


def fit_logistic(
    features: Float64Array,
    truth: Float64Array,
    weight: Float64Array,
    n_free: int,
    late: BoolArray,
) -> Logistic:
    """Fit a multinomial logistic map; NaN counts as the mean.

    truth: 1 in the column of its class, 0 elsewhere, (n, n_classes).
    n_free: how many of the features, the last ones, are forecasts by themselves: their slopes are
    held back a hundred times less, so that what is left without the others is a blend of them.
    late: the truths by which the penalty of slopes is chosen; in the end these are learnt, too.
    """
    mean, scale = _mean_and_scale(features)
    standardised = _standardise(features, mean, scale)
    ones = np.ones(len(features))
    with_ones = np.column_stack([standardised, ones])
    problem = _WeightedTruths(with_ones, truth, weight)
    # Of half the squared slopes, against the sum of log losses.
    of_slopes = np.ones(with_ones.shape[1])
    of_slopes[-1 - n_free :] = 0.01
    of_slopes[-1] = 0.0  # the intercept
    penalties = np.outer([30_000.0, 3000.0, 300.0, 30.0, 3.0], of_slopes)
    best = penalties[-1]
    if not late.all():
        best = _best_penalty(problem, penalties, late)
    slopes = problem.solve(best)
    slope = np.ascontiguousarray(slopes[:-1].T)
    return Logistic(mean, scale, slope, slopes[-1])


def _mean_and_scale(features: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return mean and deviation of what is known of each feature; infinity for constant ones."""
    known = ~np.isnan(features)
    n_known = np.maximum(known.sum(axis=0), 1)
    mean = np.nansum(features, axis=0) / n_known
    squares = np.nansum((features - mean) ** 2, axis=0)
    scale = np.sqrt(squares / n_known)
    rounding = 1e-9 * np.maximum(np.abs(mean), 1e-9)
    scale[scale <= rounding] = np.inf
    return mean, scale


class _WeightedTruths(NamedTuple):
    """Standardised features with a column of ones, what came, and its weight."""

    features: Float64Array
    truth: Float64Array
    weight: Float64Array

    def part(self, rows: BoolArray) -> _WeightedTruths:
        """Choose rows."""
        return _WeightedTruths(*[part[rows] for part in self])

    def loss(self, slopes: Float64Array) -> tuple[float, Float64Array]:
        """Return the sum of log losses and its gradient by slopes, (n_features, n_classes)."""
        logits = product(self.features, slopes)
        log_proba = log_softmax(logits, axis=-1)
        log_likelihood = (log_proba * self.truth).sum(axis=1)
        errors = np.exp(log_proba) - self.truth
        weighted = self.weight[:, None] * errors
        gradient = product(self.features.T, weighted)
        return -(self.weight @ log_likelihood), gradient

    def solve(
        self, penalty: Float64Array, start: Float64Array | None = None
    ) -> Float64Array:
        """Find the slopes of least loss and penalty, (n_features, n_classes)."""
        shape = self.features.shape[1], self.truth.shape[1]
        if start is None:
            start = np.zeros(shape)
        total = self.weight.sum()

        def objective(flat: Float64Array) -> tuple[float, Float64Array]:
            slopes = flat.reshape(shape)
            loss, gradient = self.loss(slopes)
            penalised = penalty[:, None] * slopes
            loss += 0.5 * (penalised * slopes).sum()
            gradient += penalised
            return loss / total, gradient.ravel() / total

        found = minimize(
            objective,
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 200, "ftol": 1e-8},
        )
        return found.x.reshape(shape)


def _best_penalty(
    problem: _WeightedTruths, penalties: Float64Array, late: BoolArray
) -> Float64Array:
    """Find the penalty under which early truths forecast late ones best."""
    early_problem = problem.part(~late)
    late_problem = problem.part(late)
    slopes = None
    losses = []
    # The strongest first: each solution is near the one before.
    for penalty in penalties:
        slopes = early_problem.solve(penalty, slopes)
        loss, _ = late_problem.loss(slopes)
        losses.append(loss)
    return penalties[np.argmin(losses)]


def _standardise(
    features: Float64Array, mean: Float64Array, scale: Float64Array
) -> Float64Array:
    """Standardise features; a NaN becomes the mean."""
    standardised = (features - mean) / scale
    return np.nan_to_num(standardised, copy=False)
