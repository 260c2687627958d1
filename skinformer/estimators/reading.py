"""From what the user passes to a validated table: columns in their roles, rows on the clock."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from skinformer import validation
from skinformer.estimators.state import FittedState
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.calendar import is_calendar_column
from skinformer.timeline.clock import OFF_GRID, Clock, RowClock, row_labels
from skinformer.timeline.digest import content_digest
from skinformer.timeline.scaling import affine_link
from skinformer.timeline.timeline import Table

__all__ = ["Roles", "read_prediction", "read_training"]


_COVARIATE_NAN = (
    "Only the target may be missing: fill or drop the column, for example X.ffill() (on a "
    "panel X.groupby(level=0).ffill()), which "
    "uses the past alone."
)


@dataclass(frozen=True)
class Roles:
    """
    What each column is, decided once in `fit`.

    Parameters
    ----------
    mode : {"frame", "both", "features"}
        Where the truth and the history come from; see the contract's table of modes.
    targets, past, known : tuple
        Names of the targets, of the columns known only up to the present, and of those known
        ahead. In features mode the targets are y's columns.
    one_dimensional : bool
        Whether `predict` returns shape (n,).
    columns : tuple
        X's columns in their order; numbers for an array.
    static : tuple
        Those of `known` that are constant in each series of a panel.
    unchanged : tuple
        Those that the user named in `known_future` and that never changed in training.
    links : tuple of (slope, intercept)
        In "both" mode the map from each target's column of X into y's units.
    by_name : bool
        Whether columns are found by their names; by their place where an array was fitted.
    levels : tuple of tuple
        Names of the levels of the targets' labels, and of those of X's columns.
    """

    mode: Literal["frame", "both", "features"]
    targets: tuple[Hashable, ...]
    past: tuple[Hashable, ...]
    known: tuple[Hashable, ...]
    one_dimensional: bool
    columns: tuple[Hashable, ...]
    static: tuple[Hashable, ...] = ()
    unchanged: tuple[Hashable, ...] = ()
    links: tuple[tuple[float, float], ...] = ()
    by_name: bool = True
    levels: tuple[tuple[Hashable, ...], tuple[Hashable, ...]] = ((None,), (None,))

    @property
    def target_labels(self) -> pd.Index:
        """The targets as columns of a forecast, in the levels they came in."""
        return _label_columns(self.targets, self.levels[0])

    @property
    def column_labels(self) -> pd.Index:
        """X's columns as those of a frame, in the levels they came in."""
        return _label_columns(self.columns, self.levels[1])


def _label_columns(names: tuple[Hashable, ...], levels: tuple[Hashable, ...]) -> pd.Index:
    several = len(levels) > 1
    labels: pd.Index = pd.Index(
        list(names), tupleize_cols=several, name=levels if several else levels[0]
    )
    return labels


@dataclass(frozen=True)
class _Truth:
    """y as columns."""

    values: Float64Array
    names: tuple[Hashable, ...]
    named: bool
    index: pd.Index | None
    one_dimensional: bool


def read_training(
    estimator: FittedState, X: Any, y: Any, sample_weight: Any
) -> tuple[Table, Roles]:
    """
    Validate what `fit` or `update` got.

    Parameters
    ----------
    estimator : InformerRegressor
        Gets ``n_features_in_``, ``feature_names_in_`` and ``series_``.
    X : DataFrame, Series or array-like of shape (n, n_columns)
        Rows in time order within each series.
    y : array-like of shape (n,) or (n, n_targets), or None
        The truth, if it is not a column of X or has other units there.
    sample_weight : array-like of shape (n,), or None
        Weight of each row's truth in the loss.

    Returns
    -------
    tuple of Table and Roles
        Rows sorted by series, consecutive within each; what the columns are.

    Raises
    ------
    TypeError, ValueError
        With the messages of `validation`.
    """
    columns, index = _read_columns(estimator, X, reset=True)
    truth = None if y is None else _read_truth(y)
    named = index is not None or hasattr(estimator, "feature_names_in_")
    roles = _assign_roles(estimator, columns, truth, named=named)
    roles = replace(roles, by_name=named, levels=_column_levels(X, y, roles.mode))
    if truth is not None:
        if roles.mode == "features":
            validation.check_known_future(list(estimator.known_future or ()), roles.known, ())
        validation.check_some_truth(truth.values)
        validation.check_same_length(X, truth.values)
        validation.check_same_index(X, y)
        index = truth.index if index is None else index
        seen = () if roles.mode == "features" else roles.targets
        features = {name: column for name, column in columns.items() if name not in seen}
        validation.warn_of_leaks(features, truth.values)
    roles, targets, observed = _read_targets(columns, truth, roles)
    ordered = targets + [columns[name] for name in (*roles.past, *roles.known)]
    advice = None if "missing" in estimator.embeddings else _COVARIATE_NAN
    for name in (*roles.past, *roles.known):
        validation.check_finite(columns[name], f"X (column {name!r})", nan=advice)
    validation.check_same_index(X, sample_weight, "sample_weight")
    weight = validation.truth_weight(sample_weight, observed)
    time, series_labels = _labels(index, len(observed))
    series, estimator.series_ = validation.number_series(series_labels, len(observed))
    validation.check_distinct(time, series_labels)
    order = _by_series(series)
    validation.check_order(time[order], series[order])
    n_longest = int(np.bincount(series).max())
    validation.check_enough_rows(n_longest, estimator)
    if index is None:
        steps: IntArray = np.arange(len(observed))
        clock: Clock = RowClock()
    else:
        clock, steps = validation.make_clock(
            time[order], series[order], estimator.freq, names=estimator.series_
        )
    table = Table(ordered, len(targets), series, np.arange(len(observed)), clock, weight)
    table = table if isinstance(order, slice) else table.take(order)
    table = replace(table, steps=steps)
    return _with_static(table, roles, named=estimator.known_future or ())


