"""What the size of errors may go by: volatility, level, and how far outputs lie apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.ensemble.head import Head
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler

#: Rows by which volatility is told, and share of the usual one that is added: none has none.
WIDTH, QUIET = 48, 0.1
#: Level, in means of the series, that is added: an error at level zero is not zero.
_LOW_LEVEL = 0.05
#: Distance of quantiles, standardised, below which the network has said nothing.
_LEAST_APART = 1e-6


class Situation(NamedTuple):
    """What is known before windows.

    values: (n_rows, n_columns), standardised, the targets first.
    begin, end: (n,), the first row that is known before each window, and the row after the last.
    series: (n,), that of each window.
    """

    values: Float32Array
    begin: IntArray
    end: IntArray
    series: IntArray


def features_of(
    outputs: Float64Array, situation: Situation, *, head: Head, quiet: Float64Array, scaler: Scaler
) -> Float64Array:
    """Tell what sizes of errors may depend on: (n, pred_len, n_targets, n_features).

    outputs: (n, pred_len, n_targets, *head.outputs), forecasts, standardised.
    quiet: (n_targets,), volatility that is added.
    scaler: of the fit, and of series that it did not hold.

    Logs of volatility, of level and, of several outputs, of how far these lie apart; NaN where
    there is none.
    """
    points = head.point(outputs)
    changes = volatility(situation, points.shape[2])
    found = [np.broadcast_to(np.log(changes + quiet)[:, None], points.shape)]
    found.append(_levels(points, scaler, situation.series))
    if head.middle is not None:
        apart = np.abs(outputs - points[..., None]).mean(axis=-1)
        found.append(np.log(np.where(apart > _LEAST_APART, apart, np.nan)))
    return np.stack(found, axis=-1)


def volatility(situation: Situation, n_targets: int) -> Float64Array:
    """Give mean absolute changes of targets over the last 48 known rows at most: (n, n_targets).

    NaN where there are not two rows.
    >>> rows, two = np.array([[0.0], [2.0], [2.0]], dtype=np.float32), np.array([0, 0])
    >>> volatility(Situation(rows, np.array([0, 2]), np.array([3, 3]), two), 1).ravel()
    array([ 1., nan])
    """
    values, begin, end, _ = situation
    places = np.maximum(end[:, None] + np.arange(-WIDTH, 0), begin[:, None])
    past = values[np.minimum(places, len(values) - 1), :n_targets].astype(np.float64)
    total = np.abs(np.diff(past, axis=1)).sum(axis=1)
    count = np.minimum(end - begin, WIDTH)[:, None] - 1.0
    mean: Float64Array = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def _levels(points: Float64Array, scaler: Scaler, series: IntArray) -> Float64Array:
    """Give logs of forecasts in means of their series, where these are counts or amounts."""
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
