"""Public holidays of Auckland: known of any day to come, as the law sets them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.tseries.offsets import Easter

from skinformer.timeline.clock import is_dated, wall_times

#: 714 is 14 July: 2023, 2024 …, from Te Kāhui o Matariki Public Holiday Act 2022, schedule 1.
# fmt: off
_MATARIKI = (
    714, 628, 620, 710, 625, 714, 706, 621, 711, 702, 624, 707, 629, 718, 710,
    625, 715, 706, 719, 711, 703, 624, 707, 629, 719, 703, 625, 715, 630, 621,
)
# fmt: on
_YEARS = range(2023, 2023 + len(_MATARIKI))
_ONE_PM = np.timedelta64(13, "h")
_FAR = 28  # days from Christmas that are no longer counted

DayArray = npt.NDArray[np.datetime64]


def auckland_holidays(index: pd.Index) -> pd.DataFrame:
    """
    Tell what is known ahead of each hour or day in Auckland: public holidays and days around them.

    Each value follows from its own timestamp and the law, so that the columns can be named in
    `known_future`, also for rows to come.

    Parameters
    ----------
    index : DatetimeIndex or PeriodIndex of shape (n,)
        Times from 2023 to 2052. A time zone is converted to Auckland's; without one the times are
        taken as local.

    Returns
    -------
    DataFrame of shape (n, 6)
        Whole numbers, with the given index.

    Raises
    ------
    TypeError
        If the index has no dates.
    ValueError
        If a year is before 2023 or after 2052: the law names the days of Matariki for these.

    See Also
    --------
    load_auckland_pedestrians : Counts that feel these days.

    Notes
    -----
    ======================== =====================================================
    ``holiday``              1 on a public holiday. One that falls on a weekend is
                             the weekday on which it is observed.
    ``shops_closed``         1 when shops have to be: Good Friday, Easter Sunday,
                             Christmas Day, and Anzac Day until 13:00
    ``free_yesterday``       1 if the day before is a Saturday, Sunday or holiday
    ``free_tomorrow``        1 if the day after is
    ``days_to_christmas``    days until 25 December, 28 if more
    ``days_since_christmas`` days since 25 December, 28 if more
    ======================== =====================================================

    References
    ----------
    .. [1] Holidays Act 2003, New Zealand, sections 44 to 45A.
    .. [2] Te Kāhui o Matariki Public Holiday Act 2022, schedule 1.
    .. [3] Shop Trading Hours Act 1990, section 3.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.datasets import auckland_holidays
    >>> days = pd.date_range("2024-12-24", periods=4, freq="D")
    >>> auckland_holidays(days)[["holiday", "shops_closed", "free_tomorrow"]]
                holiday  shops_closed  free_tomorrow
    2024-12-24        0             0              1
    2024-12-25        1             1              1
    2024-12-26        1             0              0
    2024-12-27        0             0              1
    """
    local = index
    if getattr(index, "tz", None) is not None:
        local = pd.to_datetime(index).tz_convert("Pacific/Auckland")
    if not is_dated(local):
        raise TypeError(
            f"index is {type(local).__name__}, but holidays are those of dates. Pass the index of "
            "the frame, X.index, or pd.to_datetime(...) of its labels."
        )
    walls = wall_times(local)
    beyond = sorted({*walls.year} - {*_YEARS})
    if beyond:
        raise ValueError(
            f"index holds the year {beyond[0]}, must be {_YEARS[0]} to {_YEARS[-1]}: for these the "
            f"law names the days of Matariki. Pass index[(index.year >= {_YEARS[0]}) & "
            f"(index.year <= {_YEARS[-1]})]."
        )
    hour = walls.to_numpy().astype("datetime64[h]")
    day = hour.astype("datetime64[D]")
    # A year more at either end, for the days before and after.
    years = range(_YEARS.start - 1, _YEARS.stop + 1)
    holidays = np.concatenate([_public_holidays(year) for year in years])
    easter = np.array([_easter(year) for year in years])
    anzac, christmas = (np.array([_date(y, *day) for y in years]) for day in ((4, 25), (12, 25)))
    closed = np.concatenate([easter - 2, easter, christmas])
    to_christmas = christmas[np.searchsorted(christmas, day)] - day
    since_christmas = day - christmas[np.searchsorted(christmas, day, side="right") - 1]
    columns = {
        "holiday": np.isin(day, holidays),
        "shops_closed": np.isin(day, closed) | (np.isin(day, anzac) & (hour < day + _ONE_PM)),
        "free_yesterday": ~np.is_busday(day - 1, holidays=holidays),
        "free_tomorrow": ~np.is_busday(day + 1, holidays=holidays),
        "days_to_christmas": np.minimum(to_christmas.astype(np.int64), _FAR),
        "days_since_christmas": np.minimum(since_christmas.astype(np.int64), _FAR),
    }
    return pd.DataFrame(columns, index=index).astype("int64")


def _public_holidays(year: int) -> DayArray:
    """List the days of a year on which holidays are observed."""
    moved = [_date(year, *day) for day in ((2, 6), (4, 25))]  # Waitangi, Anzac
    days = [_monday(day) if _weekend(day) else day for day in moved]
    # New Year and Christmas have two days: Saturday and Sunday become Monday and Tuesday.
    two = [_date(year, *day) for day in ((1, 1), (1, 2), (12, 25), (12, 26))]
    days += [day + 2 if _weekend(day) else day for day in two]
    # Anniversary Day is nearest to 29 January; King's Birthday the first, Labour Day the fourth.
    days += [_monday(_date(year, *day)) for day in ((1, 26), (6, 1), (10, 22))]
    days += [_easter(year) - 2, _easter(year) + 1]
    if year in _YEARS:
        days.append(_date(year, *divmod(_MATARIKI[year - _YEARS.start], 100)))
    return np.array(days)


def _date(year: int, month: int, day: int) -> np.datetime64:
    return np.datetime64(f"{year}-{month:02}-{day:02}", "D")


def _easter(year: int) -> np.datetime64:
    """Give Easter Sunday."""
    sunday = pd.Timestamp(year=year, month=1, day=1) + Easter()
    return _date(sunday.year, sunday.month, sunday.day)


def _monday(day: np.datetime64) -> np.datetime64:
    """Give the first Monday that is not before a day."""
    return np.busday_offset(day, 0, roll="forward", weekmask="Mon")


def _weekend(day: np.datetime64) -> bool:
    return not np.is_busday(day)
