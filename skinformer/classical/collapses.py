"""Collapses that were recovered from: rows far off their season that say nothing of what comes."""

from __future__ import annotations

import numpy as np

from skinformer.classical.past import Past
from skinformer.classical.windows import median_of_known
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Deviations from the usual value of a phase beyond which a row is far off.
_FAR = 6.0
#: Rows far off that make a collapse.
_FEWEST = 2
#: Rows behind it that are known, and as usual.
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
    fewest = max(4 * season, 24)
    if past.n_rows < fewest:
        return found
    n_known = past.known.sum(axis=1)
    distances = _distances(past, season, past.n_rows // season)
    for i in np.flatnonzero(n_known >= fewest):
        collapse = _find_collapse(distances[i], n_known[i], fewest)
        if collapse is not None:
            found[i, collapse] = True
    return found


def _find_collapse(distance: Float64Array, n_known: int, fewest: int) -> slice | None:
    """Return the rows of the one collapse of a window, (n_rows,), that ended of late.

    fewest: rows behind its end at which it ended long ago: it is in the way of nothing then, and
    may be a date of the year.
    """
    far = np.flatnonzero(np.abs(distance) > _FAR)
    if len(far) < _FEWEST:
        return None
    first, last = far[0], far[-1]
    side = np.sign(distance[first])
    is_recent = len(distance) - 1 - last < fewest
    if not is_recent or not _is_one_event(far, distance[far], n_known):
        return None
    # What leads into it and out of it is off to the same side.
    is_usual = np.flatnonzero(distance * side <= _FAR / 3)
    first = is_usual[is_usual < first].max(initial=-1) + 1
    last = is_usual[is_usual > last].min(initial=len(distance)) - 1
    n_behind = np.count_nonzero(~np.isnan(distance[last + 1 :]))
    return slice(first, last + 1) if n_behind >= FEWEST_BEHIND else None


def _is_one_event(far: IntArray, distance: Float64Array, n_known: int) -> bool:
    """Return whether rows far off are on one side, close together, and few beside known ones."""
    is_one_side = (np.sign(distance) == np.sign(distance[0])).all()
    length = far[-1] - far[0]
    is_dense = len(far) >= 0.7 * (length + 1)
    return bool(is_one_side and is_dense and length < n_known / 4)


def _distances(past: Past, season: int, n_seasons: int) -> Float64Array:
    """Return how far rows are off the medians of their phases, in usual distances; NaN unknown."""
    whole = past.values[:, past.n_rows - n_seasons * season :]
    by_season = whole.reshape(len(whole), n_seasons, season)
    middle = median_of_known(by_season, 1, 0.0)
    back = np.arange(past.n_rows) - past.n_rows
    distance = past.values - middle[:, back % season]
    usual = 1.4826 * median_of_known(np.abs(distance), 1, 0.0)[:, None]
    return distance / np.where(usual > 0, usual, np.inf)
