"""X as named columns of numbers.

The one door to scikit-learn's checks of columns, which keep ``n_features_in_`` and
``feature_names_in_`` on the estimator; nothing else here touches an estimator.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.frames import to_pandas
from skinformer.reading.categories import NameColumn, find_names
from skinformer.reading.places import labels_of
from skinformer.timeline.arrays import AnyArray, BoolArray
from skinformer.timeline.roles import Roles
from skinformer.validation import categories as category_checks
from skinformer.validation import columns as checks


@dataclass(frozen=True)
class ReadColumns:
    """X column by column.

    values: columns by name; by number for an array. Those that hold names of categories are the
    codes of these at `fit`, and later the columns of numbers that they became.
    index: labels of the rows; None where X brings none.
    named: whether the names are X's own.
    names: columns that hold names of categories, at `fit`.
    unseen: columns with names that `fit` did not see, and these.
    nameless: where columns of names hold none, after `fit`.
    """

    values: dict[Hashable, AnyArray]
    index: pd.Index | None = None
    named: bool = True
    names: dict[Hashable, NameColumn] = field(default_factory=dict)
    unseen: dict[Hashable, pd.Series] = field(default_factory=dict)
    nameless: dict[Hashable, BoolArray] = field(default_factory=dict)


class LabelledRows(NamedTuple):
    """X as one block of numbers, and what labels it.

    values: (n, n_features).
    names, named: of the columns, numbers for an array; whether they are X's own.
    time: labels of time; None where X brings none.
    series: labels of series; None where X is one.
    """

    values: AnyArray
    names: list[Hashable]
    named: bool
    time: pd.Index | None
    series: pd.Index | None


def as_frame(X: Any) -> Any:
    """Return a Series as a frame, and everything else as it is."""
    return X.to_frame() if isinstance(X, pd.Series) else X


def read_columns(
    estimator: object,
    X: Any,
    *,
    reset: bool,
    roles: Roles | None = None,
    takes_names: bool = False,
) -> ReadColumns:
    """Read X as columns of numbers, in X's order. NaN and infinity are checked by role, later.

    reset: whether this is `fit`: scikit-learn keeps the estimator's columns, or compares them.
    roles: the fitted columns, where their names matter; an array's are found by their place.
    takes_names: whether columns of a frame may hold names of categories, at `fit`.
    """
    X = as_frame(X)
    frame = to_pandas(X)
    if isinstance(frame, pd.DataFrame):
        columns = _checked_frame(estimator, frame, reset=reset, roles=roles)
        if roles is None:
            read = _read_new(columns, takes_names=takes_names)
        else:
            read = _read_fitted(columns, roles)
        # Frames of other libraries have no index.
        return replace(read, index=X.index) if frame is X else read
    if roles is not None and roles.categories:
        category_checks.raise_names_in_array([one.name for one in roles.categories])
    values = checks.numeric_array(estimator, X, reset=reset)
    names: Any = getattr(estimator, "feature_names_in_", None)
    named = names is not None
    if roles is not None:
        names = roles.columns
    elif not named:
        names = range(values.shape[1])
    return ReadColumns(dict(zip(names, values.T, strict=True)), named=named)


def _checked_frame(
    estimator: object, X: pd.DataFrame, *, reset: bool, roles: Roles | None
) -> dict[Hashable, pd.Series]:
    """Check a frame's columns, and return them by name."""
    names: Sequence[Hashable] = list(X.columns)
    if (
        roles is not None
        and roles.by_name
        and not hasattr(estimator, "feature_names_in_")
    ):
        checks.check_same_names(names, roles.columns)
    checks.check_columns(estimator, X, reset=reset)
    if roles is not None and not roles.by_name:
        names = roles.columns  # an array was fitted: columns by their place
    return {name: X.iloc[:, j] for j, name in enumerate(names)}


def _read_new(
    columns: Mapping[Hashable, pd.Series], *, takes_names: bool
) -> ReadColumns:
    """Read columns that no fit has seen."""
    values: dict[Hashable, AnyArray] = {}
    names = {}
    for name, column in columns.items():
        found = find_names(name, column) if takes_names else None
        if found is None:
            values[name] = checks.numeric_column(column, name)
        else:
            values[name] = found.codes
            names[name] = found
    return ReadColumns(values, names=names)


def _read_fitted(columns: Mapping[Hashable, pd.Series], roles: Roles) -> ReadColumns:
    """Read columns that `fit` saw; those of names become the columns of numbers that it made."""
    categories = {one.name: one for one in roles.categories}
    values: dict[Hashable, AnyArray] = {}
    unseen = {}
    nameless = {}
    for name, column in columns.items():
        if name not in categories:
            values[name] = checks.numeric_column(column, name)
            continue
        encoding = categories[name]
        codes = encoding.codes(column)
        numbers = encoding.encode(codes)
        values.update(zip(encoding.columns, numbers, strict=True))
        nameless[name] = codes > encoding.unseen
        is_unseen = codes == encoding.unseen
        if is_unseen.any():
            unseen[name] = column[is_unseen]
    return ReadColumns(values, unseen=unseen, nameless=nameless)


def hide_names(X: Any) -> Any:
    """Return a frame in which columns of names are NaN; all else as it is."""
    places = places_of_names(X)
    if places:
        X = X.copy(deep=False)
        for place in places:
            X.isetitem(place, np.nan)
    return X


def places_of_names(X: Any) -> list[int]:
    """Return the places of columns of names in a frame."""
    if not isinstance(X, pd.DataFrame):
        return []
    n_columns = X.shape[1]
    return [j for j in range(n_columns) if category_checks.holds_names(X.iloc[:, j])]


def read_rows(
    estimator: object, X: Any, *, reset: bool, hides_names: bool = False
) -> LabelledRows:
    """Read X as one block, whatever its columns are; values may be missing, but not infinite.

    reset: whether this is `fit`: scikit-learn keeps the estimator's columns, or compares them.
    hides_names: whether columns of names, such as text, are NaN; else they are refused.
    >>> from skinformer import MaskFuture
    >>> rows = read_rows(MaskFuture(), pd.Series([2.0, 3.0]), reset=True)
    >>> rows.values.tolist(), rows.time.tolist(), rows.series
    ([[2.0], [3.0]], [0, 1], None)
    """
    columns = read_columns(estimator, hide_names(X) if hides_names else X, reset=reset)
    for name, column in columns.values.items():
        checks.check_finite(column, name)
    values = np.empty((checks.count_rows(X), 0))
    if columns.values:
        values = np.column_stack([*columns.values.values()])
    time, series = labels_of(columns.index)
    return LabelledRows(values, list(columns.values), columns.named, time, series)
