"""SlidingWindow: the last values of each column as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd

from skinformer.preprocessing.base import RowTransformer, as_float
from skinformer.reading.columns import read_rows
from skinformer.reading.places import FoundRows, group_rows
from skinformer.timeline.arrays import AnyArray, IntArray
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import feature_names_in
from skinformer.validation.parameters import SLIDING_WINDOW_CONSTRAINTS


@dataclass(eq=False, repr=False)
class SlidingWindow(RowTransformer):
    """
    Make lag features for any regressor: each row gets the window of rows before it.

    Row t gets the rows t - lag - seq_len + 1 … t - lag of every column, oldest first. To
    forecast a column h steps ahead from its own past, choose ``lag=h``. `InformerRegressor` makes
    its own windows and does not need this transformer.

    If X lacks rows of a window, they are taken from the end of the training rows. Rows that are not
    there either, such as those before the first training row and those in a gap, are replaced by
    the training mean of the column.

    Parameters
    ----------
    seq_len : int, default=24
        Number of rows in a window, at least 1.
    lag : int, default=0
        Number of rows from the last row of the window to the row that gets it, at least 0.

    Attributes
    ----------
    clock_ : Clock
        The frequency of the index, by which steps are counted.
    series_ : Index or None
        Names of the series of a panel.
    mean_ : ndarray of shape (n_series, n_features)
        Training means.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.

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

    _parameter_constraints = SLIDING_WINDOW_CONSTRAINTS

    seq_len: int = 24
    lag: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Keep the end and the mean of the training rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows in time order within each series. Closed hours and days are no steps; where
            another row is missing, windows hold the mean.
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
        self.clock_, steps = grouped.count_steps(None, may_skip=True)
        self._places = grouped.places(X, self.clock_, steps)
        self.series_ = grouped.names
        codes = grouped.series
        values = as_float(rows.values)[grouped.order]
        groups = pd.DataFrame(values).groupby(codes)
        self.mean_ = groups.mean().to_numpy()
        last = groups.tail(self.seq_len + self.lag).index
        self._tail = (values[last], codes[last], steps[last])
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
        values = as_float(rows.values)
        found = self._places.find(X, rows.time, rows.series, len(values))
        past_values, past_codes, past_steps = self._past(values, found)
        mean = self._means_of(found.series).astype(values.dtype)
        shape = (*values.shape, self.seq_len)
        windows = np.empty(shape, dtype=past_values.dtype)
        newest = found.steps - self.lag
        rows_back = _rows_back(
            past_codes, past_steps, found.series, newest, length=self.seq_len
        )
        # PERF: lag by lag, so that nothing but the output grows with seq_len.
        for back, row in enumerate(rows_back, start=1):
            is_known = row[:, None] >= 0
            windows[:, :, -back] = np.where(is_known, past_values[row], mean)
        windows = windows.reshape(len(values), -1)
        return self._wrap(windows, X)

    def _past(self, values: AnyArray, found: FoundRows) -> Any:
        """Return values, series and steps of all rows that windows may hold, X's own ones last."""
        rows = (values, found.series, found.steps)
        if found.own:
            return rows
        return map(np.concatenate, zip(self._tail, rows, strict=True))

    def _means_of(self, codes: IntArray) -> AnyArray:
        """Return the training means of series; the mean of these for unseen ones."""
        mean_of_all = self.mean_.mean(axis=0)
        means = np.vstack([self.mean_, mean_of_all])
        return means[np.minimum(codes, len(self.mean_))]

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
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
        oldest = self.lag + self.seq_len - 1
        lags = range(oldest, self.lag - 1, -1)
        columns = [f"{name}__lag_{lag}" for name, lag in product(names, lags)]
        return np.array(columns, dtype=object)


def _rows_back(
    codes: IntArray,
    steps: IntArray,
    from_codes: IntArray,
    from_steps: IntArray,
    *,
    length: int,
) -> Iterator[IntArray]:
    """
    Find the rows at some steps, then those a step before, and so on; -1 where there is none.

    Of two rows with the same series and step the later one counts.
    """
    # A whole number for each pair of series and step, apart by more than windows reach back.
    first = min(steps.min(), from_steps.min()) - length
    last = max(steps.max(), from_steps.max())
    n_steps = last - first + 1
    keys = pd.Index(codes * n_steps + steps)
    sought = from_codes * n_steps + from_steps
    rows = np.flatnonzero(~keys.duplicated(keep="last"))
    keys = keys[rows]
    for _ in range(length):
        place = keys.get_indexer(sought)
        yield np.where(place < 0, -1, rows[place])
        sought -= 1
