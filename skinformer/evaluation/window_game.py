"""What a window's blocks give to its forecast: exactly what is linear, the rest by coalitions."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.member import NETWORK, RIDGES
from skinformer.ensemble.windows import Rows
from skinformer.evaluation import shapley
from skinformer.evaluation.seen import SeenWindow, as_tracks
from skinformer.ridge.linear_path import LinearPath
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock

#: Values that are laid out at a time.
_MOST_VALUES = 1 << 22
#: Values of a sum that are computed where no formula gives its Shapley values: arithmetic alone.
_SUMS = 4096
#: Logarithms beyond which `TargetScale` cuts exponentials.
_FARTHEST = 700.0


@dataclass(frozen=True)
class WindowGame:
    """The forecast of a window as a game: players bring its values, others' are the usual ones.

    window: what the forecast was made from.
    clock: what its steps count.
    usual: (n_rows, n_columns), what stands in for the window's values.
    player: (n_rows, n_columns), from `lay_out`.
    """

    forecaster: StepForecaster
    window: SeenWindow
    clock: Clock
    usual: Float32Array
    player: IntArray
    n_players: int

    def shapley(self, n_evaluations: int, seed: int) -> Float64Array:
        """Give Shapley values in the targets' units: (n_players, pred_len, n_targets).

        n_evaluations: forecasts of the window, at most: if they are enough for all coalitions, or
        if the forecast is linear, values are exact.
        seed: of the orders that are drawn else.

        Their sum is the forecast less that of the usual values.
        """
        active = self._active
        out = np.zeros((self.n_players, *self._shape))
        if not len(active):
            return out
        linear = self._responses(self._changes(active))
        start = self._points(np.zeros((1, len(active)), dtype=bool), active)[0]
        if self._is_linear:
            out[active] = self._of_sum(start, linear, seed)
        elif 1 << len(active) <= n_evaluations:
            everyone = shapley.all_coalitions(len(active))
            out[active] = shapley.of_all(self.units(self._points(everyone, active)))
        else:
            n_pairs = max(1, n_evaluations // (2 * max(len(active) - 1, 1)))
            orders = shapley.draw_orders(len(active), n_pairs, seed)
            members = shapley.along_orders(orders)
            found = self.units(self._points(members, active))
            # Only what ridges do not say is left to chance.
            rest = found - self.units(start + _sums(members, linear))
            out[active] = self._of_sum(start, linear, seed) + shapley.of_orders(rest, orders)
        return out

    def occlusion(self) -> Float64Array:
        """Tell how the forecast changes where each block alone is as usual, in the targets' units.

        The shape is (n_players + 1, pred_len, n_targets): the forecast less that without the
        block's own values; and, last, what is lacking to the forecast less that of usual values.
        """
        active = self._active
        n = len(active)
        members = np.ones((n + 2, n), dtype=bool)
        members[:n][np.diag_indices(n)] = False
        members[-1] = False
        values = self.units(self._points(members, active))
        out = np.zeros((self.n_players + 1, *self._shape))
        out[active] = values[n] - values[:n]
        out[-1] = values[n] - values[-1] - out.sum(axis=0)
        return out

    def units(self, points: Float64Array) -> Float64Array:
        """Put standardised points, or means, into the targets' units and within their bounds."""
        scaler = self.forecaster.scaler.with_unseen()
        flat = points.reshape(-1, points.shape[-1])
        return scaler.inverse(flat, np.full(len(flat), self._series)).reshape(points.shape)

    @property
    def _series(self) -> int:
        return min(self.window.series, self.forecaster.history.n_series)

    @property
    def _shape(self) -> tuple[int, int]:
        sizes = self.forecaster.sizes
        return sizes.pred_len, sizes.n_targets

    @property
    def _active(self) -> IntArray:
        """List the players whose values are not the usual ones: others give nothing."""
        own = np.where(np.isnan(self.window.values), np.inf, self.window.values)
        there = (own != self.usual) & (self.player >= 0)
        there[: self.window.begin] = False
        return np.unique(self.player[there])

    def _points(self, members: BoolArray, active: IntArray) -> Float64Array:
        """Forecast coalitions of the active players: (n, pred_len, n_targets), standardised."""
        present = np.zeros((len(members), self.n_players + 1), dtype=bool)
        present[:, active] = members
        present[:, -1] = True  # what no player has, whose number is -1, stays
        usual, size = self._stand_in, max(1, _MOST_VALUES // self.usual.size)
        parts = []
        for start in range(0, len(present), size):
            own = present[start : start + size, self.player]
            canvas = self._canvas(np.where(own, self.window.values, usual))
            outputs = self._joint(len(own))(*canvas)
            parts.append(self.forecaster.head.point(outputs).astype(np.float64))
        return np.concatenate(parts)

    @property
    def _stand_in(self) -> Float32Array:
        """Give the usual values; what was never known stays as the forecasters fill it."""
        usual = self.usual.copy()
        usual[: self.window.begin] = self.window.values[: self.window.begin]
        return usual

    def _changes(self, active: IntArray) -> Float64Array:
        """Give what each active player alone changes of the window, (n, n_rows, n_columns)."""
        given = np.nan_to_num(self.window.values).astype(np.float64)
        read, usual = map(self._as_read, (given, self._stand_in.astype(np.float64)))
        change = read - usual
        mine: Float64Array = np.where(self.player == active[:, None, None], change, 0.0)
        mine[:, : self.window.begin] = 0.0
        return mine

    def _of_sum(self, start: Float64Array, changes: Float64Array, seed: int) -> Float64Array:
        """Give the Shapley values, in units, of a sum to which each player adds its part."""
        scaler, k, series = self.forecaster.scaler.with_unseen(), start.shape[-1], self._series
        targets = scaler.targets
        out = changes * scaler.scale[series, :k]
        if targets is None:
            return out
        lowest = self.units(start + np.minimum(changes, 0).sum(axis=0))
        bent = (lowest <= targets.floor[series, :k]) | targets.shaped[series, :k]
        if not targets.transformers and targets.logs[series, :k].any():
            logs = targets.logs[series, :k]
            begin = start * scaler.scale[series, :k] + scaler.mean[series, :k]
            begin += targets.smear[series, :k]
            reach = np.abs(begin) + np.abs(out).sum(axis=0)
            smooth = logs & (reach < _FARTHEST)
            out[:, smooth] = shapley.of_exponential(begin[smooth], out[:, smooth])
            bent &= ~smooth
        if bent.any():
            out[:, bent] = self._of_bent_sum(start, changes, seed)[:, bent]
        return out

    def _of_bent_sum(self, start: Float64Array, changes: Float64Array, seed: int) -> Float64Array:
        """Give Shapley values of any function of a sum: exact for up to 12 players."""
        n = len(changes)
        if 1 << n <= _SUMS:
            sums = _sums(shapley.all_coalitions(n), changes)
            return shapley.of_all(self.units(start + sums))
        orders = shapley.draw_orders(n, max(1, _SUMS // (2 * n)), seed)
        sums = _sums(shapley.along_orders(orders), changes)
        return shapley.of_orders(self.units(start + sums), orders)

    def _responses(self, changes: Float64Array) -> Float64Array:
        """Tell what the ridges, by their weight, make of n changes: (n, pred_len, n_targets).

        Changes, (n, n_rows, n_columns), are standardised, without NaN. Each is looked at alone;
        they add up, as ridges are linear. 0 without ridges. What corrects ridges changes with them.
        """
        sizes, path, device = self.forecaster.sizes, self._path, self.forecaster.device
        if path is None:
            return np.zeros((len(changes), *self._shape))
        back = self.forecaster.look_back
        halves = slice(back - sizes.seq_len, back), slice(back, None)
        fields: list[Tensor | None] = [None, None]
        if sizes.calendar_fields:
            labels = self.clock.labels(self.window.steps)
            values = calendar_values(labels, sizes.calendar_fields).astype(np.int64)
            fields = [torch.from_numpy(values[half])[None].to(device) for half in halves]
        given = torch.from_numpy(changes).to(device)
        with torch.inference_mode():
            found = path.response(*(given[:, half] for half in halves), *fields)
        share = self._weights[RIDGES] + self._weights.get(NETWORK, 0.0)
        return np.asarray(found.cpu().numpy() * share, dtype=np.float64)

    def _as_read(self, values: Float64Array) -> Float64Array:
        """Give standardised values as ridges read them: those known ahead within what was seen."""
        if self._path is None:
            return values
        given = torch.from_numpy(values)[None].to(self.forecaster.device)
        return np.asarray(self._path.seen(given)[0].cpu().numpy(), dtype=np.float64)

    @property
    def _is_linear(self) -> bool:
        """Whether ridges alone forecast this window, below its limit."""
        if [name for name, weight in self._weights.items() if weight.any()] != [RIDGES]:
            return False
        joint, window = self._joint(1), self._canvas(self.window.values[None])
        free = replace(joint, limits=None, _canvas=[])
        return joint.limits is None or np.array_equal(joint(*window), free(*window))

    @property
    def _path(self) -> LinearPath | None:
        """The ridges' map, if there is one."""
        return getattr(self.forecaster.ensemble.members.get(RIDGES), "path", None)

    @cached_property
    def _weights(self) -> dict[str, Float64Array]:
        joint = self._joint(1)
        return joint.weights(joint.windows(*self._canvas(self.window.values[None])))

    def _joint(self, n: int) -> EnsembleForecaster:
        return self.forecaster.ensemble_forecaster(np.full(n, self.window.series), self.clock)

    def _canvas(self, values: Float32Array) -> tuple[Rows, IntArray]:
        """Lay windows out one after the other, each as a track; and tell their origins."""
        n = len(values)
        steps = np.broadcast_to(self.window.steps, (n, len(self.window.steps)))
        begin = np.full(n, self.window.begin)
        return as_tracks(values, steps, begin, self.forecaster.look_back)


def _sums(members: BoolArray, changes: Float64Array) -> Float64Array:
    return np.tensordot(members.astype(np.float64), changes, axes=1)
