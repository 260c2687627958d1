"""A multinomial logistic map: each step solves the same ridge, so none can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.timeline.arrays import BoolArray, Float64Array

#: Weights of half the squared slopes, against the sum of log losses, that compete.
_PENALTIES = (30_000.0, 3000.0, 300.0, 30.0, 3.0)
#: Share of the penalty for slopes of what is a forecast by itself.
_FREEDOM = 0.01


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
        logits = [(standardised * slope).sum(axis=1) for slope in self.slope]
        return np.exp(log_softmax(np.stack(logits, axis=1) + self.intercept))


def fit_logistic(
    features: Float64Array, truth: Float64Array, weight: Float64Array, n_free: int, late: BoolArray
) -> Logistic:
    """Fit a multinomial logistic map; NaN counts as the mean.

    Böhning's bound: the Hessian is nowhere above ``(I - 11ᵀ/K)/2 ⊗ FᵀWF``, so each step is one and
    the same ridge of the errors left, momentum on top (Böhning 1992, Multinomial logistic
    regression algorithm, Annals of the Institute of Statistical Mathematics 44). Cost: one product
    of the features with themselves, two with K columns a step.

    truth: 1 in the column of its class, 0 elsewhere, (n, n_classes).
    n_free: how many of the features, the last ones, are forecasts by themselves: their slopes are
    held back a hundred times less, so that what is left without the others is a blend of them.
    late: the truths by which the penalty of slopes is chosen; in the end these are learnt, too.
    """
    mean, scale = _mean_and_scale(features)
    ones = np.ones((len(features), 1))
    standardised = np.hstack([_standardise(features, mean, scale), ones])
    problem = _Problem(standardised, truth, weight, n_free)
    penalty = _PENALTIES[-1]
    if late.any() and not late.all():
        penalty = _best_penalty(problem, late)
    slopes = problem.solve(penalty, problem.no_slopes())
    return Logistic(mean, scale, np.ascontiguousarray(slopes[:-1].T), slopes[-1])


def _mean_and_scale(features: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return mean and deviation of what is known of each feature; infinity for constant ones."""
    known = ~np.isnan(features)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, features, 0.0).sum(axis=0) / count
    residuals = np.where(known, features - mean, 0.0)
    scale = np.sqrt((residuals**2).sum(axis=0) / count)
    rounding = 1e-9 * np.maximum(np.abs(mean), 1e-9)
    scale[scale <= rounding] = np.inf
    return mean, scale


class _Problem(NamedTuple):
    """Standardised features with a column of ones, what came, and its weight."""

    features: Float64Array
    truth: Float64Array
    weight: Float64Array
    n_free: int

    def part(self, rows: BoolArray) -> _Problem:
        """Choose rows."""
        return _Problem(self.features[rows], self.truth[rows], self.weight[rows], self.n_free)

    def no_slopes(self) -> Float64Array:
        """Return slopes of zero, (n_features, n_classes)."""
        return np.zeros((self.features.shape[1], self.truth.shape[1]))

    def log_probabilities(self, slopes: Float64Array) -> Float64Array:
        """Forecast, (n, n_classes)."""
        return log_softmax(product(self.features, slopes))

    def loss(self, logs: Float64Array) -> float:
        """Sum the log losses of forecasts."""
        log_likelihood = (logs * self.truth).sum(axis=1)
        return -float(self.weight @ log_likelihood)

    def gradient(self, logs: Float64Array) -> Float64Array:
        """Differentiate the loss by slopes."""
        errors = np.exp(logs) - self.truth
        return product(self.features.T, self.weight[:, None] * errors)

    def inverse_bound(self, ridge: Float64Array) -> Float64Array:
        """Invert the bound of every class's block of the Hessian."""
        # Half of the products bounds it; penalties are added as they are.
        squares = product(self.features.T * self.weight, self.features)
        bound = 0.5 * squares + np.diag(ridge)
        return solution(bound, np.eye(len(ridge)))

    def ridge(self, penalty: float) -> Float64Array:
        """Return the penalty of each feature's slope, and of the intercept."""
        ridge = np.full(self.features.shape[1], penalty)
        ridge[-1 - self.n_free :] *= _FREEDOM
        ridge[-1] = 1e-6 * self.weight.sum()
        return ridge

    def solve(self, penalty: float, slopes: Float64Array) -> Float64Array:
        """Find the slopes of one penalty, from those of another on.

        By Nesterov's accelerated steps (Beck and Teboulle 2009, A fast iterative
        shrinkage-thresholding algorithm, SIAM Journal on Imaging Sciences 2), begun anew where the
        loss rises.
        """
        n_steps = 200
        tolerance = 1e-6 * self.weight.sum()  # change of the loss by which a step counts
        ridge = self.ridge(penalty)
        inverse_bound = self.inverse_bound(ridge)
        penalties = ridge[:, None]
        ahead = slopes
        momentum = 1.0
        last_loss = np.inf
        for _ in range(n_steps):
            logs = self.log_probabilities(ahead)
            loss = self.loss(logs) + 0.5 * float((penalties * ahead**2).sum())
            if loss > last_loss:  # momentum went too far: start again from where it was lower
                ahead = slopes
                momentum = 1.0
                last_loss = np.inf
                continue
            if last_loss - loss < tolerance:
                break
            last_loss = loss
            gradient = self.gradient(logs) + penalties * ahead
            new = ahead - inverse_bound @ gradient
            new_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / new_momentum * (new - slopes)
            slopes = new
            momentum = new_momentum
        return slopes


def _best_penalty(problem: _Problem, late: BoolArray) -> float:
    """Find the penalty under which early truths forecast late ones best."""
    early_problem = problem.part(~late)
    late_problem = problem.part(late)
    slopes = problem.no_slopes()
    losses = []
    for penalty in _PENALTIES:  # the strongest first: each solution is near the one before
        slopes = early_problem.solve(penalty, slopes)
        losses.append(late_problem.loss(late_problem.log_probabilities(slopes)))
    return _PENALTIES[int(np.argmin(losses))]


def log_softmax(logits: Float64Array) -> Float64Array:
    """Return logarithms of probabilities, along the last axis."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    total = np.exp(logits).sum(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(total))


def _standardise(features: Float64Array, mean: Float64Array, scale: Float64Array) -> Float64Array:
    """Standardise features; a NaN becomes the mean."""
    return np.nan_to_num((features - mean) / scale, copy=False)
