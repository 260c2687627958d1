"""Steps that are never observed: nights of a shop, weekends, summers of a winter's business."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.seasons import seasons_from_a_day
from skinformer.timeline.timeline import Timeline

#: Seasons in which a place was never observed, before it is closed.
_FEWEST = 5


class Closed(NamedTuple):
    """
    Places in seasons that were never observed.

    Attributes
    ----------
    clock : Clock
        Whose steps on the wall are meant.
    places : tuple of ndarray
        For each season, which of its places were never observed, (season,).
    """

    clock: Clock
    places: tuple[BoolArray, ...]

    @classmethod
    def of(cls, timeline: Timeline) -> Closed:
        """Find them: a place of a day, a week or a year that passed five times unobserved."""
        clock = timeline.clock
        if timeline.weight is None or not clock.dated:
            return cls(clock, ())
        known = np.asarray((timeline.weight > 0).any(axis=1))
        wall = clock.wall_steps(timeline.steps)
        each = (
            _never(wall % season, known, season) for season in seasons_from_a_day(clock)
        )
        return cls(clock, tuple(places for places in each if places.any()))

    def at(self, steps: IntArray) -> BoolArray:
        """Return which steps lie at a place that was never observed, (n,)."""
        out = np.zeros(len(steps), dtype=bool)
        if self.places:
            wall = self.clock.wall_steps(steps)
            for places in self.places:
                out |= places[wall % len(places)]
        return out


def _never(place: IntArray, known: BoolArray, season: int) -> BoolArray:
    """Return which places passed often enough, and were never observed, (season,)."""
    passed = np.bincount(place, minlength=season)
    seen = np.bincount(place, weights=known, minlength=season)
    return np.asarray((passed >= _FEWEST) & (seen == 0))
