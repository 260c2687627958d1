"""Columns that hold dates: as such, as objects of Python, or as text in one of the usual ways."""

from collections.abc import Hashable
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype, is_object_dtype, is_string_dtype

#: What times look like in text, and how days are written there.
_ISO = r"\d{4}[-/]\d{1,2}(?:[-/]\d{1,2})?(?:[T ]\d{1,2}:\d{2}.*)?"
_DOTTED = r"\d{1,2}\.\d{1,2}\.\d{4}(?: \d{1,2}:\d{2}(?::\d{2})?)?"
_SLASHED = r"\d{1,2}/\d{1,2}/\d{4}(?: \d{1,2}:\d{2}(?::\d{2})?)?"
_DAYS = {_DOTTED: ("%d.%m.%Y",), _SLASHED: ("%m/%d/%Y", "%d/%m/%Y")}


def find_dates(frame: pd.DataFrame) -> list[Hashable]:
    """Return the names of the columns that hold dates, or text that is a date in all rows.

    >>> frame = pd.DataFrame({"day": ["2024-01-31", "2024-02-29"], "sky": ["blue", "2024-02-29"]})
    >>> find_dates(frame)
    ['day']
    """
    return [name for name in frame.columns if _holds_dates(frame[name])]


def _holds_dates(column: pd.Series) -> bool:
    dtype: Any = column.dtype
    if isinstance(dtype, pd.PeriodDtype) or dtype.kind == "M":
        return True
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith(("date", "timest")):
        return True
    if not (is_object_dtype(dtype) or is_string_dtype(dtype)):
        return False
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    present = column.dropna()
    if not len(present):
        return False
    if infer_dtype(present.iloc[:100]) in ("date", "datetime"):
        return infer_dtype(present) in ("date", "datetime")
    return _find_pattern(present) is not None


def _find_pattern(texts: pd.Series) -> str | None:
    """Return how all of these texts write a date; None if one is none."""
    if not isinstance(texts.iloc[0], str):
        return None
    for pattern in (_ISO, _DOTTED, _SLASHED):
        # The first one excludes nearly every column of text.
        for rows in (texts.iloc[:1], texts):
            matches = rows.astype(str).str.fullmatch(pattern)
            if not matches.all():
                break
        else:
            return pattern
    return None


def find_format(column: pd.Series) -> str:
    """Return the format of a column's times where they are text, "ISO8601" elsewhere.

    >>> find_format(pd.Series(["30.01.2024 06:00", "31.01.2024 06:00"]))
    '%d.%m.%Y %H:%M'
    """
    present = column.dropna()
    pattern = None
    if len(present) and (is_object_dtype(column) or is_string_dtype(column)):
        pattern = _find_pattern(present)
    if pattern not in _DAYS:
        return "ISO8601"
    first = present.iloc[0]
    time_of_day = ["", " %H:%M", " %H:%M:%S"][first.count(":")]
    fitting = []
    for day in _DAYS[pattern]:
        times = pd.to_datetime(present, format=day + time_of_day, errors="coerce")
        if times.notna().all():
            fitting.append(day + time_of_day)
    if len(fitting) > 1:
        raise ValueError(
            f"column {column.name!r} holds {first!r}, in which day and month may be "
            f"swapped: convert it, X[{column.name!r}] = "
            f"pd.to_datetime(X[{column.name!r}], dayfirst=True), or False."
        )
    return fitting[0] if fitting else "ISO8601"


def find_no_date(texts: pd.Series) -> str:
    """Return the first text that is no date as the first one is; the first one if it is none.

    >>> find_no_date(pd.Series(["30.01.2024", "31.01.2024", "Total"]))
    'Total'
    """
    pattern = _find_pattern(texts.iloc[:1])
    if pattern is None:
        return str(texts.iloc[0])
    wrong = texts[~texts.str.fullmatch(pattern)]
    if not len(wrong):  # such as 31 February
        known = pd.to_datetime(
            texts, format="mixed", dayfirst=pattern == _DOTTED, errors="coerce"
        )
        wrong = texts[known.isna()]
    return str(next(iter([*wrong, *texts])))


def holds_days(column: pd.Series) -> bool:
    """Whether a column holds dates of Python or of arrow, which have no time of the day."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return str(dtype).startswith("date")
    # Of polars' dates pandas makes moments of milliseconds.
    if dtype == "datetime64[ms]":
        return bool((column == column.dt.normalize()).all())
    return is_object_dtype(dtype) and infer_dtype(column, skipna=True) == "date"
