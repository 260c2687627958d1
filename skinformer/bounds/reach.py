"""How far forecasts reach: one and a half times the observed range beyond it, and no farther."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.bounds.limits import Limits, align_with_steps, any_of_window
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.timeline import Timeline


def observed_range(
    timeline: Timeline, n_targets: int
) -> tuple[Float32Array, Float32Array]:
    """Return the least and the greatest observed value, (n_series, n_targets); NaN for none."""
    observed = timeline.observed(n_targets)
    y = np.where(observed, timeline.values[:, :n_targets], np.nan)
    has_rows = np.diff(timeline.first_row) > 0
    begin = timeline.first_row[:-1][has_rows]
    shape = (timeline.n_series, n_targets)
    low = np.full(shape, np.nan, dtype=np.float32)
    high = low.copy()
    low[has_rows] = np.fmin.reduceat(y, begin)
    high[has_rows] = np.fmax.reduceat(y, begin)
    return low, high


#: How far beyond the observed range forecasts go, in its widths.
MARGIN = 1.5


class Reach(NamedTuple):
    """The observed range of each series, standardised; forecasts stay near it.

    low, high: (n_series, n_targets), the least and the greatest observed value.

    Forecasts are fed back where y is missing, and one that is a little too high makes the next
    one higher: here is the one place where that ends.
    """

    low: Float32Array
    high: Float32Array

    @classmethod
    def of(
        cls, low: Float32Array, high: Float32Array, limits: Limits | None = None
    ) -> Reach:
        """Make it of what `observed_range` returns; infinite where `limits` hold already."""
        is_unbounded = np.isnan(low)
        if limits is not None:
            top = limits.top[: len(low)]
            is_unbounded |= np.isfinite(top)
        return cls(
            np.where(is_unbounded, np.float32(-np.inf), low),
            np.where(is_unbounded, np.float32(np.inf), high),
        )

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
        windows = np.flatnonzero(series < len(self.low))
        low = self.low[series[windows]]
        high = self.high[series[windows]]
        # PERF: the ranges of windows are computed of those alone that may be clipped.
        fitted = y_pred[windows]
        is_changed = _clip(fitted, low, high) != fitted
        is_outside = any_of_window(is_changed)
        windows = windows[is_outside]
        if not len(windows):
            return y_pred
        window_low, window_high = observed_range(windows)
        low = np.fmin(low[is_outside], window_low)
        high = np.fmax(high[is_outside], window_high)
        clipped = y_pred.copy()
        clipped[windows] = _clip(y_pred[windows], low, high)
        return clipped


def _clip(y_pred: Float32Array, low: Float32Array, high: Float32Array) -> Float32Array:
    """Clip forecasts one and a half widths beyond a range; what hardly moved has a width of 1."""
    width = np.maximum(high - low, 1)
    margin = MARGIN * width
    least = align_with_steps(low - margin, y_pred)
    greatest = align_with_steps(high + margin, y_pred)
    return np.clip(y_pred, least, greatest)
