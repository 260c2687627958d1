"""Closures: steps that are zero because a column known ahead or the date says so, as of a shop.

Such a zero says nothing of the level: it is taken as missing, so that every member forecasts what
would have been, and whatever the column says of steps to come is forecast at zero. A step that is
closed every week stays as it is: it is a part of the season.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from skinformer.cleaning.closed_dates import ClosedDates
from skinformer.timeline.arrays import AnyArray, BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.seasons import calendar_seasons, step_days
from skinformer.timeline.timeline import Table


class Closure(NamedTuple):
    """A value of a column known ahead at which a target is zero.

    column, target: their places in the table.
    value: of the column.
    weekly: phases of a week at which the column mostly has it, (n_series + 1, season); none of
    series that the fit did not hold, the last.
    """

    column: int
    target: int
    value: float
    weekly: BoolArray


class Closures(NamedTuple):
    """All closures of a fit.

    found: those that columns tell.
    dates: those of every year; None for none.
    """

    found: tuple[Closure, ...] = ()
    dates: ClosedDates | None = None

    @classmethod
    def of(cls, table: Table, n_past: int) -> Closures:
        """Find closures in the rows of a fit, sorted by series and step.

        n_past: number of columns that are known up to the present alone.
        """
        found = []
        known = range(table.n_targets + n_past, len(table.columns))
        for column, target in product(known, range(table.n_targets)):
            for value in _ends_of_range(table.columns[column]):
                is_there = table.columns[column] == value
                if _explains_zeros(is_there, table.columns[target]):
                    weekly = _weekly_phases(table, is_there)
                    found.append(Closure(column, target, value, weekly))
        return cls(tuple(found), ClosedDates.of(table))

    def in_rows(self, table: Table) -> BoolArray | None:
        """Return where targets are zero in a closure, (n, n_targets); None for nowhere."""
        closed = table.no_marks()
        wall = table.clock.wall_steps(table.steps)
        for column, target, value, weekly in self.found:
            y = table.columns[target]
            if y is None or table.columns[column] is None:
                continue
            series = np.minimum(table.series, len(weekly) - 1)
            is_weekly = weekly[series, wall % weekly.shape[1]]
            is_closed = (table.columns[column] == value) & (y == 0)
            closed[:, target] |= is_closed & ~is_weekly
        if self.dates is not None:
            closed |= self.dates.in_rows(table)
        return closed if closed.any() else None


def _ends_of_range(column: AnyArray) -> Iterator[float]:
    """Return the least and the greatest value of a column that changes, as of flags."""
    low = np.nanmin(column)
    high = np.nanmax(column)
    if low < high:
        yield from (float(low), float(high))


def _explains_zeros(is_there: BoolArray, y: AnyArray) -> bool:
    """Whether a target is zero where a column has a value, and too rarely elsewhere for a chance.

    is_there: where the column has it.
    """
    zeros = y[is_there] == 0
    is_known = ~np.isnan(y)
    n_known = np.count_nonzero(is_known & is_there)
    if n_known < 2 or np.count_nonzero(zeros) < 0.99 * n_known:
        return False
    elsewhere = y[is_known & ~is_there]
    share = (np.count_nonzero(elsewhere == 0) + 1) / (len(elsewhere) + 2)
    return bool(share**n_known < 1e-3)


def _weekly_phases(table: Table, is_closed: BoolArray) -> BoolArray:
    """Return phases of a week at which rows are mostly closed, (n_series + 1, season).

    Rows of a closure of a whole week or more say nothing of it.
    """
    season = _week(table.clock)
    n_series = len(table.first_row) - 1
    counted = ~_in_long_runs(is_closed, table.series, season)
    phase = table.clock.wall_steps(table.steps) % season
    cell = table.series * season + phase
    shape = (n_series + 1, season)
    n_cells = shape[0] * shape[1]
    n_rows = np.bincount(cell, weights=counted, minlength=n_cells)
    n_closed = np.bincount(cell, weights=counted & is_closed, minlength=n_cells)
    return (n_closed > 0.5 * n_rows).reshape(shape)


def _week(clock: Clock) -> int:
    """Return the steps of a week, else of a day, else 1."""
    seasons = calendar_seasons(clock, least_days=1)
    return max((n for n in seasons if n * step_days(clock) < 8), default=1)


def _in_long_runs(flags: BoolArray, series: IntArray, length: int) -> BoolArray:
    """Whether rows lie in a run of flags, within a series, of so many rows or more."""
    begins = np.diff(flags, prepend=False) | (np.diff(series, prepend=-1) != 0)
    run = np.cumsum(begins) - 1
    is_long = np.bincount(run, minlength=1) >= length
    return flags & is_long[run]
