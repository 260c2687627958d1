"""Cells of the cycles that a calendar goes through: the hours of a week, the months of a year."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Timeline


class Cells(NamedTuple):
    """Where in its cycle a step lies, read off its calendar fields.

    places: what each value of each field adds to the number of the cell, (n_fields, 60).
    n_times: cells of a day; 1 where steps are days or longer.
    n_cells: cells of the cycle, a multiple of `n_times`: a cell's number modulo that is its time of
    day.
    n_days: days of the year that are distinguished, 31 for each month: a number modulo `n_cells` is
    a cell, and the rest is the day.
    """

    fields: tuple[str, ...]
    places: IntArray
    n_times: int
    n_cells: int
    n_days: int = 1

    def of(self, values: AnyArray) -> IntArray:
        """Return cells, 0 … n_cells · n_days - 1, from calendar fields in the last axis."""
        return number_cells(self.places, values)


class CalendarEffect(NamedTuple):
    """The effect of the calendar and of columns known ahead on targets.

    level: effect of each cell of the cycle, (n_cells, n_targets).
    known: effect of a unit of each column known ahead at each time of day, (n_times, n_known,
    n_targets).
    bounds: lowest and highest values that were seen, (2, n_known): no effect goes on beyond.
    places, fields: how cells are numbered, see `Cells`.
    year: effect of each time of each day of the year, (n_days, n_times, n_targets), see `Cells`.

    >>> tables = {"level": np.array([[0.0], [7.0]]), "known": np.array([[[1.0]], [[10.0]]])}
    >>> numbers = {"bounds": np.array([[0.0], [4.0]]), "places": np.zeros((0, 60), dtype=np.int64)}
    >>> effect = CalendarEffect(**tables, **numbers)
    >>> effect.of_rows(np.array([[3.0], [5.0]]), np.array([0, 1])).ravel()
    array([ 3., 57.])
    """

    level: Float64Array
    known: Float64Array
    bounds: Float64Array
    places: IntArray
    fields: tuple[str, ...] = ()
    year: Float64Array = np.zeros((0, 1, 0))

    def of_rows(self, known: Float64Array, cell: AnyArray) -> Float64Array:
        """Add up effects of columns known ahead, without NaN, and of cells: (…, n_targets).

        Column by column, so that a row's sum is rounded the same beside any others.
        """
        n_cells = len(self.level)
        out = self.level[cell % n_cells]
        if self.year.size:
            day = cell // n_cells
            n_times = self.year.shape[1]
            out += self.year[day, cell % n_times]
        time = cell % len(self.known)
        for j in range(self.known.shape[1]):
            effect = self.known[time, j]
            out += known[..., j, None] * effect
        return out

    def at(
        self,
        known: Float64Array,
        steps: IntArray,
        clock: Clock,
    ) -> Float64Array:
        """Add up effects of steps, (n, n_targets); NaN counts as the mean, `bounds` hold."""
        every, place = np.unique(steps, return_inverse=True)
        labels = clock.labels(every)
        values = calendar_values(labels, self.fields)
        cell = number_cells(self.places, values)
        low, high = self.bounds
        known = np.nan_to_num(known).clip(low, high)
        return self.of_rows(known, cell[place])


class RowCells(NamedTuple):
    """Where in their cycle rows lie: ``of_row`` numbers each row's cell and day, (n_rows,)."""

    cells: Cells
    of_row: NDArray[np.signedinteger]


def calendar_cells(
    fields: Sequence[str],
    values: AnyArray,
    *,
    years: bool = False,
) -> Cells | None:
    """Find the cycle that calendar fields, with their values in training, go through.

    The week, in steps of a day or less; the day where there is no weekday; else the year in months
    or weeks. None where nothing of it is known, or there are more than 1008 cells. With ``years``,
    days of the year are distinguished, too, by "month" and "day".

    >>> cells = calendar_cells(["hour", "weekday"], np.array([[0, 0], [23, 6]]))
    >>> cells.n_times, cells.n_cells, cells.of(np.array([[5, 1]]))
    (24, 168, array([29]))
    """
    # No calendar field has more than 60 values.
    places = np.zeros((len(fields), 60), dtype=np.int64)
    n_times = _place_times(places, fields, values)
    cycles = {"weekday": 7} if n_times > 1 else {"weekday": 7, "week": 53, "month": 12}
    n_cells = n_times
    for name, size in cycles.items():
        if name in fields:
            n_cells = n_times * size
            j = fields.index(name)
            places[j, :size] = n_times * np.arange(size)
            break
    n_days = 1
    if years:
        n_days = 12 * 31
        month = fields.index("month")
        day = fields.index("day")
        # Added: a month may have its place in the cycle, too.
        places[month, :12] += 31 * n_cells * np.arange(12)
        places[day, :31] += n_cells * np.arange(31)
    # With more cells, ten minutes of a week each, each is seen too seldom.
    if not 1 < n_cells <= 1008:
        return None
    return Cells(
        tuple(fields),
        places,
        n_times,
        n_cells,
        n_days,
    )


def _place_times(
    places: IntArray,
    fields: Sequence[str],
    values: AnyArray,
) -> int:
    """Set what hours and minutes add to a cell's number, and return how many times a day has."""
    if "hour" not in fields:
        return 1
    n_each = 1
    if "minute" in fields:
        j = fields.index("minute")
        minutes = np.unique(values[:, j])
        n_each = len(minutes)
        number = np.searchsorted(minutes, np.arange(60), side="right") - 1
        places[j] = np.maximum(number, 0)
    places[fields.index("hour"), :24] = n_each * np.arange(24)
    return 24 * n_each


def number_cells(places: Any, values: Any) -> Any:
    """Return the number of each step's cell, from its fields, the first in the last axis."""
    return sum(place[values[..., j]] for j, place in enumerate(places))


def row_cells(
    timeline: Timeline,
    fields: Sequence[str],
    *,
    years: bool = False,
) -> RowCells | None:
    """Find where in their cycle the rows of a timeline lie; None where there is no cycle."""
    if not fields:
        return None
    values = calendar_values(timeline.labels, fields)
    cells = calendar_cells(fields, values, years=years)
    if cells is None:
        return None
    small = np.int16 if cells.n_days == 1 else np.int32
    of_step = cells.of(values).astype(small)
    step = timeline.steps - timeline.first_step.min()
    return RowCells(cells, of_step[step])
