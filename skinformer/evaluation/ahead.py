"""Forecasts of a fitted estimator from an origin: the last rows of every series at once."""

from typing import Any, NoReturn

import numpy as np
import pandas as pd
from pandas import DataFrame, Index
from sklearn.pipeline import Pipeline

from skinformer.estimators.reading import fitted_rows
from skinformer.reading.layout import Layout
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import join_series
from skinformer.validation.warning import first_names, warn_user


def predict_ahead(
    estimator: Any,
    shown: DataFrame,
    rows: IntArray,  # noqa: ARG001 – for models that count steps
    ahead: BoolArray,
    *,
    layout: Layout,
) -> Float64Array:
    """Forecast the rows ahead by `predict`, or by a function: (n_ahead, n_targets, 1).

    A function gets the rows before an origin and those to forecast, and gives an array with a row
    for each of the latter.

    layout: how the rows came, as the estimator knows them.

    PERF: on one thread. Each call is small, and threads of a call wait for each other: beside a
    busy process that takes up to a hundred times as long as the work.

    >>> shown = pd.DataFrame({"load": [1.0, 3.0, np.nan]})
    >>> ahead = shown["load"].isna().to_numpy()
    >>> mean = lambda past, future: past.mean()
    >>> predict_ahead(mean, shown, np.arange(3), ahead, layout=Layout())
    array([[[2.]]])
    """
    with threads_for(0):
        if hasattr(estimator, "predict"):
            forecast = np.asarray(estimator.predict(layout.write_rows(shown)))[ahead]
        else:
            past, future = shown[~ahead], shown[ahead]
            forecast = estimator(layout.write_rows(past), layout.write_rows(future))
    values = np.asarray(forecast, dtype=np.float64)
    return values.reshape(np.count_nonzero(ahead), -1, 1)


class ForecastingModel:
    """An InformerRegressor, whose `forecast` gives the steps after the rows that it is shown.

    transformers: fitted steps of Pipelines before it.
    time, labels: X's labels of time and of series (None for one), sorted by series and time.
    levels: of quantiles.
    layout: how X came, as transformers know it.
    """

    def __init__(
        self,
        transformers: list[Any],
        model: Any,
        time: Index,
        labels: Index | None,
        levels: Float64Array,
        layout: Layout,
    ) -> None:
        self.transformers = transformers
        self.layout = layout
        self.model = model
        self.levels = levels
        history = model.timeline_
        found = fitted_rows(model).places.find(None, time, labels, len(time))
        self._series = found.series
        self._is_fitted = found.series < history.n_series
        fitted_series = np.where(self._is_fitted, found.series, 0)
        is_before_end = found.steps < history.end_step[fitted_series]
        # Steps between those of the training rows are counted from X's own first row.
        self._is_past = self._is_fitted & is_before_end & (not found.own)
        # Labels as the model writes them: X's may be of another time zone.
        labels_of_steps = found.clock.labels(found.steps)
        self._index = join_series(labels, np.arange(len(time)), labels_of_steps)

    def has_history(self, rows: IntArray, observed: BoolArray) -> BoolArray:
        """Return which origins have a history, and warn of series that have none at first.

        It is a ValueError if the model has seen one of them, or if none has a history.

        observed: where rows of X have a truth.
        """
        seen = self._index[rows[self._is_past[rows]]]
        if len(seen):
            raise ValueError(
                f"The first origin, {seen.get_level_values(-1)[0]}, lies in the training rows. "
                "Pass rows after them, or a later start."
            )
        n_observed = pd.Series(observed).groupby(self._series).cumsum().to_numpy()
        is_observed_before = n_observed > observed
        has_history: BoolArray = (is_observed_before | self._is_fitted)[rows]
        if has_history.all():
            return has_history
        series = self._index.get_level_values(0)[rows[~has_history]]
        names = first_names(series.unique())
        text = f"series {names} are new to the fit: no forecast before an observed row"
        if not has_history.any():
            raise ValueError(
                f"{text}, and none has one. Pass more rows, or a smaller step."
            )
        warn_user(f"{text}. For earlier ones add their history to X, and pass start.")
        return has_history

    def forecast(
        self, shown: DataFrame, rows: IntArray, ahead: BoolArray
    ) -> Float64Array:
        """Forecast the rows ahead, with quantiles: (n_ahead, n_targets, 1 + n_levels).

        shown, rows: rows of X, hidden where nothing is known, and their numbers.
        ahead: which to forecast: the last ones of each series.
        """
        if self.transformers:
            shown = self.layout.write_rows(shown)
        for transformer in self.transformers:
            shown = transformer.transform(shown)
        forecast = self.model._forecast_frame(shown, horizon=None, wanted=self.levels)
        labels = self._index[rows[ahead]]
        values = forecast.loc[labels].to_numpy()
        return values.reshape(len(labels), -1, 1 + len(self.levels))


def raise_no_ranges(estimator: Any, method: str) -> NoReturn:
    """Raise where an estimator forecasts points alone."""
    raise TypeError(
        f"{type(estimator).__name__} has no {method}: it makes point forecasts only. "
        "Pass an InformerRegressor, a Pipeline that ends in one, or a search over "
        "either."
    )


def rows_for_last(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return rows as the last step of an estimator sees them, and that step."""
    transformers, last = split_last_step(estimator)
    for transformer in transformers:
        X = transformer.transform(X)
    return X, last


def split_last_step(estimator: Any) -> tuple[list[Any], Any]:
    """Separate a regressor from the steps before it; of a search those of its best estimator.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> split_last_step(make_pipeline(StandardScaler(), "passthrough"))
    ([Pipeline(steps=[('standardscaler', StandardScaler())])], 'passthrough')
    """
    if hasattr(estimator, "best_estimator_"):
        return split_last_step(estimator.best_estimator_)
    if not isinstance(estimator, Pipeline):
        return [], estimator
    before = [estimator[:-1]] if len(estimator) > 1 else []
    inner, last = split_last_step(estimator[-1])
    return before + inner, last
