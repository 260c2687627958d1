"""What the size of errors may go by: volatility, level, and how far outputs lie apart."""

import numpy as np

from skinformer.ensemble.head import Head
from skinformer.intervals.spread import mean_of_known
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import window_rows

#: Rows by which volatility is told, and share of the usual one that is added: none has none.
WIDTH, QUIET = 48, 0.1
#: Standardised, below which nothing has moved, and nothing was off.
STILL = 1e-6
#: Level, in means of the series, that is added: an error at level zero is not zero.
_LOW_LEVEL = 0.05
#: Distance of quantiles, standardised, below which the network has said nothing.
_LEAST_APART = 1e-6


def features_of(
    outputs: Float64Array,
    changes: Float64Array,
    series: IntArray,
    *,
    head: Head,
    quiet: Float64Array,
    scaler: Scaler,
) -> Float64Array:
    """Return what sizes of errors may depend on: (n, pred_len, n_targets, n_features).

    outputs: (n, pred_len, n_targets, *head.outputs), forecasts, standardised.
    changes: (n, n_targets), the volatility before each window.
    series: (n,), that of each window.
    quiet: (n_targets,), volatility that is added.
    scaler: of the fit, and of series that it did not hold.

    Logs of volatility, of level and, of several outputs, of how far these lie apart; NaN where
    there is none.
    """
    points = head.point(outputs)
    found = [np.broadcast_to(np.log(changes + quiet)[:, None], points.shape)]
    found.append(_levels(points, scaler, series))
    if head.middle is not None:
        apart = np.abs(outputs - points[..., None]).mean(axis=-1)
        found.append(np.log(np.where(apart > _LEAST_APART, apart, np.nan)))
    return np.stack(found, axis=-1)


def volatility(targets: Float32Array, begin: IntArray, end: IntArray) -> Float64Array:
    """Return mean absolute changes of targets over the last 48 known rows at most: (n, n_targets).

    begin, end: (n,), the first row that is known before each window, and the row after the last.

    NaN where there are not two rows.
    >>> targets = np.array([[0.0], [2.0], [2.0]], dtype=np.float32)
    >>> volatility(targets, np.array([0, 2]), np.array([3, 3])).ravel()
    array([ 1., nan])
    """
    places = window_rows(end - WIDTH, WIDTH)
    past = targets[np.maximum(places, 0)].astype(np.float64)
    past[places < begin[:, None]] = np.nan
    return mean_of_known(np.abs(np.diff(past, axis=1)), axis=1)


def unmoved(errors: Float64Array, changes: Float64Array) -> BoolArray:
    """Return in which windows nothing had moved and nothing came: (n, n_targets).

    They say how far forecasts are off as long as nothing moves, and nothing of what comes once
    something has.

    errors: (n, pred_len, n_targets), of which NaN is unknown; changes: (n, n_targets), before them.
    """
    off = np.nan_to_num(np.abs(errors)).max(axis=1)
    return np.asarray((off < STILL) & (changes < STILL))


def _levels(points: Float64Array, scaler: Scaler, series: IntArray) -> Float64Array:
    """Return logs of forecasts in means of their series, where these are counts or amounts."""
    out = np.zeros(points.shape)
    if scaler.targets is None:
        return out
    k = points.shape[2]
    mean, scale = scaler.mean[series, :k], scaler.scale[series, :k]
    amounts = (scaler.targets.floor[series, :k] == 0) & ~scaler.targets.shaped[series, :k]
    amounts &= mean > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        level = points * (scale / mean)[:, None] + 1.0
    return np.where(amounts[:, None], np.log(np.maximum(level, 0.0) + _LOW_LEVEL), out)
