"""Parameter constraints, and every check of the user's input with its message.

Nothing else raises for what a user can get wrong; everything behind this border trusts its
input. A message names the value, what is required, why, and what to type instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    validate_data,
)

from skinformer.timeline.calendar import is_dated
from skinformer.timeline.clock import OFF_GRID, Clock, clock_for, infer_step

__all__ = ["CONSTRAINTS"]

Rows = npt.NDArray[np.int64]

_COUNT = Interval(Integral, 1, None, closed="left")

#: The parameters of the estimators, as scikit-learn validates them.
CONSTRAINTS: dict[str, list[Any]] = {
    "target": [None, str, Integral, list],
    "seq_len": [_COUNT],
    "label_len": [None, Interval(Integral, 0, None, closed="left")],
    "pred_len": [_COUNT],
    "known_future": [None, list],
    "freq": [None, str, Integral, pd.offsets.BaseOffset, pd.Timedelta],
    "calendar": [None, StrOptions({"auto"}), list],
    "series_embedding": ["boolean"],
    "null_embedding": ["boolean"],
    "d_model": [_COUNT],
    "n_heads": [_COUNT],
    "n_encoder_layers": [_COUNT],
    "n_decoder_layers": [_COUNT],
    "d_ff": [None, _COUNT],
    "factor": [Interval(Real, 0, None, closed="neither")],
    "distil": ["boolean"],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "window_norm": ["boolean"],
    "max_iter": [_COUNT],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "warmup_fraction": [Interval(Real, 0, 1, closed="both")],
    "max_grad_norm": [None, Interval(Real, 0, None, closed="neither")],
    "batch_size": [_COUNT],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_COUNT],
    "tol": [Interval(Real, 0, None, closed="left")],
    "warm_start": ["boolean"],
    "device": [str],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


CALENDAR_FEATURES_CONSTRAINTS: dict[str, list[Any]] = {"fields": [StrOptions({"auto"}), list]}
SLIDING_WINDOW_CONSTRAINTS: dict[str, list[Any]] = {
    "seq_len": [_COUNT],
    "lag": [Interval(Integral, 0, None, closed="left")],
}
MASK_FUTURE_CONSTRAINTS: dict[str, list[Any]] = {
    "target": CONSTRAINTS["target"],
    "pred_len": [_COUNT],
    "known_future": CONSTRAINTS["known_future"],
    "fill_value": [Real],
}


# --- parameters that depend on one another -------------------------------------------------


def check_sizes(estimator: Any, calendar_fields: Sequence[str]) -> None:
    """Raise if parameters of the estimator do not fit one another."""
    if estimator.label_len is not None and estimator.label_len > estimator.seq_len:
        raise ValueError(
            f"label_len={estimator.label_len} must be at most seq_len={estimator.seq_len}: the "
            "guiding window is the end of the encoder window. Lower label_len or leave it None."
        )
    if estimator.d_model % estimator.n_heads:
        raise ValueError(
            f"d_model={estimator.d_model} must be a multiple of n_heads={estimator.n_heads}: "
            f"each head gets d_model / n_heads features. Try d_model="
            f"{-(-estimator.d_model // estimator.n_heads) * estimator.n_heads}."
        )
    check_calendar("calendar", estimator.calendar, calendar_fields)


def check_calendar(parameter: str, value: Any, calendar_fields: Sequence[str]) -> None:
    """Raise if a list of calendar fields holds an unknown one."""
    unknown = (
        [field for field in value if field not in calendar_fields]
        if isinstance(value, list)
        else []
    )
    if unknown:
        raise ValueError(
            f"{parameter}={value!r} holds the unknown field {unknown[0]!r}: choose from "
            f"{list(calendar_fields)} or pass 'auto'."
        )


def check_horizon(horizon: Any) -> None:
    """Raise if a horizon is not a positive whole number."""
    if not isinstance(horizon, Integral) or horizon < 1:
        raise ValueError(
            f"horizon={horizon!r} must be a whole number of at least 1: it counts the steps to "
            "forecast. Leave it None for pred_len steps."
        )


def check_enough_rows(n_rows: int, estimator: Any) -> None:
    """Raise if the longest series holds no window (and no validation tail, if one is asked)."""
    window = estimator.seq_len + estimator.pred_len
    needed, why = window, f"seq_len={estimator.seq_len} + pred_len={estimator.pred_len}"
    if estimator.early_stopping is True:
        needed += estimator.pred_len
        why += f" + pred_len={estimator.pred_len} for early_stopping=True"
    if n_rows < needed:
        raise ValueError(
            f"n_samples={n_rows} is too few: {why} = {needed} consecutive rows are needed for "
            "one window. Lower seq_len or pred_len, or pass more rows."
        )


def check_same_weights(earlier: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise if a warm start finds weights of another network."""
    shapes = [{name: getattr(w, "shape", None) for name, w in s.items()} for s in (earlier, new)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            "warm_start=True cannot go on from weights of another network: columns, lengths or "
            "sizes have changed since the last fit. Set warm_start=False or fit a clone."
        )


