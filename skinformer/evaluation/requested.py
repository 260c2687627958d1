"""Forecasts that are explained: their values, times, and the windows that they were made from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer.estimators.base import BaseInformer
from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.ahead import take_apart
from skinformer.evaluation.seen import SeenWindow, WindowModel, WindowRecorder
from skinformer.rolling.blocks import RequestedSteps, block_starts
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.validation.arguments import check_fitted
from skinformer.validation.index import time_labels


@dataclass(frozen=True)
class RequestedForecasts:
    """Forecasts, and what they were made from.

    steps: where they lie.
    labels: their ``time``, and ``series`` of a panel.
    values, points: (n, n_targets), as `predict` gives them, and before quantiles are calibrated.
    windows: what they were made from.
    window, ahead: (n,), the window of each, and its step there, from 0.
    """

    model: InformerRegressor
    steps: RequestedSteps
    labels: dict[str, pd.Index]
    values: Float64Array
    points: Float64Array
    windows: list[SeenWindow]
    window: IntArray
    ahead: IntArray

    def models(self) -> list[WindowModel]:
        """Give the fit as a function of each window."""
        forecaster = self.model._forecaster
        return [WindowModel(forecaster, window, self.steps.clock) for window in self.windows]

    def in_units(self, points: Float64Array) -> Float64Array:
        """Put standardised points, (n, n_targets), into the targets' units, within their bounds."""
        series = np.minimum(
            self.steps.place.series[self.steps.track], self.model.timeline_.n_series
        )
        return self.model.scaler_.with_unseen().inverse(points, series)

    def table(self, **columns: Sequence[Hashable]) -> pd.DataFrame:
        """Lay out a row for each forecast, each target and each of so many items.

        The columns are ``time``, ``series``, ``ahead``, ``target`` and those that say what the
        items are.
        """
        n_items = len(next(iter(columns.values())))
        k = self.values.shape[1]
        rows = np.repeat(np.arange(len(self.ahead)), k * n_items)
        targets = np.empty(k, dtype=object)
        targets[:] = list(self.model.roles_.targets)
        named: dict[str, Any] = {name: index[rows] for name, index in self.labels.items()}
        named["ahead"] = self.ahead[rows] + 1
        named["target"] = np.tile(np.repeat(targets, n_items), len(self.ahead))
        for name, items in columns.items():
            each = np.empty(n_items, dtype=object)
            each[:] = list(items)
            named[name] = np.tile(each, len(self.ahead) * k)
        return pd.DataFrame(named)


def requested_forecasts(estimator: Any, X: Any) -> RequestedForecasts:
    """Make forecasts, in X's order, or of `forecast()` for None, and keep what they are made from.

    The estimator may be a Pipeline or a search; it is a TypeError if it forecasts no numbers, or by
    other means.
    """
    transformers, model = take_apart(estimator)
    if not isinstance(model, InformerRegressor):
        raise TypeError(
            f"{type(model).__name__} cannot be explained: contributions are read off the windows "
            "of an InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a "
            "Pipeline or search that ends in one; scikit-learn's permutation_importance takes any "
            "estimator."
        )
    X, steps = requested_steps(transformers, model, X)
    recorder = WindowRecorder.of(model._forecaster)
    head = model.head_
    if head.level is None:
        values = points = head.point(recorder.forecast(steps))
    else:
        points = head.point(recorder.rolled(steps)[0])
        values = model._points(steps)
    windows, window, ahead = seen_windows(recorder, steps)
    labels = labels_of(model, X, steps)
    return RequestedForecasts(model, steps, labels, values, points, windows, window, ahead)


def requested_steps(
    transformers: list[Any], model: BaseInformer, X: Any
) -> tuple[Any, RequestedSteps]:
    """Place rows as `predict` would, or, for None, the steps after the history.

    X comes back as the model sees it, behind the fitted steps before it.
    """
    check_fitted(model)
    if X is None:
        return None, model._requested_ahead(None, None)
    for transformer in transformers:
        X = transformer.transform(X)
    return X, model._requested_rows(X)


def seen_windows(
    recorder: WindowRecorder, steps: RequestedSteps
) -> tuple[list[SeenWindow], IntArray, IntArray]:
    """Find what a recorder's forecasts were made from.

    Windows come by track and time, then the window of each forecast, and its step there, from 0.
    """
    start = block_starts(steps.place, steps.track, steps.steps, recorder.sizes.pred_len)
    keys, window = np.unique(np.stack([steps.track, start]), axis=1, return_inverse=True)
    windows = [recorder.seen[int(track), int(step)] for track, step in keys.T]
    return windows, window.reshape(-1), steps.steps - start


def labels_of(model: BaseInformer, X: Any, steps: RequestedSteps) -> dict[str, pd.Index]:
    """Give the times of forecasts as X has them, and the series of a panel."""
    index = steps.labels if X is None else getattr(X, "index", None)
    if not isinstance(index, pd.Index):
        return {"time": steps.clock.labels(steps.steps)}
    time, series = time_labels(index)
    if model.series_ is None or series is None:
        return {"time": time}
    return {"time": time, "series": series}
