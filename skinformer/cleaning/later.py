"""Outliers after the fit: by the range of the training rows and the rows before each value."""

from typing import Any

import numpy as np
import pandas as pd

from skinformer.cleaning.jumps import nearest_expected
from skinformer.cleaning.ranges import COMPACT, NEAR_ZERO, Range
from skinformer.timeline.arrays import BoolArray, Float64Array


@np.errstate(all="ignore")
def judge(
    values: Float64Array,
    usual: Range,
    jump_limits: Float64Array,
    season: int,
    *,
    may_grow: bool,
) -> tuple[BoolArray, Float64Array]:
    """Judge values on consecutive steps, each by those before it.

    Return where outliers are, (n,), and the least and the greatest usual value there, (2, n).

    jump_limits: (n, 2), see `fit_jump_limits`.
    may_grow: whether what is usual grows with the levels of a season.
    """
    low = np.full_like(values, usual.low)
    high = np.full_like(values, usual.high)
    if may_grow:
        levels = _last_levels(values, season)
        low = np.fmin(levels.min(), low).to_numpy()
        high = np.fmax(levels.max(), high).to_numpy()
    outlying = _is_out_of_range(values, low, high, usual)
    # Larger values jump farther.
    size = np.maximum(np.abs(low), np.abs(high))
    growth = size / max(abs(usual.low), abs(usual.high))
    limits = np.where(values > 0, jump_limits[:, 0], jump_limits[:, 1])
    limits *= growth
    for _ in range(2):  # the second time without those that jumped
        before = np.where(outlying, np.nan, values)
        expected = nearest_expected(values, before, season)
        outlying |= np.abs(values - expected) > limits
    # Of those that jumped, what is usual lies within a jump of what is expected.
    is_jump = outlying & (low <= values) & (values <= high)
    near = np.clip([expected - limits, expected + limits], low, high)
    return outlying, np.where(is_jump, near, [low, high])


def _last_levels(values: Float64Array, n_rows: int) -> Any:
    """Return the levels of the last rows before each value, in a rolling window.

    A level is the median of five values: a new one counts from its third row on.
    """
    last_five = pd.Series(values).rolling(5, min_periods=3)
    level = last_five.quantile(0.5, interpolation="lower")
    return level.rolling(n_rows, min_periods=1)


def _is_out_of_range(
    values: Float64Array,
    low: Float64Array,
    high: Float64Array,
    usual: Range,
) -> BoolArray:
    """Whether values lie out of range; also next to zero, or below, where others stay away from it.

    What grows may double.
    """
    margin = np.maximum(high - low, usual.margin)
    least = low - margin
    if not usual.is_rare:  # what is sold may come back
        above_zero = np.maximum(least, -high / 2)
        least = np.where(low >= 0, above_zero, least)
        is_compact = high < COMPACT * low
        least = np.where(is_compact, NEAR_ZERO * low, least)
    return (values < least) | (values > high + margin)
