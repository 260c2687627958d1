"""Limits of forecasts of logarithms, whose errors are factors: a soft clip beyond the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.scaling import Scaler


class Limits(NamedTuple):
    """How high forecasts of each series may go, standardised; infinitely without logarithms.

    A soft clip: below the knee, ``max(top, largest of the window) + rise``, forecasts stay as they
    are; above it they come closer and closer to ``knee + width``, see `soft_clip`.

    top: the largest value so far, (n_series, n_targets).
    rise: how far beyond it, or beyond the largest of a window, the knee lies.
    width: how far beyond the knee forecasts come at most.
    """

    top: Float32Array
    rise: Float32Array
    width: Float32Array

    @classmethod
    def of(cls, scaler: Scaler) -> Limits | None:
        """Standardise where a soft clip begins; None where no logarithms are taken."""
        targets = scaler.targets
        if targets.top is None or targets.rise is None:
            return None
        k = targets.n_targets
        scale = np.where(targets.logs, scaler.scale[:, :k], 1.0)
        mean = scaler.mean[:, :k]
        # A mean lies above its median.
        rise = np.maximum(targets.rise - targets.smear, 0.0)
        top = (targets.top - mean) / scale
        rise = rise / scale
        # A tenth more than what is free.
        width = np.log(1.1) / scale
        return cls(
            top.astype(np.float32), rise.astype(np.float32), width.astype(np.float32)
        )

    def apply(
        self,
        y_pred: Float32Array,
        series: IntArray,
        greatest: Callable[[IntArray], Float32Array],
    ) -> Float32Array:
        """Clip softly what goes beyond its limit of forecasts, (n, n_steps, n_targets, …).

        greatest: returns the largest values of windows by their numbers, (n_some, n_targets).
        """
        top = self.top[series]
        rise = self.rise[series]
        lowest_knee = align_with_steps(top + rise, y_pred)
        is_high = any_of_window(y_pred > lowest_knee)
        # PERF: the largest values of windows are computed of those alone that may be clipped.
        windows = np.flatnonzero(is_high)
        if not len(windows):
            return y_pred
        record = np.maximum(top[windows], greatest(windows))
        knee = record + rise[windows]
        y_pred = y_pred.copy()
        y_pred[windows] = soft_clip(
            y_pred[windows],
            align_with_steps(knee, y_pred),
            align_with_steps(self.width[series[windows]], y_pred),
        )
        return y_pred


def soft_clip(x: Float32Array, knee: Float32Array, width: Float32Array) -> Float32Array:
    """Compress values above a knee: ``y = knee + width / (1 + width / (x - knee))``.

    Its slope is 1 at the knee, and y stays below ``knee + width``. It is rational, so that every
    machine, and every exported graph, computes the same.

    >>> soft_clip(np.array([1.0, 3.0, 1e9]), np.float64(2.0), np.float64(1.0))
    array([1. , 2.5, 3. ])
    """
    is_over = x > knee
    excess = np.where(is_over, x - knee, 1)
    compressed = knee + width / (1 + width / excess)
    return np.where(is_over, compressed, x)


def align_with_steps(table: Float32Array, y_pred: Float32Array) -> Float32Array:
    """Add axes of length 1 to numbers of windows, (n, n_targets), where forecasts have more."""
    axes = (1, *range(3, y_pred.ndim))
    return np.expand_dims(table, axes)


def any_of_window(flags: BoolArray) -> BoolArray:
    """Whether a flag of each window is set, (n,)."""
    axes = tuple(range(1, flags.ndim))
    return np.any(flags, axis=axes)
