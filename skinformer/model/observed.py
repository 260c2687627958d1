"""A network that is watched: the attention of each layer, and the steps that its tokens hold."""

import copy
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from skinformer.model.attention import MultiHeadAttention
from skinformer.model.distil import Distil, halved_ends
from skinformer.model.informer import Informer
from skinformer.model.layer import Layer
from skinformer.model.patches import patch_ends


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

    >>> from skinformer import InformerRegressor
    >>> sizes = {"seq_len": 16, "pred_len": 4, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor(members=["network"], patch_len=4, **sizes)
    >>> model = model.fit(torch.rand(90, 1).numpy())
    >>> recorder = AttentionRecorder(model.module_, n_kept=1)
    >>> _ = recorder(torch.zeros(3, 16, 1), torch.zeros(3, 4, 1))
    >>> [(each.where, *each.weights.shape[1:]) for each in recorder.kept()]
    [('encoder', 2, 4, 4), ('encoder', 2, 2, 2), ('decoder', 2, 1, 3), ('cross', 2, 1, 2)]
    """

    def __init__(self, network: Informer, *, n_kept: int) -> None:
        shared: dict[int, Any] = {id(weight): weight for weight in network.parameters()}
        self.network = copy.deepcopy(network, shared)
        self.largest_product, self.reads_forecast = (
            network.largest_product,
            network.reads_forecast,
        )
        self._n_lacking, self._seq_len = n_kept, 0
        self._found: dict[tuple[str, int], list[Any]] = {}
        stacks = {"encoder": self.network.encoder, "decoder": self.network.decoder}
        for where, stack in stacks.items():
            for i, layer in enumerate(cast("Iterable[Layer]", stack.layers)):
                self._watch(layer.attention, where, i)
                if layer.cross_attention is not None:
                    self._watch(layer.cross_attention, "cross", i)

    def __call__(self, past: Tensor, *inputs: Tensor | None) -> Tensor:
        """Forecast windows as `Informer` does."""
        output: Tensor = self.network(past, *inputs)
        self._n_lacking -= min(self._n_lacking, len(past))
        self._seq_len = past.shape[1]
        return output

    def kept(self) -> list[LayerAttention]:
        """Return the attention of the windows so far, in the order of the forward pass."""
        spans = self._spans()
        out = []
        for (where, layer), parts in self._found.items():
            weights, selected = (
                torch.cat([part[j] for part in parts]) for j in range(2)
            )
            queries, keys = spans[where, layer]
            queries = queries[len(queries) - weights.shape[2] :]
            out.append(
                LayerAttention(
                    where, layer, weights, selected, parts[0].visible, queries, keys
                )
            )
        return out

    def _watch(self, attention: MultiHeadAttention, where: str, layer: int) -> None:
        hook = partial(self._keep, (where, layer))
        attention.kernel.register_forward_pre_hook(hook, with_kwargs=True)

    def _keep(
        self,
        place: tuple[str, int],
        kernel: Any,
        args: tuple[Tensor, ...],
        options: dict[str, Any],
    ) -> None:
        n_apart = self.network.n_apart
        q, k = (each[: self._n_lacking * n_apart] for each in args[:2])
        found = kernel.weights(q, k, **options)
        if n_apart > 1:  # the mean over the targets of a window
            weights, selected = (
                x.reshape(-1, n_apart, *x.shape[1:])
                for x in (found.weights, found.selected)
            )
            found = found._replace(
                weights=weights.mean(dim=1), selected=selected.any(dim=1)
            )
        self._found.setdefault(place, []).append(found)

    def _spans(self) -> dict[tuple[str, int], tuple[Tensor, Tensor]]:
        """Return the steps of queries and keys of each attention, counted from the origin."""
        network, layout, out = self.network, self.network.layout, {}
        tokens = (
            patch_ends(self._seq_len, layout.patch_len, pad_front=True) - self._seq_len
        )
        for i, gap in enumerate(network.encoder.gaps):
            out["encoder", i] = (tokens, tokens)
            tokens = halved_ends(tokens) if isinstance(gap, Distil) else tokens
        patch, n_guiding = layout.decoder_patch_len, layout.label_len
        guiding = patch_ends(n_guiding, patch, pad_front=True) - n_guiding
        both = torch.cat([guiding, patch_ends(layout.pred_len, patch, pad_front=False)])
        for i, _ in enumerate(network.decoder.layers):
            out["decoder", i], out["cross", i] = (both, both), (both, tokens)
        return out
