"""Read rows of `predict`, `forecast`, `update` and `score` into a validated table, or y."""

from collections.abc import Hashable, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skinformer.reading.columns import Columns, as_frame, read_columns
from skinformer.reading.places import RowPlaces, labels_of
from skinformer.reading.targets import prefer_y, read_targets, targets_of, without
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.clock import RowClock
from skinformer.timeline.roles import Names, Roles
from skinformer.timeline.timeline import Table
from skinformer.validation import columns as checks
from skinformer.validation.index import check_same_index, check_same_rows
from skinformer.validation.rows import raise_unseen_series, warn_of_assumed_steps
from skinformer.validation.truth import truth_weight


@dataclass(frozen=True)
class FittedRows:
    """Results of a fit by which later rows are read.

    places: where the history lies in time.
    may_miss: whether covariates may be NaN.
    """

    roles: Roles
    places: RowPlaces
    may_miss: bool


def read_prediction(
    estimator: object,
    X: Any,
    fitted: FittedRows,
) -> Table:
    """Validate rows of `predict` or `forecast`, which may be in any order; they stay in X's order.

    The clock is the fitted one, or one of the same step that starts at X's first row if X does not
    lie on the fitted grid. Series that training did not hold are numbered after the fitted ones.
    """
    roles = fitted.roles
    needed = set(roles.known) - set(roles.static)
    optional = set(roles.columns) - needed
    return _read_table(estimator, X, fitted, optional)


def read_update(
    estimator: object,
    X: Any,
    y: Any,
    fitted: FittedRows,
) -> Table:
    """Validate rows of `update`, which may be in any order, and their targets, in y's units.

    y is needed in features mode, and used elsewhere where X's target is missing.
    """
    if y is None:
        checks.check_y_needed("update", fitted.roles)
    optional = set() if y is None else set(fitted.roles.targets)
    table = _read_table(estimator, X, fitted, optional)
    check_same_index(X, y)
    if (table.series >= fitted.places.n_series).any():
        raise_unseen_series(fitted.places.names)
    targets = table.columns[: table.n_targets]
    covariates = table.columns[table.n_targets :]
    if y is not None:
        values = read_targets(y).values
        check_consistent_length(table.series, values)
        targets = prefer_y(values, targets)
    observed = ~np.isnan(np.column_stack(targets))
    weight = truth_weight(None, observed)
    return replace(table, columns=targets + covariates, weight=weight)


def read_y_true(
    estimator: object,
    X: Any,
    y: Any,
    roles: Roles,
) -> Float64Array:
    """Return targets of rows to score, (n, n_targets): y, or else those of X; NaN is missing."""
    if y is not None:
        values = read_targets(y).values
        check_same_rows(X, y)
        return values
    checks.check_y_needed("score", roles)
    optional = set(roles.columns) - set(roles.targets)
    columns = _read_fitted_columns(estimator, X, roles, optional)
    histories = targets_of(columns.values, roles)
    return np.column_stack(histories).astype(np.float64)


def _read_table(
    estimator: object,
    X: Any,
    fitted: FittedRows,
    optional: Set[Hashable],
) -> Table:
    """Validate rows, whose optional columns may miss or be left out."""
    roles = fitted.roles
    columns = _read_fitted_columns(estimator, X, roles, optional)
    ordered = _order_columns(columns, fitted, optional)
    places = fitted.places
    is_counted = isinstance(places.clock, RowClock)
    time, labels = labels_of(None if is_counted else columns.index)
    n_rows = checks.count_rows(X)
    found = places.find(X, time, labels, n_rows)
    if found.assumed:
        warn_of_assumed_steps(places.clock, places.end, n_rows)
    return Table(
        ordered,
        len(roles.targets),
        found.series,
        found.steps,
        found.clock,
        names=found.names,
    )


def _read_fitted_columns(
    estimator: object,
    X: Any,
    roles: Roles,
    optional: Set[Hashable],
) -> Columns:
    """Read the fitted columns; NaN stands in optional ones that X leaves out."""
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        if roles.by_name:
            X = _with_left_out(X, roles.columns, optional)
        checks.check_some_columns(X.shape[1], "X")
    return read_columns(estimator, X, reset=False, roles=roles)


def _with_left_out(
    X: pd.DataFrame,
    fitted: Names,
    optional: Set[Hashable],
) -> pd.DataFrame:
    """Add optional columns that X leaves out, in the order of the fit, so that no error names them.

    Columns that fit did not see come last.
    """
    checks.check_unique_columns(X)
    present = set(X.columns)
    left_out = (optional - present) & set(fitted)
    if not left_out:
        return X
    names = [name for name in fitted if name in present | left_out]
    names += without(X.columns, fitted)
    return X.reindex(columns=pd.Index(names, tupleize_cols=False))


def _order_columns(
    columns: Columns,
    fitted: FittedRows,
    optional: Set[Hashable],
) -> list[AnyArray | None]:
    """Check the values of columns by their roles, and return them in the order of these."""
    roles = fitted.roles
    ordered: list[Any] = [None] * len(roles.targets)
    if roles.mode != "features":
        for name in roles.targets:
            checks.check_finite(columns.values[name], name)
        ordered = targets_of(columns.values, roles)
    for name in (*roles.past, *roles.known):
        column = columns.values[name]
        may_miss = fitted.may_miss or name in optional
        checks.check_finite(column, name, may_miss=may_miss)
        ordered.append(column)
    return ordered
