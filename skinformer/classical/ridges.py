"""Ridges that all series of a panel share, on windows in units of their own differences.

A ridge maps a window's distances from its last value to what an anchor leaves of the future. One
anchor goes on by the window's mean difference, so a trend is never shrunk away; the other repeats
the last season. Windows that nothing explains count little, so one series speaks for itself alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past
from skinformer.classical.windows import futures, pasts, row_products, unit_of
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import Origins

#: Strengths of the ridge, in mean squares of a feature.
RIDGE_STRENGTHS = (0.003, 0.03, 0.3)
_MOST_WINDOWS = 8192  # that a ridge is fitted on, spread over all
_FEWEST_WINDOWS = 16  # below which there is none
_LARGEST = 50.0  # distance, in units; garbage and steps lie beyond
_LEAST_UNIT = 1e-6  # of a window's range, below which it teaches nothing
_ROUNDS = 3  # of weighing windows by what the last round left unexplained
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
    unit: (n,).
    anchors: forecasts, (n, pred_len) each.
    """

    distance: Float64Array
    unit: Float64Array
    anchors: dict[str, Float64Array]

    def over(self, rows: int) -> Float64Array:
        """Return distances over the last rows, (n, rows - 1): the last one's, 0, is left out."""
        return self.distance[:, self.distance.shape[1] - (rows - 1) :]


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
        out = [np.full((len(past), 0, self.pred_len), np.nan)]
        for scale in _SCALES:
            able = past.min(axis=1) > 0 if scale else np.ones(len(past), dtype=bool)
            some = np.flatnonzero(able)
            found = np.full((len(past), self._n_each, self.pred_len), np.nan)
            if len(some) and scale:
                found[some] = self._by_logs(np.log(past[some]), length[some])
            elif len(some):
                found[some] = self._on_scale(scale, past, length)
            out.append(found)
        return np.concatenate(out, axis=1)

    @property
    def _n_each(self) -> int:
        """Ridges of one scale."""
        return (
            len(_ANCHORS)
            * len(look_backs(self.seq_len, self.period))
            * len(RIDGE_STRENGTHS)
        )

    def _by_logs(self, logs: Float64Array, length: IntArray) -> Float64Array:
        middle = logs[:, -1, None, None]
        # Within what has an exponential.
        found = np.clip(self._on_scale("log ", logs, length), middle - 30, middle + 30)
        if not self.of_mean:
            return np.exp(found)
        real = np.arange(logs.shape[1]) >= logs.shape[1] - length[:, None]
        wall = np.broadcast_to(np.arange(logs.shape[1]), logs.shape)
        seasons = (self.period,) if self.period > 1 else ()
        shift = mean_log_shift(Past(np.where(real, logs, np.nan), wall), seasons)
        return np.exp(found + shift[:, None, None])

    def _on_scale(
        self, scale: str, there: Float64Array, length: IntArray
    ) -> Float64Array:
        scaled = scaled_as(self, there, length)
        out = [np.empty((len(there), 0, self.pred_len))]
        for anchor in _ANCHORS:
            for rows in look_backs(self.seq_len, self.period):
                maps = self.maps.get((scale, anchor, rows))
                forecast = np.full(
                    (len(there), len(RIDGE_STRENGTHS), self.pred_len), np.nan
                )
                if maps is not None:
                    long = length >= rows
                    found = scaled.anchors[anchor][:, None] + _moved(scaled, rows, maps)
                    forecast[long] = found[long]
                out.append(forecast)
        return np.concatenate(out, axis=1)


def fit_ridges(
    values: Float64Array, begin: IntArray, end: IntArray, *, of_mean: bool, **sizes: int
) -> SharedRidges:
    """Fit ridges on windows whose futures end before given rows.

    of_mean: whether squared errors are to be least; else nearly absolute ones.
    sizes: ``seq_len``, ``pred_len`` and ``period``.

    Cost: 8192 windows per look-back at most, however many series there are.
    """
    shared, pred_len = (
        SharedRidges(**sizes, maps={}, of_mean=of_mean),
        sizes["pred_len"],
    )
    for rows in look_backs(shared.seq_len, shared.period):
        origin = Origins(begin + rows, end - pred_len).thinned(_MOST_WINDOWS)
        if len(origin) < _FEWEST_WINDOWS:
            break
        series = np.searchsorted(begin, origin, side="right") - 1
        past, length = pasts(values, begin[series], origin, shared.seq_len)
        future = futures(values, origin, origin + pred_len, pred_len)
        for scale in _SCALES:
            least = np.minimum(past.min(axis=1), future.min(axis=1))
            used = least > (0 if scale else -np.inf)
            if used.sum() >= _FEWEST_WINDOWS:
                x, y = (np.log(a[used]) if scale else a[used] for a in (past, future))
                _learn(shared, scale, rows, (x, length[used], y))
    return shared


