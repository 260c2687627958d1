"""Series whose unit changes: from some row on every value is a power of ten as large."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table


class UnitChange(NamedTuple):
    """The first row in another unit, the column, and how many times as large values are there."""

    row: int
    column: int
    factor: float


def in_last_unit(table: Table, *, targets: bool) -> tuple[Table, list[UnitChange]]:
    """Bring every series to the unit of its last rows, and return where it changed.

    table: rows of a fit, sorted by series and step. The same one where nothing changes.
    targets: whether targets may change theirs, too.
    """
    found = []
    columns = list(table.columns)
    # Of shorter seasons, a few quarters of an hour near zero look like another unit.
    season = next((n for n in likely_seasons(table.clock) if n >= 7), 4)
    for j in range(0 if targets else table.n_targets, len(columns)):
        column = columns[j].astype(np.float64)
        for start, stop in zip(table.first_row[:-1], table.first_row[1:], strict=True):
            for at, factor in _changes(column[start:stop], season):
                column[start : start + at] *= factor
                columns[j] = column
                found.append(UnitChange(int(start) + at, j, factor))
    return (replace(table, columns=columns) if found else table), found


def _changes(values: Float64Array, season: int) -> list[tuple[int, float]]:
    """Find the first rows in another unit and the factors: each value against a season before."""
    found = []
    least_power = 3  # of ten, that a change of unit makes
    powers = _seasonal_log_ratios(values, season)
    is_far = np.abs(powers) > least_power - 0.7
    begins = is_far & ~np.append(False, is_far[:-1])
    for i in np.flatnonzero(begins).tolist():
        there = powers[i : i + season]
        known = there[~np.isnan(there)]
        if len(known) < max(3, len(there) / 2):
            continue
        power = round(float(np.median(known)))
        half, most = np.quantile(np.abs(known - power), [0.5, 0.9])
        is_power = abs(power) >= least_power and half < 0.4 and most < 0.7
        if is_power and np.ptp(known) > 0:  # else two levels
            found.append((i + season, 10.0**power))
    return found


@np.errstate(divide="ignore", invalid="ignore")
def _seasonal_log_ratios(values: Float64Array, season: int) -> Float64Array:
    """Compute log10 of each value's ratio to the one a season before, from row `season` on.

    NaN for zeros, and 0 where the sign turns, as by no unit.
    """
    ratio = values[season:] / values[:-season]
    ratio[ratio < 0] = 1
    powers = np.log10(ratio)
    return np.where(np.isinf(powers), np.nan, powers)
