"""Candidate seasons: named, or those that the step between rows suggests, which data confirm."""

import numpy as np

from skinformer.timeline.clock import Clock, OpenClock, end_times, wall_times


def likely_seasons(clock: Clock) -> tuple[int, ...]:
    """Return the lengths of seasons, in rows, that a clock's rows may have, ascending.

    Those that the clock names; else hour, day, week and year in steps, as far as they are whole
    numbers of at least 2 (a year of weeks is 52), and a few usual ones where there are no dates.

    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> for freq in ("h", "MS", "W", "YS"):
    ...     rows = pd.date_range("2024-01-01", periods=3, freq=freq)
    ...     print(likely_seasons(clock_for(rows, rows.freq)))
    (24, 168, 8766)
    (12,)
    (52,)
    ()
    """
    if clock.dated or clock.seasons:
        return calendar_seasons(clock)
    return (4, 7, 12, 24, 52)


def calendar_seasons(clock: Clock, least_days: float = 0) -> tuple[int, ...]:
    """Return the seasons that a clock names, else those of the calendar, in rows, ascending.

    The latter are an hour, a day, a week and a year, as far as they are whole numbers and last so
    many days; there are none without dates.

    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> hours = pd.date_range("2024-01-01", periods=3, freq="h")
    >>> calendar_seasons(clock_for(hours, hours.freq), least_days=7)
    (168, 8766)
    """
    if clock.seasons or not clock.dated:
        return clock.seasons
    step = step_days(clock)
    seasons = []
    for n_days in (1 / 24, 1, 7, 365.2425):
        length = n_days / step
        if isinstance(clock, OpenClock) and n_days < 7:
            # Days of different hours have no length.
            length = clock.steps_of_day if n_days == 1 else 0
        season = round(length)
        is_whole = abs(length - season) < 0.02 * length
        if season >= 2 and is_whole and n_days >= least_days:
            seasons.append(season)
    return tuple(seasons)


def first_last_day(clock: Clock) -> np.datetime64 | None:
    """Return the last day of step 0 of a clock; None where steps are neither weeks nor days.

    Weeks are named by their last day, as pandas does when it sums days up; periods say it.

    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> weeks = pd.date_range("2024-12-28", periods=3, freq="W-SAT")
    >>> first_last_day(clock_for(weeks, weeks.freq))
    np.datetime64('2024-12-28')
    """
    if not clock.dated or step_days(clock) not in (1, 7):
        return None
    first = clock.labels(np.array([0]))
    return np.datetime64(wall_times(end_times(first))[0].date(), "D")


def step_days(clock: Clock) -> float:
    """Return the mean length of a step of a clock with dates, in days."""
    if isinstance(clock, OpenClock):
        return 7 / clock.steps_of_week
    n_steps = 60  # whole years of months and quarters, whole weeks of five and six days
    [microseconds] = clock.elapsed(np.array([n_steps]))
    return microseconds / n_steps / 86_400e6
