"""Columns of X: their names and numbers."""

import re
from collections.abc import Hashable, Iterable, Sequence, Set
from numbers import Number
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import (
    is_bool_dtype,
    is_complex_dtype,
    is_numeric_dtype,
    is_object_dtype,
)
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from skinformer.frames import to_pandas
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.roles import Roles
from skinformer.validation.warning import warn_user


def check_columns(estimator: Any, X: pd.DataFrame, *, reset: bool) -> None:
    """Check a frame's column names and their number, without a copy of its values."""
    check_unique_columns(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    _check_some_rows(len(X))


def check_unique_columns(X: pd.DataFrame) -> None:
    """Raise if two columns have one name."""
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(
            f"X has several columns named {twice!r}: give each its own name."
        )


def check_same_names(names: Sequence[Hashable], fitted: Sequence[Hashable]) -> None:
    """Raise if columns whose names are no text, which scikit-learn leaves alone, are others."""
    unseen = [name for name in names if name not in fitted]
    missing = [name for name in fitted if name not in names]
    faults = []
    if unseen:
        faults.append(f"has columns {unseen} that fit did not see")
    if missing:
        faults.append(f"lacks the columns {missing}")
    if faults:
        raise ValueError(
            f"X {' and '.join(faults)}: columns are found by their names. Rename them, "
            "or fit on an array, whose columns are found by position."
        )


def check_y_needed(method: str, roles: Roles) -> None:
    """Raise if X holds no target, and y is not passed."""
    if roles.mode == "features":
        raise ValueError(
            f"{method}(X) without y has no actual values: X holds features only. Pass "
            f"{method}(X, y)."
        )


def check_some_columns(n_columns: int, name: str) -> None:
    """Raise if a frame has rows but no columns."""
    if not n_columns:
        raise ValueError(
            f"{name} has no columns: there is nothing to learn from. Pass the target, with the "
            "columns that help to forecast it."
        )


def holds_no_rows(values: Any) -> bool:
    """Return whether something is a single value, a mapping or a set, and no list or table."""
    if isinstance(
        values, str | bytes | PathLike | Number | np.generic | dict | Set | type
    ):
        return True
    is_listed = hasattr(values, "__len__") or hasattr(values, "__array__")
    return not (is_listed or hasattr(values, "columns"))


def check_rows(X: Any) -> None:
    """Raise if a number of steps, the name of a file or the like is given in place of rows."""
    if holds_no_rows(X) or isinstance(X, pd.Index):
        raise ValueError(
            f"X={X!r:.200} holds no rows. Pass a frame with a row for each time, X=df, or for the "
            "next 24 steps forecast(horizon=24)."
        )


def numeric_array(estimator: Any, X: Any, *, reset: bool) -> AnyArray:
    """Check rows without labels; NaN is allowed here and judged by column later."""
    check_rows(X)
    checked = validate_data(
        estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"
    )
    check_kind(checked, "X")
    return checked


def warn_of_no_index(X: Any) -> None:
    """Warn at fit that rows of another library's frame are numbered."""
    library = type(X).__module__.split(".")[0]
    warn_user(
        f"a frame of {library} has no index: its rows are numbered, and there are no "
        "calendar features. If a column holds the times, put a TimeIndex before the "
        "estimator, make_pipeline(TimeIndex(column), estimator)."
    )


def check_kind(values: Any, what: str) -> None:
    """Raise if an array holds dates, spans of time or text."""
    if values.dtype.kind not in "fiub":
        dtype = "str" if values.dtype.kind in "US" else values.dtype
        raise ValueError(
            f"could not convert {what} of dtype {dtype} to float: pass numbers."
        )


def _check_some_rows(n_rows: int) -> None:
    """Raise if there are no rows, as scikit-learn does."""
    if not n_rows:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required."
        )


def numeric_column(values: Any, name: Hashable, where: str = "X[{!r}]") -> AnyArray:
    """Turn one column of a frame into an array of numbers, without a copy where possible."""
    dtype = values.dtype
    if is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported: column {name!r} is {dtype}.")
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return np.asarray(values)
    try:
        # Texts of pandas would be read by numpy.
        is_number = is_numeric_dtype(dtype) or is_bool_dtype(dtype)
        if not (is_number or is_object_dtype(dtype)):
            raise TypeError(dtype)
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        if values.isna().all():
            return np.full(len(values), np.nan)
        example = _example_of_no_number(values)
        raise ValueError(
            f"could not convert column {name!r} of dtype {dtype} to float: it holds {example!r}. "
            f"{_how_to_convert(example, where.format(name))}"
        ) from error


