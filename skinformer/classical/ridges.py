"""Ridges that all series of a panel share, on windows in units of their own differences.

A ridge maps a window's distances from its last value to what an anchor leaves of the future. One
anchor goes on by the window's mean difference, so a trend is never shrunk away; the other repeats
the last season. Windows that nothing explains count little, so one series speaks for itself alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past
from skinformer.classical.windows import (
    futures,
    pasts,
    real_rows,
    ridge_maps,
    row_products,
    unit_of,
)
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import Origins

#: Strengths of the ridge, in mean squares of a feature.
RIDGE_STRENGTHS = (0.003, 0.03, 0.3)
_FEWEST_WINDOWS = 16  # below which there is none
_ANCHORS = ("drift", "season")
_SCALES = ("", "log ")


def look_backs(seq_len: int, period: int) -> tuple[int, ...]:
    """Choose over how many rows ridges look, ascending; none for windows of fewer than four rows.

    >>> look_backs(96, 12), look_backs(96, 1)
    ((12, 24, 48, 96), (4, 8, 16))
    """
    first = period if period > 1 else 4
    most = 4 if period > 1 else 3
    rows = [first * 2**k for k in range(most)]
    return tuple(n for n in rows if 4 <= n <= seq_len)


def ridge_names(seq_len: int, period: int) -> list[str]:
    """Name the ridges as `SharedRidges.forecast` orders them."""
    return [
        f"{scale}ridge {rows} from {anchor} {strength:g}"
        for scale in _SCALES
        for anchor in _ANCHORS
        for rows in look_backs(seq_len, period)
        for strength in RIDGE_STRENGTHS
    ]


class Scaled(NamedTuple):
    """Windows as ridges see them.

    distance: from the last value, in units, (n, seq_len - 1).
    unit: (n, 1).
    anchors: forecasts, (n, pred_len) each.
    """

    distance: Float64Array
    unit: Float64Array
    anchors: dict[str, Float64Array]

    def over(self, rows: int) -> Float64Array:
        """Return distances over the last rows, (n, rows - 1): the last one's, 0, is left out."""
        n_rows = self.distance.shape[1]
        return self.distance[:, n_rows - (rows - 1) :]

    def forecast(
        self,
        anchor: str,
        rows: int,
        maps: Float64Array,
    ) -> Float64Array:
        """Leave an anchor by maps of all strengths, (n, n_strengths, pred_len)."""
        distance = self.over(rows)
        side_by_side = maps.transpose(1, 0, 2).reshape(rows - 1, -1)
        moved = row_products(distance, side_by_side) * self.unit
        moved = moved.reshape(len(distance), *maps.shape[::2])
        return moved + self.anchors[anchor][:, None]


@dataclass(frozen=True)
class SharedRidges:
    """Fitted ridges.

    seq_len, pred_len, period: rows of a window, of a forecast and of a season.
    maps: of each scale ("" or "log "), anchor and look-back, (n_strengths, rows - 1, pred_len); one
    that had too few windows is left out.
    """

    seq_len: int
    pred_len: int
    period: int
    maps: dict[tuple[str, str, int], Float64Array]
    of_mean: bool = False

    def forecast(self, past: Float64Array, length: IntArray) -> Float64Array:
        """
        Forecast windows by all ridges.

        Parameters
        ----------
        past : ndarray of shape (n, seq_len)
            Rows without NaN.
        length : ndarray of shape (n,)
            How many of the last ones are real.

        Returns
        -------
        ndarray of shape (n, n_ridges, pred_len)
            NaN where a window is too short for a ridge, or has no logarithms.
        """
        found = self._on_scale("", past, length)
        by_logs = np.full_like(found, np.nan)
        positive = past.min(axis=1) > 0
        if positive.any():
            logs = np.log(past[positive])
            by_logs[positive] = self._by_logs(logs, length[positive])
        return np.concatenate([found, by_logs], axis=1)

    def _by_logs(self, logs: Float64Array, length: IntArray) -> Float64Array:
        middle = logs[:, -1, None, None]
        found = self._on_scale("log ", logs, length)
        # Within what has an exponential.
        found = np.clip(found, middle - 30, middle + 30)
        if not self.of_mean:
            return np.exp(found)
        n_rows = logs.shape[1]
        known = np.where(real_rows(length, n_rows), logs, np.nan)
        wall = np.broadcast_to(np.arange(n_rows), logs.shape)
        seasons = (self.period,) if self.period > 1 else ()
        shift = mean_log_shift(Past(known, wall), seasons)
        return np.exp(found + shift[:, None, None])

    def _on_scale(
        self,
        scale: str,
        there: Float64Array,
        length: IntArray,
    ) -> Float64Array:
        scaled = scaled_as(self, there, length)
        shape = len(there), len(RIDGE_STRENGTHS), self.pred_len
        out = [np.empty((len(there), 0, self.pred_len))]
        for anchor in _ANCHORS:
            for rows in look_backs(self.seq_len, self.period):
                maps = self.maps.get((scale, anchor, rows))
                forecast = np.full(shape, np.nan)
                if maps is not None:
                    able = length >= rows
                    forecast[able] = scaled.forecast(anchor, rows, maps)[able]
                out.append(forecast)
        return np.concatenate(out, axis=1)


