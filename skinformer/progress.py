"""How far a long computation is: one line that is rewritten, or a few plain ones.

A terminal and a notebook go back to the beginning of a line at a carriage return; in a file, a pipe
or a log each line stays.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")


class _Nowhere(io.TextIOBase):
    """The standard output of a process that has none."""

    def write(self, text: str, /) -> int:
        return len(text)


class ProgressLine:
    """
    A line on the standard output; nothing where a process has none, as a service.

    Parameters
    ----------
    name : str
        What goes on, in front of each line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stream = sys.stdout or _Nowhere()
        self._n_shown = 0

    @property
    def is_rewritten(self) -> bool:
        """Whether the next line may take the place of the last one."""
        stream = self._stream
        in_notebook = type(stream).__module__.startswith("ipykernel")
        return in_notebook or stream.isatty()

    def show(self, text: str) -> None:
        """Write a line in whose place the next one may stand."""
        if not self.is_rewritten:
            self.write(text)
            return
        line = f"[{self._name}] {text}"
        self._stream.write("\r" + line.ljust(self._n_shown))
        self._stream.flush()
        self._n_shown = len(line)

    def write(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        self._stream.write(f"[{self._name}] {text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take away a line in whose place another one may stand."""
        if self._n_shown:
            self._stream.write("\r" + " " * self._n_shown + "\r")
            self._stream.flush()
            self._n_shown = 0


def counted(
    items: Iterable[_Item],
    n_items: int,
    name: str,
    *,
    verbose: object,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[_Item]:
    """
    Yield items, and write how many are done and how long the others likely take.

    Parameters
    ----------
    items : iterable
        What is computed one after the other.
    n_items : int
        How many there are.
    name : str
        What goes on.
    verbose : int or bool
        Nothing is written for 0.
    clock : callable
        It returns the seconds of a clock.
    """
    if not verbose:
        yield from items
        return
    line = ProgressLine(name)
    began = shown = clock()
    for n_done, item in enumerate(items, start=1):
        yield item
        now = clock()
        passed = now - began
        # Plain lines are few: one for each tenth of the time so far.
        is_due = line.is_rewritten or now - shown > max(2.0, 0.1 * passed)
        if is_due or n_done == n_items:
            left = passed / n_done * (n_items - n_done)
            line.show(f"{n_done} of {n_items}  {times(passed, left)}")
            shown = now
    line.clear()


def times(passed: float, left: float | None) -> str:
    """
    Write the seconds that have passed, and those that are left as far as they are known.

    Examples
    --------
    >>> times(3.04, None), times(30.0, 10.0), times(30.0, 270.0)
    ('3.0 s', '75%  30.0 s, about 10 s left', '10%  30.0 s, about 4 min left')
    """
    text = f"{passed:.1f} s"
    if left is None:
        return text
    share = passed / max(passed + left, 1e-9)
    return f"{share:.0%}  {text}, about {_rounded(left)} left"


def _rounded(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{round(seconds / 60)} min"