def scaled_as(shared: SharedRidges, past: Float64Array, length: IntArray) -> Scaled:
    """Bring windows to the unit and the anchors of ridges."""
    unit = unit_of(past, length, shared.period)
    last = past[:, -1:]
    distance = np.clip((past[:, :-1] - last) / unit[:, None], -_LARGEST, _LARGEST)
    drift = (last - past[:, :1]) / np.maximum(length - 1, 1)[:, None]
    anchors = {
        "drift": last + drift * np.arange(1, shared.pred_len + 1),
        "season": _last_season(past, length, shared.period, shared.pred_len),
    }
    return Scaled(distance, unit, anchors)


def _last_season(
    past: Float64Array, length: IntArray, period: int, pred_len: int
) -> Float64Array:
    """Repeat the last season, (n, pred_len); what a window does not hold has its last value."""
    back = period - np.arange(pred_len) % period
    seen = back <= length[:, None]
    return np.where(seen, past[:, -np.minimum(back, past.shape[1])], past[:, -1:])


def _moved(scaled: Scaled, rows: int, maps: Float64Array) -> Float64Array:
    """Return by how much ridges leave their anchor, shape (n, n_strengths, pred_len)."""
    distance = scaled.over(rows)
    flat = row_products(distance, maps.transpose(1, 0, 2).reshape(rows - 1, -1))
    return np.asarray(
        flat.reshape(len(distance), *maps.shape[::2]) * scaled.unit[:, None, None]
    )


def _learn(
    shared: SharedRidges,
    scale: str,
    rows: int,
    seen: tuple[Float64Array, IntArray, Float64Array],
) -> None:
    """Fit the maps of both anchors, of least squared errors or nearly of least absolute ones."""
    past, length, future = seen
    scaled = scaled_as(shared, past, length)
    # In units of (next to) nothing a window that repeats itself would outweigh all others.
    real = scaled.unit >= _LEAST_UNIT * np.ptp(past, axis=1)
    distance = scaled.over(rows) * real[:, None]
    for anchor, forecast in scaled.anchors.items():
        left = (future - forecast) / scaled.unit[:, None] * real[:, None]
        if shared.of_mean:
            even = np.full(len(left), 1 / len(left))
            shared.maps[scale, anchor, rows] = _ridge(
                distance, left, even, *RIDGE_STRENGTHS
            )
            continue
        weight = _robust_weights(left)
        middle = RIDGE_STRENGTHS[len(RIDGE_STRENGTHS) // 2]
        for _ in range(_ROUNDS - 1):
            weight = _robust_weights(
                left - distance @ _ridge(distance, left, weight, middle)[0]
            )
        shared.maps[scale, anchor, rows] = _ridge(
            distance, left, weight, *RIDGE_STRENGTHS
        )


def _robust_weights(left: Float64Array) -> Float64Array:
    """Weigh windows so that squares count as absolute values where they are large."""
    size = np.abs(left).mean(axis=1)
    weight = 1 / np.maximum(size, 0.5 * np.median(size) + 1e-9)
    return np.asarray(weight / weight.sum())


def _ridge(
    features: Float64Array, left: Float64Array, weight: Float64Array, *strengths: float
) -> Float64Array:
    """Return the maps of strengths, (n_strengths, n_features, pred_len)."""
    weighted = (features * weight[:, None]).T
    gram, cross = product(weighted, features), product(weighted, left)
    mean = np.trace(gram) / len(gram) + 1e-12
    unit = mean * np.eye(len(gram))
    return np.stack([solution(gram + strength * unit, cross) for strength in strengths])