def fit_ridges(
    values: Float64Array,
    begin: IntArray,
    end: IntArray,
    *,
    of_mean: bool,
    **sizes: int,
) -> SharedRidges:
    """Fit ridges on windows whose futures end before given rows.

    of_mean: whether squared errors are to be least; else nearly absolute ones.
    sizes: ``seq_len``, ``pred_len`` and ``period``.

    Cost: 8192 windows per look-back at most, however many series there are.
    """
    shared = SharedRidges(
        **sizes,
        maps={},
        of_mean=of_mean,
    )
    pred_len = shared.pred_len
    for rows in look_backs(shared.seq_len, shared.period):
        origin = Origins(begin + rows, end - pred_len).thinned(8192)
        if len(origin) < _FEWEST_WINDOWS:
            break
        first_row = begin[np.searchsorted(begin, origin, side="right") - 1]
        past, length = pasts(values, first_row, origin, shared.seq_len)
        future = futures(values, origin, origin + pred_len, pred_len)
        _learn(
            shared,
            "",
            rows,
            past,
            length,
            future,
        )
        used = (past.min(axis=1) > 0) & (future.min(axis=1) > 0)
        if used.sum() >= _FEWEST_WINDOWS:
            log_past = np.log(past[used])
            log_future = np.log(future[used])
            _learn(
                shared,
                "log ",
                rows,
                log_past,
                length[used],
                log_future,
            )
    return shared


def scaled_as(
    shared: SharedRidges,
    past: Float64Array,
    length: IntArray,
) -> Scaled:
    """Bring windows to the unit and the anchors of ridges."""
    unit = unit_of(past, length, shared.period)[:, None]
    last = past[:, -1:]
    distance = (past[:, :-1] - last) / unit
    distance = np.clip(distance, -50.0, 50.0)  # garbage and steps lie beyond
    n_changes = np.maximum(length - 1, 1)[:, None]
    drift = (last - past[:, :1]) / n_changes
    anchors = {
        "drift": last + drift * np.arange(1, shared.pred_len + 1),
        "season": _last_season(past, length, shared.period, shared.pred_len),
    }
    return Scaled(distance, unit, anchors)


def _last_season(
    past: Float64Array,
    length: IntArray,
    period: int,
    pred_len: int,
) -> Float64Array:
    """Repeat the last season, (n, pred_len); what a window does not hold has its last value."""
    back = period - np.arange(pred_len) % period
    seen = back <= length[:, None]
    back = np.minimum(back, past.shape[1])
    return np.where(seen, past[:, -back], past[:, -1:])


def _learn(
    shared: SharedRidges,
    scale: str,
    rows: int,
    past: Float64Array,
    length: IntArray,
    future: Float64Array,
) -> None:
    """Fit the maps of both anchors, of least squared errors or nearly of least absolute ones."""
    scaled = scaled_as(shared, past, length)
    # In units of (next to) nothing a window that repeats itself would outweigh all others.
    is_real = scaled.unit >= 1e-6 * np.ptp(past, axis=1, keepdims=True)
    distance = scaled.over(rows) * is_real
    for anchor, forecast in scaled.anchors.items():
        left = (future - forecast) / scaled.unit * is_real
        weight = np.full(len(left), 1 / len(left))
        if not shared.of_mean:
            weight = _weights_of_least_absolute(distance, left)
        maps = _ridge(distance, left, weight, *RIDGE_STRENGTHS)
        shared.maps[scale, anchor, rows] = maps


def _weights_of_least_absolute(
    distance: Float64Array, left: Float64Array
) -> Float64Array:
    """Weigh windows, in three rounds, by what a ridge of the last round leaves unexplained."""
    middle_strength = RIDGE_STRENGTHS[len(RIDGE_STRENGTHS) // 2]
    weight = _robust_weights(left)
    for _ in range(2):
        [maps] = _ridge(distance, left, weight, middle_strength)
        weight = _robust_weights(left - distance @ maps)
    return weight


def _robust_weights(left: Float64Array) -> Float64Array:
    """Weigh windows so that squares count as absolute values where they are large."""
    size = np.abs(left).mean(axis=1)
    weight = 1 / np.maximum(size, 0.5 * np.median(size) + 1e-9)
    return weight / weight.sum()


def _ridge(
    features: Float64Array,
    left: Float64Array,
    weight: Float64Array,
    *strengths: float,
) -> Float64Array:
    """Return the maps of strengths, (n_strengths, n_features, pred_len)."""
    weighted = (features * weight[:, None]).T
    gram = product(weighted, features)
    cross = product(weighted, left)
    return ridge_maps(gram, cross, strengths)
