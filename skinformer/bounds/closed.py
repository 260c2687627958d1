"""Steps that are never observed: nights of a shop, weekends, summers of a winter's business."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Timeline


class Closed(NamedTuple):
    """Phases of seasons that were never observed.

    clock: whose steps on the wall count.
    phases: for each season, which of its phases were never observed, (season,).
    """

    clock: Clock
    phases: tuple[BoolArray, ...]

    @classmethod
    def of(cls, timeline: Timeline) -> Closed:
        """Find phases of a day, a week or a year that passed often and were never observed."""
        clock = timeline.clock
        if timeline.weight is None:
            return cls(clock, ())
        known = np.any(timeline.weight > 0, axis=1)
        wall = clock.wall_steps(timeline.steps)
        found = []
        for season in calendar_seasons(clock, least_days=1):
            phase = wall % season
            passed = np.bincount(phase, minlength=season)
            n_observed = np.bincount(phase, weights=known, minlength=season)
            phases = (passed >= 5) & (n_observed == 0)
            if phases.any():
                found.append(phases)
        return cls(clock, tuple(found))

    def at(self, steps: IntArray) -> BoolArray:
        """Whether steps lie at a phase that was never observed, (n,)."""
        is_closed = np.zeros(len(steps), dtype=bool)
        if self.phases:
            wall = self.clock.wall_steps(steps)
            for phases in self.phases:
                is_closed |= phases[wall % len(phases)]
        return is_closed