def _with_static(table: Table, roles: Roles, *, named: Sequence[Hashable]) -> tuple[Table, Roles]:
    """Move columns that are constant in each series to those known ahead."""
    names = (*roles.targets, *roles.past, *roles.known)
    # What the user names as known ahead can change, however long it has not.
    static = tuple(names[j] for j in table.static_columns() if names[j] not in named)
    unchanged = tuple(names[j] for j in table.constant_columns() if names[j] in named)
    past = tuple(name for name in roles.past if name not in static)
    known = tuple(name for name in roles.known if name not in static) + static
    place = dict(zip(names, table.columns, strict=True))
    columns = table.columns[: table.n_targets] + [place[name] for name in (*past, *known)]
    roles = replace(roles, past=past, known=known, static=static, unchanged=unchanged)
    return replace(table, columns=columns), roles


def read_prediction(estimator: FittedState, X: Any) -> Table:
    """
    Validate what `predict` or `forecast` got.

    Parameters
    ----------
    estimator : InformerRegressor
        Fitted.
    X : DataFrame, Series or array-like of shape (n, n_columns)
        Rows in any order.

    Returns
    -------
    Table
        Rows in X's order. Its clock is the fitted one, or one of the same step that starts at
        X's first row if X does not lie on the fitted grid. Series that training did not hold
        are numbered from ``estimator.timeline_.n_series`` on.
    """
    roles: Roles = estimator.roles_
    columns, index = _read_columns(estimator, _complete(estimator, X), reset=False)
    for name in roles.known:
        may_miss = estimator.sizes_.may_miss or name in roles.static
        advice = None if may_miss else _COVARIATE_NAN
        validation.check_finite(columns[name], f"X (column {name!r})", nan=advice)
    for name in (*roles.past, *(() if roles.mode == "features" else roles.targets)):
        validation.check_finite(columns[name], f"X (column {name!r})", nan=None)
    ordered: list[AnyArray | None] = [None] * len(roles.targets)
    if roles.mode != "features":
        ordered = [columns[name] for name in roles.targets]
    if roles.mode == "both":
        ordered = [a * columns[t] + b for t, (a, b) in zip(roles.targets, roles.links, strict=True)]
    ordered += [columns[name] for name in (*roles.past, *roles.known)]
    n_rows = validation.count_rows(X)
    clock, names = estimator.timeline_.clock, None
    if index is None or isinstance(clock, RowClock):
        series, steps = np.zeros(n_rows, dtype=np.int64), _unlabelled_steps(estimator, X, n_rows)
    else:
        time, series_labels = validation.time_labels(index)
        validation.check_same_kind(time, clock)
        validation.check_distinct(time, series_labels)
        validation.check_panel(estimator.series_ is not None, series_labels is not None)
        series, names = validation.find_series(estimator.series_, series_labels, n_rows)
        steps = clock.steps(time)
        if (steps == OFF_GRID).any():
            clock = clock.starting_at(time.min())
            steps = clock.steps(time)
            validation.check_on_grid(steps, time, clock)
    return Table(ordered, len(roles.targets), series, steps, clock, names=names)


