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
from skinformer.validation.arguments import MOST, Whole, check_fitted
from skinformer.validation.columns import feature_names_in


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

    _parameter_constraints: ClassVar = {"seq_len": [Whole(1, MOST)], "lag": [Whole(0, MOST)]}

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
        after = np.searchsorted(codes, codes, side="right") - np.arange(len(codes))
        kept = after <= self.seq_len + self.lag
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
        codes, steps = found.series, found.steps
        known, line, tick = values, codes, steps
        if not found.own:  # X's own rows win: they come last
            both = zip(self._tail, (values, codes, steps), strict=True)
            known, line, tick = (np.concatenate(pair) for pair in both)
        means = np.vstack([self.mean_, self.mean_.mean(axis=0)])  # the last for unseen series
        mean = means[np.minimum(codes, len(self.mean_))].astype(values.dtype)
        windows = np.empty((*values.shape, self.seq_len), dtype=known.dtype)
        newest_first = _rows_back(line, tick, codes, steps - self.lag, length=self.seq_len)
        # PERF: lag by lag, so that nothing but the output grows with seq_len.
        for back, row in enumerate(newest_first, start=1):
            windows[:, :, -back] = np.where((row >= 0)[:, None], known[row], mean)
        return self._wrap(windows.reshape(len(values), -1), X)

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
        return np.array([f"{name}__lag_{k}" for name in names for k in lags], dtype=object)


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
    order = np.lexsort((steps, codes))
    line, tick = codes[order], steps[order]
    last = np.append((np.diff(line) != 0) | (np.diff(tick) != 0), True)
    order, line, tick = order[last], line[last], tick[last]
    ticks = np.unique(tick)
    rank = len(ticks) + 1  # orders pairs of series and step
    key = line * rank + np.searchsorted(ticks, tick, side="right")
    sought = from_codes * rank + np.searchsorted(ticks, from_steps, side="right")
    place = np.searchsorted(key, sought, side="right") - 1  # the last row that is not after it
    for back in range(length):
        found = (line[place] == from_codes) & (tick[place] == from_steps - back) & (place >= 0)
        yield np.where(found, order[place], -1)
        place = place - found
