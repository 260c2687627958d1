"""The truth: y or the target of X, its labels, weights and units."""

import reprlib
from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array
from skinformer.validation.columns import (
    check_kind,
    check_some_columns,
    holds_no_rows,
    numeric_column,
)
from skinformer.validation.warning import first_names, warn_user


def numeric_truth(y: Any) -> Float64Array:
    """Check y; NaN is a missing truth."""
    check_truth_given(y)
    if isinstance(y, pd.DataFrame):
        check_some_columns(y.shape[1], "y")
        columns = [numeric_column(column, name, where="y[{!r}]") for name, column in y.items()]
        y = np.column_stack(columns)
    elif isinstance(y, pd.Series):
        y = numeric_column(y, y.name, where="y")
    values = check_array(
        y, dtype="numeric", ensure_2d=False, ensure_all_finite="allow-nan", input_name="y"
    )
    check_kind(values, "y")
    return np.asarray(values, dtype=np.float64)


#: A weight beside the greatest one: sums and numbers of 32 bits hold it.
_LEAST_WEIGHT = 1e-12


#: What scikit-learn takes for weights.
_NOT_NEGATIVE: dict[str, Any] = {"dtype": np.float64, "ensure_non_negative": True}


def check_truth_given(y: Any) -> None:
    """Raise if y is the name of a column, another single value, or a dictionary."""
    if holds_no_rows(y):
        named = f"target={y!r} to the estimator, and X alone to fit"
        advice = f"Pass its values, y=X[{y!r}]; to forecast a column of X pass {named}."
        advice = advice if isinstance(y, str) else "Pass one value a row of X."
        raise TypeError(f"y={y!r:.200} holds no truth. {advice}")


def _numbers_of_rows(sample_weight: Any) -> Float64Array:
    """Return weights as an array, or raise if they are text, dates, complex or the like."""
    try:
        values = np.asarray(sample_weight)
        if values.dtype.kind not in "fiubO":
            raise TypeError(values.dtype)
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"sample_weight={reprlib.repr(sample_weight)} holds no numbers: pass one weight a "
            "row, or None to weigh all alike."
        ) from error


def truth_weight(sample_weight: Any, observed: BoolArray) -> Any:
    """Combine sample weights and missing truth; None when every value weighs 1."""
    if sample_weight is None:
        return None if observed.all() else observed.astype(np.float64)
    given: Any = _numbers_of_rows(sample_weight)
    given = given if given.ndim else float(given)  # one weight for all
    weight = _check_sample_weight(given, observed, **_NOT_NEGATIVE)
    if not np.isfinite(weight).all():
        raise ValueError(f"sample_weight={sample_weight!r} must be finite: one number a row.")
    # They count beside each other: in the power of two near the greatest, which rounds nothing.
    exponent = np.frexp(weight.max(initial=0.0))[1]
    weight = np.where(weight > 0, np.maximum(np.ldexp(weight, 1 - exponent), _LEAST_WEIGHT), 0.0)
    return observed * weight[:, None]


def score_weight(sample_weight: Any, n_rows: int) -> Float64Array | None:
    """Check the weights of rows to score; None weighs all alike."""
    if sample_weight is None:
        return None
    weight = _numbers_of_rows(sample_weight)
    shape = weight.shape
    if shape != (n_rows,):
        raise ValueError(
            f"sample_weight of shape {shape} does not fit {n_rows} rows: pass one weight a row, "
            f"shape ({n_rows},)."
        )
    rows = np.empty((n_rows, 1))
    return np.asarray(_check_sample_weight(weight, rows, **_NOT_NEGATIVE))


def check_some_truth(y: Float64Array) -> None:
    """Raise, in scikit-learn's words, if a target has no value at all."""
    if np.isnan(y).all(axis=0).any():
        raise ValueError(
            "Input y contains NaN only: a target without one value cannot be learnt. Pass the "
            "observed values; single missing ones may stay NaN."
        )


def check_affine(link: tuple[float, float] | None, target: Hashable) -> tuple[float, float]:
    """Raise if y is not the target's column of X up to scale and shift."""
    if link is None:
        raise ValueError(
            f"y is not the column {target!r} of X up to scale and shift, so forecasts cannot be "
            "put into y's units. Transform both alike, or only scale X; for a non-linear "
            "transform of the target drop the column from X, or fit on X alone."
        )
    return link


def check_target_count(n_targets: int, n_columns: int) -> None:
    """Raise if y does not have one column per target."""
    if n_targets != n_columns:
        raise ValueError(
            f"y has {n_columns} column(s) for {n_targets} target(s): pass one per target, in the "
            "order of `target`."
        )


