"""Collapses that have been recovered from, in ranges: what erred then says nothing of what comes.

Classical forecasters leave the rows of such a collapse out (`classical/collapses.py`), and forecast
behind it as if it had not been. Sizes of errors are those of all other rows.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from skinformer.classical.collapses import FEWEST_BEHIND, recovered_rows
from skinformer.classical.past import Past
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import window_rows

#: Series of a batch.
_AT_ONCE = 256


class Collapses(NamedTuple):
    """
    The collapse of each series and target from which these have recovered of late.

    Attributes
    ----------
    first, last : ndarray of shape (n_series + 1, n_targets)
        The steps of its first and its last row; the last is before the first where there is none,
        as in series that the history does not hold, the last row.
    """

    first: IntArray
    last: IntArray

    @classmethod
    def of(
        cls, forecaster: StepForecaster, clock: Clock, series: IntArray
    ) -> Collapses:
        """Find the collapses of some series in the rows that a forecast is made from.

        There are none on another clock than that of the history.
        """
        history = forecaster.history
        n_targets = forecaster.sizes.n_targets
        shape = history.n_series + 1, n_targets
        first = np.zeros(shape, dtype=np.int64)
        last = np.full(shape, -1)
        # As many as saved files hold; those that intervals need are more.
        n_rows = max(forecaster.sizes.seq_len, forecaster.ensemble.look_back)
        season = next(iter(calendar_seasons(history.clock, least_days=1)), 1)
        is_held = (series < history.n_series) & (clock == history.clock)
        distinct = np.unique(series[is_held])
        starts = range(0, len(distinct), _AT_ONCE)
        for start, j in product(starts, range(n_targets)):
            some = distinct[start : start + _AT_ONCE]
            past = _last_rows(history, some, j, n_rows)
            flags = recovered_rows(past, season)
            is_found = flags.any(axis=1)
            found = some[is_found]
            flags = flags[is_found]
            end = history.end_step[found]
            first[found, j] = end - past.n_rows + flags.argmax(axis=1)
            last[found, j] = end - 1 - flags[:, ::-1].argmax(axis=1)
        return cls(first, last)

    def at(self, series: IntArray, steps: IntArray) -> BoolArray:
        """Return which rows lie in a collapse, (n, n_targets)."""
        since_first = steps[:, None] - self.first[series]
        until_last = self.last[series] - steps[:, None]
        return (since_first >= 0) & (until_last >= 0)

    def without(
        self, targets: Float32Array, series: IntArray, steps: IntArray
    ) -> Float32Array:
        """Return targets of rows, (n, n_targets), with NaN where they lie in a collapse."""
        if (self.last < self.first).all():
            return targets
        return np.where(self.at(series, steps), np.float32(np.nan), targets)

    def before(self, series: IntArray, steps: IntArray) -> BoolArray:
        """Return which windows, that begin at steps, end in a collapse, (n, n_targets).

        It is not known to be over until a few rows behind it have been seen.
        """
        return self.at(series, steps - 1) | self.at(series, steps - FEWEST_BEHIND)


def _last_rows(history: Timeline, series: IntArray, target: int, n_most: int) -> Past:
    """Return the last rows of some series, right-aligned, NaN where nothing was observed."""
    longest = np.diff(history.first_row)[series].max(initial=0)
    n_rows = min(longest, n_most)
    rows = window_rows(history.first_row[series + 1] - n_rows, n_rows)
    is_real = rows >= history.first_row[series, None]
    rows = np.maximum(rows, 0)
    if history.weight is not None:
        is_real &= history.weight[rows, target] > 0
    values = history.values[rows, target].astype(np.float64)
    return Past(np.where(is_real, values, np.nan), np.arange(n_rows)[None])
