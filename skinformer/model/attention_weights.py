"""Attention written out: what share of each value every query takes."""

from typing import NamedTuple

import torch
from torch import Tensor


class AttentionWeights(NamedTuple):
    """Weights of the values of an attention kernel; its forward pass returns ``weights @ v``.

    weights: each query's shares of the values, (batch, n_heads, n_queries, n_keys), float32; sum 1.
    selected: queries that look at keys at all, (batch, n_heads, n_queries); others take the mean.
    visible: keys that each query may see, (n_queries, n_keys).
    """

    weights: Tensor
    selected: Tensor
    visible: Tensor


def unit_values(k: Tensor) -> Tensor:
    """Return values of which each has an axis of its own: what attends to them are its weights.

    >>> unit_values(torch.zeros(1, 1, 2, 4))[0, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n_keys = k.shape[-2]
    values = torch.eye(n_keys, device=k.device)
    return values.expand(*k.shape[:2], n_keys, n_keys)
