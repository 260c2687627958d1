"""Candidate seasons that the step between rows suggests; data have to confirm them."""

import numpy as np

from skinformer.timeline.clock import Clock

#: Cycles of the calendar, in days: hour, day, week and year.
_CYCLES = (1 / 24, 1, 7, 365.2425)


def likely_seasons(clock: Clock) -> tuple[int, ...]:
    """Return the lengths of seasons, in rows, that a clock's rows may have, ascending.

    Hour, day, week and year in steps, as far as they are whole numbers of at least 2 (a year of
    weeks is 52); a few usual ones where there are no dates.

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
    if not clock.dated:
        return (4, 7, 12, 24, 52)
    return _seasons(clock, _CYCLES)


def seasons_from_a_day(clock: Clock) -> tuple[int, ...]:
    """Return the lengths of days, weeks and years, in rows, of a clock with dates."""
    return _seasons(clock, _CYCLES[1:])


def season_of_year(clock: Clock) -> int:
    """Return the length of a year, in rows, of a clock with dates; 0 if no whole number."""
    return max(_seasons(clock, _CYCLES[-1:]), default=0)


def _seasons(
    clock: Clock,
    cycles: tuple[float, ...],
) -> tuple[int, ...]:
    """Return the lengths of cycles, ascending, in rows, as far as they are whole numbers."""
    n_steps = 48  # whole years of months and quarters
    ends = np.array([0, n_steps])
    microseconds = np.ptp(clock.elapsed(ends))
    microseconds_of_day = 86_400e6
    step = microseconds / n_steps / microseconds_of_day
    seasons = []
    for cycle in cycles:
        length = cycle / step
        season = round(length)
        is_whole = abs(length - season) < 0.02 * length
        if season >= 2 and is_whole:
            seasons.append(season)
    return tuple(seasons)
