"""From what `predict`, `forecast`, `update` and `score` got to a validated table or truth."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skinformer.reading.columns import Columns, as_frame, read_columns
from skinformer.reading.places import RowPlaces
from skinformer.reading.targets import read_truth
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.clock import RowClock
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import Table
from skinformer.validation import columns as checks
from skinformer.validation.index import check_same_index, check_same_rows, time_labels
from skinformer.validation.rows import raise_unseen_series, warn_of_assumed_steps
from skinformer.validation.truth import check_target_count, truth_weight


@dataclass(frozen=True)
class FittedRows:
    """What a fit leaves that later rows are read by.

    places: where the history lies in time.
    may_miss: whether covariates may be NaN.
    """

    roles: Roles
    places: RowPlaces
    may_miss: bool


def read_prediction(estimator: object, X: Any, fitted: FittedRows) -> Table:
    """Validate what `predict` or `forecast` got: rows in any order, given in X's order.

    The clock is the fitted one, or one of the same step that starts at X's first row if X does not
    lie on the fitted grid. Series that training did not hold are numbered after the fitted ones.
    """
    roles, places = fitted.roles, fitted.places
    columns = _read_fitted_columns(estimator, X, roles)
    for name in roles.known:
        may_miss = fitted.may_miss or name in roles.static
        checks.check_finite(columns.values[name], name, may_miss=may_miss)
    for name in (*roles.past, *(() if roles.mode == "features" else roles.targets)):
        checks.check_finite(columns.values[name], name)
    ordered: list[AnyArray | None] = [None] * len(roles.targets)
    if roles.mode != "features":
        ordered = [*_histories(columns, roles)]
    ordered += [columns.values[name] for name in (*roles.past, *roles.known)]
    time, labels = None, None
    if columns.index is not None and not isinstance(places.clock, RowClock):
        time, labels = time_labels(columns.index)
    n_rows = checks.count_rows(X)
    found = places.find(X, time, labels, n_rows)
    if found.assumed:
        warn_of_assumed_steps(places.clock, places.end, n_rows)
    n_targets = len(roles.targets)
    return Table(ordered, n_targets, found.series, found.steps, found.clock, names=found.names)


def read_update(estimator: object, X: Any, y: Any, fitted: FittedRows) -> Table:
    """Validate what `update` got: rows in any order and their truth, in y's units.

    y is needed in features mode, and used elsewhere where X's target is missing.
    """
    roles, places = fitted.roles, fitted.places
    checks.check_update(X, y, roles)
    table = read_prediction(estimator, X, fitted)
    check_same_index(X, y)
    if (table.series >= places.n_series).any():
        raise_unseen_series(places.names)
    covariates = (*roles.past, *roles.known)
    for column, name in zip(table.columns[table.n_targets :], covariates, strict=True):
        checks.check_finite(column, name, may_miss=fitted.may_miss)
    columns = list(table.columns)
    if y is not None:
        truth = read_truth(y).values
        check_consistent_length(table.series, truth)
        check_target_count(table.n_targets, truth.shape[1])
        for j, given in enumerate(columns[: table.n_targets]):
            values = truth[:, j]
            columns[j] = values if given is None else np.where(np.isnan(values), given, values)
    observed = ~np.isnan(np.column_stack(columns[: table.n_targets]))
    return replace(table, columns=columns, weight=truth_weight(None, observed))


def read_truth_of(estimator: object, X: Any, y: Any, roles: Roles) -> Float64Array:
    """Find the truth of rows to score, (n, n_targets): y, or else X's targets; NaN is missing."""
    if y is not None:
        truth = read_truth(y)
        check_same_rows(X, y)
        return truth.values
    checks.check_score(X, roles)
    histories = _histories(_read_fitted_columns(estimator, X, roles), roles)
    return np.column_stack([column.astype(np.float64) for column in histories])


def _read_fitted_columns(estimator: object, X: Any, roles: Roles) -> Columns:
    """Read the fitted columns, those that rows may leave out as NaN."""
    X = _complete(as_frame(X), roles)
    if isinstance(X, pd.DataFrame):
        checks.check_some_columns(X.shape[1], "X")
    return read_columns(estimator, X, reset=False, roles=roles)


def _complete(X: Any, roles: Roles) -> Any:
    """Put in NaN for the columns that rows may leave out: all that are not known ahead."""
    if roles.mode == "features" or not roles.by_name or not isinstance(X, pd.DataFrame):
        return X
    needed, given = set(roles.known) - set(roles.static), set(X.columns)
    if not X.columns.is_unique or not needed <= given or not given < set(roles.columns):
        return X  # complete already, or wrong, which is said elsewhere
    return X.reindex(columns=pd.Index(roles.columns, tupleize_cols=False))


def _histories(columns: Columns, roles: Roles) -> list[AnyArray]:
    """Return what X holds of the targets, in y's units."""
    history = [columns.values[name] for name in roles.targets]
    if roles.mode == "both":
        return [a * column + b for column, (a, b) in zip(history, roles.links, strict=True)]
    return history
