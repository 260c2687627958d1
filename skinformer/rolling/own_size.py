"""New series in their own size: what the fit knows is of series in theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler, root_mean_square

#: Puts outputs back, (n, pred_len, n_targets, …), by the size of each window.
Restore: TypeAlias = Callable[[Float32Array, "Resized"], Float32Array]


class Resized(NamedTuple):
    """By what standardised targets of windows are multiplied, and what is added: (n, n_targets)."""

    gain: Float64Array
    shift: Float64Array

    def take(self, places: Any) -> Resized:
        """Return some windows'."""
        return Resized(self.gain[places], self.shift[places])

    def applied(self, values: Float32Array) -> Float32Array:
        """Resize values, (n, n_targets)."""
        return (values * self.gain + self.shift).astype(np.float32)

    def undone(self, values: Any) -> Any:
        """Put values of windows, (n, pred_len, n_targets, …), back in the size that they had."""
        axes = (1, *range(3, values.ndim))
        return (values - np.expand_dims(self.shift, axes)) / np.expand_dims(
            self.gain, axes
        )


@dataclass(frozen=True)
class InOwnSize:
    """Forecast windows of new series in their own size, and put the forecasts back.

    All new series share one scale, that of a usual series of the panel. One that is a thousand
    times as small would have the errors of usual ones, and what a price does to these. So its
    targets are made as large as usual before it is forecast.

    Windows know no rows behind their origin, nor does their size.

    forecast: forecasts windows; the others as they are.
    is_new: whether each segment is of a new series.
    scaler: of the fit, with that of new series as its last row.
    seq_len: rows of a window.
    restore: puts outputs back.
    """

    forecast: Forecaster
    is_new: BoolArray
    scaler: Scaler
    seq_len: int
    restore: Restore

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        """Forecast windows that begin at these rows."""
        segment = rows.segment[origins]
        last = self._known_until(rows)[origins - 1]
        is_resized = self.is_new[segment] & (last > rows.begin[segment])
        if not is_resized.any():
            return self.forecast(rows, origins)
        # Each window has a size of its own: those of one series are forecast in turns.
        turn = 1 + pd.Series(segment).groupby(segment).cumcount().to_numpy()
        turn = np.where(is_resized, turn, 0)
        outputs = []
        places = []
        for number in np.unique(turn):
            some = np.flatnonzero(turn == number)
            places.append(some)
            if number == 0:
                outputs.append(self.forecast(rows, origins[some]))
            else:
                outputs.append(self._forecast_resized(rows, origins[some], last[some]))
        order = np.argsort(np.concatenate(places))
        return np.concatenate(outputs)[order]

    def _known_until(self, rows: Rows) -> IntArray:
        """Return for each row the one behind the last observed row of its series up to it.

        What is fed back has no size of its own: it has that of what was observed.
        """
        first_row = np.searchsorted(rows.segment, rows.segment)
        behind = np.arange(1, len(rows.steps) + 1)
        is_known = rows.known.any(axis=1)
        return np.maximum.accumulate(np.where(is_known, behind, first_row))

    def _forecast_resized(
        self, rows: Rows, origins: IntArray, last: IntArray
    ) -> Float32Array:
        """Forecast windows of new series, one of each, in the size of their last known rows.

        last: the row behind the last known one before each window.
        """
        n_targets = rows.known.shape[1]
        values = rows.values.copy()
        sizes = []
        for segment, end in zip(rows.segment[origins], last, strict=True):
            begin = rows.begin[segment]
            window = slice(max(begin, end - self.seq_len), end)
            known = rows.known[window]
            size = self._size_of(np.where(known, values[window, :n_targets], np.nan))
            behind = np.searchsorted(rows.segment, segment, side="right")
            targets = values[begin:behind, :n_targets]
            targets[:] = size.applied(targets)
            sizes.append(size)
        of_windows = Resized(*map(np.concatenate, zip(*sizes, strict=True)))
        outputs = self.forecast(rows._replace(values=values), origins)
        return self.restore(outputs, of_windows)

    def _size_of(self, targets: Float32Array) -> Resized:
        """Find what makes a series as large as usual ones, (1, n_targets) each.

        targets: standardised, (n, n_targets); NaN is not known.
        """
        units = self.scaler.targets
        logs = units.logs[-1:]
        mean = self.scaler.mean[-1:, : units.n_targets]
        scale = self.scaler.scale[-1:, : units.n_targets]
        is_known = ~np.isnan(targets)
        in_units = np.where(is_known, targets * scale + mean, 0.0)
        # What is not known at all has no size.
        counts = is_known | ~is_known.any(axis=0)
        # Logarithms are larger by a sum.
        level = in_units.mean(axis=0, where=counts, keepdims=True)
        shift = np.where(is_known.any(axis=0), (mean - level) / scale, 0.0)
        size = root_mean_square(np.abs(in_units), counts)[None]
        gain = _gain(np.hypot(mean, scale), size, has_zero=units.floor[-1:] == 0)
        gain = np.where(logs, 1.0, gain)
        shift = np.where(logs, shift, (gain - 1) * mean / scale)
        return Resized(gain, shift)


def _gain(
    usual: Float64Array, size: Float64Array, *, has_zero: BoolArray
) -> Float64Array:
    """Return by what a size is multiplied to be the usual one; 1 where there is none.

    has_zero: where no value lies below zero. Elsewhere, as of temperatures, a level is no size:
    only what is far larger, or smaller, than usual is resized.
    """
    far = 4.0
    has_size = size > 0
    gain = np.divide(usual, size, out=np.ones_like(size), where=has_size)
    is_far = (gain > far) | (gain < 1 / far)
    return np.where(has_zero | is_far, gain, 1.0)
