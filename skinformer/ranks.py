"""Processes that fit one model together: the ranks of torch.distributed, within a fit.

Whoever has called ``torch.distributed.init_process_group`` wants fits to be shared. Only a fit is:
forecasts and whatever else runs between fits is each rank's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

# torch is imported where it is used: warnings ask for the rank, and transformers need no torch.

Made = TypeVar("Made")


class _Place(NamedTuple):
    rank: int
    size: int


_ALONE = _Place(0, 1)
_PLACE: ContextVar[_Place] = ContextVar("_PLACE", default=_ALONE)


@contextmanager
def together() -> Iterator[None]:
    """Let the ranks of torch.distributed's default group share what is done inside.

    Every rank has to get there with the same work. Without a group nothing is shared.

    >>> with together():
    ...     size()
    1
    """
    from torch import distributed

    place = _ALONE
    if distributed.is_available() and distributed.is_initialized():
        place = _Place(distributed.get_rank(), distributed.get_world_size())
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def size() -> int:
    """Count the ranks that share the present fit; 1 outside one."""
    return _PLACE.get().size


def is_first() -> bool:
    """Tell whether this rank speaks for all: it warns, shows progress and writes files."""
    return _PLACE.get().rank == 0


def own_part(n: int) -> tuple[int, int]:
    """Give this rank's part of a batch of n windows: the first and the one after the last.

    Parts differ by one window at most, and are empty where there are more ranks than windows.

    >>> own_part(32)
    (0, 32)
    """
    rank, count = _PLACE.get()
    return n * rank // count, n * (rank + 1) // count


def add_up(tensors: Sequence[Tensor]) -> None:
    """Replace tensors of one type and device by their sums over all ranks, the same on each."""
    if size() == 1:
        return
    import torch
    from torch import distributed

    # PERF: in one message; a model has dozens of tensors, and each would wait for the network.
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    distributed.all_reduce(flat)
    parts = torch.split(flat, [tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def from_first(make: Callable[[], Made]) -> Made:
    """Let the first rank do something, and give all what it got; what it raises is raised on all.

    >>> from_first(lambda: 3)
    3
    """
    if size() == 1:
        return make()
    from torch import distributed

    answer: list[Any] = [None, None]
    failed: BaseException | None = None
    if is_first():
        try:
            answer[0] = make()
        except BaseException as error:
            failed = error
            answer[1] = error if isinstance(error, Exception) else RuntimeError(repr(error))
    distributed.broadcast_object_list(answer)
    if failed is not None or answer[1] is not None:
        raise failed or answer[1]
    made: Made = answer[0]
    return made


def from_all(value: Made) -> list[Made]:
    """Give all ranks what each has, rank by rank; it can be pickled.

    >>> from_all("a")
    ['a']
    """
    if size() == 1:
        return [value]
    from torch import distributed

    values: list[Any] = [None] * size()
    distributed.all_gather_object(values, value)
    return values
