"""Series whose unit changes: from some row on every value is a power of ten as large."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table

#: Of ten, that a change of unit makes.
_LEAST_POWER = 3


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
    # Of shorter seasons, a few quarters of an hour near zero look like another unit.
    season = next((n for n in likely_seasons(table.clock) if n >= 7), 4)
    found = []
    columns = list(table.columns)
    start = table.first_row[:-1]
    for j in range(0 if targets else table.n_targets, len(columns)):
        column = columns[j].astype(np.float64)
        for first, values in zip(start, table.by_series(column), strict=True):
            for change, factor in _find_changes(values, season):
                values[:change] *= factor
                columns[j] = column
                found.append(UnitChange(first + change, j, factor))
    if not found:
        return table, found
    return replace(table, columns=columns), found


@np.errstate(divide="ignore", invalid="ignore")
def _find_changes(values: Float64Array, season: int) -> list[tuple[int, float]]:
    """Find the first rows in another unit and the factors: each value against a season before."""
    found = []
    ratio = values[season:] / values[:-season]
    ratio[ratio < 0] = 1  # no unit turns the sign
    powers = np.log10(ratio)
    powers[np.isinf(powers)] = np.nan
    is_far = np.abs(powers) > _LEAST_POWER - 0.7
    begins = np.diff(is_far, prepend=False) & is_far
    for i in np.flatnonzero(begins).tolist():
        power = _common_power(powers[i : i + season])
        if power:
            found.append((i + season, 10.0**power))
    return found


def _common_power(powers: Float64Array) -> int:
    """Return the power of ten that a season of values is of another one; 0 for none."""
    known = powers[~np.isnan(powers)]
    has_few = len(known) < max(3, len(powers) / 2)
    if has_few or np.ptp(known) == 0:  # two levels
        return 0
    power = round(np.median(known))
    half, most = np.quantile(np.abs(known - power), [0.5, 0.9])
    is_power = abs(power) >= _LEAST_POWER and half < 0.4 and most < 0.7
    return power if is_power else 0
