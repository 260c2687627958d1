"""Forecasts that need no learning, to measure others by."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas import DataFrame
from sklearn.base import BaseEstimator, RegressorMixin

from skinformer.reading.columns import places_of_names, read_rows
from skinformer.reading.layout import read_layout
from skinformer.reading.pickling import PlainPickles
from skinformer.reading.places import FoundRows, group_rows
from skinformer.reading.targets import find_known, find_targets, read_targets
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_fitted
from skinformer.validation.columns import numeric_column
from skinformer.validation.index import check_same_rows
from skinformer.validation.parameters import SEASONAL_NAIVE_CONSTRAINTS
from skinformer.validation.truth import check_some_truth, warn_of_last_column


@dataclass(eq=False, repr=False)
class SeasonalNaive(PlainPickles, RegressorMixin, BaseEstimator):
    """
    Repeat the last season: each row's forecast is the value `season` rows before it.

    If that value is missing, its own forecast takes its place, so ``season=1`` repeats the last
    known value. If nothing is known one or more seasons before a row, the forecast is the training
    mean. It is a baseline: a model that is not better has learnt nothing.

    Parameters
    ----------
    season : int, default=1
        Number of rows in a season, at least 1, such as 168 for the week of hourly rows.
    target : str, int, list or None, default=None
        The column or columns to forecast; None is the last column, or y if `fit` gets it.

    Attributes
    ----------
    targets_ : list of int
        Positions of the targets in X; empty if `fit` took them from y.
    mean_ : ndarray of shape (n_targets,)
        Training means.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.

    See Also
    --------
    backtest : Measure its errors, and those of a model.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import SeasonalNaive
    >>> days = pd.date_range("2024-01-01", periods=6, freq="D")
    >>> df = pd.DataFrame({"load": [1.0, 2.0, 3.0, np.nan, np.nan, np.nan]}, index=days)
    >>> SeasonalNaive(season=2).fit(df[:3]).predict(df[3:])
    array([2., 3., 2.])
    """

    _parameter_constraints = SEASONAL_NAIVE_CONSTRAINTS

    season: int = 1
    target: Any = None

    def __sklearn_tags__(self) -> Any:
        """Declare that y is optional, NaN a missing value, and good forecasts not the point."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """
        Keep the training rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Consecutive rows in time order; those of several series carry a two-level index
            (series, time).
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The actual values, if they are not a column of X. If `target`, or y's name, is a column
            of X, y is not used.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError, ValueError
            If the target is not found, is not a column of numbers, or has no known value; if X and
            y have different rows; or if the rows cannot be placed in time.
        """
        self._validate_params()
        came = X
        self._layout, X, y = read_layout(X, y, time=None, series=None)
        labels = self._layout.labels_in(came)
        rows = read_rows(self, X, reset=True, hides_names=True)
        truth = None if y is None else read_targets(y)
        self.targets_ = self._find_targets(rows, truth)
        self._one_dimensional = not isinstance(self.target, list)
        self._check_numbers(X, rows)
        values = self._targets_of(rows)
        if truth is not None:
            check_same_rows(X, y)
            self._one_dimensional = truth.one_dimensional
            if not self.targets_:
                values = truth.values
        check_some_truth(values)
        self.mean_ = np.nanmean(values, axis=0)
        grouped = group_rows(rows.time, rows.series, len(values), labels)
        clock, steps = grouped.count_steps(None, may_skip=True)
        self._places = grouped.places(X, clock, steps)
        self._history = _as_rows(grouped.series, steps, values[grouped.order])
        return self

    def _check_numbers(self, X: Any, rows: Any) -> None:
        """Raise if a target is a column of names."""
        for place in self.targets_:
            if place in places_of_names(X):
                numeric_column(X.iloc[:, place], rows.names[place])  # which refuses it

    def _find_targets(self, rows: Any, truth: Any) -> list[int]:
        """Return the positions of the targets; warn if the last column is taken unasked."""
        y_names = None if truth is None else truth.own_names
        target = self._layout.target if self.target is None else self.target
        targets = find_targets(target, rows.names, named=rows.named, y_names=y_names)
        if truth is None and target is None:
            known = find_known(rows.names, (), targets)
            others = [name for name in rows.names if name not in (*targets, *known)]
            warn_of_last_column(targets[0], others)
        return [rows.names.index(name) for name in targets]

    def predict(self, X: Any) -> Float64Array:
        """
        Repeat the last season.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows in any order. A missing target is a step to be forecast; an observed one is
            the value of its own step, not of its own forecast. Rows of an array follow the
            training rows, unless they are the training array itself.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_targets)
            One-dimensional as y was; without y two-dimensional if `target` is a list.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the rows cannot be placed in time.
        """
        check_fitted(self)
        X = self._layout.read_rows(X)
        rows = read_rows(self, X, reset=False, hides_names=True)
        n_rows = len(rows.values)
        places = self._places.find(X, rows.time, rows.series, n_rows)
        known = self._known_rows(rows, places)
        step = places.steps - self.season
        phase = step % self.season
        before = DataFrame({"series": places.series, "step": step, "phase": phase})
        before = before.sort_values("step")
        forecast = np.empty((n_rows, len(self.mean_)))
        for j, mean in enumerate(self.mean_):
            # The last value known whole seasons before each row.
            values = known[["series", "phase", "step", j]].dropna()
            found = pd.merge_asof(before, values, on="step", by=["series", "phase"])
            forecast[before.index, j] = found[j].fillna(mean)
        return forecast[:, 0] if self._one_dimensional else forecast

    def _targets_of(self, rows: Any) -> Float64Array:
        """Return the columns of the targets that rows of X hold."""
        return rows.values[:, self.targets_].astype(np.float64)

    def _known_rows(self, rows: Any, places: FoundRows) -> DataFrame:
        """Join the history, if rows lie on its steps, and what they hold of the targets, by step.

        Beside each stands its step within a season.
        """
        known = self._history.iloc[:0] if places.own else self._history
        if self.targets_:
            own = _as_rows(places.series, places.steps, self._targets_of(rows))
            known = pd.concat([known, own])
            known = known.drop_duplicates(["series", "step"], keep="last")
        phase = known["step"] % self.season
        return known.assign(phase=phase).sort_values("step")


def _as_rows(series: Any, steps: Any, values: Float64Array) -> DataFrame:
    """Put series, step and the targets' values, numbered, side by side."""
    return DataFrame(values).assign(series=series, step=steps)
