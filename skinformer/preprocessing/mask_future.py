"""MaskFuture: hide all but future covariates in the last rows."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import OneToOneFeatureMixin

from skinformer.preprocessing.base import RowTransformer, as_float
from skinformer.reading.columns import places_of_names, read_rows
from skinformer.reading.places import sort_rows
from skinformer.reading.targets import find_known, find_targets
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import check_ahead
from skinformer.validation.parameters import CONSTRAINTS


@dataclass(eq=False, repr=False)
class MaskFuture(OneToOneFeatureMixin, RowTransformer):
    """
    Hide the target and the past covariates in the last `pred_len` rows of each series.

    The result contains only what a forecaster may see at the origin of these rows: everything
    before them, and future covariates. Use it to make a frame for `InformerRegressor.forecast` or
    for another model. The Informer masks the input of its decoder in the same way.

    Parameters
    ----------
    target : str, int, list or None, default=None
        The column or columns to forecast; None is the last column.
    pred_len : int, default=24
        Number of rows at the end of each series that lie in the future, at least 1.
    known_future : str, list or None, default=None
        Future covariates, which are not hidden. Columns made by `CalendarFeatures` need not be
        listed.
    fill_value : float, default=nan
        The value that replaces hidden values.

    Attributes
    ----------
    hidden_ : list of int
        Positions of the columns that are hidden.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.

    References
    ----------
    Zhou et al. (2021), Informer: Beyond Efficient Transformer for Long Sequence Time-Series
    Forecasting, AAAI: the placeholders of the generative decoder.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer import MaskFuture
    >>> MaskFuture(pred_len=1, known_future=[0]).fit_transform(np.ones((2, 2)))
    array([[ 1.,  1.],
           [ 1., nan]])
    """

    _parameter_constraints: ClassVar = {
        "target": CONSTRAINTS["target"],
        "pred_len": CONSTRAINTS["pred_len"],
        "known_future": CONSTRAINTS["known_future"],
        "fill_value": [Real],
    }

    target: Any = None
    pred_len: int = 24
    known_future: str | list[Any] | None = None
    fill_value: float = np.nan

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Find the columns to hide.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows.
        y : Any, default=None
            Not used.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        ValueError
            If `target` or `known_future` names no column.
        """
        self._validate_params()
        rows = read_rows(self, X, reset=True, hides_names=True)
        targets = find_targets(self.target, rows.names, named=rows.named, y_names=None)
        given = check_ahead(self.known_future, rows.names, targets)
        known = find_known(rows.names, given, targets)
        self.hidden_ = [j for j, name in enumerate(rows.names) if name not in known]
        return self

    def transform(self, X: Any) -> Any:
        """
        Hide the columns in the last rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows; the last ones are those latest in time, or without an index the last ones.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_features)
            A copy with the hidden values replaced, as floating-point numbers; hidden names of
            categories are missing.
        """
        check_fitted(self)
        rows = read_rows(self, X, reset=False, hides_names=True)
        values = as_float(rows.values)
        found = sort_rows(rows.time, rows.series, len(values))
        rows_of_series = pd.Series(found.order).groupby(found.series)
        last = rows_of_series.tail(self.pred_len).to_numpy()
        masked = values.copy()
        masked[last[:, None], self.hidden_] = self.fill_value
        frame = self._wrap(masked, X)
        for place in places_of_names(X):
            if place in self.hidden_:
                names = X.iloc[:, place].copy()
                names.iloc[last] = None
                frame.isetitem(place, names)
        return frame