def check_any_truth(n_rows: int) -> None:
    """Raise if no row to score has a truth."""
    if not n_rows:
        raise ValueError(
            "score found no row whose truth is known: every one holds a NaN. Pass rows with "
            "observed targets."
        )


def raise_copy(column: Hashable, target: Hashable, *, classifies: bool) -> NoReturn:
    """Raise if a column of X is a target in a scale from which there is no way back.

    target: None where other targets have no copy in X.
    """
    if target is None:
        raise ValueError(
            f"the column {column!r} of X is one of y's targets in another scale: known ahead it "
            "would hold the answer. Of the other targets X holds no copy. Leave the column out of "
            "X, or pass X with all targets and target=[...]."
        )
    kind = "its classes under other labels" if classifies else "not up to scale and shift alone"
    advice = "" if classifies else ", or forecast logarithms by target_transform='log'"
    raise ValueError(
        f"the column {column!r} of X is y ({target!r}) in another scale, {kind}: known ahead it "
        "would hold the answer, and forecasts from it could not be put into y's units. Leave the "
        "target out of the transformer, ColumnTransformer([('drivers', transformer, drivers)], "
        "remainder='passthrough', verbose_feature_names_out=False).set_output(transform='pandas')"
        f"{advice}: the estimator scales by itself."
    )


def warn_of_copy(target: Hashable, past: Sequence[Hashable]) -> None:
    """Warn that X's other columns are not known ahead where a copy of y was found beside them."""
    if not past:
        return
    warn_user(
        f"the column {target!r} of X is y in another scale, so it is the target's history, and "
        f"X's other columns, {first_names(pd.Index(past))}, are known up to the present alone. "
        "Name those that are known ahead in known_future; set_output(transform='pandas') on the "
        "transformers keeps names and times."
    )


def warn_of_leaks(columns: dict[Hashable, npt.NDArray[Any]], truth: Float64Array) -> None:
    """Warn of columns that equal a truth: at prediction they would hold the answer."""
    for name, column in columns.items():
        if any(_is_twin(column, y) for y in truth.T):
            warn_user(
                f"column {name!r} of X equals y: a feature must be known before the step it "
                f"belongs to. Pass target={name!r} to forecast it from its own past."
            )


def _is_twin(column: npt.NDArray[Any], y: Float64Array) -> bool:
    """Return whether a column equals a truth that varies, where the truth is known."""
    # The first rows settle it for nearly every column; the rest is read only for a twin.
    for rows in (slice(64), slice(None)):
        if not ((column[rows] == y[rows]) | np.isnan(y[rows])).all():
            return False
    return bool(np.nanmax(y) > np.nanmin(y))


def warn_of_outliers(
    count: int, outlier: Any, column: Any, where: str, *, missing: bool, least: float
) -> None:
    """Warn of values that are not believed, because nothing like them was there.

    outlier: the first of them.
    missing: whether it is a target's; else it is replaced.
    least: the least value of all targets, of which logarithms may be taken where it is above 0.
    """
    more = "" if count == 1 else f" (the first of {count} outliers)"
    done = "taken as missing" if missing else "replaced by an earlier value of the column"
    transform = "'log'" if least > 0 else "FunctionTransformer(np.log1p, np.expm1)"
    advice = f"; if it is right, fit the logarithms (target_transform={transform})"
    advice = advice if missing and least >= 0 else ""
    warn_user(
        f"{column!r}={outlier.value:g} at {where}{more} is {done}: {outlier.low:g} to "
        f"{outlier.high:g} is usual there, and one such value would bend all forecasts. Correct "
        f"it{advice}."
    )


def warn_of_other_unit(count: int, factor: float, column: Hashable, where: str) -> None:
    """Warn of a series that is in another unit from some row on."""
    more = "" if count == 1 else f" (the first of {count} such changes)"
    warn_user(
        f"{column!r} is {factor:g} times as large from {where} on{more}, at every hour: another "
        f"unit. The rows before it are multiplied by {factor:g}; give all rows in one unit."
    )


def label_array(y: Any) -> npt.NDArray[Any]:
    """Return labels as an array of one or two dimensions."""
    check_truth_given(y)
    values = np.asarray(y)
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # a list of texts and None, which numpy would print
    if values.ndim not in (1, 2):
        raise ValueError(
            f"y should be a 1d array, got an array of shape {values.shape} instead: pass one label "
            "a row, or one column a target."
        )
    return values


