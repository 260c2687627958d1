"""Phases of a day or a week at which a series was never other than zero: nights of the sun."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Timeline


class ZeroPhases(NamedTuple):
    """Where series were always zero.

    clock: whose steps on the wall count.
    phases: for each season, which of its phases were always zero, (n_series + 1, n_targets,
    season); none of a series that the history does not hold, the last.
    """

    clock: Clock
    phases: tuple[BoolArray, ...]

    @classmethod
    def of(cls, timeline: Timeline, zero: Float32Array) -> ZeroPhases | None:
        """Find phases of a day or a week with so many zeros that it is no chance; None for none.

        zero: what zero is once it is standardised, as `standardised_zeros` returns it.
        """
        clock = timeline.clock
        if np.isnan(zero).all():
            return None
        n_targets = zero.shape[1]
        is_zero = timeline.values[:, :n_targets] == zero[timeline.series]
        found = []
        # Rare zeros are none of nights.
        if is_zero.sum() >= 0.05 * is_zero.size:
            shorter = 1
            for season in calendar_seasons(clock, least_days=1)[:2]:
                phases = _always_zero(timeline, is_zero, season, shorter)
                if phases.any():
                    found.append(phases)
                shorter = season
        return cls(clock, tuple(found)) if found else None

    def without(
        self, targets: Float32Array, series: IntArray, steps: IntArray
    ) -> Float32Array:
        """Return targets of rows, (n, n_targets), with NaN where they lie at such a phase."""
        return np.where(self.at(series, steps), np.float32(np.nan), targets)

    def at(self, series: IntArray, steps: IntArray) -> BoolArray:
        """Whether targets lie at such a phase, at steps of series, (n, n_targets)."""
        wall = self.clock.wall_steps(steps)
        n_targets = self.phases[0].shape[1]
        is_zero = np.zeros((len(steps), n_targets), dtype=bool)
        for phases in self.phases:
            is_zero |= phases[series, :, wall % phases.shape[2]]
        return is_zero


def standardised_zeros(scaler: Scaler, n_series: int, n_targets: int) -> Float32Array:
    """Return what zero is once it is standardised: (n_series + 1, n_targets).

    NaN is unknown: of series that the fit did not hold, the last.
    """
    zero = np.full((n_series + 1, n_targets), np.nan, dtype=np.float32)
    # A user's transformer may not be defined at zero.
    if not scaler.targets.transformers:
        series = np.arange(n_series)
        zero[:-1] = scaler.transform([np.zeros(n_series)] * n_targets, series)
    return zero


def _always_zero(
    timeline: Timeline, is_zero: BoolArray, season: int, shorter: int
) -> BoolArray:
    """Return which phases of a season were always zero, (n_series + 1, n_targets, season).

    They are compared with the other phases at the same phase of a shorter season, that it is a
    multiple of: an hour of the week with that hour of other days, which may be zero but once a
    month. A series that was never anything else has none: its errors count as all others' do.
    """
    fewest = 3  # zeros at a phase
    most_chance = 1e-3
    known = timeline.observed(is_zero.shape[1])
    wall = timeline.clock.wall_steps(timeline.steps)
    cell = timeline.series * season + wall % season
    shape = (timeline.n_series + 1, season)
    always = []
    for j in range(is_zero.shape[1]):
        seen = _count(cell, known[:, j], shape)
        zeros = _count(cell, is_zero[:, j] & known[:, j], shape)
        is_always = zeros == seen
        # How often zeros come at phases at which something else came, too.
        n_others = _sum_of_strata(np.where(is_always, 0, seen), shorter)
        n_zeros = _sum_of_strata(np.where(is_always, 0, zeros), shorter)
        share = (n_zeros + 1) / (n_others + 2)
        is_no_chance = share**seen < most_chance
        is_open = ~is_always.all(axis=1, keepdims=True)
        always.append(is_always & is_open & (seen >= fewest) & is_no_chance)
    return np.stack(always, axis=1)


def _sum_of_strata(counts: AnyArray, shorter: int) -> AnyArray:
    """Sum counts, (n, season), over the phases at one phase of a shorter season, in their place.

    Over all phases where the season is no multiple of it.

    >>> _sum_of_strata(np.array([[1, 2, 3, 4]]), 2)
    array([[4, 6, 4, 6]])
    """
    n, season = counts.shape
    if season % shorter:
        shorter = 1
    n_strata = season // shorter
    sums = counts.reshape(n, n_strata, shorter).sum(axis=1)
    return np.tile(sums, n_strata)


def _count(cell: IntArray, flags: BoolArray, shape: tuple[int, int]) -> AnyArray:
    """Count flags in the cells of series and phases, of this shape."""
    counts = np.bincount(cell, weights=flags, minlength=math.prod(shape))
    return counts.reshape(shape)
