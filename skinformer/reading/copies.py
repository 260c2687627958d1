"""Columns of X that are y in another scale, as behind a scaler that was given the target, too.

Taken as known ahead such a column would hold the answer: a pipeline on pure noise would have a
score of 1.
"""

from collections.abc import Hashable, Mapping

import numpy as np

from skinformer.reading.targets import Truth
from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.scaling import affine_link
from skinformer.validation import truth as checks

#: Rows without which the same order of two columns may be chance: 1 in 20,000 for eight of them.
_FEWEST_ROWS = 8
#: Rows that settle it for nearly every column; the others are read only for a copy.
_FIRST_ROWS = 64
#: Part of a column's range that single precision may have rounded away.
_ROUNDING = 1e-6


def find_copies(
    columns: Mapping[Hashable, AnyArray], truth: Truth, *, classifies: bool
) -> tuple[Hashable, ...]:
    """
    Find the column of X that is each target up to scale and shift; none if there are none.

    Parameters
    ----------
    columns : mapping of names to arrays of shape (n,)
        X, column by column.
    truth : Truth
        What y holds.
    classifies : bool
        Whether y holds numbers of classes, whose scaled copy is nobody's history.

    Returns
    -------
    tuple
        A column's name for each target, or nothing.

    Raises
    ------
    ValueError
        If a column is a target in a scale that is not straight, such as its logarithm, or if X
        holds copies of some targets alone.
    """
    found: list[Hashable] = []
    for name, y in zip(truth.names, truth.values.T, strict=True):
        if classifies and len(np.unique(y[~np.isnan(y)])) < 3:
            continue  # a yes or no that goes with two classes need not be one
        copies = [column for column, values in columns.items() if _is_copy(values, y)]
        straight = [column for column in copies if affine_link(columns[column], y) is not None]
        if copies and (classifies or not straight):
            checks.raise_copy(copies[0], name, classifies=classifies)
        found += straight[:1]
    if found and len(found) < len(truth.names):
        checks.raise_copy(found[0], None, classifies=False)
    return tuple(found)


def _is_copy(column: AnyArray, y: Float64Array) -> bool:
    """Whether a column is a monotone map of a target that varies, on all rows that hold both."""
    for rows in (slice(_FIRST_ROWS), slice(None)):
        x, values = np.asarray(column[rows], dtype=np.float64), y[rows]
        both = np.flatnonzero(np.isfinite(x) & np.isfinite(values))
        if len(both) >= _FEWEST_ROWS and not _is_monotone_map(x[both], values[both]):
            return False
    return len(both) >= _FEWEST_ROWS and not _goes_by_time(x[both], values[both])


def _is_monotone_map(x: Float64Array, y: Float64Array) -> bool:
    """Whether x is a function of y that rises or falls all the way, with about as many values."""
    order = np.argsort(y, kind="stable")
    x, y = x[order], y[order]
    steps, rounding = np.diff(x), _ROUNDING * np.ptp(x)
    same = np.diff(y) == 0
    n_values = 1 + (np.abs(steps) > rounding).sum()
    return bool(
        (np.abs(steps[same]) <= rounding).all()
        and ((steps >= -rounding).all() or (steps <= rounding).all())
        and n_values >= max(2, (1 + (~same).sum()) / 2)
    )


def _goes_by_time(x: Float64Array, y: Float64Array) -> bool:
    """Whether rows alone explain a column beside a y that rises or falls with every row.

    A trend such as the number of the row, or its logarithm, has the order of such a y, too. The
    middle one of three rows is interpolated between its neighbours: by time, and by y.
    """
    changes = np.diff(y)
    if not ((changes > 0).all() or (changes < 0).all()):
        return False
    errors = (_interpolation_error(x, by) for by in (np.arange(len(x)), y))
    by_time, by_y = errors
    return bool(by_time <= by_y + _ROUNDING * np.ptp(x))


def _interpolation_error(x: Float64Array, by: Float64Array | IntArray) -> float:
    """Compute the mean error of each row of x between its neighbours, along `by`."""
    share = (by[1:-1] - by[:-2]) / (by[2:] - by[:-2])
    between = x[:-2] + share * (x[2:] - x[:-2])
    return float(np.abs(x[1:-1] - between).mean())
