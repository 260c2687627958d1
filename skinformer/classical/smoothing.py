"""Exponential smoothing of many windows by many constants at once.

One recursion in its error form serves simple, Holt's, damped and seasonal smoothing:
``e = y - (l + φ b + s)``, ``l ← l + φ b + α e``, ``b ← φ b + α β e``, ``s ← s + γ (1 - α) e``. A
loop runs over the rows of the windows, never over windows or constants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray


class Grid(NamedTuple):
    """Constants, one of each per candidate; each of shape (n_grid,).

    trending: 1 where a trend is smoothed, else 0.
    """

    alpha: Float64Array
    beta: Float64Array
    phi: Float64Array
    gamma: Float64Array
    trending: Float64Array

    @classmethod
    def of(cls, *constants: tuple[float, float, float, float]) -> Grid:
        """Gather constants of level, trend, damping and season; a damping of 0 means no trend."""
        alpha, beta, phi, gamma = np.array(constants, dtype=np.float64).T
        return cls(alpha, beta, phi, gamma, (phi > 0).astype(np.float64))


class States(NamedTuple):
    """Where smoothing has arrived at the end of the windows.

    level, trend: (n, n_grid).
    season: of the next rows, (period, n, n_grid).
    missed: sums of absolute errors a row ahead, (n, n_grid).
    """

    level: Float64Array
    trend: Float64Array
    season: Float64Array | None
    missed: Float64Array


def line(past: Float64Array, length: IntArray, n_first: int) -> tuple[Float64Array, Float64Array]:
    """Lay a line through the first real rows of windows: its value a row before them, and slope.

    >>> line(np.array([[9.0, 9.0, 11.0, 13.0]]), np.array([3]), 10)
    (array([7.]), array([2.]))
    """
    count = np.minimum(length, n_first).astype(np.float64)
    place = np.arange(past.shape[1]) - (past.shape[1] - length[:, None]) + 1.0
    used = (place >= 1) & (place <= count[:, None])
    middle = (count + 1) / 2
    mean = (past * used).sum(axis=1) / count
    away = (place - middle[:, None]) * used
    # A line through one row is level; products with distances from the mean lose no digits.
    spread = np.maximum((away**2).sum(axis=1), 0.5)
    slope = (away * (past - mean[:, None])).sum(axis=1) / spread
    return mean - slope * middle, slope


def smooth(past: Float64Array, length: IntArray, grid: Grid, start: States) -> States:
    """Run the recursion over windows, the longest first: some ten operations a row and constant.

    start: level a row before the first real one, (n, n_grid), trend, (n,), which is 0 where none is
    smoothed, and first seasonal effects, those of the next rows, (n, period); None for no season.
    """
    n, seq_len = past.shape
    level = start.level + np.zeros((n, len(grid.alpha)))
    trend, missed = start.trend[:, None] * grid.trending, np.zeros_like(level)
    alpha, beta, phi = grid.alpha, grid.alpha * grid.beta, grid.phi
    gamma = grid.gamma * (1 - alpha)
    seasons = None
    if start.season is not None:
        seasons = start.season.T[:, :, None] + np.zeros(len(alpha))
    # Windows are sorted, so those that have begun are the first ones.
    begun = np.searchsorted(-length, -(seq_len - np.arange(seq_len)), side="right")
    for row in range(seq_len):
        k = begun[row]
        if not k:
            continue
        expected = level[:k] + phi * trend[:k]
        error = past[:k, row, None] - expected
        if seasons is not None:
            effect = seasons[(row - seq_len) % len(seasons), :k]
            error -= effect
            effect += gamma * error
        missed[:k] += np.abs(error)
        level[:k] = expected + alpha * error
        trend[:k] = phi * trend[:k] + beta * error
    return States(level, trend, seasons, missed)


def continue_states(states: States, grid: Grid, horizon: int) -> Float64Array:
    """Forecast from where smoothing has arrived: (n, n_grid, horizon)."""
    reach = np.cumsum(grid.phi[:, None] ** np.arange(1, horizon + 1), axis=1)
    out: Float64Array = states.level[:, :, None] + states.trend[:, :, None] * reach
    if states.season is not None:
        places = np.arange(horizon) % len(states.season)
        out += states.season[places].transpose(1, 2, 0)
    return out
