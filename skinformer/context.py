"""Values of context variables that hold inside a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_Value = TypeVar("_Value")


@contextmanager
def holding(variable: ContextVar[_Value], value: _Value) -> Iterator[_Value]:
    """Set a variable inside of the block, and set it back behind it.

    >>> depth = ContextVar("depth", default=0)
    >>> with holding(depth, 1):
    ...     depth.get()
    1
    >>> depth.get()
    0
    """
    before = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(before)
