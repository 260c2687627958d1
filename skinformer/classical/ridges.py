"""Ridges that all series of a panel share, on windows in units of their own differences.

A ridge maps a window's distances from its last value to what an anchor leaves of the future. One
anchor goes on by the window's mean difference, so a trend is never shrunk away; the other repeats
the last season. Windows that nothing explains count little, so one series speaks for itself alone.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.budget import current_share
from skinformer.classical.candidates import Sizes
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past
from skinformer.classical.windows import bounded, ridge_maps, row_products, unit_of
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import Origins, pasts, real_rows

#: Strengths of the ridge, in mean squares of a feature.
RIDGE_STRENGTHS = (0.003, 0.03, 0.3)
#: Windows that ridges of a look-back learn from, at most.
MOST_WINDOWS = 8192
_FEWEST_WINDOWS = 16  # below which there is none
_ANCHORS = ("drift", "season")
_SCALES = ("", "log ")


def look_backs(seq_len: int, period: int) -> tuple[int, ...]:
    """Choose over how many rows ridges look, ascending; none for windows of fewer than four rows.

    >>> look_backs(96, 12), look_backs(96, 1)
    ((12, 24, 48, 96), (4, 8, 16))
    """
    doublings = [4, 8, 16]
    if period > 1:
        doublings = [period, 2 * period, 4 * period, 8 * period]
    return tuple(rows for rows in doublings if 4 <= rows <= seq_len)


def ridge_names(seq_len: int, period: int) -> list[str]:
    """Name the ridges as `SharedRidges.forecast` orders them."""
    ridges = itertools.product(
        _SCALES, _ANCHORS, look_backs(seq_len, period), RIDGE_STRENGTHS
    )
    return [
        f"{scale}ridge {rows} from {anchor} {strength:g}"
        for scale, anchor, rows, strength in ridges
    ]


class Scaled(NamedTuple):
    """Windows as ridges see them.

    distance: from the last value, which is left out, in units, (n, seq_len - 1).
    unit: (n, 1).
    anchors: forecasts, (n, pred_len) each.
    """

    distance: Float64Array
    unit: Float64Array
    anchors: dict[str, Float64Array]

    def forecast(self, anchor: str, maps: Float64Array) -> Float64Array:
        """Leave an anchor by maps of all strengths, (n, n_strengths, pred_len)."""
        n_strengths, n_distances, pred_len = maps.shape
        distance = self.distance[:, -n_distances:]
        side_by_side = maps.transpose(1, 0, 2).reshape(n_distances, -1)
        moved = row_products(distance, side_by_side) * self.unit
        moved = moved.reshape(-1, n_strengths, pred_len)
        return moved + self.anchors[anchor][:, None]


@dataclass(frozen=True)
class SharedRidges:
    """Fitted ridges.

    sizes: rows of a window, `ridge_rows`, of a forecast and of a season.
    maps: of each scale ("" or "log "), anchor and look-back, (n_strengths, rows - 1, pred_len); one
    that had too few windows is left out.
    """

    sizes: Sizes
    maps: dict[tuple[str, str, int], Float64Array]
    of_mean: bool

    def forecast(self, past: Float64Array, length: IntArray) -> Float64Array:
        """
        Forecast windows by all ridges.

        Parameters
        ----------
        past : ndarray of shape (n, n_rows)
            Rows without NaN, of which the last ``ridge_rows`` are seen.
        length : ndarray of shape (n,)
            How many of the last ones are real.

        Returns
        -------
        ndarray of shape (n, n_ridges, pred_len)
            NaN where a window is too short for a ridge, or has no logarithms. No forecast lies
            farther outside of what a window holds than this is wide.
        """
        n_rows = self.sizes.ridge_rows
        past = past[:, -n_rows:]
        length = np.minimum(length, n_rows)
        found = self._on_scale("", past, length)
        by_logs = np.full_like(found, np.nan)
        positive = past.min(axis=1) > 0
        if positive.any():
            logs = np.log(past[positive])
            by_logs[positive] = self._by_logs(logs, length[positive])
        both = np.concatenate([found, by_logs], axis=1)
        return bounded(both, past)

    def _by_logs(self, logs: Float64Array, length: IntArray) -> Float64Array:
        found = self._on_scale("log ", logs, length)
        # Within what has an exponential.
        last = logs[:, -1, None, None]
        found = np.clip(found, last - 30, last + 30)
        if self.of_mean:
            n_rows = logs.shape[1]
            known = np.where(real_rows(length, n_rows), logs, np.nan)
            wall = np.broadcast_to(np.arange(n_rows), logs.shape)
            shift = mean_log_shift(Past(known, wall), self.sizes.period)
            found += shift[:, None, None]
        return np.exp(found)

    def _on_scale(
        self, scale: str, past: Float64Array, length: IntArray
    ) -> Float64Array:
        scaled = scaled_as(self, past, length)
        sizes = self.sizes
        rows_seen = look_backs(sizes.ridge_rows, sizes.period)
        kinds = [*itertools.product(_ANCHORS, rows_seen)]
        shape = len(past), len(kinds), len(RIDGE_STRENGTHS), sizes.pred_len
        found = np.full(shape, np.nan)
        for i, (anchor, rows) in enumerate(kinds):
            maps = self.maps.get((scale, anchor, rows))
            if maps is not None:
                is_long_enough = length >= rows
                forecast = scaled.forecast(anchor, maps)
                found[is_long_enough, i] = forecast[is_long_enough]
        return found.reshape(len(past), -1, sizes.pred_len)


def fit_ridges(
    values: Float64Array, begin: IntArray, end: IntArray, sizes: Sizes, *, of_mean: bool
) -> SharedRidges:
    """Fit ridges on windows whose futures end before given rows.

    of_mean: whether squared errors are to be least; else nearly absolute ones.

    Cost: `MOST_WINDOWS` windows per look-back at most, however many series there are.
    """
    shared = SharedRidges(sizes, {}, of_mean)
    pred_len = sizes.pred_len
    n_most = current_share().of(MOST_WINDOWS, least=1024)
    for rows in look_backs(sizes.ridge_rows, sizes.period):
        origins = Origins(begin + rows, end - pred_len)
        origin = origins.thinned(n_most)
        series = np.searchsorted(begin, origin, side="right") - 1
        windows, length = pasts(
            values, begin[series], origin + pred_len, sizes.ridge_rows + pred_len
        )
        length -= pred_len
        _learn(shared, "", rows, windows, length)
        positive = windows.min(axis=1) > 0
        _learn(shared, "log ", rows, np.log(windows[positive]), length[positive])
    return shared


def scaled_as(shared: SharedRidges, past: Float64Array, length: IntArray) -> Scaled:
    """Bring windows to the unit and the anchors of ridges."""
    period = shared.sizes.period
    unit = unit_of(past, length, period)[:, None]
    last = past[:, -1:]
    distance = (past[:, :-1] - last) / unit
    # Garbage and steps lie beyond.
    distance = np.clip(distance, -50.0, 50.0)
    steps = np.arange(shared.sizes.pred_len)
    n_changes = np.maximum(length - 1, 1)[:, None]
    drift = (last - past[:, :1]) / n_changes
    # The last season is repeated; what a window does not hold of it has its last value.
    back = period - steps % period
    is_held = back <= length[:, None]
    back = np.minimum(back, past.shape[1])
    anchors = {
        "drift": last + drift * (steps + 1),
        "season": np.where(is_held, past[:, -back], last),
    }
    return Scaled(distance, unit, anchors)


def _learn(
    shared: SharedRidges, scale: str, rows: int, windows: Float64Array, length: IntArray
) -> None:
    """Fit the maps of both anchors, of least squared errors or nearly of least absolute ones.

    windows: (n, seq_len + pred_len); length: how many rows before the forecast are real, (n,).
    """
    if len(windows) < _FEWEST_WINDOWS:
        return
    past, future = np.split(windows, [shared.sizes.ridge_rows], axis=1)
    scaled = scaled_as(shared, past, length)
    # In units of (next to) nothing a window that repeats itself would outweigh all others.
    spread = np.ptp(past, axis=1, keepdims=True)
    is_real = scaled.unit >= 1e-6 * spread
    # The last row's distance is 0.
    distance = scaled.distance[:, 1 - rows :] * is_real
    residuals = {
        anchor: (future - forecast) / scaled.unit * is_real
        for anchor, forecast in scaled.anchors.items()
    }
    if shared.of_mean:
        # Windows count the same, whichever anchor their forecast leaves.
        weight = np.full(len(windows), 1 / len(windows))
        maps = _ridges(distance, [*residuals.values()], weight, RIDGE_STRENGTHS)
    else:
        maps = []
        for residual in residuals.values():
            weight = _weights_of_least_absolute(distance, residual)
            maps += _ridges(distance, [residual], weight, RIDGE_STRENGTHS)
    for anchor, of_anchor in zip(residuals, maps, strict=True):
        shared.maps[scale, anchor, rows] = of_anchor


def _weights_of_least_absolute(
    distance: Float64Array, residual: Float64Array
) -> Float64Array:
    """Weigh windows, in three rounds, by what a ridge of the last round leaves unexplained."""
    middle_strength = RIDGE_STRENGTHS[1:2]
    weight = _robust_weights(residual)
    for _ in range(2):
        [maps] = _ridges(distance, [residual], weight, middle_strength)
        weight = _robust_weights(residual - distance @ maps[0])
    return weight


def _robust_weights(residual: Float64Array) -> Float64Array:
    """Weigh windows so that squares count as absolute values where they are large."""
    size = np.abs(residual).mean(axis=1)
    least = 0.5 * np.median(size) + 1e-9
    weight = 1 / np.maximum(size, least)
    return weight / weight.sum()


def _ridges(
    features: Float64Array,
    residuals: Sequence[Float64Array],
    weight: Float64Array,
    strengths: Iterable[float],
) -> list[Float64Array]:
    """Return for each residual the maps of strengths, (n_strengths, n_features, pred_len)."""
    weighted = (features * weight[:, None]).T
    gram = product(weighted, features)
    crosses = [product(weighted, residual) for residual in residuals]
    maps = ridge_maps(gram, np.concatenate(crosses, axis=1), strengths)
    return np.split(maps, len(crosses), axis=2)
