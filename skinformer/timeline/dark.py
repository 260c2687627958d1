"""Places in a day or a week at which a series was never other than zero: nights of the sun."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import seasons_from_a_day
from skinformer.timeline.timeline import Timeline

#: Part of the rows that has to be zero for the question to be asked.
_LEAST = 0.05
#: How likely zeros that fall by chance may fill a place.
_CHANCE = 1e-3
#: Seasons that are looked at, the shortest.
_N_SEASONS = 2


class Dark(NamedTuple):
    """
    Where series were always zero.

    Attributes
    ----------
    clock : Clock
        Whose steps on the wall are meant.
    zero : ndarray of shape (n_series + 1, n_targets)
        What zero is once it is standardised.
    places : tuple of ndarray
        For each season, which of its places were always zero, (n_series + 1, n_targets, season); of
        series that the history does not hold none were.
    """

    clock: Clock
    zero: Float32Array
    places: tuple[BoolArray, ...]

    @classmethod
    def of(cls, timeline: Timeline, scaler: Scaler, n_targets: int) -> Dark:
        """Find them, where so many zeros at one place of a day or a week are no chance."""
        clock = timeline.clock
        n_series = timeline.n_series
        is_given = scaler.targets is not None and scaler.targets.transformers
        if is_given or not clock.dated:  # a user's transformer may not know zero
            return cls(clock, np.zeros((n_series + 1, n_targets), dtype=np.float32), ())
        zeros = scaler.transform([np.zeros(n_series)] * n_targets, np.arange(n_series))
        zero = np.concatenate([zeros, np.zeros((1, n_targets), dtype=np.float32)])
        series = timeline.series
        is_zero = timeline.values[:, :n_targets] == zeros[series]
        if not len(is_zero) or is_zero.mean() < _LEAST:
            return cls(clock, zero, ())
        known = (
            np.ones_like(is_zero) if timeline.weight is None else timeline.weight > 0
        )
        wall = clock.wall_steps(timeline.steps)
        seasons = seasons_from_a_day(clock)[:_N_SEASONS]
        places = [
            _always(is_zero & known, known, series, wall, season) for season in seasons
        ]
        return cls(clock, zero, tuple(each for each in places if each.any()))

    def at(self, series: IntArray, steps: IntArray) -> BoolArray:
        """Return which targets of which steps of series lie at such a place, (n, n_targets)."""
        wall = self.clock.wall_steps(steps)
        each = [places[series, :, wall % places.shape[2]] for places in self.places]
        return np.asarray(np.logical_or.reduce(each))


def _always(
    is_zero: BoolArray, known: BoolArray, series: IntArray, wall: IntArray, season: int
) -> BoolArray:
    """Return which places of a season were always zero, (n_series + 1, n_targets, season)."""
    n_series = int(series[-1]) + 1
    cell = series * season + wall % season
    out = np.zeros((n_series + 1, known.shape[1], season), dtype=bool)
    for j in range(known.shape[1]):
        zeros = np.bincount(cell, is_zero[:, j], n_series * season).reshape(
            n_series, season
        )
        seen = np.bincount(cell, known[:, j], n_series * season).reshape(
            n_series, season
        )
        share = zeros.sum(axis=1, keepdims=True) / np.maximum(
            seen.sum(axis=1, keepdims=True), 1
        )
        out[:-1, j] = (zeros == seen) & (seen > 0) & (share**seen < _CHANCE)
    return out
