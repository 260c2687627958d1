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
from skinformer.reading.targets import find_targets, own_names
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.roles import Names
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.target_scale import TargetScale
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
        is_observed = values.notna().to_numpy()
        observed = _plain(values[is_observed])
        classes = pd.Index(self.classes)
        codes = np.full(len(values), np.nan)
        codes[is_observed] = classes.get_indexer(pd.Index(observed))
        return codes

    def one_hot(self, codes: Float64Array) -> list[Float64Array]:
        """Return a column of each class, 1 where it came, NaN where a code is NaN."""
        numbers = np.arange(len(self.classes))
        is_class = codes == numbers[:, None]
        return list(np.where(np.isnan(codes), np.nan, is_class))

    def weights_of(self, codes: Float64Array) -> Float64Array:
        """Return the weights of codes, 0 of missing ones; 1 of all without weights."""
        if self.weight is None:
            return np.ones(len(codes))
        places = np.nan_to_num(codes).astype(np.int64)
        return np.where(codes >= 0, self.weight[places], 0.0)

    def decode(self, codes: Float64Array) -> AnyArray:
        """Return labels of codes; None where a code is NaN."""
        known = ~np.isnan(codes)
        places = codes[known].astype(np.int64)
        observed = self.classes[places]
        if known.all():
            return observed
        labels = np.full(len(codes), None)
        labels[known] = observed
        return labels


@dataclass(frozen=True)
class LabelReader(NumberReader):
    """Read labels of one or several targets.

    names: columns of X that hold labels; numbers for an array, none where only y does.
    by_name: whether columns are found by their names; by their place where an array was fitted.
    """

    targets: tuple[Labels, ...]
    names: Names
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
        places = _places(table, self.names, by_name=self.by_name)
        if not places:
            return X
        for name, target in zip(self.names, self.targets, strict=False):
            if name in places:
                place = places[name]
                column = table.iloc[:, place]
                codes = _encode(column, target, f"X (column {name!r})", unseen)
                table.isetitem(place, codes)
        if isinstance(X, pd.DataFrame):
            return table
        return table.to_numpy(dtype=object)

    def encode_y(self, y: Any, unseen: float = np.nan) -> Any:
        """Return codes in y's place; y of other columns as it is, to be refused by its reader."""
        if y is None:
            return None
        columns = _label_columns(y)
        checks.check_target_count(len(self.targets), len(columns))
        pairs = zip(columns, self.targets, strict=True)
        codes = [_encode(column, target, "y", unseen) for column, target in pairs]
        if isinstance(y, pd.Series):
            return pd.Series(codes[0], y.index, name=y.name)
        values = np.column_stack(codes)
        if isinstance(y, pd.DataFrame):
            return pd.DataFrame(values, y.index, y.columns)
        return values.reshape(np.asarray(y).shape)

    def one_hot(self, table: Table) -> Table:
        """Encode each class as a column: 1 where it came, NaN where its target is missing.

        Weights are those of the classes, too.
        """
        columns: list[Any] = []
        weights = []
        for j, target in enumerate(self.targets):
            n_classes = len(target.classes)
            codes = table.columns[j]
            weight = np.ones(len(table.series))
            if table.weight is not None:
                weight = table.weight[:, j]
            if codes is None:
                columns += [None] * n_classes
            else:
                columns += target.one_hot(codes)
                weight = weight * target.weights_of(codes)
            weights += [weight] * n_classes
        is_weighted = table.weight is not None
        for target in self.targets:
            is_weighted |= target.weight is not None
        covariates = table.covariates
        return replace(
            table,
            columns=columns + covariates,
            n_targets=len(columns),
            weight=np.column_stack(weights) if is_weighted else None,
        )

    def adapt_scaler(self, scaler: Scaler) -> Scaler:
        """Leave columns of classes as they are, mean 0 and deviation 1: an unknown one stays 0."""
        of_classes = slice(sum(self.sizes))
        mean = scaler.mean.copy()
        scale = scaler.scale.copy()
        mean[:, of_classes] = 0.0
        scale[:, of_classes] = 1.0
        targets = TargetScale.unbounded(len(mean), sum(self.sizes))
        return Scaler(mean, scale, targets)

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
            columns[j] = pd.Series(labels, index, target.dtype)
        return pd.DataFrame(columns, index).set_axis(names, axis=1)


