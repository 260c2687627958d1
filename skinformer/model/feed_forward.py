"""Position-wise feed-forward sublayers."""

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from skinformer.model.projection import HiddenLinear, ResidualOutput, fused_linear


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between, the same at every step.

    For ``activation="gelu"`` and ``"relu"``; see `SwiGLU` for the gated form.

    d_model, d_ff: width of the states, and inner width.
    activation: non-linearity.
    bias: whether the two maps have a bias.

    ``act(x W_1 + b_1) W_2 + b_2``; O(length · d_model · d_ff).

    **Shape**: input and output ``(batch, length, d_model)``.

    Vaswani et al. (2017); Hendrycks and Gimpel (2016), Gaussian Error Linear Units.
    >>> import torch
    >>> layer = FeedForward(d_model=8, d_ff=32, activation="gelu", bias=True)
    >>> layer(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, *, d_model: int, d_ff: int, activation: str, bias: bool) -> None:
        super().__init__()
        self.inner = HiddenLinear(d_model, d_ff, bias=bias)
        self.outer = ResidualOutput(d_ff, d_model, bias=bias)
        self.activation: Any = {"gelu": F.gelu, "relu": F.relu}[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Transform each step of (batch, length, d_model)."""
        return self.outer(self.activation(self.inner(x)))


class SwiGLU(nn.Module):
    """Gated feed-forward: one linear map, gated by the SiLU of another, mapped back.

    For ``activation="swiglu"``. At equal ``d_ff`` it has as many weights as `FeedForward`,
    because its three matrices are two thirds as wide.

    d_model: width of the states.
    d_ff: inner width of the ungated form; the one used here is ``max(1, ⌊2·d_ff/3⌋)``.
    bias: whether the three maps have a bias.

    ``(SiLU(x W_gate) ⊙ x W_up) W_2``; O(length · d_model · d_ff).

    **Shape**: input and output ``(batch, length, d_model)``.

    Shazeer (2020), GLU Variants Improve Transformer.
    >>> import torch
    >>> SwiGLU(d_model=8, d_ff=32, bias=False)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, *, d_model: int, d_ff: int, bias: bool) -> None:
        super().__init__()
        width = max(1, 2 * d_ff // 3)
        self.gate = HiddenLinear(d_model, width, bias=bias)
        self.up = HiddenLinear(d_model, width, bias=bias)
        self.outer = ResidualOutput(width, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each step of (batch, length, d_model)."""
        gate, up = fused_linear(x, [self.gate, self.up])
        return self.outer(F.silu(gate) * up)


def make_feed_forward(activation: str, **sizes: Any) -> FeedForward | SwiGLU:
    """Build the feed-forward sublayer that ``activation`` names; "swiglu" is two thirds as wide."""
    if activation == "swiglu":
        return SwiGLU(**sizes)
    return FeedForward(activation=activation, **sizes)