def sorted_classes(observed: AnyArray, where: str) -> AnyArray:
    """Sort the classes among labels; raise where labels are no classes."""
    if observed.dtype.kind == "f" and np.isinf(observed).any():
        raise ValueError(
            f"Input {where} contains infinity or a value too large for {observed.dtype!r}: a "
            "class is a label. Make it NaN where it is missing."
        )
    if observed.dtype.kind == "f" and (observed % 1).any():
        raise ValueError(
            f"Unknown label type: continuous. {where} holds {observed[observed % 1 != 0][0]:g}, "
            "and classes are labels. Forecast numbers by InformerRegressor, or make classes of "
            "them by pd.cut."
        )
    if observed.dtype.kind not in "fO":
        check_classification_targets(observed)
    try:
        return np.asarray(np.unique(observed))
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in observed})
        raise TypeError(
            f"{where} mixes labels of types {' and '.join(kinds)}, which have no order: make them "
            "all of one type, for example by astype(str)."
        ) from error


def check_class_weights(class_weight: Any, n_targets: int) -> list[Any]:
    """Return the weights of each target's classes."""
    if not isinstance(class_weight, list):
        return [class_weight] * n_targets
    if len(class_weight) != n_targets:
        raise ValueError(
            f"class_weight has {len(class_weight)} entries for {n_targets} target(s): pass one "
            "dictionary a target in the list, or 'balanced' for all."
        )
    return class_weight


def class_weights(class_weight: Any, classes: AnyArray, observed: AnyArray) -> Float64Array | None:
    """Weigh the classes of one target, as scikit-learn does; None weighs all alike."""
    if class_weight is None or not len(classes):
        return None
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=observed))


def raise_other_labels(name: Hashable, label: Any) -> None:
    """Raise if the target's column of X holds what is no class of y."""
    raise ValueError(
        f"X holds {label!r} in the column {name!r}, which is no class of y: both are the same "
        "labels. Leave the column out of scalers and encoders, or drop it from X."
    )


def warn_of_unseen_labels(where: str, label: Any, count: int) -> None:
    """Warn of labels that no training row had."""
    warn_user(
        f"{where} holds {label!r}, which fit never saw ({count} row(s) of such labels): they are "
        "taken as missing. Fit again with rows that hold them."
    )


#: How near mean and deviation, or least and greatest value, of a scaled column are to 0 and 1:
#: single precision leaves so much. Of raw columns not one in a million is as near by chance.
_ROUNDING = 1e-5


#: Share of rows that a scaled column has at its greatest value, if there are more than one. A share
#: of something, such as cloud cover, is 1 for days.
_MOST_AT_ONE = 0.01


def warn_of_last_column(target: Hashable, others: Sequence[Hashable], *, named: bool) -> None:
    """Warn that no target was named where others could be meant."""
    if not others:
        return
    what = repr(target) if named else f"number {target}"
    warn_user(
        f"target=None forecasts the last column of X, {what}; the others that are not known "
        f"ahead, {first_names(pd.Index(others))}, only help. Say which is meant: "
        f"target={target!r}, or several in a list, target={[target, others[0]]!r}."
    )


def warn_of_scaled_targets(columns: dict[Hashable, npt.NDArray[Any]], *, named: bool) -> None:
    """Warn that targets without y come in the units of a scaler, of all by the first of them."""
    for target, column in columns.items():
        found = _scaler_of(column)
        if found is None:
            continue
        targets = list(columns) if len(columns) > 1 else target
        y = f"y=df[{targets!r}]" if named else f"target={targets!r} and y, what stood there,"
        warn_user(
            f"the target {target!r} {found}: forecasts come in these units. If X was scaled, pass "
            f"{y} as it was before that, or leave the scaler out, as the estimator standardises "
            "by itself."
        )
        return


def _scaler_of(column: npt.NDArray[Any]) -> str | None:
    """Return the scaler that a column evidently went through."""
    if column.dtype.kind != "f":  # NaN is no truth; integers went through none
        return None
    values = column[~np.isnan(column)].astype(np.float64)
    low, high = values.min(), values.max()
    if max(-low, high) > np.sqrt(len(values)) + 1:
        return None  # no standardised value is larger, and squares of large ones overflow
    if not ((values > low) & (values < high)).any():
        return None  # two values are a yes and a no
    if max(abs(values.mean()), abs(values.std() - 1)) < _ROUNDING:
        return "has mean 0 and deviation 1, as behind a StandardScaler"
    rare = (values > 1 - _ROUNDING).sum() <= max(1, _MOST_AT_ONE * len(values))
    if rare and max(abs(low), abs(high - 1)) < _ROUNDING:
        return "runs from 0 to 1, as behind a MinMaxScaler"
    return None


