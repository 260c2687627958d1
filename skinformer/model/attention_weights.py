"""Attention written out: what share of each value every query takes."""

import math
from typing import NamedTuple

from torch import Tensor

__all__ = ["AttentionWeights", "softmax_weights"]


class AttentionWeights(NamedTuple):
    """
    What an attention kernel gives to its values.

    The forward pass never holds this; ``weights @ v`` is what it returns.

    Parameters
    ----------
    weights : Tensor of shape (batch, n_heads, n_queries, n_keys), float32
        Each query's share of each value; they sum to 1.
    selected : Tensor of bool, shape (batch, n_heads, n_queries)
        Which queries look at keys at all; the others take the mean of the values.
    visible : Tensor of bool, shape (n_queries, n_keys)
        Which keys each query may see.
    """

    weights: Tensor
    selected: Tensor
    visible: Tensor


def softmax_weights(q: Tensor, k: Tensor, visible: Tensor) -> Tensor:
    """Give the softmax of scaled products.

    Parameters
    ----------
    q : Tensor of shape (batch, n_heads, n_queries, d_head)
        Queries.
    k : Tensor of shape (batch, n_heads, n_keys, d_head)
        Keys.
    visible : Tensor of bool, broadcast to (batch, n_heads, n_queries, n_keys)
        Which keys each query sees, at least one.

    Returns
    -------
    Tensor of shape (batch, n_heads, n_queries, n_keys), float32
        Each query's weights.

    Examples
    --------
    >>> import torch
    >>> q = k = torch.zeros(1, 1, 2, 4)
    >>> softmax_weights(q, k, torch.ones(2, 2, dtype=torch.bool).tril())[0, 0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    scores = q.float() @ k.float().mT / math.sqrt(q.shape[-1])
    weights: Tensor = scores.masked_fill_(~visible, -math.inf).softmax(dim=-1)
    return weights
