"""Outliers after the fit: by the range of the training rows and the rows before each value."""

import numpy as np
import pandas as pd

from skinformer.cleaning.jumps import nearest_expected
from skinformer.cleaning.ranges import COMPACT, NEAR_ZERO, Range, margin_with_reason
from skinformer.timeline.arrays import BoolArray, Float64Array


@np.errstate(all="ignore")
def judge(
    values: Float64Array,
    usual: Range,
    jump_limits: Float64Array,
    season: int,
    explained: BoolArray,
    *,
    may_grow: bool,
    may_return: bool,
) -> tuple[BoolArray, Float64Array]:
    """Judge values on consecutive steps, each by those before it.

    Return where outliers are, (n,), and the least and the greatest usual value there, (2, n).

    jump_limits: (n, 2), see `fit_jump_limits`.
    explained: which values have a reason to lie far beyond the usual.
    may_grow: whether what is usual grows with the levels of a season.
    may_return: whether what training held is usual everywhere, as it is not at night.
    """
    bounds = _usual_bounds(values, usual, season if may_grow else 0)
    is_possible = explained & _may_have_reason(values, bounds, usual)
    outlying = _is_out_of_range(values, bounds, usual) & ~is_possible
    # Values that are so many times as large as in training jump farther.
    growth = np.abs(bounds).max(axis=0) / np.abs(usual[:2]).max()
    limits = growth * np.where(values > 0, *jump_limits.T)
    if may_return:
        is_possible |= (values >= usual.low) & (values <= usual.high)
    outlying, expected = _with_jumps(values, outlying, is_possible, limits, season)
    # Of those that jumped, what is usual lies within a jump of what is expected.
    low, high = bounds
    is_jump = outlying & (low <= values) & (values <= high)
    near = np.clip([expected - limits, expected + limits], low, high)
    return outlying, np.where(is_jump, near, bounds)


def _with_jumps(
    values: Float64Array,
    outlying: BoolArray,
    is_possible: BoolArray,
    limits: Float64Array,
    season: int,
) -> tuple[BoolArray, Float64Array]:
    """Add values that jump too far to the outliers; return also what is expected without these."""
    for _ in range(2):  # the second time without those that jumped
        before = np.where(outlying, np.nan, values)
        expected = nearest_expected(values, before, season)
        outlying = outlying | ((np.abs(values - expected) > limits) & ~is_possible)
    return outlying, expected


def _usual_bounds(values: Float64Array, usual: Range, n_rows: int) -> Float64Array:
    """Return the least and the greatest usual value, (2, n), the last rows' levels among them.

    A level is the median of five values: a new one counts from its third row on.
    """
    bounds = np.full((len(values), 2), usual[:2]).T
    if not n_rows:
        return bounds
    last_five = pd.Series(values).rolling(5, min_periods=3)
    level = last_five.quantile(0.5, interpolation="lower")
    last_levels = level.rolling(n_rows, min_periods=1)
    bounds[0] = np.fmin(last_levels.min(), bounds[0])
    bounds[1] = np.fmax(last_levels.max(), bounds[1])
    return bounds


def _may_have_reason(
    values: Float64Array, bounds: Float64Array, usual: Range
) -> BoolArray:
    """Whether values lie no farther beyond what is usual than those that have a reason."""
    low, high = bounds
    margin = np.maximum(high - low, usual.margin)
    margin = margin_with_reason(margin, np.abs(bounds).max(axis=0))
    return (values >= low - margin) & (values <= high + margin)


def _is_out_of_range(
    values: Float64Array, bounds: Float64Array, usual: Range
) -> BoolArray:
    """Whether values lie out of range; also next to zero, or below, where others stay away from it.

    What grows may double.
    """
    low, high = bounds
    margin = np.maximum(high - low, usual.margin)
    least = low - margin
    if not usual.is_rare:  # what is sold may come back
        above_zero = np.maximum(least, -high / 2)
        least = np.where(low >= 0, above_zero, least)
        is_compact = high < COMPACT * low
        least = np.where(is_compact, NEAR_ZERO * low, least)
    return (values < least) | (values > high + margin)
