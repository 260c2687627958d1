"""Forecasts that need no learning, to measure others by."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skinformer.preprocessing.sliding_window import SlidingWindow

__all__ = ["SeasonalNaive"]


class SeasonalNaive(RegressorMixin, BaseEstimator):
    """
    Repeat the last season: each row's forecast is the value `season` rows before it.

    Where that value is missing, the forecast made for it stands in; so ``season=1`` repeats the
    last known value. It is a yardstick: a model that does not beat it has learnt nothing.

    Parameters
    ----------
    season : int, default=1
        Rows in a season, at least 1; 168 for the weeks of hourly rows.
    target : str, list or None, default=None
        Column(s) to forecast; None is the last one.

    Attributes
    ----------
    window_ : SlidingWindow
        Reads the values `season` rows back, at the end of the training rows too.

    See Also
    --------
    backtest : Measure it beside a model.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import SeasonalNaive
    >>> days = pd.date_range("2024-01-01", periods=6, freq="D")
    >>> df = pd.DataFrame({"load": [1.0, 2.0, 3.0, np.nan, np.nan, np.nan]}, index=days)
    >>> SeasonalNaive(season=2).fit(df[:3]).predict(df[3:])
    array([2., 3., 2.])
    """

    def __init__(self, season: int = 1, target: Any = None) -> None:
        self.season = season
        self.target = target

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:  # noqa: ARG002 – scikit-learn's signature
        """
        Keep the end of the training rows.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
            Consecutive rows of one series in time order.
        y : Any, default=None
            Not used.

        Returns
        -------
        self
            Fitted.
        """
        self.window_ = SlidingWindow(seq_len=1, lag=self.season).fit(self._targets(X))
        return self

    def predict(self, X: pd.DataFrame) -> npt.NDArray[np.float64]:
        """
        Repeat the last season.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
            Consecutive rows in time order. A missing target is a step to be forecast.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_targets)
            Two-dimensional if `target` is a list.
        """
        check_is_fitted(self)
        before = pd.DataFrame(self.window_.transform(self._targets(X)))
        phase = np.arange(len(before)) % self.season
        values = before.groupby(phase).ffill().to_numpy(dtype=np.float64)
        return values if isinstance(self.target, list) else values[:, 0]

    def _targets(self, X: pd.DataFrame) -> pd.DataFrame:
        if self.target is None:
            return X.iloc[:, -1:]
        return X[self.target if isinstance(self.target, list) else [self.target]]
