"""Values far beyond the usual that have a reason: a promotion, or an event of all series.

A column known ahead explains them where it is far from what it mostly is, as a flag of deals or a
price that is cut; other series do where they are far from their median at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array
from skinformer.timeline.timeline import Table


class Reasons(NamedTuple):
    """Bounds beyond which a column explains values, and beyond which a value is an event.

    known: (n_series, n_known, 2), of columns known ahead.
    events: (n_series, n_targets, 2).
    """

    known: Float64Array = np.empty((0, 0, 2))
    events: Float64Array = np.empty((0, 0, 2))

    @classmethod
    def of(cls, table: Table, n_past: int) -> Reasons:
        """Find the bounds in rows of a fit, sorted by series and step.

        n_past: number of columns that are known up to the present alone.
        """
        first_known = table.n_targets + n_past
        return cls(
            _bounds(table, table.columns[first_known:], _unusual),
            _bounds(table, table.targets, _far_from_median),
        )

    def in_rows(self, table: Table) -> BoolArray:
        """Return where targets may lie far beyond the usual, (n, n_targets)."""
        return self.explained_by_columns(table)[:, None] | self._shared(table)

    def explained_by_columns(self, table: Table) -> BoolArray:
        """Whether a column known ahead is unusual in rows, (n,)."""
        explained = np.zeros(len(table.series), dtype=bool)
        n_known = self.known.shape[1]
        for j in range(n_known):
            column = table.columns[len(table.columns) - n_known + j]
            if column is not None:
                explained |= _is_beyond(column, table, self.known[:, j]) != 0
        return explained

    def _shared(self, table: Table) -> BoolArray:
        """Whether a third of all other series are far from their medians at the same step."""
        shared = table.no_marks()
        if len(self.events) < 2:
            return shared
        _, step = np.unique(table.steps, return_inverse=True)
        for j in range(self.events.shape[1]):
            y = table.columns[j]
            if y is None:
                continue
            side = _is_beyond(y, table, self.events[:, j])
            n_others = np.bincount(step, ~np.isnan(y))[step] - 1
            for direction in (-1, 1):
                is_there = side == direction
                n_there = np.bincount(step, is_there)[step] - 1
                shared[:, j] |= is_there & (n_there >= np.maximum(n_others / 3, 1))
        return shared


def _is_beyond(column: AnyArray, table: Table, bounds: Float64Array) -> AnyArray:
    """Return -1 where values are below the bounds of their series, (n_series, 2), 1 above, else 0.

    Nothing is of series that the fit did not hold.
    """
    is_fitted = table.series < len(bounds)
    low, high = bounds[np.where(is_fitted, table.series, 0)].T
    return is_fitted * ((column > high) * 1 - (column < low) * 1)


def _bounds(
    table: Table, columns: list[AnyArray], find: Callable[[Float64Array], Float64Array]
) -> Float64Array:
    """Return bounds of each series and column, (n_series, n_columns, 2)."""
    bounds = np.empty((len(table.first_row) - 1, len(columns), 2))
    for j, column in enumerate(columns):
        for i, values in enumerate(table.by_series(column)):
            known = values[~np.isnan(values)].astype(np.float64)
            bounds[i, j] = find(known) if len(known) else (-np.inf, np.inf)
    return bounds


def _unusual(values: Float64Array) -> Float64Array:
    """Return the bounds of what a column mostly is.

    Flags and prices, which stay as they are from row to row, have a fifth of their values beyond
    each bound at most; others, such as the weather, a two hundredth.
    """
    changes = np.count_nonzero(np.diff(values))
    stays = changes < 0.5 * len(values)
    share = 0.2 if stays else 0.005
    low = np.quantile(values, share, method="higher")
    high = np.quantile(values, 1 - share, method="lower")
    return np.array([low, high])


def _far_from_median(values: Float64Array) -> Float64Array:
    """Return bounds twice as far from the median as nearly all values are."""
    centre = np.median(values)
    nearly_all = np.quantile(np.abs(values - centre), 0.95)
    return np.array([centre - 2 * nearly_all, centre + 2 * nearly_all])
