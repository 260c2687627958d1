"""Rows of transformers: read from what the user passes, and placed on the fitted clock."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer import validation
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import OFF_GRID, Clock, RowClock
from skinformer.timeline.digest import content_digest

__all__ = ["RowPlaces", "column_names", "fit_places", "order_in_time", "read_rows"]


def read_rows(
    estimator: Any, X: Any, *, reset: bool
) -> tuple[npt.NDArray[Any], pd.Index | None, pd.Index | None]:
    """
    Check X and take it apart.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and ``feature_names_in_``.
    X : DataFrame, Series or array-like of shape (n, n_features)
        Rows.
    reset : bool
        Whether this is `fit`.

    Returns
    -------
    tuple
        Values of shape (n, n_features), time labels and series labels (None without).

    Examples
    --------
    >>> from skinformer import MaskFuture
    >>> values, time, series = read_rows(MaskFuture(), pd.Series([2.0, 3.0]), reset=True)
    >>> values.tolist(), time.tolist(), series
    ([[2.0], [3.0]], [0, 1], None)
    """
    if isinstance(X, pd.Series):
        X = X.to_frame()
    if not isinstance(X, pd.DataFrame):
        return validation.numeric_array(estimator, X, reset=reset), None, None
    validation.check_columns(estimator, X, reset=reset)
    columns = [validation.numeric_column(X.iloc[:, j], n) for j, n in enumerate(X.columns)]
    for column, name in zip(columns, X.columns, strict=True):
        validation.check_finite(column, f"X (column {name!r})", nan=None)
    values = np.column_stack(columns) if columns else np.empty((len(X), 0))
    time, series = validation.time_labels(X.index)
    return values, time, series


def column_names(X: Any, n_columns: int) -> tuple[list[Hashable], bool]:
    """
    Name the columns of X.

    Parameters
    ----------
    X : DataFrame, Series or array-like of shape (n, n_columns)
        Rows.
    n_columns : int
        Its columns.

    Returns
    -------
    tuple of list and bool
        Names, or positions where there are none; whether they are names.

    Examples
    --------
    >>> column_names(np.ones((2, 3)), 3)
    ([0, 1, 2], False)
    """
    if isinstance(X, pd.Series):
        return [X.name if X.name is not None else 0], X.name is not None
    named = hasattr(X, "columns")
    return (list(X.columns) if named else list(range(n_columns))), named


def order_in_time(time: pd.Index | None, series: IntArray) -> IntArray:
    """
    Sort rows: series after series, each in time.

    Parameters
    ----------
    time : Index of shape (n,) or None
        Labels of time; None keeps the order within each series.
    series : ndarray of int64, shape (n,)
        The number of each row's series.

    Returns
    -------
    ndarray of int64, shape (n,)
        Row numbers.

    Examples
    --------
    >>> order_in_time(pd.Index([9, 8, 7]), np.array([0, 1, 0])).tolist()
    [2, 0, 1]
    """
    order = np.arange(len(series)) if time is None else np.argsort(time, kind="stable")
    return order[np.argsort(series[order], kind="stable")]


@dataclass(frozen=True)
class RowPlaces:
    """
    Where rows lie in time, counted as the training rows were.

    Parameters
    ----------
    clock : Clock
        What counts the steps of the index.
    series : Index or None
        Names of the series of a panel.
    end : int
        The step after the last training row; of an array, where the next one begins.
    digest : bytes
        Recognises the training array; empty for a frame.

    Examples
    --------
    >>> X = np.ones((3, 1))
    >>> places, *_ = fit_places(X, None, None, 3)
    >>> places.find(X[:2], None, None, 2)[1].tolist()  # an array follows
    [3, 4]
    """

    clock: Clock
    series: pd.Index | None
    end: int
    digest: bytes

    def find(
        self, X: Any, time: pd.Index | None, labels: pd.Index | None, n_rows: int
    ) -> tuple[IntArray, IntArray, bool]:
        """
        Give series and step of each row, and whether X is a timeline of its own.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_rows, n_features)
            Rows in any order. An array follows the training rows, unless it is the training
            array itself.
        time, labels : Index of shape (n_rows,) or None
            Labels of time and of series, as `read_rows` gives them.
        n_rows : int
            Rows of X.

        Returns
        -------
        tuple
            Numbers of the series, those of new ones after the fitted; steps; True if X lies
            between the steps of the training rows, and its steps are counted from its first row.
        """
        validation.check_panel(self.series is not None, labels is not None)
        codes, _ = validation.find_series(self.series, labels, n_rows)
        if time is None or isinstance(self.clock, RowClock):
            seen = time is None and content_digest(X) == self.digest
            return codes, np.arange(n_rows) + (0 if seen else self.end), False
        validation.check_same_kind(time, self.clock)
        validation.check_distinct(time, labels)
        steps = self.clock.steps(time)
        own = bool((steps == OFF_GRID).any())
        if own:
            clock = self.clock.starting_at(time.min())
            steps = clock.steps(time)
            validation.check_on_grid(steps, time, clock)
        return codes, steps, own


def fit_places(
    X: Any, time: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> tuple[RowPlaces, IntArray, IntArray, IntArray]:
    """
    Make the clock of training rows and count their steps.

    Parameters
    ----------
    X : DataFrame, Series or array-like of shape (n_rows, n_features)
        Consecutive rows in time order within each series.
    time, labels : Index of shape (n_rows,) or None
        Labels of time and of series, as `read_rows` gives them.
    n_rows : int
        Rows of X.

    Returns
    -------
    tuple of RowPlaces and three ndarrays of int64, shape (n_rows,)
        What places later rows; the order that brings each series together; and in that order
        the number of each row's series and its step.

    Examples
    --------
    >>> days = pd.date_range("2024-01-01", periods=3, freq="D")
    >>> places, order, codes, steps = fit_places(None, days, None, 3)
    >>> places.clock.step_name, steps.tolist(), places.end
    ('D', [0, 1, 2], 3)
    """
    codes, series = validation.number_series(labels, n_rows)
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    clock: Clock = RowClock()
    steps: IntArray = np.arange(n_rows)
    if time is not None:
        validation.check_distinct(time, labels)
        validation.check_order(time[order], codes)
        clock, steps = validation.make_clock(time[order], codes, None, names=series)
    digest = content_digest(X) if time is None else b""
    return RowPlaces(clock, series, int(steps[-1]) + 1, digest), order, codes, steps
