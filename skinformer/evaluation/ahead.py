"""Forecasts of a fitted estimator from an origin: the last rows of every series at once."""

from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from skinformer.reading.places import RowPlaces
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import join_series
from skinformer.validation.warning import first_names, warn_user

#: A step before all others.
_NEVER = np.iinfo(np.int64).min


class PredictingModel:
    """Any regressor, or a function of the rows before an origin and of those to forecast.

    `predict` gives one forecast a row; ``function(history, future)`` gives an array with a row for
    each of `future`.
    levels: of quantiles; the estimator must have `predict_quantiles` then.
    >>> from sklearn.dummy import DummyRegressor
    >>> shown = pd.DataFrame({"load": [1.0, 3.0, np.nan]})
    >>> rows, ahead = np.arange(3), np.array([False, False, True])
    >>> model = PredictingModel(DummyRegressor().fit(shown[:2], shown["load"][:2]))
    >>> model.forecast(shown, rows, ahead)
    array([[[2.]]])
    >>> model = PredictingModel(lambda history, future: history["load"].mean() + 0 * future.index)
    >>> model.forecast(shown, rows, ahead)
    array([[[2.]]])
    """

    def __init__(self, estimator: Any, levels: Float64Array | None = None) -> None:
        self.estimator = estimator
        self.levels = np.empty(0) if levels is None else levels
        if len(self.levels) and not hasattr(estimator, "predict_quantiles"):
            raise_no_ranges(estimator, "predict_quantiles")

    def sizes(self, first: IntArray, stop: IntArray) -> IntArray:
        """Return how many rows of each series forecasts hold in memory: all from first to stop."""
        return stop - first

    def forecast(self, shown: pd.DataFrame, rows: IntArray, ahead: BoolArray) -> Float64Array:  # noqa: ARG002
        """Forecast the rows ahead: (n_ahead, n_targets, 1 + n_levels).

        shown: rows of X, hidden where nothing is known.
        rows: for models that count steps; not used.

        PERF: on one thread. Each call is small, and threads of a call wait for each other: beside a
        busy process that takes up to a hundred times as long as the work.
        """
        with threads_for(0):
            return self._forecast(shown, ahead)

    def _forecast(self, shown: pd.DataFrame, ahead: BoolArray) -> Float64Array:
        if not hasattr(self.estimator, "predict"):
            history = shown[~ahead]
            future = shown[ahead]
            called = np.asarray(self.estimator(history, future), dtype=np.float64)
            return called.reshape(len(future), -1, 1)
        forecast = np.asarray(self.estimator.predict(shown), dtype=np.float64)
        points = forecast.reshape(len(shown), -1, 1)
        n_levels = len(self.levels)
        if not n_levels:
            return points[ahead]
        forecast = np.asarray(self.estimator.predict_quantiles(shown, list(self.levels)))
        quantiles = forecast.reshape(len(shown), -1, n_levels)
        return np.concatenate([points[ahead], quantiles[ahead]], axis=2)


