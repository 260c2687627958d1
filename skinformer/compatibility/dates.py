"""Days and time zones of pandas 2, whose day is 24 hours and whose zones are those of pytz."""

from __future__ import annotations

import zoneinfo
from typing import Any

from pandas import Timedelta, Timestamp, offsets
from pandas.tseries.frequencies import to_offset

try:  # pandas 2 requires it, and pandas 3 does not
    from pytz.exceptions import InvalidTimeError as _InvalidTimeError
except ImportError:
    _InvalidTimeError = ValueError

#: What pandas raises for a wall time that does not exist, or exists twice.
WALL_TIME_ERRORS = (ValueError, _InvalidTimeError)


def is_elapsed(step: Any) -> bool:
    """Return whether a step is a fixed time, such as hours; a day of the calendar is none.

    >>> [is_elapsed(step) for step in (offsets.Hour(24), offsets.Day(), offsets.Week())]
    [True, False, False]
    """
    return isinstance(step, offsets.Tick) and not isinstance(step, offsets.Day)


def elapsed_step(length: Timedelta) -> Any:
    """Return a fixed time as an offset, which in whole days is one of hours.

    >>> is_elapsed(elapsed_step(Timedelta(days=1)))
    True
    """
    step = to_offset(length)
    return step if is_elapsed(step) else offsets.Hour(24 * length.days)


def zone_named(name: str) -> Any:
    """Find a time zone of the data base, as pandas makes it of its name.

    pandas would read any file by its name; zoneinfo refuses a path that leads out of the data base.
    """
    zoneinfo.ZoneInfo(name)
    return Timestamp(0, tz=name).tz
