"""Outputs of a network: of each step and target one value, or several along axes of their own."""

from torch import Tensor

__all__ = ["match_axes"]


def match_axes(values: Tensor, outputs: Tensor) -> Tensor:
    """Give values of steps and targets the axes that outputs have behind these.

    Parameters
    ----------
    values : Tensor of shape (batch, length, n_targets)
        One value of each step and target.
    outputs : Tensor of shape (batch, length, n_targets, …)
        What they are to be added to, or multiplied by.

    Returns
    -------
    Tensor of shape (batch, length, n_targets, 1, …)
        The same values.

    Examples
    --------
    >>> import torch
    >>> match_axes(torch.zeros(2, 24, 7), torch.zeros(2, 24, 7, 3)).shape
    torch.Size([2, 24, 7, 1])
    """
    return values[(..., *[None] * (outputs.ndim - values.ndim))]
