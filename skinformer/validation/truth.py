"""The truth: y or the target of X, its labels, weights and units."""

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np
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
from skinformer.validation.warning import first_names, of_series, shown, warn_user
from skinformer.wording import first_of, number_of


def numeric_truth(y: Any) -> Float64Array:
    """Check y; NaN is a missing truth."""
    check_truth_given(y)
    if isinstance(y, pd.DataFrame):
        check_some_columns(y.shape[1], "y")
        columns = [
            numeric_column(column, name, where="y[{!r}]") for name, column in y.items()
        ]
        y = np.column_stack(columns)
    elif isinstance(y, pd.Series):
        y = numeric_column(y, y.name, where="y")
    values = check_array(
        y,
        dtype="numeric",
        ensure_2d=False,
        ensure_all_finite="allow-nan",
        input_name="y",
    )
    check_kind(values, "y")
    return np.asarray(values, dtype=np.float64)


def check_truth_given(y: Any) -> None:
    """Raise if y is the name of a column, another single value, or a dictionary."""
    if holds_no_rows(y):
        raise TypeError(
            f"y={y!r:.200} holds no actual value. Pass one value per row of X; to forecast a "
            f"column of X "
            "pass its name as target to the estimator, and X alone to fit."
        )


def truth_weight(sample_weight: Any, observed: BoolArray) -> Any:
    """Combine sample weights and missing truth; None when every value weighs 1."""
    if sample_weight is None:
        return None if observed.all() else observed.astype(np.float64)
    weight = score_weight(sample_weight, len(observed))
    if not np.isfinite(weight).all():
        raise ValueError(
            f"sample_weight={sample_weight!r} must be finite: one number per row."
        )
    # They count beside each other: in the power of two near the greatest, which rounds nothing.
    exponent = np.frexp(weight.max())[1]
    least = 1e-12  # beside the greatest: sums and numbers of 32 bits hold it
    scaled = np.maximum(np.ldexp(weight, 1 - exponent), least)
    return observed * np.where(weight > 0, scaled, 0.0)[:, None]


def score_weight(sample_weight: Any, n_rows: int) -> Float64Array:
    """Check the weights of rows to score; None weighs all alike."""
    return _check_sample_weight(
        sample_weight, np.empty(n_rows), dtype=np.float64, ensure_non_negative=True
    )


def check_some_truth(y: Float64Array) -> None:
    """Raise, in scikit-learn's words, if a target has no value at all."""
    if np.isnan(y).all(axis=0).any():
        raise ValueError(
            "Input y contains NaN only: a target without any value cannot be learnt. "
            "Pass its observed values; missing ones may stay NaN."
        )


def check_affine(
    link: tuple[float, float] | None, target: Hashable
) -> tuple[float, float]:
    """Raise if y is not the target's column of X up to scale and shift."""
    if link is None:
        raise ValueError(
            f"y is not the column {target!r} of X up to scale and shift, so forecasts "
            "cannot be returned in the units of y. Transform both in the same way, or "
            "only scale X; in place of a TransformedTargetRegressor pass y as it is "
            "and target_transform='log', or a transformer of scikit-learn, to the "
            "estimator."
        )
    return link


def check_target_count(n_targets: int, n_columns: int) -> None:
    """Raise if y does not have one column per target."""
    if n_targets != n_columns:
        raise ValueError(
            f"y has {number_of(n_columns, 'column')} for {number_of(n_targets, 'target')}: pass "
            "one per target, in the order of `target`."
        )


def check_any_truth(is_known: Any) -> None:
    """Raise if no row to score has a truth."""
    if not is_known.any():
        raise ValueError(
            "score found no row whose actual value is known: every one holds a NaN. Pass rows with "
            "observed targets."
        )


def raise_copy(column: Hashable, target: Hashable, *, classifies: bool) -> NoReturn:
    """Raise if a column of X is a target in a scale from which there is no way back.

    target: None where other targets have no copy in X.
    """
    if target is None:
        raise ValueError(
            f"the column {column!r} of X is one of y's targets on another scale: as a "
            "future covariate it would contain the answer. X has no copy of the other "
            "targets. Leave the column out of X, or pass X with all targets and "
            "target=[...]."
        )
    kind = (
        "its classes under other labels"
        if classifies
        else "not up to scale and shift alone"
    )
    advice = ""
    if not classifies:
        advice = (
            ", or in place of a TransformedTargetRegressor pass y as it is and "
            "target_transform='log'"
        )
    raise ValueError(
        f"the column {column!r} of X is y ({target!r}) on another scale, {kind}: as a "
        "future covariate it would contain the answer, and forecasts could not be "
        "returned in the units of y. Leave the target out of the transformer, "
        "ColumnTransformer([('drivers', transformer, drivers)], "
        "remainder='passthrough', "
        f"verbose_feature_names_out=False).set_output(transform='pandas'){advice}: the "
        "estimator scales by itself."
    )


