"""How long a fit may take: what its parts cost, what is left, and the share that each part has.

A part that learns asks `current_share` how much of its windows, trees or epochs it may have, and
stops where its share is over. Where no budget is set the share is all, and never over.

Seconds are those of the clock on the wall: beside other work on the machine everything takes
longer. How much longer is read off the parts that are done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from skinformer.context import holding

#: The least share of windows, trees and epochs that a part is worth having with.
LEAST = 0.1
#: The share of the seconds that is planned with; the rest is for what no one can stop.
_PLANNED = 0.9
#: The share of a part's seconds in which it learns; then it forecasts the cut-offs.
_OF_LEARNING = 0.75
#: Seconds for which the plan is believed beside those that were measured.
_BELIEVED = 0.5

Clock = Callable[[], float]


class Cost(NamedTuple):
    """Seconds of a part.

    fixed: whatever it learns from.
    variable: more, with all windows, trees and epochs.
    later: behind the fit, where the part took place.
    """

    fixed: float
    variable: float = 0.0
    later: float = 0.0

    def at(self, effort: float) -> float:
        """Return the seconds of a part that has a share of its windows, trees and epochs."""
        return self.fixed + effort * self.variable

    def scaled(self, factor: float) -> Cost:
        """Return the cost where everything takes so many times as long."""
        return Cost(*(factor * seconds for seconds in self))


@dataclass
class Share:
    """What a part of a fit may have.

    effort: share of its windows, trees and epochs.
    end: the second of the clock at which it has to be done.
    stopped: whether it was told to stop before it was done.
    """

    effort: float = 1.0
    end: float = math.inf
    clock: Clock = field(default=time.perf_counter, repr=False)
    stopped: bool = False
    _asked: float | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is an end."""
        return self.end < math.inf

    def must_stop(self) -> bool:
        """Return whether the next piece of work would go beyond the end; whoever asks then stops.

        It is believed to take as long as the one before.
        """
        if not self.is_limited:
            return False
        now = self.clock()
        piece = 0.0 if self._asked is None else now - self._asked
        self._asked = now
        self.stopped |= now + piece >= self.end
        return self.stopped

    def of(self, n: int, *, least: int = 1, power: float = 1.0) -> int:
        """Return how many of n windows, trees or epochs there may be.

        least: where there are so many.
        power: below 1 where several numbers are cut, whose product is the effort.
        """
        return max(math.ceil(self.effort**power * n), min(least, n))


_ALL = Share()
_share: ContextVar[Share] = ContextVar("_share", default=_ALL)


def current_share() -> Share:
    """Return what the part of a fit that runs here may have; all where none does."""
    return _share.get()


