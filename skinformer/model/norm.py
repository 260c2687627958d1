"""Normalisation of hidden states, in float32 whatever the compute precision."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_EPS = 1e-5


class FloatLayerNorm(nn.LayerNorm):
    """Layer normalisation over the width, computed and returned in float32.

    For every norm of the model with ``norm="layer"``; not for normalising a window of data
    (see `WindowNorm`).

    d_model: width of the states.

    ``(x - mean) / √(var + 1e-5) · γ + β``, mean and variance over the last axis;
    O(length · d_model).

    **Shape**: input ``(..., d_model)`` of any floating type, output the same shape, float32.

    Ba et al. (2016), Layer Normalization.
    >>> FloatLayerNorm(d_model=8)(torch.randn(2, 5, 8, dtype=torch.bfloat16)).dtype
    torch.float32
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__(d_model, eps=_EPS)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each step of (..., d_model), in float32."""
        # CPU autocast would otherwise keep the statistics of a bf16 input in bf16.
        return super().forward(x.float())


class ZeroCentredRMSNorm(nn.Module):
    """Root-mean-square norm whose gain is stored as its distance from one.

    For every norm of the model with ``norm="zc_rms"``. "Zero-centred" is the parameter: the
    data keep their mean, and weight decay, if it were applied, would pull the gain to one.

    d_model: width of the states.

    `gamma`, (d_model,), is the gain minus one, 0 at the start.

    ``(1 + γ) ⊙ x / √(mean(x²) + 1e-5)``, the mean over the last axis; O(length · d_model).

    **Shape**: input ``(..., d_model)`` of any floating type, output the same shape, float32.

    Zhang and Sennrich (2019), Root Mean Square Layer Normalization.
    >>> ZeroCentredRMSNorm(d_model=2)(torch.tensor([3.0, 4.0])) * 12.5**0.5
    tensor([3.0000, 4.0000], grad_fn=<MulBackward0>)
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each step of (..., d_model), in float32."""
        return F.rms_norm(x.float(), self.gamma.shape, 1 + self.gamma, _EPS)


def make_norm(norm: str, *, d_model: int) -> nn.Module:
    """Build the norm that ``norm`` names: "layer" or "zc_rms"."""
    norms = {"layer": FloatLayerNorm, "zc_rms": ZeroCentredRMSNorm}
    return norms[norm](d_model=d_model)
