"""Position codes: fixed sines and cosines, or learnt."""

import torch
from torch import Tensor, nn

__all__ = ["LearnedPosition", "SinusoidalPosition", "sinusoid"]


def sinusoid(length: int, d_model: int) -> Tensor:
    """Return the sinusoidal position code.

    Parameters
    ----------
    length : int
        Number of positions.
    d_model : int
        Width; if odd, there is one sine more than cosines.

    Returns
    -------
    Tensor of shape (length, d_model), float32
        ``sin(p / 10000^(2i/d))`` in column 2i and ``cos`` of the same in column 2i + 1.

    Examples
    --------
    >>> from skinformer.model.position import sinusoid
    >>> sinusoid(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64).unsqueeze(-1)
    angle = position * 10000.0 ** (-even / d_model)  # (length, ⌈d_model/2⌉)
    pair = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (length, ⌈d_model/2⌉, 2)
    return pair.flatten(1)[:, :d_model].float()


class SinusoidalPosition(nn.Module):
    """Fixed position code of sines and cosines, one row per position.

    For ``position="sinusoidal"``. It has no parameters and is not part of the state dict.

    Parameters
    ----------
    length : int
        Number of positions.
    d_model : int
        Width.

    Attributes
    ----------
    weight : Tensor of shape (length, d_model), float32
        The code.

    See Also
    --------
    LearnedPosition : A code that is trained.

    Notes
    -----
    ``PE(p, 2i) = sin(p/10000^(2i/d))``, ``PE(p, 2i+1) = cos(p/10000^(2i/d))``.

    **Shape**: ``weight`` is ``(length, d_model)``.

    NOTE[DIFF]: N slices ``PE[:, :, L, :]``, one position instead of the first L; the code here
    has exactly the rows that are needed.

    References
    ----------
    Note on the Informer (N), section 2.2.

    Examples
    --------
    >>> from skinformer.model.position import SinusoidalPosition
    >>> SinusoidalPosition(length=96, d_model=64).weight.shape
    torch.Size([96, 64])
    """

    weight: Tensor

    def __init__(self, *, length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("weight", sinusoid(length, d_model), persistent=False)


class LearnedPosition(nn.Embedding):
    """Learnt position code, one row per position.

    For ``position="learned"``. Rows mean nothing beyond the length they were trained for.

    Parameters
    ----------
    length : int
        Number of positions.
    d_model : int
        Width.

    Attributes
    ----------
    weight : nn.Parameter of shape (length, d_model)
        The code.

    See Also
    --------
    SinusoidalPosition : A fixed code.

    Notes
    -----
    **Shape**: ``weight`` is ``(length, d_model)``.

    References
    ----------
    Note on the Informer (N), section 2.2, "Comparison with learned positional embeddings".

    Examples
    --------
    >>> from skinformer.model.position import LearnedPosition
    >>> LearnedPosition(length=96, d_model=64).weight.shape
    torch.Size([96, 64])
    """

    def __init__(self, *, length: int, d_model: int) -> None:
        super().__init__(length, d_model)
