"""What a fit costs by part: a watch that whoever does the work turns to its part.

Parts lie within parts: the inner one's time is not counted for the outer one, so that all parts
add up to the whole. A watch belongs to the thread that started it; nothing is kept where none runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from skinformer.context import holding
from skinformer.timeline.arrays import Float64Array

_OTHER = "other"

Given = ParamSpec("Given")
Made = TypeVar("Made")


class Stopwatch:
    """Seconds of parts."""

    def __init__(self) -> None:
        self._spent: dict[str, Float64Array] = {}
        self.part = _OTHER
        self._since = _now()
        self._started = time.perf_counter()
        self.thread = threading.get_ident()

    @property
    def passed(self) -> float:
        """Seconds since it started."""
        return time.perf_counter() - self._started

    def begin(self, part: str) -> str:
        """End the current part, return its name, and begin one within it."""
        return self.turn(part)

    def write(self, line: str, *, passing: bool = False) -> None:
        """Write a line on a part, where there is somewhere to write.

        passing: whether it stays only where no line is rewritten.
        """

    def note(self, text: str) -> None:
        """Report how far the part is, if something displays it."""

    def turn(self, part: str) -> str:
        """End the current part, return its name, and begin another."""
        ended = self.part
        now = _now()
        self._spent[ended] = self._spent.get(ended, 0.0) + now - self._since
        self.part = part
        self._since = now
        return ended

    def table(self) -> pd.DataFrame:
        """Return what has been measured so far.

        ``part``, in the order in which they began and "other" last; ``seconds`` by the clock, and
        ``cpu_seconds`` of all threads of the process.
        """
        self.turn(self.part)
        spent = dict(self._spent)
        # Behind the others.
        spent[_OTHER] = spent.pop(_OTHER)
        table = pd.DataFrame.from_dict(
            spent, orient="index", columns=["seconds", "cpu_seconds"]
        )
        return table.rename_axis("part").reset_index()


_running: ContextVar[Stopwatch | None] = ContextVar("_running", default=None)


def stopwatch(watch: Stopwatch | None = None) -> AbstractContextManager[Any]:
    """Measure what this thread does; `running` gives it inside.

    >>> with stopwatch():
    ...     with timed("reading"), timed("sorting"):
    ...         pass
    ...     running().table()["part"].tolist()
    ['reading', 'sorting', 'other']
    """
    return holding(_running, watch or Stopwatch())


def running() -> Stopwatch:
    """Return this thread's watch; where none runs, one that has measured nothing."""
    return _of_this_thread() or Stopwatch()


def _of_this_thread() -> Stopwatch | None:
    """Return the watch, unless this is work of another thread that goes on beside its own."""
    watch = _running.get()
    if watch is None or watch.thread != threading.get_ident():
        return None
    return watch


class timed:  # noqa: N801 - it reads as what it does, as those of contextlib
    """Count what is done inside, or in a function that is decorated, as a part.

    part: its name.

    The decorators of contextlib would stand between a warning and the user's line, to which it
    points past all frames of this package.
    """

    def __init__(self, part: str) -> None:
        self.part = part

    def __enter__(self) -> None:
        """Begin the part."""
        self._watch = _of_this_thread()
        self._before = "" if self._watch is None else self._watch.begin(self.part)

    def __exit__(self, *_: object) -> None:
        """End the part, and continue the one around it."""
        if self._watch is not None:
            self._watch.turn(self._before)

    def __call__(self, work: Callable[Given, Made]) -> Callable[Given, Made]:
        """Count all that a function does."""

        @wraps(work)
        def counted(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            with timed(self.part):
                return work(*args, **kwargs)

        return counted


def _now() -> Float64Array:
    return np.array([time.perf_counter(), time.process_time()])
