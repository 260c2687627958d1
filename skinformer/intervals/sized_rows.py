"""Forecasts of rows with the sizes of their errors, and values around them in y's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.scaling import Scaler


@dataclass(frozen=True)
class SizedRows:
    """Forecasts of rows, with the sizes of their errors.

    point, size: (n, n_targets), standardised.
    ahead: (n, n_targets), the step whose residuals are theirs.
    scaler: of the fit, and of series that it did not hold.
    series: (n,), that of each row.
    recent: (n, n_targets, n_kept), what describes the rows before the origin of each; there may be
    nothing.
    """

    point: Float64Array
    size: Float64Array
    ahead: IntArray
    scaler: Scaler
    series: IntArray
    recent: Float64Array

    def around(self, errors: Float64Array) -> Float64Array:
        """Add errors, (n_each, n, n_targets), in y's units: (n, n_targets, n_each)."""
        values = [
            self.scaler.inverse_without_smearing(self.point + error, self.series)
            for error in errors
        ]
        return np.stack(values, axis=2)

    def around_within_limits(self, residuals: Float64Array) -> Float64Array:
        """Add residuals of paths as `around` does: where logarithms are taken, a factor of 20."""
        most_log = 3.0
        targets = self.scaler.targets
        n_targets = self.point.shape[1]
        scale = self.scaler.scale[self.series, :n_targets]
        limit = np.where(targets.logs[self.series], most_log / scale, np.inf)
        return self.around(np.clip(self.size * residuals, -limit, limit))

    def with_mean(self, paths: Float64Array, mean: Float64Array) -> Float64Array:
        """Move the mean of the distribution of paths to the forecast: by a factor, of amounts.

        mean: (n, n_targets), what it is.

        Amounts that are moved so stay amounts. What a factor of two does not reach is added.
        """
        most_ratio = 2.0
        targets = self.scaler.targets
        wanted = self.scaler.inverse_with_smearing(self.point, self.series)
        is_amount = (targets.floor[self.series] == 0) & (mean > 0)
        ratio = np.divide(wanted, mean, out=np.ones_like(mean), where=is_amount)
        ratio = np.minimum(ratio, most_ratio)
        rest = wanted - ratio * mean
        # Rounding makes no amount negative.
        rest = np.where(is_amount, np.maximum(rest, 0.0), rest)
        return paths * ratio[..., None] + rest[..., None]


def interpolate(residuals: Float64Array, levels: Any, ahead: IntArray) -> Float64Array:
    """Interpolate residuals of levels, (n_paths, n, n_targets).

    residuals: (n_shares, n, n_targets), those of each row at the middles of equal shares.
    levels: (n, n_paths, pred_len, n_targets).
    ahead: (n, n_targets), the step of each row.
    """
    n_shares, n, n_targets = residuals.shape
    row, target = np.ogrid[:n, :n_targets]
    of_rows = np.moveaxis(levels[row, :, ahead, target], 2, 0)
    place = np.clip(of_rows * n_shares - 0.5, 0.0, n_shares - 1.0)
    below = np.minimum(place.astype(np.int64), n_shares - 2)
    low, high = (np.take_along_axis(residuals, below + i, axis=0) for i in (0, 1))
    return low + (place - below) * (high - low)
