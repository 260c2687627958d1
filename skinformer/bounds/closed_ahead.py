"""Steps at which nothing happens, because a column known ahead says so: closures as values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.cleaning.closures import Closures
from skinformer.timeline.arrays import AnyArray, BoolArray, Float32Array, IntArray
from skinformer.timeline.scaling import Scaler


class ClosedAhead(NamedTuple):
    """Closures of a fit, standardised.

    column, target: (n_closures,), their places among columns and targets.
    value: (n_closures, n_series + 1), that of the column which tells a closure.
    n_targets: targets of the fit.
    """

    column: IntArray
    target: IntArray
    value: Float32Array
    n_targets: int

    @classmethod
    def of(
        cls, closures: Closures, scaler: Scaler, n_targets: int
    ) -> ClosedAhead | None:
        """Standardise closures, by the scaler of all series and of new ones; None for none."""
        found = closures.found
        if not found:
            return None
        every = np.arange(len(scaler.mean))
        value = np.empty((len(found), len(every)), dtype=np.float32)
        for i, closure in enumerate(found):
            columns: list[AnyArray | None] = [None] * scaler.mean.shape[1]
            columns[closure.column] = np.full(len(every), closure.value)
            value[i] = scaler.transform(columns, every)[:, closure.column]
        return cls(
            np.array([closure.column for closure in found]),
            np.array([closure.target for closure in found]),
            value,
            n_targets,
        )

    def at(self, values: Float32Array, series: IntArray) -> BoolArray:
        """Return where targets are zero, (n, n_targets).

        values: (n, n_columns), of steps, standardised.
        """
        closed = np.zeros((len(values), self.n_targets), dtype=bool)
        closures = zip(self.column, self.target, self.value, strict=True)
        for column, target, value in closures:
            closed[:, target] |= values[:, column] == value[series]
        return closed


def zero_of_series(scaler: Scaler, n_targets: int) -> Float32Array:
    """Return what zero is in all series of a scaler once it is standardised, (n, n_targets)."""
    every = np.arange(len(scaler.mean))
    return scaler.transform([np.zeros(len(every))] * n_targets, every)
