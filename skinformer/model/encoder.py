"""Encoder: self-attention layers with distilling between them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

from torch import Tensor, nn

from skinformer.model.checkpointing import run_layer
from skinformer.model.distil import Distil
from skinformer.model.layer import Layer
from skinformer.model.norm import make_norm


class EncoderLayer(Layer):
    """Self-attention and feed-forward, each inside a residual.

    Parameters are those of `Layer`.

    ``h = x + Drop(Attn(Norm(x)))``, ``y = h + Drop(FFN(Norm(h)))`` (pre-norm). Costs those of
    `MultiHeadAttention` and `FeedForward`.

    **Shape**: input and output ``(batch, length, d_model)``.

    Note on the Informer (N), section 5.1; transformer blocks (B), section 1.1.
    >>> import torch
    >>> layer = EncoderLayer(
    ...     d_model=8, n_heads=2, d_ff=32, dropout=0.0, activation="gelu", norm="layer",
    ...     norm_first=True, attention="probsparse", factor=5, qk_norm=False,
    ...     output_gate=False, bias=True, seed=0,
    ... )
    >>> x = torch.randn(2, 96, 8)
    >>> layer(x, layer.draw_keys(x)).shape
    torch.Size([2, 96, 8])
    """

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Give the new states, (batch, length, d_model); ``keys`` are those of `draw_keys`."""
        x = self.attention_residual(x, partial(self.attention, keys=keys))
        transformed: Tensor = self.feed_forward_residual(x, self.feed_forward)
        return transformed


class Encoder(nn.Module):
    """Stack of encoder layers, distilling after each but the last, and a final norm.

    layers: the layers, at least one.
    d_model: width of the states.
    distil: whether the length is halved after every layer but the last.
    norm: norm of the output.
    gradient_checkpointing: whether the layers are run again in the backward pass, see `run_layer`.

    With distilling layer l sees ``⌈L/2^l⌉`` steps, so the whole costs less than two full
    layers.

    **Shape**: input ``(batch, length, d_model)``, output ``(batch, n_memory, d_model)``,
    n_memory = ``⌈length/2^(n_layers - 1)⌉`` with distilling, else the length.

    NOTE[DIFF]: N has no norm after the last layer; a pre-norm stack then ends in a sum of
    unnormalised branches. C's final norm is used.

    Note on the Informer (N), sections 5 and 7; training configuration (C), "Normalization".
    >>> import torch
    >>> layer = dict(
    ...     d_model=8, n_heads=2, d_ff=32, dropout=0.0, activation="gelu", norm="layer",
    ...     norm_first=True, attention="probsparse", factor=5, qk_norm=False,
    ...     output_gate=False, bias=True,
    ... )
    >>> layers = [EncoderLayer(seed=i, **layer) for i in range(2)]
    >>> stack = {"d_model": 8, "distil": True, "norm": "layer", "gradient_checkpointing": False}
    >>> Encoder(layers=layers, **stack)(torch.randn(2, 96, 8)).shape
    torch.Size([2, 48, 8])
    """

    def __init__(
        self,
        *,
        layers: Sequence[EncoderLayer],
        d_model: int,
        distil: bool,
        norm: str,
        gradient_checkpointing: bool,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        gaps = [Distil(d_model=d_model) if distil else nn.Identity() for _ in layers[1:]]
        self.gaps = nn.ModuleList([*gaps, nn.Identity()])
        self.norm = make_norm(norm, d_model=d_model)
        self.gradient_checkpointing = gradient_checkpointing

    def forward(self, x: Tensor) -> Tensor:
        """Encode an embedded window: (batch, n_memory, d_model), float32."""
        layers = cast("Iterable[EncoderLayer]", self.layers)
        for layer, gap in zip(layers, self.gaps, strict=True):
            # Keys are drawn here, once, so that a second run of the layer sees the same.
            keys = layer.draw_keys(x)
            x = gap(run_layer(layer, x, keys, recompute=self.gradient_checkpointing))
        normalised: Tensor = self.norm(x)
        return normalised
