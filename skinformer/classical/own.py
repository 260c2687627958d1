"""Ridges of each series of a panel: what all series share, and a small map of its own.

A window less its mean is mapped to what follows by ``W + B A_i``: W is the ridge of all series'
windows, each in units of its series; B are the directions in which these vary most, and A_i is the
ridge of what W leaves of the windows of series i. How strong it is, how many rows it looks back,
and whether it sees logarithms, mean absolute errors tell: on four blocks of windows, each forecast
by what was fitted to windows that share no truth with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skinformer.algebra import eigenvectors, product, solution
from skinformer.classical.means import series_log_shift
from skinformer.classical.windows import UnitWindows, bounded, padded, row_products
from skinformer.selection import softmax
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Directions of own maps, fewest and most: eight nearly suffice where series are alike, and where
#: they are not, 32 (docs/laboratory/panels.md). All own maps have so many numbers at most.
_DIRECTIONS, _NUMBERS = (8, 32), 24_000_000
#: Windows of each series, spread over it, that are read: fewest, most, and those of all series; and
#: those of all by which the shared map is found.
_WINDOWS, _ALL_WINDOWS, _SHARED_WINDOWS = (128, 256), 250_000, 20_000
_BLOCKS = 4
#: Strengths of the shared map, in mean squares of a row, and of own ones, in those of a direction;
#: behind these comes none of its own.
_SHARED_STRENGTHS = 10.0 ** np.arange(-4, 2)
_STRENGTHS = 10.0 ** np.arange(-2, 4)
#: How far a series' own log errors are believed beside the panel's mean, and the difference that
#: makes a factor e in the weight.
_OWN, _TEMPERATURE = 0.7, 0.05
_CHUNK = 4_000_000  # values of windows at a time
_FARTHEST = 10.0  # units from a window's mean
_ROUNDING = 1e-12  # of a size: what deviates less is constant
_LARGEST = 2.0  # difference of logs of errors that counts


@dataclass(frozen=True)
class OwnRidge:
    """Maps of one look-back, of values or of logarithms.

    shared: (rows, pred_len).
    directions: (rows, n_directions).
    own: (n_series + 1, n_directions, pred_len); a new series, the last, has none.
    weight: (n_series + 1,), how much it counts in forecasts of each series.
    log_shift: (n_series + 1,), what makes means of forecasts of logarithms; 0 where medians are
    forecast.
    """

    logs: bool
    shared: Float64Array
    directions: Float64Array
    own: Float32Array = field(repr=False)
    weight: Float32Array = field(repr=False)
    log_shift: Float64Array

    def forecast(self, past: Float64Array, series: IntArray) -> Float64Array:
        """Forecast windows, (n, seq_len), that are long enough: (n, pred_len)."""
        seen = past[:, -len(self.shared) :]
        seen = np.log(seen) if self.logs else seen
        middle = seen.mean(axis=1, keepdims=True)
        seen = seen - middle
        found: Float64Array = middle + row_products(seen, self.shared)
        found += np.einsum(
            "nd,ndh->nh", row_products(seen, self.directions), self.own[series]
        )
        if not self.logs:
            return found
        shifted = (
            np.clip(found, middle - 30, middle + 30) + self.log_shift[series, None]
        )
        return np.exp(shifted)


@dataclass(frozen=True)
class OwnFit:
    """Ridges of each series of a panel; the first sees values, over the fewest rows.

    seq_len: the longest look-back.
    """

    seq_len: int
    pred_len: int
    ridges: list[OwnRidge] = field(repr=False)

    def forecast(self, windows: UnitWindows) -> Float64Array:
        """Forecast windows, (n, pred_len)."""
        length, series = windows.length, windows.series
        past = padded(windows.past, length)
        positive = past.min(axis=1) > 0
        weights = np.zeros((len(self.ridges), len(past)))
        for ridge, weight in zip(self.ridges, weights, strict=True):
            able = (length >= len(ridge.shared)) & (positive | (not ridge.logs))
            weight[able] = ridge.weight[series[able]]
        if not self.ridges:
            return past[:, -1:].repeat(self.pred_len, axis=1)
        weights[0, weights.sum(axis=0) == 0] = (
            1.0  # before the first row is what stands there
        )
        weights /= weights.sum(axis=0)
        out = np.zeros((len(past), self.pred_len))
        for ridge, weight in zip(self.ridges, weights, strict=True):
            some = np.flatnonzero(weight)
            out[some] += weight[some, None] * ridge.forecast(past[some], series[some])
        return bounded(out[:, None], past)[:, 0]


def fit_own(
    values: Float64Array,
    first_row: IntArray,
    *,
    look_backs: tuple[int, ...],
    pred_len: int,
    of_mean: bool,
) -> OwnFit:
    """Fit ridges to each series of a panel.

    values: rows of all series, series after series, without NaN.
    first_row: (n_series + 1,); series i holds rows ``first_row[i]`` … ``first_row[i + 1] - 1``.
    look_backs: ascending; a series has those of which it holds half as many windows as rows.
    of_mean: whether forecasts are to be means; else those of logarithms are medians.

    Cost: of each look-back on each scale 128 to 256 windows of a series, times as many products as
    the shared map has numbers.
    """
    n_series = len(first_row) - 1
    n_numbers = 2 * len(look_backs) * n_series * pred_len
    n_directions = int(np.clip(_NUMBERS // n_numbers, *_DIRECTIONS))
    n_taken = int(np.clip(_ALL_WINDOWS // n_series, *_WINDOWS)) // _BLOCKS * _BLOCKS
    positive = np.minimum.reduceat(values, first_row[:-1]) > 0
    parts = []
    for logs in (False, True):
        there = np.log(np.maximum(values, 1e-300)) if logs else values
        for rows in look_backs:
            n_windows = np.diff(first_row) - rows - pred_len + 1
            some = (n_windows >= max(rows // 2, _BLOCKS)) & (positive | (not logs))
            if some.any():
                sizes = rows, pred_len, n_directions, n_taken, logs
                parts.append(_Part(there, first_row, np.flatnonzero(some), *sizes))
    errors = [(part.series, part.errors()) for part in parts]
    weights = _weights(errors, n_series) if errors else np.empty(0)
    each = zip(parts, weights, strict=True)
    ridges = [part.fitted(weight, of_mean=of_mean) for part, weight in each]
    return OwnFit(max(look_backs), pred_len, ridges)


class _Windows(NamedTuple):
    """Windows less their mean, in units, as many of each series.

    past, future: (n_series, n, rows or pred_len).
    middle: the mean, (n_series, n, 1).
    kept: (n_blocks + 1, n_series, n), whether they share no truth with a block; the last keeps all.
    """

    past: Float64Array
    future: Float64Array
    middle: Float64Array
    kept: BoolArray


class _Shared(NamedTuple):
    """What all series share: directions, and maps of all but each block's windows, and of all."""

    directions: Float64Array
    maps: Float64Array


