"""Bounds of forecasts: one and a half times the observed range beyond it, and no farther."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.scaling import Limits, align_with_steps, any_of_window
from skinformer.timeline.timeline import Timeline


class ForecastBounds(NamedTuple):
    """The observed range of each series, standardised; forecasts stay near it.

    low, high: (n_series, n_targets), the least and the greatest observed value.

    Forecasts are fed back where y is missing, and one that is a little too high makes the next
    one higher: here is the one place where that ends.
    """

    low: Float32Array
    high: Float32Array

    @classmethod
    def of(
        cls,
        timeline: Timeline,
        n_targets: int,
        limits: Limits | None = None,
    ) -> ForecastBounds:
        """Compute the bounds of a history's series; infinite where `limits` hold already."""
        y = timeline.values[:, :n_targets]
        if timeline.weight is not None:
            y = np.where(timeline.weight > 0, y, np.float32(np.nan))
        low, high = _observed_range(y, timeline.first_row)
        unbounded = np.isnan(low)
        if limits is not None:
            unbounded |= np.isfinite(limits.top[: len(low)])
        low[unbounded] = -np.inf
        high[unbounded] = np.inf
        return cls(low, high)

    def apply(
        self,
        y_pred: Float32Array,
        series: IntArray,
        observed_range: Callable[[IntArray], tuple[Float32Array, Float32Array]],
    ) -> Float32Array:
        """Clip forecasts of windows, (n, n_steps, n_targets, …); those of new series stay.

        series: of each window.
        observed_range: returns the least and the greatest observed values of windows by their
        numbers, (n_some, n_targets), NaN for none: these rows may be later than the history.
        """
        fitted = np.flatnonzero(series < len(self.low))
        low = self.low[series[fitted]]
        high = self.high[series[fitted]]
        # PERF: the ranges of windows are computed of those alone that may be clipped.
        windows = fitted[_is_outside(y_pred[fitted], *_widen(low, high))]
        if not len(windows):
            return y_pred
        window_low, window_high = observed_range(windows)
        low = np.fmin(self.low[series[windows]], window_low)
        high = np.fmax(self.high[series[windows]], window_high)
        low, high = _widen(low, high)
        least = align_with_steps(low, y_pred)
        greatest = align_with_steps(high, y_pred)
        clipped = y_pred.copy()
        clipped[windows] = np.clip(y_pred[windows], least, greatest)
        return clipped


def _is_outside(
    y_pred: Float32Array,
    low: Float32Array,
    high: Float32Array,
) -> BoolArray:
    """Whether a window has a forecast beyond its bounds, (n,)."""
    is_below = y_pred < align_with_steps(low, y_pred)
    is_above = y_pred > align_with_steps(high, y_pred)
    return any_of_window(is_below | is_above)


def _widen(low: Float32Array, high: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Return bounds one and a half widths beyond a range; what hardly moved has a width of 1."""
    width = np.maximum(high - low, np.float32(1))
    margin = np.float32(1.5) * width
    return low - margin, high + margin


def _observed_range(
    y: Float32Array, first_row: IntArray
) -> tuple[Float32Array, Float32Array]:
    """Return the least and the greatest value of each series; infinities where it has no row."""
    shape = (len(first_row) - 1, y.shape[1])
    low = np.full(shape, -np.inf, dtype=np.float32)
    high = np.full(shape, np.inf, dtype=np.float32)
    has_rows = np.diff(first_row) > 0
    begin = first_row[:-1][has_rows]
    if len(begin):
        low[has_rows] = np.fmin.reduceat(y, begin)
        high[has_rows] = np.fmax.reduceat(y, begin)
    return low, high
