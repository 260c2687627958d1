"""What must be the same for a stopped fit to go on."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from skinformer.estimators.parts import PARTS, Part
from skinformer.estimators.state import FittedState
from skinformer.timeline.clock import wall_times


def fingerprint(estimator: FittedState) -> dict[str, str]:
    """Return a hash of the training rows and the value of each parameter, by name.

    A checkpoint stores it, so that a resumed fit can say what differs.
    """
    params = estimator.get_params(deep=False)
    params = _with_inner(params, PARTS)
    for name in (
        "training__checkpoint",
        "network__device",
        "max_seconds",
        "n_jobs",
        "verbose",
        "training__memory_saving__gradient_checkpointing",
    ):
        del params[name]  # which changes nothing about the weights
    found = {name: repr(value) for name, value in params.items()}
    found["training__precision"] = estimator.precision_
    found["network__attention__encoder"] = estimator.attention_
    found["data"] = _hash_rows(estimator)
    return found


def _with_inner(
    params: dict[str, Any], parts: Mapping[str, type[Part]]
) -> dict[str, Any]:
    """Put the parameters of parts in the places of the parts."""
    found = dict(params)
    for name, kind in parts.items():
        part = kind.of(found.pop(name))
        inner = _with_inner(part.get_params(deep=False), kind.parts)
        found |= {f"{name}__{key}": value for key, value in inner.items()}
    return found


def _hash_rows(estimator: FittedState) -> str:
    timeline = estimator.timeline_
    scaler = estimator.scaler_
    steps = np.arange(timeline.first_step.min(), timeline.end_step.max())
    parts = [
        scaler.mean,
        scaler.scale,
        timeline.values,
        timeline.weight,
        timeline.first_row,
        timeline.first_step,
    ]
    if timeline.clock.dated:
        # The offsets of two calendars of holidays print alike, as `freq` and as a clock's; the
        # dates that they count do not.
        parts.append(wall_times(timeline.labels).as_unit("us").asi8)
    parts.append(timeline.clock.elapsed(steps))
    digest = hashlib.blake2b(repr(estimator.roles_).encode(), digest_size=16)
    for part in parts:
        if part is not None:
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
