"""Outliers after the fit: by the range of the training rows and the rows before each value."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from skinformer.cleaning.jumps import nearest_expected
from skinformer.cleaning.ranges import COMPACT, NEAR_ZERO, Range
from skinformer.timeline.arrays import BoolArray, Float64Array


class Judged(NamedTuple):
    """Judged values of one column of a series.

    outlying: where outliers are.
    low, high: what is usual there.
    after_rows: whether that is usual after the rows before alone, and other values elsewhere.
    """

    outlying: BoolArray
    low: Float64Array
    high: Float64Array
    after_rows: BoolArray


def n_rows_before(season: int) -> int:
    """Return how many rows before a value tell whether it is an outlier."""
    return 3 * season + 6


@np.errstate(all="ignore")
def judge(
    values: Float64Array, usual: Range, jump_limits: Float64Array, season: int, *, may_grow: bool
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
    after_rows = outlying & (low <= values) & (values <= high)
    near = np.clip([expected - limits, expected + limits], low, high)
    low, high = np.where(after_rows, near, [low, high])
    return Judged(outlying, low, high, after_rows)


def _usual_range(
    values: Float64Array, usual: Range, n_rows: int
) -> tuple[Float64Array, Float64Array]:
    """Return the least and the greatest usual value, the levels of the last rows among them."""
    low = np.full(len(values), usual.low)
    high = np.full(len(values), usual.high)
    if n_rows:
        levels = _levels(values, n_rows)
        low = np.fmin(low, np.fmin.reduce(levels, axis=1))
        high = np.fmax(high, np.fmax.reduce(levels, axis=1))
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


def _levels(values: Float64Array, n_rows: int) -> Float64Array:
    """Return the levels of the last rows at each value, (n, n_rows): medians of five.

    A new level is one from its third row on. NaN where fewer than three values are known.
    """
    windows = np.sort(_trailing(values, 5), axis=1)
    count = (~np.isnan(windows)).sum(axis=1)
    median = windows[np.arange(len(values)), (count - 1) // 2]
    return _trailing(np.where(count >= 3, median, np.nan), n_rows)


def _trailing(values: Float64Array, n: int) -> Float64Array:
    """Return each value behind the n - 1 ones before it, (n_values, n)."""
    return sliding_window_view(np.append(np.full(n - 1, np.nan), values), n)
