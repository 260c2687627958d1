"""Jumps: how far a value lies from what the rows before it lead to expect, at its hour.

A value may be usual at another hour, and a jump at its own: 150 at night where nights have 5. Only
rows after the fit are judged so: the last row before a forecast counts most, and nothing after it
tells what it is.
"""

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray


def nearest_expected(
    values: Float64Array, before: Float64Array, season: int
) -> Float64Array:
    """Return for each value the nearest one of those expected there, (n,); NaN for none.

    before: likewise, the values that count for what is expected.

    Expected are the last value, the one before, that of the same hour a season ago, and the last
    one changed as a season ago. None is after a gap.
    """
    nearest = np.full(len(values), np.nan)
    rows = np.arange(season + 1, len(values))
    last, second, same, earlier = (
        before[rows - lag] for lag in (1, 2, season, season + 1)
    )
    expected = np.stack([last, second, same, last + same - earlier])
    expected[:, np.isnan(last) & np.isnan(second)] = np.nan
    distance = np.abs(values[rows] - expected)
    place = np.argmin(np.where(np.isnan(distance), np.inf, distance), axis=0)
    nearest[rows] = expected[place, np.arange(len(rows))]
    return nearest


def fit_jump_limits(
    values: Float64Array, first_step: int, season: int, n_phases: int
) -> Float64Array:
    """Return how far a value may jump at each phase of the season, (n_phases, 2).

    Infinite where few jumps are known, in waves without noise, and where a few jumps are so far
    beyond most, as of prices, that any may come. The second number is for zero and below.
    """
    limits = np.full((n_phases, 2), np.inf)
    jumps = np.abs(values - nearest_expected(values, values, season))
    rows = np.flatnonzero(~np.isnan(jumps))
    jumps = jumps[rows]
    if len(rows) < 60:  # fewer have not seen a promotion
        return limits
    if jumps.max() <= 0.002 * np.ptp(values[rows]):
        return limits
    phase = (first_step + rows) % n_phases
    farthest = _farthest(jumps, phase, n_phases)
    # So many times as far as ever before is too far (docs/laboratory/robustness.md).
    factor = 2.0 if n_phases > 1 else 10.0
    limits[:] = factor * farthest[:, None]
    if _is_count(values):
        had_none = np.ones(n_phases, dtype=bool)
        had_none[phase[values[rows] <= 0]] = False
        limits[had_none, 1] *= 0.15
    return limits


def _farthest(jumps: Float64Array, phase: IntArray, n_phases: int) -> Float64Array:
    """Return how far values jump at most at each phase; infinitely far where jumps have no limit.

    The largest jump, in mean jumps of its own phase, may come at any phase.
    """
    counts = np.bincount(phase, minlength=n_phases)
    mean = np.bincount(phase, jumps, n_phases) / np.maximum(counts, 1)
    mean = np.maximum(mean, 0.05 * mean.mean())
    relative = jumps / mean[phase]
    largest = relative.max()
    common = 4 * np.quantile(relative, 0.95)
    if largest > 3 * common:
        return np.full(n_phases, np.inf)
    return max(largest / common, 1.0) * largest * mean


def _is_count(values: Float64Array) -> bool:
    """Whether values end near their least one, as counts do: a twentieth of them lies there."""
    least, low, middle = np.nanquantile(values, [0, 0.05, 0.5])
    return bool(least >= 0 and low - least < 0.2 * (middle - low))
