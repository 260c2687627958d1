"""Weigh forecasters of classes by the log loss of their mixture, and find how sure it may be."""

from __future__ import annotations

import numpy as np

from skinformer.timeline.arrays import Float64Array

__all__ = ["TEMPERATURES", "mixture_weights", "temperature_losses"]

#: What is believed before counts as so many truths.
_PRIOR = 200.0
_ROUNDS = 100
#: Steps ahead share what they prove: so far apart, in doublings, that it counts for e^-½.
_WIDTH = 0.5
#: Temperatures that compete, from none on.
TEMPERATURES = np.exp(
    np.log(2) * np.array([0, *(s * k / 20 for k in range(1, 21) for s in (1, -1))])
)


def mixture_weights(
    likelihood: Float64Array, weight: Float64Array, n_truths: float, believed: Float64Array
) -> Float64Array:
    """
    Find the convex weights of forecasters at each step ahead.

    Parameters
    ----------
    likelihood : ndarray of shape (n_forecasters, n_windows, pred_len)
        Probability of each of what came.
    weight : ndarray of shape (n_windows, pred_len)
        Of each truth; 0 where it is missing.
    n_truths : float
        How many different truths there are: windows overlap.
    believed : ndarray of shape (n_forecasters,)
        The weights without any truth, of sum 1; they count as two hundred.

    Returns
    -------
    ndarray of shape (pred_len, n_forecasters)
        Of sum 1: by expectation maximisation, which never raises the log loss.

    Examples
    --------
    >>> one, other = np.full((50, 1), 0.9), np.full((50, 1), 0.3)
    >>> mixture_weights(np.stack([one, other]), np.ones((50, 1)), 5000.0, np.full(2, 0.5)).round(1)
    array([[1., 0.]])
    """
    pred_len = likelihood.shape[2]
    nearby = _nearby(pred_len)
    total = np.maximum(nearby @ weight.sum(axis=0), 1e-12)[:, None]
    share = np.tile(believed, (pred_len, 1))
    for _ in range(_ROUNDS):
        each = likelihood * share.T[:, None]
        each /= each.sum(axis=0)
        proved = nearby @ (each * weight).sum(axis=1).T / total
        share = (n_truths * proved + _PRIOR * believed) / (n_truths + _PRIOR)
        share /= share.sum(axis=1, keepdims=True)
    return share


def temperature_losses(
    logits: Float64Array, truth: Float64Array, weight: Float64Array, groups: list[slice]
) -> Float64Array:
    """
    Give the log loss of each window with logits divided by each temperature.

    Parameters
    ----------
    logits : ndarray of shape (n, pred_len, n_columns)
        Forecasts.
    truth : ndarray of shape (n, pred_len, n_columns)
        1 for the class that came.
    weight : ndarray of shape (n, pred_len, n_columns)
        Of each truth; 0 where it is missing.
    groups : list of slice
        The classes of each target.

    Returns
    -------
    ndarray of shape (n, n_temperatures)
        In the order of `TEMPERATURES`, the first of which is 1.

    Examples
    --------
    >>> truth = np.eye(2)[np.arange(100) % 10 // 9][:, None]  # nine of ten
    >>> logits = np.tile(np.log([0.99, 0.01]), (100, 1, 1))
    >>> losses = temperature_losses(logits, truth, np.ones((100, 1, 2)), [slice(0, 2)])
    >>> round(float(TEMPERATURES[losses.sum(axis=0).argmin()]), 1)
    2.0
    """
    losses = np.zeros((len(logits), len(TEMPERATURES)))
    for group in groups:
        own = logits[..., group] - (logits * truth)[..., group].sum(axis=-1, keepdims=True)
        for i, temperature in enumerate(TEMPERATURES):
            loss = np.log(np.exp(np.minimum(own / temperature, 500)).sum(axis=-1))
            losses[:, i] += (weight[..., group.start] * loss).sum(axis=1)
    return losses


def _nearby(pred_len: int) -> Float64Array:
    """Weigh steps by how near they are: neighbours far ahead are alike, the first few are not."""
    place = np.log2(np.arange(pred_len) + 1.0)
    weights: Float64Array = np.exp(-0.5 * ((place[:, None] - place) / _WIDTH) ** 2)
    return weights
