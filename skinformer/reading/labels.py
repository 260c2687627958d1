"""Labels of classes: encoded as codes, and codes as columns that are forecast.

A label becomes its number among the sorted classes, so that rows that are read hold numbers alone;
behind the reader each class has a column of its own, 1 where it came and 0 elsewhere. An unknown
label is 0 in all of them. Fed back, such a column holds a probability.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.reading.columns import as_frame
from skinformer.reading.targets import Targets, find_targets, name_columns
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table
from skinformer.validation import truth as checks


@dataclass(frozen=True)
class NumberReader:
    """Encoder and decoder of targets that are numbers: they stay as they are."""

    def encode_rows(self, X: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Return X with its targets as numbers."""
        return X

    def encode_y(self, y: Any, unseen: float = np.nan) -> Any:  # noqa: ARG002
        """Return y as numbers; None stays None."""
        return y

    def one_hot(self, table: Table) -> Table:
        """Return a table whose targets are the columns that are forecast."""
        return table

    def adapt_scaler(self, scaler: Scaler) -> Scaler:
        """Return the scale of these columns."""
        return scaler

    def decode(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Return numbers, (n, n_targets), as they were before they were encoded."""
        return values[:, 0] if one_dimensional else values


@dataclass(frozen=True)
class Labels:
    """The classes of one target.

    classes: sorted, as scikit-learn sorts them.
    dtype: of the column they came in, if that was a categorical: its order is not the sorted one.
    weight: (n_classes,), of each class's rows; None weighs all alike.
    """

    classes: AnyArray
    dtype: Any
    weight: Float64Array | None = None

    def encode(self, values: pd.Series) -> Float64Array:
        """Encode labels by their places among the classes; NaN is missing, -1 none of them.

        >>> Labels(np.array(["high", "low"]), None).encode(pd.Series(["low", None, "odd"]))
        array([ 1., nan, -1.])
        """
        missing = values.isna().to_numpy()
        codes = np.full(len(values), np.nan)
        observed = pd.Index(_plain(values[~missing]))
        codes[~missing] = pd.Index(self.classes).get_indexer(observed)
        return codes

    def one_hot(self, codes: Float64Array) -> list[Float64Array]:
        """Return a column of each class, 1 where it came, NaN where a code is NaN."""
        missing = np.isnan(codes)
        numbers = range(len(self.classes))
        return [np.where(missing, np.nan, codes == number) for number in numbers]

    def weights_of(self, codes: Float64Array) -> Float64Array:
        """Return the weights of codes, 0 of missing ones; 1 of all without weights."""
        if self.weight is None:
            return np.ones(len(codes))
        missing_place = len(self.classes)
        place = np.where(np.isnan(codes), missing_place, codes).astype(np.int64)
        return np.append(self.weight, 0.0)[place]

    def decode(self, codes: Float64Array) -> AnyArray:
        """Return labels of codes; None where a code is NaN."""
        known = ~np.isnan(codes)
        place = np.where(known, codes, 0).astype(np.int64)
        labels = self.classes[place]
        if known.all():
            return labels
        return np.where(known, labels.astype(object), np.array(None))


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

    def encode_rows(self, X: Any, unseen: float = np.nan) -> Any:
        """Return a copy of X with codes in the columns of labels.

        unseen: what stands for a label that training did not hold; NaN takes it as missing, and
        warns.

        What is no table stays as it is, to be refused by its reader.
        """
        X = as_frame(X)
        table = _table(X)
        places = _places(X, table, self.names, by_name=self.by_name)
        if not places:
            return X
        for target, name in zip(self.targets, self.names, strict=False):
            if name in places:
                column = table.iloc[:, places[name]]
                codes = self._encode(column, target, f"X (column {name!r})", unseen)
                table.isetitem(places[name], codes)
        return table if isinstance(X, pd.DataFrame) else table.to_numpy(dtype=object)

    def encode_y(self, y: Any, unseen: float = np.nan) -> Any:
        """Return codes in y's place; y of other columns as it is, to be refused by its reader."""
        if y is None:
            return None
        columns = _label_columns(y)
        checks.check_target_count(len(self.targets), len(columns))
        codes = []
        for column, target in zip(columns, self.targets, strict=True):
            codes.append(self._encode(column, target, "y", unseen))
        values = np.column_stack(codes)
        if isinstance(y, pd.DataFrame):
            return pd.DataFrame(values, index=y.index, columns=y.columns)
        if np.asarray(y).ndim != 2:
            values = values[:, 0]
        return (
            pd.Series(values, y.index, name=y.name)
            if isinstance(y, pd.Series)
            else values
        )

    def _encode(
        self, column: pd.Series, target: Labels, where: str, unseen: float
    ) -> Float64Array:
        """Encode labels of one target; warn of those that training did not hold."""
        codes = target.encode(column)
        is_unseen = codes == -1
        if is_unseen.any() and np.isnan(unseen):
            first = column[is_unseen].iloc[0]
            checks.warn_of_unseen_labels(where, first, int(is_unseen.sum()))
        codes[is_unseen] = unseen
        return codes

    def one_hot(self, table: Table) -> Table:
        """Encode each class as a column: 1 where it came, NaN where its target is missing.

        Weights are those of the classes, too.
        """
        columns: list[Any] = []
        weights = []
        for j, target in enumerate(self.targets):
            codes = table.columns[j]
            n_classes = len(target.classes)
            weight = (
                np.ones(len(table.series))
                if table.weight is None
                else table.weight[:, j]
            )
            if codes is None:
                columns += [None] * n_classes
            else:
                columns += target.one_hot(codes)
                weight = weight * target.weights_of(codes)
            weights += [weight] * n_classes
        is_weighted = any(target.weight is not None for target in self.targets)
        weight_of_all = None
        if is_weighted or table.weight is not None:
            weight_of_all = np.column_stack(weights)
        covariates = table.columns[table.n_targets :]
        return replace(
            table,
            columns=columns + covariates,
            n_targets=len(columns),
            weight=weight_of_all,
        )

    def adapt_scaler(self, scaler: Scaler) -> Scaler:
        """Leave columns of classes as they are, mean 0 and deviation 1: an unknown one stays 0."""
        n_columns = sum(self.sizes)
        mean = scaler.mean.copy()
        mean[:, :n_columns] = 0.0
        scale = scaler.scale.copy()
        scale[:, :n_columns] = 1.0
        return Scaler(mean, scale)

    def decode(self, values: Float64Array, *, one_dimensional: bool) -> AnyArray:
        """Return labels of codes, (n, n_targets); of targets of different types as objects.

        one_dimensional: whether there is no axis for targets.
        """
        pairs = zip(self.targets, values.T, strict=True)
        columns = [target.decode(codes) for target, codes in pairs]
        if one_dimensional:
            return columns[0]
        kinds = {column.dtype.kind for column in columns}
        if len(kinds) > 1:
            columns = [column.astype(object) for column in columns]
        return np.column_stack(columns)

    def decode_frame(
        self, values: Float64Array, index: pd.Index | None, names: pd.Index
    ) -> pd.DataFrame:
        """Return labels of codes as a frame; categoricals where they came so, in their order."""
        columns = {}
        for j, target in enumerate(self.targets):
            labels = target.decode(values[:, j])
            columns[j] = pd.Series(labels, index=index, dtype=target.dtype)
        return pd.DataFrame(columns, index=index).set_axis(names, axis=1)


def read_labels(X: Any, y: Any, target: Any, class_weight: Any) -> LabelReader:
    """Find the classes of targets, which may be columns of X, see `find_targets`, or y.

    class_weight: "balanced" or a dict; of several targets in a list.

    It is a ValueError if labels are continuous numbers, or if X's column holds others than y.

    >>> reader = read_labels(pd.DataFrame({"state": ["on", "off", None]}), None, None, None)
    >>> reader.encode_rows(pd.DataFrame({"state": ["off"]}))["state"].tolist()
    [0.0]
    """
    X = as_frame(X)
    table = _table(X)
    by_name = isinstance(X, pd.DataFrame)
    y_columns = []
    y_targets = None
    if y is not None:
        y_columns = _label_columns(y)
        y_names, named = name_columns(y, np.asarray(y).shape)
        y_targets = Targets(
            np.empty((0, 0)), y_names, named, None, one_dimensional=True
        )
    names: tuple[Hashable, ...] = ()  # of no columns, which their reader refuses
    if len(table.columns):
        names = find_targets(target, list(table.columns), named=by_name, y=y_targets)
    places = _places(X, table, names, by_name=by_name)
    x_columns = [table.iloc[:, places[name]] for name in names]
    if y is None:
        where = [f"X (column {name!r})" for name in names]
        return LabelReader(_classes_of(x_columns, where, class_weight), names, by_name)
    targets = _classes_of(y_columns, ["y"] * len(y_columns), class_weight)
    _check_same_labels(x_columns, targets, names)
    return LabelReader(targets, names, by_name)


def _classes_of(
    columns: Sequence[pd.Series], where: Sequence[str], class_weight: Any
) -> tuple[Labels, ...]:
    """Find the classes of targets."""
    weights = checks.check_class_weights(class_weight, len(columns))
    return tuple(map(_find_classes, columns, where, weights))


def _check_same_labels(
    columns: Sequence[pd.Series], targets: Sequence[Labels], names: Sequence[Hashable]
) -> None:
    """Raise if a column of X holds labels that y does not."""
    for column, labels, name in zip(columns, targets, names, strict=False):
        is_other = labels.encode(column) == -1
        if is_other.any():
            checks.raise_other_labels(name, column[is_other].iloc[0])


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
    columns: Sequence[Hashable] = range(table.shape[1])
    if by_name and isinstance(X, pd.DataFrame):
        columns = list(table.columns)
    place = {name: j for j, name in enumerate(columns)}
    return {name: place[name] for name in names if name in place}


def _label_columns(y: Any) -> list[pd.Series]:
    """Return y as columns of labels."""
    if isinstance(y, pd.DataFrame):
        return [y.iloc[:, j] for j in range(y.shape[1])]
    if isinstance(y, pd.Series):
        return [y]
    values = checks.label_array(y)
    return [pd.Series(column) for column in values.reshape(len(values), -1).T]


def _find_classes(column: pd.Series, where: str, class_weight: Any) -> Labels:
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
    return np.asarray(
        pd.Series(values.to_numpy(dtype=object)).infer_objects().to_numpy()
    )
