"""Labels of classes: from what the user passes to codes, from codes to columns that are forecast.

A label becomes its number among the sorted classes, so that everything that reads rows reads
numbers; behind the reader each class has a column of its own, 1 where it came and 0 elsewhere.
Nothing known is 0 in all of them. Fed back, such a column holds a probability.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.reading.columns import as_frame
from skinformer.reading.targets import Truth, find_targets, name_columns
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table
from skinformer.validation import truth as checks


@dataclass(frozen=True)
class NumberReader:
    """How truths are read, and given back: numbers as they are."""

    def rows(self, X: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Return X with its targets as numbers."""
        return X

    def truth(self, y: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Return y as numbers; None stays None."""
        return y

    def spread(self, table: Table) -> Table:
        """Return a table whose targets are the columns that are forecast."""
        return table

    def scaled(self, scaler: Scaler) -> Scaler:
        """Return the scale of these columns."""
        return scaler

    def given(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Return numbers of shape (n, n_targets) as what they were read from."""
        return values[:, 0] if one_dimensional else values

    def frame(self, values: Float64Array, index: pd.Index | None, names: pd.Index) -> pd.DataFrame:
        """Return the same as a frame."""
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

    def codes(self, values: pd.Series) -> Float64Array:
        """Encode labels by their places among the classes; NaN is missing, -1 none of them.

        >>> Labels(np.array(["high", "low"]), None).codes(pd.Series(["low", None, "odd"]))
        array([ 1., nan, -1.])
        """
        missing = values.isna().to_numpy()
        codes = np.full(len(values), np.nan)
        observed = pd.Index(_plain(values[~missing]))
        codes[~missing] = pd.Index(self.classes).get_indexer(observed)
        return codes

    def given(self, codes: Float64Array) -> AnyArray:
        """Return labels of codes; None where a code is NaN."""
        known = ~np.isnan(codes)
        labels = self.classes[np.where(known, codes, 0).astype(np.int64)]
        return labels if known.all() else np.where(known, labels.astype(object), np.array(None))


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
        """Return a copy of X with codes in the columns of labels.

        unseen: what stands for a label that training did not hold; NaN takes it as missing, and
        warns.

        What is no table is given as it is, to be refused by its reader.
        """
        X = as_frame(X)
        table = _table(X)
        found = _places(X, table, self.names, by_name=self.by_name)
        if not found:
            return X
        for target, name in zip(self.targets, self.names, strict=False):
            if name in found:
                column, where = table.iloc[:, found[name]], f"X (column {name!r})"
                table.isetitem(found[name], self._coded(column, target, where, unseen))
        return table if isinstance(X, pd.DataFrame) else table.to_numpy(dtype=object)

    def truth(self, y: Any, unseen: float = np.nan) -> Any:
        """Return codes in y's place; y of other columns as it is, to be refused by its reader."""
        if y is None:
            return None
        columns = _truth_columns(y)
        checks.check_target_count(len(self.targets), len(columns))
        pairs = zip(columns, self.targets, strict=True)
        values = np.column_stack([self._coded(*pair, "y", unseen) for pair in pairs])
        if isinstance(y, pd.DataFrame):
            return pd.DataFrame(values, index=y.index, columns=y.columns)
        values = values if np.asarray(y).ndim == 2 else values[:, 0]
        return pd.Series(values, y.index, name=y.name) if isinstance(y, pd.Series) else values

    def _coded(self, column: pd.Series, target: Labels, where: str, unseen: float) -> Float64Array:
        codes = target.codes(column)
        other = codes == -1
        if other.any() and np.isnan(unseen):
            checks.warn_of_unseen_labels(where, column[other].iloc[0], int(other.sum()))
        codes[other] = unseen
        return codes

    def spread(self, table: Table) -> Table:
        """Encode each class as a column: 1 where it came, NaN where its target is missing.

        Weights are those of the classes, too.
        """
        columns: list[Any] = []
        weights = []
        for j, (target, codes) in enumerate(zip(self.targets, table.columns, strict=False)):
            n_classes = len(target.classes)
            weight = np.ones(len(table.series)) if table.weight is None else table.weight[:, j]
            if codes is None:
                columns += [None] * n_classes
            else:
                missing = np.isnan(codes)
                columns += [np.where(missing, np.nan, codes == k) for k in range(n_classes)]
                if target.weight is not None:  # of a missing label it is 0
                    place = np.where(missing, n_classes, codes).astype(np.int64)
                    weight = np.append(target.weight, 0.0)[place] * weight
            weights += [weight] * n_classes
        plain = table.weight is None and all(target.weight is None for target in self.targets)
        every = None if plain else np.column_stack(weights)
        rest = table.columns[table.n_targets :]
        return replace(table, columns=columns + rest, n_targets=len(columns), weight=every)

    def scaled(self, scaler: Scaler) -> Scaler:
        """Leave columns of classes as they are, mean 0 and deviation 1: an unknown one stays 0."""
        k = sum(self.sizes)
        mean, scale = scaler.mean.copy(), scaler.scale.copy()
        mean[:, :k], scale[:, :k] = 0.0, 1.0
        return Scaler(mean, scale)

    def given(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Return labels of codes, (n, n_targets); of targets of different types as objects.

        one_dimensional: whether there is no axis for targets.
        """
        pairs = zip(self.targets, values.T, strict=True)
        columns = [target.given(codes) for target, codes in pairs]
        if one_dimensional:
            return columns[0]
        kinds = {column.dtype.kind for column in columns}
        if len(kinds) > 1:
            columns = [column.astype(object) for column in columns]
        return np.column_stack(columns)

    def frame(self, values: Float64Array, index: pd.Index | None, names: pd.Index) -> pd.DataFrame:
        """Return labels of codes as a frame; categoricals where they came so, in their order."""
        columns = {
            j: pd.Series(target.given(codes), index=index, dtype=target.dtype)
            for j, (target, codes) in enumerate(zip(self.targets, values.T, strict=True))
        }
        return pd.DataFrame(columns, index=index).set_axis(names, axis=1)


def read_labels(X: Any, y: Any, target: Any, class_weight: Any) -> LabelReader:
    """Find the classes in what `fit` got, which may be columns of X, see `find_targets`, or y.

    class_weight: "balanced" or a dict; of several targets in a list.

    It is a ValueError if labels are continuous numbers, or if X's column holds others than y.

    >>> reader = read_labels(pd.DataFrame({"state": ["on", "off", None]}), None, None, None)
    >>> reader.rows(pd.DataFrame({"state": ["off"]}))["state"].tolist()
    [0.0]
    """
    X = as_frame(X)
    table, by_name = _table(X), isinstance(X, pd.DataFrame)
    truth, given = None, []
    if y is not None:
        given = [(column, "y") for column in _truth_columns(y)]
        truth = Truth(np.empty((0, 0)), *name_columns(y, np.asarray(y).shape), None, True)
    names: tuple[Hashable, ...] = ()  # of no columns, which their reader refuses
    if len(table.columns):
        names = find_targets(target, list(table.columns), named=by_name, truth=truth)
    found = _places(X, table, names, by_name=by_name)
    own = [(table.iloc[:, found[name]], f"X (column {name!r})") for name in names]
    columns = own if y is None else given
    weights = checks.check_class_weights(class_weight, len(columns))
    targets = (_classes(*column, weight) for column, weight in zip(columns, weights, strict=True))
    reader = LabelReader(tuple(targets), names, by_name)
    if y is not None:
        for (column, _), labels, name in zip(own, reader.targets, names, strict=False):
            other = labels.codes(column) == -1
            if other.any():
                checks.raise_other_labels(name, column[other].iloc[0])
    return reader


def _table(X: Any) -> pd.DataFrame:
    """Return a table as its own frame, columns numbered if it is none; empty of no table."""
    if isinstance(X, pd.DataFrame):
        return X.copy(deep=False)
    values = np.asarray(X)
    if values.dtype.kind in "US":  # numbers and None beside text stay what they are
        values = np.asarray(X, dtype=object)
    return pd.DataFrame(values if values.ndim == 2 else None)


def _places(
    X: Any, table: pd.DataFrame, names: Sequence[Hashable], *, by_name: bool
) -> dict[Hashable, int]:
    """Find columns by their names, else by their place, as far as rows hold them."""
    own = table.columns if by_name and isinstance(X, pd.DataFrame) else range(table.shape[1])
    places = {name: j for j, name in enumerate(own)}
    return {name: places[name] for name in names if name in places}


def _truth_columns(y: Any) -> list[pd.Series]:
    """Return y as columns of labels."""
    if isinstance(y, pd.DataFrame):
        return [y.iloc[:, j] for j in range(y.shape[1])]
    if isinstance(y, pd.Series):
        return [y]
    values = checks.label_array(y)
    return [pd.Series(column) for column in values.reshape(len(values), -1).T]


def _classes(column: pd.Series, where: str, class_weight: Any) -> Labels:
    """Find the classes of one target."""
    observed = _plain(column[column.notna()])
    classes = checks.sorted_classes(observed, where)
    dtype = column.dtype if isinstance(column.dtype, pd.CategoricalDtype) else None
    weight = checks.class_weights(class_weight, classes, observed)
    return Labels(classes, dtype, weight)


def _plain(values: pd.Series) -> AnyArray:
    """Return labels without missing ones as an array of what they are."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if isinstance(values.dtype, np.dtype) and values.dtype != object:
        return values.to_numpy()
    return np.asarray(pd.Series(values.to_numpy(dtype=object)).infer_objects().to_numpy())
