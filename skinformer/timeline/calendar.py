"""The calendar of dated rows: its fields, which ones a step size calls for, and their values.

Whatever reads an hour, a weekday or a month reads it here. Places in the week or the year are made
of fields in `cycle`; days, weeks and years as numbers of rows are in `seasons`.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pandas import Index, Timedelta

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import Clock, is_dated, wall_times


class Field(NamedTuple):
    """One calendar field that can be embedded.

    size: number of its values.
    finest, coarsest: it is chosen for steps of at least so many days, and less than so many.
    annual: whether its cycle is the year.
    """

    size: int
    finest: float
    coarsest: float
    annual: bool = False


#: Every such field by name. Note 2.3 has hour, weekday and month; the others serve finer
#: and coarser steps than an hour.
FIELDS = {
    "minute": Field(60, 0, 1 / 24),
    "hour": Field(24, 0, 1),
    "weekday": Field(7, 0, 7),
    "day": Field(31, 1, 7),
    "week": Field(53, 7, 28, annual=True),
    "month": Field(12, 0, 360, annual=True),
}
#: A field of months: the days beyond 28, and the weekday of the first one.
KIND_OF_MONTH = "kind of month"
#: How each field is read off a dated index, as integers from 0; other parts read the last ones.
_READERS: dict[str, Callable[[Any], Any]] = {
    "minute": attrgetter("minute"),
    "hour": attrgetter("hour"),
    "weekday": attrgetter("day_of_week"),
    "day": lambda dates: dates.day - 1,
    "week": lambda dates: (dates.day_of_year - 1) // 7,
    # NOTE[DIFF] the specification counts months from 1, which breaks a table of 12 in December.
    "month": lambda dates: dates.month - 1,
    "minute of day": lambda dates: dates.hour * 60 + dates.minute,
    "weekend": lambda dates: dates.day_of_week > 4,
    "day of year": lambda dates: dates.day_of_year - 1,
    KIND_OF_MONTH: lambda dates: (
        7 * (dates.days_in_month - 28) + (dates.day_of_week - dates.day + 1) % 7
    ),
}


def calendar_columns(fields: Iterable[str]) -> list[str]:
    """Name the columns that hold calendar fields as points on the circle, two for each field.

    >>> calendar_columns(["hour"])
    ['calendar__hour_sin', 'calendar__hour_cos']
    """
    parts = ("sin", "cos")
    return [f"calendar__{field}_{part}" for field in fields for part in parts]


def holiday_columns(places: Sequence[str]) -> list[str]:
    """Name the columns of holidays, three for each country or part of one.

    >>> holiday_columns(["DE-BY"])
    ['calendar__DE-BY_holiday', 'calendar__DE-BY_free_yesterday', 'calendar__DE-BY_free_tomorrow']
    """
    # Of the day, and whether the days beside it are free (weekends, too).
    kinds = ("holiday", "free_yesterday", "free_tomorrow")
    return [f"calendar__{place}_{kind}" for place in places for kind in kinds]


def is_calendar_column(name: Hashable) -> bool:
    """Return whether a column was made from the calendar, and so is known in the future.

    True for the names of `calendar_columns` and `holiday_columns`, whatever prefixes a
    ColumnTransformer or a FeatureUnion put before them. A measurement that one called "calendar"
    passed through has the prefix alone.

    >>> is_calendar_column("union__cal__calendar__hour_sin"), is_calendar_column("calendar__load")
    (True, False)
    """
    parts = str(name).split("__")
    own = "__".join(parts[-2:])
    place = parts[-1].split("_")[0]
    made = calendar_columns(FIELDS) + holiday_columns([place])
    return own in made


def choose_fields(index: Index) -> tuple[str, ...]:
    """Choose the calendar fields that the training rows, in time order, call for.

    None without dates; else those made for the usual step of the index that take more than one
    value on it; those of the year from three years on.
    """
    if not is_dated(index) or len(index) < 2:
        return ()
    step, days = _span(index)
    # A training set of one year holds each month once: a vector for March then is a vector for that
    # one spring.
    has_years = days >= 3 * 364
    chosen = []
    for name, field in FIELDS.items():
        is_fit = field.finest <= step < field.coarsest
        is_learnable = has_years or not field.annual
        if is_fit and is_learnable and np.ptp(calendar_values(index, [name])):
            chosen.append(name)
    return tuple(chosen)


def year_fields(index: Index, fields: Sequence[str]) -> tuple[str, ...] | None:
    """Name the calendar fields that distinguish days of the year, beside those that are read.

    None with less than two years, or steps of a week or more.

    >>> import pandas as pd
    >>> year_fields(pd.date_range("2022-01-01", "2023-12-31"), ("weekday", "day"))
    ('month',)
    """
    step, days = _span(index)
    # Waves of the year are judged by whether they help on later rows: two years are enough.
    if step >= 7 or days < 2 * 364:
        return None
    return tuple(name for name in ("month", "day") if name not in fields)


def _span(index: Index) -> tuple[float, float]:
    """Return the usual step of an index, and what it spans with the last row's own step, in days.

    Nights and weekends without rows make the mean step longer than the usual one.
    """
    dates = wall_times(index)  # a day that daylight saving shortens is still a day
    days = (dates[-1] - dates[0]) / Timedelta(days=1)
    if len(dates) < 2:
        return 0.0, days
    step = np.median(np.diff(dates)) / np.timedelta64(1, "D")
    return float(step), days + float(step)


def calendar_values(index: Index, fields: Sequence[str]) -> NDArray[np.int16]:
    """Read calendar fields off a dated index, in its local time: (n, n_fields), int16, from 0."""
    values = np.empty((len(index), len(fields)), dtype=np.int16)
    for j, name in enumerate(fields):
        values[:, j] = _READERS[name](index)
    return values


def calendar_at(
    clock: Clock, steps: IntArray, fields: Sequence[str]
) -> NDArray[np.int16]:
    """Read calendar fields of a clock's steps, in any order: (*steps.shape, n_fields), from 0.

    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> hours = pd.date_range("2024-01-01 22:00", periods=2, freq="h")
    >>> calendar_at(clock_for(hours, hours.freq), np.array([2, 0]), ["hour", "weekday"])
    array([[ 0,  1],
           [22,  0]], dtype=int16)
    """
    distinct, place = np.unique(steps, return_inverse=True)
    return calendar_values(clock.labels(distinct), fields)[place]
