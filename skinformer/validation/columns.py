"""Columns of X: their names and numbers."""

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral, Number, Real
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, validation

from skinformer.timeline.clock import is_dated
from skinformer.timeline.roles import Roles
from skinformer.validation import advice


def check_columns(estimator: Any, X: pd.DataFrame, *, reset: bool) -> None:
    """Check a frame's column names and their number, without a copy of its values."""
    check_unique_columns(X)
    validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
    _check_some_rows(len(X))


def check_unique_columns(X: pd.DataFrame) -> None:
    """Raise if two columns have one name."""
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X has several columns named {twice!r}: give each its own name.")


def check_same_names(names: Sequence[Hashable], fitted: Sequence[Hashable]) -> None:
    """Raise if columns whose names are no text, which scikit-learn leaves alone, are others."""
    if set(names) != set(fitted):
        raise ValueError(
            f"X has the columns {list(names)}, but fit saw {list(fitted)}: columns are found by "
            "their names. Rename them, or fit on an array to go by place."
        )


def check_update(X: Any, y: Any, roles: Roles) -> None:
    """Raise if an update leaves out a column, or what it has no column of; a target may be y."""
    optional = () if y is None else roles.targets
    missing = _left_out(X, roles, [name for name in roles.columns if name not in optional])
    if missing:
        raise ValueError(
            f"X lacks {_listed(missing)}: update takes in what was observed, so every column must "
            "be there. Add it, with NaN where a target was not observed."
        )
    if y is None and roles.mode == "features":
        raise ValueError(
            "update(X) without y adds no history: X holds features only. Pass update(X, y)."
        )


def check_score(X: Any, roles: Roles) -> None:
    """Raise if rows to score hold no target."""
    if roles.mode == "features":
        raise ValueError(
            "score(X) without y has no truth: X holds features only. Pass score(X, y)."
        )
    missing = _left_out(X, roles, roles.targets)
    if missing:
        raise ValueError(
            f"X lacks the target {_listed(missing)}, which is the truth to score against: add the "
            "column, or pass score(X, y)."
        )


def _left_out(X: Any, roles: Roles, wanted: Sequence[Hashable]) -> list[Hashable]:
    """List what a frame lacks; none where it holds other names, which scikit-learn refuses."""
    X = X.to_frame() if isinstance(X, pd.Series) else X
    if not isinstance(X, pd.DataFrame) or not set(X.columns) <= set(roles.columns):
        return []
    return [name for name in wanted if name not in X.columns]


def check_some_columns(n_columns: int, name: str) -> None:
    """Raise if a frame has rows but no columns."""
    if not n_columns:
        raise ValueError(
            f"{name} has no columns: there is nothing to learn from. Pass the target, with the "
            "columns that help to forecast it."
        )


#: What holds no rows, though some of it has a length.
_NO_ROWS = (str, bytes, PathLike, Number, np.generic, dict, set, frozenset, type)


def holds_no_rows(values: Any) -> bool:
    """Check whether something is a single value, a mapping or a set, and no list or table."""
    if isinstance(values, _NO_ROWS):
        return True
    return not any(hasattr(values, name) for name in ("__len__", "__array__", "columns"))


def check_rows(X: Any) -> None:
    """Raise if a number of steps, the name of a file or the like is given in place of rows."""
    if not (holds_no_rows(X) or isinstance(X, pd.Index)):
        return
    advice = "Pass a frame with a row for each time, X=df."
    if isinstance(X, Integral) and int(X) > 0:
        advice = f"For the next {X} steps pass forecast(horizon={X})."
    elif isinstance(X, str | PathLike):
        advice = f"Read a file first, pd.read_csv({str(X)!r}, index_col=0, parse_dates=True)."
    raise ValueError(f"X={X!r:.200} holds no rows. {advice}")


def numeric_array(estimator: Any, X: Any, *, reset: bool) -> npt.NDArray[Any]:
    """Check rows without labels; NaN is allowed here and judged by column later."""
    check_rows(X)
    if hasattr(X, "columns"):  # a frame of another library
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
        columns = _foreign_columns(X)
        check_some_columns(len(columns), "X")
        _check_some_rows(len(X))
        return np.column_stack([_foreign_numbers(*column) for column in columns.items()])
    checked = validation.validate_data(
        estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"
    )
    check_kind(checked, "X")
    return np.asarray(checked)


