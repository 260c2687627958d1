"""Weigh forecasters of classes by the log loss of their mixture, and find its temperature."""

import numpy as np
from scipy.special import log_softmax

from skinformer.selection import nearby_steps, shrinkage
from skinformer.timeline.arrays import Float64Array

#: Temperatures that compete, from 1/2 to 2, by their distance from 1.
TEMPERATURES = np.exp2(sorted(np.arange(20, -21, -1) / 20, key=abs))


def mixture_weights(
    likelihood: Float64Array,
    weight: Float64Array,
    n_truths: float,
    prior_weights: Float64Array,
) -> Float64Array:
    """Find convex weights of forecasters at each step ahead, (pred_len, n_forecasters).

    By expectation maximisation, which never raises the log loss.

    likelihood: probability of each of what came, (n_forecasters, n_windows, pred_len).
    weight: of each truth, (n_windows, pred_len); 0 where it is missing.
    n_truths: how many different truths there are: windows overlap.
    prior_weights: the weights without any truth, of sum 1; they count as two hundred truths.
    """
    n_rounds = 100
    n_prior = 200.0  # truths
    pred_len = likelihood.shape[2]
    nearby = nearby_steps(pred_len)
    weight_ahead = nearby @ weight.sum(axis=0)
    total = np.maximum(weight_ahead, 1e-12)
    evidence = shrinkage(n_truths, n_prior)
    share = np.tile(prior_weights, (pred_len, 1))
    for _ in range(n_rounds):
        # 1. Which forecaster each truth came from.
        responsibility = likelihood * share.T[:, None]
        responsibility /= responsibility.sum(axis=0)
        # 2. The share of truths of each forecaster, shrunk to the prior weights.
        counts = (responsibility * weight).sum(axis=1)
        found = nearby @ counts.T / total[:, None]
        share = prior_weights + evidence * (found - prior_weights)
        share /= share.sum(axis=1, keepdims=True)
    return share


def log_losses(
    logits: Float64Array, y: Float64Array, weight: Float64Array, groups: list[slice]
) -> Float64Array:
    """Compute the log loss of windows, (n,), summed over steps and targets.

    logits, y (1 for the class that came) and weight (0 where it is missing) are
    (n, pred_len, n_columns); ``groups`` are the classes of each target.
    """
    losses = np.zeros(len(logits))
    for group in groups:
        log_proba = log_softmax(logits[..., group], axis=-1)
        log_likelihood = (log_proba * y[..., group]).sum(axis=-1)
        weighted = weight[..., group.start] * log_likelihood
        losses -= weighted.sum(axis=1)
    return losses
