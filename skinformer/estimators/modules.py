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

#: Numbers that are no weights (position codes): more than any model has would be time and memory
#: that no byte of the file stands for.
_MOST_CODES = 1 << 26
_GENERATOR = "_extra_state"


def _network_apart(network: Informer) -> dict[str, Any]:
    """Take a network apart; generators of dropout and key sampling begin anew."""
    weights = {name: value.detach().cpu() for name, value in _values(network).items()}
    if any(value.dtype != torch.float32 for value in weights.values()):
        raise NotPlainError("", network)  # as somebody else made it
    arrays = {name: value.numpy() for name, value in weights.items()}
    return {"built_from": network.built_from, "weights": arrays}


def _resumable_apart(network: Informer) -> dict[str, Any]:
    """Take a network apart from which training may go on."""
    if network.training:
        raise NotPlainError("", network)
    state = network.state_dict()
    generators = {
        name: state[name].cpu().numpy() for name in state if name.endswith(_GENERATOR)
    }
    return _network_apart(network) | {"generators": generators}


def _resumable_together(given: Any) -> Informer:
    """Build a network of a pickle, which runs code in any case: its word is taken."""
    network = Informer.of(given["built_from"])
    state = given["weights"] | given["generators"]
    network.load_state_dict({name: tensor_of(value) for name, value in state.items()})
    return network.eval()


def _network_together(given: Any) -> Informer:
    built_from, weights = given["built_from"], given["weights"]
    if built_from["n_encoder_layers"] + built_from["n_decoder_layers"] > len(weights):
        raise ModelFileError("its network has more layers than weights")
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise ModelFileError("its network has weights that are not finite")
    with torch.device(
        "meta"
    ):  # shapes alone: first they have to be those of the weights
        shapes = Informer.of(built_from)
    stated = {name: value.shape for name, value in _values(shapes).items()}
    found = {name: value.shape for name, value in weights.items()}
    n_codes = sum(value.numel() for value in shapes.buffers())
    if stated != found or n_codes > _MOST_CODES:
        raise ModelFileError("its network has other weights than it says")
    network = Informer.of(built_from)
    own = {name: tensor_of(value) for name, value in weights.items()}
    network.load_state_dict(own, strict=False)  # generators stay as they begin
    return network.eval()


def _values(network: Informer) -> dict[str, Tensor]:
    state = network.state_dict(keep_vars=True)
    return {
        name: value for name, value in state.items() if not name.endswith(_GENERATOR)
    }


_PATH = Kind(
    "LinearPath",
    LinearPath,
    encode=lambda path: {"fit": path.fit},
    decode=lambda given: LinearPath(given["fit"]).eval(),
)
#: In files, and in pickles.
MODULE_KINDS = [Kind("Informer", Informer, _network_apart, _network_together), _PATH]
RESUMABLE_KINDS = [
    Kind("Informer", Informer, _resumable_apart, _resumable_together),
    _PATH,
]
