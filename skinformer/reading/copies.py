"""Columns of X that are y in another scale, as behind a scaler that was given the target, too.

Taken as known ahead such a column would hold the answer: a pipeline on pure noise would have a
score of 1.
"""

from collections.abc import Hashable, Mapping

import numpy as np

from skinformer.reading.targets import Targets
from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.roles import Names
from skinformer.timeline.scaling import affine_link
from skinformer.validation import truth as checks

#: Part of a column's range that single precision may have rounded away.
_ROUNDING = 1e-6


def find_copies(
    columns: Mapping[Hashable, AnyArray], y_targets: Targets, *, classifies: bool
) -> Names:
    """
    Find the column of X that is each target up to scale and shift; none if there are none.

    Parameters
    ----------
    columns : mapping of names to arrays of shape (n,)
        X, column by column.
    y_targets : Targets
        Columns of y.
    classifies : bool
        Whether y holds numbers of classes, whose scaled copy is no history.

    Returns
    -------
    tuple
        A column's name for each target, or nothing.

    Raises
    ------
    ValueError
        If a column is a target in a scale that is not linear, such as its logarithm, or if X
        holds copies of some targets alone.
    """
    found = []
    for name, y in zip(y_targets.names, y_targets.values.T, strict=True):
        classes = np.unique(y[~np.isnan(y)])
        if classifies and len(classes) < 3:
            continue  # a yes or no that goes with two classes need not be one
        copies, linear = _find_copies_of(y, columns)
        if copies and (classifies or not linear):
            checks.raise_copy(copies[0], name, classifies=classifies)
        found += linear[:1]
    if found and len(found) < len(y_targets.names):
        checks.raise_copy(found[0], None, classifies=False)
    return tuple(found)


def _find_copies_of(
    y: Float64Array, columns: Mapping[Hashable, AnyArray]
) -> tuple[list[Hashable], list[Hashable]]:
    """Return the columns that are monotone maps of a target, and those that are linear ones."""
    copies = [name for name, column in columns.items() if _is_copy(column, y)]
    linear = [name for name in copies if affine_link(columns[name], y) is not None]
    return copies, linear


def _is_copy(column: AnyArray, y: Float64Array) -> bool:
    """Whether a column is a monotone map of a target that varies, on all rows that hold both."""
    # Fewer may have the same order by chance: eight do in 1 of 20,000 pairs of columns.
    fewest_rows = 8
    # The first rows exclude nearly every column: only others are read to the end.
    for rows in (slice(64), slice(None)):
        x = np.asarray(column[rows], dtype=np.float64)
        values = y[rows]
        is_observed = np.isfinite(x) & np.isfinite(values)
        x = x[is_observed]
        values = values[is_observed]
        is_enough = len(x) >= fewest_rows
        if is_enough and not _is_monotone_map(x, values):
            return False
    return is_enough and not _goes_by_time(x, values)


def _is_monotone_map(x: Float64Array, y: Float64Array) -> bool:
    """Whether x is a function of y that rises or falls all the way, with about as many values."""
    order = np.argsort(y, kind="stable")
    steps = np.diff(x[order])
    is_tie = np.diff(y[order]) == 0
    rounding = _ROUNDING * np.ptp(x)
    is_step = np.abs(steps) > rounding
    is_function = not is_step[is_tie].any()
    rises = (steps >= -rounding).all()
    falls = (steps <= rounding).all()
    n_values = 1 + is_step.sum()
    n_values_of_y = 1 + (~is_tie).sum()
    fewest_values = max(2, n_values_of_y / 2)
    return bool(is_function and (rises or falls) and n_values >= fewest_values)


def _goes_by_time(x: Float64Array, y: Float64Array) -> bool:
    """Whether rows alone explain a column beside a y that rises or falls with every row.

    A trend such as the number of the row, or its logarithm, has the order of such a y, too. The
    middle one of three rows is interpolated between its neighbours: by time, and by y.
    """
    directions = np.sign(np.diff(y))
    if abs(directions.sum()) < len(directions):
        return False
    by_time = _interpolation_error(x, np.arange(len(x)))
    by_y = _interpolation_error(x, y)
    rounding = _ROUNDING * np.ptp(x)
    return bool(by_time <= by_y + rounding)


def _interpolation_error(x: Float64Array, by: Float64Array | IntArray) -> float:
    """Compute the mean error of each row of x between its neighbours, along `by`."""
    to_middle = by[1:-1] - by[:-2]
    to_right = by[2:] - by[:-2]
    share = to_middle / to_right
    rise = x[2:] - x[:-2]
    interpolated = x[:-2] + share * rise
    return np.abs(x[1:-1] - interpolated).mean()
