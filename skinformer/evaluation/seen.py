"""What forecasts were made from, and forecasts of the same windows with other values in places."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.classical import SimplePath
from skinformer.ensemble.joint import JointForecaster
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.model.corrected import Corrected
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows

__all__ = ["SeenWindow", "WindowModel", "WindowRecorder", "as_tracks"]

#: Values that are laid out at a time.
_MOST_VALUES = 1 << 22


class SeenWindow(NamedTuple):
    """Rows that a forecast was made from, holes filled, and those that it is of.

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
class _Distinct:
    """Classical forecasters that are asked once for windows that are alike to them."""

    simple: SimplePath

    def forecast(
        self, values: Float32Array, begin: IntArray, series: IntArray, origins: IntArray
    ) -> Float32Array:
        """Forecast windows; see `SimplePath.forecast`."""
        simple = self.simple
        back, ahead = simple.fit.seq_len, simple.fit.pred_len
        read = values[origins[:, None] + np.arange(-back, ahead)].astype(np.float64)
        past = read[:, :back, : simple.n_targets]
        known = np.nan_to_num(read[..., read.shape[2] - len(simple.effect) :]) @ simple.effect
        key = np.concatenate([past.reshape(len(origins), -1), known.reshape(len(origins), -1)], 1)
        same = [row.tobytes() for row in key]
        first = {row: i for i, row in reversed(list(enumerate(same)))}
        some = np.array(sorted(first.values()))
        place = {same[i]: number for number, i in enumerate(some)}
        found = simple.forecast(values, begin[some], series[some], origins[some])
        return found[[place[row] for row in same]]


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
        """Tell what the ridges, by their share, make of n changes: (n, pred_len, n_targets).

        Changes, (n, n_rows, n_columns), are standardised, without NaN. Each is looked at alone;
        they add up, as ridges are linear. 0 without ridges.
        """
        sizes, module = self.forecaster.sizes, self.forecaster.module
        if not isinstance(module, Corrected):
            return np.zeros((len(changes), sizes.pred_len, sizes.n_targets))
        given = torch.from_numpy(np.ascontiguousarray(changes))
        back = self.forecaster.look_back
        with torch.inference_mode():
            given = given.to(self.forecaster.device)
            parts = slice(back - sizes.seq_len, back), slice(back, None)
            found = module.path.response(
                *(given[:, part] for part in parts), *(self._fields(part) for part in parts)
            )
        ridges = self._joint.shares_of(*self._canvas(self.window.values[None])).ridges
        return np.asarray(found.cpu().numpy() * ridges, dtype=np.float64)

    def as_read(self, values: Float64Array) -> Float64Array:
        """Give standardised values as ridges read them: those known ahead within what was seen."""
        module = self.forecaster.module
        if not isinstance(module, Corrected):
            return values
        given = torch.from_numpy(values)[None].to(self.forecaster.device)
        return np.asarray(module.path.seen(given)[0].cpu().numpy(), dtype=np.float64)

    def _fields(self, part: slice) -> Tensor | None:
        """Give the calendar fields of some steps, (1, n, n_fields)."""
        fields = self.forecaster.sizes.calendar_fields
        if not fields:
            return None
        values = calendar_values(self.clock.labels(self.window.steps[part]), fields)
        return torch.from_numpy(values.astype(np.int64))[None].to(self.forecaster.device)

    @property
    def is_linear(self) -> bool:
        """Whether ridges alone forecast this window, below its limit."""
        if not isinstance(self.forecaster.module, Corrected):
            return False
        joint, window = self._joint, self._canvas(self.window.values[None])
        shares = joint.shares_of(*window)
        if shares.classical.any() or shares.tabular.any() or shares.trust.any():
            return False
        return joint.limits is None or np.array_equal(
            joint(*window), replace(joint, limits=None)(*window)
        )

    def parts(self) -> dict[str, tuple[Float64Array, Float32Array]]:
        """Give each forecaster's shares and standardised points, both (pred_len, n_targets)."""
        found = self._joint.parts(*self._canvas(self.window.values[None]))
        return {name: (share[0], points[0]) for name, (share, points) in found.items()}

    @property
    def _joint(self) -> JointForecaster:
        found = self._forecaster_of(1)
        if not isinstance(found, JointForecaster):
            raise AssertionError  # classes are refused
        return found

    def _forecaster_of(self, n: int) -> Forecaster:
        series, nothing = np.full(n, self.window.series), np.zeros(n, dtype=np.int64)
        place = Placement(series, nothing, nothing, np.zeros(n, dtype=bool))
        found = self.forecaster._window_forecaster(place, self.clock)
        if isinstance(found, JointForecaster) and found.judged.simple is not None:
            simple: Any = _Distinct(found.judged.simple)
            found = replace(found, judged=replace(found.judged, simple=simple))
        return found

    def _canvas(self, values: Float32Array) -> tuple[Rows, IntArray]:
        """Lay windows out one after the other, each as a track; and tell their origins."""
        n = len(values)
        steps = np.broadcast_to(self.window.steps, (n, len(self.window.steps)))
        begin = np.full(n, self.window.begin)
        return as_tracks(values, steps, begin, self.forecaster.look_back)

    def _points(self, values: Float32Array) -> Float64Array:
        outputs = self._forecaster_of(len(values))(*self._canvas(values))
        return self.forecaster.head.point(outputs).astype(np.float64)
