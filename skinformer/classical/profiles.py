"""Seasonal profiles of windows: a number for each place in a season, whatever rows are missing."""

import numpy as np

from skinformer.classical.past import Past
from skinformer.classical.windows import sums_before
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


def place_means(
    past: Past,
    season: int,
    decay: float = 1.0,
) -> Float64Array:
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
    weighed = weight * np.nan_to_num(past.values)
    cell = (np.arange(n)[:, None] * season + place).ravel()
    total = np.bincount(cell, weighed.ravel(), n * season)
    count = np.bincount(cell, weight.ravel(), n * season)
    means = total / np.where(count > 0, count, np.nan)
    return means.reshape(n, season)


def last_values(past: Past, season: int) -> Float64Array:
    """Return what each place in a season was last: (n, season), NaN where none was observed."""
    place, _ = past.places(season)
    window, row = np.nonzero(past.known)
    out = np.full((len(past.values), season), np.nan)
    known_place = place[window, row]
    out[window, known_place] = past.values[window, row]  # the last one stays
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


def around_level(
    past: Past,
    season: int,
    decay: float,
) -> Float64Array:
    """Average each place's distance from the moving mean of a season: (n, season), of mean 0."""
    distance = past.values - _moving_mean(past.values, season)
    profile = np.nan_to_num(place_means(past.replaced(distance), season, decay))
    return profile - profile.mean(axis=1, keepdims=True)


def at(profile: Float64Array, place: IntArray) -> Float64Array:
    """Read profiles, (n, season), at places, (n, k)."""
    return np.take_along_axis(profile, place, axis=1)


def _moving_mean(values: Float64Array, season: int) -> Float64Array:
    """Average a season around each row, where as much of it is known as anywhere; else nearest."""
    cumulated = sums_before(np.nan_to_num(values), ~np.isnan(values))
    half = season // 2
    if season % 2 == 1:
        sums, counts = _around(cumulated, -half, half)
    else:
        # The first and the last row count half.
        sums, counts = _around(cumulated, -half, half - 1)
        later_sums, later_counts = _around(cumulated, 1 - half, half)
        sums, counts = sums + later_sums, counts + later_counts
    # Nine tenths of the rows that the best known season has.
    least = np.maximum(0.9 * counts.max(axis=1, keepdims=True), 1)
    enough = counts >= least
    mean = sums / np.where(enough, counts, np.nan)
    return _interpolated(mean, np.asarray(enough))


def _around(
    cumulated: Float64Array,
    first: int,
    last: int,
) -> Float64Array:
    """Add up the rows from so far before to so far behind each one, (n_columns, n, n_rows)."""
    n_rows = cumulated.shape[2] - 1
    rows = np.arange(n_rows)
    low = np.clip(rows + first, 0, n_rows)
    high = np.clip(rows + last + 1, 0, n_rows)
    return cumulated[:, :, high] - cumulated[:, :, low]


def _interpolated(values: Float64Array, known: BoolArray) -> Float64Array:
    """Interpolate between known rows, and hold the first and the last one outside."""
    rows = np.arange(values.shape[1])
    for i in np.flatnonzero(known.any(axis=1) & ~known.all(axis=1)):
        there = rows[known[i]]
        values[i] = np.interp(rows, there, values[i, there])
    return values
