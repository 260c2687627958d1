"""One training batch, and what an object must offer to deliver batches."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, device


class Batch(NamedTuple):
    """Windows that one forward pass sees together.

    inputs: positional arguments of the module: ``module(*inputs)`` are the forecasts.
    target: true values, standardised, (batch, pred_len, n_targets); missing ones are filled with
    any finite number.
    weight: of the target's shape; 0 where it is missing, else the sample weight (>= 0). None means
    1.
    """

    inputs: tuple[Tensor | None, ...]
    target: Tensor
    weight: Tensor | None

    def each(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """Change each tensor."""
        parts = (*self.inputs, self.target, self.weight)
        changed: list[Any] = [None if part is None else change(part) for part in parts]
        *inputs, target, weight = changed
        return Batch(tuple(inputs), target, weight)


class Batches(Protocol):
    """A sized iterable of `Batch`; a training one shuffles anew in each iteration."""

    def __len__(self) -> int:
        """Return the number of batches in one iteration."""

    def __iter__(self) -> Iterator[Batch]:
        """Iterate once over the batches."""


@runtime_checkable
class ShuffledBatches(Batches, Protocol):
    """Batches whose generator's state a checkpoint stores: a resumed fit sees the same ones."""

    def get_state(self) -> Any:
        """Return the state of the generator, in tensors and plain Python values."""

    def set_state(self, state: Any) -> None:
        """Restore a state that `get_state` returned."""


def to_device(batch: Batch, *, device: device) -> Batch:
    """Move a batch to a device."""
    # PERF: non_blocking overlaps the copy with the previous step when the batch is in pinned
    # memory; where the batch is on the device already, `to` returns the tensor itself.
    return batch.each(lambda part: part.to(device, non_blocking=True))
