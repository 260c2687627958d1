"""Which columns label the rows of a frame: their times, and the names of their series.

Inside, labels stand in the index of a frame of pandas. A layout brings the rows of any frame there,
and forecasts back into the columns and the library in which the rows came.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from skinformer.compatibility.labels import as_index
from skinformer.frames import (
    PANDAS,
    column_names,
    is_foreign,
    is_frame,
    library_of,
    read_frame,
    to_library,
    to_pandas,
)
from skinformer.timeline.clock import is_dated, join_series
from skinformer.validation import layout as checks
from skinformer.validation.date_columns import find_dates, find_format, holds_days
from skinformer.validation.index import check_complete, check_same_rows, read_times
from skinformer.validation.labels import Labels


@dataclass(frozen=True)
class Layout:
    """Where a frame holds the labels of its rows, and of which library it is.

    library: the frame's, by the name that narwhals has for it; "pandas" for what is no frame, too.
    time, series: columns of times and of names of series; None where the index holds them, or where
    there are none.
    format: of times that came as text.
    holds_days: whether times came as dates without a time of the day.
    target: the column that is forecast where the user names none; None is the last one.
    """

    library: str = PANDAS
    time: Hashable = None
    series: Hashable = None
    format: str = "ISO8601"
    holds_days: bool = False
    target: Hashable = None

    def read(self, X: Any, *others: Any) -> tuple[Any, ...]:
        """Return X with its labels in the index, and what goes with its rows labelled like it.

        Rows whose index holds their labels, and those that have none, stay as they are.

        others: y and weights; None for none.
        """
        if not self.has_columns or not is_frame(X):
            return X, *others
        frame = to_pandas(X)
        if self._label not in frame.columns:
            checks.check_labelled(frame, self.time)
            return X, *others
        labelled = move_to_index(frame, self.time, self.series, format=self.format)
        relabelled = [_relabel(other, frame, labelled.index) for other in others]
        return labelled, *relabelled

    def read_rows(self, X: Any) -> Any:
        """Return X with its labels in the index."""
        return self.read(X)[0]

    def write(self, frame: pd.DataFrame, X: Any = None) -> Any:
        """Return a frame, labelled in its index, as X came, or without X as the rows of the fit."""
        layout = self.like(X)
        if layout.has_columns:
            frame = layout._move_to_columns(frame)
        return to_library(frame, layout.library)

    def write_rows(self, frame: pd.DataFrame) -> Any:
        """Return rows that `read` labelled as they came; those whose index labelled them stay."""
        return self.write(frame) if self.has_columns else frame

    def like(self, X: Any) -> "Layout":
        """Return the layout of X, by these columns where X has them; of no frame this one."""
        if not is_frame(X):
            return self
        found = replace(self, library=library_of(X))
        if self.has_columns and self._label in column_names(X):
            return found
        return replace(found, time=None, series=None)

    def labels_in(self, X: Any) -> Labels:
        """Return where X holds the labels of its rows, for messages."""
        format = None
        if self.time is not None and isinstance(X, pd.DataFrame):
            column = as_index(X[self.time][:1])
            is_ready = is_dated(column) or is_integer_dtype(column.dtype)
            format = None if is_ready else self.format
        return Labels(self.time, self.series, format=format)

    @property
    def has_columns(self) -> bool:
        """Whether columns label the rows."""
        return self.time is not None or self.series is not None

    @property
    def _label(self) -> Hashable:
        """The column by which rows of this layout are known."""
        return self.series if self.time is None else self.time

    def _move_to_columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Move labels from the index to their columns."""
        if self.time is None:
            return frame.reset_index(level=0, names=self.series)
        names = [name for name in (self.series, self.time) if name is not None]
        labelled = frame.reset_index(names=names)
        if self.holds_days and self.library != PANDAS:
            labelled[self.time] = labelled[self.time].dt.date
        return labelled


def move_to_index(
    frame: pd.DataFrame,
    time: Hashable,
    series: Hashable,
    *,
    format: str,
    tz: str | None = None,
) -> pd.DataFrame:
    """Move labels from their columns to the index.

    time, series: the columns; None for none.
    format: of times that are text.
    tz: zone that they are put into; None leaves them as they are.
    """
    columns = [name for name in (time, series) if name is not None]
    labels = frame.index
    if time is not None:
        labels = read_times(frame[time], format=format, tz=tz).rename(time)
    if series is not None:
        checks.check_is_column(frame, "series", series)
        check_complete(frame[series], "series")
        names = as_index(frame[series])
        labels = join_series(names, np.arange(len(frame)), labels)
    return frame.drop(columns=columns).set_axis(labels, axis=0)


def read_layout(
    X: Any, *others: Any, time: Hashable, series: Hashable
) -> tuple[Layout, Any, *tuple[Any, ...]]:
    """Find the columns that label the rows of a fit, and move them to the index.

    others: y and weights; None for none.
    time, series: columns that the user named; None for none.

    How X came stands before X and the others.
    """
    if not is_frame(X):
        checks.check_no_frame(time, series)
        return Layout(), X, *others
    frame, library = read_frame(X)
    layout = replace(find_layout(frame, time, series), library=library)
    labelled = layout.read(X, *others)
    if layout.time is not None:
        if time is None:
            checks.warn_of_found_columns(layout.time, layout.series)
        checks.check_rows_in_order(
            frame, labelled[0].index, time=layout.time, series=layout.series
        )
    return layout, *labelled


def find_layout(frame: pd.DataFrame, time: Hashable, series: Hashable) -> Layout:
    """Find the columns that label the rows of a frame: those named, else by what they hold.

    One column of dates is the time of rows that are numbered. `unique_id`, `ds` and `y` are names
    of Nixtla's libraries.

    >>> dated = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"]), "load": [1, 2]})
    >>> find_layout(dated, "day", None).time
    'day'
    """
    if not frame.columns.is_unique:
        return Layout()  # which is refused behind this
    time = _without_index(time, frame)
    series = _without_index(series, frame)
    if time is None and _is_numbered(frame.index):
        time = _find_time(frame)
    if time == "ds" and series is None and "unique_id" in frame.columns:
        series = "unique_id"
    checks.check_label_columns(frame, time, series)
    if time is None:
        return Layout(series=series)
    is_nixtla = time == "ds" and "y" in frame.columns
    return Layout(
        time=time,
        series=series,
        format=find_format(frame[time]),
        holds_days=holds_days(frame[time]),
        target="y" if is_nixtla else None,
    )


def _without_index(name: Hashable, frame: pd.DataFrame) -> Hashable:
    """Return the name of a column; None where the index holds what is named."""
    is_in_index = name not in frame.columns and name in frame.index.names
    return None if is_in_index else name


def _find_time(frame: pd.DataFrame) -> Hashable:
    """Return the one column that holds dates; None if none does."""
    if "ds" in frame.columns:
        return "ds"
    dates = find_dates(frame)
    checks.check_one_time(dates)
    return dates[0] if dates else None


def _is_numbered(index: pd.Index) -> bool:
    """Whether rows are numbered, so that an index says nothing of their times."""
    return index.nlevels == 1 and not is_dated(index) and is_integer_dtype(index.dtype)


def _relabel(other: Any, frame: pd.DataFrame, index: pd.Index) -> Any:
    """Label y or weights like X; arrays go by their order."""
    if is_foreign(other):
        other = to_pandas(other)
        if isinstance(other, pd.Series | pd.DataFrame):
            other.index = frame.index[: len(other)]
    if not isinstance(other, pd.Series | pd.DataFrame):
        return other
    check_same_rows(frame, other)
    return other.set_axis(index, axis=0)