def check_both_sides(some_truth: bool) -> None:
    """Raise if the training or the validation rows hold no truth to compare with."""
    if not some_truth:
        raise ValueError(
            "early_stopping=True needs observed targets among the last rows, which it watches, and "
            "among those before them: one side has none. Set early_stopping='auto' or another "
            "validation_fraction."
        )


# --- columns --------------------------------------------------------------------------------


def check_target_exists(target: Hashable, names: Sequence[Hashable], *, named: bool) -> None:
    """Raise, with the fix that fits, if the target is not among the columns."""
    if target in names:
        return
    prefixed = [name for name in names if isinstance(name, str) and name.endswith(f"__{target}")]
    if prefixed:
        raise ValueError(
            f"target={target!r} is not a column of X, {prefixed[0]!r} is: a ColumnTransformer "
            "or FeatureUnion put its name before it. Pass verbose_feature_names_out=False to it."
        )
    if not named:
        raise ValueError(
            f"target={target!r} is not a column of X: X is an array without column names. In a "
            "Pipeline call set_output(transform='pandas') on it, or give the target's position."
        )
    raise ValueError(
        f"target={target!r} is not a column of X: the columns are {list(names)}. "
        "Give one of them, or a list."
    )


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


def check_target_count(n_targets: int, n_columns: int) -> None:
    """Raise if y does not have one column per target."""
    if n_targets != n_columns:
        raise ValueError(
            f"y has {n_columns} column(s) for {n_targets} target(s): pass one per target, in the "
            "order of `target`."
        )


def numeric_column(values: Any, name: Hashable) -> npt.NDArray[Any]:
    """Turn one column of a frame into an array of numbers, without a copy where possible."""
    if pd.api.types.is_complex_dtype(values.dtype):
        raise ValueError(f"Complex data not supported: column {name!r} is {values.dtype}.")
    if not (pd.api.types.is_numeric_dtype(values.dtype) or values.dtype == object):
        raise ValueError(
            f"could not convert column {name!r} of dtype {values.dtype} to float: pass numbers."
        )
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        return np.asarray(values)
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def check_finite(values: npt.NDArray[Any], name: str, *, nan: str | None) -> None:
    """
    Raise if a column holds infinity, or NaN where none may be.

    Parameters
    ----------
    values : ndarray of shape (n,)
        One column.
    name : str
        What the message calls it.
    nan : str or None
        The advice given for a NaN; None allows NaN.
    """
    if values.dtype.kind != "f":
        return
    if np.isinf(values).any():
        raise ValueError(
            f"Input {name} contains infinity or a value too large for dtype('{values.dtype}')."
        )
    if nan is not None:
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            raise ValueError(
                f"Input {name} contains NaN ({len(missing)} rows, the first at position "
                f"{missing[0]}). {nan}"
            )


def check_some_truth(y: npt.NDArray[np.float64]) -> None:
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


def warn_of_leaks(
    columns: dict[Hashable, npt.NDArray[Any]], truth: npt.NDArray[np.float64]
) -> None:
    """Warn of columns that equal a truth: at prediction they would hold the answer."""
    for name, column in columns.items():
        if any(_is_twin(column, y) for y in truth.T):
            warnings.warn(
                f"column {name!r} of X equals y: a feature must be known before the step it "
                f"belongs to. Pass target={name!r} to forecast it from its own past.",
                UserWarning,
                stacklevel=4,
            )


def _is_twin(column: npt.NDArray[Any], y: npt.NDArray[np.float64]) -> bool:
    """Tell whether a column equals a truth that varies, where the truth is known."""
    # The first rows settle it for nearly every column; the rest is read only for a twin.
    for rows in (slice(64), slice(None)):
        if not ((column[rows] == y[rows]) | np.isnan(y[rows])).all():
            return False
    return bool(np.nanmax(y) > np.nanmin(y))


# --- the time index -------------------------------------------------------------------------