#: Cosine between columns, and share of a truth that they leave, that are roundings (float32).
_COSINE = 1e-4


#: Columns looked at, at most: a reducer is there to leave few.
_MOST_MIXED = 256


#: Rows for each column, without which a mixture cannot be told from chance.
_ROWS_EACH = 8


def warn_of_mixed_truth(columns: Sequence[npt.NDArray[Any]], truth: Float64Array) -> None:
    """Warn where features are a reducer's output, and add up to the truth at their own step.

    Such columns are uncorrelated to the last digit, which measured ones never are. A reducer that
    dropped components cannot be found out: then no sum is exact. Features count as known ahead.
    """
    if not 2 <= len(columns) <= _MOST_MIXED or len(truth) < _ROWS_EACH * (len(columns) + 1):
        return
    if not _uncorrelated(np.column_stack(columns[:2])):  # settles it for nearly every fit
        return
    features = np.column_stack(columns).astype(np.float64)
    if _uncorrelated(features) and any(_adds_up(features, y) for y in truth.T):
        warn_user(
            "the columns of X are uncorrelated and add up to y at their own step, as those of PCA "
            "do where y was among its columns: they count as known ahead, and hold the answer. "
            "Reduce the other columns alone, ColumnTransformer([('pca', PCA(), drivers)], "
            "remainder='passthrough', verbose_feature_names_out=False), with "
            "set_output(transform='pandas') and target=, or leave the reducer out."
        )


def _uncorrelated(features: Float64Array) -> bool:
    """Return whether columns are orthogonal, as they are (truncated SVD) or about their means."""
    if not np.isfinite(features).all():
        return False
    return any(_orthogonal(rows) for rows in (features, features - features.mean(axis=0)))


def _orthogonal(rows: Float64Array) -> bool:
    products = rows.T @ rows
    length = np.sqrt(np.diag(products))
    some = length > _COSINE * length.max(initial=0.0)  # others are what rounding left
    cosines = products[np.ix_(some, some)] / np.outer(length[some], length[some])
    return bool(some.sum() > 1 and np.abs(cosines - np.eye(some.sum())).max() < _COSINE)


def _adds_up(features: Float64Array, y: Float64Array) -> bool:
    """Return whether a truth that varies is a sum of columns, each times a number, and of one."""
    present = ~np.isnan(y)
    y, rows = y[present], np.column_stack([features, np.ones(len(y))])[present]
    if len(y) < _ROWS_EACH * rows.shape[1] or np.ptp(y) == 0:
        return False
    weights = np.linalg.lstsq(rows, y, rcond=None)[0]
    return bool(np.std(y - rows @ weights) < _COSINE * np.std(y))


def check_positive(
    least: Float64Array, positive: BoolArray, targets: tuple[Hashable, ...], names: pd.Index | None
) -> None:
    """Raise if logarithms are asked for of targets that are not all above zero."""
    if positive.all():
        return
    i, j = (int(place[0]) for place in (~positive).nonzero())
    where = f"{targets[j]!r}" + ("" if names is None else f" of series {names[i]!r}")
    raise ValueError(
        f"target_transform='log' needs targets above 0, but {where} falls to {least[i, j]:g}: that "
        "has no logarithm. Make such rows NaN, or pass target_transform=None or "
        "FunctionTransformer(np.log1p, np.expm1)."
    )


def raise_unfit_transform(
    transformer: Any, target: Hashable, values: Float64Array, error: Exception
) -> NoReturn:
    """Raise where a transformer cannot be fitted to a target; `values` ascend."""
    where = f"lies in {values[0]:g} … {values[-1]:g}" if len(values) else "has no training rows"
    raise ValueError(
        f"target_transform={transformer!r} cannot be fitted to target {target!r}, which {where}: "
        f"{error} Choose one that is defined there, or target_transform=None."
    ) from error


def check_transformer(
    transformer: Any, target: Hashable, *, lost: float, reach: float, falls: bool
) -> None:
    """Raise if a transformer does not give training values back, or makes a quantile another."""
    if not lost <= reach:  # NaN, too
        raise ValueError(
            f"target_transform={transformer!r} does not give the training values of target "
            f"{target!r} back: inverse_transform(transform(y)) is off by {lost:g}, and forecasts "
            "would be, too. Pass a transformer with the inverse that belongs to it, or "
            "target_transform=None."
        )
    if falls:
        raise ValueError(
            f"target_transform={transformer!r} falls where target {target!r} rises: a quantile as "
            "loss would forecast the opposite one. Pass a transformer that rises, or another loss."
        )
