"""Calendar fields of dates as whole numbers, by operations that an exported graph has."""

import torch
from torch import Tensor

_MINUTE = 60_000_000  # microseconds
#: Days of 400 years, after which the calendar, weekdays included, begins anew.
_CYCLE = 146_097
#: From 1 March of the year 0 to 1970. Exporters may write a constant in single precision: all here
#: have few enough digits.
_TO_1970 = 719_468


def calendar_fields(time: Tensor, names: tuple[str, ...]) -> Tensor:
    """Read calendar fields off wall times in microseconds since 1970: (…) int64 to (…, n_fields).

    Names are "minute", "hour", "weekday", "day", "week", "month", counted from 0 as in
    `skinformer.timeline.calendar`, and "year_day", counted from 0, too. Years begin in March: the
    leap day is their last one, and the months before it follow from the day by one line, ``(5 · day
    + 2) // 153`` (Hinnant, chrono-compatible date algorithms). All divisions are ``//``: another
    rounding mode becomes a division of floats in an exported graph, which is too coarse for
    microseconds.
    """
    minutes = time // _MINUTE
    minute_of_day = minutes % 1440
    days = minutes // 1440 + _TO_1970
    day_of_cycle = days % _CYCLE
    leap_days = day_of_cycle // 1460 - day_of_cycle // 36_524 + day_of_cycle // (_CYCLE - 1)
    year = (day_of_cycle - leap_days) // 365
    day_of_year = day_of_cycle - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153  # 0 is March
    late = month < 10  # before the turn of the year of everyone else
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year == 0))
    since_january = torch.where(late, day_of_year + 59 + leap.long(), day_of_year - 306)
    fields = {
        "minute": minute_of_day % 60,
        "hour": minute_of_day // 60,
        "weekday": (days + 2) % 7,  # 1 March of the year 0 was a Wednesday
        "day": day_of_year - (153 * month + 2) // 5,
        "week": since_january // 7,
        "year_day": since_january,
        "month": torch.where(late, month + 2, month - 10),
    }
    return torch.stack([fields[name] for name in names], dim=-1)
