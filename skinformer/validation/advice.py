"""What to type instead, read off the labels of an index that is not fit to be a clock."""

from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import Clock, is_dated, wall_times

_ZONE_AT_END = r"(Z|[+-]\d{2}:?\d{2})$"
_DATE = r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(?:\D|$)"
#: Units in which moments are counted from 1970 on, so many of them a second.
_UNIX = {
    "s": ("seconds", 1),
    "ms": ("milliseconds", 10**3),
    "us": ("microseconds", 10**6),
    "ns": ("nanoseconds", 10**9),
}
_NUMERIC_DATE = r"^(\d{1,2})([./-])(\d{1,2})[./-](\d{2,4})"


def written(step: Any) -> str:
    """Write a step as one types it: ``'h'``, ``'MS'`` or ``pd.DateOffset(months=1)``.

    One that takes more than a line, with holidays, is called by the name of its parameter.
    """
    if type(step) is pd.DateOffset:
        spans = ", ".join(f"{name}={value}" for name, value in step.kwds.items())
        return f"pd.DateOffset({spans})"
    if not isinstance(step, pd.offsets.BusinessHour | pd.offsets.CustomBusinessDay):
        return repr(str(getattr(step, "freqstr", step)))
    if type(step) is pd.offsets.BusinessHour and step == pd.offsets.BusinessHour():
        return repr("bh")
    mask = getattr(step, "weekmask", None)
    holidays = getattr(step, "holidays", ())
    if step.n != 1 or holidays or not isinstance(mask, str | None):
        return "freq"
    given = [] if mask is None else [f"weekmask={mask!r}"]
    given += [f"start='{time:%H:%M}'" for time in getattr(step, "start", ())]
    given += [f"end='{time:%H:%M}'" for time in getattr(step, "end", ())]
    return f"pd.offsets.{type(step).__name__}({', '.join(given)})"


def make_times(index: pd.Index, name: str, *, panel: bool) -> str:
    """Return how labels become times or numbers."""
    number = number_rows(name, panel=panel)
    labels, put = _rewrite(name, panel=panel)
    if pd.api.types.is_bool_dtype(index.dtype) or pd.api.types.is_complex_dtype(index.dtype):
        return f"number the rows, {number}"
    if pd.api.types.is_timedelta64_dtype(index.dtype):
        made = put.format(f"pd.Timestamp('2000-01-01') + {labels}")
        return f"add the moment that they count from, {made}"
    if pd.api.types.is_numeric_dtype(index.dtype):
        whole = _whole(index.to_numpy(dtype=np.float64, na_value=np.nan), labels)
        if whole is None:
            return f"number the rows, {number}"
        what, call = whole
        return f"{what}, {put.format(call)}, or number the rows, {number}"
    call, why = _parse(index)
    return f"convert them, {put.format(call.format(labels))}{why}, or number the rows, {number}"


def _whole(values: Float64Array, labels: str) -> tuple[str, str] | None:
    """Return what whole numbers that are written as decimals become, and the call; else None."""
    if not np.isfinite(values).all() or (values % 1).any():
        return None
    whole = f"{labels}.astype(int)"
    coded = dates_in(pd.Index(values.astype(np.int64)))
    if coded is None:
        return "make them whole numbers", whole
    call, what = coded
    return f"make them the {what} that they are", call.format(whole)


def number_rows(name: str, *, panel: bool) -> str:
    """Write the call that counts the rows of a frame, or of each of its series."""
    if not panel:
        return f"{name}.reset_index(drop=True)"
    counted = f"{name}.assign(step={name}.groupby(level=0).cumcount())"
    return f"{counted}.set_index('step', append=True).droplevel(1)"


def _rewrite(name: str, *, panel: bool) -> tuple[str, str]:
    """Write where the labels of time are, and the line that puts others there."""
    index = f"{name}.index"
    if panel:
        return f"{index}.levels[1]", f"{index} = {index}.set_levels({{}}, level=1)"
    return index, f"{index} = {{}}"


