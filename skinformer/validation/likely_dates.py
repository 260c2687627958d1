"""What labels of time that lie on no grid may mean, and what to type for it."""

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from skinformer.timeline.clock import is_dated, wall_times
from skinformer.validation.labels import Labels

#: Dates that are written as whole numbers: their digits, what is written behind them, the format of
#: both, and how they become times.
_WRITTEN = [
    (8, "", "%Y%m%d", "pd.to_datetime({}.astype(str))"),
    (6, "", "%Y%m", "pd.PeriodIndex({}.astype(str), freq='M')"),
    (6, "1", "%G%V%u", "pd.to_datetime({}.astype(str) + '1', format='%G%V%u')"),
]


def dates_of_numbers(numbers: pd.Index, labels: Labels) -> str | None:
    """Write how whole numbers that are dates, such as 201912, become dates; None if they are none.

    >>> dates_of_numbers(pd.Index([201911, 201912, 202001]), Labels())
    "X.index = pd.PeriodIndex(X.index.astype(str), freq='M')"
    """
    if not is_integer_dtype(numbers.dtype):
        return None
    texts = pd.Index(numbers.astype(str))
    for n_digits, behind, format, make in _WRITTEN:
        if not (texts.str.len() == n_digits).all():
            continue
        dates = pd.to_datetime(texts + behind, format=format, errors="coerce")
        if ((dates.year >= 1900) & (dates.year < 2200)).all():
            return labels.replace_times(make)
    return None


def periods_of_dates(time: pd.Index, labels: Labels) -> str | None:
    """Write how dates become days, weeks, months, quarters or years; None if no such fit.

    They fit where each row has a period of its own, and hardly one is without a row.

    >>> ends = pd.to_datetime(["2024-01-30", "2024-02-29", "2024-03-30"])
    >>> periods_of_dates(ends, Labels())
    "X.index = X.index.to_period('M')"
    """
    if not is_dated(time):
        return None
    walls = wall_times(time)
    naive = "" if getattr(time, "tz", None) is None else ".tz_localize(None)"
    for unit in "DWMQY":
        gaps = np.diff(walls.to_period(unit).asi8)
        if (gaps >= 1).all() and (gaps == 1).mean() > 0.9:
            return labels.replace_times(f"{{}}{naive}.to_period('{unit}')")
    return None