def _how_to_convert(example: Any, column: str) -> str:
    """Return what to type instead, by what a value looks like."""
    text = str(example).strip()
    if re.fullmatch(r"-?\d{1,3}(\.\d{3})+,\d+", text):
        return (
            "Thousands are parted by points, and decimals stand behind a comma: read the file "
            "with pd.read_csv(path, decimal=',', thousands='.')."
        )
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+\.\d+", text):
        return "Thousands are parted by commas: read it with pd.read_csv(path, thousands=',')."
    if re.fullmatch(r"-?[\d. ]*,\d+", text):
        return "Decimals stand behind a comma: read the file with pd.read_csv(path, decimal=',')."
    if re.fullmatch(r"-?[\d.]+ ?%", text):
        return f"Take the sign off, {column} = {column}.str.rstrip('% ').astype(float)."
    if re.fullmatch(r"-?[$€£¥]\s?-?[\d,]+(\.\d+)?|-?[\d,]+(\.\d+)?\s?[$€£¥]", text):
        digits = f"{column}.str.replace(r'[^\\d.-]', '', regex=True)"
        return f"Take the sign off, {column} = {digits}.astype(float)."
    return (
        f"Correct it, or make such values missing, {column} = pd.to_numeric({column}, "
        "errors='coerce'), or columns of 0 and 1, pd.get_dummies. Times and names of series "
        "belong in the index, X.set_index([series, time]), in a Pipeline by TimeIndex."
    )


def _example_of_no_number(values: Any) -> Any:
    """Find the first value that is no number, even as text; else the first one; None for none."""
    present = values.dropna()
    numbers = pd.to_numeric(present.astype(str), errors="coerce")
    wrong = present[numbers.isna()]
    return next(iter([*wrong, *present]), None)


def check_target_exists(
    target: Hashable, names: Sequence[Hashable], *, named: bool
) -> None:
    """Raise, with the fix that fits, if the target is not among the columns."""
    if target in names:
        return
    fix = (
        f"the columns are {list(names)}. Name one of them; verbose_feature_names_out=False keeps "
        "a ColumnTransformer from prefixing names"
    )
    if not named:
        fix = (
            "X is an array without column names. In a Pipeline call "
            "set_output(transform='pandas') on it, or give the target's position"
        )
    raise ValueError(f"target={target!r} is not a column of X: {fix}.")


def check_known_future(
    known: Sequence[Hashable], names: Sequence[Hashable], targets: Sequence[Hashable]
) -> None:
    """Raise if a column said to be known ahead is a target or does not exist."""
    for name in known:
        if name in targets:
            raise ValueError(
                f"known_future={list(known)!r} contains the target {name!r}, which is "
                "not known in advance. Remove it."
            )
        if name not in names:
            raise ValueError(
                f"known_future={list(known)!r} holds {name!r}, which is not a column of X: the "
                f"columns are {list(names)}."
            )


def check_ahead(
    known: Any, columns: Sequence[Hashable], targets: Sequence[Hashable]
) -> list[Any]:
    """Return the columns said to be known ahead, or raise if they are no columns of X."""
    names = [] if known is None else [known]
    if isinstance(known, Iterable) and not isinstance(known, str):
        names = list(known)
    check_known_future(names, columns, targets)
    return names


def check_finite(values: AnyArray, name: Hashable) -> None:
    """Raise if a column of X holds infinity."""
    if values.dtype.kind != "f":
        return
    if np.isinf(values).any():
        raise ValueError(
            f"Input X (column {name!r}) contains infinity or a value too large for "
            f"dtype('{values.dtype}')."
        )


def count_rows(X: Any) -> int:
    """Count the rows of anything array-like."""
    return _num_samples(X)


def feature_names_in(transformer: Any, input_features: Any) -> AnyArray:
    """Return the names of a transformer's input columns, made up (x0, x1, …) where X had none."""
    check_is_fitted(transformer)
    return _check_feature_names_in(transformer, input_features)


def labelled_rows(X: Any, first: int) -> Any:
    """Return rows as a frame; those without an index are numbered from `first` on."""
    check_rows(X)
    if isinstance(X, pd.Series):
        X = X.to_frame()
    elif not isinstance(X, pd.DataFrame):
        values: Any = to_pandas(X)
        if not isinstance(values, pd.DataFrame):
            # Numbers and missing values are judged by column, as those of a frame.
            values = check_array(
                X,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=0,
                ensure_min_features=0,
            )
        X = pd.DataFrame(values)
        X.index += first
    if not len(X):
        raise ValueError("X has no rows to forecast.")
    check_unique_columns(X)
    return X
