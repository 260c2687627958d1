"""Labels of classes: from what the user passes to codes, from codes to columns that are forecast.

A label becomes its number among the sorted classes, so that everything that reads rows reads
numbers; behind the reader each class has a column of its own, 1 where it came and 0 elsewhere.
Nothing known is 0 in all of them. Fed back, such a column holds a probability.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.reading.columns import as_frame
from skinformer.reading.targets import Truth, find_targets
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table
from skinformer.validation.truth import (
    check_class_weights,
    check_target_count,
    class_weights,
    label_array,
    raise_other_labels,
    sorted_classes,
    warn_of_unseen_labels,
)


@dataclass(frozen=True)
class NumberReader:
    """How truths are read, and given back: numbers as they are."""

    def rows(self, X: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Give X with its targets as numbers."""
        return X

    def truth(self, y: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Give y as numbers; None stays None."""
        return y

    def spread(self, table: Table) -> Table:
        """Give a table whose targets are the columns that are forecast."""
        return table

    def scaled(self, scaler: Scaler) -> Scaler:
        """Give the scale of these columns."""
        return scaler

    def given(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Give numbers of shape (n, n_targets) back as what they were read from."""
        return values[:, 0] if one_dimensional else values

    def frame(self, values: Float64Array, index: pd.Index | None, names: pd.Index) -> pd.DataFrame:
        """Give the same as a frame."""
        return pd.DataFrame(values, index=index, columns=names)


@dataclass(frozen=True)
class Labels:
    """The classes of one target.

    classes: sorted, as scikit-learn sorts them.
    dtype: of the column they came in, if that was a categorical: its order is not the sorted one.
    weight: (n_classes,), of each class's truths; None weighs all alike.
    """

    classes: AnyArray
    dtype: Any
    weight: Float64Array | None = None

    def codes(self, values: pd.Series, unseen: float) -> Float64Array:
        """Give labels their places among the classes; NaN where one is missing.

        unseen: what stands for a label that is none of the classes.

        >>> labels = Labels(np.array(["high", "low"]), None)
        >>> labels.codes(pd.Series(["low", None, "odd"]), unseen=-1.0)
        array([ 1., nan, -1.])
        """
        missing = values.isna().to_numpy()
        codes = np.full(len(values), np.nan)
        place = pd.Index(self.classes).get_indexer(pd.Index(_plain(values[~missing])))
        codes[~missing] = np.where(place < 0, unseen, place)
        return codes

    def given(self, codes: Float64Array) -> AnyArray:
        """Give labels of codes; None where a code is NaN."""
        known = ~np.isnan(codes)
        if known.all():
            return np.asarray(self.classes[codes.astype(np.int64)])
        out = np.full(len(codes), None, dtype=object)
        out[known] = self.classes[codes[known].astype(np.int64)]
        return out


@dataclass(frozen=True)
class LabelReader(NumberReader):
    """Read labels of one or several targets.

    names: columns of X that hold labels; numbers for an array, none where only y does.
    by_name: whether columns are found by their names; by their place where an array was fitted.
    """

    targets: tuple[Labels, ...]
    names: tuple[Hashable, ...]
    by_name: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of classes of each target."""
        return tuple(len(target.classes) for target in self.targets)

    def rows(self, X: Any, unseen: float = np.nan) -> Any:
        """Give a copy of X with codes in the columns of labels.

        unseen: what stands for a label that training did not hold; NaN takes it as missing, and
        warns.

        What is no table is given as it is, to be refused by its reader.
        """
        X = as_frame(X)
        places = _places(X, self.names, by_name=self.by_name)
        coded = {
            j: self._coded(_column(X, j), target, f"X (column {name!r})", unseen)
            for j, target, name in zip(places, self.targets, self.names, strict=False)
            if j is not None
        }
        return _with_columns(X, coded)

    def truth(self, y: Any, unseen: float = np.nan) -> Any:
        """Give codes in y's place; y of other columns as it is, to be refused by its reader."""
        if y is None:
            return None
        columns = _truth_columns(y)
        check_target_count(len(self.targets), len(columns))
        coded = [
            self._coded(column, target, "y", unseen)
            for column, target in zip(columns, self.targets, strict=True)
        ]
        if isinstance(y, pd.Series):
            return pd.Series(coded[0], index=y.index, name=y.name)
        values = np.column_stack(coded)
        if isinstance(y, pd.DataFrame):
            return pd.DataFrame(values, index=y.index, columns=y.columns)
        return values[:, 0] if label_array(y).ndim < 2 else values

    def _coded(self, column: pd.Series, target: Labels, where: str, unseen: float) -> Float64Array:
        codes = target.codes(column, -1.0)
        other = codes == -1
        if other.any() and np.isnan(unseen):
            warn_of_unseen_labels(where, column[other].iloc[0], int(other.sum()))
        codes[other] = unseen
        return codes

    def spread(self, table: Table) -> Table:
        """Give each class a column: 1 where it came, NaN where its target is missing.

        Weights are those of the classes, too.
        """
        columns: list[Any] = []
        weights = []
        for j, (target, codes) in enumerate(zip(self.targets, table.columns, strict=False)):
            n_classes = len(target.classes)
            weight = None if table.weight is None else table.weight[:, j]
            if codes is None:
                columns += [None] * n_classes
            else:
                missing = np.isnan(codes)
                columns += [np.where(missing, np.nan, codes == k) for k in range(n_classes)]
                if target.weight is not None:
                    own = target.weight[np.where(missing, 0, codes).astype(np.int64)]
                    weight = np.where(missing, 0.0, own) * (1.0 if weight is None else weight)
            weight = np.ones(len(table.series)) if weight is None else weight
            weights += [weight] * n_classes
        plain = table.weight is None and all(target.weight is None for target in self.targets)
        return replace(
            table,
            columns=columns + table.columns[table.n_targets :],
            n_targets=len(columns),
            weight=None if plain else np.column_stack(weights),
        )

    def scaled(self, scaler: Scaler) -> Scaler:
        """Leave columns of classes as they are, mean 0 and deviation 1: an unknown one stays 0."""
        k = sum(self.sizes)
        mean, scale = scaler.mean.copy(), scaler.scale.copy()
        mean[:, :k], scale[:, :k] = 0.0, 1.0
        return Scaler(mean, scale)

    def given(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Give labels of codes, (n, n_targets); of targets of different types as objects.

        one_dimensional: whether there is no axis for targets.
        """
        columns = [target.given(codes) for target, codes in self._pairs(values)]
        if one_dimensional:
            return columns[0]
        kinds = {column.dtype.kind for column in columns}
        if len(kinds) > 1:
            columns = [column.astype(object) for column in columns]
        return np.column_stack(columns)

    def frame(self, values: Float64Array, index: pd.Index | None, names: pd.Index) -> pd.DataFrame:
        """Give labels of codes as a frame; categoricals where they came as such, in their order."""
        columns = {
            j: pd.Series(target.given(codes), index=index, dtype=target.dtype)
            for j, (target, codes) in enumerate(self._pairs(values))
        }
        return pd.DataFrame(columns, index=index).set_axis(names, axis=1)

    def _pairs(self, values: Float64Array) -> list[tuple[Labels, Float64Array]]:
        return list(zip(self.targets, values.T, strict=True))


def read_labels(X: Any, y: Any, target: Any, class_weight: Any) -> LabelReader:
    """Find the classes in what `fit` got, which may be columns of X, see `find_targets`, or y.

    class_weight: "balanced" or a dict; of several targets in a list.

    It is a ValueError if labels are continuous numbers, or if X's column holds others than y.

    >>> reader = read_labels(pd.DataFrame({"state": ["on", "off", None]}), None, None, None)
    >>> reader.rows(pd.DataFrame({"state": ["off"]}))["state"].tolist()
    [0.0]
    """
    X = as_frame(X)
    names = _targets_in(X, y, target)
    by_name = isinstance(X, pd.DataFrame)
    places = _places(X, names, by_name=by_name)
    own = [(_column(X, j), f"X (column {name!r})") for j, name in zip(places, names, strict=True)]
    columns = own if y is None else [(column, "y") for column in _truth_columns(y)]
    weights = check_class_weights(class_weight, len(columns))
    reader = LabelReader(
        tuple(_classes(*column, weight) for column, weight in zip(columns, weights, strict=True)),
        names,
        by_name,
    )
    if y is not None:
        for (column, _), labels, name in zip(own, reader.targets, names, strict=False):
            other = labels.codes(column, -1.0) == -1
            if other.any():
                raise_other_labels(name, column[other].iloc[0])
    return reader


def _targets_in(X: Any, y: Any, target: Any) -> tuple[Hashable, ...]:
    """Name the columns of X that hold the targets; none if y alone does."""
    if isinstance(X, pd.DataFrame):
        names: Sequence[Hashable] = list(X.columns)
    else:
        names = range(_n_columns(X))
    if not len(names):
        return ()  # which its reader refuses
    truth = None
    if y is not None:
        columns = _truth_columns(y)
        named = isinstance(y, pd.DataFrame) or getattr(y, "name", None) is not None
        truth = Truth(np.empty((0, 0)), tuple(c.name for c in columns), named, None, True)
    return find_targets(target, names, named=isinstance(X, pd.DataFrame), truth=truth)


def _places(X: Any, names: Sequence[Hashable], *, by_name: bool) -> list[int | None]:
    """Find columns by their names, else by their place; None for those that rows leave out."""
    if isinstance(X, pd.DataFrame) and by_name:
        places: dict[Hashable, int] = {name: j for j, name in enumerate(X.columns)}
        return [places.get(name) for name in names]
    n_columns = _n_columns(X)
    return [name if isinstance(name, int) and name < n_columns else None for name in names]


def _n_columns(X: Any) -> int:
    """Count the columns of a table; 0 of what is none."""
    if isinstance(X, pd.DataFrame):
        return X.shape[1]
    values = np.asarray(X)
    return values.shape[1] if values.ndim == 2 else 0


def _column(X: Any, j: int | None) -> pd.Series:
    if j is None:
        return pd.Series([], dtype=object)
    return X.iloc[:, j] if isinstance(X, pd.DataFrame) else pd.Series(np.asarray(X)[:, j])


def _with_columns(X: Any, coded: dict[int, Float64Array]) -> Any:
    if not coded:
        return X
    if isinstance(X, pd.DataFrame):
        X = X.copy(deep=False)
        for j, codes in coded.items():
            X.isetitem(j, codes)
        return X
    X = np.array(X, dtype=object)
    for j, codes in coded.items():
        X[:, j] = codes
    return X


def _truth_columns(y: Any) -> list[pd.Series]:
    """Give y as columns of labels."""
    if isinstance(y, pd.DataFrame):
        return [y.iloc[:, j] for j in range(y.shape[1])]
    if isinstance(y, pd.Series):
        return [y if y.name is not None else y.rename("y")]
    values = label_array(y)
    if values.ndim == 1:
        return [pd.Series(values, name="y")]
    return [pd.Series(values[:, j], name=f"y{j}") for j in range(values.shape[1])]


def _classes(column: pd.Series, where: str, class_weight: Any) -> Labels:
    """Find the classes of one target."""
    observed = _plain(column[column.notna()])
    classes = sorted_classes(observed, where)
    dtype = column.dtype if isinstance(column.dtype, pd.CategoricalDtype) else None
    weight = class_weights(class_weight, classes, observed)
    return Labels(classes, dtype, weight)


def _plain(values: pd.Series) -> AnyArray:
    """Give labels without missing ones as an array of what they are."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if isinstance(values.dtype, np.dtype) and values.dtype != object:
        return values.to_numpy()
    return np.asarray(pd.Series(values.to_numpy(dtype=object)).infer_objects().to_numpy())