def reads_dates(texts: pd.Series) -> bool:
    """Return whether all texts begin with a date in numbers."""
    return bool(texts.str.match(_DATE).all())


def read_dates(column: str, texts: pd.Series) -> str:
    """Write the call that reads dates off a column of text, and why it is this one."""
    call, why = _parse(pd.Index(texts))
    call = call.format(column).replace(".tz_convert", ".dt.tz_convert")
    return f"{call}{why}"


def _parse(index: pd.Index) -> tuple[str, str]:
    """Find the call that reads dates off text, and why it is this one."""
    text = index.dropna().unique().astype(str)
    offsets = text.str.extract(_ZONE_AT_END, expand=False)
    if offsets.notna().all() and len(offsets.unique()) > 1:
        call = "pd.to_datetime({}, utc=True).tz_convert(zone)"
        return call, " (their UTC offsets differ, so name the zone, such as 'Europe/Berlin')"
    parts = text.str.extract(_NUMERIC_DATE)
    if not len(parts) or parts.isna().any(axis=None):
        return "pd.to_datetime({})", ""
    first = parts[0].astype(int)
    second = parts[2].astype(int)
    mark = parts[1].iloc[0]
    if mark != "." and first.max() <= 12 and not _is_month(second, beside=first):
        return "pd.to_datetime({})", ""
    why = " (the day comes first)"
    two_digits = (parts[3].str.len() == 2).all()
    if two_digits and (text.str.count(r"\d") <= 6).all():
        return f"pd.to_datetime({{}}, format='%d{mark}%m{mark}%y')", why
    return "pd.to_datetime({}, dayfirst=True)", why


def _is_month(numbers: pd.Series, beside: pd.Series) -> bool:
    """Return whether numbers of dates vary as months do, where those beside them are one day."""
    return len(beside.unique()) == 1 < len(numbers.unique()) and bool(numbers.max() <= 12)


def read_again(time: pd.Index, *, panel: bool) -> str:
    """Return how dates were misread, if they evidently were; else nothing."""
    labels, put = _rewrite("X", panel=panel)
    if not is_dated(time):
        reading = dates_in(time)
        if reading is None:
            return ""
        call, what = reading
        return f"Its numbers are {what}: make them dates, {put.format(call.format(labels))}."
    if not isinstance(time, pd.DatetimeIndex) or time.tz is not None:
        return ""
    if len(time.month.unique()) > 1 or time.day.max() > 12:
        return ""
    if len(time.year.unique()) == 1 or len(time.day.unique()) == 1:
        return ""
    shown = "%Y-%d-%m" if (time == time.normalize()).all() else "%Y-%d-%m %H:%M:%S"
    swap = put.format(f"pd.to_datetime({labels}.strftime({shown!r}))")
    return (
        "All dates lie in the first twelve days of one month, so day and month were swapped when "
        f"they were read: {swap} swaps them back, dayfirst=True reads them rightly."
    )


def dates_in(numbers: pd.Index) -> tuple[str, str] | None:
    """Find the call that reads whole numbers as dates, and what they are; None if they are none.

    202412 is a month, 20241231 a day, and 1735600000 are seconds since 1970.
    """
    values = numbers.to_numpy(dtype=np.int64)
    least = values.min()
    most = values.max()
    of_1990 = 631_152_000  # seconds since 1970
    of_2100 = 4_102_444_800
    for unit, (name, per_second) in _UNIX.items():
        if least >= of_1990 * per_second and most < of_2100 * per_second:
            return f"pd.to_datetime({{}}, unit={unit!r})", f"{name} since 1970"
    month = values % 100
    if least >= 170000 and most < 220100 and ((month >= 1) & (month <= 12)).all():
        return "pd.PeriodIndex({}.astype(str), freq='M')", "months"
    if least < 17000101 or most > 22001231:
        return None
    days = pd.to_datetime(pd.Index(values).astype(str), format="%Y%m%d", errors="coerce")
    if days.hasnans:
        return None
    return "pd.to_datetime({}.astype(str), format='%Y%m%d')", "days"


