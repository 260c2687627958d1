"""The rows of a backtest: their truth, their order, and what an origin may see of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pandas import DataFrame, Index

from skinformer.evaluation.ahead import split_last_step
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.preprocessing.time_index import TimeIndex
from skinformer.reading.layout import Layout, read_layout
from skinformer.reading.places import sort_rows
from skinformer.reading.targets import find_known, read_targets, without
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import RowClock, regular_times, timestamps
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import runs
from skinformer.validation.categories import holds_names
from skinformer.validation.columns import (
    check_ahead,
    check_target_exists,
    labelled_rows,
    numeric_column,
)
from skinformer.validation.index import (
    check_distinct,
    check_same_rows,
    find_start,
    time_labels,
)
from skinformer.validation.truth import check_target_count


@dataclass(frozen=True)
class SortedRows:
    """The rows of X, series after series, each in time.

    hidden: positions of the columns that are not known ahead.
    labels, series: name (None for one series) and number of each row's series.
    first_row: series i holds rows first_row[i] … first_row[i + 1] - 1.
    """

    frame: DataFrame
    hidden: list[int]
    truth: DataFrame
    time: Index
    labels: Index | None
    series: IntArray
    first_row: IntArray

    def origins(
        self, start: Any, horizon: int, step: Any, since: Any = None, until: Any = None
    ) -> DataFrame:
        """List the origins of all series, every `step` rows or at the first row of a step of dates.

        A row for each: ``first``, the first row of its series; ``row`` and ``stop``, the first one
        that it forecasts and the one after the last; ``turn``, its place among those of its series.

        since: the label from which steps of dates are counted; None is the first row's.
        until: the label before which origins lie; None for all rows.
        """
        row = np.arange(len(self.series))
        first = self.first_row[self.series]
        stop = np.minimum(row + horizon, self.first_row[self.series + 1])
        rows = DataFrame({"first": first, "row": row, "stop": stop})
        if start is not None:
            rows = rows[self.time >= find_start(self.time, start)]
        time = self.time[rows["row"]]
        place = np.asarray(rows.groupby("first").cumcount(), dtype=np.int64)
        rows["step"] = count_steps(time, place, step, since)
        origins = rows.drop_duplicates(["first", "step"]).drop(columns="step")
        if until is not None:
            origins = origins[self.time[origins["row"]] < until]
        return origins.assign(turn=origins.groupby("first").cumcount())

    def shown(self, rows: IntArray, ahead: BoolArray) -> DataFrame:
        """Return some rows; of those ahead only what is known then."""
        frame = self.frame.iloc[rows].copy()
        frame.iloc[np.flatnonzero(ahead), self.hidden] = np.nan
        return frame


def count_steps(time: Index, place: IntArray, step: Any, since: Any = None) -> IntArray:
    """Count the steps between origins that have begun at each row.

    place: the rows before it.
    step: rows, or an offset of pandas.
    since: the label from which offsets are counted; None is the earliest one.

    >>> import pandas as pd
    >>> hours = pd.date_range("2024-03-31", periods=24, freq="h", tz="Europe/Berlin")
    >>> count_steps(hours, np.arange(24), pd.offsets.Day())[-2:]
    array([1, 2])
    """
    if isinstance(step, int):
        return place // step
    if not len(time):
        return place
    span = time if since is None else time.insert(0, since)
    begins = regular_times(span, step)
    return begins.searchsorted(timestamps(time), side="right")


def read_sorted_rows(estimator: Any, X: Any, y: Any, known_future: Any) -> SortedRows:
    """Read rows and their truth, and bring those of each series together in time."""
    last = split_last_step(estimator)[1]
    X = labelled_rows(X, _first_number(last))
    truth = _read_truth(_find_targets(estimator, last, X), X, y)
    time, labels = time_labels(X.index)
    check_distinct(time, labels)
    hidden = _hidden_columns(last, list(X.columns), list(truth.columns), known_future)
    rows = sort_rows(time, labels, len(X))
    order = rows.order
    frame = _as_floats(X, hidden).iloc[order]
    if hasattr(last, "roles_") and not last.sizes_.may_miss:
        frame = _without_holes(frame, rows.series, last.roles_)
    return SortedRows(
        frame=frame,
        hidden=hidden,
        truth=truth.iloc[order],
        time=time[order],
        labels=None if labels is None else labels[order],
        series=rows.series,
        first_row=runs(rows.series, rows.series[-1] + 1),
    )


def _first_number(last: Any) -> int:
    """Return the number of the first row: without an index they are counted on from the fit's."""
    if hasattr(last, "timeline_") and isinstance(last.timeline_.clock, RowClock):
        return int(last.timeline_.end_step[0])
    return 0


