"""Outputs of a network: one value a step and target, or several along further axes."""

from torch import Tensor


def match_axes(values: Tensor, outputs: Tensor) -> Tensor:
    """Give values, (batch, length, n_targets), axes of length 1 for those that outputs have behind.

    >>> import torch
    >>> match_axes(torch.zeros(2, 24, 7), torch.zeros(2, 24, 7, 3)).shape
    torch.Size([2, 24, 7, 1])
    """
    return values[(..., *[None] * (outputs.ndim - values.ndim))]
