"""Encoder and decoder: layers one after the other, with distilling between them, and a norm."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from skinformer.model.checkpointing import run_layer
from skinformer.model.distil import Distil
from skinformer.model.layer import Layer
from skinformer.model.norm import make_norm
from skinformer.model.settings import NetworkSettings


class Stack(nn.Module):
    """Stack of layers, distilling after each but the last, and a final norm.

    For the encoder, and without distilling for the decoder: all steps of the horizon come out of
    one pass.

    layers: the layers, at least one.
    settings: of the network; ``d_model``, ``norm`` and ``gradient_checkpointing`` are read.
    distil: whether the length is halved after every layer but the last.

    With distilling layer l sees ``⌈L/2^l⌉`` steps, so the whole costs less than two full
    layers.

    **Shape**: input ``(batch, length, d_model)``, memory ``(batch, n_memory, d_model)``, output
    ``(batch, n_last, d_model)``, n_last by default all steps, ``⌈length/2^(n_layers - 1)⌉`` with
    distilling.

    NOTE[DIFF]: the specification has no norm after the last layer; a pre-norm stack then ends in a
    sum of unnormalised branches. A final norm is used.

    NOTE[DIFF]: the specification gives the mask an autoregressive meaning; the decoder never sees a
    future target, so the steps are forecast together and the product there does not describe
    it.

    Zhou et al. (2021), Informer.
    >>> import torch
    >>> from skinformer.model.settings import NetworkSettings
    >>> settings = NetworkSettings(
    ...     d_model=8, n_heads=2, n_encoder_layers=2, n_decoder_layers=1, d_ff=32, dropout=0.0,
    ...     activation="gelu", norm="layer", norm_first=True, attention="probsparse",
    ...     decoder_attention="dense", factor=5, qk_norm=False, output_gate=False, distil=True,
    ...     bias=True, position="sinusoidal", mask_embedding=False, window_norm=True,
    ...     init="xavier", gradient_checkpointing=False,
    ... )
    >>> layers = [Layer(settings, in_decoder=False, seed=i) for i in range(2)]
    >>> Stack(layers, settings, distil=True)(torch.randn(2, 96, 8)).shape
    torch.Size([2, 48, 8])
    """

    def __init__(
        self, layers: Sequence[Layer], settings: NetworkSettings, *, distil: bool
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.gaps = nn.ModuleList(nn.Identity() for _ in layers)
        if distil:
            for i in range(len(layers) - 1):
                self.gaps[i] = Distil(d_model=settings.d_model)
        self.norm = make_norm(settings.norm, d_model=settings.d_model)
        self.recompute = settings.gradient_checkpointing

    def forward(
        self, x: Tensor, memory: Tensor | None = None, n_last: int | None = None
    ) -> Tensor:
        """Return the states of the last ``n_last`` steps: (batch, n_last, d_model), float32."""
        layers = cast("Sequence[Layer]", self.layers)
        for layer, gap in zip(layers, self.gaps, strict=True):
            # Keys are drawn here, once, so that a second run of the layer sees the same.
            keys = layer.draw_keys(x)
            n_wanted = n_last if layer is layers[-1] else None
            x = run_layer(layer, x, keys, memory, n_wanted, recompute=self.recompute)
            x = gap(x)
        return self.norm(x)
