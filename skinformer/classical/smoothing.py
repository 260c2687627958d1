"""
Exponential smoothing of many windows by many constants at once.

One recursion in its error form serves simple, Holt's and damped smoothing: ``e = y - (l + φ b)``,
``l ← l + φ b + α e``, ``b ← φ b + α β e``. Where nothing was observed the error is 0. A loop runs
over the rows of the windows, never over windows or constants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.classical.windows import mean_of_known
from skinformer.selection import softmax
from skinformer.timeline.arrays import Float64Array, IntArray


class Grid(NamedTuple):
    """Constants, one of each per candidate; each of shape (n_grid,). No trend: β and φ are 0."""

    alpha: Float64Array
    beta: Float64Array
    phi: Float64Array


class Smoothed(NamedTuple):
    """
    Where smoothing has arrived at the end of the windows.

    Attributes
    ----------
    level, trend : ndarray of shape (n, n_grid)
        At the last row.
    missed : ndarray of shape (n, n_grid)
        Mean absolute error a row ahead.
    n_known : ndarray of shape (n,)
        Rows that were observed.
    """

    level: Float64Array
    trend: Float64Array
    missed: Float64Array
    n_known: Float64Array

    def some(self, part: slice) -> Smoothed:
        """Choose constants."""
        return Smoothed(
            self.level[:, part], self.trend[:, part], self.missed[:, part], self.n_known
        )

    def likely(self, values: Float64Array) -> Float64Array:
        """Average values, (n, n_grid, …), by how likely their constants make the rows of a window.

        These are Akaike's weights, of constants that are equally many.
        """
        least = 1e-9 * self.missed.max(axis=1, keepdims=True) + 1e-300
        log_missed = np.log(self.missed + least)
        # By sixty rows at most constants are told from each other.
        n_rows = np.minimum(self.n_known, 60)
        likelihood = softmax(-n_rows[:, None] * log_missed)
        return np.einsum("ng...,ng->n...", values, likelihood)


def smooth(values: Float64Array, grid: Grid) -> Smoothed:
    """
    Run the recursion over the last 400 rows of windows, up to what was observed last.

    Parameters
    ----------
    values : ndarray of shape (n, n_rows)
        NaN where nothing was observed.
    grid : Grid
        The constants.

    Returns
    -------
    Smoothed
        Level and trend at the last row, and how well each constant did.
    """
    values, n_ahead = _until_last_known(
        values, n_rows=400
    )  # what lies before is forgotten
    level, trend, missed = _run_over_rows(values, grid)
    level, trend = _go_on(level, trend, grid.phi, n_ahead)
    n_known = (~np.isnan(values)).sum(axis=1)
    n_known = np.maximum(n_known, 1.0)
    return Smoothed(level, trend, missed / n_known[:, None], n_known)


def _run_over_rows(
    values: Float64Array, grid: Grid
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return level and trend behind the last row, and the sum of absolute errors, (n, n_grid).

    At each row, with e = 0 where nothing was observed::

        e = value - (level + phi trend)
        level = level + phi trend + alpha e
        trend = phi trend + alpha beta e
    """
    level = np.repeat(_start(values)[:, None], len(grid.alpha), axis=1)
    trend = np.zeros_like(level)
    missed = np.zeros_like(level)
    damped = np.empty_like(level)
    error = np.empty_like(level)
    change = np.empty_like(level)
    beta = grid.alpha * grid.beta
    unknown = np.isnan(values)
    has_unknown = np.asarray(unknown.any(axis=0))
    # PERF: every row writes into the same arrays; new ones took longer than what is computed.
    for i, row in enumerate(values.T):
        np.multiply(grid.phi, trend, out=damped)
        np.add(level, damped, out=level)
        np.subtract(row[:, None], level, out=error)
        if has_unknown[i]:
            error[unknown[:, i]] = 0.0
        np.abs(error, out=change)
        np.add(missed, change, out=missed)
        np.multiply(grid.alpha, error, out=change)
        np.add(level, change, out=level)
        np.multiply(beta, error, out=change)
        np.add(damped, change, out=trend)
    return level, trend, missed


def _until_last_known(
    values: Float64Array, n_rows: int
) -> tuple[Float64Array, IntArray]:
    """Cut windows behind their last known row, to so many rows; return how many lay behind it.

    >>> _until_last_known(np.array([[1.0, 2.0, np.nan]]), 2)
    (array([[1., 2.]]), array([[1]]))
    """
    known = ~np.isnan(values)
    n_behind = known[:, ::-1].argmax(axis=1)[:, None]
    length = values.shape[1]
    column = np.arange(length - min(n_rows, length), length) - n_behind
    cut = np.take_along_axis(values, np.maximum(column, 0), axis=1)
    return np.where(column >= 0, cut, np.nan), n_behind


def _go_on(
    level: Float64Array, trend: Float64Array, phi: Float64Array, n_steps: IntArray
) -> tuple[Float64Array, Float64Array]:
    """Go on by damped trends, (n, n_grid), over steps of which nothing is known, (n, 1)."""
    damped = phi**n_steps
    undamped = np.broadcast_to(n_steps, damped.shape).astype(float)
    reach = np.divide(phi * (1 - damped), 1 - phi, out=undamped, where=phi < 1)
    return level + reach * trend, damped * trend


def _start(values: Float64Array) -> Float64Array:
    """Average the first three known rows, of few rows at most half: (n,)."""
    known = ~np.isnan(values)
    n_first = np.clip(known.sum(axis=1) // 2, 1, 3)
    number = np.cumsum(known, axis=1)
    is_first = number <= n_first[:, None]
    first = mean_of_known(np.where(is_first, values, np.nan))
    return np.nan_to_num(first)


def line(values: Float64Array) -> tuple[Float64Array, Float64Array]:
    """
    Lay a line of least squares through the known rows of windows.

    Returns
    -------
    end, slope : ndarray of shape (n, 1)
        The value at the last row, and the change in a row.

    Examples
    --------
    >>> import numpy as np
    >>> line(np.array([[np.nan, 9.0, np.nan, 13.0]]))
    (array([[13.]]), array([[2.]]))
    """
    place = np.arange(1.0 - values.shape[1], 1.0)
    place = np.where(np.isnan(values), np.nan, place)
    middle = mean_of_known(place)[:, None]
    mean = mean_of_known(values)[:, None]
    away = np.nan_to_num(place - middle)
    deviation = np.nan_to_num(values - mean)
    # A line through one row is level; products with distances from the mean lose no digits.
    spread = (away**2).sum(axis=1, keepdims=True)
    covariance = (away * deviation).sum(axis=1, keepdims=True)
    slope = covariance / np.maximum(spread, 0.5)
    return mean - slope * middle, slope
