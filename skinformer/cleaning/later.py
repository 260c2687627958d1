"""Outliers after the fit: by the range of the training rows and the rows before each value."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.cleaning.jumps import nearest_expected
from skinformer.cleaning.ranges import COMPACT, NEAR_ZERO, Range
from skinformer.timeline.arrays import BoolArray, Float64Array


class Judged(NamedTuple):
    """Judged values of one column of a series, (n,) each.

    outlying: where outliers are.
    low, high: what is usual there.
    """

    outlying: BoolArray
    low: Float64Array
    high: Float64Array


@np.errstate(all="ignore")
def judge(
    values: Float64Array,
    usual: Range,
    jump_limits: Float64Array,
    season: int,
    *,
    may_grow: bool,
) -> Judged:
    """Judge values on consecutive steps, each by those before it.

    jump_limits: (n, 2), see `fit_jump_limits`.
    may_grow: whether what is usual grows with the levels of a season.
    """
    low, high = _usual_bounds(values, usual, season if may_grow else 0)
    outlying = _is_out_of_range(values, low, high, usual)
    limits = np.where(values > 0, jump_limits[:, 0], jump_limits[:, 1])
    limits = limits * _growth(low, high, usual)
    for _ in range(2):  # the second time without those that jumped
        before = np.where(outlying, np.nan, values)
        expected = nearest_expected(values, before, season)
        outlying |= np.abs(values - expected) > limits
    # Of those that jumped, what is usual lies within a jump of what is expected.
    is_jump = outlying & (low <= values) & (values <= high)
    near = np.clip([expected - limits, expected + limits], low, high)
    low, high = np.where(is_jump, near, [low, high])
    return Judged(outlying, low, high)


def _growth(
    low: Float64Array,
    high: Float64Array,
    usual: Range,
) -> Float64Array:
    """Return how many times as large as in training usual values are."""
    size = np.maximum(np.abs(low), np.abs(high))
    return size / max(abs(usual.low), abs(usual.high))


def _usual_bounds(
    values: Float64Array,
    usual: Range,
    n_rows: int,
) -> tuple[Float64Array, Float64Array]:
    """Return the least and the greatest usual value, the levels of the last rows among them.

    A level is the median of five values: a new one counts from its third row on.
    """
    low = np.full(len(values), usual.low)
    high = np.full(len(values), usual.high)
    if n_rows:
        last_five = pd.Series(values).rolling(5, min_periods=3)
        level = last_five.quantile(0.5, interpolation="lower")
        last_levels = level.rolling(n_rows, min_periods=1)
        low = np.fmin(last_levels.min(), low)
        high = np.fmax(last_levels.max(), high)
    return np.asarray(low), np.asarray(high)


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
