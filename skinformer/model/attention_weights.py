"""Attention written out: what share of each value every query takes."""

from typing import Any, NamedTuple

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


def attention_weights(
    kernel: Any, q: Tensor, k: Tensor, *, keys: Tensor | None, n_last: int
) -> AttentionWeights:
    """Write out the weights that a kernel gives in its forward pass, in memory of length².

    They are what it returns for values of which each has an axis of its own.
    >>> from skinformer.model.dense import DenseAttention
    >>> q = torch.zeros(1, 1, 2, 4)
    >>> attention_weights(DenseAttention(causal=True), q, q, keys=None, n_last=2).weights[0, 0]
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    n_keys = k.shape[-2]
    n_skipped = q.shape[-2] - n_last
    values = torch.eye(n_keys, device=k.device)
    values = values.expand(*k.shape[:2], n_keys, n_keys)
    # Not the kernel itself, whose hooks an `AttentionRecorder` has.
    weights = kernel.forward(q.float(), k.float(), values, keys=keys, n_last=n_last)
    selected = kernel.selected(q, k, keys)[:, :, n_skipped:]
    visible = torch.ones(n_last, n_keys, dtype=torch.bool, device=k.device)
    if kernel.causal:
        visible = visible.tril(diagonal=n_skipped)
    return AttentionWeights(weights, selected, visible)