def read_labels(estimator: Any, X: Any, y: Any) -> tuple[Layout, Any, Any]:
    """Move columns that label rows to the index, and y's labels with them; and find how X came.

    These are the columns of the fit of an Informer, or those that one will be fitted to, or of a
    `TimeIndex` before it.
    """
    transformers, last = split_last_step(estimator)
    layout = getattr(last, "layout_", Layout())
    if not layout.has_columns:
        namer = last
        for transformer in transformers:
            for _, step in getattr(transformer, "steps", []):
                if isinstance(step, TimeIndex):
                    namer = step
        named = {name: getattr(namer, name, None) for name in ("time", "series")}
        return read_layout(X, y, **named)
    labelled = layout.read(X, y)
    return layout.like(X), *labelled


def _as_floats(X: DataFrame, columns: list[int]) -> DataFrame:
    """Convert some columns, as whole numbers have no NaN; names of categories stay."""
    frame = X.copy()
    for j in columns:
        column = X.iloc[:, j]
        if holds_names(column):
            continue
        values = numeric_column(column, X.columns[j])
        frame.isetitem(j, values.astype(np.float64))
    return frame


def _without_holes(frame: DataFrame, series: IntArray, roles: Roles) -> DataFrame:
    """Fill future covariates from their past, as an Informer does.

    Rows of an origin may end in a hole, which there looks like a column that was not filled in.
    Names that may be missing stay.
    """
    nameless = [one.name for one in roles.categories if one.has_missing]
    for name in without(
        roles.sources_of(roles.known), {*roles.sources_of(roles.static), *nameless}
    ):
        if name in frame and frame[name].isna().any():
            frame = frame.copy()
            frame[name] = frame[name].groupby(series).ffill()
    return frame


def _hidden_columns(
    last: Any, names: list[Any], targets: list[Any], known_future: Any
) -> list[int]:
    """Return the positions of columns that neither the user, the fit nor the calendar knows."""
    known = check_ahead(known_future, names, targets)
    if hasattr(last, "roles_"):
        known += last.roles_.sources_of(last.roles_.known)
    shown = find_known(names, known, targets)
    return [j for j, name in enumerate(names) if name not in shown]


def _find_targets(estimator: Any, last: Any, X: DataFrame) -> list[Any]:
    """Return the columns that an Informer, or a `SeasonalNaive`, forecasts; none of others."""
    if isinstance(estimator, SeasonalNaive):
        places = [place for place in estimator.targets_ if place < X.shape[1]]
        return list(X.columns[places])
    if not hasattr(last, "roles_"):
        return []
    if last.roles_.mode == "features":
        raise ValueError(
            "estimator was fitted on features only, so it does not use the actual "
            "values before an origin. Fit it on a frame with the target: fit(X) or "
            "fit(X, y) with y in X."
        )
    return list(last.roles_.targets)


def _read_truth(targets: list[Any], X: DataFrame, y: Any) -> DataFrame:
    """Read the truth of X's rows, one column a target."""
    y = _find_truth(targets, X, y)
    truth = read_targets(y)
    check_same_rows(X, y)
    n_columns = truth.values.shape[1]
    names = targets or list(range(n_columns))
    # Other libraries call a Series without a name "".
    if truth.own_names and truth.index is not None:
        names = list(truth.names)
    if targets:
        check_target_count(len(targets), n_columns)
        if names != targets and set(names) <= set(X.columns):
            raise ValueError(
                f"y holds {names!r}, but the estimator forecasts {targets!r}. Pass the "
                f"actual values of these, such as y=X[{targets!r}]."
            )
    return DataFrame(truth.values, X.index, Index(names, tupleize_cols=False))


def _find_truth(targets: list[Any], X: DataFrame, y: Any) -> Any:
    """Return y, or of a frame, be it y or X, the columns of the targets."""
    if y is None:
        if not targets:
            raise ValueError(
                "y=None needs an estimator that knows its target, such as InformerRegressor("
                "target='load'). Pass the actual values, such as y=X['load']."
            )
        for target in targets:
            check_target_exists(target, list(X.columns), named=True)
        return X[targets]
    if targets and isinstance(y, DataFrame) and set(targets) <= set(y.columns):
        return y[targets]
    return y
