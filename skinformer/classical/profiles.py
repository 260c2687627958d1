"""Seasonal profiles of windows: a number for each place in a season, whatever rows are missing."""

import numpy as np

from skinformer.classical.past import Past
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Part of the rows that the best known season has, which another one needs for its mean.
_ENOUGH = 0.9


def place_means(past: Past, season: int, decay: float = 1.0) -> Float64Array:
    """
    Average each place in a season: (n, season), NaN where none was observed.

    Parameters
    ----------
    past : Past
        Windows.
    season : int
        Its rows.
    decay : float, default=1.0
        What a season counts for beside the next one.
    """
    place, _ = past.places(season)
    n, n_rows = past.values.shape
    age = (n_rows - 1 - np.arange(n_rows)) // season
    weight = past.known * decay**age
    cell = (np.arange(n)[:, None] * season + place).ravel()
    weighed = (weight * np.nan_to_num(past.values)).ravel()
    total = np.bincount(cell, weighed, n * season).reshape(n, season)
    count = np.bincount(cell, weight.ravel(), n * season).reshape(n, season)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def last_values(past: Past, season: int) -> Float64Array:
    """Return what each place in a season was last: (n, season), NaN where none was observed."""
    place, _ = past.places(season)
    window, row = np.nonzero(past.known)
    out = np.full((len(past.values), season), np.nan)
    out[window, place[window, row]] = past.values[window, row]  # the last one stays
    return out


def nearest(profile: Float64Array) -> Float64Array:
    """
    Fill places that were never observed by the value of the nearest place that was.

    Examples
    --------
    >>> import numpy as np
    >>> nearest(np.array([[1.0, np.nan, np.nan, np.nan, 5.0]]))
    array([[1., 1., 3., 5., 5.]])
    """
    out = profile.copy()
    n_places = profile.shape[1]
    for distance in range(1, n_places // 2 + 1):
        row, place = np.nonzero(np.isnan(out))
        if not len(row):
            break
        before = profile[row, (place - distance) % n_places]
        behind = profile[row, (place + distance) % n_places]
        # The mean of both where both are known, else the one that is.
        before = np.where(np.isnan(before), behind, before)
        behind = np.where(np.isnan(behind), before, behind)
        out[row, place] = (before + behind) / 2
    return out


def around_level(past: Past, season: int, decay: float) -> Float64Array:
    """Average each place's distance from the moving mean of a season: (n, season), of mean 0."""
    distance = past.values - _moving_mean(past.values, season)
    profile = np.nan_to_num(place_means(past.replaced(distance), season, decay))
    return np.asarray(profile - profile.mean(axis=1, keepdims=True))


def at(profile: Float64Array, place: IntArray) -> Float64Array:
    """Read profiles, (n, season), at places, (n, k)."""
    return np.take_along_axis(profile, place, axis=1)


def _moving_mean(values: Float64Array, season: int) -> Float64Array:
    """Average a season around each row, where as much of it is known as anywhere; else nearest."""
    known = ~np.isnan(values)
    total, count = (
        _cumulated(np.nan_to_num(values)),
        _cumulated(known.astype(np.float64)),
    )
    half, even = season // 2, season % 2 == 0
    # Of an even season the first and the last row count half.
    spans = [(-half, half - 1), (1 - half, half)] if even else [(-half, half)]
    sums = np.sum([_between(total, *span) for span in spans], axis=0)
    counts = np.sum([_between(count, *span) for span in spans], axis=0)
    enough = np.asarray(
        counts >= np.maximum(_ENOUGH * counts.max(axis=1, keepdims=True), 1)
    )
    mean = np.divide(sums, counts, out=np.full_like(values, np.nan), where=enough)
    return _interpolated(mean, enough)


def _cumulated(values: Float64Array) -> Float64Array:
    return np.concatenate(
        [np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1
    )


def _between(cumulated: Float64Array, first: int, last: int) -> Float64Array:
    """Add up the rows from so far before to so far behind each one."""
    n_rows = cumulated.shape[1] - 1
    low = np.clip(np.arange(n_rows) + first, 0, n_rows)
    high = np.clip(np.arange(n_rows) + last + 1, 0, n_rows)
    return np.asarray(cumulated[:, high] - cumulated[:, low])


def _interpolated(values: Float64Array, known: BoolArray) -> Float64Array:
    """Interpolate between known rows, and hold the first and the last one outside."""
    rows = np.arange(values.shape[1])
    for i in np.flatnonzero(known.any(axis=1) & ~known.all(axis=1)):
        values[i] = np.interp(rows, rows[known[i]], values[i, known[i]])
    return values
