"""Forecasts that are explained: their values, times, and the windows that they were made from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from skinformer.estimators.base import BaseInformer
from skinformer.evaluation.ahead import take_apart
from skinformer.evaluation.seen import SeenWindow, SeenWindows, WindowRecorder
from skinformer.rolling.blocks import RequestedSteps, block_starts
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.validation.arguments import check_fitted
from skinformer.validation.index import time_labels


@dataclass(frozen=True)
class RequestedForecasts:
    """Forecasts, and what they were made from.

    steps: where they lie.
    labels: their ``time``, and ``series`` of a panel.
    points: (n, n_targets), before quantiles are calibrated.
    windows: what they were made from, by track and time.
    window, ahead: (n,), the window of each, and its step there, from 0.
    """

    model: BaseInformer
    steps: RequestedSteps
    labels: dict[str, pd.Index]
    points: Float64Array
    windows: list[SeenWindow]
    window: IntArray
    ahead: IntArray

    @cached_property
    def values(self) -> Float64Array:
        """Forecasts as `predict` gives them, (n, n_targets)."""
        return self.points if self.model.head_.level is None else self.model._points(self.steps)

    @property
    def seen(self) -> SeenWindows:
        """The fit on the windows."""
        return SeenWindows(self.model._forecaster, self.windows, self.steps.clock)

    def in_units(self, points: Float64Array) -> Float64Array:
        """Put standardised points, (n, n_targets), into the targets' units, within their bounds."""
        series = self.steps.series(self.model.timeline_.n_series)
        return self.model.scaler_.with_unseen().inverse(points, series)

    def table(self, **columns: Sequence[Hashable]) -> pd.DataFrame:
        """Lay out a row for each forecast, each target and each of so many items.

        The columns are ``time``, ``series``, ``ahead``, ``target`` and those that say what the
        items are.
        """
        targets = pd.DataFrame({"target": list(self.model.roles_.targets)})
        rows = pd.DataFrame({**self.labels, "ahead": self.ahead + 1})
        return rows.merge(targets, how="cross").merge(pd.DataFrame(columns), how="cross")


def requested_forecasts(estimator: Any, X: Any) -> RequestedForecasts:
    """Make forecasts, in X's order, or of `forecast()` for None, and keep what they are made from.

    estimator: an Informer, or a Pipeline or search that ends in one.
    """
    transformers, model = take_apart(estimator)
    check_fitted(model)
    if X is None:
        steps = model._requested_ahead(None, None)
    else:
        for transformer in transformers:
            X = transformer.transform(X)
        steps = model._requested_rows(X)
    recorder = WindowRecorder.of(model._forecaster)
    points = model.head_.point(recorder.forecast(steps))
    start = block_starts(steps.place, steps.track, steps.steps, recorder.sizes.pred_len)
    keys, window = np.unique(np.stack([steps.track, start]), axis=1, return_inverse=True)
    windows = [recorder.seen[int(track), int(step)] for track, step in keys.T]
    labels, ahead = _labels_of(model, X, steps), steps.steps - start
    return RequestedForecasts(model, steps, labels, points, windows, window.reshape(-1), ahead)


def _labels_of(model: BaseInformer, X: Any, steps: RequestedSteps) -> dict[str, pd.Index]:
    """Give the times of forecasts as X has them, and the series of a panel."""
    index = steps.labels if X is None else getattr(X, "index", None)
    if not isinstance(index, pd.Index):
        return {"time": steps.clock.labels(steps.steps)}
    time, series = time_labels(index)
    if model.series_ is None or series is None:
        return {"time": time}
    return {"time": time, "series": series}