def time_labels(index: pd.Index, name: str = "X") -> tuple[pd.Index, pd.Index | None]:
    """
    Split an index into labels of time and of series, and check their types.

    Parameters
    ----------
    index : Index of shape (n,)
        The rows' labels; two levels mean (series, time).
    name : str
        What the messages call its owner.

    Returns
    -------
    tuple of Index
        Time labels; series labels or None.
    """
    series = None
    if isinstance(index, pd.MultiIndex):
        if index.nlevels != 2:
            raise TypeError(
                f"{name}.index has {index.nlevels} levels: two are needed, (series, time). Join "
                "the levels that name a series into one."
            )
        series, index = index.get_level_values(0), index.get_level_values(1)
    dates = isinstance(index, pd.DatetimeIndex | pd.PeriodIndex)
    if not dates and not pd.api.types.is_integer_dtype(index.dtype):
        raise TypeError(
            f"{name}.index holds {index.dtype} labels, which have no order in time: convert "
            f"them, {name}.index = pd.to_datetime({name}.index), or number the rows, "
            f"{name}.reset_index(drop=True)."
        )
    if index.hasnans:
        raise ValueError(f"{name}.index holds NaT: every row needs its time. Drop those rows.")
    return index, series


def check_same_index(X: Any, y: Any) -> None:
    """Raise if X and y are labelled differently."""
    labelled = isinstance(X, pd.DataFrame | pd.Series) and isinstance(y, pd.DataFrame | pd.Series)
    if labelled and not X.index.equals(y.index):
        raise ValueError(
            "X and y have different indexes: rows belong together by their labels. Pass "
            "y.loc[X.index]."
        )


def check_distinct(time: pd.Index, series: pd.Index | None) -> None:
    """Raise if two rows of a series carry the same label."""
    rows = time if series is None else pd.MultiIndex.from_arrays([series, time])
    if rows.is_unique:
        return
    again = rows.duplicated()
    raise ValueError(
        f"X.index holds {int(again.sum())} duplicated timestamps, the first {rows[again][0]}: "
        "keep one row a step, X[~X.index.duplicated()], or label several series by a MultiIndex "
        "(series, time). Naive local time repeats an hour in autumn: "
        "X.index.tz_localize(zone, ambiguous='infer')."
    )


def check_order(time: pd.Index, series: Rows) -> None:
    """Raise if the rows of a series, brought together, go back in time."""
    forward = np.asarray(time[1:] > time[:-1]) | (np.diff(series) != 0)
    if not forward.all():
        raise ValueError(
            "X.index is not in time order: call X.sort_index() before fit; in cross-validation "
            "use TimeSeriesSplit, which keeps the order."
        )


def make_clock(time: pd.Index, series: Rows, freq: Any) -> tuple[Clock, Rows]:
    """
    Make the clock of training rows and count their steps.

    Parameters
    ----------
    time : Index of shape (n,)
        Labels, in time order within each series.
    series : ndarray of int64, shape (n,)
        The series of each row, ascending.
    freq : str, offset, Timedelta, int or None
        The step if the user named it.

    Returns
    -------
    tuple of Clock and ndarray of int64, shape (n,)
        The clock, whose origin is the earliest label, and the step of each row.
    """
    longest = slice(None)
    if len(series) and series[-1]:
        longest = slice(*np.searchsorted(series, np.bincount(series).argmax() + np.arange(2)))
    _check_freq(time, freq)
    step = infer_step(time[longest], freq)
    if step is None:
        _raise_irregular(time[longest])
    clock = clock_for(time[longest], step).starting_at(time.min())
    steps = clock.steps(time)
    if (steps == OFF_GRID).any():
        _raise_irregular(time[longest], off=time[steps == OFF_GRID][0], step=clock.step_name)
    holes = np.flatnonzero((np.diff(steps) != 1) & (np.diff(series) == 0))
    if len(holes):
        missing = int((np.diff(steps)[holes] - 1).sum())
        first = clock.labels(steps[holes[:1]] + 1)[0]
        raise ValueError(
            f"X.index lacks {missing} timestamps, the first {first}: "
            f"X.asfreq({clock.step_name!r}) adds them with NaN, which the target may hold; fill "
            "the other columns."
        )
    return clock, steps


def _check_freq(time: pd.Index, freq: Any) -> None:
    """Raise if the step that the user named is of another kind than the index."""
    if freq is not None and is_dated(time) == isinstance(freq, Integral):
        wanted = "an offset such as 'h'" if is_dated(time) else "a whole number"
        raise ValueError(
            f"freq={freq!r} must be {wanted} for an index of {time.dtype} labels: it is the step "
            "between two of them. Leave it None to read it off the index."
        )


