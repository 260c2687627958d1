"""What forecasts were made from, and what members, and the network alone, make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.member import NETWORK
from skinformer.ensemble.network import Network
from skinformer.ensemble.predicting import PREDICTION_CHUNK
from skinformer.ensemble.windows import Forecaster, Rows, Windows
from skinformer.model.observed import AttentionRecorder, LayerAttention
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows


class SeenWindow(NamedTuple):
    """Rows that a forecast was made from, gaps filled, and those that it is of.

    values: (look_back + pred_len, n_columns), standardised.
    steps: (look_back + pred_len,), on the clock.
    begin: the first row that is known.
    series: whose rows they are; new series have numbers from that of the fitted ones on.
    outputs: (pred_len, n_targets, *head.outputs), what was forecast, standardised.
    """

    values: Float32Array
    steps: IntArray
    begin: int
    series: int
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
                parts = rows.values[each], rows.steps[each], begin, int(series[track])
                self.seen[key] = SeenWindow(*parts, output)
            return outputs

        return forecast


def as_tracks(
    values: Float32Array, steps: IntArray, begin: IntArray, look_back: int
) -> tuple[Rows, IntArray]:
    """Lay windows out one after the other, each as a track, and find the places of their origins.

    values: (n, n_rows, n_columns), standardised.
    steps: (n, n_rows), on the clock.
    begin: (n,), the first known row of each.
    look_back: rows before the origin.
    """
    n, length = steps.shape
    first = np.arange(n) * length
    rows = Rows(
        np.ascontiguousarray(values.reshape(n * length, -1)),
        np.repeat(np.arange(n), length),
        steps.ravel(),
        first + begin,
    )
    return rows, first + look_back


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
        return as_tracks(values, steps, begin, self.forecaster.look_back)

    @cached_property
    def _at(self) -> Windows:
        return self._joint.windows(*self._rows)
