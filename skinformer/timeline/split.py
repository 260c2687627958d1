"""Splits in time: the chronological validation tail, and cross-validation of panels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import TimeSeriesSplit

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.timeline import Table

__all__ = ["PanelTimeSeriesSplit", "series_with_truth", "training_rows", "validation_start"]


def validation_start(table: Table, *, seq_len: int, pred_len: int, fraction: float) -> int | None:
    """
    Find the step at which the validation tail of all series begins.

    One step for all series, so that no validation target lies before a training target.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    seq_len, pred_len : int
        Steps in a context and in a forecast.
    fraction : float
        Share of the rows, the latest ones, for validation, in (0, 1): at least one forecast
        long, and never so long that no training window is left.

    Returns
    -------
    int or None
        Targets at this step and later belong to validation. None if no series holds
        ``seq_len + 2 * pred_len`` rows up to its last truth: rows after that have nothing to
        judge by.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.timeline.clock import RowClock
    >>> table = Table([np.ones(99)], 1, np.zeros(99, dtype=int), np.arange(99), RowClock())
    >>> validation_start(table, seq_len=8, pred_len=4, fraction=0.1)
    89
    """
    first = table.steps[table.first_row[:-1]]
    counted = _counted(table)
    last = first - 1  # of each series, the last step with a truth
    np.maximum.at(last, table.series[counted], table.steps[counted])
    steps = table.steps[table.steps <= last[table.series]]
    window = seq_len + pred_len
    # Both sides need a window: one that ends before the tail, one whose targets lie in it.
    fits = last - first + 1 >= window + pred_len
    if not fits.any():
        return None
    n_tail = max(pred_len, math.ceil(fraction * len(steps)))
    start = int(np.partition(steps, -n_tail)[-n_tail])
    earliest = int((first[fits] + window).min())
    latest = int((last[fits] + 1 - pred_len).max())
    return min(max(start, earliest), latest)


def _counted(table: Table) -> BoolArray:
    """Tell which rows have a truth that counts in the loss."""
    if table.weight is None:
        return np.ones(len(table.steps), dtype=bool)
    return np.asarray((table.weight > 0).any(axis=1))


def series_with_truth(
    table: Table, tail: int | None, *, seq_len: int, pred_len: int
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """
    Find the series that have a truth to train on, one to validate on, or none where they should.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    tail : int or None
        The step at which the validation tail begins; None for no tail.
    seq_len, pred_len : int
        Steps in a context and in a forecast.

    Returns
    -------
    tuple of ndarray of bool, shape (n_series,)
        Whether a window before the tail has a truth, whether one within the tail has, and whether
        there are windows within the tail, but all without truth.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.timeline.clock import RowClock
    >>> series, steps = np.repeat([0, 1], [9, 3]), np.r_[:9, :3]
    >>> table = Table([np.ones(12)], 1, series, steps, RowClock())
    >>> series_with_truth(table, 7, seq_len=3, pred_len=2)
    (array([ True, False]), array([ True, False]), array([False, False]))
    """
    start, end = table.first_row[:-1], table.first_row[1:]
    before = np.full(len(start), len(table.steps)) if tail is None else tail - table.steps[start]
    stop = start + np.clip(before, 0, end - start)
    count = np.concatenate([[0], np.cumsum(_counted(table))])

    def holds(low: IntArray, high: IntArray) -> tuple[BoolArray, BoolArray]:
        """Tell which rows from `low` to `high` hold a window, and one with a truth."""
        window = high - low >= pred_len
        return window, window & (count[high] > count[np.minimum(low, high)])

    _, trained = holds(start + seq_len, stop)
    window, watched = holds(np.maximum(start + seq_len, stop), end)
    return trained, watched, window & ~watched


def training_rows(table: Table, tail: int | None, *, seq_len: int) -> tuple[IntArray, IntArray]:
    """
    Find each series' rows before the validation tail.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    tail : int or None
        The step at which the tail begins; None for no tail.
    seq_len : int
        Steps in a context.

    Returns
    -------
    tuple of ndarray of int64, shape (n_series,)
        Series i trains on rows ``start[i]`` … ``stop[i] - 1``.

    Notes
    -----
    A series that begins in the tail has no training target. Its scale comes from its first
    `seq_len` rows, which are context of its forecasts and targets of none.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.timeline.clock import RowClock
    >>> table = Table([np.ones(9)], 1, np.zeros(9, dtype=int), np.arange(9), RowClock())
    >>> training_rows(table, 6, seq_len=3)
    (array([0]), array([6]))
    """
    start, end = table.first_row[:-1], table.first_row[1:]
    if tail is None:
        return start, end
    before = np.maximum(tail - table.steps[start], seq_len)
    return start, np.minimum(start + before, end)


class PanelTimeSeriesSplit(TimeSeriesSplit):
    """
    Split panels in time: every series is cut at the same timestamps.

    `sklearn.model_selection.TimeSeriesSplit` counts rows, which on frames labelled by (series,
    time) puts whole series into training and others into testing. This one counts distinct
    timestamps. On a frame with one level, or an array, both do the same.

    Parameters
    ----------
    n_splits : int, default=5
        Splits, at least 2.
    max_train_size : int, default=None
        Timestamps in a training set, at most.
    test_size : int, default=None
        Timestamps in a test set; None is ``n_timestamps // (n_splits + 1)``.
    gap : int, default=0
        Timestamps left out between training and testing.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer import PanelTimeSeriesSplit
    >>> panel = pd.MultiIndex.from_product([["a", "b"], range(4)])
    >>> X = pd.DataFrame({"load": range(8)}, index=panel)
    >>> [test.tolist() for _, test in PanelTimeSeriesSplit(n_splits=3).split(X)]
    [[1, 5], [2, 6], [3, 7]]
    """

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """
        Give the rows of each split.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Rows in any order of series.
        y, groups : Any, default=None
            Not used, but for an index that X lacks.

        Yields
        ------
        tuple of ndarray of int64
            Positions of the training rows and of the test rows, in X's order.
        """
        labelled = [part for part in (X, y) if isinstance(part, pd.DataFrame | pd.Series)]
        index = labelled[0].index if labelled else None
        if index is None or index.nlevels == 1:
            yield from super().split(X, y, groups)
            return
        times, moments = pd.factorize(index.get_level_values(-1), sort=True)
        for train, test in super().split(np.arange(len(moments))):
            yield np.flatnonzero(np.isin(times, train)), np.flatnonzero(np.isin(times, test))