class Budget:
    """
    The seconds of a fit.

    Parameters
    ----------
    max_seconds : float or None, default=None
        Seconds that the fit may take; None for any number.
    clock : callable
        It returns the seconds of a clock.
    slowness : float or None, default=None
        How many times as long as on the machine of the costs everything takes; None measures it.

    Attributes
    ----------
    left_out : dict of str to str
        Why parts do not fit in, in words, by name.
    efforts : dict of str to float
        What share of windows, trees and epochs each part had that has begun.
    stopped : set of str
        Names of the parts that were stopped before they were done.
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        *,
        clock: Clock = time.perf_counter,
        slowness: float | None = None,
    ) -> None:
        self.max_seconds = math.inf if max_seconds is None else float(max_seconds)
        self.left_out: dict[str, str] = {}
        self.efforts: dict[str, float] = {}
        self.stopped: set[str] = set()
        self._clock = clock
        self._slowness = slowness
        self._began = clock()
        self._ahead: dict[str, Cost] = {}
        self._measured: dict[str, float] = {}
        self._later = 0.0
        self._is_planned = False
        self._running_cost = 0.0
        self._running_since = self._began
        self._planned_seconds = 0.0
        self._measured_seconds = 0.0

    @property
    def is_limited(self) -> bool:
        """Whether there is a number of seconds."""
        return self.max_seconds < math.inf

    @property
    def passed(self) -> float:
        """Seconds since the fit began."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left to plan with."""
        return _PLANNED * self.max_seconds - self.passed - self._later

    @property
    def _speed_of_parts(self) -> float:
        """How many times as long as planned the parts took that are done."""
        planned = self._planned_seconds + _BELIEVED
        return (self._measured_seconds + _BELIEVED) / planned

    @property
    def pace(self) -> float:
        """How many times as long as planned parts are believed to take, 1 at least."""
        return max(self._speed_of_parts, 1.0)

    @property
    def seconds_ahead(self) -> float | None:
        """The seconds that the rest of the fit likely takes.

        None before there is a plan, and where the last part takes longer than planned.
        """
        if not self._is_planned:
            return None
        effort = self.effort
        ahead = sum(cost.at(effort) for cost in self._fitting_in()[0].values())
        speed = self._speed_of_parts
        running = speed * self._running_cost - (self._clock() - self._running_since)
        if running <= 0 and not ahead:
            return None
        return speed * ahead + max(running, 0.0)

    @property
    def effort(self) -> float:
        """The share of windows, trees and epochs that all parts ahead can have."""
        if not self.is_limited:
            return 1.0
        ahead, _ = self._fitting_in()
        fixed = sum(cost.fixed + cost.later for cost in ahead.values())
        variable = sum(cost.variable for cost in ahead.values())
        if variable <= 0:
            return 1.0
        affordable = (self.left / self.pace - fixed) / variable
        return min(max(affordable, LEAST), 1.0)

    def plan(self, costs: Mapping[str, Cost]) -> None:
        """Take note of the parts ahead; the most important one stands first, and always fits in."""
        slowness = machine_slowness() if self._slowness is None else self._slowness
        self._ahead = {name: cost.scaled(slowness) for name, cost in costs.items()}
        self._is_planned = True
        self._running_since = self._clock()

    def takes(self, name: str) -> bool:
        """Return whether a part fits in, now that others have taken what they took."""
        _, reasons = self._fitting_in()
        if name in reasons:
            self.left_out[name] = reasons[name]
            self.done(name)
        return name not in self.left_out

    def done(self, name: str) -> None:
        """Take note that a part is no longer ahead."""
        self._ahead.pop(name, None)

    def _fitting_in(self) -> tuple[dict[str, Cost], dict[str, str]]:
        """Return the parts ahead that fit in by the least share, and why others do not.

        Each has to fit in beside those that are more important. They are copied: who writes the
        progress looks at them from another thread.
        """
        if not self.is_limited:
            return dict(self._ahead), {}
        ahead: dict[str, Cost] = {}
        reasons: dict[str, str] = {}
        left = self.left
        for name, cost in list(self._ahead.items()):
            seconds = self.pace * (cost.at(LEAST) + cost.later)
            is_first = not ahead and not self.efforts
            if is_first or seconds <= left:
                ahead[name] = cost
                left -= seconds
            else:
                reasons[name] = (
                    f"it would take {seconds:.1f} s at least, and {max(left, 0.0):.1f} s were left "
                    f"of max_seconds={self.max_seconds:g}"
                )
        return ahead, reasons

    @contextmanager
    def part(self, name: str) -> Iterator[Share]:
        """Begin a part, and give it its share of the seconds that are left."""
        share = self._begin(name)
        planned = self._running_cost
        began = self._running_since
        try:
            with holding(_share, share):
                yield share
        finally:
            self._running_cost = 0.0
            self._running_since = self._clock()
            self._measured[name] = self._running_since - began
            if planned:
                self._planned_seconds += planned
                self._measured_seconds += self._measured[name]
            if share.stopped:
                self.stopped.add(name)

    def _begin(self, name: str) -> Share:
        """Take a part out of what is ahead, and leave the others what they need."""
        effort = self.effort
        ahead, reasons = self._fitting_in()
        if name in reasons:
            effort = LEAST
        ahead.pop(name, None)
        others = sum(cost.at(effort) + cost.later for cost in ahead.values())
        cost = self._ahead.pop(name, Cost(0.0))
        self._later += cost.later
        self.efforts[name] = effort
        self._running_cost = cost.at(effort)
        self._running_since = self._clock()
        seconds = _OF_LEARNING * (self.left - self.pace * others)
        return Share(effort, self._running_since + seconds, self._clock)

    def affords_again(self, name: str) -> bool:
        """Return whether a part can be done once more, in the seconds that it took."""
        return self._measured.get(name, 0.0) <= self.left

    def again(self, name: str) -> AbstractContextManager[Share]:
        """Begin a part once more, with as much effort as before."""
        end = self._clock() + self.left
        return holding(_share, Share(self.efforts.get(name, 1.0), end, self._clock))


_budget: ContextVar[Budget | None] = ContextVar("_budget", default=None)


def current_budget() -> Budget:
    """Return the budget of the fit that runs here; one without limits where none does."""
    return _budget.get() or Budget()


def running(budget: Budget) -> AbstractContextManager[object]:
    """Let the parts inside have their shares of a budget."""
    return holding(_budget, budget)


@cache
def machine_slowness() -> float:
    """Measure how many times as long as on the machine of the costs everything takes.

    Cost: some 15 milliseconds, once in a process.
    """
    usual = 0.0017
    _some_work()  # what is loaded at first does not count
    # The mean, not the quickest: other work on the machine counts.
    took = sum(_seconds_of(_some_work) for _ in range(8)) / 8
    return min(max(took / usual, 0.2), 20.0)


def _seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _some_work() -> None:
    """Do what fits do: products, sorting, and steps of the interpreter."""
    numbers = np.random.default_rng(0).random((256, 256), dtype=np.float32)
    for _ in range(4):
        numbers @ numbers
    np.sort(numbers.ravel())
    sum(range(30_000))
