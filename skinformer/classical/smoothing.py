"""
Exponential smoothing of many windows by many constants at once.

One recursion in its error form serves simple, Holt's and damped smoothing: ``e = y - (l + φ b)``,
``l ← l + φ b + α e``, ``b ← φ b + α β e``. Where nothing was observed the error is 0. A loop runs
over the rows of the windows, never over windows or constants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.selection import softmax
from skinformer.timeline.arrays import Float64Array

#: Newest rows that are smoothed: what lies before them is forgotten by then.
_MOST_ROWS = 400
#: Known rows whose mean smoothing starts from.
_FIRST_ROWS = 3
#: Rows at most by which constants are told from each other.
_MOST_LIKELY = 60


class Grid(NamedTuple):
    """Constants, one of each per candidate; each of shape (n_grid,). No trend: β and φ are 0."""

    alpha: Float64Array
    beta: Float64Array
    phi: Float64Array

    @classmethod
    def of(cls, *constants: tuple[float, float, float]) -> Grid:
        """Gather constants of level, trend and damping."""
        return cls(*np.array(constants, dtype=np.float64).T)


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
        missed = self.missed + 1e-9 * self.missed.max(axis=1, keepdims=True) + 1e-300
        rows = np.minimum(self.n_known, _MOST_LIKELY)[:, None]
        return np.asarray(
            np.einsum("ng...,ng->n...", values, softmax(-rows * np.log(missed)))
        )


def smooth(values: Float64Array, grid: Grid) -> Smoothed:
    """
    Run the recursion over the last 400 rows of windows.

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
    values = values[:, -_MOST_ROWS:]
    known = ~np.isnan(values)
    level = np.repeat(_start(values, known)[:, None], len(grid.alpha), axis=1)
    trend, missed = np.zeros_like(level), np.zeros_like(level)
    alpha, beta, phi = grid.alpha, grid.alpha * grid.beta, grid.phi
    for row in range(int(known.any(axis=0).argmax()), values.shape[1]):
        expected = level + phi * trend
        error = np.where(known[:, row, None], values[:, row, None] - expected, 0.0)
        missed += np.abs(error)
        level = expected + alpha * error
        trend = phi * trend + beta * error
    count = np.maximum(known.sum(axis=1), 1).astype(np.float64)
    return Smoothed(level, trend, missed / count[:, None], count)


def _start(values: Float64Array, known: Float64Array) -> Float64Array:
    """Average the first known rows, of few rows at most half: (n,)."""
    count = known.sum(axis=1)
    number = np.cumsum(known, axis=1)
    first = known & (number <= np.clip(count // 2, 1, _FIRST_ROWS)[:, None])
    total = np.where(first, values, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(first.sum(axis=1), 1))


class Line(NamedTuple):
    """Lines through windows: the value at the last row, and the change in a row; (n,) each."""

    end: Float64Array
    slope: Float64Array


def line(values: Float64Array) -> Line:
    """
    Lay a line of least squares through the known rows of windows.

    Examples
    --------
    >>> import numpy as np
    >>> line(np.array([[np.nan, 9.0, np.nan, 13.0]]))
    Line(end=array([13.]), slope=array([2.]))
    """
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=1), 1)
    place = np.arange(values.shape[1]) - values.shape[1] + 1.0
    middle = (known * place).sum(axis=1) / count
    mean = np.where(known, values, 0.0).sum(axis=1) / count
    away = np.where(known, place - middle[:, None], 0.0)
    # A line through one row is level; products with distances from the mean lose no digits.
    spread = np.maximum((away**2).sum(axis=1), 0.5)
    slope = (away * np.where(known, values - mean[:, None], 0.0)).sum(axis=1) / spread
    return Line(mean - slope * middle, slope)
