"""From what `fit` got to a validated table: columns in their roles, rows on the clock."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from skinformer.reading.columns import Columns, as_frame, read_columns
from skinformer.reading.copies import find_copies
from skinformer.reading.places import group_rows
from skinformer.reading.targets import Truth, find_known, find_targets, read_truth
from skinformer.timeline.arrays import AnyArray, BoolArray
from skinformer.timeline.digest import content_digest
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import affine_link
from skinformer.timeline.timeline import Table
from skinformer.validation import truth as checks
from skinformer.validation.columns import check_finite, check_known_future, check_some_columns
from skinformer.validation.index import (
    check_same_index,
    check_same_rows,
    time_labels,
    warn_of_coded_dates,
)
from skinformer.validation.parameters import check_enough_rows


@dataclass(frozen=True)
class ReadingSettings:
    """What `fit` is told about the rows.

    target: column(s) to forecast; None is the last one, or y's.
    known_future: columns that are known ahead.
    freq: the step of the index; None reads it off.
    may_miss: whether covariates may be NaN.
    seq_len, pred_len: rows before and from a window's origin.
    early_stopping: True if there have to be rows to watch beside those to train on.
    whole_windows: whether nothing forecasts from less than `seq_len` rows.
    """

    target: Any
    known_future: tuple[Hashable, ...]
    freq: Any
    may_miss: bool
    seq_len: int
    pred_len: int
    early_stopping: bool | Literal["auto"]
    whole_windows: bool


class TrainingRows(NamedTuple):
    """The rows of a fit, and what later rows are compared with.

    table: sorted by series, consecutive within each.
    roles: what the columns are.
    series: names of the series of a panel.
    digest: recognises X; empty where its labels do.
    """

    table: Table
    roles: Roles
    series: pd.Index | None
    digest: bytes


def read_training(
    estimator: object, X: Any, y: Any, sample_weight: Any, settings: ReadingSettings
) -> TrainingRows:
    """Validate what `fit` got, by the messages of `validation`.

    Rows are in time order within each series; columns that are sorted already are not copied. y is
    the truth, if it is not a column of X or has other units there.
    """
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        check_some_columns(X.shape[1], "X")
    columns = read_columns(estimator, X, reset=True)
    truth = None if y is None else read_truth(y)
    roles = _assign_roles(columns, truth, settings, classifies=is_classifier(estimator))
    roles = replace(roles, levels=_column_levels(X, y, roles.mode))
    if truth is not None:
        _check_truth(X, y, truth, columns, roles)
    roles, targets, observed = _read_targets(columns.values, truth, roles)
    names = (*roles.past, *roles.known)
    for name in names:
        check_finite(columns.values[name], name, may_miss=settings.may_miss)
    check_same_index(X, sample_weight, "sample_weight")
    weight = checks.truth_weight(sample_weight, observed)
    index = truth.index if columns.index is None and truth is not None else columns.index
    time, labels = (None, None) if index is None else time_labels(index)
    rows = group_rows(time, labels, len(observed))
    check_enough_rows(int(np.bincount(rows.series).max()), settings)
    clock, steps = rows.count_steps(settings.freq)
    if settings.freq is None and rows.time is not None:
        warn_of_coded_dates(rows.time, panel=rows.names is not None)
    ordered = [column[rows.order] for column in (*targets, *(columns.values[n] for n in names))]
    weight = None if weight is None else weight[rows.order]
    table = Table(ordered, len(targets), rows.series, steps, clock, weight)
    digest = content_digest(X) if columns.index is None else b""
    table, roles = _with_static(table, roles, settings)
    if truth is None:
        _warn_of_targets(columns, roles, settings)
    return TrainingRows(table, roles, rows.names, digest)


def _assign_roles(
    columns: Columns, truth: Truth | None, settings: ReadingSettings, *, classifies: bool
) -> Roles:
    """Decide on the mode, and on each column's role in it."""
    names, wanted = tuple(columns.values), settings.target
    targets = find_targets(wanted, names, named=columns.named, truth=truth)
    labels: tuple[Hashable, ...] = ()
    if truth is not None and not targets:
        targets = find_copies(columns.values, truth, classifies=classifies)
        labels = truth.names if targets and truth.named else ()
    check_known_future(settings.known_future, names, targets)
    one = not isinstance(wanted, list) if truth is None else truth.one_dimensional
    if truth is not None and not targets:
        return Roles("features", truth.names, (), names, one, names, by_name=columns.named)
    known = find_known(names, settings.known_future, targets)
    past = tuple(name for name in names if name not in targets and name not in known)
    if labels:
        checks.warn_of_copy(targets[0], past)
    mode: Literal["frame", "both"] = "frame" if truth is None else "both"
    return Roles(mode, targets, past, known, one, names, by_name=columns.named, labels=labels)