def add_rows(time: pd.Index, clock: Clock, *, panel: bool) -> str:
    """Write the call that adds the missing rows of a frame."""
    if isinstance(time, pd.PeriodIndex):
        ends = "x.index[0][1], x.index[-1][1]" if panel else "X.index[0], X.index[-1]"
        call = f"reindex(pd.period_range({ends}, freq={time.freqstr!r}))"
    elif is_dated(time):
        call = f"asfreq({written(clock.freq)})"
    else:
        ends = "x.index[0][1], x.index[-1][1] + 1" if panel else f"{time[0]}, {time[-1] + 1}"
        every = "" if clock.freq == 1 else f", {clock.freq}"
        call = f"reindex(range({ends}{every}))"
    return on_each(call, panel=panel)


def regrid(time: pd.Index, *, panel: bool) -> str:
    """Return how rows at any times become rows a step apart."""
    if is_dated(time):
        mean = "groupby(level=0).resample(freq, level=1)" if panel else "resample(freq)"
        return f"resample, X.{mean}.mean()"
    if panel:
        return "number the rows of each series, X.groupby(level=0).cumcount()"
    return "number the rows, X.reset_index(drop=True)"


def on_each(call: str, *, panel: bool) -> str:
    """Write a call on a frame, or on that of each series of a panel."""
    if panel:
        return f"X.groupby(level=0).apply(lambda x: x.droplevel(0).{call})"
    return f"X.{call}"


def skips_an_hour(first: pd.Index, missing: IntArray, clock: Clock) -> bool:
    """Return whether all gaps are those of nights when the clocks went forward."""
    if not in_a_night_of_change(first) or not isinstance(clock.freq, pd.offsets.Tick):
        return False
    return bool((missing * pd.Timedelta(clock.freq) == pd.Timedelta(hours=1)).all())


def in_a_night_of_change(time: pd.Index) -> bool:
    """Return whether naive dates lie between 1 and 4 on Sundays of spring or autumn."""
    if not isinstance(time, pd.DatetimeIndex) or time.tz is not None:
        return False
    sunday = time.day_of_week == 6
    season = time.month.isin([3, 4, 9, 10, 11])
    night = time.hour.isin([1, 2, 3])
    return bool((sunday & season & night).all())


def share_grid(time: pd.Index, series: IntArray, step: Any) -> str | None:
    """Write the call that puts series whose steps begin at other times onto one grid.

    time, series: of each row, in time order within each series.
    step: that one of them keeps.

    None where that would bring two rows of a series together.
    """
    if not isinstance(time, pd.DatetimeIndex):
        return None
    stamps = wall_times(time)
    to_stamps = "tz_localize(None)"
    period = _period_of(step)
    if period is not None:
        grid = stamps.to_period(period).start_time
        call = f"to_period({period!r}).start_time"
    elif isinstance(step, pd.offsets.Day | pd.offsets.Tick):
        if isinstance(step, pd.offsets.Tick) and time.tz is not None:
            stamps = time.tz_convert("UTC")  # on the wall an hour comes twice in autumn
            to_stamps = "tz_convert('UTC')"
        grid = stamps.floor(step.freqstr)
        call = f"floor({step.freqstr!r})"
    else:
        return None
    if not pd.MultiIndex.from_arrays([series, grid]).is_unique:
        return None
    if time.tz is not None:
        call = f"{to_stamps}.{call}"
    return f"X.rename(index=lambda time: time.{call}, level=1)"


def _period_of(step: Any) -> str | None:
    """Name the period that holds one step each, wherever in it the steps of a series lie."""
    if isinstance(step, pd.offsets.Day):
        return "W" if step.n % 7 == 0 else None
    if type(step) is pd.DateOffset and set(step.kwds) == {"months"}:
        return "M"
    rule = step.freqstr.lstrip("0123456789").split("-")[0]
    if rule in ("MS", "ME", "BMS", "BME"):
        return "M"
    return rule[0] if rule in ("W", "QS", "QE", "YS", "YE") else None
