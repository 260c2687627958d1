"""Rows at prediction: where they lie against the history, and what they lack."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.validation.warning import warn_user

__all__ = [
    "check_follows",
    "check_not_reset",
    "check_panel",
    "check_same_kind",
    "check_update_truth",
    "raise_unknown_ahead",
    "raise_unseen_series",
    "warn_of_held_values",
    "warn_of_lost_index",
    "warn_of_new_values",
    "warn_of_other_static",
    "warn_of_single_row",
]


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


def warn_of_lost_index(clock: Clock, end_step: int) -> None:
    """Warn that rows without an index are taken to follow the training data."""
    start = clock.labels(np.array([end_step]))[0]
    warn_user(
        "the training rows had a time index and X has none: its rows are taken to follow the "
        f"training data from {start}. Keep the index, for example by "
        "set_output(transform='pandas') in a Pipeline.",
    )


def warn_of_single_row(clock: Clock, end_step: int) -> None:
    """Warn that one row without an index is always the step after the history."""
    step = clock.labels(np.array([end_step]))[0]
    warn_user(
        "rows without an index are taken to follow the training data directly, in each call anew: "
        f"this one row is forecast as row {step}. Pass the rows of later steps together with it, "
        "call update(X, y) after each, or give X an index.",
    )


def warn_of_other_static(names: Sequence[Hashable]) -> None:
    """Warn that columns which never changed in training have other values, to no effect."""
    warn_user(
        f"columns {list(names)} were constant within each series in training and have other "
        "values in X, which change nothing: the training values are used. Name columns that can "
        "change in known_future and fit again.",
    )


def warn_of_new_values(names: Sequence[Hashable]) -> None:
    """Warn that columns known ahead have values of which training held no example."""
    warn_user(
        f"columns {list(names)} are known ahead but never changed within a series in training: "
        "nothing was learnt of what their new values in X do, and they may change no forecast. "
        "Fit on rows in which they change.",
    )


def warn_of_held_values(what: str, names: Sequence[Hashable], n_steps: int) -> None:
    """Warn that columns without values ahead were held at their last ones."""
    warn_user(
        f"{what} {list(names)} have no values at {n_steps} steps that the forecast builds on: "
        "their last value is held there.",
    )


def check_not_reset(collides: BoolArray, end: int, step: int) -> None:
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


def check_follows(steps: IntArray, clock: Clock, expected: IntArray, history_clock: Clock) -> None:
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
