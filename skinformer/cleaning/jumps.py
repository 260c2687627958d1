"""Jumps: how far a value lies from what the rows before it lead to expect, at its hour.

A value may be usual at another hour, and a jump at its own: 150 at night where nights have 5. Only
rows after the fit are judged so: the last row before a forecast counts most, and no later one
shows what it is.
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
    rows = np.arange(season + 1, len(values))
    last = before[rows - 1]
    second = before[rows - 2]
    seasonal = before[rows - season]
    continued = last + seasonal - before[rows - season - 1]
    expected = np.stack([last, second, seasonal, continued])
    is_after_gap = np.isnan(last) & np.isnan(second)
    expected[:, is_after_gap] = np.nan
    distance = np.abs(values[rows] - expected)
    distance[np.isnan(distance)] = np.inf
    place = np.argmin(distance, axis=0, keepdims=True)
    nearest = np.full(len(values), np.nan)
    nearest[rows] = np.take_along_axis(expected, place, axis=0)[0]
    return nearest


def fit_jump_limits(
    values: Float64Array, first_step: int, season: int, n_phases: int
) -> Float64Array:
    """Return how far a value may jump at each phase of the season, (n_phases, 2).

    Infinite where few jumps are known, in waves without noise, and where a few jumps are so far
    beyond most, as of prices, that any may come. The second number is for zero and below.
    """
    jumps = np.abs(values - nearest_expected(values, values, season))
    rows = np.flatnonzero(~np.isnan(jumps))
    jumps = jumps[rows]
    known = values[rows]
    has_few = len(rows) < 60  # fewer have not seen a promotion
    if has_few or jumps.max() <= 0.002 * np.ptp(known):
        return np.full((n_phases, 2), np.inf)
    phase = (first_step + rows) % n_phases
    # So many times as far as ever before is too far (notes/robustness.md).
    factor = 2.0 if n_phases > 1 else 10.0
    limits = factor * _farthest_jumps(jumps, phase, n_phases)
    is_lit = np.isin(np.arange(n_phases), phase[known != 0])
    if not is_lit.all():
        limits = _of_nights_that_move(limits)
    zero_limits = limits.copy()
    if _is_count(values):
        had_zero = np.isin(np.arange(n_phases), phase[known <= 0])
        zero_limits[~had_zero] *= 0.15
    return np.column_stack([limits, zero_limits])


def _of_nights_that_move(limits: Float64Array) -> Float64Array:
    """Return at each phase of a day the farthest jump within two hours, as nights shorten.

    >>> _of_nights_that_move(np.arange(24.0))[:5]
    array([23., 23.,  4.,  5.,  6.])
    """
    n_phases = len(limits)
    reach = max(n_phases // 12, 1)
    shifts = range(-reach, reach + 1)
    return np.max([np.roll(limits, shift) for shift in shifts], axis=0)


def _farthest_jumps(
    jumps: Float64Array, phase: IntArray, n_phases: int
) -> Float64Array:
    """Return how far values jump at most at each phase; infinitely far where jumps have no limit.

    The largest jump, in mean jumps of its own phase, may come at any phase.
    """
    counts = np.bincount(phase, minlength=n_phases)
    sums = np.bincount(phase, jumps, n_phases)
    mean = sums / np.maximum(counts, 1)
    mean = np.maximum(mean, 0.05 * mean.mean())
    relative = jumps / mean[phase]
    largest = relative.max()
    common = 4 * np.quantile(relative, 0.95)
    if largest > 3 * common:
        return np.full(n_phases, np.inf)
    farthest = largest * max(largest / common, 1.0)
    return farthest * mean


def _is_count(values: Float64Array) -> bool:
    """Whether values end near their least one, as counts do: a twentieth of them lies there."""
    least, low, middle = np.nanquantile(values, [0, 0.05, 0.5])
    is_near = low - least < 0.2 * (middle - low)
    return least >= 0 and is_near
