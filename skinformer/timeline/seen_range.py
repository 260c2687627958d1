"""The range of targets that a fit saw, at each phase of a season."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.timeline import Timeline

#: Rows that lie beyond it at least, where a season is shorter or unknown.
_FEWEST = 12


@dataclass(frozen=True)
class SeenRange:
    """What targets were at most and at least, standardised, (n_series, n_targets, n_phases)."""

    low: Float32Array
    high: Float32Array

    @classmethod
    def of(cls, timeline: Timeline, n_targets: int, season: int) -> SeenRange:
        """Find the range of all rows at each phase of a season; 0 is none that is known."""
        n_phases = max(season, 1)
        shape = timeline.n_series, n_phases, n_targets
        low = np.full(shape, np.inf, dtype=np.float32)
        high = np.full(shape, -np.inf, dtype=np.float32)
        targets = timeline.values[:, :n_targets]
        place = timeline.series, _phases(timeline, timeline.steps, n_phases)
        np.minimum.at(low, place, targets)
        np.maximum.at(high, place, targets)
        return cls(low.transpose(0, 2, 1), high.transpose(0, 2, 1))

    def find_left(self, timeline: Timeline) -> BoolArray:
        """Return which targets of which series have left it, (n_series, n_targets).

        All rows of their last season, a dozen at least, lie on one side of what was seen.
        """
        n_series, n_targets, n_phases = self.low.shape
        n_rows = -(-_FEWEST // n_phases) * n_phases
        left = np.zeros((n_series, n_targets), dtype=bool)
        is_long = np.flatnonzero(np.diff(timeline.first_row) >= n_rows)
        rows = timeline.first_row[1:][is_long, None] + np.arange(-n_rows, 0)
        phases = _phases(timeline, timeline.steps_of(rows.ravel()), n_phases)
        series = np.repeat(is_long, n_rows)
        targets = timeline.values[rows, :n_targets]
        is_above = targets > self.high[series, :, phases].reshape(targets.shape)
        is_below = targets < self.low[series, :, phases].reshape(targets.shape)
        left[is_long] = is_above.all(axis=1) | is_below.all(axis=1)
        return left


def _phases(timeline: Timeline, steps: IntArray, n_phases: int) -> IntArray:
    """Return at which phases steps lie on the clock on the wall."""
    return timeline.clock.wall_steps(steps) % n_phases
