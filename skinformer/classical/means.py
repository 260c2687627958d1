"""What makes means of forecasts of logarithms, whose exponentials are medians."""

import numpy as np

from skinformer.classical.past import Past
from skinformer.classical.profiles import place_means
from skinformer.classical.windows import mean_of_known
from skinformer.timeline.arrays import Float64Array

#: Log of the factor that counts at most: beyond, logarithms are no scale for the series.
_MOST = np.log(2.0)


def mean_log_shift(logs: Past, season: int) -> Float64Array:
    """
    Compute half the variance of logarithms around their level, (n,), at most log 2.

    Parameters
    ----------
    logs : Past
        Windows of logarithms.
    season : int
        Rows of their season, 1 for none.

    Returns
    -------
    ndarray of shape (n,)
        The distance of the logarithm of a log-normal mean from its median.

    Notes
    -----
    The variance around the level is half that of changes from row to row, which no trend and no
    slow movement enlarge. Means of the season's places are taken out first where two seasons are
    known, and what they fit of the noise is put back by their degrees of freedom.
    """
    knows_season = logs.known.sum(axis=1) >= 2 * season
    means = np.nan_to_num(place_means(logs, season))
    means *= knows_season[:, None]
    effects, _ = logs.repeat(means)
    n_effects = (season - 1) * knows_season

    changes = np.diff(logs.values - effects, axis=1)
    n_changes = (~np.isnan(changes)).sum(axis=1)
    mean_change = mean_of_known(changes)
    deviations = changes - mean_change[:, None]
    squares = np.nansum(deviations**2, axis=1)
    freedom = np.maximum(n_changes - 1 - n_effects, 1)
    return np.minimum(squares / freedom / 4, _MOST)


def series_log_shift(logs: Float64Array) -> float:
    """Compute the same of a whole series from its logarithms, (n,): a quarter of its changes'.

    >>> round(series_log_shift(np.array([0.0, 1.0, 0.0, 1.0])), 2)
    0.33
    """
    changes = np.diff(logs)
    return float(min(changes.var(ddof=1) / 4, _MOST))
