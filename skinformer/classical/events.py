"""Events: dates at which something sticks out every year, such as Christmas, say nothing of others.

A level of the last weeks would be lifted by them. So the row of the last week in which there was
none stands in their place, wherever a level is looked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.classical.dates import YEARS
from skinformer.classical.past import Past
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.dates import number_of_date


class Events(NamedTuple):
    """
    Dates of events.

    Attributes
    ----------
    dates : ndarray of shape (n_series + 1, 366)
        Whether each date, counted as `number_of_date` does, is one; the last row is for series that
        the fit did not hold, and has none.
    step_days : int
        Days of a step: 1, or 7 of weeks.
    last_day : int
        Number of the last day of the step at which the clock begins to count.
    """

    dates: BoolArray
    step_days: int
    last_day: int

    def stand_ins(self, series: IntArray, wall: IntArray, first: IntArray) -> IntArray:
        """
        Return the rows that stand in place of consecutive ones, (n_rows,).

        Parameters
        ----------
        series : ndarray of shape (n_rows,)
            The series of each row; -1 is one that the fit did not hold.
        wall : ndarray of shape (n_rows,)
            Their steps on the clock on the wall.
        first : ndarray of shape (n_rows,)
            The row from which on others stand in.

        Examples
        --------
        >>> import numpy as np
        >>> dates = np.zeros((2, 366), dtype=bool)
        >>> dates[0, [8, 15]] = True  # the 9th and the 16th of January
        >>> events = Events(dates, step_days=1, last_day=0)
        >>> rows = np.arange(17)
        >>> events.stand_ins(0 * rows, rows, 0 * rows)
        array([ 0,  1,  2,  3,  4,  5,  6,  7,  1,  9, 10, 11, 12, 13, 14,  1, 16])
        """
        is_event = self._at(series, wall)
        week = 7 // self.step_days
        rows = np.arange(len(wall))
        while True:
            before = rows - week
            moves = is_event[rows] & (before >= first)
            if not moves.any():
                return rows
            rows = np.where(moves, before, rows)

    def _at(self, series: IntArray, wall: IntArray) -> BoolArray:
        """Return whether steps hold an event, (n_rows,)."""
        last_day = self.last_day + self.step_days * wall
        found = np.zeros(len(wall), dtype=bool)
        for days_before in range(self.step_days):
            day = (last_day - days_before).astype("datetime64[D]")
            found |= self.dates[series, number_of_date(day)]
        return found

    def taken_off(
        self, past: Past, filled: Float64Array, series: IntArray
    ) -> tuple[Past, Float64Array]:
        """Return windows with other rows in place of events, and these filled, (n, n_rows).

        Rows of the last year whose dates lie ahead stay: they say what comes there.

        series: (n,), that of each window.
        """
        n, n_rows = past.values.shape
        # A leap day, and weeks that begin earlier each year, move dates by a row or two.
        n_recent = max(YEARS[self.step_days] - past.horizon - 3, 0)
        recent = slice(max(n_rows - n_recent, 0), n_rows)
        n_recent = recent.stop - recent.start
        rows = self.stand_ins(
            np.repeat(series, n_recent),
            past.wall[:, recent].ravel(),
            np.repeat(np.arange(n) * n_recent, n_recent),
        )
        values = past.values.copy()
        values[:, recent] = values[:, recent].ravel()[rows].reshape(n, n_recent)
        filled = filled.copy()
        filled[:, recent] = filled[:, recent].ravel()[rows].reshape(n, n_recent)
        return Past(values, past.wall), filled
