"""
Dates at which a series is closed every year: holidays of a company, the week of Christmas.

Its zeros say nothing of the level, as those of other closures do. They are taken as missing, and
steps of these dates are forecast at zero.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.dates import DaySteps, number_of_date
from skinformer.timeline.timeline import Table

#: Working days in a row that make a closure; fewer are a feast.
_FEWEST_DAYS = 5
#: Share of other working days that are zero, at most.
_MOST_ZERO = 0.1
_YEAR = 366
#: Days around a closure at which it may begin or end in another year.
_MARGIN = 7
#: Days of the last year that may be open at the dates of former ones: a closure moves by them.
_MOST_OPEN = 2
#: Days of a closure that are no dates of all years, at most: others go by the weeks of the year.
_MOST_MOVED = 4


class ClosedDates(NamedTuple):
    """
    Dates of closures.

    Attributes
    ----------
    dates : ndarray of shape (n_series + 1, n_targets, 366)
        Whether each date, counted as `number_of_date` does, is one; none of series that the fit did
        not hold, the last.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> days = pd.date_range("2024-01-01", periods=9, freq="D")
    >>> dates = np.zeros((2, 1, 366), dtype=bool)
    >>> dates[0, 0, 5:8] = True
    >>> series, clock = np.zeros(9, dtype=int), clock_for(days, days.freq)
    >>> ClosedDates(dates).at(clock, series, clock.steps(days)).ravel().nonzero()[0]
    array([5, 6, 7])
    """

    dates: BoolArray

    @classmethod
    def of(cls, table: Table) -> ClosedDates | None:
        """Find them in the rows of a fit, sorted by series and step; None for none."""
        in_days = DaySteps.of(table.clock)
        if in_days is None:
            return None
        days = in_days.days(table.clock.wall_steps(table.steps))
        n_series = len(table.first_row) - 1
        dates = np.zeros((n_series + 1, table.n_targets, _YEAR), dtype=bool)
        for j, y in enumerate(table.targets):
            for i, (start, stop) in enumerate(pairwise(table.first_row.tolist())):
                rows = slice(start, stop)
                if stop > start and days[stop - 1] - days[start] >= _YEAR:
                    dates[i, j] = _closed_dates(days[rows], y[rows])
        return cls(dates) if dates.any() else None

    def at(self, clock: Clock, series: IntArray, steps: IntArray) -> BoolArray:
        """Return whether targets are closed at steps of series, (n, n_targets)."""
        return _at_dates(self.dates, clock, series, steps)

    @property
    def near(self) -> BoolArray:
        """These dates and those around them, at which closures begin and end in other years."""
        near = self.dates.copy()
        for shift in range(1, _MARGIN + 1):
            near |= np.roll(self.dates, shift, axis=-1)
            near |= np.roll(self.dates, -shift, axis=-1)
        return near

    def in_rows(self, table: Table) -> BoolArray:
        """Return where targets are zero at such a date, or around it, (n, n_targets)."""
        series = np.minimum(table.series, len(self.dates) - 1)
        closed = _at_dates(self.near, table.clock, series, table.steps)
        for j, y in enumerate(table.targets):
            closed[:, j] &= False if y is None else y == 0
        return closed


def _at_dates(
    dates: BoolArray, clock: Clock, series: IntArray, steps: IntArray
) -> BoolArray:
    """Look up dates of series, (n_series + 1, n_targets, 366), at steps: (n, n_targets)."""
    in_days = DaySteps.of(clock)
    if in_days is None:
        return np.zeros((len(steps), dates.shape[1]), dtype=bool)
    days = in_days.days(clock.wall_steps(steps))
    return dates[series, :, _date(days)]


def _date(days: IntArray) -> IntArray:
    """Return the dates of days, which are counted from 1970."""
    return number_of_date(days.astype("datetime64[D]"))


def _closed_dates(days: IntArray, y: AnyArray) -> BoolArray:
    """
    Find the dates at which one series is closed, (366,).

    They lie in two closures at least. Before the last year none of them was ever open, and in the
    last year hardly any.

    days, y: (n_rows,), its days, ascending, and its values.
    """
    found = np.zeros(_YEAR, dtype=bool)
    of_series = _Days.of(days, y)
    for dates in _groups(of_series.dates_never_open()):
        closed = of_series.dates_in_closures(dates)
        found[closed] = of_series.close_together(closed)
    return found


class _Days(NamedTuple):
    """Days of one series from its first to its last one, (n_days,).

    date: the number of each day's date.
    is_open: whether something was sold.
    in_closure: whether a day is closed, as are the working days around it.
    run: the number of the run between two open days that a day lies in.
    in_last_year: whether it lies in the last year.
    """

    date: IntArray
    is_open: BoolArray
    in_closure: BoolArray
    run: IntArray
    in_last_year: BoolArray

    @classmethod
    def of(cls, days: IntArray, y: AnyArray) -> _Days:
        """Find them in rows; where sales are rare, no day lies in a closure."""
        first = days[0]
        day = np.arange(days[-1] - first + 1)
        has_zero = np.bincount(days - first, weights=y == 0) > 0
        is_open = np.bincount(days - first, weights=np.abs(np.nan_to_num(y))) > 0
        is_closed = has_zero & ~is_open
        is_working = _on_working_days(is_open)
        run = np.cumsum(is_open, dtype=np.int64)
        n_lost = np.bincount(run, weights=is_closed & is_working)
        in_closure = is_closed & (n_lost[run] >= _FEWEST_DAYS)
        other = is_working & ~in_closure
        n_zero = np.count_nonzero(is_closed & other)
        n_sold = np.count_nonzero(is_open & other)
        if n_zero > _MOST_ZERO * (n_zero + n_sold):
            in_closure[:] = False
        in_last_year = day >= len(day) - _YEAR
        return cls(_date(first + day), is_open, in_closure, run, in_last_year)

    def by_date(self, which: BoolArray) -> IntArray:
        """Count some days by their dates, (366,)."""
        return np.bincount(self.date[which], minlength=_YEAR)

    def dates_never_open(self) -> BoolArray:
        """Return dates that were closed whenever they were seen, (366,).

        In the last year they may be open, where two closures were seen before.
        """
        n_closed = self.by_date(self.in_closure)
        is_open_now = self.by_date(self.is_open & self.in_last_year) > 0
        was_open = self.by_date(self.is_open & ~self.in_last_year) > 0
        return ~was_open & (~is_open_now | (n_closed >= 2))

    def dates_in_closures(self, dates: IntArray) -> IntArray:
        """Cut dates that follow each other from the first to the last one in a closure."""
        seen = np.flatnonzero(self.by_date(self.in_closure)[dates])
        return dates[seen[0] : seen[-1] + 1] if len(seen) else dates[:0]

    def close_together(self, dates: IntArray) -> bool:
        """Return whether dates that follow each other are closed every year, in one go."""
        of_closures = self.run[self.in_closure]
        closures = np.unique(self.run[self.in_closure & np.isin(self.date, dates)])
        longest = np.bincount(of_closures)[closures].max(initial=0)
        is_open_now = self.by_date(self.is_open & self.in_last_year)[dates] > 0
        stays = longest <= len(dates) + _MOST_MOVED
        return len(closures) >= 2 and stays and is_open_now.sum() <= _MOST_OPEN


def _on_working_days(is_open: BoolArray) -> BoolArray:
    """Return which days, (n_days,), lie on weekdays that are open half as often as any other.

    >>> _on_working_days(np.tile([True, True, False, True, True, False, False], 2))[:7]
    array([ True,  True, False,  True,  True, False, False])
    """
    weekday = np.arange(len(is_open)) % 7
    n_open = np.bincount(weekday, weights=is_open, minlength=7)
    return np.asarray(n_open >= 0.5 * n_open.max())[weekday]


def _groups(flags: BoolArray) -> list[IntArray]:
    """List the places of flags that lie side by side; the last place is beside the first.

    >>> [group.tolist() for group in _groups(np.array([True, False, True, True]))]
    [[2, 3, 0]]
    """
    if flags.all():
        return [np.arange(len(flags))]
    first = int(np.argmin(flags))
    places = (first + np.arange(len(flags))) % len(flags)
    marked = places[flags[places]]
    breaks = np.flatnonzero(np.diff((marked - first) % len(flags)) > 1) + 1
    return [group for group in np.split(marked, breaks) if len(group)]
