"""The rows of a backtest: their truth, their order, and what an origin may see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer.evaluation.ahead import split_last_step
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.reading.places import sort_rows
from skinformer.reading.targets import find_known, read_targets
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import runs
from skinformer.timeline.windows import origins_between
from skinformer.validation import columns as checks
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

    frame: pd.DataFrame
    hidden: list[int]
    truth: pd.DataFrame
    time: pd.Index
    labels: pd.Index | None
    series: IntArray
    first_row: IntArray

    def origins(self, start: Any, horizon: int, step: int) -> pd.DataFrame:
        """List the origins of all series, every `step` rows.

        A row for each: ``first``, the first row of its series; ``row`` and ``stop``, the first one
        that it forecasts and the one after the last; ``turn``, its place among those of its series.
        """
        first = self.first_row[:-1]
        ends = self.first_row[1:]
        begin = first
        if start is not None:
            is_early = self.time < find_start(self.time, start)
            begin = first + np.bincount(self.series[is_early], minlength=len(ends))
        n_origins = -((begin - ends) // step)
        turn = origins_between(np.zeros_like(n_origins), n_origins - 1)
        row = np.repeat(begin, n_origins) + step * turn
        series = self.series[row]
        stop = np.minimum(row + horizon, ends[series])
        return pd.DataFrame(
            {"first": first[series], "row": row, "stop": stop, "turn": turn}
        )

    def shown(self, rows: IntArray, ahead: BoolArray) -> pd.DataFrame:
        """Return some rows; of those ahead only what is known then."""
        frame = self.frame.iloc[rows].copy()
        frame.iloc[np.flatnonzero(ahead), self.hidden] = np.nan
        return frame


def read_sorted_rows(
    estimator: Any, X: Any, y: Any, known_future: str | Sequence[Any]
) -> SortedRows:
    """Read rows and their truth, and bring those of each series together in time."""
    last = split_last_step(estimator)[1]
    X = checks.labelled_rows(X, _first_number(last))
    truth = _read_truth(_find_targets(estimator, last, X), X, y)
    time, labels = time_labels(X.index)
    check_distinct(time, labels)
    hidden = _hidden_columns(last, list(X.columns), list(truth.columns), known_future)
    frame = X.copy()
    for j in hidden:  # whole numbers have no NaN
        values = checks.numeric_column(X.iloc[:, j], X.columns[j])
        frame.isetitem(j, values.astype(np.float64))
    rows = sort_rows(time, labels, len(X))
    order = rows.order
    return SortedRows(
        frame=frame.iloc[order],
        hidden=hidden,
        truth=truth.iloc[order],
        time=time[order],
        labels=None if labels is None else labels[order],
        series=rows.series,
        first_row=runs(rows.series, rows.series[-1] + 1),
    )


def _hidden_columns(
    last: Any, names: list[Any], targets: list[Any], known_future: Any
) -> list[int]:
    """Return the positions of columns that neither the user, the fit nor the calendar knows."""
    known = checks.check_ahead(known_future, names, targets)
    if hasattr(last, "roles_"):
        known += last.roles_.known
    shown = find_known(names, known, targets)
    return [j for j, name in enumerate(names) if name not in shown]


def _first_number(last: Any) -> int:
    """Return the number of the first row without an index, after those that a fit has counted."""
    history = getattr(last, "timeline_", None)
    counts_rows = history is not None and isinstance(history.clock, RowClock)
    return int(last.timeline_.end_step[0]) if counts_rows else 0


def _find_targets(estimator: Any, last: Any, X: pd.DataFrame) -> list[Any]:
    """Return the columns that an Informer, or a `SeasonalNaive`, forecasts; none of others."""
    if isinstance(estimator, SeasonalNaive):
        return [X.columns[place] for place in estimator.targets_ if place < X.shape[1]]
    if not hasattr(last, "roles_"):
        return []
    if last.roles_.mode == "features":
        raise ValueError(
            "estimator was fitted on features alone, so the truth before an origin does not reach "
            "it. Fit it on a frame that holds the target: fit(X) or fit(X, y) with y in X."
        )
    return list(last.roles_.targets)


def _read_truth(targets: list[Any], X: pd.DataFrame, y: Any) -> pd.DataFrame:
    """Find the truth of X's rows, one column a target."""
    if y is None and not targets:
        raise ValueError(
            "y=None needs an estimator that knows its target, such as InformerRegressor("
            "target='load'). Pass the truth, such as y=X['load']."
        )
    if y is None:
        for target in targets:
            checks.check_target_exists(target, list(X.columns), named=True)
        y = X[targets]
    elif targets and isinstance(y, pd.DataFrame) and set(targets) <= set(y.columns):
        y = y[targets]  # of X itself, say
    truth = read_targets(y)
    check_same_rows(X, y)
    n_columns = truth.values.shape[1]
    names = targets or list(range(n_columns))
    if (
        truth.own_names and truth.index is not None
    ):  # other libraries call a Series without a name ""
        names = list(truth.names)
    if targets:
        check_target_count(len(targets), n_columns)
    if targets and names != targets and set(names) <= set(X.columns):
        raise ValueError(
            f"y holds {names!r}, but the estimator forecasts {targets!r}: they would be "
            f"compared with one another. Pass the truth of these, such as y=X[{targets!r}]."
        )
    return pd.DataFrame(truth.values, X.index, pd.Index(names, tupleize_cols=False))
