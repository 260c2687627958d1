"""Truths of one target: which class came in which row, and what that weighs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skinformer.tabular.features import Pairs
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.timeline import Timeline, first_known

#: Blocks of time, each of which is forecast by the others.
N_BLOCKS = 6


@dataclass(frozen=True)
class Truths:
    """Truths that are to be learnt of one target, (n,), in the order of rows.

    group: columns of the target's classes.
    classes: class of each row of the timeline; -1 where it is not known.
    begin: the first row of each series where something is known.
    """

    timeline: Timeline
    group: slice
    classes: AnyArray
    begin: IntArray
    rows: IntArray
    weight: Float64Array

    @property
    def n_classes(self) -> int:
        """Number of the target's classes."""
        return self.group.stop - self.group.start

    @cached_property
    def number(self) -> AnyArray:
        """Class of each truth."""
        return self.classes[self.rows]

    @cached_property
    def series(self) -> IntArray:
        """Series of each truth."""
        return self.timeline.series_of(self.rows)

    @cached_property
    def steps(self) -> IntArray:
        """Step of each truth on the clock."""
        return self.timeline.steps_of(self.rows)

    def find(self, pairs: Pairs) -> IntArray:
        """Find the truth that each pair forecasts."""
        rows = pairs.origin + pairs.ahead
        return np.searchsorted(self.rows, rows)

    @cached_property
    def blocks(self) -> IntArray:
        """Block of time of each truth, from 0; they are of equal length."""
        steps = self.steps - self.steps.min()
        span = steps.max() + 1
        return steps * N_BLOCKS // span


def read_truths(timeline: Timeline, group: slice, missing: BoolArray | None) -> Truths:
    """Read the truths of a target.

    missing: where they were missing, (n_rows, n_targets); None for nowhere.
    """
    classes = timeline.values[:, group].argmax(axis=1)
    if missing is not None:
        classes[missing[:, group.start]] = -1
    weight = np.ones(len(classes))
    if timeline.weight is not None:
        weight[:] = timeline.weight[:, group.start]
    usable = (classes >= 0) & (weight > 0)
    rows = np.flatnonzero(usable)
    begin = first_known(missing, timeline.first_row)
    return Truths(timeline, group, classes, begin, rows, weight[rows])
