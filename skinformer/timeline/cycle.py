"""Cells of the cycles that a calendar goes through: the hours of a week, the months of a year."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.calendar import FIELDS, calendar_at
from skinformer.timeline.clock import Clock


class Cycle(NamedTuple):
    """Cells of the cycle that a calendar goes through, and where in it rows lie.

    places: what each value of each field adds to the number of the cell, (n_fields, 60).
    n_times: cells of a day; 1 where steps are days or longer.
    n_cells: cells of the cycle, a multiple of `n_times`: a cell's number modulo that is its time of
    day.
    n_days: days of the year that are distinguished, 31 for each month: a number modulo `n_cells` is
    a cell, and the rest is the day.
    of_row: number of each row's cell and day, (n_rows,).
    """

    fields: tuple[str, ...]
    places: IntArray
    n_times: int
    n_cells: int
    n_days: int
    of_row: NDArray[np.signedinteger]


class CalendarEffect(NamedTuple):
    """The effect of the calendar and of columns known ahead on targets.

    level: effect of each cell of the cycle, (n_cells, n_targets).
    known: effect of a unit of each column known ahead at each time of day, (n_times, n_known,
    n_targets).
    bounds: lowest and highest values that were seen, (2, n_known): no effect goes on beyond.
    places, fields: how cells are numbered, see `Cycle`.
    year: effect of each time of each day of the year, (n_days, n_times, n_targets), see `Cycle`.

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

    def of_rows(self, known: Any, cell: Any) -> Any:
        """Add up effects of columns known ahead, without NaN, and of cells: (…, n_targets).

        Column by column, so that a row's sum is rounded the same beside any others. Arrays may be
        tensors.
        """
        effect = self.level[cell % len(self.level)]
        if len(self.year):
            day = cell // len(self.level)
            effect = effect + self.year[day, cell % self.year.shape[1]]
        time = cell % len(self.known)
        for j in range(self.known.shape[1]):
            effect = effect + known[..., j, None] * self.known[time, j]
        return effect

    def at(self, known: Float64Array, steps: IntArray, clock: Clock) -> Float64Array:
        """Add up effects of steps, (n, n_targets); NaN counts as the mean, `bounds` hold."""
        low, high = self.bounds
        known = np.nan_to_num(known).clip(low, high)
        values = calendar_at(clock, steps, self.fields)
        return self.of_rows(known, number_cells(self.places, values))


def find_cycle(
    fields: Sequence[str], values: AnyArray, *, years: bool = False
) -> Cycle | None:
    """Find the cycle that calendar fields go through, from their values in training rows.

    The week, in steps of a day or less; the day where there is no weekday; else the year in months
    or weeks. None where nothing of it is known, or there are more than 1008 cells. With ``years``,
    days of the year are distinguished, too, by "month" and "day".

    >>> cycle = find_cycle(["hour", "weekday"], np.array([[0, 0], [23, 6]]))
    >>> cycle.n_times, cycle.n_cells, number_cells(cycle.places, np.array([[5, 1]]))
    (24, 168, array([29]))
    """
    number = np.arange(60)  # no calendar field has more values
    of_field = np.zeros((len(fields), 60), dtype=np.int64)
    places = {field: of_field[fields.index(field)] for field in fields}
    n_times = _place_times(places, fields, values)
    n_cells = n_times
    for name in ("weekday",) if n_times > 1 else ("weekday", "week", "month"):
        if name in fields:
            places[name] += n_times * number
            n_cells *= FIELDS[name].size
            break
    # With more cells, ten minutes of a week each, each is seen too seldom.
    if not 1 < n_cells <= 1008:
        return None
    n_days = 1
    if years:
        n_days = 12 * 31
        # A month may have its place in the cycle, too.
        places["month"] += 31 * n_cells * number
        places["day"] += n_cells * number
    of_row = number_cells(of_field, values)
    return Cycle(
        tuple(fields),
        of_field,
        n_times,
        n_cells,
        n_days,
        of_row.astype(np.int16 if n_days == 1 else np.int32),
    )


def _place_times(
    places: dict[str, IntArray], fields: Sequence[str], values: AnyArray
) -> int:
    """Set what hours and minutes add to a cell's number, and return how many times a day has."""
    if "hour" not in fields:
        return 1
    number = np.arange(60)
    n_minutes = 1
    if "minute" in fields:
        minutes = np.unique(values[:, fields.index("minute")])
        n_minutes = len(minutes)
        n_begun = np.searchsorted(minutes, number, side="right")
        places["minute"] += np.maximum(n_begun - 1, 0)
    places["hour"] += n_minutes * number
    return 24 * n_minutes


def number_cells(places: Any, values: Any) -> Any:
    """Return the number of each step's cell, from its fields in the last axis."""
    return sum(place[values[..., j]] for j, place in enumerate(places))
