"""Days on which steps lie, and dates, which are the same in all years."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import AnyArray, IntArray
from skinformer.timeline.clock import Clock, OpenClock, wall_times
from skinformer.timeline.seasons import step_days


def number_of_date(day: AnyArray) -> IntArray:
    """Return the number of dates, from 0 as in a leap year: each has the same one in all years.

    >>> number_of_date(np.array(["2023-03-01", "2024-03-01", "2024-12-31"], "datetime64[D]"))
    array([ 60,  60, 365])
    """
    month = day.astype("datetime64[M]")
    day_of_month = (day - month.astype("datetime64[D]")).astype(np.int64)
    months = month.astype(np.int64) % 12
    of_leap_year = np.arange("2024-01", "2025-01", dtype="datetime64[M]")
    days_before = of_leap_year.astype("datetime64[D]") - np.datetime64("2024-01-01")
    return days_before.astype(np.int64)[months] + day_of_month


class DaySteps(NamedTuple):
    """
    How steps lie in days.

    Attributes
    ----------
    first_week : tuple of int
        The day of each step of the week that begins with step 0, counted from 1970.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> days = pd.date_range("1970-01-02", periods=7, freq="B")
    >>> in_days = DaySteps.of(clock_for(days, days.freq))
    >>> in_days, in_days.days(np.array([5, 6]))
    (DaySteps(first_week=(1, 4, 5, 6, 7)), array([ 8, 11]))
    """

    first_week: tuple[int, ...]

    @classmethod
    def of(cls, clock: Clock) -> DaySteps | None:
        """Find it for a clock.

        None where a week has fewer than five steps, no whole number of them, or seconds.
        """
        if not clock.dated:
            return None
        n_steps = round(7 / step_days(clock))
        is_whole = abs(n_steps * step_days(clock) - 7) < 1e-9
        if not is_whole or not 5 <= n_steps <= 7 * 24 * 60:
            return None
        steps = np.arange(n_steps)
        if isinstance(clock, OpenClock) or n_steps % 7:
            times = wall_times(clock.labels(steps))
        else:
            # Nor does summer time begin in it.
            step = pd.Timedelta(days=7) / n_steps
            times = wall_times(clock.labels(steps[:1]))[0] + pd.to_timedelta(
                steps * step
            )
        days = times.to_numpy().astype("datetime64[D]")
        return cls(tuple(days.astype(np.int64).tolist()))

    def days(self, wall_steps: IntArray) -> IntArray:
        """Return the days of steps on the clock on the wall, counted from 1970."""
        weeks, step = np.divmod(wall_steps, len(self.first_week))
        return 7 * weeks + np.array(self.first_week)[step]
