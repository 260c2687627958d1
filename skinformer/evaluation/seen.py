"""Forecasts that are explained, the windows they were made from, and what members make of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.member import NETWORK
from skinformer.ensemble.network import Network
from skinformer.ensemble.predicting import PREDICTION_CHUNK
from skinformer.ensemble.windows import Forecaster, Rows, Windows
from skinformer.estimators.base import BaseInformer
from skinformer.evaluation.ahead import rows_for_last, take_apart
from skinformer.model.observed import AttentionRecorder, LayerAttention
from skinformer.rolling.blocks import RequestedSteps, block_starts
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows
from skinformer.validation.arguments import check_fitted
from skinformer.validation.index import time_labels


class SeenWindow(NamedTuple):
    """Rows that a forecast was made from, gaps filled, and those that it is of.

    values: (look_back + pred_len, n_columns), standardised.
    steps: (look_back + pred_len,), on the clock.
    begin: the first row that is known.
    series: whose rows they are; new series have numbers from that of the fitted ones on.
    known: (look_back + pred_len, n_targets), which targets were observed; None for all.
    outputs: (pred_len, n_targets, *head.outputs), what was forecast, standardised.
    """

    values: Float32Array
    steps: IntArray
    begin: int
    series: int
    known: BoolArray | None
    outputs: Float32Array


@dataclass(frozen=True)
class WindowRecorder(StepForecaster):
    """A forecaster that keeps what it makes its forecasts from.

    seen: windows by track and step of the origin; filled as forecasts are made.
    """

    seen: dict[tuple[int, int], SeenWindow] = field(default_factory=dict)

    @classmethod
    def of(cls, forecaster: StepForecaster) -> WindowRecorder:
        """Record what a forecaster sees."""
        return cls(**{f.name: getattr(forecaster, f.name) for f in fields(StepForecaster)})

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        inner, series = super()._window_forecaster(requested), requested.place.series
        length = self.look_back + self.sizes.pred_len

        def forecast(rows: Rows, origins: IntArray) -> Float32Array:
            first, outputs = origins - self.look_back, inner(rows, origins)
            for start, track, each, output in zip(
                first, rows.track[origins], window_rows(first, length), outputs, strict=True
            ):
                begin = int(max(rows.begin[track] - start, 0))
                key = int(track), int(rows.steps[start + self.look_back])
                known = None if rows.known is None else rows.known[each]
                parts = rows.values[each], rows.steps[each], begin, int(series[track]), known
                self.seen[key] = SeenWindow(*parts, output)
            return outputs

        return forecast


def as_tracks(
    values: Float32Array,
    steps: IntArray,
    begin: IntArray,
    look_back: int,
    known: BoolArray | None = None,
) -> tuple[Rows, IntArray]:
    """Lay windows out one after the other, each as a track, and find the places of their origins.

    values: (n, n_rows, n_columns), standardised.
    steps: (n, n_rows), on the clock.
    begin: (n,), the first known row of each.
    look_back: rows before the origin.
    known: (n, n_rows, n_targets), which targets were observed; None for all.
    """
    n, length = steps.shape
    first = np.arange(n) * length
    flat = np.ascontiguousarray(values.reshape(n * length, -1))
    track = np.repeat(np.arange(n), length)
    observed = None if known is None else known.reshape(n * length, -1)
    return Rows(flat, track, steps.ravel(), first + begin, observed), first + look_back


@dataclass(frozen=True)
class SeenWindows:
    """A fit on the windows that forecasts were made from: its members, and the network alone.

    windows: what forecasts were made from, at least one.
    clock: what their steps count.
    """

    forecaster: StepForecaster
    windows: Sequence[SeenWindow]
    clock: Clock

    def parts(self) -> dict[str, tuple[Float64Array, Float32Array]]:
        """Give weights and standardised points of members that count in any of the windows.

        Both have shape (n, pred_len, n_targets).
        """
        return self._joint.parts(*self._rows)

    @property
    def _member(self) -> Network:
        return cast(Network, self.forecaster.ensemble.members[NETWORK])

    @property
    def shares(self) -> Float64Array:
        """What the network's word counts in the points, (n, pred_len, n_targets), in [0, 1]."""
        sizes, weights = self.forecaster.sizes, self._joint.weights(self._at)[NETWORK]
        return np.broadcast_to(weights, (len(weights), sizes.pred_len, sizes.n_targets))

    def attention(self) -> list[list[LayerAttention]]:
        """Write out the attention of each layer, for each window, without the axis of windows."""
        every, out = np.arange(len(self.windows)), []
        for start in range(0, len(every), PREDICTION_CHUNK):
            some = every[start : start + PREDICTION_CHUNK]
            recorder = AttentionRecorder(self._member.network, n_kept=len(some))
            self._ask(recorder, some)
            kept = recorder.kept()
            out += [[layer.of_window(i) for layer in kept] for i in range(len(some))]
        return out

    def _ask(self, network: Any, some: IntArray) -> Float32Array:
        """Forecast windows by a network, which is shown what the fit's own corrects."""
        base = None if self._base is None else self._base[some]
        forecast = replace(self._member, network=network).forecast(self._at.take(some), base)
        return self.forecaster.head.point(forecast)

    @cached_property
    def _base(self) -> Float32Array | None:
        corrected = self.forecaster.ensemble.members.get(self._member.base or "")
        return None if corrected is None else corrected.forecast(self._at)

    @cached_property
    def _joint(self) -> EnsembleForecaster:
        series = np.array([window.series for window in self.windows])
        return self.forecaster.ensemble_forecaster(series, self.clock)

    @cached_property
    def _rows(self) -> tuple[Rows, IntArray]:
        values = np.stack([window.values for window in self.windows])
        steps = np.stack([window.steps for window in self.windows])
        begin = np.array([window.begin for window in self.windows])
        given = [window.known for window in self.windows if window.known is not None]
        known = np.stack(given) if given else None
        return as_tracks(values, steps, begin, self.forecaster.look_back, known)

    @cached_property
    def _at(self) -> Windows:
        return self._joint.windows(*self._rows)


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
    model = take_apart(estimator)[1]
    check_fitted(model)
    X = None if X is None else rows_for_last(estimator, X)[0]
    steps = model._requested_ahead(None, None) if X is None else model._requested_rows(X)
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
