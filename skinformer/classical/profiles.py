"""Seasonal profiles of windows: a number for each place in a season, whatever rows are missing."""

import numpy as np

from skinformer.classical.past import Past
from skinformer.classical.windows import mean_of_known, sums_before, sums_between
from skinformer.timeline.arrays import BoolArray, Float64Array


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
    place = past.places(season)
    n = len(place)
    rows_behind = np.arange(past.n_rows)[::-1]
    age = rows_behind // season
    weight = past.known * decay**age
    weighted = weight * np.nan_to_num(past.values)
    window = np.arange(n)[:, None]
    cell = (window * season + place).ravel()
    total = np.bincount(cell, weighted.ravel(), n * season)
    count = np.bincount(cell, weight.ravel(), n * season)
    with np.errstate(invalid="ignore"):
        means = total / count
    return means.reshape(n, season)


def last_values(past: Past, season: int) -> Float64Array:
    """Return what each place in a season was last: (n, season), NaN where none was observed."""
    place = past.places(season)
    window, row = np.nonzero(past.known)
    shape = len(place), season
    out = np.full(shape, np.nan)
    known_place = place[window, row]
    # The last one stays.
    out[window, known_place] = past.values[window, row]
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
        both = np.stack([before, behind], axis=1)
        out[row, place] = mean_of_known(both)
    return out


def around_level(past: Past, season: int, decay: float) -> Float64Array:
    """Average each place's distance from the moving mean of a season: (n, season), of mean 0."""
    distance = past.values - moving_mean(past.values, season)
    around = Past(distance, past.wall)
    profile = np.nan_to_num(place_means(around, season, decay))
    return profile - profile.mean(axis=1, keepdims=True)


def moving_mean(values: Float64Array, season: int) -> Float64Array:
    """Average a season around each row, where as much of it is known as anywhere; else nearest."""
    cumulated = sums_before(np.nan_to_num(values), ~np.isnan(values))
    half = season // 2
    shorter_half = (season - 1) // 2
    # Twice a season; the first and the last row of an even one count half.
    earlier = _around(cumulated, -half, shorter_half)
    later = _around(cumulated, -shorter_half, half)
    sums, counts = earlier + later
    # Nine tenths of the rows that the best known season has.
    most = counts.max(axis=1, keepdims=True)
    is_enough = counts >= np.maximum(0.9 * most, 1)
    mean = sums / np.where(is_enough, counts, np.nan)
    return _interpolated(mean, is_enough)


def _around(cumulated: Float64Array, first: int, last: int) -> Float64Array:
    """Add up the rows from so far before to so far behind each one, (n_columns, n, n_rows)."""
    n_rows = cumulated.shape[2] - 1
    rows = np.arange(n_rows)
    low = np.clip(rows + first, 0, n_rows)
    high = np.clip(rows + last + 1, 0, n_rows)
    return sums_between(cumulated, low, high)


def _interpolated(values: Float64Array, known: BoolArray) -> Float64Array:
    """Interpolate between known rows, and hold the first and the last one outside."""
    rows = np.arange(values.shape[1])
    has_gaps = known.any(axis=1) & ~known.all(axis=1)
    for i in np.flatnonzero(has_gaps):
        there = rows[known[i]]
        lacking = rows[~known[i]]
        values[i, lacking] = np.interp(lacking, there, values[i, there])
    return values