class ForecastingModel:
    """An InformerRegressor, whose `forecast` gives the steps after the rows that it is shown.

    transformers: fitted steps of Pipelines before it.
    time, labels: X's labels of time and of series (None for one), sorted by series and time.
    levels: of quantiles.
    """

    def __init__(
        self,
        transformers: list[Any],
        model: Any,
        time: pd.Index,
        labels: pd.Index | None,
        levels: Float64Array,
    ) -> None:
        self.transformers = transformers
        self.model = model
        self.levels = levels
        history = model.timeline_
        places = RowPlaces(history.clock, model.series_, int(history.end_step[0]), b"")
        found = places.find(None, time, labels, len(time))
        self._series = found.series
        self._steps = found.steps
        # The step after the history of each row's series; the least of numbers for none.
        is_stored = (found.series < history.n_series) & (not found.own)
        known_series = np.minimum(found.series, history.n_series - 1)
        self._end = np.where(is_stored, history.end_step[known_series], _NEVER)
        if not found.own:  # as the model writes them: X's may be of another time zone
            time = history.clock.labels(found.steps)
        self._index = join_series(labels, np.arange(len(time)), time)

    def check_origins(self, rows: IntArray) -> None:
        """Raise if the model has seen a row to be forecast, from the first origins of series on."""
        is_seen = self._steps[rows] < self._end[rows]
        if is_seen.any():
            seen = self._index.get_level_values(-1)[rows[is_seen]]
            raise ValueError(
                f"The first origin, {seen[0]}, lies in the training rows. Pass rows after them, or "
                "a later start."
            )

    def after_history(self, rows: IntArray, observed: BoolArray) -> BoolArray:
        """Return which origins have a history, and warn of series that have none at first.

        observed: where rows of X have a truth.
        """
        n_observed = pd.Series(observed).groupby(self._series).cumsum().to_numpy()
        has_observed = n_observed > observed  # before the row
        is_fitted = self._series < self.model.timeline_.n_series
        has_history = np.asarray(has_observed | is_fitted)[rows]
        if not has_history.all():
            series = self._index.get_level_values(0)[rows[~has_history]]
            names = first_names(series.unique())
            text = f"series {names} are new to the fit: no forecast before an observed row"
            if not has_history.any():
                raise ValueError(f"{text}, and none has one. Pass more rows, or a smaller step.")
            warn_user(f"{text}. For earlier ones add their history to X, and pass start.")
        return has_history

    def sizes(self, first: IntArray, stop: IntArray) -> IntArray:
        """Return how many rows of each series are held: a context, and steps from first to last."""
        first_step = self._steps[first]
        last_step = self._steps[stop - 1]
        n_steps = last_step - first_step + 1
        return np.asarray(n_steps + self.model.sizes_.seq_len)

    def forecast(self, shown: pd.DataFrame, rows: IntArray, ahead: BoolArray) -> Float64Array:
        """Forecast the rows ahead, series that need equally many steps in one call.

        shown, rows: rows of X, hidden where nothing is known, and their numbers.
        ahead: which to forecast: the last ones of each series.

        The forecasts and quantiles have shape (n_ahead, n_targets, 1 + n_levels).
        """
        for transformer in self.transformers:
            shown = transformer.transform(shown)
        group = np.zeros(len(rows), dtype=np.int64)
        if self.model.series_ is not None:
            group = self._groups_by_steps(shown, rows)
        levels = list(self.levels)
        shape = (len(self.model.roles_.targets), 1 + len(levels))
        out = np.empty((len(rows), *shape))
        for number in np.unique(group):
            in_group = group == number
            requested = in_group & ahead
            forecast = self.model.forecast(shown[in_group], levels=levels or None)
            labels = self._index[rows[requested]]
            values = forecast.loc[labels].to_numpy()
            out[requested] = values.reshape(-1, *shape)
        return out[ahead]

    def _groups_by_steps(self, shown: pd.DataFrame, rows: IntArray) -> IntArray:
        """
        Separate the rows of series whose forecasts take different numbers of steps.

        `forecast` gives all series of a call as many steps as the one that needs most, and needs
        what is known ahead at each of them.
        """
        steps = self._steps[rows]
        series = self._series[rows]
        is_first = np.append(True, series[1:] != series[:-1])
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(rows)) - 1
        # 1. Where forecasts of each series begin: after its history and the last observed row.
        targets = shown[list(self.model.roles_.targets)]
        is_observed = targets.notna().all(axis=1).to_numpy()
        after_observed = np.maximum.reduceat(np.where(is_observed, steps + 1, _NEVER), first)
        begin = np.maximum(self._end[rows[first]], after_observed)
        begin = np.where(begin == _NEVER, steps[first], begin)
        # 2. How many steps that takes.
        n_steps = steps[last] - begin
        # Without an observed row it may also begin at the first one, if that lies far ahead.
        n_shown = np.where(after_observed == _NEVER, steps[last] - steps[first], 0)
        counts = np.column_stack([n_steps, n_shown])
        _, group = np.unique(counts, axis=0, return_inverse=True)
        return np.asarray(np.repeat(group, last - first + 1))


def raise_no_ranges(estimator: Any, method: str) -> NoReturn:
    """Raise where an estimator forecasts points alone."""
    raise TypeError(
        f"{type(estimator).__name__} has no {method}: it forecasts points alone. Pass an "
        "InformerRegressor, a Pipeline that ends in one, or a search over either."
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
    inner, last = split_last_step(estimator.steps[-1][1])
    return before + inner, last