def _warn_of_targets(columns: Columns, roles: Roles, settings: ReadingSettings) -> None:
    """Warn of targets that were not named, and of those in a scaler's units."""
    if settings.target is None:
        checks.warn_of_last_column(roles.targets[0], roles.past, named=columns.named)
    targets = {name: columns.values[name] for name in roles.targets}
    checks.warn_of_scaled_targets(targets, named=columns.named)


def _column_levels(X: Any, y: Any, mode: str) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Name the levels of the targets' labels and of those of X's columns."""
    own, given = (
        tuple(rows.columns.names) if isinstance(rows, pd.DataFrame) else (None,) for rows in (X, y)
    )
    name = getattr(y, "name", None)
    like_x = isinstance(name, tuple) and len(name) == len(own)
    return (own if mode != "features" or like_x else given), own


def _check_truth(X: Any, y: Any, truth: Truth, columns: Columns, roles: Roles) -> None:
    """Raise if y does not go with X's rows, and warn if a feature holds it."""
    checks.check_some_truth(truth.values)
    check_same_rows(X, y)
    seen = () if roles.mode == "features" else roles.targets
    features = {name: column for name, column in columns.values.items() if name not in seen}
    checks.warn_of_leaks(features, truth.values)
    if roles.mode == "features":
        checks.warn_of_mixed_truth(list(features.values()), truth.values)


def _read_targets(
    columns: dict[Hashable, AnyArray], truth: Truth | None, roles: Roles
) -> tuple[Roles, list[AnyArray], BoolArray]:
    """Find the targets' history in y's units, and where the truth is observed."""
    if roles.mode == "features" and truth is not None:
        return roles, list(truth.values.T), ~np.isnan(truth.values)
    history = [columns[name] for name in roles.targets]
    for name, column in zip(roles.targets, history, strict=True):
        check_finite(column, name)
    if truth is None:
        observed = ~np.isnan(np.column_stack(history))
        checks.check_some_truth(np.where(observed, 0.0, np.nan))
        return roles, history, observed
    checks.check_target_count(len(roles.targets), truth.values.shape[1])
    links, targets = [], []
    for name, column, values in zip(roles.targets, history, truth.values.T, strict=True):
        slope, intercept = checks.check_affine(affine_link(column, values), name)
        links.append((slope, intercept))
        targets.append(np.where(np.isnan(values), slope * column + intercept, values))
    return replace(roles, links=tuple(links)), targets, ~np.isnan(truth.values)


def _with_static(table: Table, roles: Roles, settings: ReadingSettings) -> tuple[Table, Roles]:
    """Move columns that are constant in each series to those known ahead."""
    names, named = (*roles.targets, *roles.past, *roles.known), settings.known_future
    # What the user names as known ahead can change, however long it has not.
    static = tuple(names[j] for j in table.static_columns() if names[j] not in named)
    unchanged = tuple(names[j] for j in table.constant_columns() if names[j] in named)
    past = tuple(name for name in roles.past if name not in static)
    known = tuple(name for name in roles.known if name not in static) + static
    place = dict(zip(names, table.columns, strict=True))
    columns = table.columns[: table.n_targets] + [place[name] for name in (*past, *known)]
    roles = replace(roles, past=past, known=known, static=static, unchanged=unchanged)
    return replace(table, columns=columns), roles
