"""Read rows of `fit` into a validated table: columns in their roles, rows on the clock."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from skinformer.frames import to_pandas
from skinformer.reading.categories import encode_names
from skinformer.reading.columns import ReadColumns, as_frame, read_columns
from skinformer.reading.copies import find_copies
from skinformer.reading.places import GroupedRows, group_rows, labels_of
from skinformer.reading.targets import (
    Targets,
    find_known,
    find_targets,
    prefer_y,
    read_targets,
    targets_of,
    without,
)
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array
from skinformer.timeline.clock import OpenClock
from skinformer.timeline.digest import content_digest
from skinformer.timeline.holes import fill_holes, find_holes, longest_hole
from skinformer.timeline.open_hours import find_closed_dates
from skinformer.timeline.roles import Names, Roles
from skinformer.timeline.scaling import affine_link
from skinformer.timeline.timeline import Table, are_consecutive
from skinformer.validation import truth as checks
from skinformer.validation.co_members import check_co_members
from skinformer.validation.columns import (
    check_finite,
    check_known_future,
    check_some_columns,
    numeric_column,
    warn_of_no_index,
)
from skinformer.validation.holes import warn_of_holes
from skinformer.validation.index import check_same_index, check_same_rows
from skinformer.validation.labels import Labels
from skinformer.validation.parameters import check_enough_rows


@dataclass(frozen=True)
class ReadingSettings:
    """Parameters of `fit` that concern the rows.

    target: column(s) to forecast; None is the last one, or y's.
    known_future: columns that are known ahead.
    freq: the step of the index; None reads it off.
    may_miss: whether covariates may be NaN.
    seq_len, pred_len: rows before and from a window's origin.
    early_stopping: True if there have to be rows to watch beside those to train on.
    whole_windows: whether nothing forecasts from less than `seq_len` rows.
    labels: where rows held their labels, for messages.
    """

    target: Any
    known_future: Names
    freq: Any
    may_miss: bool
    seq_len: int
    pred_len: int
    early_stopping: bool | Literal["auto"]
    whole_windows: bool
    labels: Labels


class TrainingRows(NamedTuple):
    """The rows of a fit, and what later rows are compared with.

    table: sorted by series, consecutive within each.
    roles: what the columns are.
    series: names of the series of a panel.
    digest: recognises X; empty where its labels do.
    may_skip: whether steps had no rows, so that later ones may have none.
    closed_dates: dates of the year at which there never were any, such as 1225.
    """

    table: Table
    roles: Roles
    series: pd.Index | None
    digest: bytes
    may_skip: bool
    closed_dates: tuple[int, ...]


def read_training(
    estimator: object, X: Any, y: Any, sample_weight: Any, settings: ReadingSettings
) -> TrainingRows:
    """Validate the rows of `fit`, by the messages of `validation`.

    Rows are in time order within each series; columns that are sorted already are not copied. The
    targets are y, if they are not columns of X or have other units there.
    """
    X = as_frame(X)
    # 1. Columns in their roles.
    columns, y_targets, roles = _read_roles(estimator, X, y, settings)
    roles, targets, observed = _combine_targets(columns.values, y_targets, roles)
    covariates = _check_covariates(columns.values, roles)
    check_same_index(X, sample_weight, "sample_weight")
    weight = checks.truth_weight(sample_weight, observed)
    # 2. Rows in their places.
    rows = _group_rows(columns, y_targets, len(observed), settings)
    table = _make_table(rows, targets, covariates, weight, settings)
    # 3. Columns of names as numbers, and what is missing.
    table, roles = encode_names(table, roles, columns.names, settings.pred_len)
    table, roles = _without_holes(table, roles, settings)
    table, closed_dates = _with_all_steps(table)
    # 4. Roles that depend on the order of the rows.
    table, roles = _with_static(table, roles, settings)
    if y_targets is None and settings.target is None:
        checks.warn_of_last_column(roles.targets[0], roles.past)
    if rows.time is None and hasattr(X, "columns"):
        warn_of_no_index(X)
    # 5. What later rows are compared with.
    digest = content_digest(X) if columns.index is None else b""
    may_skip = len(table.steps) > len(observed) or isinstance(table.clock, OpenClock)
    return TrainingRows(table, roles, rows.names, digest, may_skip, closed_dates)


def _read_roles(
    estimator: object, X: Any, y: Any, settings: ReadingSettings
) -> tuple[ReadColumns, Targets | None, Roles]:
    """Read the columns of X and of y, and find their roles."""
    if isinstance(X, pd.DataFrame):
        check_some_columns(X.shape[1], "X")
        if y is None:  # a misspelt target is told before the faults of columns
            find_targets(settings.target, list(X), named=True, y_names=None)
    columns = read_columns(estimator, X, reset=True, takes_names=True)
    y_targets = None if y is None else read_targets(y)
    classifies = is_classifier(estimator)
    roles = _assign_roles(columns, y_targets, settings, classifies=classifies)
    roles = replace(roles, levels=_column_levels(X, y, roles.mode))
    for name in roles.targets:
        if name in columns.names:
            numeric_column(to_pandas(X)[name], name)  # raises: no number is forecast
    if roles.mode == "both":
        check_co_members(roles.targets)
    if roles.labels:
        checks.warn_of_copy(roles.targets[0], roles.past)
    if y_targets is not None:
        _check_targets(X, y, y_targets, columns, roles)
    return columns, y_targets, roles


def _assign_roles(
    columns: ReadColumns,
    y_targets: Targets | None,
    settings: ReadingSettings,
    *,
    classifies: bool,
) -> Roles:
    """Choose the mode, and each column's role in it."""
    names = tuple(columns.values)
    one_dimensional = not isinstance(settings.target, list)
    mode: Literal["frame", "both", "features"] = "frame"
    labels: Names = ()
    y_names = None if y_targets is None else y_targets.own_names
    targets = find_targets(settings.target, names, named=columns.named, y_names=y_names)
    if y_targets is not None and not targets:
        numbers = {name: columns.values[name] for name in without(names, columns.names)}
        targets = find_copies(numbers, y_targets, classifies=classifies)
        labels = y_targets.own_names if targets else ()
    check_known_future(settings.known_future, names, targets)
    known = find_known(names, settings.known_future, targets)
    if y_targets is not None:
        mode = "both"
        one_dimensional = y_targets.one_dimensional
        if not targets:
            mode = "features"
            targets = y_targets.names
            known = names
    past = without(names, {*targets, *known})
    return Roles(
        mode,
        targets,
        past,
        known,
        one_dimensional,
        columns=names,
        by_name=columns.named,
        labels=labels,
    )


