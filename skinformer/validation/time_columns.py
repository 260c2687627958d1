"""Columns of time and series, as `TimeIndex` reads them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.clock import is_dated

__all__ = ["check_index_columns", "check_series_given", "frame_of_rows", "read_times"]

#: At the end of a time of day.
_OFFSET = r":\d.*?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)$"
#: Offsets that are none.
_UTC = ("Z", "UTC", "+00:00", "+0000", "+00")


def frame_of_rows(X: Any) -> pd.DataFrame:
    """Make a frame of rows that name their columns, or raise."""
    named = isinstance(X, dict) or (isinstance(X, list) and all(isinstance(row, dict) for row in X))
    if not named:
        raise TypeError(
            f"X is {type(X).__name__}, whose columns have no names: TimeIndex finds the time by "
            "its name. Pass a DataFrame, or a list of dicts, one a row."
        )
    return pd.DataFrame(X)


def check_index_columns(frame: pd.DataFrame, time: Hashable, series: Hashable | None) -> None:
    """Raise if a column that is to become the index is not there, or nothing is left beside it."""
    wanted = {"time": time} | ({} if series is None else {"series": series})
    for parameter, name in wanted.items():
        if name not in frame.columns:
            raise ValueError(
                f"{parameter}={name!r} is no column of X, which has {list(frame.columns)}: name "
                f"the one that holds the {parameter} of each row."
            )
    if time == series:
        raise ValueError(
            f"time={time!r} and series={series!r} are the same column: the series of a row is who "
            "was measured, its time is when. Pass series=None for one series."
        )
    if len(frame.columns) == len(wanted):
        raise ValueError(
            f"X has no columns but {list(frame.columns)}: add what was measured, or, to forecast, "
            "the target with NaN."
        )


def check_series_given(series: pd.Series) -> None:
    """Raise if a row names no series."""
    missing = series.isna().to_numpy().nonzero()[0]
    if len(missing):
        raise ValueError(
            f"column {series.name!r} names no series in row {missing[0]}"
            f"{_more(len(missing))}: every row needs its series. Fill it, or drop those rows."
        )


def read_times(column: pd.Series, *, format: str, tz: str | None) -> pd.Index:
    """
    Read a column of times.

    Parameters
    ----------
    column : Series
        Dates, text or whole numbers.
    format : str
        Of text.
    tz : str or None
        Zone of the result; None leaves it.

    Returns
    -------
    Index
        Of dates, or of whole numbers; none is missing.
    """
    missing = column.isna().to_numpy().nonzero()[0]
    if len(missing):
        raise ValueError(
            f"column {column.name!r} has no time in row {missing[0]}{_more(len(missing))}: every "
            "row needs its time. Fill it, or drop those rows."
        )
    times: pd.Index = pd.Index(column)
    if isinstance(times.dtype, pd.ArrowDtype) and times.dtype.kind == "M":
        times = pd.DatetimeIndex(times)
    if pd.api.types.is_integer_dtype(times.dtype):
        return times
    if not is_dated(times):
        times = _parsed(times, format, column.name, tz)
    if tz is not None and isinstance(times, pd.DatetimeIndex):
        _check_zone(tz)
        times = times.tz_localize(tz) if times.tz is None else times.tz_convert(tz)
    return times


def _check_zone(tz: str) -> None:
    """Raise if there is no such zone."""
    try:
        pd.Timestamp(0, tz=tz)
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"tz={tz!r} is no zone: pass one such as 'Europe/Berlin'.") from error


def _parsed(times: pd.Index, format: str, name: Hashable, tz: str | None) -> pd.Index:
    """Read text."""
    odd = next((value for value in times if not isinstance(value, str)), None)
    if odd is not None:
        raise ValueError(
            f"column {name!r} holds {odd!r}, which is no time: pass dates, text that says them, or "
            "whole numbers."
        )
    read = pd.to_datetime(times, format=format, errors="coerce", utc=True)
    bad = times[read.isna()]
    if len(bad):
        raise ValueError(
            f"column {name!r} holds {bad[0]!r}, which format={format!r} cannot read"
            f"{_more(len(bad))}: pass the format of your dates, such as '%d.%m.%Y %H:%M'."
        )
    # Text with offsets from UTC is taken as it says; that without them is read off a clock.
    offsets = np.asarray(times.str.extract(_OFFSET, expand=False), dtype=object)
    with_offset = pd.notna(offsets)
    if with_offset.any() and not with_offset.all():
        raise ValueError(
            f"column {name!r} holds {times[~with_offset][0]!r} without an offset from UTC and "
            f"{times[with_offset][0]!r} with one: write all times alike."
        )
    if not with_offset.any():
        read = read.tz_localize(None)
    local = with_offset & ~np.isin(offsets, _UTC)
    if tz is None and local.any():
        raise ValueError(
            f"column {name!r} holds {times[local][0]!r}, whose offset from UTC may change with the "
            "seasons: pass the zone whose wall clock counts, such as tz='Europe/Berlin', or "
            "tz='UTC'."
        )
    return read


def _more(count: int) -> str:
    return f" and {count - 1} more" if count > 1 else ""