def read_update(estimator: FittedState, X: Any, y: Any) -> Table:
    """
    Validate what `update` got: rows and their truth.

    Parameters
    ----------
    estimator : InformerRegressor
        Fitted.
    X : DataFrame, Series or array-like of shape (n, n_columns)
        Rows in any order.
    y : array-like of shape (n,) or (n, n_targets), or None
        The truth; needed in features mode, used elsewhere where X's target is missing.

    Returns
    -------
    Table
        With the targets' columns, in y's units.
    """
    validation.check_update_columns(X, estimator.roles_, has_truth=y is not None)
    table = read_prediction(estimator, X)
    validation.check_same_index(X, y)
    if estimator.roles_.mode == "features":
        validation.check_update_truth(y)
    if (table.series >= estimator.timeline_.n_series).any():
        validation.raise_unseen_series(estimator.series_)
    covariates = (*estimator.roles_.past, *estimator.roles_.known)
    advice = None if estimator.sizes_.may_miss else _COVARIATE_NAN
    for column, name in zip(table.columns[table.n_targets :], covariates, strict=True):
        validation.check_finite(column, f"X (column {name!r})", nan=advice)
    columns = list(table.columns)
    if y is not None:
        truth = _read_truth(y).values
        validation.check_same_length(table.series, truth)
        validation.check_target_count(table.n_targets, truth.shape[1])
        for j, given in enumerate(columns[: table.n_targets]):
            values = truth[:, j]
            columns[j] = values if given is None else np.where(np.isnan(values), given, values)
    observed = ~np.isnan(np.column_stack(columns[: table.n_targets]))
    return replace(table, columns=columns, weight=validation.truth_weight(None, observed))


def read_truth_of(estimator: FittedState, X: Any, y: Any) -> Float64Array:
    """
    Find the truth of rows to score.

    Parameters
    ----------
    estimator : InformerRegressor
        Fitted.
    X : DataFrame, Series or array-like of shape (n, n_columns)
        Rows.
    y : array-like of shape (n,) or (n, n_targets), or None
        The truth if X does not hold it.

    Returns
    -------
    ndarray of float64, shape (n, n_targets)
        In y's units; NaN is missing.
    """
    if y is not None:
        values = validation.numeric_truth(y)
        validation.check_same_length(X, values)
        validation.check_same_index(X, y)
        return values.reshape(len(values), -1)
    validation.check_score_truth(estimator.roles_.mode)
    validation.check_score_columns(X, estimator.roles_)
    columns, _ = _read_columns(estimator, _complete(estimator, X), reset=False)
    links = estimator.roles_.links or ((1.0, 0.0),) * len(estimator.roles_.targets)
    pairs = zip(estimator.roles_.targets, links, strict=True)
    return np.column_stack([a * columns[name].astype(np.float64) + b for name, (a, b) in pairs])


def _complete(estimator: FittedState, X: Any) -> Any:
    """Put in NaN for the columns that rows may leave out: all that are not known ahead."""
    roles: Roles = estimator.roles_
    X = X.to_frame() if isinstance(X, pd.Series) else X
    if roles.mode == "features" or not roles.by_name or not isinstance(X, pd.DataFrame):
        return X
    needed, given = set(roles.known) - set(roles.static), set(X.columns)
    if not X.columns.is_unique or not needed <= given or not given < set(roles.columns):
        return X  # complete already, or wrong, which is said elsewhere
    return X.reindex(columns=pd.Index(roles.columns, tupleize_cols=False))


def _read_columns(
    estimator: FittedState, X: Any, *, reset: bool
) -> tuple[dict[Hashable, AnyArray], pd.Index | None]:
    """Read X as named columns and an index; arrays have numbers for names and no index."""
    if isinstance(X, pd.Series):
        X = X.to_frame()
    if isinstance(X, pd.DataFrame):
        validation.check_some_columns(X.shape[1], "X")
        validation.check_columns(estimator, X, reset=reset)
        names: Sequence[Hashable] = list(X.columns)
        if not reset and not estimator.roles_.by_name:
            names = estimator.roles_.columns  # an array was fitted: columns by their place
        elif not reset:
            validation.check_same_names(names, estimator.roles_.columns)
        columns = [validation.numeric_column(X.iloc[:, j], name) for j, name in enumerate(names)]
        return dict(zip(names, columns, strict=True)), X.index
    values = validation.numeric_array(estimator, X, reset=reset)
    if reset:
        names = list(getattr(estimator, "feature_names_in_", range(values.shape[1])))
    else:
        names = estimator.roles_.columns
    return {name: values[:, j] for j, name in enumerate(names)}, None