def warn_of_copy(target: Hashable, past: Sequence[Hashable]) -> None:
    """Warn that X's other columns are not known ahead where a copy of y was found beside them."""
    if not past:
        return
    warn_user(
        f"the column {target!r} of X is y on another scale, so it is the history of "
        f"the target, and the other columns of X, {first_names(pd.Index(past))}, are "
        "past covariates. List future covariates in known_future; "
        "set_output(transform='pandas') on the transformers keeps names and times."
    )


def warn_of_leaks(columns: dict[Hashable, AnyArray], truth: Float64Array) -> None:
    """Warn of columns that equal a truth: at prediction they would hold the answer."""
    for name, column in columns.items():
        if any(_is_twin(column, y) for y in truth.T):
            warn_user(
                f"column {name!r} of X equals y: a feature must be known before the step it "
                f"belongs to. Pass target={name!r} to forecast it from its own past."
            )


def _is_twin(column: AnyArray, y: Float64Array) -> bool:
    """Return whether a column equals a truth that varies, where the truth is known."""
    is_known = ~np.isnan(y)
    values = y[is_known]
    is_equal = (column[is_known] == values).all()
    return bool(is_equal and np.ptp(values) > 0)


def warn_of_outliers(
    count: int, outlier: Any, column: Any, where: str, *, missing: bool, least: float
) -> None:
    """Warn of values that are not believed, because nothing like them was there.

    outlier: the first of them.
    missing: whether it is a target's; else it is replaced.
    least: the least value of all targets, of which logarithms may be taken where it is above 0.
    """
    done = (
        "taken as missing" if missing else "replaced by an earlier value of the column"
    )
    advice = ""
    if missing and least >= 0:
        transform = "'log'" if least > 0 else "FunctionTransformer(np.log1p, np.expm1)"
        advice = f"; if it is right, fit the logarithms (target_transform={transform})"
    warn_user(
        f"{column!r}={outlier.value:g} at {where}{first_of(count, 'outliers')} is {done}: "
        f"{outlier.low:g} to {outlier.high:g} is usual there, and one such value would distort all "
        f"forecasts. Correct it{advice}."
    )


def warn_of_incomplete(
    count: int,
    value: float,
    expected: float,
    column: Hashable,
    where: str,
    *,
    is_panel: bool,
) -> None:
    """Warn of last rows that seem to hold a part of their period alone."""
    rest = "df[:-1]"
    if is_panel:
        rest = "df[df.index.get_level_values(1) < day]"
    warn_user(
        f"{column!r}={value:g} at {where}{first_of(count, 'such last rows')} is taken as missing: "
        f"{expected:g} was expected, and no value was ever so far below, so the last period seems "
        f"to be incomplete. To forecast this period, too, fit the rows before it, {rest}; if the "
        "value is right, it is used as soon as the next row is there."
    )


def warn_of_hung(
    count: int, n_rows: int, value: float, column: Hashable, where: str
) -> None:
    """Warn of last rows that repeat one value, as a sensor does that hangs."""
    warn_user(
        f"the last {n_rows} rows of {column!r}, from {where} on{first_of(count, 'such series')}, "
        f"repeat {value:g}, although values were hardly ever repeated before: they are taken as "
        "missing, as from a sensor that hangs, and forecasts begin after them. To forecast these "
        f"steps, too, fit the rows before them, df[:-{n_rows}]."
    )


def warn_of_left_range(count: int, column: Hashable, where: str) -> None:
    """Warn that targets have left the range of the fit, beyond which trees know nothing.

    where: of which series, if there are several.
    """
    warn_user(
        f"{column!r}{where}{first_of(count, 'such series')} has been outside the range of the "
        "training data for a whole season: trees cannot extrapolate to such a level, so forecasts "
        "may stay behind it. Call fit again with these rows."
    )


def warn_of_other_unit(count: int, factor: float, column: Hashable, where: str) -> None:
    """Warn of a series that is in another unit from some row on."""
    warn_user(
        f"{column!r} is {factor:g} times as large from {where} on"
        f"{first_of(count, 'such changes')}, at every hour, as after a change of the unit. The "
        f"rows before it are multiplied by {factor:g}; pass all rows in one unit."
    )


