"""A network that is watched: the attention of each layer, and the steps that its tokens hold."""

import copy
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import torch
from torch import Tensor

from skinformer.model.attention import MultiHeadAttention
from skinformer.model.attention_weights import AttentionWeights, attention_weights
from skinformer.model.distil import Distil, halved_ends
from skinformer.model.informer import Informer
from skinformer.model.layer import Layer
from skinformer.model.patches import patch_ends
from skinformer.model.stack import Stack

#: "encoder", "decoder" or "cross", and the number of the layer there.
_Place: TypeAlias = tuple[str, int]


class LayerAttention(NamedTuple):
    """What one attention of a network did for some windows.

    where: "encoder", "decoder" (self-attention), or "cross" (the decoder's to the encoder).
    layer: of the encoder or decoder, from 0.
    weights, selected, visible: as of `AttentionWeights`, (n, n_heads, n_queries, n_keys), …
    queries, keys: first and last step of each token, from the origin, (n_queries, 2), (n_keys, 2).
    """

    where: str
    layer: int
    weights: Tensor
    selected: Tensor
    visible: Tensor
    queries: Tensor
    keys: Tensor

    def of_window(self, i: int) -> "LayerAttention":
        """Return the same of one window, without the axis of windows."""
        return self._replace(weights=self.weights[i], selected=self.selected[i])


class AttentionRecorder:
    """Forecast as a network does, and keep its attention for the first ``n_kept`` windows.

    Of a network that forecasts each target by itself it is the mean over the targets.

    The network, in evaluation mode, is copied, but for its weights. Each kernel writes out its
    weights from the queries and keys of its forward pass: n_heads · n_queries · n_keys numbers of
    each layer for each window kept.

    >>> from skinformer import InformerRegressor, Network, Training
    >>> sizes = {"seq_len": 16, "pred_len": 4, "training": Training(max_iter=1)}
    >>> sizes["network"] = Network(d_model=8, n_heads=2, patch_len=4)
    >>> model = InformerRegressor(members=["network"], **sizes)
    >>> model = model.fit(torch.rand(90, 1).numpy())
    >>> recorder = AttentionRecorder(model.module_, n_kept=1)
    >>> _ = recorder(torch.zeros(3, 16, 1), torch.zeros(3, 4, 1))
    >>> [(each.where, *each.weights.shape[1:]) for each in recorder.kept()]
    [('encoder', 2, 4, 4), ('encoder', 2, 2, 2), ('decoder', 2, 1, 3), ('cross', 2, 1, 2)]
    """

    def __init__(self, network: Informer, *, n_kept: int) -> None:
        shared: dict[int, Any] = {id(weight): weight for weight in network.parameters()}
        self.network = copy.deepcopy(network, shared)
        self.largest_product = network.largest_product
        self.layout = network.layout
        self._n_lacking = n_kept
        self._seq_len = 0
        self._found: dict[_Place, list[AttentionWeights]] = {}
        self._watch("encoder", self.network.encoder)
        self._watch("decoder", self.network.decoder)

    def __call__(self, past: Tensor, *inputs: Tensor | None) -> Tensor:
        """Forecast windows as `Informer` does."""
        output = self.network(past, *inputs)
        self._n_lacking -= min(self._n_lacking, len(past))
        self._seq_len = past.shape[1]
        return output

    def kept(self) -> list[LayerAttention]:
        """Return the attention of the windows so far, in the order of the forward pass."""
        spans = self._spans()
        kept = []
        for place, found in self._found.items():
            weights = torch.cat([part.weights for part in found])
            selected = torch.cat([part.selected for part in found])
            visible = found[0].visible
            queries, keys = spans[place]
            n_queries = weights.shape[2]
            kept.append(
                LayerAttention(
                    *place,
                    weights,
                    selected,
                    visible,
                    queries=queries[-n_queries:],
                    keys=keys,
                )
            )
        return kept

    def _watch(self, where: str, stack: Stack) -> None:
        """Keep what each attention of a stack does from now on."""
        for i, layer in enumerate(cast("Iterable[Layer]", stack.layers)):
            self._watch_kernel((where, i), layer.attention)
            if layer.cross_attention is not None:
                self._watch_kernel(("cross", i), layer.cross_attention)

    def _watch_kernel(self, place: _Place, attention: MultiHeadAttention) -> None:
        hook = partial(self._keep, place)
        attention.kernel.register_forward_pre_hook(hook, with_kwargs=True)

    def _keep(
        self,
        place: _Place,
        kernel: Any,
        args: tuple[Tensor, ...],
        options: dict[str, Any],
    ) -> None:
        """Write out the weights of one attention before its forward pass."""
        n_apart = self.network.n_apart
        n_windows = self._n_lacking * n_apart
        q, k, _ = args
        found = attention_weights(kernel, q[:n_windows], k[:n_windows], **options)
        if n_apart > 1:  # the mean over the targets of a window
            weights = _by_window(found.weights, n_apart).mean(dim=1)
            selected = _by_window(found.selected, n_apart).any(dim=1)
            found = found._replace(weights=weights, selected=selected)
        self._found.setdefault(place, []).append(found)

    def _spans(self) -> dict[_Place, tuple[Tensor, Tensor]]:
        """Return the steps of queries and keys of each attention, counted from the origin."""
        network = self.network
        layout = self.layout
        spans = {}
        # First and last step of each token; the origin is step 0.
        seen = patch_ends(self._seq_len, layout.patch_len, pad_front=True)
        tokens = seen - self._seq_len
        for i, gap in enumerate(network.encoder.gaps):
            spans["encoder", i] = (tokens, tokens)
            if isinstance(gap, Distil):
                tokens = halved_ends(tokens)
        patch_len = layout.decoder_patch_len
        guiding = patch_ends(layout.label_len, patch_len, pad_front=True)
        horizon = patch_ends(layout.pred_len, patch_len, pad_front=False)
        decoder_tokens = torch.cat([guiding - layout.label_len, horizon])
        for i in range(len(network.decoder.layers)):
            spans["decoder", i] = (decoder_tokens, decoder_tokens)
            spans["cross", i] = (decoder_tokens, tokens)
        return spans


def _by_window(values: Tensor, n_targets: int) -> Tensor:
    """Turn (batch * n_targets, …) to (batch, n_targets, …)."""
    return values.reshape(-1, n_targets, *values.shape[1:])