def _column_levels(X: Any, y: Any, mode: str) -> tuple[Names, Names]:
    """Return names of the levels of the targets' labels and of those of X's columns."""
    of_x = _level_names(X)
    name = getattr(y, "name", None)
    is_like_x = isinstance(name, tuple) and len(name) == len(of_x)
    if mode != "features" or is_like_x:
        return of_x, of_x
    return _level_names(y), of_x


def _level_names(rows: Any) -> Names:
    if isinstance(rows, pd.DataFrame):
        return tuple(rows.columns.names)
    return (None,)


def _check_targets(
    X: Any, y: Any, y_targets: Targets, columns: ReadColumns, roles: Roles
) -> None:
    """Raise if y does not go with X's rows, and warn if a feature holds it."""
    checks.check_some_truth(y_targets.values)
    check_same_rows(X, y)
    others = roles.targets if roles.mode == "both" else ()
    numbers = without(columns.values, {*others, *columns.names})
    features = {name: columns.values[name] for name in numbers}
    checks.warn_of_leaks(features, y_targets.values)


def _combine_targets(
    columns: dict[Hashable, AnyArray], y_targets: Targets | None, roles: Roles
) -> tuple[Roles, list[AnyArray], BoolArray]:
    """Return roles, the targets in y's units, and where they are observed.

    Where y is missing, X's target stands, by the linear map from the one to the other.
    """
    if y_targets is not None:
        y = y_targets.values
        observed = ~np.isnan(y)
        if roles.mode == "features":
            return roles, list(y.T), observed
    for name in roles.targets:
        check_finite(columns[name], name)
    if y_targets is not None:
        roles = replace(roles, links=_find_links(columns, roles.targets, y))
        histories = targets_of(columns, roles)
        return roles, prefer_y(y, histories), observed
    histories = targets_of(columns, roles)
    observed = ~np.isnan(np.column_stack(histories))
    checks.check_some_truth(np.where(observed, 0.0, np.nan))
    return roles, histories, observed


