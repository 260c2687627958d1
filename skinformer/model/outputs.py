"""Outputs of a network: one value a step and target, or several along further axes."""

from torch import Tensor


def match_axes(values: Tensor, outputs: Tensor) -> Tensor:
    """Return values, (batch, length, n_targets), with axes of length 1 behind, as outputs have.

    >>> import torch
    >>> match_axes(torch.zeros(2, 24, 7), torch.zeros(2, 24, 7, 3)).shape
    torch.Size([2, 24, 7, 1])
    """
    for _ in range(outputs.ndim - values.ndim):
        values = values.unsqueeze(-1)
    return values