def _raise_irregular(time: pd.Index, off: Any = None, step: str | None = None) -> None:
    gaps = pd.Series(time).diff().dropna()
    if off is not None:
        raise ValueError(
            f"X.index does not lie on freq={step!r}: {off} is between two steps. Pass the freq "
            "that fits, or resample, X.resample(freq).mean()."
        )
    raise ValueError(
        f"X.index has irregular steps, from {gaps.min()} to {gaps.max()}: pass freq= if they "
        "follow a calendar, or resample, X.resample(freq).mean()."
    )


def check_same_kind(time: pd.Index, clock: Clock) -> None:
    """Raise if labels at prediction are of another kind than at fit."""
    own = clock.labels(np.zeros(1, dtype=np.int64))
    if isinstance(own, pd.DatetimeIndex) and isinstance(time, pd.DatetimeIndex):
        if (own.tz is None) != (time.tz is None):
            fit, now = ("naive", "time-zone aware") if own.tz is None else (str(own.tz), "naive")
            fix = "X.index.tz_convert(zone).tz_localize(None)"
            if own.tz is not None:
                fix = f"X.index.tz_localize({str(own.tz)!r})"
            raise TypeError(
                f"X.index is {now}, but the training rows were {fit}: the hours cannot be "
                f"matched. Use {fix} with the zone of the training rows."
            )
        return
    if isinstance(own, pd.PeriodIndex) and isinstance(time, pd.PeriodIndex):
        if own.dtype == time.dtype:
            return
    elif type(own).__name__.replace("Range", "") == type(time).__name__.replace("Range", ""):
        return
    raise TypeError(
        f"X.index is a {type(time).__name__} ({time.dtype}), but the training rows had a "
        f"{type(own).__name__} ({own.dtype}): pass labels of the same kind."
    )


def check_on_grid(steps: Rows, time: pd.Index, clock: Clock) -> None:
    """Raise if labels at prediction lie on no grid with the fitted step."""
    if (steps == OFF_GRID).any():
        _raise_irregular(time, off=time[steps == OFF_GRID][0], step=clock.step_name)


def warn_of_lost_index(clock: Clock, end_step: int) -> None:
    """Warn that rows without an index are taken to follow the training data."""
    start = clock.labels(np.array([end_step]))[0]
    warnings.warn(
        "the training rows had a time index and X has none: its rows are taken to follow the "
        f"training data from {start}. Keep the index, for example by "
        "set_output(transform='pandas') in a Pipeline.",
        UserWarning,
        stacklevel=4,
    )


def warn_of_held_values(what: str, names: Sequence[Hashable], n_steps: int) -> None:
    """Warn that columns without values ahead were held at their last ones."""
    warnings.warn(
        f"{what} {list(names)} have no values at {n_steps} steps that the forecast builds on: "
        "their last value is held there.",
        UserWarning,
        stacklevel=4,
    )


def check_not_reset(collides: npt.NDArray[np.bool_], end: int, step: int) -> None:
    """Raise if row numbers of the training rows come with other values."""
    if collides.any():
        numbers = f"range({end}, {end} + len(X))"
        if step != 1:
            numbers = f"range({end}, {end} + {step} * len(X), {step})"
        raise ValueError(
            f"X.index repeats {int(collides.sum())} row numbers of the training rows with other "
            "values: the index was reset. Let new rows count on, X.index = "
            f"{numbers}, or keep the time index."
        )


def check_after_history(before: bool) -> None:
    """Raise if rows lie where features alone cannot be forecast."""
    if before:
        raise ValueError(
            "X holds rows outside the training data's time (before its first row or off its "
            "grid), and the history of y is not in X: call update(X, y) with it, or pass later "
            "rows."
        )


def check_follows(steps: Rows, clock: Clock, expected: Rows, history_clock: Clock) -> None:
    """Raise if the rows of an update do not follow the history directly."""
    wrong = np.flatnonzero((steps != expected) | (clock != history_clock))[:1]
    if len(wrong):
        given, due = clock.labels(steps[wrong])[0], history_clock.labels(expected[wrong])[0]
        raise ValueError(
            f"update got rows from {given} on: they must follow the history directly, from "
            f"{due}. Pass all rows since then."
        )


def raise_unknown_ahead(name: Hashable, n_missing: int, first: Any) -> None:
    """Raise because a column known ahead lacks values at steps to forecast."""
    raise ValueError(
        f"column {name!r} is known ahead but has no value at {n_missing} of the steps to "
        f"forecast, the first {first}: pass X with a row for each step; make_future_frame() "
        "makes such rows to fill in."
    )


