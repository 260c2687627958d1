"""Torch modules of a fit as plain values: what they were built from, and their weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from skinformer.model.calendar_effect import CalendarEffect
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.model.linear_path import LinearPath
from skinformer.model.phase_maps import PhaseMaps
from skinformer.persistence import Kind, ModelFileError, NotPlainError

__all__ = ["MODULE_KINDS", "RESUMABLE_KINDS"]

#: Layers of a stack, and numbers that are no weights (position codes): more than any model has
#: would be time and memory that no byte of the file stands for.
_MOST_LAYERS, _MOST_CODES = 256, 1 << 26
_GENERATOR = "_extra_state"
_BUFFERS = ("own", "mixed", "effect")
#: What networks of files that do not say it were built from.
_BEFORE = {"reads_forecast": False}


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
    network = Informer.of(_BEFORE | given["built_from"])
    state = given["weights"] | given["generators"]
    network.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
    return network.eval()


def _network_together(given: Any) -> Informer:
    built_from, weights = _BEFORE | given["built_from"], given["weights"]
    if not 0 < built_from["n_encoder_layers"] + built_from["n_decoder_layers"] <= _MOST_LAYERS:
        raise ModelFileError("its network has more layers than any")
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


def _calendar_together(given: Any, *, n_known: int, n_targets: int) -> CalendarEffect:
    """Build an effect whose cells and times are where they say."""
    values = {name: torch.from_numpy(value) for name, value in given.items()}
    values.setdefault("year", torch.zeros(0, 1, 0))  # files of before have none
    n_cells, (n_times, n_seen, _) = len(values["level"]), values["known"].shape
    if n_seen not in (0, n_known):
        raise ModelFileError("its calendar knows other columns than its ridges")
    numbers = {"n_cells": n_cells, "n_times": n_times, "n_known": n_seen, "n_targets": n_targets}
    if values["year"].ndim != 3:
        raise ModelFileError("its calendar has no days")
    n_days, n_each, _ = values["year"].shape
    effect = CalendarEffect(len(values["places"]), **numbers, year=(n_days, n_each))
    for name, own in effect.named_buffers():
        value = values[name]
        if (
            (not len(value) and name != "year")
            or own.shape != value.shape
            or own.dtype != value.dtype
        ):
            raise ModelFileError("its calendar has other cells than it says")
        own.copy_(value)
    n_all, highest = n_cells * max(n_days, 1), effect.places.amax(dim=1).sum()
    if (effect.places < 0).any() or highest >= n_all or n_cells % n_times or n_cells % n_each:
        raise ModelFileError("its calendar has cells before the first or behind the last")
    if not all(value.isfinite().all() for value in effect.buffers()):
        raise ModelFileError("its calendar holds what is no number")
    return effect


def _phases_together(given: Any, *, n_targets: int, pred_len: int) -> PhaseMaps:
    """Build maps that read what they say, of as many columns as they have weights for."""
    values = {name: torch.from_numpy(value) for name, value in given.items()}
    maps = PhaseMaps.of_shapes(values)
    for name, own in maps.named_buffers():
        value = values[name]
        if own.shape != value.shape or own.dtype != value.dtype or not value.isfinite().all():
            raise ModelFileError("its maps by the time of the day have other sizes than they say")
        own.copy_(value)
    if not len(maps.waves) or (maps.places < 0).any():
        raise ModelFileError("its maps by the time of the day have no such time")
    shape = len(maps.weights), maps.weights.shape[2]
    if shape != (n_targets, pred_len) or maps.n_columns < n_targets:
        raise ModelFileError("its maps by the time of the day are of other targets")
    return maps


def _path_together(given: Any) -> LinearPath:
    own, mixed, effect = (torch.from_numpy(given[name]) for name in _BUFFERS)
    n_known, n_targets = effect.shape
    calendar = given.get("calendar")  # files of before have none
    if calendar is not None:
        calendar = _calendar_together(calendar, n_known=n_known, n_targets=n_targets)
    phases = given.get("phases")
    if phases is not None:
        phases = _phases_together(phases, n_targets=n_targets, pred_len=own.shape[2])
    path = LinearPath(
        n_targets=n_targets,
        n_known=n_known,
        n_inputs=1,
        n_groups=0,
        mixed_len=0,
        seq_len=0,
        pred_len=own.shape[2],
        calendar=calendar,
        phases=phases,
    )
    path.mixed_len = int(given["mixed_len"])
    path.own, path.mixed, path.effect = own, mixed, effect
    return path.eval()


def _corrected_apart(module: Corrected) -> dict[str, Any]:
    trust = module.trust.cpu().numpy()
    parts = {"path": module.path, "network": module.network}
    return {**parts, "trust": trust, "middle": module.middle}


def _corrected_together(given: Any) -> Corrected:
    path, network = given["path"], given["network"]
    if not (isinstance(path, LinearPath) and isinstance(network, Informer)):
        raise ModelFileError("its network corrects something else")
    middle = given["middle"]
    if middle is not None and middle not in range(network.shape[-1]):
        raise ModelFileError("its network has no such output")
    module = Corrected(path, network, middle=middle)
    module.trust.copy_(torch.from_numpy(given["trust"]))
    return module.eval()


_OTHER_KINDS = [
    Kind("LinearPath", LinearPath, _path_apart, _path_together),
    Kind("Corrected", Corrected, _corrected_apart, _corrected_together),
]
#: In files, and in pickles.
MODULE_KINDS = [Kind("Informer", Informer, _network_apart, _network_together), *_OTHER_KINDS]
RESUMABLE_KINDS = [
    Kind("Informer", Informer, _resumable_apart, _resumable_together),
    *_OTHER_KINDS,
]
