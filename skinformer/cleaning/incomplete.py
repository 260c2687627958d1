"""An incomplete last period: the week, day or hour in which the file was written.

Its sum is far below what was ever that far below the rows before it and those of a season before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.cleaning.jumps import nearest_expected
from skinformer.timeline.arrays import BoolArray, Float64Array
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table

#: Jumps, the last one among them: of fewer, one half as far again as all others may be chance. Two
#: ends of 13 and 14 rows in public panels were taken for incomplete that were none.
_FEWEST_JUMPS = 20


class Incomplete(NamedTuple):
    """The last row of a series, and the target whose sum is not complete there.

    value, expected: what stands there, and the nearest of what was to be expected.
    """

    row: int
    column: int
    value: float
    expected: float


@np.errstate(all="ignore")
def find_incomplete(table: Table, explained: BoolArray) -> list[Incomplete]:
    """Find last rows that hold a part of their period alone.

    table: rows of a fit, sorted by series and step.
    explained: (n,), rows that a column known ahead explains.

    All series of a panel that end at its last step are incomplete there if their mean is.
    """
    if not table.clock.dated:
        return []
    last_row = table.first_row[1:] - 1
    found = []
    for j in range(table.n_targets):
        y = table.columns[j].astype(np.float64)
        parts = table.by_series(y)
        season = next(iter(likely_seasons(table.clock)), 1)
        all_last = _is_incomplete(_mean_of_series(table, y), season)[0]
        for row, values in zip(last_row, parts, strict=True):
            is_one, expected = _is_incomplete(values, season)
            is_last_step = table.steps[row] == table.steps.max()
            is_of_all = all_last and is_last_step and values[-1] < expected
            if (is_one or is_of_all) and not explained[row]:
                found.append(Incomplete(row, j, values[-1], expected))
    return found


def _is_incomplete(values: Float64Array, season: int) -> tuple[bool, float]:
    """Whether the last value is too far below the nearest one expected, and this one.

    It is below three quarters of that, and by half as far again as ever before.
    """
    if len(values) < season + 12:  # fewer jumps say nothing
        season = 1
    expected = nearest_expected(values, values, season)
    jumps = expected - values
    is_known = ~np.isnan(jumps)
    last = expected[-1] if len(expected) else np.nan
    if (
        np.count_nonzero(is_known) < _FEWEST_JUMPS
        or not is_known[-1]
        or np.nanmin(values) < 0
    ):
        return False, last
    farthest = np.abs(jumps[:-1][is_known[:-1]]).max()
    is_far = jumps[-1] > 1.5 * farthest > 0
    return bool(is_far and values[-1] < 0.75 * last), last


def _mean_of_series(table: Table, y: Float64Array) -> Float64Array:
    """Return the mean of series at each step, each in units of its mean; none of one series."""
    parts = table.by_series(y)
    if len(parts) < 2:
        return np.empty(0)
    # Of series that were never observed nothing is known.
    means = np.full(len(parts), np.nan)
    for number, part in enumerate(parts):
        if np.isfinite(part).any():
            means[number] = np.nanmean(part)
    relative = y / means[table.series]
    is_known = np.isfinite(relative)
    step = table.steps[is_known] - table.steps.min()
    total = np.bincount(step, relative[is_known])
    return np.asarray(total / np.bincount(step))
