"""A sensor that hangs: the last rows of a series are alike, where hardly two rows ever were."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.timeline import Table


class Hung(NamedTuple):
    """The last rows of a series, which repeat the one before them.

    row, stop: the first of them, and the row after the last.
    column: of the target.
    value: what they repeat.
    """

    row: int
    stop: int
    column: int
    value: float


def find_hung(table: Table) -> list[Hung]:
    """Find last rows of series that repeat one value too often for a chance.

    table: rows of a fit, sorted by series and step.

    Zeros are none: what is sold no longer, or closed, has them.
    """
    found = []
    for j in range(table.n_targets):
        y = table.columns[j].astype(np.float64)
        for start, stop in zip(table.first_row[:-1], table.first_row[1:], strict=True):
            n_repeated = _count_repeated(y[start:stop])
            if n_repeated:
                found.append(Hung(stop - n_repeated, stop, j, y[stop - 1]))
    return found


def _count_repeated(values: Float64Array) -> int:
    """Count last values that repeat the one before; 0 where they may do so by chance."""
    is_change = np.diff(values) != 0  # also of missing values
    n_repeated = int(np.argmax(np.append(is_change[::-1], True)))
    if n_repeated < 3 or values[-1] == 0:
        return 0
    before = is_change[: len(is_change) - n_repeated]
    # What stands still for a third of all rows has ended, at this value.
    if len(before) < max(20, 2 * n_repeated):
        return 0
    share = (np.count_nonzero(~before) + 1) / (len(before) + 2)
    is_chance = share > 0.1 or share**n_repeated > 1e-8
    return 0 if is_chance else n_repeated
