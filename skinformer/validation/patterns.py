"""What rows follow that lie on no steps of one length: a zone's clock, open days and hours."""

from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.clock import Clock, infer_step, lies_on, wall_times
from skinformer.validation import advice

_DAY = pd.Timedelta(days=1)
_HOUR = pd.Timedelta(hours=1)
_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_TWO_WEEKS = 14  # days in which each day of the week comes twice
_KEPT = 0.75  # share of the open days or hours that have rows, else rows come at any time


def take_as(time: pd.Index, *, panel: bool) -> str:
    """Return the sentence by which rows at irregular times become regular; else nothing.

    time: of one series, ascending.
    """
    if not isinstance(time, pd.DatetimeIndex) or len(time) < 3:
        return ""
    days = _open_days(time)
    if days is not None:
        return f"Rows lie on {days} alone: pass freq={advice.written(_days_step(days))}."
    twice = _twice_a_month(time)
    if twice is not None:
        return f"Rows come twice a month: pass freq={advice.written(twice)}."
    return _by_another_clock(time, panel=panel) or _by_number(time, panel=panel)


def _by_another_clock(time: pd.DatetimeIndex, *, panel: bool) -> str:
    """Return how rows are read that are regular by another clock than their index's."""
    level = ", level=1" if panel else ""
    if time.tz is not None:
        walls = time.tz_localize(None)
        if walls.is_unique and walls.is_monotonic_increasing and _is_regular(walls):
            return (
                f"They are regular by the clock on the wall of {time.tz}, whose days of 23 and 25 "
                f"hours no such step divides: take what the wall shows, X.tz_localize(None{level})."
            )
        if _is_regular(time.tz_convert("UTC").tz_localize(None)):
            return f"They are regular in UTC: X.tz_convert('UTC'{level})."
    finer = _written_in_utc(time)
    if finer is None:
        return ""
    call = f"tz_convert(zone{level})"
    zone = str(time.tz)
    if time.tz is None:
        call = f"tz_localize('UTC'{level}).{call}"
        zone = "UTC"
    if finer:
        call += f".tz_localize(None{level})"
    return (
        "They move by an hour with summer time: they follow the clock of a zone, and were written "
        f"in {zone}. Name their own, such as "
        f"zone='Europe/Berlin', X.{call}."
    )


def after_a_change(given: pd.Index, due: pd.Index, clock: Clock, *, panel: bool) -> str:
    """Return how rows that came an hour early or late follow a history; else nothing.

    given, due: the label of the first of them, and that of the step after the history.
    clock: of the history.
    """
    if not isinstance(due, pd.DatetimeIndex) or abs(given[0] - due[0]) != _HOUR:
        return ""
    level = ", level=1" if panel else ""
    ticks = isinstance(clock.freq, pd.offsets.Tick)
    if ticks and pd.Timedelta(clock.freq) <= _HOUR:
        if not advice.in_a_night_of_change(due):
            return ""
        what = "skips an hour in spring" if given[0] > due[0] else "repeats an hour in autumn"
        return (
            f"Naive local time {what}: fit again on rows with their zone, X.tz_localize(zone). "
            "Otherwise pass all rows since then."
        )
    if ticks and due.tz is not None:
        return (
            f"Rows follow the clock on the wall of {due.tz}, which moves by an hour with summer "
            f"time: fit again, and update, on X.tz_localize(None{level})."
        )
    call = f"tz_convert(zone{level})"
    if due.tz is None:
        call = f"tz_localize('UTC'{level}).{call}"
    return (
        "Rows move by an hour with summer time: fit again, and update, on rows in the zone whose "
        f"clock they follow, X.{call}."
    )


def _is_regular(walls: pd.DatetimeIndex) -> bool:
    """Check whether naive dates have a step."""
    return infer_step(pd.DatetimeIndex(walls.to_numpy()), None) is not None


