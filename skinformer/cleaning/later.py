"""Outliers after the fit: by the range of the training rows and the rows before each value."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.cleaning.jumps import nearest_expected
from skinformer.cleaning.ranges import COMPACT, NEAR_ZERO, Range
from skinformer.timeline.arrays import BoolArray, Float64Array


class Judged(NamedTuple):
    """Judged values of one column of a series.

    outlying: where outliers are.
    low, high: what is usual there.
    """

    outlying: BoolArray
    low: Float64Array
    high: Float64Array


def n_rows_before(season: int) -> int:
    """Return how many rows before a value tell whether it is an outlier."""
    return 3 * season + 6


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
    low, high = _usual_range(values, usual, season if may_grow else 0)
    outlying = _out_of_reach(values, low, high, usual)
    growth = np.maximum(abs(low), abs(high)) / max(abs(usual.low), abs(usual.high))
    limits = growth * np.where(values > 0, jump_limits[:, 0], jump_limits[:, 1])
    for _ in range(2):  # the second time without those that jumped
        before = np.where(outlying, np.nan, values)
        expected = nearest_expected(values, before, season)
        outlying |= np.abs(values - expected) > limits
    jumps = outlying & (low <= values) & (values <= high)
    near = np.clip([expected - limits, expected + limits], low, high)
    low, high = np.where(jumps, near, [low, high])
    return Judged(outlying, low, high)


def _usual_range(
    values: Float64Array, usual: Range, n_rows: int
) -> tuple[Float64Array, Float64Array]:
    """Return the least and the greatest usual value, the levels of the last rows among them.

    A level is the median of five values: a new one counts from its third row on.
    """
    if not n_rows:
        return np.full(len(values), usual.low), np.full(len(values), usual.high)
    last_five = pd.Series(values).rolling(5, min_periods=3)
    levels = last_five.quantile(0.5, interpolation="lower").rolling(
        n_rows, min_periods=1
    )
    low = np.fmin(levels.min().to_numpy(), usual.low)
    high = np.fmax(levels.max().to_numpy(), usual.high)
    return low, high


def _out_of_reach(
    values: Float64Array, low: Float64Array, high: Float64Array, usual: Range
) -> BoolArray:
    """Find values out of reach; next to zero, or below, are those where others stay away from it.

    What grows may double.
    """
    reach = np.maximum(high - low, usual.reach)
    least = low - reach
    if not usual.rare:  # what is sold may come back
        least = np.where(low >= 0, np.maximum(least, -high / 2), least)
        least = np.where(high < COMPACT * low, NEAR_ZERO * low, least)
    return (values < least) | (values > high + reach)
