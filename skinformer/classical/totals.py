"""Running totals, such as meter readings and cases so far: their changes are what is forecast."""

from itertools import pairwise

import numpy as np

from skinformer.classical.past import Past
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Rises by which a window that never falls is no chance.
_FEWEST_RISES = 12
#: Share of the changes that may be falls, which are corrections.
_MOST_FALLS = 0.01


def find_totals(values: Float64Array) -> BoolArray:
    """
    Find windows that rise and never fall, but for corrections.

    Parameters
    ----------
    values : ndarray of shape (n, n_rows)
        NaN where nothing was observed.

    Returns
    -------
    ndarray of shape (n,)
        Whether each is a running total.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(20.0)
    >>> find_totals(np.stack([rows, rows % 10, np.maximum(rows, 15)])).tolist()
    [True, False, False]
    """
    changes = np.diff(values, axis=1)
    n_known = (~np.isnan(changes)).sum(axis=1)
    n_falls = (changes < 0).sum(axis=1)
    n_rises = (changes > 0).sum(axis=1)
    return (n_rises >= _FEWEST_RISES) & (n_falls <= _MOST_FALLS * n_known)


def has_totals(
    values: Float64Array, known: BoolArray, first_row: IntArray, n_rows: int
) -> bool:
    """Return whether a series is a running total in the last rows that are looked back at.

    values, known: rows of series, series after series, and which of them were observed.
    first_row: (n_series + 1,), the first row of each series, and the row behind the last.
    n_rows: how far is looked back.
    """
    observed = np.where(known, values, np.nan)
    for start, stop in pairwise(first_row.tolist()):
        recent = observed[max(start, stop - n_rows) : stop]
        if find_totals(recent[None])[0]:
            return True
    return False


def changes_of(totals: Past) -> Past:
    """Return windows of the changes from one row to the next; NaN beside what was not observed."""
    return Past(np.diff(totals.values, axis=1), totals.wall[:, 1:])


def add_up(totals: Past, changes: Float64Array) -> Float64Array:
    """
    Go on from the last known rows by changes ahead, none of which is a fall.

    Parameters
    ----------
    totals : Past
        Windows.
    changes : ndarray of shape (n, n_candidates, horizon)
        What is forecast of their changes.

    Returns
    -------
    ndarray of shape (n, n_candidates, horizon)
        The totals ahead. In last rows that were not observed they rise by the mean change ahead.
    """
    rises = np.maximum(changes, 0.0)
    n_unknown = totals.n_rows - 1 - totals.last[:, None]
    now = totals.last_value[:, None] + n_unknown * rises.mean(axis=2)
    return now[:, :, None] + np.cumsum(rises, axis=2)
