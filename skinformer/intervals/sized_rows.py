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
    """

    point: Float64Array
    size: Float64Array
    ahead: IntArray
    scaler: Scaler
    series: IntArray

    def residuals(self, table: Float64Array) -> Float64Array:
        """Take residuals of rows, (n_each, n, n_targets), from those of all steps ahead."""
        return np.take_along_axis(table, self.ahead[None], axis=1)

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


def interpolate(
    table: Float64Array, of_table: Float64Array, levels: Any, ahead: IntArray
) -> Float64Array:
    """Interpolate residuals of levels, (n_paths, n, n_targets), in a table of these.

    table: (n_levels, pred_len, n_targets), residuals of some levels, `of_table`, ascending.
    levels: (n, n_paths, pred_len, n_targets).
    ahead: (n, n_targets), the step of each row.
    """
    residuals = np.empty((levels.shape[1], *ahead.shape))
    for step, target in np.ndindex(table.shape[1:]):
        rows = np.flatnonzero(ahead[:, target] == step)
        of_rows = levels[rows, :, step, target].T
        known = table[:, step, target]
        residuals[:, rows, target] = np.interp(of_rows, of_table, known)
    return residuals
