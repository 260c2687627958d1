"""The truth: y or X's target, its weights, and what both say of one another."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight

from skinformer.timeline.arrays import BoolArray, Float64Array
from skinformer.validation.columns import (
    check_kind,
    check_some_columns,
    numeric_column,
)
from skinformer.validation.warning import warn_user

__all__ = [
    "check_affine",
    "check_any_truth",
    "check_same_length",
    "check_score_truth",
    "check_some_truth",
    "check_target_count",
    "check_truth_given",
    "forecast_array",
    "numeric_truth",
    "score_weight",
    "truth_weight",
    "warn_of_leaks",
    "warn_of_other_unit",
    "warn_of_outliers",
]


def numeric_truth(y: Any) -> Float64Array:
    """Check y; NaN is a missing truth."""
    check_truth_given(y)
    if isinstance(y, pd.DataFrame):
        check_some_columns(y.shape[1], "y")
        columns = [(y.iloc[:, j], name) for j, name in enumerate(y.columns)]
        y = np.column_stack([numeric_column(*column, where="y[{!r}]") for column in columns])
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


#: A weight beside the greatest one: sums and numbers of 32 bits hold it.
_LEAST_WEIGHT = 1e-12


def check_truth_given(y: Any) -> None:
    """Raise if y is the name of a column, or another single value."""
    if y is None or isinstance(y, str | Number):
        named = f"target={y!r} to the estimator, and X alone to fit"
        advice = f"Pass its values, y=X[{y!r}]; to forecast a column of X pass {named}."
        advice = advice if isinstance(y, str) else "Pass one value a row of X."
        raise TypeError(f"y={y!r} holds no truth. {advice}")


def forecast_array(forecast: Any) -> Float64Array:
    """Give forecasts as numbers, or raise if they are none."""
    try:
        values = np.asarray(forecast, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if not values.ndim or not values.size:
        raise ValueError(
            f"forecasts of type {type(forecast).__name__} hold no numbers: pass an array with a "
            "row for each truth."
        )
    return values


def truth_weight(sample_weight: Any, observed: BoolArray) -> Any:
    """Combine sample weights and missing truth; None when every value weighs 1."""
    if sample_weight is None:
        return None if observed.all() else observed.astype(np.float64)
    weight = _check_sample_weight(
        sample_weight, observed, dtype=np.float64, ensure_non_negative=True
    )
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
    shape = np.shape(sample_weight)
    if shape != (n_rows,):
        raise ValueError(
            f"sample_weight of shape {shape} does not fit {n_rows} rows: pass one weight a row, "
            f"shape ({n_rows},)."
        )
    weight = _check_sample_weight(
        sample_weight, np.empty((n_rows, 1)), dtype=np.float64, ensure_non_negative=True
    )
    return np.asarray(weight)


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


def check_same_length(X: Any, y: Any) -> None:
    """Raise if X and y have different numbers of rows."""
    check_consistent_length(X, y)


def check_any_truth(n_rows: int) -> None:
    """Raise if no row to score has a truth."""
    if not n_rows:
        raise ValueError(
            "score found no row whose truth is known: every one holds a NaN. Pass rows with "
            "observed targets."
        )


def check_score_truth(mode: str) -> None:
    """Raise if the truth to score against is nowhere."""
    if mode == "features":
        raise ValueError(
            "score(X) without y has no truth: X holds features only. Pass score(X, y)."
        )


def warn_of_leaks(columns: dict[Hashable, npt.NDArray[Any]], truth: Float64Array) -> None:
    """Warn of columns that equal a truth: at prediction they would hold the answer."""
    for name, column in columns.items():
        if any(_is_twin(column, y) for y in truth.T):
            warn_user(
                f"column {name!r} of X equals y: a feature must be known before the step it "
                f"belongs to. Pass target={name!r} to forecast it from its own past.",
            )


def _is_twin(column: npt.NDArray[Any], y: Float64Array) -> bool:
    """Tell whether a column equals a truth that varies, where the truth is known."""
    # The first rows settle it for nearly every column; the rest is read only for a twin.
    for rows in (slice(64), slice(None)):
        if not ((column[rows] == y[rows]) | np.isnan(y[rows])).all():
            return False
    return bool(np.nanmax(y) > np.nanmin(y))


def warn_of_outliers(
    count: int,
    value: float,
    column: Hashable,
    where: str,
    *,
    usual: tuple[float, float],
    missing: bool,
) -> None:
    """Warn of values that are not believed, because nothing like them was there."""
    more = "" if count == 1 else f" (the first of {count} outliers)"
    done = "taken as missing" if missing else "replaced by an earlier value of the column"
    advice = "; if it is right, fit the logarithms (target_transform='log')" if missing else ""
    warn_user(
        f"{column!r}={value:g} at {where}{more} is {done}: {usual[0]:g} to {usual[1]:g} is usual "
        f"there, and one such value would bend all forecasts. Correct it{advice}.",
    )


def warn_of_other_unit(count: int, factor: float, column: Hashable, where: str) -> None:
    """Warn of a series that is in another unit from some row on."""
    more = "" if count == 1 else f" (the first of {count} such changes)"
    warn_user(
        f"{column!r} is {factor:g} times as large from {where} on{more}, at every hour: another "
        f"unit. The rows before it are multiplied by {factor:g}; give all rows in one unit.",
    )