def label_array(y: Any) -> AnyArray:
    """Return labels as an array of one or two dimensions."""
    check_truth_given(y)
    values = np.asarray(y)
    # A list of texts and None, which numpy would print.
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)
    if values.ndim not in (1, 2):
        raise ValueError(
            f"y should be a 1d array, got an array of shape {values.shape} instead: "
            "pass one label per row, or one column per target."
        )
    return values


def sorted_classes(observed: AnyArray, where: str) -> AnyArray:
    """Sort the classes among labels; raise where labels are no classes."""
    if observed.dtype.kind == "f":
        if np.isinf(observed).any():
            raise ValueError(
                f"Input {where} contains infinity or a value too large for {observed.dtype!r}: a "
                "class is a label. Make it NaN where it is missing."
            )
        fractions = observed[observed % 1 != 0]
        if len(fractions):
            raise ValueError(
                f"Unknown label type: continuous. {where} holds {fractions[0]:g}, and "
                "classes are labels. Use InformerRegressor to forecast numbers, or "
                "make classes of them with pd.cut."
            )
    if observed.dtype.kind not in "fO":
        check_classification_targets(observed)
    try:
        return np.unique(observed)
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
            f"class_weight has {number_of(len(class_weight), 'entry', 'entries')} for "
            f"{number_of(n_targets, 'target')}: pass a list with one dictionary per target, or "
            "'balanced' for all."
        )
    return class_weight


def class_weights(
    class_weight: Any, classes: AnyArray, observed: AnyArray
) -> Float64Array | None:
    """Weigh the classes of one target, as scikit-learn does; None weighs all alike."""
    if class_weight is None or not len(classes):
        return None
    return compute_class_weight(class_weight, classes=classes, y=observed)


def raise_other_labels(name: Hashable, label: Any) -> None:
    """Raise if the target's column of X holds what is no class of y."""
    raise ValueError(
        f"X holds {shown(label)} in the column {name!r}, which is not a class of y, "
        "although both are the same labels. Leave the column out of scalers and "
        "encoders, or drop it from X."
    )


def warn_of_unseen_labels(where: str, label: Any, count: int) -> None:
    """Warn of labels that no training row had."""
    warn_user(
        f"{where} holds {shown(label)}, which fit never saw ({number_of(count, 'row')} of such "
        "labels): they are taken as missing. Fit again with rows that hold them."
    )


def warn_of_last_column(target: Hashable, others: Sequence[Hashable]) -> None:
    """Warn that no target was named where others could be meant."""
    if others:
        warn_user(
            f"target=None forecasts the last column of X, {target!r}; the other "
            f"columns, {first_names(pd.Index(others))}, are past covariates. Name the "
            f"target, target={target!r}, or several in a list, "
            f"target={[target, others[0]]!r}."
        )


def check_positive(
    least: Float64Array,
    positive: BoolArray,
    targets: tuple[Hashable, ...],
    names: pd.Index | None,
) -> None:
    """Raise if logarithms are asked for of targets that are not all above zero."""
    if positive.all():
        return
    i, j = np.argwhere(~positive)[0]
    raise ValueError(
        f"target_transform='log' needs targets above 0, but {targets[j]!r}{of_series(names, i)} "
        f"falls to {least[i, j]:g}: that has no logarithm. Make such rows NaN, or pass "
        "target_transform=None or FunctionTransformer(np.log1p, np.expm1)."
    )


def raise_unfit_transform(
    transformer: Any, target: Hashable, values: Float64Array, error: Exception
) -> NoReturn:
    """Raise where a transformer cannot be fitted to a target; `values` ascend."""
    where = (
        f"lies in {values[0]:g} … {values[-1]:g}"
        if len(values)
        else "has no training rows"
    )
    raise ValueError(
        f"target_transform={transformer!r} cannot be fitted to target {target!r}, which {where}: "
        f"{error} Choose one that is defined there, or target_transform=None."
    ) from error


def check_transformer(
    transformer: Any,
    target: Hashable,
    *,
    lost: float,
    reach: float,
    is_decreasing: bool,
) -> None:
    """Raise if a transformer does not give training values back, or makes a quantile another."""
    if not lost <= reach:  # NaN, too
        raise ValueError(
            f"target_transform={transformer!r} does not restore the training values of "
            f"target {target!r}: inverse_transform(transform(y)) is off by {lost:g}, "
            "and forecasts would be, too. Pass a transformer with the inverse that "
            "belongs to it, or target_transform=None."
        )
    if is_decreasing:
        raise ValueError(
            f"target_transform={transformer!r} decreases where target {target!r} "
            "increases: with a quantile as loss it would forecast the opposite "
            "quantile. Pass an increasing transformer, or another loss."
        )
