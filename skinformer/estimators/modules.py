"""Torch modules of a fit as plain values: what they were built from, and their weights."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from skinformer.algebra import tensor_of
from skinformer.model.informer import Informer
from skinformer.persistence.codec import Kind
from skinformer.persistence.errors import ModelFileError, NotPlainError
from skinformer.ridge.linear_path import LinearPath

_GENERATOR = "_extra_state"


def _encode_network(network: Informer) -> dict[str, Any]:
    """Encode a network; generators of dropout and key sampling begin anew."""
    arrays = {}
    for name, value in _weights(network).items():
        if value.dtype != torch.float32:
            raise NotPlainError("", network)  # changed after it was built
        arrays[name] = value.cpu().numpy()
    return {"built_from": network.built_from, "weights": arrays}


def _decode_network(given: Any) -> Informer:
    """Build a network, after its weights were found to be those that it needs."""
    built_from = given["built_from"]
    weights = given["weights"]
    for name in ("n_encoder_layers", "n_decoder_layers"):
        # Each by itself: one below zero would make up for any number of the others.
        if not 0 <= built_from[name] <= len(weights):
            raise ModelFileError("its network has more layers than weights")
    for value in weights.values():
        if not np.isfinite(value).all():
            raise ModelFileError("its network has weights that are not finite")
    with torch.device("meta"):  # which holds shapes alone
        shapes = Informer.of(built_from)
    needed = {name: value.shape for name, value in _weights(shapes).items()}
    found = {name: value.shape for name, value in weights.items()}
    # More position codes than any model has would be memory that no byte of the file stands for.
    most_codes = 1 << 26
    n_codes = sum(value.numel() for value in shapes.buffers())
    if needed != found or n_codes > most_codes:
        raise ModelFileError("its network has other weights than it says")
    network = Informer.of(built_from)
    state = {name: tensor_of(value) for name, value in weights.items()}
    network.load_state_dict(state, strict=False)  # generators stay as they begin
    return network.eval()


def _weights(network: Informer) -> dict[str, Tensor]:
    """Return the state of a network without its generators."""
    return {
        name: value
        for name, value in network.state_dict().items()
        if not name.endswith(_GENERATOR)
    }


def _encode_resumable(network: Informer) -> dict[str, Any]:
    """Encode a network from which training may go on."""
    if network.training:
        raise NotPlainError("", network)
    generators = {
        name: value.cpu().numpy()
        for name, value in network.state_dict().items()
        if name.endswith(_GENERATOR)
    }
    return _encode_network(network) | {"generators": generators}


def _decode_resumable(given: Any) -> Informer:
    """Build a network of a pickle, which runs code in any case: nothing is checked."""
    network = Informer.of(given["built_from"])
    state = given["weights"] | given["generators"]
    network.load_state_dict({name: tensor_of(value) for name, value in state.items()})
    return network.eval()


_PATH = Kind(
    "LinearPath",
    LinearPath,
    encode=lambda path: {"fit": path.fit},
    decode=lambda given: LinearPath(given["fit"]).eval(),
)
#: In files, and in pickles.
MODULE_KINDS = [Kind("Informer", Informer, _encode_network, _decode_network), _PATH]
RESUMABLE_KINDS = [
    Kind("Informer", Informer, _encode_resumable, _decode_resumable),
    _PATH,
]
