"""Columns of a frame that label its rows: the time of each, and the series that it is of."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from skinformer.timeline.clock import is_dated
from skinformer.validation.index import are_in_order
from skinformer.validation.warning import warn_user
from skinformer.wording import number_of


def check_no_frame(time: Hashable, series: Hashable) -> None:
    """Raise if columns are named of what is no frame."""
    for parameter, name in (("time", time), ("series", series)):
        if name is not None:
            raise ValueError(
                f"{parameter}={name!r} names a column, and X has no names of columns: pass a frame."
            )


def check_label_columns(frame: pd.DataFrame, time: Hashable, series: Hashable) -> None:
    """Raise if columns that label rows are not there, are the same, or have none beside them.

    time, series: None for none.
    """
    named = {"time": time, "series": series}
    named = {parameter: name for parameter, name in named.items() if name is not None}
    for parameter, name in named.items():
        check_is_column(frame, parameter, name)
    if time is not None and time == series:
        raise ValueError(
            f"time={time!r} and series={series!r} are the same column. Pass series=None for one "
            "series."
        )
    if time is not None and frame.shape[1] == len(named):
        raise ValueError(
            f"X has no columns but {list(frame.columns)}: add what was measured, or, to forecast, "
            "the target with NaN."
        )


def check_is_column(frame: pd.DataFrame, parameter: str, name: Hashable) -> None:
    """Raise if a column that a parameter names is not there."""
    if name not in frame.columns:
        raise ValueError(
            f"{parameter}={name!r} is no column of X, which has {list(frame.columns)}."
        )


def check_one_time(dates: Sequence[Hashable]) -> None:
    """Raise if several columns hold dates, so that nothing says which are the times of rows."""
    if len(dates) > 1:
        raise ValueError(
            f"columns {list(dates)} hold dates: name the one that is the time of each row, "
            f"time={dates[0]!r}, and drop the others or make numbers of them, such as days until "
            "then."
        )


def check_labelled(frame: pd.DataFrame, time: Hashable) -> None:
    """Raise if rows have neither the fitted column of times nor an index of them."""
    index = frame.index
    labels = index.get_level_values(-1)
    if time is None or is_dated(labels) or time in index.names:
        return
    raise ValueError(
        f"X has no column {time!r}, which held the times of the training rows: pass it, or rows "
        "whose index holds them."
    )


def check_rows_in_order(
    frame: pd.DataFrame, index: pd.Index, *, time: Hashable, series: Hashable
) -> None:
    """Raise if a series has two rows of one time, or rows that go back in time.

    index: the labels that the columns of time and series have become.
    """
    twice = index.duplicated()
    if twice.any():
        first = frame[time][twice].iloc[0]
        raise ValueError(
            f"column {time!r} holds {number_of(twice.sum(), 'time')} again, the first "
            f"{str(first)!r}: {_distinguish(frame, time, series)}."
        )
    codes = np.zeros(len(index), dtype=np.int64)
    if series is not None:
        codes, _ = pd.factorize(index.get_level_values(0))
    order = np.argsort(codes, kind="stable")
    times = index.get_level_values(-1)
    if not are_in_order(times[order], codes[order]):
        labels = [time] if series is None else [series, time]
        raise ValueError(
            f"column {time!r} is not in time order: call X.sort_values({labels!r}) before fit; in "
            "cross-validation use TimeSeriesSplit, which keeps the order."
        )


def _distinguish(frame: pd.DataFrame, time: Hashable, series: Hashable) -> str:
    """Write how rows of one time can be told apart."""
    keep_one = f"keep one row a time, X.drop_duplicates({[time]!r})"
    if series is not None:
        return f"keep one row a time and series, X.drop_duplicates({[series, time]!r})"
    for name in frame.columns:
        is_number: Any = is_float_dtype(frame[name].dtype)
        if name != time and not is_number and not frame.duplicated([name, time]).any():
            return f"if they are of several series, name their column, series={name!r}"
    return (
        f"{keep_one}, or name the column of the series that they are of, series='shop'"
    )


def warn_of_found_columns(time: Hashable, series: Hashable) -> None:
    """Warn which columns were taken for the times and the series of rows, unasked."""
    found = f"the times of rows are those of column {time!r}"
    given = f"time={time!r}"
    if series is not None:
        found += f", their series those of {series!r}"
        given += f", series={series!r}"
    warn_user(f"{found}. Pass {given} to say so.")