def check_panel(fitted: bool, given: bool) -> None:
    """Raise if several series were fitted and rows do not name theirs, or the other way round."""
    if fitted and not given:
        raise ValueError(
            "X does not name the series of its rows, but several were fitted: label the rows by "
            "a MultiIndex (series, time)."
        )
    if given and not fitted:
        raise ValueError(
            "X labels its rows by (series, time), but one series was fitted: pass the rows of "
            "one, X.loc[series]."
        )


def number_series(labels: pd.Index | None, n_rows: int) -> tuple[Rows, pd.Index | None]:
    """Give each series a number, in order of appearance; no labels means one series."""
    if labels is None:
        return np.zeros(n_rows, dtype=np.int64), None
    _check_series_named(labels)
    codes, keys = pd.factorize(labels)
    return codes.astype(np.int64), pd.Index(keys, name=labels.name)


def _check_series_named(labels: pd.Index) -> None:
    if labels.hasnans:
        raise ValueError("X.index holds a missing series name: every row needs its series.")


def find_series(
    known: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> tuple[Rows, pd.Index | None]:
    """Give each row's series its fitted number, new ones the next; and the names of all."""
    if known is None or labels is None:
        return np.zeros(n_rows, dtype=np.int64), known
    _check_series_named(labels)
    codes = known.get_indexer(labels).astype(np.int64)
    unseen = codes < 0
    numbers, new = pd.factorize(labels[unseen])
    codes[unseen] = len(known) + numbers
    return codes, known.append(pd.Index(new)).rename(known.name) if len(new) else known


def dated_labels(time: pd.Index | None) -> pd.Index:
    """Raise if rows have lost the dates that their calendar needs."""
    if time is None or not is_dated(time):
        raise TypeError(
            "X has no dates, but the training rows had: the calendar cannot be read off. Keep "
            "the index, for example by set_output(transform='pandas') in a Pipeline."
        )
    return time


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError before `fit`."""
    check_is_fitted(estimator)


def feature_names_in(transformer: Any, input_features: Any) -> npt.NDArray[np.object_]:
    """Give the names of a transformer's input columns, made up (x0, x1, …) where X had none."""
    check_is_fitted(transformer)
    return np.asarray(_check_feature_names_in(transformer, input_features))


# --- arrays, through scikit-learn's own checks ----------------------------------------------


def check_columns(estimator: Any, X: pd.DataFrame, *, reset: bool) -> None:
    """Check a frame's column names and their number, without a copy of its values."""
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X has several columns named {twice!r}: give each its own name.")
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not len(X):
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")


def numeric_array(estimator: Any, X: Any, *, reset: bool) -> npt.NDArray[Any]:
    """Check an array without labels; NaN is allowed here and judged by column later."""
    checked = validate_data(
        estimator, X, reset=reset, dtype="numeric", ensure_all_finite="allow-nan"
    )
    return np.asarray(checked)


def numeric_truth(y: Any) -> npt.NDArray[np.float64]:
    """Check y; NaN is a missing truth."""
    if isinstance(y, pd.DataFrame):
        y = np.column_stack([numeric_column(y.iloc[:, j], n) for j, n in enumerate(y.columns)])
    elif isinstance(y, pd.Series):
        y = numeric_column(y, y.name)
    values = check_array(
        y,
        dtype="numeric",
        ensure_2d=False,
        ensure_all_finite="allow-nan",
        input_name="y",
    )
    return np.asarray(values, dtype=np.float64)


def truth_weight(sample_weight: Any, observed: npt.NDArray[np.bool_]) -> Any:
    """Combine sample weights and missing truth; None when every value weighs 1."""
    if sample_weight is None:
        return None if observed.all() else observed.astype(np.float64)
    weight = _check_sample_weight(sample_weight, observed, dtype=np.float64)
    return observed * weight[:, None]


def check_same_length(X: Any, y: Any) -> None:
    """Raise if X and y have different numbers of rows."""
    check_consistent_length(X, y)


def count_rows(X: Any) -> int:
    """Count the rows of anything array-like."""
    return int(_num_samples(X))


def raise_unseen_series(known: pd.Index | None) -> None:
    """Raise because an update brings series that training did not hold."""
    fitted = [] if known is None else list(known)
    raise ValueError(
        f"update got series that fit did not see; those are {fitted}: only known "
        "series can be continued. Pass new ones to predict, which reads their history from X, "
        "or fit again."
    )


def check_update_truth(y: Any) -> None:
    """Raise if an update of the features mode brings no truth."""
    if y is None:
        raise ValueError(
            "update(X) without y adds no history: X holds features only. Pass update(X, y)."
        )


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