@dataclass(eq=False, repr=False)
class _Part:
    """Ridges of one look-back on one scale, while they are fitted.

    first_row: of each series, and the end; series: those that have windows enough.
    begin, n_windows: of each of them.
    rows, pred_len, n_directions, n_taken: numbers of rows seen and forecast, of directions, and of
    windows of a series.
    """

    values: Float64Array
    first_row: IntArray
    series: IntArray
    rows: int
    pred_len: int
    n_directions: int
    n_taken: int
    logs: bool

    def __post_init__(self) -> None:
        self.begin, end = self.first_row[self.series], self.first_row[self.series + 1]
        self.n_windows = end - self.begin - self.rows - self.pred_len + 1
        self.unit = np.array([_deviation(values) for values in self._each_series()])
        self.shared = self._share()

    def _windows(self, some: slice, step: int = 1) -> _Windows:
        """Cut every so many windows of some series."""
        numbers, n_windows = (
            np.arange(0, self.n_taken, step),
            self.n_windows[some, None],
        )
        place = numbers * n_windows // self.n_taken
        borders = np.arange(_BLOCKS + 1)[:, None, None] * n_windows // _BLOCKS
        after = borders[1:] + self.pred_len - 1
        kept = (place <= borders[:-1] - self.pred_len) | (place >= after)
        length = self.rows + self.pred_len
        at = self.begin[some, None, None] + place[:, :, None] + np.arange(length)
        both = self.values[at] / self.unit[some, None, None]
        middle = both[:, :, : self.rows].mean(axis=2, keepdims=True)
        both -= middle
        everything = np.ones((1, *place.shape), dtype=bool)
        kept = np.concatenate([kept, everything])
        return _Windows(both[:, :, : self.rows], both[:, :, self.rows :], middle, kept)

    def _share(self) -> _Shared:
        """Find the strength by which what is fitted without a block forecasts it best."""
        n = len(self.series)
        step = min(max(1, n * self.n_taken // _SHARED_WINDOWS), self.n_taken // _BLOCKS)
        some = slice(None, None, -(-n * self.n_taken // step // _SHARED_WINDOWS))
        windows = self._windows(some, step)
        past, future = (np.concatenate(list(part)) for part in windows[:2])
        taken = np.arange(0, self.n_taken, step)
        block = np.tile(taken * _BLOCKS // self.n_taken, len(windows.past))
        tried, errors = [], np.zeros(len(_SHARED_STRENGTHS))
        gram = np.eye(self.rows)
        for b, kept in enumerate(windows.kept.reshape(_BLOCKS + 1, -1)):
            seen = past[kept]
            gram, cross = product(seen.T, seen), product(seen.T, future[kept])
            mean = (np.trace(gram) / len(gram) or 1.0) * np.eye(len(gram))
            tried.append([solution(gram + s * mean, cross) for s in _SHARED_STRENGTHS])
            for i, maps in enumerate(tried[-1]):
                left = future[block == b] - product(past[block == b], maps)
                errors[i] += (left**2).sum()
        best = int(errors.argmin())
        directions = eigenvectors(gram)[1][:, ::-1][:, : self.n_directions]
        return _Shared(
            np.ascontiguousarray(directions), np.stack([maps[best] for maps in tried])
        )

    def _chunks(self) -> Iterator[tuple[slice, _Windows, Float64Array]]:
        """Return windows of some series after the other, and what is read of them."""
        size = max(1, _CHUNK // (self.n_taken * (self.rows + self.pred_len)))
        for start in range(0, len(self.series), size):
            some = slice(start, start + size)
            windows = self._windows(some)
            yield some, windows, product(windows.past, self.shared.directions)

    def _own(self, windows: _Windows, read: Float64Array, b: int) -> Float64Array:
        """Fit own maps without a block: (n_series, n_strengths, n_directions, pred_len).

        The last strength is endless.
        """
        kept = (read * windows.kept[b, :, :, None]).swapaxes(1, 2)
        gram = product(kept, read)
        left = product(kept, windows.future)
        left -= product(product(kept, windows.past), self.shared.maps[b])
        values, vectors = eigenvectors(gram)
        values = np.maximum(values, 0.0)[:, :, None]
        turned = product(np.ascontiguousarray(vectors.swapaxes(1, 2)), left)
        mean = values.mean(axis=1, keepdims=True) + 1e-12
        maps = [product(vectors, turned / (values + s * mean)) for s in _STRENGTHS]
        return np.stack([*maps, 0 * maps[0]], axis=1)

    def errors(self) -> Float64Array:
        """Return the mean absolute error of each strength in units of values, (n_series, n)."""
        out = np.zeros((len(self.series), len(_STRENGTHS) + 1))
        for some, windows, read in self._chunks():
            unit = self.unit[some, None, None]
            for b in range(_BLOCKS):
                inside = slice(
                    b * self.n_taken // _BLOCKS, (b + 1) * self.n_taken // _BLOCKS
                )
                middle, own = windows.middle[:, inside], self._own(windows, read, b)
                base = product(windows.past[:, inside], self.shared.maps[b])
                truth = self._back(middle + windows.future[:, inside], unit)
                for i in range(out.shape[1]):
                    found = base + product(
                        read[:, inside], np.ascontiguousarray(own[:, i])
                    )
                    found = middle + np.clip(found, -_FARTHEST, _FARTHEST)
                    apart = np.abs(self._back(found, unit) - truth)
                    out[some, i] += apart.mean(axis=(1, 2)) / _BLOCKS
        return out

    def _back(self, values: Float64Array, unit: Float64Array) -> Float64Array:
        return np.exp(values * unit) if self.logs else values * unit

    def fitted(self, weights: Float64Array, *, of_mean: bool) -> OwnRidge:
        """Mix own maps of all strengths by weights, (n_series of the panel + 1, n_strengths)."""
        total = weights.sum(axis=1)
        shape = len(weights), self.shared.directions.shape[1], self.pred_len
        own = np.zeros(shape, dtype=np.float32)
        for some, windows, read in self._chunks():
            series = self.series[some]
            share = weights[series] / np.maximum(total[series, None], 1e-300)
            own[series] = np.einsum(
                "nk,nkdh->ndh", share, self._own(windows, read, _BLOCKS)
            )
        shared, directions = self.shared.maps[-1], self.shared.directions
        log_shift = np.zeros(len(weights))
        if of_mean and self.logs:
            log_shift[self.series] = [
                series_log_shift(logs) for logs in self._each_series()
            ]
            log_shift[-1] = np.median(log_shift[self.series])
        total = total.astype(np.float32)
        return OwnRidge(self.logs, shared, directions, own, total, log_shift)

    def _each_series(self) -> Iterator[Float64Array]:
        ends = self.first_row[self.series + 1]
        return (
            self.values[first:stop]
            for first, stop in zip(self.begin, ends, strict=True)
        )


def _deviation(values: Float64Array) -> float:
    """Return the standard deviation, whatever the size; that of a constant is its size, or 1."""
    size = float(np.abs(values).max()) or 1.0
    deviation = float((values / size).std())
    return size * (deviation if deviation > _ROUNDING else 1.0)


def _weights(
    errors: list[tuple[IntArray, Float64Array]], n_series: int
) -> Float64Array:
    """Weigh strengths of parts by their errors: (n_parts, n_series + 1, n_strengths).

    errors: of the series that each part has, by their numbers; the last series is a new one.

    A series' own log errors count beside the panel's mean; both are less those of the first part's
    shared map.
    """
    n_strengths = errors[0][1].shape[1]
    logs = np.full((n_series, len(errors), n_strengths), np.nan)
    for i, (series, error) in enumerate(errors):
        logs[series, i] = np.log(np.maximum(error, 1e-300))
    logs -= logs[:, :1, -1:]
    logs = np.clip(logs, -_LARGEST, _LARGEST).reshape(n_series, -1)
    able = ~np.isnan(logs)
    panel = np.where(able, logs, 0.0).sum(axis=0) / np.maximum(able.sum(axis=0), 1)
    own = np.where(able, _OWN * (logs - panel), np.inf)
    scores = -(np.append(own, [0 * panel], axis=0) + panel) / _TEMPERATURE
    weights = softmax(
        np.where(able.any(axis=1, keepdims=True), scores[:-1], scores[-1:])
    )
    weights = np.concatenate([weights, softmax(scores[-1:])])
    return weights.reshape(n_series + 1, len(errors), n_strengths).swapaxes(0, 1)
