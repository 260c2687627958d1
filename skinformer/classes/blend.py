"""Weigh forecasters of classes by the log loss of their mixture, and find its temperature."""

import numpy as np

from skinformer.selection import nearby_steps, shrinkage
from skinformer.timeline.arrays import Float64Array

#: What is believed before counts as so many truths.
_PRIOR = 200.0
_ROUNDS = 100
#: Temperatures that compete, from none on.
TEMPERATURES = np.exp(
    np.log(2) * np.array([0, *(s * k / 20 for k in range(1, 21) for s in (1, -1))])
)


def mixture_weights(
    likelihood: Float64Array, weight: Float64Array, n_truths: float, believed: Float64Array
) -> Float64Array:
    """Find convex weights of forecasters at each step ahead, (pred_len, n_forecasters).

    By expectation maximisation, which never raises the log loss.

    likelihood: probability of each of what came, (n_forecasters, n_windows, pred_len).
    weight: of each truth, (n_windows, pred_len); 0 where it is missing.
    n_truths: how many different truths there are: windows overlap.
    believed: the weights without any truth, of sum 1; they count as two hundred truths.
    """
    pred_len = likelihood.shape[2]
    nearby = nearby_steps(pred_len)
    total = np.maximum(nearby @ weight.sum(axis=0), 1e-12)[:, None]
    share = np.tile(believed, (pred_len, 1))
    for _ in range(_ROUNDS):
        each = likelihood * share.T[:, None]
        each /= each.sum(axis=0)
        proved = nearby @ (each * weight).sum(axis=1).T / total
        share = believed + shrinkage(n_truths, _PRIOR) * (proved - believed)
        share /= share.sum(axis=1, keepdims=True)
    return share


def temperature_losses(
    logits: Float64Array, truth: Float64Array, weight: Float64Array, groups: list[slice]
) -> Float64Array:
    """Return the log loss of windows with logits divided by each of `TEMPERATURES`.

    (n, n_temperatures); logits, truth (1 for the class that came) and weight (0 where it is
    missing) are (n, pred_len, n_columns); ``groups`` are the classes of each target.
    """
    losses = np.zeros((len(logits), len(TEMPERATURES)))
    for group in groups:
        own = logits[..., group] - (logits * truth)[..., group].sum(axis=-1, keepdims=True)
        for i, temperature in enumerate(TEMPERATURES):
            loss = np.log(np.exp(np.minimum(own / temperature, 500)).sum(axis=-1))
            losses[:, i] += (weight[..., group.start] * loss).sum(axis=1)
    return losses
