"""Series whose unit changes: from some row on every value is a power of ten as large."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table

#: Powers of ten that a change of unit makes at least; that most values of an hour differ by; and
#: that half of them exceed, or fall short of.
_LEAST, _APART, _MIDDLE = 3, 0.7, 0.4
_FEWEST = 3  # rows in the new unit
_MOST = 3  # changes of a series
_A_SEASON = 7  # rows at least: a few quarters of an hour near zero look like another unit


class UnitChange(NamedTuple):
    """The first row in another unit, the column, and how many times as large values are there."""

    row: int
    column: int
    factor: float


def in_last_unit(table: Table, *, targets: bool) -> tuple[Table, list[UnitChange]]:
    """Convert every series to the unit of its last rows, and return where it changed.

    table: rows of a fit, sorted by series and step. The same one where nothing changes.
    targets: whether targets may change theirs, too.
    """
    columns, found = list(table.columns), []
    season = next((rows for rows in likely_seasons(table.clock) if rows >= _A_SEASON), 4)
    for j in range(0 if targets else table.n_targets, len(columns)):
        for start, stop in zip(table.first_row[:-1], table.first_row[1:], strict=True):
            for _ in range(_MOST):
                values = columns[j][start:stop].astype(np.float64)
                change = _find(values, season, may_be_still=j < table.n_targets)
                if change is None:
                    break
                at, factor = change
                if columns[j] is table.columns[j]:
                    columns[j] = columns[j].astype(np.float64)
                columns[j][start : start + at] *= factor
                found.append(UnitChange(int(start) + at, j, factor))
    return (replace(table, columns=columns) if found else table), found


def _find(values: Float64Array, season: int, *, may_be_still: bool) -> tuple[int, float] | None:
    """Find the first row in another unit and the factor: each value against a season before."""
    size = np.log10(np.abs(values), out=np.full(len(values), np.nan), where=values != 0)
    change = size[season:] - size[:-season]  # of the rows from `season` on
    change[np.sign(values[season:]) * np.sign(values[:-season]) < 0] = 0  # no unit turns a sign
    far = np.abs(change) > _LEAST - _APART
    for i in np.flatnonzero(far & ~np.append(False, far[:-1])).tolist():
        parts = np.split(change[: i + 2 * season], [max(i - season, 0), i, i + season])[1:]
        before, new, after = (part[~np.isnan(part)] for part in parts)
        if len(new) < _FEWEST or 2 * len(new) < min(season, len(change) - i):
            continue
        power = round(float(np.median(new)))
        there = size[i + season :][:season]
        if (
            abs(power) >= _LEAST
            and (may_be_still or np.nanmin(there) < np.nanmax(there))  # else a level
            and np.abs(np.median(new) - power) < _MIDDLE
            and np.quantile(np.abs(new - power), 0.9) < _APART
            and np.abs(np.median(np.append(before, 0.0))) < 1
            and np.abs(np.median(np.append(after, 0.0))) < 1
        ):
            return i + season, 10.0**power
    return None