def _encode(
    column: pd.Series, target: Labels, where: str, unseen: float
) -> Float64Array:
    """Encode labels of one target; warn of those that training did not hold."""
    codes = target.encode(column)
    is_unseen = codes == -1
    if is_unseen.any() and np.isnan(unseen):
        labels = column[is_unseen]
        checks.warn_of_unseen_labels(where, labels.iloc[0], len(labels))
    codes[is_unseen] = unseen
    return codes


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
    y_names = None
    if y is not None:
        y_columns = _label_columns(y)
        y_names = own_names(y)
    columns = list(table.columns)
    names: Names = ()  # of no columns, which their reader refuses
    if columns:
        names = find_targets(target, columns, named=by_name, y_names=y_names)
    places = _places(table, names, by_name=by_name)
    x_columns = [table.iloc[:, places[name]] for name in names]
    if y is None:
        where = [f"X (column {name!r})" for name in names]
        targets = _find_classes(x_columns, where, class_weight)
    else:
        targets = _find_classes(y_columns, ["y"] * len(y_columns), class_weight)
        _check_same_labels(x_columns, targets, names)
    return LabelReader(targets, names, by_name)


def _find_classes(
    columns: Sequence[pd.Series], where: Sequence[str], class_weight: Any
) -> tuple[Labels, ...]:
    """Find the classes of targets, and the weights of these."""
    weights = checks.check_class_weights(class_weight, len(columns))
    targets = []
    for column, place, weight in zip(columns, where, weights, strict=True):
        observed = _plain(column[column.notna()])
        classes = checks.sorted_classes(observed, place)
        is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
        dtype = column.dtype if is_categorical else None
        weight_of_classes = checks.class_weights(weight, classes, observed)
        targets.append(Labels(classes, dtype, weight_of_classes))
    return tuple(targets)


def _check_same_labels(
    columns: Sequence[pd.Series], targets: Sequence[Labels], names: Names
) -> None:
    """Raise if a column of X holds labels that y does not."""
    for column, labels, name in zip(columns, targets, names, strict=False):
        is_other = labels.encode(column) == -1
        for label in column[is_other][:1]:
            checks.raise_other_labels(name, label)


def _table(X: Any) -> pd.DataFrame:
    """Return a table as its own frame, columns numbered if it is none; empty of no table."""
    if isinstance(X, pd.DataFrame):
        return X.copy(deep=False)
    values = np.asarray(X)
    if values.dtype.kind in "US":  # numbers and None beside text stay what they are
        values = np.asarray(X, dtype=object)
    return pd.DataFrame(values if values.ndim == 2 else None)


def _places(table: pd.DataFrame, names: Names, *, by_name: bool) -> dict[Hashable, int]:
    """Find columns by their names, else by their place, as far as rows hold them."""
    columns = table.columns if by_name else range(table.shape[1])
    return {name: place for place, name in enumerate(columns) if name in names}


def _label_columns(y: Any) -> list[pd.Series]:
    """Return y as columns of labels."""
    if isinstance(y, pd.Series):
        return [y]
    if not isinstance(y, pd.DataFrame):
        y = pd.DataFrame(checks.label_array(y))
    return [column for _, column in y.items()]


def _plain(values: pd.Series) -> AnyArray:
    """Return labels without missing ones as an array of what they are."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if isinstance(values.dtype, np.dtype) and values.dtype != object:
        return values.to_numpy()
    labels = pd.Series(values.to_numpy(dtype=object))
    return labels.infer_objects().to_numpy()
