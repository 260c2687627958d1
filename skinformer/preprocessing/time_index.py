"""TimeIndex: the time of rows from a column to the index, where estimators look for it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

from skinformer.frames import to_pandas
from skinformer.reading.layout import move_to_index
from skinformer.timeline.arrays import AnyArray
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import check_columns, feature_names_in
from skinformer.validation.layout import check_is_column, check_label_columns


@dataclass(eq=False, repr=False)
class TimeIndex(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """
    Make the index of rows from their columns of time and series.

    It is the first step of a Pipeline for rows without a time index: frames of polars and arrow,
    tables of files, and JSON that a server receives. Rows stay in their order, and keep all other
    columns.

    Parameters
    ----------
    time : Hashable, default="time"
        The column of times: dates, dates as text, or whole numbers.
    series : Hashable or None, default=None
        The column with the name of the series of each row. None means that all rows are one series.
    format : str, default="ISO8601"
        The format of times that are text, as for `pandas.to_datetime`, such as "%d.%m.%Y %H:%M".
    tz : str or None, default=None
        The time zone of the index. Times with a zone or an offset are converted to it; others are
        taken as local times of this zone. None leaves times as they are. Offsets other than that of
        UTC then raise an error, because the offset of a zone changes with the seasons.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns.

    See Also
    --------
    InformerRegressor : Reads the index that this makes.

    Examples
    --------
    >>> rows = [{"time": "2024-01-01", "load": 3.0}, {"time": "2024-01-02", "load": 4.0}]
    >>> TimeIndex().fit_transform(rows)
                load
    time
    2024-01-01   3.0
    2024-01-02   4.0
    """

    _parameter_constraints: ClassVar = {
        "time": [Hashable],
        "series": [Hashable, None],
        "format": [str],
        "tz": [str, None],
    }

    time: Any = "time"
    series: Any = None
    _: KW_ONLY
    format: str = "ISO8601"
    tz: str | None = None

    def __sklearn_tags__(self) -> Any:
        """Declare that columns need names, and NaN passes through."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.input_tags.allow_nan = True
        return tags

    def set_output(self, *, transform: Any = None) -> Self:
        """
        Stay as it is: rows have their times in an index, and frames of pandas alone have one.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            Not used.

        Returns
        -------
        self
            The same.
        """
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Remember the columns.

        Parameters
        ----------
        X : DataFrame of pandas, polars or arrow, or list of dict
            Rows; anything that `pandas.DataFrame` takes or that has a method ``to_pandas``.
        y : Any, default=None
            Not used.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        ValueError
            If X lacks the columns of time or series, or has no other.
        """
        self._validate_params()
        frame = _as_pandas(X)
        check_columns(self, frame, reset=True)
        check_is_column(frame, "time", self.time)  # None names none
        check_label_columns(frame, self.time, self.series)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """
        Move time and series from columns to the index.

        Parameters
        ----------
        X : DataFrame of pandas, polars or arrow, or list of dict
            Rows in any order.

        Returns
        -------
        DataFrame of shape (n_samples, n_features - 1) or (n_samples, n_features - 2)
            The other columns; its index is (series, time) where there is a column of series.

        Raises
        ------
        ValueError
            If a time or series is missing, or a time cannot be read.
        """
        check_fitted(self)
        frame = _as_pandas(X)
        check_columns(self, frame, reset=False)
        return move_to_index(
            frame, self.time, self.series, format=self.format, tz=self.tz
        )

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """
        Name the columns of the output.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input columns; they have to be those of `fit`.

        Returns
        -------
        ndarray of str
            X's columns but for those of time and series.
        """
        names = feature_names_in(self, input_features)
        kept = [name for name in names if name not in (self.time, self.series)]
        return np.array(kept, dtype=object)


def _as_pandas(X: Any) -> Any:
    """Return rows as a frame of pandas; what is one already stays as it is."""
    frame = to_pandas(X)
    return frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame)
