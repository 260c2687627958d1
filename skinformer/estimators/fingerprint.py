"""What must be the same for a stopped fit to go on."""

import hashlib

import numpy as np

from skinformer.estimators.parts import PARTS
from skinformer.estimators.state import FittedState
from skinformer.timeline.clock import wall_times


def fingerprint(estimator: FittedState) -> dict[str, str]:
    """Return a hash of the training rows and the value of each parameter, by name.

    A checkpoint stores it, so that a resumed fit can say what differs.
    """
    params = estimator.get_params(deep=False)
    for name, kind in PARTS.items():
        inner = kind.of(params.pop(name)).get_params()
        for key, value in inner.items():
            params[f"{name}__{key}"] = value
    for name in (
        "checkpoint",
        "device",
        "verbose",
        "memory_saving__gradient_checkpointing",
    ):
        del params[name]  # which changes nothing about the weights
    found = {name: repr(value) for name, value in params.items()}
    found["precision"] = estimator.precision_
    found["attention"] = estimator.attention_
    found["data"] = _hash_rows(estimator)
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