def _foreign_columns(X: Any) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a frame that is not of pandas."""
    names = [str(name) for name in getattr(X, "column_names", X.columns)]
    return {name: np.asarray(X[name]) for name in names}


def _foreign_numbers(name: str, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn a column of such a frame into numbers."""
    text = column.dtype.kind in "UST"
    if column.dtype.kind == "M" or (text and advice.reads_dates(pd.Series(column.astype(str)))):
        series = ", series=name" if len(np.unique(column)) < len(column) else ""
        raise ValueError(
            f"could not convert column {name!r} to float: its values are times, which belong in "
            f"the index. Use make_pipeline(TimeIndex({name!r}{series}), estimator), which puts "
            "them there."
        )
    if text:
        raise ValueError(
            f"could not convert column {name!r} of dtype str to float: pass numbers, and names of "
            f"series by make_pipeline(TimeIndex(time, series={name!r}), estimator)."
        )
    if column.dtype.kind == "O":
        return numeric_column(pd.Series(column), name)
    check_kind(column, f"column {name!r}")
    return column


def check_kind(values: Any, what: str) -> None:
    """Raise if an array holds dates, spans of time or text."""
    if values.dtype.kind not in "fiub":
        dtype = "str" if values.dtype.kind in "US" else values.dtype
        raise ValueError(f"could not convert {what} of dtype {dtype} to float: pass numbers.")


def _check_some_rows(n_rows: int) -> None:
    """Raise if there are no rows, as scikit-learn does."""
    if not n_rows:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")


def numeric_column(values: Any, name: Hashable, where: str = "X[{!r}]") -> npt.NDArray[Any]:
    """Turn one column of a frame into an array of numbers, without a copy where possible."""
    if pd.api.types.is_complex_dtype(values.dtype):
        raise ValueError(f"Complex data not supported: column {name!r} is {values.dtype}.")
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        return np.asarray(values)
    try:
        if not (pd.api.types.is_numeric_dtype(values.dtype) or values.dtype == object):
            raise TypeError(values.dtype)  # texts of pandas that numpy would read
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"could not convert column {name!r} of dtype {values.dtype} to float: "
            f"{_make_numbers(values, where.format(name))}."
        ) from error


#: A number as one writes it where the comma is decimal, with points for thousands.
_COMMA = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d*)?"


