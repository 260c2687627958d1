"""Public holidays of countries as columns known ahead; the package holidays knows the days."""

from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float64Array
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
    start = first.to_numpy().astype("datetime64[D]")
    stop = last.to_numpy().astype("datetime64[D]")
    years = range(first.min().year - 1, last.max().year + 2)  # with the days beside
    has_weeks = bool(
        (stop - start >= 6 * _DAY).any()
    )  # each of which has a weekend beside it
    values = np.empty((len(index), len(places), 3))
    for j, place in enumerate(places):
        days, weekmask = _days_off(place, years)
        weekmask = "1111111" if has_weeks else weekmask
        values[:, j, 0] = np.searchsorted(days, stop, side="right") - np.searchsorted(
            days, start
        )
        values[:, j, 1] = ~np.is_busday(start - _DAY, weekmask, days)
        values[:, j, 2] = ~np.is_busday(stop + _DAY, weekmask, days)
    return values.reshape(len(index), -1)


def _check_days(index: pd.Index) -> None:
    """Raise if rows, in any order, stand for several days without saying for which."""
    apart = np.diff(np.unique(wall_times(index).to_numpy()))
    if (
        len(apart)
        and np.median(apart) > _DAY
        and not isinstance(index.dtype, pd.PeriodDtype)
    ):
        raise ValueError(
            f"holidays are those of days, but rows are {pd.Timedelta(np.median(apart))} apart, and "
            "nothing says which days a row stands for. Make them periods of their length, such as "
            "X.index = X.index.to_period('W') of weeks or 'M' of months."
        )


def _days_off(place: str, years: range) -> tuple[Any, str]:
    """Return the holidays of some years, sorted, and the days of the week on which people work."""
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
    mask = "".join("01"[day not in found.weekend] for day in range(7))
    return np.array(sorted(found), dtype="datetime64[D]"), mask
