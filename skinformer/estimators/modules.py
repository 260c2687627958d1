"""Torch modules of a fit as plain values: what they were built from, and their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from skinformer.model.calendar_effect import CalendarEffect
from skinformer.model.informer import Informer
from skinformer.model.linear_path import LinearPath
from skinformer.model.phase_maps import PhaseMaps
from skinformer.persistence import Kind, ModelFileError, NotPlainError

__all__ = ["MODULE_KINDS", "RESUMABLE_KINDS"]

#: Numbers that are no weights (position codes): more than any model has would be time and memory
#: that no byte of the file stands for.
_MOST_CODES = 1 << 26
_GENERATOR = "_extra_state"
_BUFFERS = ("own", "mixed", "effect")


def _network_apart(network: Informer) -> dict[str, Any]:
    """Take a network apart; generators of dropout and key sampling begin anew."""
    weights = {name: value.detach().cpu() for name, value in _values(network).items()}
    built_from = getattr(network, "built_from", None)
    if built_from is None or any(value.dtype != torch.float32 for value in weights.values()):
        raise NotPlainError("", network)  # as somebody else made it
    return {
        "built_from": built_from,
        "weights": {name: value.numpy() for name, value in weights.items()},
    }


def _resumable_apart(network: Informer) -> dict[str, Any]:
    """Take a network apart from which training may go on."""
    if network.training:
        raise NotPlainError("", network)
    state = network.state_dict()
    generators = {name: state[name].cpu().numpy() for name in state if name.endswith(_GENERATOR)}
    return _network_apart(network) | {"generators": generators}


def _resumable_together(given: Any) -> Informer:
    """Build a network of a pickle, which runs code in any case: its word is taken."""
    network = Informer.of(given["built_from"])
    state = given["weights"] | given["generators"]
    network.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
    return network.eval()


def _network_together(given: Any) -> Informer:
    built_from, weights = given["built_from"], given["weights"]
    with torch.device("meta"):  # shapes alone: first they have to be those of the weights
        shapes = Informer.of(built_from)
    stated = {name: value.shape for name, value in _values(shapes).items()}
    found = {name: value.shape for name, value in weights.items()}
    n_codes = sum(value.numel() for value in shapes.buffers())
    if stated != found or n_codes > _MOST_CODES:
        raise ModelFileError("its network has other weights than it says")
    network = Informer.of(built_from)
    own = _values(network)
    with torch.no_grad():
        for name, value in weights.items():
            own[name].copy_(torch.from_numpy(value))
    return network.eval()


def _values(network: Informer) -> dict[str, Tensor]:
    state = network.state_dict(keep_vars=True)
    return {name: value for name, value in state.items() if not name.endswith(_GENERATOR)}


def _path_apart(path: LinearPath) -> dict[str, Any]:
    buffers = {name: getattr(path, name).cpu().numpy() for name in _BUFFERS}
    found = {
        name: part
        if part is None
        else {n: value.cpu().numpy() for n, value in part.named_buffers()}
        for name, part in (("calendar", path.calendar), ("phases", path.phases))
    }
    return buffers | {"mixed_len": path.mixed_len} | found


def _calendar_together(given: Any) -> CalendarEffect:
    """Build an effect of tables whose sizes agree."""
    values = {name: torch.from_numpy(value) for name, value in given.items()}
    numbers = dict(zip(("n_times", "n_known", "n_targets"), values["known"].shape, strict=True))
    n_days, n_each, _ = values["year"].shape
    effect = CalendarEffect(
        len(values["places"]), n_cells=len(values["level"]), year=(n_days, n_each), **numbers
    )
    for name, own in effect.named_buffers():
        own.copy_(values[name])
    return effect


def _phases_together(given: Any) -> PhaseMaps:
    """Build maps that read what they say, of as many columns as they have weights for."""
    values = {name: torch.from_numpy(value) for name, value in given.items()}
    maps = PhaseMaps.of_shapes(values)
    for name, own in maps.named_buffers():
        own.copy_(values[name])
    return maps


def _path_together(given: Any) -> LinearPath:
    own, mixed, effect = (torch.from_numpy(given[name]) for name in _BUFFERS)
    n_known, n_targets = effect.shape
    calendar, phases = given["calendar"], given["phases"]
    path = LinearPath(
        n_targets=n_targets,
        n_known=n_known,
        n_inputs=1,
        n_groups=0,
        mixed_len=0,
        seq_len=0,
        pred_len=own.shape[2],
        calendar=None if calendar is None else _calendar_together(calendar),
        phases=None if phases is None else _phases_together(phases),
    )
    path.mixed_len = int(given["mixed_len"])
    path.own, path.mixed, path.effect = own, mixed, effect
    return path.eval()


_OTHER_KINDS = [
    Kind("LinearPath", LinearPath, _path_apart, _path_together),
]
#: In files, and in pickles.
MODULE_KINDS = [Kind("Informer", Informer, _network_apart, _network_together), *_OTHER_KINDS]
RESUMABLE_KINDS = [
    Kind("Informer", Informer, _resumable_apart, _resumable_together),
    *_OTHER_KINDS,
]
