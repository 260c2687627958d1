"""Windows of a panel, right-aligned: the newest row is the last column, older ones may be missing.

Throughout, ``past`` has shape (n, seq_len), and ``length``, (n,), says how many of its last rows
are real. A window that begins before its series is padded on the left by the series' first value,
so that every function here meets numbers only; what the padding holds never reaches a forecast.
``values`` are the rows of all series, (n_rows,), series after series.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from skinformer.algebra import solution
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import real_rows


class SeriesRows(NamedTuple):
    """
    Rows of series in their own units, series after series.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        What was not observed is filled.
    known : ndarray of shape (n_rows,)
        Which rows were observed.
    steps : ndarray of shape (n_rows,)
        Their steps on the clock.
    first_row : ndarray of shape (n_series + 1,)
        Series i holds rows ``first_row[i]`` … ``first_row[i + 1] - 1``.
    clock : Clock
        What the steps count.
    """

    values: Float64Array
    known: BoolArray
    steps: IntArray
    first_row: IntArray
    clock: Clock

    @property
    def wall(self) -> IntArray:
        """The steps of rows on the clock on the wall."""
        return self.clock.wall_steps(self.steps)


class UnitWindows(NamedTuple):
    """
    Windows of series in their own units, and where they lie in time.

    Attributes
    ----------
    past : ndarray of shape (n, seq_len)
        Rows before each forecast; what was not observed is filled.
    length : ndarray of shape (n,)
        How many of the last rows are real, at least one.
    known : ndarray of shape (n, seq_len)
        Which rows were observed.
    steps : ndarray of shape (n,)
        The step of each origin on the clock.
    series : ndarray of shape (n,)
        The series of each window; -1 is one that the fit did not hold.
    clock : Clock
        What the steps count.
    """

    past: Float64Array
    length: IntArray
    known: BoolArray
    steps: IntArray
    series: IntArray
    clock: Clock


def mean_of_known(values: Float64Array) -> Float64Array:
    """Average rows, (n, k), of which some values are NaN, as it is where all of them are."""
    total = np.nansum(values, axis=1)
    count = (~np.isnan(values)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / count


def median_of_known(values: Float64Array, axis: int, otherwise: float) -> Float64Array:
    """Return medians along an axis without NaN; another value where all are."""
    is_unknown = np.isnan(values).all(axis=axis, keepdims=True)
    known = np.where(is_unknown, otherwise, values)
    return np.asarray(np.nanmedian(known, axis=axis))


def sums_before(*columns: Float64Array) -> Float64Array:
    """Add up the rows before each one, (n_columns, n, n_rows + 1), of columns, (n, n_rows)."""
    sums = np.cumsum(np.stack(columns), axis=2)
    return np.pad(sums, ((0, 0), (0, 0), (1, 0)))


def sums_between(sums: Float64Array, begin: IntArray, end: IntArray) -> Float64Array:
    """Add up the rows from some on to others, (n_columns, n, n_begins), by `sums_before`."""
    # PERF: `take` is several times as fast as an index.
    return sums.take(end, axis=2) - sums.take(begin, axis=2)


def bounded(forecast: Float64Array, values: Float64Array) -> Float64Array:
    """Clip forecasts, (n, n_candidates, horizon), to what windows hold and as much around it.

    values: (n, n_rows); NaN is unknown.
    """
    low = np.nanmin(values, axis=1)[:, None, None]
    high = np.nanmax(values, axis=1)[:, None, None]
    spread = high - low
    return np.clip(forecast, low - spread, high + spread)


def row_products(rows: Float64Array, maps: Float64Array) -> Float64Array:
    """Multiply rows, (..., p), by a matrix; a row's rounding does not depend on those beside it.

    PERF: five times as long as by BLAS, whose rounding goes by the number of rows, and a forecast
    must not depend on which others are asked for.
    >>> row_products(np.array([[1.0, 2.0]]), np.eye(2))
    array([[1., 2.]])
    """
    return np.einsum("...p,ph->...h", rows, maps)


def ridge_maps(
    gram: Float64Array, cross: Float64Array, strengths: Iterable[float]
) -> Float64Array:
    """Solve ridges of strengths in mean squares of a feature, (n_strengths, n_features, …)."""
    mean = np.trace(gram) / len(gram) or 1.0
    unit = mean * np.eye(len(gram))
    maps = [solution(gram + strength * unit, cross) for strength in strengths]
    return np.stack(maps)


def padded(past: Float64Array, length: IntArray) -> Float64Array:
    """Copy windows, with each one's first real value over its padding, which may hold NaN."""
    seq_len = past.shape[1]
    first = seq_len - length[:, None]
    columns = np.maximum(np.arange(seq_len), first)
    return np.take_along_axis(past, columns, axis=1)


def unit_of(past: Float64Array, length: IntArray, period: int) -> Float64Array:
    """Measure each window by its mean absolute seasonal difference, which a trend does not blow up.

    A window of no more rows than a season is measured by differences of neighbours. The unit, (n,),
    is above 0: where nothing changes a trillionth of the values, or 1 where they are all 0.
    """
    lag = np.where(length > period, period, 1)
    n_rows = past.shape[1]
    change = np.zeros_like(past)
    for some_lag in np.unique(lag):
        some = lag == some_lag
        rows = past if some.all() else past[some]
        change[some, some_lag:] = np.abs(rows[:, some_lag:] - rows[:, :-some_lag])
    n_changes = length - lag
    total = (change * real_rows(n_changes, n_rows)).sum(axis=1)
    unit = total / np.maximum(n_changes, 1)
    least = 1e-12 * np.abs(past).max(axis=1)
    return np.where(least > 0, np.maximum(unit, least), 1.0)
