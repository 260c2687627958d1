"""What must be the same for a stopped fit to go on."""

import hashlib
from collections.abc import Iterator

import numpy as np

from skinformer.estimators.parts import PARTS
from skinformer.estimators.state import FittedState
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import wall_times
from skinformer.timeline.timeline import Timeline

#: Parameters that change nothing about the weights.
_FREE = frozenset(
    {"checkpoint", "device", "verbose", "memory_saving__gradient_checkpointing"}
)


def fingerprint(estimator: FittedState) -> dict[str, str]:
    """Return a hash of the training rows and the value of each parameter, by name.

    A checkpoint stores it, so that a resumed fit can say what differs.
    """
    timeline = estimator.timeline_
    digest = hashlib.blake2b(repr(estimator.roles_).encode(), digest_size=16)
    scaler = estimator.scaler_
    rows = (timeline.values, timeline.weight, timeline.first_row, timeline.first_step)
    for part in (scaler.mean, scaler.scale, *rows, *_times(timeline)):
        if part is not None:
            digest.update(np.ascontiguousarray(part).data)
    parameters = estimator.get_params(deep=False)
    for name, kind in PARTS.items():
        inner = kind.of(parameters.pop(name)).get_params()
        parameters |= {f"{name}__{key}": value for key, value in inner.items()}
    values = {
        name: repr(value) for name, value in parameters.items() if name not in _FREE
    }
    resolved = {"precision": estimator.precision_, "attention": estimator.attention_}
    return {**values, **resolved, "data": digest.hexdigest()}


def _times(timeline: Timeline) -> Iterator[IntArray]:
    """
    Return what the wall shows at each step, and the time passed.

    The offsets of two calendars of holidays print alike, as `freq` and as a clock's; the dates
    that they count do not.
    """
    labels = timeline.labels
    if timeline.clock.dated:
        yield wall_times(labels).as_unit("us").asi8
    steps = np.arange(timeline.first_step.min(), timeline.end_step.max())
    yield timeline.clock.elapsed(steps)
