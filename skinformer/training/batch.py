"""One training batch, and what an object must offer to deliver batches."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, device


class Batch(NamedTuple):
    """Windows that one forward pass sees together.

    Attributes
    ----------
    inputs : tuple of (Tensor or None)
        Positional arguments of the module: ``module(*inputs)`` gives the forecasts.
    target : Tensor of shape (batch, pred_len, n_targets)
        True values, standardised. Missing values are filled with any finite number.
    weight : Tensor of shape (batch, pred_len, n_targets) or None
        0 where the target is missing, else the sample weight (>= 0). None means 1 everywhere.

    Examples
    --------
    >>> import torch
    >>> batch = Batch((torch.zeros(32, 96, 7), None), torch.zeros(32, 24, 1), None)
    >>> batch.target.shape
    torch.Size([32, 24, 1])
    """

    inputs: tuple[Tensor | None, ...]
    target: Tensor
    weight: Tensor | None


class Batches(Protocol):
    """A sized iterable of `Batch`; a training one shuffles anew in each iteration.

    See Also
    --------
    ShuffledBatches : Batches that a resumed fit sees again.

    Examples
    --------
    A list is enough where nothing shuffles:

    >>> import torch
    >>> validation: Batches = [Batch((torch.zeros(2, 5),), torch.zeros(2, 3, 1), None)]
    >>> len(validation)
    1
    """

    def __len__(self) -> int:
        """Return the number of batches in one iteration."""

    def __iter__(self) -> Iterator[Batch]:
        """Iterate once over the batches."""


@runtime_checkable
class ShuffledBatches(Batches, Protocol):
    """Batches with a generator whose state a checkpoint stores.

    A resumed fit then sees the batches that an uninterrupted one would have seen.
    """

    def get_state(self) -> Any:
        """Give the state of the generator, in tensors and plain Python values."""

    def set_state(self, state: Any) -> None:
        """Go on from a state that `get_state` gave."""


def to_device(batch: Batch, *, device: device) -> Batch:
    """Move a batch to a device.

    Parameters
    ----------
    batch : Batch
        Any batch.
    device : torch.device
        Where the module lives.

    Returns
    -------
    Batch
        The same values there.

    Examples
    --------
    >>> import torch
    >>> batch = Batch((torch.zeros(2, 5), None), torch.zeros(2, 3, 1), None)
    >>> to_device(batch, device=torch.device("meta")).target.device
    device(type='meta')
    """
    # PERF: non_blocking overlaps the copy with the previous step when the batch is in pinned
    # memory; where the batch is on the device already, `to` returns the tensor itself.
    return Batch(
        tuple(x if x is None else x.to(device, non_blocking=True) for x in batch.inputs),
        batch.target.to(device, non_blocking=True),
        None if batch.weight is None else batch.weight.to(device, non_blocking=True),
    )
