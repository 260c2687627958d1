"""CalendarFeatures: the time of day, of the week and of the year as columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from skinformer.preprocessing.base import RowTransformer
from skinformer.reading.columns import read_rows
from skinformer.timeline.calendar import FIELDS, calendar_columns, calendar_values, choose_fields
from skinformer.timeline.clock import is_dated
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import feature_names_in
from skinformer.validation.parameters import CALENDAR_FEATURES_CONSTRAINTS, check_calendar
from skinformer.validation.warning import warn_user


class CalendarFeatures(RowTransformer):
    """
    Append the calendar of dated rows as columns on the unit circle.

    For each field, ``calendar__<field>_sin`` and ``calendar__<field>_cos`` of its angle, so that
    23:00 lies beside 00:00. Made for regressors other than `InformerRegressor`, which embeds the
    calendar by itself; it takes these columns as known ahead. Rows without dates pass unchanged,
    with a warning.

    Parameters
    ----------
    fields : "auto" or list of str, default="auto"
        Of "minute", "hour", "weekday", "day" (of the month), "week", "month". "auto" takes those
        that the step of the index calls for and that vary in training.

    Attributes
    ----------
    fields_ : tuple of str
        The fields that are appended; empty without dates.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X had names.

    See Also
    --------
    SlidingWindow : Lagged values as columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer import CalendarFeatures
    >>> hours = pd.date_range("2024-01-01", periods=48, freq="h")
    >>> df = pd.DataFrame({"load": range(48)}, index=hours)
    >>> CalendarFeatures(["hour"]).fit_transform(df).iloc[6].round(2).to_list()
    [6.0, 1.0, 0.0]
    """

    _parameter_constraints = CALENDAR_FEATURES_CONSTRAINTS

    def __init__(self, fields: Any = "auto") -> None:
        self.fields = fields

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Choose the fields.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows in time order.
        y : Any, default=None
            Not used.

        Returns
        -------
        self
            Fitted.

        Warns
        -----
        UserWarning
            If the rows have no dates, so that nothing will be appended.
        """
        self._validate_params()
        check_calendar("fields", self.fields, list(FIELDS))
        time = read_rows(self, X, reset=True).time
        if time is None or not is_dated(time):
            warn_user(
                "X has no dates, so no calendar columns are added. Give its index dates, X.index = "
                "pd.date_range(...), and keep it through a Pipeline, "
                "set_output(transform='pandas')."
            )
            self.fields_: tuple[str, ...] = ()
        elif self.fields == "auto":
            self.fields_ = choose_fields(time.unique().sort_values())
        else:
            self.fields_ = tuple(self.fields)
        return self

    def transform(self, X: Any) -> Any:
        """
        Append the calendar columns.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows in any order.

        Returns
        -------
        DataFrame or ndarray of shape (n_samples, n_features + 2 * n_fields)
            X, then sine and cosine of each field, in [-1, 1].

        Raises
        ------
        TypeError
            If the fitted rows had dates and these have none.
        """
        check_fitted(self)
        rows = read_rows(self, X, reset=False)
        values = rows.values
        if not self.fields_:
            return self._wrap(values, X)
        if rows.time is None or not is_dated(rows.time):
            raise TypeError(
                "X has no dates, but the training rows had: the calendar cannot be read off. Keep "
                "the index, for example by set_output(transform='pandas') in a Pipeline."
            )
        sizes = np.array([FIELDS[field].size for field in self.fields_])
        angle = 2 * np.pi * calendar_values(rows.time, self.fields_) / sizes
        circle = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(values), -1)
        return self._wrap(np.hstack([values, circle]), X)

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
            X's columns, then ``calendar__<field>_sin`` and ``calendar__<field>_cos``.
        """
        names = feature_names_in(self, input_features)
        return np.array([*names, *calendar_columns(self.fields_)], dtype=object)
