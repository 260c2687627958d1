"""The ceilings of rates and percentages, which their series reach and never leave."""

from __future__ import annotations

import numpy as np

from skinformer.timeline.arrays import Float32Array, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline

#: Rows that have to reach a ceiling.
_FEWEST = 3
#: Share of a ceiling, or of a deviation, within which it is reached.
_ROUNDING = 1e-5


def find_ceilings(
    timeline: Timeline, scaler: Scaler, high: Float32Array
) -> Float64Array:
    """Return what rates do not exceed, (n_series + 1, n_targets), in units; else infinity.

    high: (n_series, n_targets), the greatest observed value of each series, standardised.

    It is 1 or 100 where a series was never below 0 nor beyond it, and reached it three times, so
    that no growth will go on from there. Series that the history does not hold, the last, have
    none.
    """
    n_series, n_targets = high.shape
    ceilings = np.full((n_series + 1, n_targets), np.inf)
    targets = scaler.targets
    # A user's transformer has bounds of its own.
    if targets.transformers or not (targets.floor == 0).any():
        return ceilings
    seen = np.where(
        timeline.observed(n_targets), timeline.values[:, :n_targets], -np.inf
    )
    some = np.flatnonzero(np.diff(timeline.first_row))
    greatest = high[some].astype(np.float64)
    top = scaler.inverse_without_smearing(greatest, some)
    for ceiling in (1.0, 100.0):
        is_reached = np.abs(top - ceiling) <= _ROUNDING * ceiling
        is_reached &= targets.floor[some] == 0
        for place, target in np.argwhere(is_reached):
            series = some[place]
            rows = slice(*timeline.first_row[series : series + 2])
            is_near = seen[rows, target] >= greatest[place, target] - _ROUNDING
            if is_near.sum() >= _FEWEST:
                ceilings[series, target] = ceiling
    return ceilings
