"""Attention written out: what share of each value every query takes."""

import math
from typing import NamedTuple

from torch import Tensor


class AttentionWeights(NamedTuple):
    """What an attention kernel gives to its values; its forward pass returns ``weights @ v``.

    weights: each query's shares of the values, (batch, n_heads, n_queries, n_keys), float32; sum 1.
    selected: queries that look at keys at all, (batch, n_heads, n_queries); others take the mean.
    visible: keys that each query may see, (n_queries, n_keys).
    """

    weights: Tensor
    selected: Tensor
    visible: Tensor


def softmax_weights(q: Tensor, k: Tensor, visible: Tensor) -> Tensor:
    """Return the softmax of q·k/√d over visible keys, float32; each query must see one at least.

    >>> import torch
    >>> q = k = torch.zeros(1, 1, 2, 4)
    >>> softmax_weights(q, k, torch.ones(2, 2, dtype=torch.bool).tril())[0, 0].tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    scores = q.float() @ k.float().mT / math.sqrt(q.shape[-1])
    return scores.masked_fill_(~visible, -math.inf).softmax(dim=-1)
