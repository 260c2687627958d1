"""Scales of series with few rows beside many: those that longer ones of their size have.

A deviation of eight rows says little: a price that stood still in them has none, and a promotion
ahead would be measured by the price itself.
"""

from dataclasses import replace

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table


def lend_scales(
    scaler: Scaler,
    table: Table,
    split: IntArray | None,
    window_len: int,
) -> Scaler:
    """
    Lend series that do not hold a window the scales of those that do.

    Parameters
    ----------
    scaler : Scaler
        Means and scales of each series by its own rows.
    table : Table
        The rows.
    split : ndarray of shape (n_series,) or None
        The row at which each series' validation split begins; its rows are left out.
    window_len : int
        Rows of a window with its forecast.

    Returns
    -------
    Scaler
        A series' own scale counts as a logarithm, by the square of its share of a window. The same
        scaler where no series holds a window, or all do.
    """
    stop = table.first_row[1:] if split is None else split
    scale = scaler.scale.copy()
    changing = set(range(len(table.columns))) - set(table.static_columns())
    for j in sorted(changing):
        n_rows = _known_rows(table.columns[j], table.first_row[:-1], stop)
        own_share = np.clip((n_rows - 1) / (window_len - 1), 0.0, 1.0) ** 2
        is_long = n_rows >= window_len
        logs = scaler.takes_logs(j)
        for kind in (logs, ~logs):
            long = kind & is_long
            short = kind & ~is_long
            if short.any() and long.any():
                usual = _usual_scale(scaler.mean[:, j], scale[:, j], long)
                lent = scale[:, j] ** own_share * usual ** (1 - own_share)
                scale[short, j] = lent[short]
    return replace(scaler, scale=scale)


def _known_rows(
    column: AnyArray,
    start: IntArray,
    stop: IntArray,
) -> IntArray:
    """Count the known values of a column between some rows of each series, (n_series,)."""
    n_before = np.append(0, np.cumsum(~np.isnan(column)))
    return n_before[stop] - n_before[start]


def _usual_scale(
    mean: Float64Array,
    scale: Float64Array,
    known: BoolArray,
) -> Float64Array:
    """Return the scale that known series of each one's size usually have, (n_series,).

    It goes by the size where scales of these are more alike as parts of their means.
    """
    size = np.abs(mean)
    of_known = np.log(scale[known])
    usual = np.full(len(mean), np.exp(np.median(of_known)))
    if (size[known] > 0).all():
        parts = of_known - np.log(size[known])
        if parts.std() < of_known.std():
            usual = np.where(size > 0, size * np.exp(np.median(parts)), usual)
    return usual
