"""What makes means of forecasts of logarithms, whose exponentials are medians."""

import numpy as np

from skinformer.classical.seasons import adjusted, effects
from skinformer.timeline.arrays import Float64Array, IntArray

#: Factor that counts at most: beyond, logarithms are no scale for the series.
_GREATEST = 2.0


def mean_log_shift(past: Float64Array, length: IntArray, period: int) -> Float64Array:
    """
    Compute half the variance of logarithms around their level, (n,), at most log 2.

    Parameters
    ----------
    past : ndarray of shape (n, seq_len)
        Windows, whose last `length` rows are real.
    length : ndarray of shape (n,)
        Real rows of each window.
    period : int
        Rows of a season, 1 for none.

    Returns
    -------
    ndarray of shape (n,)
        The distance of the logarithm of a log-normal mean from its median; 0 for a window that
        holds anything but positive values.

    Notes
    -----
    The variance around the level is half that of changes from row to row, which no trend and no
    slow movement enlarge. Seasonal effects are taken out first, and what they fit of the noise is
    put back by their degrees of freedom.
    """
    shift = np.zeros(len(past))
    positive = np.flatnonzero(past.min(axis=1) > 0)
    logs, length = np.log(past[positive]), length[positive]
    n_effects: IntArray = np.zeros_like(length)
    if period > 1:
        logs = adjusted(logs, effects(logs, length, period))
        n_effects = np.where(length >= 2 * period, period - 1, 0)
    changes = np.diff(logs, axis=1)
    real = np.arange(changes.shape[1]) >= changes.shape[1] - (length[:, None] - 1)
    count = real.sum(axis=1)
    centred = np.where(real, changes - _row_mean(changes, real)[:, None], 0.0)
    freedom = np.maximum(count - 1 - n_effects, 1)
    shift[positive] = (centred**2).sum(axis=1) / freedom / 4
    return np.minimum(shift, np.log(_GREATEST))


def series_log_shift(logs: Float64Array) -> float:
    """Compute the same of a whole series from its logarithms, (n,): a quarter of its changes'.

    >>> round(series_log_shift(np.array([0.0, 1.0, 0.0, 1.0])), 2)
    0.33
    """
    changes = np.diff(logs)
    if len(changes) < 2:
        return 0.0
    return float(min(changes.var(ddof=1) / 4, np.log(_GREATEST)))


def _row_mean(values: Float64Array, real: Float64Array) -> Float64Array:
    """Average the real values of each row; 0 where there are none."""
    total = np.where(real, values, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(real.sum(axis=1), 1))
