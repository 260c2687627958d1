"""X as named columns of numbers.

The one door to scikit-learn's checks of columns, which keep ``n_features_in_`` and
``feature_names_in_`` on the estimator; nothing else here touches an estimator.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.frames import to_pandas
from skinformer.reading.places import labels_of
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.roles import Roles
from skinformer.validation import columns as checks


@dataclass(frozen=True)
class Columns:
    """X column by column.

    values: columns by name; by number for an array.
    index: labels of the rows; None where X brings none.
    named: whether the names are X's own.
    """

    values: dict[Hashable, AnyArray]
    index: pd.Index | None
    named: bool


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
) -> Columns:
    """Read X as columns of numbers, in X's order. NaN and infinity are checked by role, later.

    reset: whether this is `fit`: scikit-learn keeps the estimator's columns, or compares them.
    roles: the fitted columns, where their names matter; an array's are found by their place.
    """
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        return _read_frame(estimator, X, reset=reset, roles=roles)
    frame = to_pandas(X)
    if isinstance(frame, pd.DataFrame):  # of a library whose frames have no index
        numbered = _read_frame(estimator, frame, reset=reset, roles=roles)
        return replace(numbered, index=None)
    values = checks.numeric_array(estimator, X, reset=reset)
    names: Any = getattr(estimator, "feature_names_in_", None)
    named = names is not None
    if roles is not None:
        names = roles.columns
    elif not named:
        names = range(values.shape[1])
    columns = dict(zip(names, values.T, strict=True))
    return Columns(columns, None, named)


def _read_frame(
    estimator: object,
    X: pd.DataFrame,
    *,
    reset: bool,
    roles: Roles | None,
) -> Columns:
    """Read a frame as columns of numbers."""
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
    columns = {}
    for j, name in enumerate(names):
        column = X.iloc[:, j]
        columns[name] = checks.numeric_column(column, name)
    return Columns(columns, X.index, named=True)


def read_rows(
    estimator: object,
    X: Any,
    *,
    reset: bool,
) -> LabelledRows:
    """Read X as one block, whatever its columns are; values may be missing, but not infinite.

    reset: whether this is `fit`: scikit-learn keeps the estimator's columns, or compares them.
    >>> from skinformer import MaskFuture
    >>> rows = read_rows(MaskFuture(), pd.Series([2.0, 3.0]), reset=True)
    >>> rows.values.tolist(), rows.time.tolist(), rows.series
    ([[2.0], [3.0]], [0, 1], None)
    """
    columns = read_columns(estimator, X, reset=reset)
    for name, column in columns.values.items():
        checks.check_finite(column, name)
    values = np.empty((checks.count_rows(X), 0))
    if columns.values:
        values = np.column_stack([*columns.values.values()])
    time, series = labels_of(columns.index)
    return LabelledRows(
        values,
        list(columns.values),
        columns.named,
        time,
        series,
    )