def _find_links(
    columns: dict[Hashable, AnyArray], names: Names, y: Float64Array
) -> tuple[tuple[float, float], ...]:
    """Return slope and intercept from each of X's targets to y."""
    checks.check_target_count(len(names), y.shape[1])
    links = []
    for name, column in zip(names, y.T, strict=True):
        link = affine_link(columns[name], column)
        links.append(checks.check_affine(link, name))
    return tuple(links)


def _check_covariates(
    columns: dict[Hashable, AnyArray], roles: Roles
) -> list[AnyArray]:
    """Return covariates, past-only ones first; raise if they hold what they may not."""
    names = (*roles.past, *roles.known)
    for name in names:
        check_finite(columns[name], name)
    return [columns[name] for name in names]


def _group_rows(
    columns: ReadColumns,
    y_targets: Targets | None,
    n_rows: int,
    settings: ReadingSettings,
) -> GroupedRows:
    """Group rows by their series, as X labels them, or else y; raise if all are too short."""
    index = columns.index
    if index is None and y_targets is not None:
        index = y_targets.index
    time, labels = labels_of(index)
    rows = group_rows(time, labels, n_rows, settings.labels)
    longest = np.bincount(rows.series).max()
    check_enough_rows(longest, settings)
    return rows


def _make_table(
    rows: GroupedRows,
    targets: list[AnyArray],
    covariates: list[AnyArray],
    weight: AnyArray | None,
    settings: ReadingSettings,
) -> Table:
    """Order columns by series and time, and count their steps."""
    clock, steps = rows.count_steps(settings.freq, may_skip=True)
    columns = [column[rows.order] for column in (*targets, *covariates)]
    if weight is not None:
        weight = weight[rows.order]
    return Table(columns, len(targets), rows.series, steps, clock, weight)


def _with_all_steps(table: Table) -> tuple[Table, tuple[int, ...]]:
    """Add steps that have no rows; return also the dates of the year that never have any."""
    if are_consecutive(table.series, table.steps):
        return table, ()
    return table.with_all_steps(), find_closed_dates(table.clock, table.steps)


def _without_holes(
    table: Table, roles: Roles, settings: ReadingSettings
) -> tuple[Table, Roles]:
    """Fill what is missing in covariates, and note how long columns known ahead lacked values.

    Where the network has learnt vectors for what is missing it stays so.
    """
    covariates = table.covariates
    holes = [find_holes(column) for column in covariates]
    if not any(hole is not None for hole in holes):
        return table, roles
    first_row = table.first_row
    longest = [longest_hole(hole, first_row) for hole in holes[len(roles.past) :]]
    roles = replace(roles, longest_holes=tuple(longest))
    if settings.may_miss:
        return table, roles
    names = (*roles.past, *roles.known)
    shares = {
        roles.source_of(name): hole.mean()
        for name, hole in zip(names, holes, strict=True)
        if hole is not None
    }
    warn_of_holes(shares)
    filled = [
        column if hole is None else fill_holes(column, first_row)
        for column, hole in zip(covariates, holes, strict=True)
    ]
    return replace(table, columns=table.targets + filled), roles


def _with_static(
    table: Table, roles: Roles, settings: ReadingSettings
) -> tuple[Table, Roles]:
    """Move columns that are constant in each series to those known ahead."""
    covariates = (*roles.past, *roles.known)
    names = (*roles.targets, *covariates)
    constant = [names[j] for j in table.constant_columns()]
    differing = [names[j] for j in table.static_columns()]
    # What is named as known ahead can change, however long it has not.
    can_change = [
        name for name in names if roles.source_of(name) in settings.known_future
    ]
    static = without(differing, can_change)
    past = without(roles.past, static)
    known = (*without(roles.known, static), *static)
    roles = replace(
        roles,
        past=past,
        known=known,
        static=static,
        unchanged=tuple(name for name in constant if name in can_change),
        longest_holes=_reordered(roles.longest_holes, roles.known, known),
    )
    # Columns in the order of their roles.
    of_covariates = dict(zip(covariates, table.covariates, strict=True))
    columns = table.targets
    columns += [of_covariates[name] for name in (*past, *known)]
    return replace(table, columns=columns), roles


def _reordered(lengths: tuple[int, ...], names: Names, known: Names) -> tuple[int, ...]:
    """Return the lengths of holes of columns known ahead, which are others now."""
    if not any(lengths):
        return ()
    of_names = dict(zip(names, lengths, strict=True))
    return tuple(of_names.get(name, 0) for name in known)
