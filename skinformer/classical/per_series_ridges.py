"""Ridges of each series of a panel: what all series share, and a small map of its own.

A window less its mean is mapped to what follows by ``W + B A_i``: W is the ridge of all series'
windows, each in units of its series; B are the directions in which these vary most, and A_i is the
ridge of what W leaves of the windows of series i. How strong it is, how many rows it looks back,
and whether it sees logarithms, mean absolute errors of a cross-validation tell: each of four folds
of windows is forecast by what was fitted to windows that share no truth with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skinformer.algebra import eigenvectors, product
from skinformer.budget import current_share
from skinformer.classical.means import series_log_shift
from skinformer.classical.windows import (
    UnitWindows,
    bounded,
    mean_of_known,
    padded,
    ridge_maps,
    row_products,
)
from skinformer.selection import softmax
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Folds of the cross-validation: consecutive windows of each series.
_N_FOLDS = 4
#: Stands in place of a fold where no window is left out.
_NO_FOLD = _N_FOLDS
#: Strengths of own maps, in mean squares of a direction; the endless one leaves none.
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, math.inf)


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
        if self.logs:
            seen = np.log(seen)
        middle = seen.mean(axis=1, keepdims=True)
        distance = seen - middle
        read = row_products(distance, self.directions)
        found = middle + row_products(distance, self.shared)
        found += np.einsum("nd,ndh->nh", read, self.own[series])
        if not self.logs:
            return found
        found = np.clip(found, middle - 30, middle + 30)
        return np.exp(found + self.log_shift[series, None])


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
        past = padded(windows.past, windows.length)
        if not self.ridges:
            return past[:, -1:].repeat(self.pred_len, axis=1)
        weights = self._weights(past, windows)
        out = np.zeros((len(past), self.pred_len))
        for ridge, weight in zip(self.ridges, weights, strict=True):
            some = np.flatnonzero(weight)
            forecast = ridge.forecast(past[some], windows.series[some])
            out[some] += weight[some, None] * forecast
        return bounded(out[:, None], past)[:, 0]

    def _weights(self, past: Float64Array, windows: UnitWindows) -> Float64Array:
        """Weigh ridges for each window, (n_ridges, n), by those that it is long enough for."""
        positive = past.min(axis=1) > 0
        weights = np.zeros((len(self.ridges), len(past)))
        for ridge, weight in zip(self.ridges, weights, strict=True):
            is_usable = windows.length >= len(ridge.shared)
            if ridge.logs:
                is_usable &= positive
            weight[is_usable] = ridge.weight[windows.series[is_usable]]
        # Before the first row is what stands there.
        weights[0, weights.sum(axis=0) == 0] = 1.0
        return weights / weights.sum(axis=0)


def fit_per_series_ridges(
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
    # Eight directions nearly suffice where series are alike, and where they are not, 32
    # (notes/panels.md); all own maps have 24 million numbers at most.
    n_maps = 2 * len(look_backs) * n_series
    n_directions = min(max(24_000_000 // (n_maps * pred_len), 8), 32)
    # A series that is not positive throughout has no logarithms: NaN, or minus infinity.
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values)
    parts = []
    for scale in (values, logs):
        for rows in look_backs:
            windows = _windows_of(scale, first_row, rows, pred_len)
            if len(windows.series):
                part = _fit_shared(windows, n_directions, logs=scale is logs)
                parts.append(part)
    weights = _weights(parts, n_series)
    ridges = [
        part.fit_all_windows(weight, of_mean=of_mean)
        for part, weight in zip(parts, weights, strict=True)
    ]
    return OwnFit(max(look_backs), pred_len, ridges)


class _CentredWindows(NamedTuple):
    """Windows less their mean, in units, as many of each series.

    past, future: (n_series, n, rows or pred_len).
    middle: the mean, (n_series, n, 1).
    unit: of each series, (n_series, 1, 1).
    kept: (n_folds + 1, n_series, n), whether they share no truth with a fold; `_NO_FOLD` keeps all.
    """

    past: Float64Array
    future: Float64Array
    middle: Float64Array
    unit: Float64Array
    kept: BoolArray


class _WindowsOfSeries(NamedTuple):
    """Windows of one look-back on one scale, of those series that have enough of them.

    values: rows of all series, or their logarithms.
    series: numbers of those series; begin, end: their rows.
    unit: the standard deviation of each of them.
    rows, pred_len: numbers of rows seen and forecast.
    n_taken: how many windows of each series are read.
    """

    values: Float64Array
    series: IntArray
    begin: IntArray
    end: IntArray
    unit: Float64Array
    rows: int
    pred_len: int
    n_taken: int

    def cut(self, some: slice, step: int = 1) -> _CentredWindows:
        """Cut every so many windows of some series."""
        length = self.rows + self.pred_len
        begin = self.begin[some, None]
        n_windows = self.end[some, None] - begin - length + 1
        taken = np.arange(0, self.n_taken, step)
        place = taken * n_windows // self.n_taken
        first = begin + place
        row = first[:, :, None] + np.arange(length)
        unit = self.unit[some, None, None]
        both = self.values[row] / unit
        middle = both[:, :, : self.rows].mean(axis=2, keepdims=True)
        both -= middle
        past, future = np.split(both, [self.rows], axis=2)
        kept = self._kept(place, n_windows)
        return _CentredWindows(past, future, middle, unit, kept)

    def _kept(self, place: IntArray, n_windows: IntArray) -> BoolArray:
        """Return which windows share no truth with each fold, and all."""
        fold = np.arange(_N_FOLDS + 1)[:, None, None]
        borders = fold * n_windows // _N_FOLDS
        is_before = place <= borders[:-1] - self.pred_len
        is_behind = place >= borders[1:] + self.pred_len - 1
        without_fold = is_before | is_behind
        everything = np.ones_like(without_fold[:1])
        return np.concatenate([without_fold, everything])

    def of_each_series(self, function: Callable[[Float64Array], float]) -> Float64Array:
        """Compute a number from the rows of each series, (n_series,)."""
        rows = zip(self.begin, self.end, strict=True)
        return np.array([function(self.values[begin:end]) for begin, end in rows])


def _windows_of(
    values: Float64Array, first_row: IntArray, rows: int, pred_len: int
) -> _WindowsOfSeries:
    """Find the series that have windows enough, and the unit of each."""
    n_windows = np.diff(first_row) - rows - pred_len + 1
    is_enough = n_windows >= max(rows // 2, _N_FOLDS)
    least = np.minimum.reduceat(values, first_row[:-1])
    series = np.flatnonzero(is_enough & np.isfinite(least))
    # Windows of each series, spread over it: 128 to 256, and so many of all.
    n_taken = min(max(250_000 // len(n_windows), 128), 256)
    n_taken = current_share().of(n_taken, least=32)
    n_taken -= n_taken % _N_FOLDS
    windows = _WindowsOfSeries(
        values,
        series,
        first_row[series],
        first_row[series + 1],
        np.ones(len(series)),
        rows,
        pred_len,
        n_taken,
    )
    return windows._replace(unit=windows.of_each_series(_deviation))


def _fit_shared(
    part: _WindowsOfSeries, n_directions: int, *, logs: bool
) -> _PerSeriesMaps:
    """Fit the map of all series, and the directions in which windows vary most."""
    maps, gram = _cross_validate_shared(part)
    _, vectors = eigenvectors(gram)
    strongest_first = vectors[:, ::-1]
    directions = np.ascontiguousarray(strongest_first[:, :n_directions])
    return _PerSeriesMaps(logs, part, directions, maps)


def _cross_validate_shared(part: _WindowsOfSeries) -> tuple[Float64Array, Float64Array]:
    """Fit shared maps without each fold and to all windows, of the strength that errs least.

    Returned are these maps, (n_folds + 1, rows, pred_len), and the products of all windows.
    """
    windows, fold_of_window = _sample(part)
    past = windows.past.reshape(-1, part.rows)
    future = windows.future.reshape(-1, part.pred_len)
    strengths = 10.0 ** np.arange(-4, 2)  # in mean squares of a row
    errors = np.zeros(len(strengths))
    tried = []
    for fold, is_kept in enumerate(windows.kept):
        kept = past[is_kept.ravel()]
        gram = product(kept.T, kept)
        cross = product(kept.T, future[is_kept.ravel()])
        maps = ridge_maps(gram, cross, strengths)
        # None where no fold is left out.
        is_held_out = fold_of_window == fold
        residual = future[is_held_out] - product(past[is_held_out], maps)
        errors += (residual**2).sum(axis=(1, 2))
        tried.append(maps)
    best = errors.argmin()
    return np.stack(tried)[:, best], gram


def _sample(part: _WindowsOfSeries) -> tuple[_CentredWindows, IntArray]:
    """Cut some windows of some series, 20,000 in all, and find the fold of each."""
    most_windows = 20_000
    n_windows = len(part.series) * part.n_taken
    step = max(1, n_windows // most_windows)
    step = min(step, part.n_taken // _N_FOLDS)
    every = math.ceil(n_windows / (step * most_windows))
    windows = part.cut(slice(None, None, every), step)
    taken = np.arange(0, part.n_taken, step)
    fold = taken * _N_FOLDS // part.n_taken
    return windows, np.tile(fold, len(windows.past))


@dataclass(frozen=True)
class _PerSeriesMaps:
    """Maps of what the shared map leaves of each series, while they are fitted.

    shared: (n_folds + 1, rows, pred_len), shared maps without each fold; `_NO_FOLD` has the final.
    """

    logs: bool
    windows: _WindowsOfSeries
    directions: Float64Array
    shared: Float64Array

    def _chunks(self) -> Iterator[tuple[slice, _CentredWindows, Float64Array]]:
        """Return windows of some series after the other, and what is read of them."""
        part = self.windows
        n_values = part.n_taken * (part.rows + part.pred_len)
        size = max(1, 4_000_000 // n_values)
        for start in range(0, len(part.series), size):
            some = slice(start, start + size)
            windows = part.cut(some)
            read = product(windows.past, self.directions)
            yield some, windows, read

    def _fit(
        self, windows: _CentredWindows, read: Float64Array, fold: int
    ) -> list[Float64Array]:
        """Fit own maps without a fold: of each strength, (n_series, n_directions, pred_len)."""
        is_kept = windows.kept[fold, :, :, None]
        kept = (read * is_kept).swapaxes(1, 2)
        cross = product(kept, windows.past)
        by_shared = product(cross, self.shared[fold])
        residual = product(kept, windows.future) - by_shared
        values, vectors = eigenvectors(product(kept, read))
        values = np.maximum(values, 0.0)[:, :, None]
        mean = values.mean(axis=1, keepdims=True) + 1e-12
        inverse = np.ascontiguousarray(vectors.swapaxes(1, 2))
        turned = product(inverse, residual)
        maps = []
        for strength in _STRENGTHS:
            shrunk = turned / (values + strength * mean)
            maps.append(product(vectors, shrunk))
        return maps

    def cross_validate(self) -> Float64Array:
        """Return the mean absolute error of each strength in units of values, (n_series, n)."""
        shape = len(self.windows.series), len(_STRENGTHS)
        errors = np.zeros(shape)
        for some, windows, read in self._chunks():
            for fold in range(_N_FOLDS):
                errors[some] += self._errors_on_fold(windows, read, fold)
        return errors / _N_FOLDS

    def _errors_on_fold(
        self, windows: _CentredWindows, read: Float64Array, fold: int
    ) -> Float64Array:
        """Forecast a fold by maps fitted without it: (n_series, n_strengths)."""
        fold_size = windows.past.shape[1] // _N_FOLDS
        held_out = slice(fold * fold_size, (fold + 1) * fold_size)
        mean = windows.middle[:, held_out]
        future = windows.future[:, held_out]
        y = self._on_values((mean + future) * windows.unit)
        by_shared = product(windows.past[:, held_out], self.shared[fold])
        errors = []
        for own in self._fit(windows, read, fold):
            by_own = product(read[:, held_out], own)
            # In units from a window's mean.
            distance = np.clip(by_shared + by_own, -10.0, 10.0)
            y_pred = self._on_values((mean + distance) * windows.unit)
            error = np.abs(y_pred - y)
            errors.append(error.mean(axis=(1, 2)))
        return np.stack(errors, axis=1)

    def _on_values(self, scaled: Float64Array) -> Float64Array:
        return np.exp(scaled) if self.logs else scaled

    def fit_all_windows(self, weights: Float64Array, *, of_mean: bool) -> OwnRidge:
        """Fit own maps to all windows, and average those of all strengths.

        weights: (n_series of the panel + 1, n_strengths); their sum is the weight of the ridge.
        """
        total = weights.sum(axis=1)
        share = weights / np.maximum(total[:, None], 1e-300)
        shape = len(weights), self.directions.shape[1], self.windows.pred_len
        own = np.zeros(shape, dtype=np.float32)
        for some, windows, read in self._chunks():
            series = self.windows.series[some]
            by_strength = self._fit(windows, read, _NO_FOLD)
            own[series] = np.einsum(
                "nk,kndh->ndh", share[series], np.stack(by_strength)
            )
        log_shift = np.zeros(len(weights))
        if of_mean and self.logs:
            shifts = self.windows.of_each_series(series_log_shift)
            log_shift[self.windows.series] = shifts
            # A new series has the median.
            log_shift[-1] = np.median(shifts)
        return OwnRidge(
            self.logs,
            self.shared[_NO_FOLD],
            self.directions,
            own,
            total.astype(np.float32),
            log_shift,
        )


def _deviation(values: Float64Array) -> float:
    """Return the standard deviation, whatever the size; that of a constant is its size, or 1."""
    size = np.abs(values).max() or 1.0
    deviation = (values / size).std()
    is_constant = deviation <= 1e-12
    return size if is_constant else size * deviation


def _weights(parts: list[_PerSeriesMaps], n_series: int) -> Float64Array:
    """Weigh strengths of parts by their errors: (n_parts, n_series + 1, n_strengths).

    The last series is a new one. A series' own log errors count beside the panel's mean.
    """
    if not parts:
        return np.empty(0)
    log_errors = _log_errors(parts, n_series)
    relative = log_errors.reshape(n_series, -1)
    panel = mean_of_known(relative.T)
    # How far a series' own log errors are believed beside the panel's mean, and the difference
    # that makes a factor e in the weight.
    trust = 0.7
    temperature = 0.05
    own = panel + trust * (relative - panel)
    own[np.isnan(relative).all(axis=1)] = panel
    scores = -np.vstack([own, panel]) / temperature
    scores[np.isnan(scores)] = -np.inf
    weights = softmax(scores)
    weights = weights.reshape(-1, *log_errors.shape[1:])
    return weights.swapaxes(0, 1)


def _log_errors(parts: list[_PerSeriesMaps], n_series: int) -> Float64Array:
    """Return logs of errors, (n_series, n_parts, n_strengths), less the first shared map's.

    They are NaN where a series has too few windows for a part.
    """
    shape = n_series, len(parts), len(_STRENGTHS)
    errors = np.full(shape, np.nan)
    share = current_share()
    for i, part in enumerate(parts):
        if i > 0 and share.must_stop():
            break  # what was not judged has no weight
        errors[part.windows.series, i] = part.cross_validate()
    logs = np.log(np.maximum(errors, 1e-300))
    by_first_shared = logs[:, :1, -1:]
    # Differences that count.
    return np.clip(logs - by_first_shared, -2.0, 2.0)
