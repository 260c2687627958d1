"""What forecasts were made from, and forecasts of the same windows with other values in places."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.member import NETWORK, RIDGES
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.ridge.linear_path import LinearPath
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows

#: Values that are laid out at a time.
_MOST_VALUES = 1 << 22


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

    def _window_forecaster(self, place: Placement, clock: Clock) -> Forecaster:
        inner = super()._window_forecaster(place, clock)
        length = self.look_back + self.sizes.pred_len

        def forecast(rows: Rows, origins: IntArray) -> Float32Array:
            first, outputs = origins - self.look_back, inner(rows, origins)
            for start, track, each, output in zip(
                first, rows.track[origins], window_rows(first, length), outputs, strict=True
            ):
                begin = int(max(rows.begin[track] - start, 0))
                key = int(track), int(rows.steps[start + self.look_back])
                parts = rows.values[each], rows.steps[each], begin, int(place.series[track])
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
class WindowModel:
    """A fit as a function of one window.

    window: what a forecast was made from.
    clock: what its steps count.
    """

    forecaster: StepForecaster
    window: SeenWindow
    clock: Clock

    def mixed(self, usual: Float32Array, present: BoolArray, player: IntArray) -> Float64Array:
        """Forecast the window with other values in places: (n, pred_len, n_targets), standardised.

        usual: (n_rows, n_columns), the other values.
        present: (n, n_players), whose values are those of the window.
        player: (n_rows, n_columns), who has each place; -1 for places that keep their values.

        Cost: n forecasts of a window.
        """
        shown = np.column_stack([present, np.ones(len(present), dtype=bool)])
        size = max(1, _MOST_VALUES // usual.size)
        parts = [
            self._points(np.where(part[:, player], self.window.values, usual))
            for part in (shown[i : i + size] for i in range(0, len(shown), size))
        ]
        return np.concatenate(parts)

    def responses(self, changes: Float32Array | Float64Array) -> Float64Array:
        """Tell what the ridges, by their weight, make of n changes: (n, pred_len, n_targets).

        Changes, (n, n_rows, n_columns), are standardised, without NaN. Each is looked at alone;
        they add up, as ridges are linear. 0 without ridges. What corrects ridges changes with them.
        """
        sizes, path = self.forecaster.sizes, self._path
        if path is None:
            return np.zeros((len(changes), sizes.pred_len, sizes.n_targets))
        given = torch.from_numpy(np.ascontiguousarray(changes))
        back = self.forecaster.look_back
        with torch.inference_mode():
            given = given.to(self.forecaster.device)
            parts = slice(back - sizes.seq_len, back), slice(back, None)
            found = path.response(
                *(given[:, part] for part in parts), *(self._fields(part) for part in parts)
            )
        weights = self._weights
        share = weights[RIDGES] + weights.get(NETWORK, 0.0)
        return np.asarray(found.cpu().numpy() * share, dtype=np.float64)

    def as_read(self, values: Float64Array) -> Float64Array:
        """Give standardised values as ridges read them: those known ahead within what was seen."""
        if self._path is None:
            return values
        given = torch.from_numpy(values)[None].to(self.forecaster.device)
        return np.asarray(self._path.seen(given)[0].cpu().numpy(), dtype=np.float64)

    @property
    def is_linear(self) -> bool:
        """Whether ridges alone forecast this window, below its limit."""
        if [name for name, weight in self._weights.items() if weight.any()] != [RIDGES]:
            return False
        joint, window = self._joint(1), self._canvas(self.window.values[None])
        free = replace(joint, limits=None, _canvas=[])
        return joint.limits is None or np.array_equal(joint(*window), free(*window))

    def parts(self) -> dict[str, tuple[Float64Array, Float32Array]]:
        """Give each member's weights and standardised points, both (pred_len, n_targets)."""
        found = self._joint(1).parts(*self._canvas(self.window.values[None]))
        return {name: (share[0], points[0]) for name, (share, points) in found.items()}

    @property
    def _path(self) -> LinearPath | None:
        """The ridges' map, if there is one."""
        return getattr(self.forecaster.ensemble.members.get(RIDGES), "path", None)

    @property
    def _weights(self) -> dict[str, Float64Array]:
        joint = self._joint(1)
        return joint.weights(joint.windows(*self._canvas(self.window.values[None])))

    def _joint(self, n: int) -> EnsembleForecaster:
        return self.forecaster.ensemble_forecaster(np.full(n, self.window.series), self.clock)

    def _fields(self, part: slice) -> Tensor | None:
        """Give the calendar fields of some steps, (1, n, n_fields)."""
        fields = self.forecaster.sizes.calendar_fields
        if not fields:
            return None
        values = calendar_values(self.clock.labels(self.window.steps[part]), fields)
        return torch.from_numpy(values.astype(np.int64))[None].to(self.forecaster.device)

    def _canvas(self, values: Float32Array) -> tuple[Rows, IntArray]:
        """Lay windows out one after the other, each as a track; and tell their origins."""
        n = len(values)
        steps = np.broadcast_to(self.window.steps, (n, len(self.window.steps)))
        begin = np.full(n, self.window.begin)
        return as_tracks(values, steps, begin, self.forecaster.look_back)

    def _points(self, values: Float32Array) -> Float64Array:
        outputs = self._joint(len(values))(*self._canvas(values))
        return self.forecaster.head.point(outputs).astype(np.float64)
