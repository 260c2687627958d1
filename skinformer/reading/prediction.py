"""Read rows of `predict`, `forecast`, `update` and `score` into a validated table, or y."""

from collections.abc import Hashable, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skinformer.reading.columns import ReadColumns, as_frame, read_columns
from skinformer.reading.places import RowPlaces, labels_of
from skinformer.reading.targets import prefer_y, read_targets, targets_of, without
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array
from skinformer.timeline.categories import LevelEncoding
from skinformer.timeline.clock import RowClock
from skinformer.timeline.holes import find_holes
from skinformer.timeline.roles import Names, Roles
from skinformer.timeline.timeline import Table
from skinformer.validation import columns as checks
from skinformer.validation.categories import warn_of_unseen_levels
from skinformer.validation.index import check_same_index, check_same_rows
from skinformer.validation.labels import IN_INDEX, Labels
from skinformer.validation.rows import (
    raise_unknown_ahead,
    raise_unseen_series,
    warn_of_assumed_steps,
)
from skinformer.validation.truth import truth_weight
from skinformer.validation.warning import of_series


@dataclass(frozen=True)
class FittedRows:
    """Results of a fit by which later rows are read.

    places: where the history lies in time.
    may_miss: whether covariates may be NaN.
    labels: where the training rows held their labels.
    """

    roles: Roles
    places: RowPlaces
    may_miss: bool
    labels: Labels = IN_INDEX


def read_prediction(estimator: object, X: Any, fitted: FittedRows) -> Table:
    """Validate rows of `predict` or `forecast`, which may be in any order; they stay in X's order.

    The clock is the fitted one, or one of the same step that starts at X's first row if X does not
    lie on the fitted grid. Series that training did not hold are numbered after the fitted ones.
    """
    roles = fitted.roles
    needed = set(roles.known) - {*roles.static, *roles.empty}
    optional = set(roles.columns) - set(roles.sources_of(needed))
    table = _read_table(estimator, X, fitted, optional)
    if not fitted.may_miss:
        _check_known_to_end(table, roles)
    return table


def read_update(estimator: object, X: Any, y: Any, fitted: FittedRows) -> Table:
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
    targets = table.targets
    covariates = table.covariates
    if y is not None:
        values = read_targets(y).values
        check_consistent_length(table.series, values)
        targets = prefer_y(values, targets)
    observed = ~np.isnan(np.column_stack(targets))
    weight = truth_weight(None, observed)
    return replace(table, columns=targets + covariates, weight=weight)


def read_y_true(estimator: object, X: Any, y: Any, roles: Roles) -> Float64Array:
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
    estimator: object, X: Any, fitted: FittedRows, optional: Set[Hashable]
) -> Table:
    """Validate rows, whose optional columns may miss or be left out."""
    roles = fitted.roles
    columns = _read_fitted_columns(estimator, X, roles, optional)
    for name, others in columns.unseen.items():
        warn_of_unseen_levels(name, others.iloc[0], len(others))
    if not fitted.may_miss:
        _fill_empty(columns, roles)
    ordered = _order_columns(columns, roles)
    places = fitted.places
    is_counted = isinstance(places.clock, RowClock)
    time, labels = labels_of(None if is_counted else columns.index)
    n_rows = checks.count_rows(X)
    found = places.find(X, time, labels, n_rows, _where_labels(time, fitted))
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


def _where_labels(time: pd.Index | None, fitted: FittedRows) -> Labels:
    """Return where rows held their labels: in the fitted columns, or in an index after all."""
    is_column = time is not None and time.name == fitted.labels.time
    return fitted.labels if is_column else IN_INDEX


def _read_fitted_columns(
    estimator: object, X: Any, roles: Roles, optional: Set[Hashable]
) -> ReadColumns:
    """Read the fitted columns; NaN stands in optional ones that X leaves out."""
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        if roles.by_name:
            X = _with_left_out(X, roles.columns, optional)
        checks.check_some_columns(X.shape[1], "X")
    return read_columns(estimator, X, reset=False, roles=roles)


def _with_left_out(
    X: pd.DataFrame, fitted: Names, optional: Set[Hashable]
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


def _fill_empty(columns: ReadColumns, roles: Roles) -> None:
    """Put 0 for what columns without any value in training lack, as `fit` did."""
    for name in roles.empty:
        values = columns.values[name]
        columns.values[name] = np.where(np.isnan(values), 0.0, values)


def _order_columns(columns: ReadColumns, roles: Roles) -> list[AnyArray | None]:
    """Check the values of columns by their roles, and return them in the order of these."""
    ordered: list[Any] = [None] * len(roles.targets)
    if roles.mode != "features":
        for name in roles.targets:
            checks.check_finite(columns.values[name], name)
        ordered = targets_of(columns.values, roles)
    for name in (*roles.past, *roles.known):
        checks.check_finite(columns.values[name], name)
    for encoding in roles.categories:
        _hide_left_out(columns, encoding, roles)
    ordered += [columns.values[name] for name in (*roles.past, *roles.known)]
    return ordered


def _hide_left_out(columns: ReadColumns, encoding: LevelEncoding, roles: Roles) -> None:
    """Take names that are missing as unknown where X may leave them out.

    Elsewhere that they are missing may say something, as on days that are no holiday.
    """
    nameless = columns.nameless[encoding.name]
    is_past = encoding.columns[0] in roles.past
    if is_past:
        targets = [columns.values[name] for name in roles.targets]
        nameless = nameless & np.isnan(np.column_stack(targets)).all(axis=1)
    if is_past or encoding.columns[0] in roles.static:
        for name in encoding.columns:
            columns.values[name] = np.where(nameless, np.nan, columns.values[name])


def _check_known_to_end(table: Table, roles: Roles) -> None:
    """Raise if a column known ahead ends before the rows to forecast do.

    What is missing at last is a hole only if training held one as long, and no hole of all rows.
    """
    first_known = len(roles.targets) + len(roles.past)
    varying = without(roles.known, roles.static)
    holes = [find_holes(table.columns[first_known + j]) for j in range(len(varying))]
    if all(missing is None for missing in holes):
        return
    # 1. Rows to forecast: those of each series behind its last target.
    is_ahead = _is_behind(table, table.has_target)
    n_ahead = np.bincount(table.series, is_ahead)
    # 2. Those of them behind the last value of a column.
    longest_holes = roles.longest_holes or (0,) * len(roles.known)
    for name, missing, longest in zip(varying, holes, longest_holes, strict=False):
        if missing is None:
            continue
        is_lacking = is_ahead & _is_behind(table, ~missing)
        n_lacking = np.bincount(table.series, is_lacking)
        ends = (n_lacking > longest) | (n_lacking == n_ahead)
        is_lacking &= ends[table.series]
        if is_lacking.any():
            _raise_ended(roles.source_of(name), table, is_lacking)


def _is_behind(table: Table, is_so: BoolArray) -> BoolArray:
    """Return which rows lie behind the last row of their series in which something is so."""
    last = np.full(table.series.max() + 1, -np.inf)
    np.maximum.at(last, table.series[is_so], table.steps[is_so])
    return table.steps > last[table.series]


def _raise_ended(name: Hashable, table: Table, is_lacking: BoolArray) -> None:
    """Raise because a column known ahead ends, and say where first."""
    rows = np.flatnonzero(is_lacking)
    first = rows[[table.steps[rows].argmin()]]
    label = table.clock.labels(table.steps[first])[0]
    where = of_series(table.names, table.series[first[0]])
    raise_unknown_ahead(name, len(rows), f"{label}{where}")
