"""Candidate seasons that the step between rows suggests; data have to confirm them."""

import numpy as np

from skinformer.timeline.clock import Clock

_SECOND = 1_000_000  # microseconds
_DAY = 86_400 * _SECOND
#: Cycles that people and weather follow, in microseconds.
_CYCLES = (3600 * _SECOND, _DAY, 7 * _DAY, 365.2425 * _DAY)
#: Rows of a season where there are no dates.
_UNDATED = (4, 7, 12, 24, 52)


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
    return _seasons(clock, _CYCLES) if clock.dated else _UNDATED


def seasons_from_a_day(clock: Clock) -> tuple[int, ...]:
    """Return the lengths of days, weeks and years, in rows, of a clock with dates."""
    return _seasons(clock, _CYCLES[1:])


def season_of_year(clock: Clock) -> int:
    """Return the length of a year, in rows, of a clock with dates; 0 if no whole number."""
    return next(iter(_seasons(clock, _CYCLES[-1:])), 0)


def _seasons(clock: Clock, cycles: tuple[float, ...]) -> tuple[int, ...]:
    n_steps = 48  # whole years of months and quarters
    step = float(np.ptp(clock.elapsed(np.array([0, n_steps])))) / n_steps
    in_rows = [cycle / step for cycle in cycles]
    rounded = {
        round(cycle) for cycle in in_rows if abs(cycle - round(cycle)) < 0.02 * cycle
    }
    return tuple(sorted(season for season in rounded if season >= 2))
