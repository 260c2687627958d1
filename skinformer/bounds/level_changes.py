"""How far levels go where forecasts are fed back: about as far as they ever went in as many rows.

A map that forecasts well one horizon ahead may go on ever faster, or swing, when it sees its own
forecasts. What the series has shown says how far its level goes in two horizons, in three, and so
on.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from skinformer.bounds.limits import align_with_steps
from skinformer.classical.totals import find_totals
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.timeline import Timeline

#: How much farther than ever levels go.
_MARGIN = 1.25


class Recursion(NamedTuple):
    """Windows behind forecasts that were fed back.

    series: (n,), of each window; one number stands for all that the fit did not hold.
    n_fed_back: (n, n_targets), rows directly before each window that are forecasts.
    level: (n, n_targets), the mean of a horizon of rows before these.
    """

    series: IntArray
    n_fed_back: IntArray
    level: Float64Array


class LevelChanges:
    """How far the levels of each series, means of a horizon of rows, were apart at most.

    history: the standardised rows, of which no target is NaN.

    Running totals have no bound: that they rose says nothing of how far they go. Nor have series
    that the fit did not hold.
    """

    def __init__(self, history: Timeline, n_targets: int, pred_len: int) -> None:
        self.history = history
        self.n_targets = n_targets
        self.pred_len = pred_len
        #: What `most` has found for one horizon, two, and so on.
        self.found: list[Float64Array] = []

    @cached_property
    def _targets(self) -> list[Float64Array]:
        """Targets of each series, (n_rows, n_targets)."""
        targets = self.history.values[:, : self.n_targets].astype(float)
        return np.split(targets, self.history.first_row[1:-1])

    @cached_property
    def _levels(self) -> list[Float64Array]:
        """Means of a horizon of rows from each row on, of each series."""
        levels = []
        for rows in self._targets:
            before = np.pad(np.cumsum(rows, axis=0), ((1, 0), (0, 0)))
            change = before[self.pred_len :] - before[: -self.pred_len]
            levels.append(change / self.pred_len)
        return levels

    @cached_property
    def _margin(self) -> Float64Array:
        """How much farther than ever levels go, (n_series + 1, n_targets)."""
        margin = np.full((self.history.n_series + 1, self.n_targets), np.inf)
        for series, rows in enumerate(self._targets):
            if len(rows):
                margin[series] = np.where(find_totals(rows.T), np.inf, _MARGIN)
        return margin

    def most(self, n_horizons: int) -> Float64Array:
        """Return how far levels so many horizons apart may be, (n_series + 1, n_targets).

        Beyond what a series has shown it grows with the distance; infinite where nothing bounds it.
        """
        while len(self.found) < n_horizons:
            apart = len(self.found) + 1
            shown = self._largest(apart)
            if self.found:
                before = self.found[-1]
                farther = before * apart / (apart - 1)
                shown = np.where(np.isnan(shown), farther, np.fmax(shown, before))
            self.found.append(shown)
        most = self._margin * self.found[n_horizons - 1]
        return np.where(np.isnan(most), np.inf, most)

    def _largest(self, apart: int) -> Float64Array:
        """Return the largest change over so many horizons, (n_series + 1, n_targets), or NaN."""
        lag = apart * self.pred_len
        largest = np.full(self._margin.shape, np.nan)
        for series, levels in enumerate(self._levels):
            if len(levels) > lag:
                largest[series] = np.abs(levels[lag:] - levels[:-lag]).max(axis=0)
        return largest

    def keep_near(
        self, outputs: Float32Array, points: Float32Array, recursion: Recursion
    ) -> Float32Array:
        """Move forecasts of windows whose levels go too far: all steps of one alike.

        outputs: (n, pred_len, n_targets, …). points: their one value, (n, pred_len, n_targets).
        """
        n_horizons = recursion.n_fed_back // self.pred_len + 1
        level = points.mean(axis=1, dtype=float)
        most = np.full(level.shape, np.inf)
        # The first horizon is what members have proved.
        for number in np.unique(n_horizons[n_horizons > 1]).tolist():
            of_series = self.most(number)[recursion.series]
            most = np.where(n_horizons == number, of_series, most)
        kept = np.clip(level, recursion.level - most, recursion.level + most)
        shift = (kept - level).astype(np.float32)
        if not shift.any():
            return outputs
        return outputs + align_with_steps(shift, outputs)
