"""A multinomial logistic map of standardised features, whose penalty later truths choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

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
        logits = [(standardised * slope).sum(axis=1) for slope in self.slope]
        return np.exp(log_softmax(np.stack(logits, axis=1) + self.intercept))


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
    problem = _Problem(
        np.column_stack([standardised, np.ones(len(features))]), truth, weight
    )
    # Of half the squared slopes, against the sum of log losses.
    of_slopes = np.ones(problem.features.shape[1])
    of_slopes[-1 - n_free :] = 0.01
    of_slopes[-1] = 0.0  # the intercept
    penalties = [
        penalty * of_slopes for penalty in (30_000.0, 3000.0, 300.0, 30.0, 3.0)
    ]
    best = penalties[-1]
    if late.any() and not late.all():
        best = _best_penalty(problem, penalties, late)
    slopes = problem.solve(best)
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

    def part(self, rows: BoolArray) -> _Problem:
        """Choose rows."""
        return _Problem(self.features[rows], self.truth[rows], self.weight[rows])

    def loss(self, slopes: Float64Array) -> tuple[float, Float64Array]:
        """Return the sum of log losses and its gradient by slopes, (n_features, n_classes)."""
        logs = log_softmax(product(self.features, slopes))
        errors = np.exp(logs) - self.truth
        gradient = product(self.features.T, self.weight[:, None] * errors)
        return -float(self.weight @ (logs * self.truth).sum(axis=1)), gradient

    def solve(
        self, penalty: Float64Array, start: Float64Array | None = None
    ) -> Float64Array:
        """Find the slopes of least loss and penalty, (n_features, n_classes)."""
        shape = self.features.shape[1], self.truth.shape[1]
        start = np.zeros(shape) if start is None else start
        total = max(float(self.weight.sum()), 1e-300)

        def objective(flat: Float64Array) -> tuple[float, Float64Array]:
            slopes = flat.reshape(shape)
            loss, gradient = self.loss(slopes)
            penalised = penalty[:, None] * slopes
            loss += 0.5 * float((penalised * slopes).sum())
            return loss / total, (gradient + penalised).ravel() / total

        options = {"maxiter": 200, "ftol": 1e-8}
        found = minimize(
            objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
        )
        return np.reshape(found.x, shape)


def _best_penalty(
    problem: _Problem, penalties: list[Float64Array], late: BoolArray
) -> Float64Array:
    """Find the penalty under which early truths forecast late ones best."""
    early_problem, late_problem = problem.part(~late), problem.part(late)
    slopes, losses = None, []
    for (
        penalty
    ) in penalties:  # the strongest first: each solution is near the one before
        slopes = early_problem.solve(penalty, slopes)
        losses.append(late_problem.loss(slopes)[0])
    return penalties[int(np.argmin(losses))]


def log_softmax(logits: Float64Array) -> Float64Array:
    """Return logarithms of probabilities, along the last axis."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    total = np.exp(logits).sum(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(total))


def _standardise(
    features: Float64Array, mean: Float64Array, scale: Float64Array
) -> Float64Array:
    """Standardise features; a NaN becomes the mean."""
    return np.nan_to_num((features - mean) / scale, copy=False)
