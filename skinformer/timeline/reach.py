"""How far forecasts go from what was seen: no farther than one and a half times its width."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.scaling import Limits
from skinformer.timeline.timeline import Timeline

#: Spreads of what was seen, beyond it.
_BEYOND = 1.5
#: The least spread, standardised, of what hardly moved.
_LEAST = 1.0


class Reach(NamedTuple):
    """
    What was seen of each series, standardised.

    Forecasts are fed back where truths are missing, and one that is a little too high makes the
    next one higher: here is the one place where that ends.

    Attributes
    ----------
    low, high : ndarray of shape (n_series, n_targets)
        The least and the greatest observed value.
    """

    low: Float32Array
    high: Float32Array

    @classmethod
    def of(
        cls, timeline: Timeline, n_targets: int, limits: Limits | None = None
    ) -> Reach:
        """
        Look at all observed rows of a history.

        Parameters
        ----------
        timeline : Timeline
            The history.
        n_targets : int
            Number of its first columns that are forecast.
        limits : Limits or None, default=None
            Where they hold a series already, as logarithms need, nothing is added.
        """
        values = timeline.values[:, :n_targets]
        if timeline.weight is not None:
            values = np.where(timeline.weight > 0, values, np.float32(np.nan))
        low, high = _extremes(values, timeline.first_row)
        free = np.isnan(low)
        if limits is not None:
            free |= np.isfinite(limits.top[: len(low)])
        low[free] = -np.inf
        high[free] = np.inf
        return cls(low, high)

    def apply(
        self,
        forecast: Float32Array,
        series: IntArray,
        seen: Callable[[IntArray], tuple[Float32Array, Float32Array]],
    ) -> Float32Array:
        """
        Clip forecasts to what was seen and what lies near it.

        Parameters
        ----------
        forecast : ndarray of shape (n, n_steps, n_targets, …)
            Of windows.
        series : ndarray of shape (n,)
            Their series; those that the history does not hold are left alone.
        seen : callable
            Gives the least and the greatest observed values of windows by their numbers, (n_some,
            n_targets), NaN for none: rows that came later than the history may lie outside of it.
        """
        deep = (slice(None), None, slice(None), *[None] * (forecast.ndim - 3))
        held = np.flatnonzero(series < len(self.low))
        low, high = self._around(self.low[series[held]], self.high[series[held]])
        outside = (forecast[held] < low[deep]) | (forecast[held] > high[deep])
        some = held[outside.any(axis=tuple(range(1, forecast.ndim)))]
        if not len(some):
            return forecast
        least, greatest = seen(some)
        low, high = self._around(
            np.fmin(self.low[series[some]], least),
            np.fmax(self.high[series[some]], greatest),
        )
        out = forecast.copy()
        out[some] = np.fmin(np.fmax(forecast[some], low[deep]), high[deep])
        return out

    @staticmethod
    def _around(
        low: Float32Array, high: Float32Array
    ) -> tuple[Float32Array, Float32Array]:
        room = np.float32(_BEYOND) * np.maximum(high - low, np.float32(_LEAST))
        return low - room, high + room


def _extremes(
    values: Float32Array, first_row: IntArray
) -> tuple[Float32Array, Float32Array]:
    """Return the least and the greatest value of each series; infinities where it has no row."""
    n_series = len(first_row) - 1
    low = np.full((n_series, values.shape[1]), -np.inf, dtype=np.float32)
    high = -low
    held = np.diff(first_row) > 0
    begin = first_row[:-1][held]
    if len(begin):
        low[held] = np.fmin.reduceat(values, begin)
        high[held] = np.fmax.reduceat(values, begin)
    return low, high
