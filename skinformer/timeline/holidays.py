"""Public holidays of countries as columns known ahead, from the package holidays."""

from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import wall_times

_DAY = np.timedelta64(1, "D")


def holiday_values(index: Any, places: tuple[str, ...]) -> Float64Array:
    """Return holidays in each row's local time: (n, 3 n_places), named by `holiday_columns`.

    Of periods longer than a day how many holidays they hold; other rows are of one day. Beside
    periods of a week and more holidays count alone, not weekends.
    """
    if places:
        _check_days(index)
    first = wall_times(index)
    last = index.to_timestamp(how="end") if hasattr(index, "to_timestamp") else first
    # One year more on each side, for the days before and after.
    years = range(first.min().year - 1, last.max().year + 2)
    start = first.to_numpy().astype("datetime64[D]")
    stop = last.to_numpy().astype("datetime64[D]")
    # Each of which has a weekend beside it.
    has_weeks = (stop - start >= 6 * _DAY).any()
    values = np.empty((len(index), len(places), 3))
    for j, place in enumerate(places):
        days, weekmask = _days_off(place, years)
        if has_weeks:
            weekmask = [True] * 7
        values[:, j] = _values_of_place(start, stop, days, weekmask)
    return values.reshape(len(index), -1)


def _values_of_place(
    start: Any, stop: Any, days: Any, weekmask: list[bool]
) -> IntArray:
    """Count holidays from first to last days, and find free days beside them, (n, 3).

    days: the holidays, sorted.
    """
    n_before = np.searchsorted(days, start)
    n_until = np.searchsorted(days, stop, side="right")
    is_free_before = ~np.is_busday(start - _DAY, weekmask, days)
    is_free_after = ~np.is_busday(stop + _DAY, weekmask, days)
    n_holidays = n_until - n_before
    return np.column_stack([n_holidays, is_free_before, is_free_after])


def _check_days(index: pd.Index) -> None:
    """Raise if rows, in any order, stand for several days without saying for which."""
    times = np.unique(wall_times(index).to_numpy())
    if len(times) < 2 or isinstance(index.dtype, pd.PeriodDtype):
        return
    step = np.median(np.diff(times))
    if step > _DAY:
        raise ValueError(
            f"holidays belong to days, but rows are {pd.Timedelta(step)} apart, and it "
            "is not known which days a row stands for. Make the rows periods, such as "
            "X.index = X.index.to_period('W') of weeks or 'M' of months."
        )


def _days_off(place: str, years: range) -> tuple[Any, list[bool]]:
    """Return the holidays of some years, sorted, and which days of the week are workdays."""
    try:
        import holidays
    except ImportError as error:
        raise ImportError(
            f"holidays={place!r} needs the package holidays, which is not installed: pip install "
            "'skinformer[holidays]'. Without it pass a column of your own by known_future."
        ) from error
    country, _, subdivision = place.partition("-")
    try:
        found = holidays.country_holidays(country, subdivision or None, years=years)
    except NotImplementedError as error:
        raise ValueError(
            f"holidays holds {place!r}, which the package holidays does not know: choose an ISO "
            "code such as 'NZ' or 'DE-BY'."
        ) from error
    weekmask = [day not in found.weekend for day in range(7)]
    return np.array(sorted(found), dtype="datetime64[D]"), weekmask