def _make_numbers(values: pd.Series, column: str) -> str:
    """Show the first value of a column that is no number, and say how it becomes one."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _make_clock(values, column)
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return f"count its seconds, {column} = {column}.dt.total_seconds()"
    present = values[values.notna()]
    texts = present[[not isinstance(value, Real) for value in present]].astype(str)
    if not len(texts):
        return f"its values are numbers, so {column} = {column}.astype(float)"
    if texts.str.contains(",", regex=False).any() and texts.str.fullmatch(_COMMA).all():
        call = f"{column} = {column}"
        if not pd.api.types.is_string_dtype(values.dtype):
            call += ".astype(str)"
        if texts.str.contains(".", regex=False).any():
            call += ".str.replace('.', '')"
        call += ".str.replace(',', '.').astype(float)"
        return f"{texts.iloc[0]!r} has a decimal comma, so {call}, or read it with decimal=','"
    return _make_text_numbers(texts, len(present), column)


def _make_clock(values: pd.Series, column: str) -> str:
    """Describe how dates become the index, or numbers where they are none of its."""
    index = values.index
    name = column.removeprefix("X[").removesuffix("]")
    if name == column or index.nlevels > 1 or is_dated(index):
        return f"count its seconds, {column} = ({column} - {column}.min()).dt.total_seconds()"
    levels = f"[series, {name}]" if values.duplicated().any() else name
    return f"times belong in the index, X = X.set_index({levels})"


def _make_text_numbers(texts: pd.Series, n_present: int, column: str) -> str:
    """Describe how text without decimal commas becomes numbers."""
    wrong = texts[pd.to_numeric(texts, errors="coerce").isna()]
    if len(wrong) == n_present and advice.reads_dates(wrong):
        call = advice.read_dates(column, wrong)
        dates = pd.Series(pd.factorize(wrong)[0], wrong.index)
        return f"{wrong.iloc[0]!r} is a date, so {column} = {call}; {_make_clock(dates, column)}"
    if not len(wrong):
        return f"{texts.iloc[0]!r} is text, so {column} = {column}.astype(float)"
    shown = f"{wrong.iloc[0]!r} is no number"
    if len(wrong) < n_present or not column.startswith("X["):
        call = f"{column} = pd.to_numeric({column}, errors='coerce')"
        return f"{shown}. Correct it, or make it missing, {call}"
    name = column.removeprefix("X[").removesuffix("]")
    call = f"X = pd.get_dummies(X, columns=[{name}], dtype=float)"
    return (
        f"{shown}. Give each value a column of 0 and 1, {call}, or drop the column; names of "
        f"series belong in the index, X.set_index([{name}, time])"
    )


def _listed(names: Sequence[Hashable]) -> str:
    """Write one name, or a list of several."""
    return repr(names[0]) if len(names) == 1 else repr(list(names))


def check_target_exists(target: Hashable, names: Sequence[Hashable], *, named: bool) -> None:
    """Raise, with the fix that fits, if the target is not among the columns."""
    if target in names:
        return
    prefixed = [name for name in names if isinstance(name, str) and name.endswith(f"__{target}")]
    fix = f": the columns are {list(names)}. Give one of them, or a list."
    if prefixed:
        fix = (
            f", {prefixed[0]!r} is: a ColumnTransformer or FeatureUnion put its name before it. "
            "Pass verbose_feature_names_out=False to it."
        )
    elif not named:
        fix = (
            ": X is an array without column names. In a Pipeline call "
            "set_output(transform='pandas') on it, or give the target's position."
        )
    raise ValueError(f"target={target!r} is not a column of X{fix}")


def check_known_future(
    known: Sequence[Hashable], names: Sequence[Hashable], targets: Sequence[Hashable]
) -> None:
    """Raise if a column said to be known ahead is a target or does not exist."""
    for name in known:
        if name in targets:
            raise ValueError(
                f"known_future={list(known)!r} holds the target {name!r}: what is to be forecast "
                "is not known ahead. Remove it."
            )
        if name not in names:
            raise ValueError(
                f"known_future={list(known)!r} holds {name!r}, which is not a column of X: the "
                f"columns are {list(names)}."
            )


def check_ahead(known: Any, columns: Sequence[Hashable], targets: Sequence[Hashable]) -> list[Any]:
    """Return the columns said to be known ahead, or raise if they are no columns of X."""
    if known is None:
        names = []
    elif isinstance(known, Iterable) and not isinstance(known, str):
        names = list(known)
    else:
        names = [known]
    check_known_future(names, columns, targets)
    return names


def check_finite(values: npt.NDArray[Any], name: Hashable, *, may_miss: bool = True) -> None:
    """Raise if a column of X holds infinity, or NaN where none may be."""
    if values.dtype.kind != "f":
        return
    if np.isinf(values).any():
        raise ValueError(
            f"Input X (column {name!r}) contains infinity or a value too large for "
            f"dtype('{values.dtype}')."
        )
    if not may_miss and np.isnan(values).any():
        missing = np.flatnonzero(np.isnan(values))
        raise ValueError(
            f"Input X (column {name!r}) contains NaN ({len(missing)} rows, the first at position "
            f"{missing[0]}). Only the target may be missing: drop the column, or fill it alone, "
            f"for example X[{name!r}] = X[{name!r}].ffill() (on a panel "
            f"X[{name!r}].groupby(level=0).ffill()), which uses the past."
        )


def count_rows(X: Any) -> int:
    """Count the rows of anything array-like."""
    return int(validation._num_samples(X))


def feature_names_in(transformer: Any, input_features: Any) -> npt.NDArray[np.object_]:
    """Return the names of a transformer's input columns, made up (x0, x1, …) where X had none."""
    validation.check_is_fitted(transformer)
    return np.asarray(validation._check_feature_names_in(transformer, input_features))


def labelled_rows(X: Any, first: int) -> Any:
    """Return rows as a frame; those without an index are numbered from `first` on."""
    check_rows(X)
    if isinstance(X, pd.Series):
        X = X.to_frame()
    elif hasattr(X, "columns") and not isinstance(X, pd.DataFrame):  # of another library
        X = pd.DataFrame(_foreign_columns(X))
        X.index += first
    elif not isinstance(X, pd.DataFrame):
        # Numbers and missing values are judged by column, as those of a frame.
        values = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
        )
        X = pd.DataFrame(values)
        X.index += first
    if not len(X):
        raise ValueError("X has no rows to forecast.")
    check_unique_columns(X)
    return X
