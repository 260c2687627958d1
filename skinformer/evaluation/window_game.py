"""What a window's blocks give to its forecast: exactly what is linear, the rest by coalitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skinformer.evaluation.seen import WindowModel
from skinformer.evaluation.shapley import (
    all_coalitions,
    along_orders,
    draw_orders,
    of_all,
    of_exponential,
    of_orders,
)
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Values of a sum that are computed where no formula gives its Shapley values: arithmetic alone.
_SUMS = 4096
#: Logarithms beyond which `TargetScale` cuts exponentials.
_FARTHEST = 700.0


@dataclass(frozen=True)
class WindowGame:
    """The forecast of a window as a game: players bring its values, others' are the usual ones.

    model: the fit, and the window.
    usual: (n_rows, n_columns), what stands in for the window's values.
    player: (n_rows, n_columns), from `lay_out`.
    """

    model: WindowModel
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
        linear = self.model.responses(self._changes(active))
        start = self._points(np.zeros((1, len(active)), dtype=bool), active)[0]
        if self.model.is_linear:
            out[active] = self._of_sum(start, linear, seed)
        elif 1 << len(active) <= n_evaluations:
            everyone = all_coalitions(len(active))
            out[active] = of_all(self.units(self._points(everyone, active)))
        else:
            n_pairs = max(1, n_evaluations // (2 * max(len(active) - 1, 1)))
            orders = draw_orders(len(active), n_pairs, seed)
            members = along_orders(orders)
            found = self.units(self._points(members, active))
            # Only what ridges do not say is left to chance.
            rest = found - self.units(start + _sums(members, linear))
            out[active] = self._of_sum(start, linear, seed) + of_orders(rest, orders)
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
        scaler = self.model.forecaster.scaler.with_unseen()
        flat = points.reshape(-1, points.shape[-1])
        return scaler.inverse(flat, np.full(len(flat), self._series)).reshape(points.shape)

    @property
    def _series(self) -> int:
        return min(self.model.window.series, self.model.forecaster.history.n_series)

    @property
    def _shape(self) -> tuple[int, int]:
        sizes = self.model.forecaster.sizes
        return sizes.pred_len, sizes.n_targets

    @property
    def _active(self) -> IntArray:
        """List the players whose values are not the usual ones: others give nothing."""
        own = np.where(np.isnan(self.model.window.values), np.inf, self.model.window.values)
        there = (own != self.usual) & (self.player >= 0)
        there[: self.model.window.begin] = False
        return np.unique(self.player[there])

    def _points(self, members: BoolArray, active: IntArray) -> Float64Array:
        """Forecast coalitions of the active players."""
        present = np.zeros((len(members), self.n_players), dtype=bool)
        present[:, active] = members
        return self.model.mixed(self._stand_in, present, self.player)

    @property
    def _stand_in(self) -> Float32Array:
        """Give the usual values; what was never known stays as the forecasters fill it."""
        usual = self.usual.copy()
        usual[: self.model.window.begin] = self.model.window.values[: self.model.window.begin]
        return usual

    def _changes(self, active: IntArray) -> Float64Array:
        """Give what each active player alone changes of the window, (n, n_rows, n_columns)."""
        given = np.nan_to_num(self.model.window.values).astype(np.float64)
        read, usual = map(self.model.as_read, (given, self._stand_in.astype(np.float64)))
        change = read - usual
        mine: Float64Array = np.where(self.player == active[:, None, None], change, 0.0)
        mine[:, : self.model.window.begin] = 0.0
        return mine

    def _of_sum(self, start: Float64Array, changes: Float64Array, seed: int) -> Float64Array:
        """Give the Shapley values, in units, of a sum to which each player adds its part."""
        targets = self.model.forecaster.scaler.with_unseen().targets
        k, series = start.shape[-1], self._series
        scaler = self.model.forecaster.scaler.with_unseen()
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
            out[:, smooth] = of_exponential(begin[smooth], out[:, smooth])
            bent &= ~smooth
        if bent.any():
            out[:, bent] = _of_bent_sum(start, changes, self.units, seed)[:, bent]
        return out


def _sums(members: BoolArray, changes: Float64Array) -> Float64Array:
    return np.tensordot(members.astype(np.float64), changes, axes=1)


def _of_bent_sum(
    start: Float64Array,
    changes: Float64Array,
    units: Callable[[Float64Array], Float64Array],
    seed: int,
) -> Float64Array:
    """Give Shapley values of any function of a sum: exact for up to 12 players."""
    n = len(changes)
    if 1 << n <= _SUMS:
        return of_all(units(start + _sums(all_coalitions(n), changes)))
    orders = draw_orders(n, max(1, _SUMS // (2 * n)), seed)
    return of_orders(units(start + _sums(along_orders(orders), changes)), orders)
