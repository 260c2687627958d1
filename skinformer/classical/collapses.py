"""Collapses that were recovered from: rows far off their season that say nothing of what comes."""

from __future__ import annotations

import numpy as np

from skinformer.classical.past import Past
from skinformer.timeline.arrays import BoolArray, Float64Array

#: Deviations from the usual value of a phase beyond which a row is far off.
_FAR = 6.0
#: Rows far off that make a collapse.
_FEWEST = 2
#: Rows behind it that are as usual.
FEWEST_BEHIND = 3


def recovered_rows(past: Past, season: int) -> BoolArray:
    """
    Find the rows of the one collapse of each window that ended of late, (n, n_rows).

    Parameters
    ----------
    past : Past
        Windows.
    season : int
        Rows of their season, 1 for none.

    Returns
    -------
    ndarray
        Rows of one stretch, a quarter of the known ones at most, that lie far to one side of the
        usual values of their phases. None where other rows do, too: these return, and are no
        accident.
    """
    found = np.zeros(past.values.shape, dtype=bool)
    n_seasons = past.n_rows // season
    fewest = max(4 * season, 24)
    if past.n_rows < fewest:
        return found
    n_known = past.known.sum(axis=1)
    for i, distance in enumerate(_distances(past, season, n_seasons)):
        far = np.flatnonzero(np.abs(distance) > _FAR)
        if len(far) < _FEWEST or n_known[i] < fewest:
            continue
        first, last = far[0], far[-1]
        is_one_side = (np.sign(distance[far]) == np.sign(distance[first])).all()
        is_dense = len(far) >= 0.7 * (last - first + 1)
        is_short = last - first < n_known[i] / 4
        n_behind = past.n_rows - 1 - last
        # One that ended long ago is in the way of nothing, and may be a date of the year.
        is_recent = FEWEST_BEHIND <= n_behind < max(4 * season, 24)
        if is_one_side and is_dense and is_short and is_recent:
            # What leads into it and out of it is off to the same side.
            side = distance * np.sign(distance[first]) > _FAR / 3
            while first > 0 and side[first - 1]:
                first -= 1
            while last < past.n_rows - 1 and side[last + 1]:
                last += 1
            found[i, first : last + 1] = last < past.n_rows - FEWEST_BEHIND
    return found


def _distances(
    past: Past,
    season: int,
    n_seasons: int,
) -> Float64Array:
    """Return how far rows are off the medians of their phases, in usual distances; 0 unknown."""
    whole = past.values[:, past.n_rows - n_seasons * season :]
    by_season = whole.reshape(len(whole), n_seasons, season)
    middle = _median_of_known(by_season, axis=1)
    back = np.arange(past.n_rows) - past.n_rows
    distance = past.values - middle[:, back % season]
    usual = 1.4826 * _median_of_known(np.abs(distance), axis=1)[:, None]
    return np.nan_to_num(distance / np.where(usual > 0, usual, np.inf))


def _median_of_known(values: Float64Array, axis: int) -> Float64Array:
    """Return medians along an axis without NaN; 0 where all are."""
    is_unknown = np.isnan(values).all(axis=axis, keepdims=True)
    known = np.where(is_unknown, 0.0, values)
    return np.asarray(np.nanmedian(known, axis=axis))
