"""Cross-validation of panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import TimeSeriesSplit

from skinformer.frames import to_pandas
from skinformer.reading.layout import find_layout
from skinformer.timeline.arrays import IntArray


class PanelTimeSeriesSplit(TimeSeriesSplit):
    """
    Split panels in time: every series is cut at the same timestamps.

    `sklearn.model_selection.TimeSeriesSplit` counts rows, which on frames labelled by (series,
    time) puts whole series into training and others into testing. This one counts distinct
    timestamps. On a frame with one level, or an array, both do the same.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits, at least 2.
    max_train_size : int, default=None
        The largest number of timestamps in a training set; None is no limit.
    test_size : int, default=None
        Number of timestamps in a test set; None is ``n_timestamps // (n_splits + 1)``.
    gap : int, default=0
        Number of timestamps that are left out between training and test set.
    time, series : Hashable, default=None
        Columns that hold the times of rows and the names of their series, as for
        `InformerRegressor`; None for the index, or what is found.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer import PanelTimeSeriesSplit
    >>> panel = pd.MultiIndex.from_product([["a", "b"], range(4)])
    >>> X = pd.DataFrame({"load": range(8)}, index=panel)
    >>> [test.tolist() for _, test in PanelTimeSeriesSplit(n_splits=3).split(X)]
    [[1, 5], [2, 6], [3, 7]]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        max_train_size: int | None = None,
        test_size: int | None = None,
        gap: int = 0,
        time: Any = None,
        series: Any = None,
    ) -> None:
        super().__init__(
            n_splits, max_train_size=max_train_size, test_size=test_size, gap=gap
        )
        self.time = time
        self.series = series

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """
        Return the rows of each split.

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

        Raises
        ------
        ValueError
            If `gap` is negative, or if there are too few time steps for the splits.
        """
        if self.gap < 0:
            raise ValueError(
                f"gap={self.gap!r} must be 0 or more: below it test rows would be trained on."
            )
        frame = to_pandas(X)
        if isinstance(frame, pd.DataFrame):
            X = find_layout(frame, self.time, self.series).read_rows(frame)
        labelled = X if isinstance(X, pd.DataFrame | pd.Series) else y
        index: Any = getattr(labelled, "index", None)
        if getattr(index, "nlevels", 1) == 1:  # a list has a method of that name
            yield from super().split(X, y, groups)
            return
        times, moments = pd.factorize(index.get_level_values(-1), sort=True)
        for train, test in super().split(moments):
            in_train = np.isin(times, train)
            in_test = np.isin(times, test)
            yield np.flatnonzero(in_train), np.flatnonzero(in_test)