def _column_levels(X: Any, y: Any, mode: str) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
    """Name the levels of the targets' labels and of those of X's columns."""
    own, given = (
        tuple(rows.columns.names) if isinstance(rows, pd.DataFrame) else (None,) for rows in (X, y)
    )
    name = getattr(y, "name", None)
    like_x = isinstance(name, tuple) and len(name) == len(own)
    return (own if mode != "features" or like_x else given), own


def _read_truth(y: Any) -> _Truth:
    index = y.index if isinstance(y, pd.Series | pd.DataFrame) else None
    values = validation.numeric_truth(y)
    one_dimensional = values.ndim == 1
    values = values.reshape(len(values), -1)
    if isinstance(y, pd.DataFrame):
        names, named = tuple(y.columns), True
    elif one_dimensional:
        name = getattr(y, "name", None)
        names, named = ("y" if name is None else name,), name is not None
    else:
        names, named = tuple(f"y{j}" for j in range(values.shape[1])), False
    return _Truth(values, names, named, index, one_dimensional)


def _assign_roles(
    estimator: FittedState, columns: dict[Hashable, AnyArray], truth: _Truth | None, *, named: bool
) -> Roles:
    """Tell the mode, and each column's role in it."""
    names = list(columns)
    wanted = estimator.target
    targets = tuple(wanted) if isinstance(wanted, list) else (wanted,)
    if wanted is None:
        # Only a name that the user gave may match a column.
        from_y = truth is not None and named and truth.named and set(truth.names) <= set(names)
        targets = truth.names if truth is not None and from_y else (names[-1],)
        if truth is not None and not from_y:
            return _feature_roles(columns, truth)
    elif truth is not None and not set(targets) & set(names):
        prefixed = any(str(name).endswith(f"__{targets[0]}") for name in names)
        mistyped = truth.named and set(truth.names) <= set(names)
        if named and not prefixed and not mistyped:
            return _feature_roles(columns, truth)
    for target in targets:
        validation.check_target_exists(target, names, named=named)
    given = list(estimator.known_future or ())
    validation.check_known_future(given, names, targets)
    known = [n for n in names if n in given or is_calendar_column(n)]
    return Roles(
        mode="frame" if truth is None else "both",
        targets=targets,
        past=tuple(n for n in names if n not in targets and n not in known),
        known=tuple(known),
        one_dimensional=not isinstance(wanted, list) if truth is None else truth.one_dimensional,
        columns=tuple(names),
    )


def _feature_roles(columns: dict[Hashable, AnyArray], truth: _Truth) -> Roles:
    names = tuple(columns)
    return Roles("features", truth.names, (), names, truth.one_dimensional, columns=names)


def _read_targets(
    columns: dict[Hashable, AnyArray], truth: _Truth | None, roles: Roles
) -> tuple[Roles, list[AnyArray], BoolArray]:
    """Find the targets' history in y's units, and where the truth is observed."""
    if roles.mode == "features" and truth is not None:
        return roles, list(truth.values.T), ~np.isnan(truth.values)
    history = [columns[name] for name in roles.targets]
    for name, column in zip(roles.targets, history, strict=True):
        validation.check_finite(column, f"X (column {name!r})", nan=None)
    if truth is None:
        observed = ~np.isnan(np.column_stack(history))
        validation.check_some_truth(np.where(observed, 0.0, np.nan))
        return roles, history, observed
    validation.check_target_count(len(roles.targets), truth.values.shape[1])
    links, targets = [], []
    for name, column, values in zip(roles.targets, history, truth.values.T, strict=True):
        slope, intercept = validation.check_affine(affine_link(column, values), name)
        links.append((slope, intercept))
        targets.append(np.where(np.isnan(values), slope * column + intercept, values))
    return replace(roles, links=tuple(links)), targets, ~np.isnan(truth.values)


def _labels(index: pd.Index | None, n_rows: int) -> tuple[pd.Index, pd.Index | None]:
    return (row_labels(n_rows), None) if index is None else validation.time_labels(index)


def _by_series(series: IntArray) -> Any:
    """Bring the rows of each series together, keeping their order."""
    sorted_already = bool((np.diff(series) >= 0).all())
    return slice(None) if sorted_already else np.argsort(series, kind="stable")


def _unlabelled_steps(estimator: FittedState, X: Any, n_rows: int) -> IntArray:
    """Place rows without an index: the training array itself, else directly after history."""
    validation.check_panel(estimator.series_ is not None, False)
    if content_digest(X) == estimator._training_digest_:
        return np.arange(n_rows)
    clock, end = estimator.timeline_.clock, int(estimator.timeline_.end_step[0])
    if clock.dated:
        validation.warn_of_lost_index(clock, end)
    elif n_rows == 1:
        validation.warn_of_single_row(clock, end)
    return end + np.arange(n_rows)