def _written_in_utc(time: pd.DatetimeIndex) -> bool | None:
    """Return whether steps are finer than days, where they move by an hour in summer; else None."""
    walls = wall_times(time)
    gaps = np.diff(walls.as_unit("us").asi8)
    hour = 3_600_000_000  # microseconds
    day = 24 * hour
    lengths, counts = np.unique(gaps, return_counts=True)
    unit = min(int(lengths[counts.argmax()]), day)
    if unit < 3 * hour:  # an hour more and one less are not told apart
        return None
    moved = (gaps + unit // 2) % unit - unit // 2
    turns = np.abs(moved) == hour
    years = (walls[-1] - walls[0]) / (365 * _DAY)
    if not 0 < turns.sum() <= 2 * years + 2 or moved[~turns].any():
        return None
    offset = np.append(0, np.cumsum(moved))
    if np.ptp(offset) > hour:
        return None
    still = walls - pd.to_timedelta(offset, unit="us")
    if unit < day:
        return True if _is_regular(still) else None
    nights = still.normalize()  # on the day of the zone, which may be the next one
    return False if _is_regular(nights) or _is_regular(nights + _DAY) else None


def _by_number(time: pd.DatetimeIndex, *, panel: bool) -> str:
    """Return how rows are counted that are a month, a dekad or so apart, by no step of pandas."""
    walls = wall_times(time)
    gaps = walls[1:] - walls[:-1]
    if (gaps % _DAY != pd.Timedelta(0)).any() or gaps.max() >= 2 * gaps.min():
        return ""
    return (
        "If each row follows the one before it, as in 4-4-5 weeks or dekads, number them, "
        f"{advice.number_rows('X', panel=panel)}, as resample(freq).mean() would mix them."
    )


def _twice_a_month(time: pd.DatetimeIndex) -> Any:
    """Return the step of rows on two days of each month, or None."""
    walls = wall_times(time)
    days = sorted(set(walls.day[~walls.is_month_end]))
    if len(days) == 1 and 1 <= days[0] <= 27:
        step: Any = pd.offsets.SemiMonthEnd(day_of_month=days[0])
    elif len(days) == 2 and days[0] == 1 and days[1] <= 27:
        step = pd.offsets.SemiMonthBegin(day_of_month=days[1])
    else:
        return None
    return step if lies_on(time, step) else None


def open_times(time: pd.Index, step: Any) -> str | None:
    """Write the step of rows that lie on some days of the week or hours of the day alone.

    step: days, or hours, between which rows are missing. None where rows lie on all of them.
    """
    walls = wall_times(time)
    if isinstance(step, pd.offsets.Day) and walls.day_of_week.max() <= 4:
        return repr("B" if step.n == 1 else f"{step.n}B")
    if isinstance(step, pd.offsets.Day):
        days = _open_days(time) if step.n == 1 else None
        return None if days is None else advice.written(_days_step(days))
    return _open_hours(walls) if step == pd.offsets.Hour() else None


def _open_days(time: pd.Index) -> str | None:
    """Name the days of the week of daily rows that leave some out, as a `weekmask`; else None."""
    walls = wall_times(time)
    dates = walls.normalize()
    of_day = walls - dates
    if (of_day != of_day[0]).any() or (dates[-1] - dates[0]).days < _TWO_WEEKS:
        return None
    is_open = np.isin(np.arange(7), walls.day_of_week)
    all_days = pd.date_range(dates[0], dates[-1]).day_of_week
    n_open = is_open[all_days].sum()
    if not 1 < is_open.sum() < 7 or len(walls) < _KEPT * n_open:
        return None
    return " ".join(np.array(_NAMES)[is_open])


def _days_step(days: str) -> Any:
    """Return the step from one of some days of the week to the next."""
    if days == "Mon Tue Wed Thu Fri":
        return pd.offsets.BDay()
    return pd.offsets.CustomBusinessDay(weekmask=days)


def _open_hours(walls: pd.DatetimeIndex) -> str | None:
    """Write the step of hours of the day that all lie between an opening and a closing; or None."""
    hours = np.unique(walls.hour)
    n_hours = len(hours)
    n_days = (walls[-1].normalize() - walls[0].normalize()).days + 1
    if not 2 <= n_hours <= 22 or np.ptp(hours) >= n_hours or 2 * n_days < _TWO_WEEKS:
        return None
    days = [name for day, name in enumerate(_NAMES) if day in walls.day_of_week]
    if len(walls) < _KEPT * n_hours * n_days * len(days) / 7:
        return None
    opening = walls[0].replace(hour=int(hours[0]))
    closing = opening + n_hours * _HOUR
    start = f"{opening:%H:%M}"
    end = f"{closing:%H:%M}"
    if days == list(_NAMES[:5]):
        return advice.written(pd.offsets.BusinessHour(start=start, end=end))
    hours_of: Any = pd.offsets.CustomBusinessHour  # whose weekmask stubs of pandas lack
    return advice.written(hours_of(weekmask=" ".join(days), start=start, end=end))
