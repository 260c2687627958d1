"""Neighbouring steps merged into one token, and tokens taken apart again."""

import torch
from torch import Tensor
from torch.nn import functional as F


def n_patches(length: int, patch_len: int) -> int:
    """Count the patches that cover some steps."""
    return -(-length // patch_len)


def merge_steps(x: Tensor, patch_len: int, *, pad_front: bool) -> Tensor:
    """Put the values of neighbouring steps side by side, step by step within each token.

    (batch, length, n_inputs) to (batch, ⌈length / patch_len⌉, patch_len · n_inputs). A remainder is
    filled up with zeros at the front (a past, which ends at the origin) or at the end (a future).
    Attention over tokens costs less by the square of ``patch_len``, and a token holds a shape
    instead of a number (Nie et al. 2023, A Time Series is Worth 64 Words: Long-term Forecasting
    with Transformers, ICLR, section 3.1; there each column by itself).
    >>> merge_steps(torch.arange(1.0, 6.0)[None, :, None], 2, pad_front=True)[0].tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    if patch_len == 1:
        return x
    n_missing = -x.shape[1] % patch_len
    padding = (n_missing, 0) if pad_front else (0, n_missing)
    x = F.pad(x, (0, 0, *padding))
    # shape[0], not len, and no -1: an exported network takes any batch, and none of 0 steps fails.
    n_tokens = x.shape[1] // patch_len
    return x.reshape(x.shape[0], n_tokens, patch_len * x.shape[2])


def split_steps(x: Tensor, patch_len: int, *, length: int) -> Tensor:
    """Undo `merge_steps` for a future: the first ``length`` steps, (batch, length, n_outputs)."""
    n_steps = x.shape[1] * patch_len
    n_outputs = x.shape[2] // patch_len
    steps = x.reshape(x.shape[0], n_steps, n_outputs)
    return steps[:, :length]


def starts(x: Tensor | None, patch_len: int, *, pad_front: bool) -> Tensor | None:
    """Take what belongs to each patch's first real step: its calendar, its time.

    >>> starts(torch.arange(5)[None], 2, pad_front=True).tolist()
    [[0, 1, 3]]
    """
    if x is None or patch_len == 1:
        return x
    ends = patch_ends(x.shape[1], patch_len, pad_front=pad_front, device=x.device)
    return x[:, ends[:, 0]]


def patch_ends(
    length: int, patch_len: int, *, pad_front: bool, device: torch.device | None = None
) -> Tensor:
    """Return the first and last real step of each patch, (⌈length / patch_len⌉, 2), int64.

    >>> patch_ends(5, 2, pad_front=True).tolist()
    [[0, 0], [1, 2], [3, 4]]
    """
    first = torch.arange(n_patches(length, patch_len), device=device) * patch_len
    if pad_front:
        n_missing = -length % patch_len
        first = first - n_missing
    last = first + patch_len - 1
    ends = torch.stack([first, last], dim=1)
    return ends.clamp(0, length - 1)
