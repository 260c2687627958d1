"""A multinomial logistic map: each step solves the same ridge, so none can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.timeline.arrays import BoolArray, Float64Array

_MOST_STEPS = 200
#: Weights of half the squared slopes, against the sum of log losses, that compete.
_PENALTIES = (30_000.0, 3000.0, 300.0, 30.0, 3.0)
#: Share of the penalty for slopes of what is a forecast by itself.
_FREEDOM = 0.01
#: Change of the mean log loss by which a step counts.
_TOLERANCE = 1e-6


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
        ready = _standard(features, self.mean, self.scale)
        # Not by a matrix product, which rounds by its shape.
        logits = np.stack([(ready * slope).sum(axis=1) for slope in self.slope], axis=1)
        return np.exp(log_softmax(logits + self.intercept))


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
    known = ~np.isnan(features)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, features, 0.0).sum(axis=0) / count
    scale = np.sqrt((np.where(known, features - mean, 0.0) ** 2).sum(axis=0) / count)
    scale[scale <= 1e-9 * np.maximum(np.abs(mean), 1e-9)] = np.inf
    ready = np.hstack([_standard(features, mean, scale), np.ones((len(features), 1))])
    problem = _Problem(ready, truth, weight, n_free)
    parted = late.any() and not late.all()
    penalty = _best_penalty(problem, late) if parted else _PENALTIES[-1]
    slopes = problem.solve(penalty, np.zeros((ready.shape[1], truth.shape[1])))
    return Logistic(mean, scale, np.ascontiguousarray(slopes[:-1].T), slopes[-1])


class _Problem(NamedTuple):
    """Standardised features with a column of ones, what came, and its weight."""

    features: Float64Array
    truth: Float64Array
    weight: Float64Array
    n_free: int

    def part(self, rows: BoolArray) -> _Problem:
        return _Problem(self.features[rows], self.truth[rows], self.weight[rows], self.n_free)

    def loss(self, slopes: Float64Array) -> float:
        logs = log_softmax(product(self.features, slopes))
        return -float(self.weight @ (logs * self.truth).sum(axis=1))

    def solve(self, penalty: float, slopes: Float64Array) -> Float64Array:
        """Find the slopes of one penalty, from those of another on."""
        ridge = np.full(self.features.shape[1], penalty)
        ridge[-1 - self.n_free :] *= _FREEDOM
        ridge[-1] = 1e-6 * self.weight.sum()
        # Half of the products bounds every class's block; penalties are added as they are.
        squares = product(self.features.T * self.weight, self.features)
        bound = solution(0.5 * squares + np.diag(ridge), np.eye(len(ridge)))
        ahead, momentum, before = slopes, 1.0, np.inf
        for _ in range(_MOST_STEPS):
            logs = log_softmax(product(self.features, ahead))
            loss = -float(self.weight @ (logs * self.truth).sum(axis=1))
            loss += 0.5 * float((ridge[:, None] * ahead**2).sum())
            if loss > before:  # momentum went too far: start again from where it was lower
                ahead, momentum, before = slopes, 1.0, np.inf
                continue
            if before - loss < _TOLERANCE * self.weight.sum():
                break
            before = loss
            gradient = product(self.features.T, self.weight[:, None] * (np.exp(logs) - self.truth))
            new = ahead - bound @ (gradient + ridge[:, None] * ahead)
            grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / grown * (new - slopes)
            slopes, momentum = new, grown
        return slopes


def _best_penalty(problem: _Problem, late: BoolArray) -> float:
    """Find the penalty under which early truths forecast late ones best."""
    early, judge = problem.part(~late), problem.part(late)
    slopes = np.zeros((problem.features.shape[1], problem.truth.shape[1]))
    losses = []
    for penalty in _PENALTIES:  # the strongest first: each solution is near the one before
        slopes = early.solve(penalty, slopes)
        losses.append(judge.loss(slopes))
    return _PENALTIES[int(np.argmin(losses))]


def log_softmax(logits: Float64Array) -> Float64Array:
    """Return logarithms of probabilities, along the last axis."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))


def _standard(features: Float64Array, mean: Float64Array, scale: Float64Array) -> Float64Array:
    return np.nan_to_num((features - mean) / scale, copy=False)
