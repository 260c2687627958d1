"""Features of windows that predict the size of errors: volatility, level, distance of outputs."""

import numpy as np

from skinformer.intervals.spread import mean_of_known, mean_size
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import window_rows

#: Rows before an origin over which volatility is averaged.
WIDTH = 48
#: Standardised change, or error, below which there is none. Windows before which nothing moved tell
#: nothing of what comes once something has.
STILL = 1e-6


def features_of(
    forecaster: StepForecaster,
    outputs: Float64Array,
    changes: Float64Array,
    series: IntArray,
    volatility_floor: Float64Array,
) -> Float64Array:
    """Compute features that sizes of errors depend on: (n, pred_len, n_targets, n_features).

    outputs: (n, pred_len, n_targets, *head.outputs), forecasts, standardised.
    changes: (n, n_targets), the volatility before each window.
    series: (n,), that of each window; the one behind all others is new to the fit.
    volatility_floor: (n_targets,), volatility that is added.

    Logs of volatility, of level and, of several outputs, of how far these lie apart; NaN where
    there is none.
    """
    # Below this distance of quantiles the network has learnt nothing.
    least_apart = 1e-6
    head = forecaster.head
    points = head.point(outputs)
    scaler = forecaster.scaler.with_unseen()
    log_volatility = np.log(changes + volatility_floor)[:, None]
    features = [
        np.broadcast_to(log_volatility, points.shape),
        _log_levels(points, scaler, series),
    ]
    if head.median_index is not None:
        apart = np.abs(outputs - points[..., None]).mean(axis=-1)
        apart[apart <= least_apart] = np.nan
        features.append(np.log(apart))
    return np.stack(features, axis=-1)


def volatility(targets: Float32Array, begin: IntArray, end: IntArray) -> Float64Array:
    """Compute mean absolute changes of targets over the last 48 known rows at most: (n, n_targets).

    begin, end: (n,), the first row that is known before each window, and the row after the last.

    NaN where there are not two rows.
    >>> targets = np.array([[0.0], [2.0], [2.0]], dtype=np.float32)
    >>> volatility(targets, np.array([0, 2]), np.array([3, 3])).ravel()
    array([ 1., nan])
    """
    places = window_rows(end - WIDTH, WIDTH)
    past = targets[np.maximum(places, 0)].astype(np.float64)
    past[places < begin[:, None]] = np.nan
    return mean_size(np.diff(past, axis=1), axis=1)


def fit_volatility_floor(changes: Float64Array) -> Float64Array:
    """Return what is added to the volatility of windows, (n_targets,), since 0 has no logarithm."""
    share = 0.1  # of the usual one
    usual = np.nan_to_num(mean_of_known(changes, axis=0))
    return share * usual + 1e-9


def _log_levels(points: Float64Array, scaler: Scaler, series: IntArray) -> Float64Array:
    """Compute logs of forecasts in means of their series, where these are counts or amounts."""
    low_level = 0.05  # is added: an error at level zero is not zero
    units = scaler.targets
    n_targets = points.shape[2]
    mean = scaler.mean[series, :n_targets]
    scale = scaler.scale[series, :n_targets]
    is_transformed = units.is_transformed[series]
    is_amount = (units.floor[series] == 0) & ~is_transformed & (mean > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = points * (scale / mean)[:, None] + 1.0
    logs = np.log(np.maximum(level, 0.0) + low_level)
    return np.where(is_amount[:, None], logs, 0.0)
