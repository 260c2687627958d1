"""SlidingWindow: the last values of each column as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer.preprocessing.base import RowTransformer
from skinformer.reading.columns import read_rows
from skinformer.reading.places import group_rows
from skinformer.timeline.arrays import IntArray
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import feature_names_in
from skinformer.validation.parameters import SLIDING_WINDOW_CONSTRAINTS


class SlidingWindow(RowTransformer):
    """
    Put the window of past rows beside each row, for any regressor.

    Row t gets the rows t - lag - seq_len + 1 … t - lag of every column, oldest first. To
    forecast h steps ahead from a column itself choose ``lag=h``. `InformerRegressor` makes its
    own windows without copies and does not need this.

    Rows that X lacks come from the end of the training rows if they lie there, else they are
    the training mean of the column: the first rows of the training data, and those after a gap.

    Parameters
    ----------
    seq_len : int, default=24
        Rows in a window, at least 1.
    lag : int, default=0
        Rows between a window's last row and the row it stands beside, at least 0.

    Attributes
    ----------
    clock_ : Clock
        What counts the steps of the index.
    series_ : Index or None
        Names of the series of a panel.
    mean_ : ndarray of shape (n_series, n_features)
        Training means.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X had names.

    See Also
    --------
    CalendarFeatures : The calendar as columns.

    Notes
    -----
    The output takes ``seq_len`` times the memory of X.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer import SlidingWindow
    >>> SlidingWindow(seq_len=2, lag=1).fit_transform(np.array([[1.0], [2.0], [6.0]]))
    array([[3., 3.],
           [3., 1.],
           [1., 2.]])
    """

    _parameter_constraints: ClassVar = SLIDING_WINDOW_CONSTRAINTS

    def __init__(self, seq_len: int = 24, lag: int = 0) -> None:
        self.seq_len = seq_len
        self.lag = lag

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Keep the end and the mean of the training rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Consecutive rows in time order within each series.
        y : Any, default=None
            Not used.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If the index is not a regular clock; the message says what to type instead.
        """
        self._validate_params()
        rows = read_rows(self, X, reset=True)
        grouped = group_rows(rows.time, rows.series, len(rows.values))
        self.clock_, steps = grouped.count_steps(None)
        self._places = grouped.places(X, self.clock_, steps)
        self.series_, codes = grouped.names, grouped.series
        values = _as_float(rows.values)[grouped.order]
        self.mean_ = pd.DataFrame(values).groupby(codes).mean().to_numpy()
        end = np.searchsorted(codes, codes, side="right")  # of each row's series
        n_left = end - np.arange(len(codes))
        kept = n_left <= self.seq_len + self.lag
        self._tail = values[kept], codes[kept], steps[kept]
        return self

    def transform(self, X: Any) -> Any:
        """
        Put the windows beside the rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows in any order. An array without index follows the training rows, unless it is
            the training array itself.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_features * seq_len)
            For each column its window, oldest row first.

        Raises
        ------
        TypeError, ValueError
            If the index does not fit the training rows'.
        """
        check_fitted(self)
        rows = read_rows(self, X, reset=False)
        values = _as_float(rows.values)
        found = self._places.find(X, rows.time, rows.series, len(values))
        past_values, past_codes, past_steps = self._past(values, found)
        means = np.vstack([self.mean_, self.mean_.mean(axis=0)])  # the last for unseen series
        mean = means[np.minimum(found.series, len(self.mean_))].astype(values.dtype)
        windows = np.empty((*values.shape, self.seq_len), dtype=past_values.dtype)
        newest = found.steps - self.lag
        rows_back = _rows_back(past_codes, past_steps, found.series, newest, length=self.seq_len)
        # PERF: lag by lag, so that nothing but the output grows with seq_len.
        for back, row in enumerate(rows_back, start=1):
            is_known = row >= 0
            windows[:, :, -back] = np.where(is_known[:, None], past_values[row], mean)
        return self._wrap(windows.reshape(len(values), -1), X)

    def _past(self, values: npt.NDArray[Any], found: Any) -> Any:
        """Return values, series and steps of all rows that windows may hold."""
        rows = (values, found.series, found.steps)
        if found.own:
            return rows
        # X's own rows win: they come last.
        return [np.concatenate(pair) for pair in zip(self._tail, rows, strict=True)]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """
        Name the columns of the output.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input columns, if it had none when fitted.

        Returns
        -------
        ndarray of str
            ``<column>__lag_<k>`` with k from ``lag + seq_len - 1`` down to ``lag``.
        """
        names = feature_names_in(self, input_features)
        lags = range(self.lag + self.seq_len - 1, self.lag - 1, -1)
        columns = []
        for name in names:
            columns += [f"{name}__lag_{lag}" for lag in lags]
        return np.array(columns, dtype=object)


def _as_float(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make room for means and NaN beside whole numbers."""
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def _rows_back(
    codes: IntArray, steps: IntArray, from_codes: IntArray, from_steps: IntArray, *, length: int
) -> Iterator[IntArray]:
    """
    Find the rows at some steps, then those a step before, and so on; -1 where there is none.

    Of two rows with the same series and step the later one counts.
    """
    # 1. Sort the rows by series and step, the last of equal ones alone.
    order = np.lexsort((steps, codes))
    differs = (np.diff(codes[order]) != 0) | (np.diff(steps[order]) != 0)
    order = order[np.append(differs, True)]
    codes = codes[order]
    steps = steps[order]

    # 2. Find the last row that is not after each one sought: keys order pairs of series and step.
    distinct = np.unique(steps)
    n_ranks = len(distinct) + 1
    rank = np.searchsorted(distinct, steps, side="right")
    from_rank = np.searchsorted(distinct, from_steps, side="right")
    key = codes * n_ranks + rank
    from_key = from_codes * n_ranks + from_rank
    place = np.searchsorted(key, from_key, side="right") - 1

    # 3. Go back, step by step, from each row that is there.
    for back in range(length):
        same_series = codes[place] == from_codes
        same_step = steps[place] == from_steps - back
        found = same_series & same_step & (place >= 0)
        yield np.where(found, order[place], -1)
        place = place - found
