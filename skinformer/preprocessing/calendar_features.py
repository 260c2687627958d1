"""CalendarFeatures: the time of day, of the week and of the year, and holidays, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skinformer.preprocessing.base import RowTransformer
from skinformer.reading.columns import read_rows
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.calendar import (
    FIELDS,
    calendar_columns,
    calendar_values,
    choose_fields,
    holiday_columns,
)
from skinformer.timeline.clock import is_dated
from skinformer.timeline.holidays import holiday_values
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import feature_names_in
from skinformer.validation.parameters import (
    CALENDAR_FEATURES_CONSTRAINTS,
    check_calendar,
)
from skinformer.validation.warning import warn_user


@dataclass(eq=False, repr=False)
class CalendarFeatures(RowTransformer):
    """
    Append the calendar of dated rows as columns on the unit circle, and public holidays.

    Each field becomes two columns, ``calendar__<field>_sin`` and ``calendar__<field>_cos``, so that
    23:00 lies beside 00:00. `InformerRegressor` computes these fields itself, so before it only
    holidays are useful; it recognises all columns of this transformer as future covariates. Rows
    without dates pass unchanged, with a warning.

    Parameters
    ----------
    fields : "auto" or list of str, default="auto"
        The fields to append, of "minute", "hour", "weekday", "day" (of the month), "week" and
        "month". "auto" chooses those that suit the frequency and vary in training. ``[]`` is none.
    holidays : str, list of str or None, default=None
        Countries by their ISO codes, such as "NZ", or parts of countries, such as "DE-BY". A
        country has the holidays that are common to all of its parts. For each place there are three
        columns: ``calendar__<place>_holiday`` is 1 on public holidays;
        ``calendar__<place>_free_yesterday`` and ``_free_tomorrow`` are 1 if the day before or after
        is a holiday or at a weekend. For weeks and months as periods, the first column is the
        number of holidays in the period, and the others are 1 if the day before its first or after
        its last day is a holiday. Days are those of the time zone of the index. This needs the
        package ``holidays`` (``skinformer[holidays]``), which computes them offline. Years that it
        does not know, such as those before 1990 in Germany, have none.

    Attributes
    ----------
    fields_ : tuple of str
        The fields that are appended; empty without dates.
    holidays_ : tuple of str
        The places whose holidays are appended; empty without dates.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.

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
    >>> days = pd.date_range("2024-12-24", periods=3)
    >>> df = pd.DataFrame({"load": range(3)}, index=days)
    >>> CalendarFeatures([], holidays="NZ").fit_transform(df)["calendar__NZ_holiday"].to_list()
    [0.0, 1.0, 1.0]
    """

    _parameter_constraints = CALENDAR_FEATURES_CONSTRAINTS

    fields: Any = "auto"
    holidays: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Choose the fields, and look the places up.

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

        Raises
        ------
        ImportError
            If holidays are asked for and the package is not installed.
        ValueError
            If it does not know a place, or if rows are further apart than a day and no periods, so
            that nothing says which days they stand for.

        Warns
        -----
        UserWarning
            If the rows have no dates, so that nothing will be appended.
        """
        self._validate_params()
        check_calendar("fields", self.fields)
        self.holidays_ = _read_places(self.holidays)
        time = read_rows(self, X, reset=True, hides_names=True).time
        if not is_dated(time):
            warn_user(
                "X has no dates, so no calendar columns are added. Set an index of "
                "dates, X.index = pd.date_range(...), and keep it in a Pipeline with "
                "set_output(transform='pandas')."
            )
            self.fields_: tuple[str, ...] = ()
            self.holidays_ = ()
            return self
        holiday_values(time, self.holidays_)  # which refuses what it cannot tell
        self.fields_ = tuple(self.fields)
        if self.fields == "auto":
            self.fields_ = choose_fields(time.unique().sort_values())
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
        DataFrame or ndarray of shape (n_samples, n_features + n_appended)
            X, then sine and cosine of each field, in [-1, 1], then the three columns of each place.

        Raises
        ------
        TypeError
            If the fitted rows had dates and these have none.
        ValueError
            If holidays are asked for of rows that are no periods and further apart than a day.
        """
        check_fitted(self)
        rows = read_rows(self, X, reset=False, hides_names=True)
        values = rows.values
        if not self.fields_ and not self.holidays_:
            return self._wrap(values, X)
        if not is_dated(rows.time):
            raise TypeError(
                "X has no dates, but the training rows had them, so the calendar "
                "cannot be computed. Keep the index, for example by "
                "set_output(transform='pandas') in a Pipeline."
            )
        sizes = np.array([FIELDS[field].size for field in self.fields_])
        places = calendar_values(rows.time, self.fields_)
        angle = 2 * np.pi * places / sizes
        circle = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
        circle = circle.reshape(len(values), -1)
        holidays = holiday_values(rows.time, self.holidays_)
        return self._wrap(np.hstack([values, circle, holidays]), X)

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
            X's columns, then ``calendar__<field>_sin`` and ``calendar__<field>_cos``, then
            holidays.
        """
        names = feature_names_in(self, input_features)
        fields = calendar_columns(self.fields_)
        holidays = holiday_columns(self.holidays_)
        return np.array([*names, *fields, *holidays], dtype=object)


def _read_places(holidays: Any) -> tuple[str, ...]:
    """Return the codes of places, each once."""
    if isinstance(holidays, str):
        holidays = [holidays]
    codes = [str(place).upper().replace("_", "-") for place in holidays or []]
    return tuple(dict.fromkeys(codes))
