"""Opening hours: the steps of a week at which rows exist, of rows whose closed hours have none."""

from typing import Any

import numpy as np
from pandas import Index, Series, Timedelta, offsets

from skinformer.compatibility.dates import is_elapsed
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import step_days
from skinformer.timeline.windows import origins_between

_WEEK = Timedelta(days=7)


def find_open_week(times: Index, step: Any) -> tuple[bool, ...] | None:
    """Find which steps of a week, from its Monday's first on, are open; None where all are.

    Closed are those that were passed by a few times and never had a row: so often, that rows which
    are missing here and there elsewhere do not explain it.

    times: distinct, ascending, of all series.
    step: between two rows.

    >>> import pandas as pd
    >>> hours = pd.date_range("2024-01-01", periods=28 * 24, freq="h")
    >>> hours = hours[(hours.day_of_week < 5) & (hours.hour >= 9) & (hours.hour < 17)]
    >>> week = find_open_week(hours, pd.offsets.Hour())
    >>> len(week), sum(week)
    (168, 40)
    """
    length = _length(step)
    if length is None or Timedelta(days=1) % length != Timedelta(0):
        return None
    n_steps = _WEEK // length
    places = _places_since_monday(times, length)
    is_closed = _never_observed(places, n_steps, longest_gap=n_steps)
    if n_steps > 7:
        by_hour = _never_observed(places, n_steps // 7, longest_gap=n_steps)
        is_closed |= np.tile(by_hour, 7)
    if not _is_worth_it(is_closed):
        return None
    n_early = int(Timedelta(hours=4) / length)
    is_early_open = not is_closed.reshape(7, -1)[:, :n_early].all()
    if getattr(times, "tz", None) is not None and is_early_open:
        return None  # hours that summer time skips and repeats need a clock of elapsed time
    return tuple(bool(each) for each in ~is_closed)


def _places_since_monday(times: Index, length: Timedelta) -> IntArray:
    """Count the steps of times from the first one of the first week on."""
    walls = wall_times(times)
    if length == Timedelta(days=1):
        walls = walls.normalize()
    monday = walls[0].normalize() - Timedelta(days=walls[0].day_of_week)
    start = monday + (walls[0] - monday) % length
    return ((walls - start) // length).to_numpy(dtype=np.int64)


def _length(step: Any) -> Timedelta | None:
    """Return the length of a step of days or less; None for others."""
    if type(step) is offsets.Day:
        return Timedelta(days=step.n)
    return Timedelta(step) if is_elapsed(step) else None


def _never_observed(places: IntArray, length: int, *, longest_gap: int) -> BoolArray:
    """Return which phases of a season never had a row, and had enough chances, (length,).

    Places are whole numbers of steps, ascending. Longer gaps, such as a closed month, are none.
    """
    after = places[:-1] + 1
    before = places[1:]
    is_gap = (before > after) & (before - after < longest_gap)
    passed = np.bincount(places % length, minlength=length)
    observed = passed.copy()
    missing = origins_between(after[is_gap], before[is_gap] - 1)
    passed += np.bincount(missing % length, minlength=length)
    # A row is missing at an open phase with this probability.
    is_open = observed > 0
    n_passed = passed[is_open].sum()
    share = (n_passed - observed.sum() + 1) / (n_passed + 2)
    # So many phases would never have been observed by chance, if all were open.
    expected = length * share**passed
    return (observed == 0) & (passed >= 2) & (expected < 0.05)


def _is_worth_it(is_closed: BoolArray) -> bool:
    """Whether closed steps are many, or leave days of one length.

    A single step a week that is never observed would make days of different lengths.
    """
    if not is_closed.any() or is_closed.all():
        return False
    by_day = (~is_closed).reshape(7, -1)
    lengths = by_day.sum(axis=1)
    has_equal_days = len(set(lengths[lengths > 0])) == 1
    return has_equal_days or bool(is_closed.mean() >= 0.2)


def find_closed_dates(clock: Clock, steps: IntArray) -> tuple[int, ...]:
    """Find dates of the year that never had a row, in any year that passed by them: 1225.

    steps: of rows, of all series. Dates that rows which are missing here and there would leave out
    by chance are none.
    """
    first = steps.min()
    has_row = np.zeros(steps.max() - first + 1, dtype=bool)
    has_row[steps - first] = True
    if has_row.all() or not clock.dated or step_days(clock) > 3:
        return ()
    every = first + np.arange(len(has_row))
    days = wall_times(clock.labels(every)).normalize()
    is_open = Series(has_row).groupby(days).any()
    dates = _dates_of_year(days.unique())
    passed = np.bincount(dates)
    observed = np.bincount(dates, weights=is_open)
    share = (np.count_nonzero(~is_open) + 1) / (len(is_open) + 2)
    expected = 366 * share**passed
    is_closed = (passed >= 2) & (observed == 0) & (expected < 0.05)
    return tuple(np.flatnonzero(is_closed).tolist())


def open_steps(
    clock: Clock, first: int, n: int, closed_dates: tuple[int, ...]
) -> IntArray:
    """Return the next n steps from a first one on that do not lie at closed dates."""
    n_more = 0
    found = first + np.arange(n)
    while closed_dates:
        steps = first + np.arange(n + n_more)
        dates = _dates_of_year(wall_times(clock.labels(steps)))
        found = steps[~np.isin(dates, closed_dates)][:n]
        if len(found) == n:
            break
        n_more += n
    return found


def _dates_of_year(days: Any) -> IntArray:
    """Write dates of the year as numbers, the 25th of December as 1225."""
    return np.asarray(days.month * 100 + days.day, dtype=np.int64)


def describe_week(week: tuple[bool, ...], start: Any, step: Any) -> str:
    """Write the open hours of a week, days of the same hours together.

    start: the time of day of the first step of days.

    >>> hours = [False] * 9 + [True] * 8 + [False] * 7
    >>> describe_week((*hours * 5, *[False] * 48), Timedelta(0), offsets.Hour())
    'Mon-Fri 09:00-16:00'
    """
    days = np.reshape(week, (7, -1))
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    parts = []
    first = 0
    for day in range(1, 8):
        if day < 7 and (days[day] == days[first]).all():
            continue
        if days[first].any():
            label = names[first]
            if day - 1 > first:
                label += f"-{names[day - 1]}"
            parts.append(f"{label} {_describe_day(days[first], start, step)}")
        first = day
    return ", ".join(parts)


def _describe_day(is_open: BoolArray, start: Any, step: Any) -> str:
    """Write the first and the last step of each run of open ones."""
    changes = np.diff(np.concatenate([[0], is_open.astype(int), [0]]))
    begins = np.flatnonzero(changes == 1)
    ends = np.flatnonzero(changes == -1) - 1
    runs = []
    for begin, end in zip(begins, ends, strict=True):
        times = [
            _clock_time(start + int(place) * Timedelta(step)) for place in (begin, end)
        ]
        runs.append("-".join(dict.fromkeys(times)))
    return " and ".join(runs)


def _clock_time(time: Timedelta) -> str:
    minutes = int(time / Timedelta(minutes=1))
    return f"{minutes // 60:02}:{minutes % 60:02}"
