"""Holes in covariates: rows that lack a value, filled by the last one before them."""

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import AnyArray, BoolArray, IntArray
from skinformer.timeline.windows import repeat_numbers

#: In place of a length, where a column has no value at all.
ENDLESS = -1


def find_holes(column: AnyArray) -> BoolArray | None:
    """Return where a column lacks values; None where it lacks none."""
    if column.dtype.kind != "f":
        return None
    missing = np.isnan(column)
    return missing if missing.any() else None


def longest_hole(missing: BoolArray | None, first_row: IntArray) -> int:
    """Count the most rows in a row of one series that lack a value; `ENDLESS` where all rows do.

    >>> longest_hole(np.array([True, False, True, True, True]), np.array([0, 3, 5]))
    2
    """
    if missing is None:
        return 0
    if missing.all():
        return ENDLESS
    is_known = ~missing
    is_known[first_row[:-1][np.diff(first_row) > 0]] = True
    starts = np.append(np.flatnonzero(is_known), len(missing))
    n_rows = np.diff(starts) - 1
    # The first row of a series may be missing itself.
    return int((n_rows + missing[starts[:-1]]).max(initial=0))


def fill_holes(column: AnyArray, first_row: IntArray) -> AnyArray:
    """Fill holes by the last value before them in their series.

    Before the first one the median of the series stands, in a series without any that of all, and
    zero where nothing is known at all.

    >>> nan = np.nan
    >>> fill_holes(np.array([nan, 2, nan, 4, nan, nan]), np.array([0, 4, 6]))
    array([3., 2., 2., 4., 3., 3.])
    """
    rows = pd.Series(column)
    by_series = rows.groupby(repeat_numbers(np.diff(first_row)))
    filled = by_series.ffill()
    if filled.isna().any():
        filled = filled.fillna(by_series.transform("median"))
        of_all = rows.dropna().median()  # of nothing pandas 2 warns
        filled = filled.fillna(of_all).fillna(0.0)
    return filled.to_numpy(dtype=column.dtype)
