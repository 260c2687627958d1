"""Bounds beyond which values of covariates count as errors."""

import math

import numpy as np

from skinformer.timeline.arrays import AnyArray, Float64Array


def find_bounds(values: AnyArray, n_targets: int) -> tuple[Float64Array, Float64Array]:
    """Find the bounds of plausible values of covariates: a rain gauge once has 9831.

    Lowest and highest values, (n_columns,) each: as far beyond what all but a thousandth of the
    rows, one at least, keep to at either end as that is wide. Targets, the first columns, have
    none, as they may rise for ever.

    >>> values = np.column_stack([np.arange(500.0), np.arange(500.0) % 5])
    >>> values[7] = 9831
    >>> find_bounds(values, 1)
    (array([-inf,  -4.]), array([inf,  8.]))
    """
    low = np.full(values.shape[1], -np.inf)
    high = -low
    for j in range(n_targets, len(low)):
        column = values[:, j].astype(np.float64)
        is_known = ~np.isnan(column)
        known = np.sort(column[is_known])
        n_left_out = math.ceil(len(known) / 1000)
        kept = known[n_left_out:-n_left_out]
        if len(kept):
            width = np.ptp(kept)
            low[j] = kept[0] - width
            high[j] = kept[-1] + width
    return low, high
