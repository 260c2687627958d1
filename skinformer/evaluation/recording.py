"""Forecasts that are explained: where they lie, and what is recorded while they are made."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from pandas import DataFrame

from skinformer.bounds.closed import Closed
from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.estimators.base import BaseInformer
from skinformer.evaluation.ahead import rows_for_last, split_last_step
from skinformer.rolling.blocks import RecursiveForecaster, RequestedSteps, block_starts
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.own_size import Resized
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.timeline import Timeline
from skinformer.validation.arguments import check_fitted
from skinformer.validation.index import time_labels


@dataclass(frozen=True)
class WatchedForecaster(StepForecaster):
    """A forecaster whose windows are watched, and may lie on other rows than the history's.

    context: what windows are made of instead of the history; what was learnt of that stays.
    watch: called with the ensemble, the rows and the origins of windows that were forecast.
    resize: called then with the size that these had, where they are of new series.
    """

    context: Timeline | None = None
    watch: Callable[..., None] | None = None
    resize: Callable[[Resized], None] | None = None

    def _recursive_forecaster(
        self, forecast: Forecaster, closed: Closed | None
    ) -> RecursiveForecaster:
        recursive = super()._recursive_forecaster(forecast, closed)
        return replace(recursive, history=self.context or self.history)

    def restored(self, outputs: Float32Array, size: Resized) -> Float32Array:
        """Put outputs of windows in another size back, and tell their size."""
        if self.resize is not None:
            self.resize(size)
        return super().restored(outputs, size)

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        ensemble = super()._window_forecaster(requested)
        watch = self.watch
        if watch is None:
            return ensemble

        def forecast(rows: Rows, origins: IntArray) -> Float32Array:
            outputs = ensemble(rows, origins)
            watch(ensemble, rows, origins)
            return outputs

        return forecast


@dataclass(frozen=True)
class RequestedForecasts:
    """Forecasts that are requested.

    steps: where they lie.
    origins: the step from which each is forecast.
    labels: their ``time``, and ``series`` of a panel.
    """

    model: BaseInformer
    steps: RequestedSteps
    origins: IntArray
    labels: DataFrame

    @property
    def ahead(self) -> IntArray:
        """Steps of each from its origin, from 0."""
        return self.steps.steps - self.origins

    def record(
        self,
        observe: Callable[..., Any],
        restore: Callable[[Any, Resized], Any] | None = None,
    ) -> tuple[list[Any], IntArray]:
        """Forecast, and return what is observed of each window, and the window of each forecast.

        observe: returns an item for each window, of the ensemble, its rows and the windows'
        origins.
        restore: puts the item of a window of a new series, which is forecast in another size, back
        from this; None where items have no size.
        """
        keys = pd.Index(zip(self.steps.segment, self.origins, strict=True))
        windows = keys.unique().sort_values()
        found: list[Any] = [None] * len(windows)
        latest: list[int] = []

        def watch(ensemble: EnsembleForecaster, rows: Rows, origins: IntArray) -> None:
            places = [rows.segment[origins], rows.steps[origins]]
            place = windows.get_indexer(pd.Index(zip(*places, strict=True)))
            latest[:] = place
            is_requested = place >= 0
            if is_requested.any():
                observed = observe(ensemble, rows, origins[is_requested])
                for i, item in zip(place[is_requested], observed, strict=True):
                    found[i] = item

        def resize(size: Resized) -> None:
            for i, window in enumerate(latest):
                if restore is not None and window >= 0:
                    found[window] = restore(found[window], size.take([i]))

        parts = vars(self.model._forecaster)
        watched = WatchedForecaster(**parts, watch=watch, resize=resize)
        watched.forecast(self.steps)
        return found, windows.get_indexer(keys)

    def table(self, **columns: Sequence[Hashable]) -> DataFrame:
        """Lay out a row for each forecast, each target and each of so many items.

        The columns are ``time``, ``series``, ``ahead``, ``target`` and those that name the items.
        """
        rows = self.labels.assign(ahead=self.ahead + 1)
        targets = DataFrame({"target": list(self.model.roles_.targets)})
        items = DataFrame(columns)
        return rows.merge(targets, how="cross").merge(items, how="cross")


def requested_forecasts(estimator: Any, X: Any) -> RequestedForecasts:
    """Find the steps of forecasts, in X's order, or of `forecast()` for None.

    estimator: an Informer, or a Pipeline or search that ends in one.
    """
    model = split_last_step(estimator)[1]
    check_fitted(model)
    if X is None:
        steps = model._requested_ahead(None, None)
        index = steps.labels
    else:
        X, _ = rows_for_last(estimator, X)
        X = model.layout_.read_rows(X)
        steps = model._requested_rows(X)
        index = getattr(X, "index", None)
    if not isinstance(index, pd.Index):
        index = steps.clock.labels(steps.steps)
    time, series = time_labels(index)
    labels = DataFrame({"time": time})
    if series is not None:
        labels["series"] = series
    pred_len = model.sizes_.pred_len
    origins = block_starts(steps.place, steps.segment, steps.steps, pred_len)
    return RequestedForecasts(model, steps, origins, labels)
