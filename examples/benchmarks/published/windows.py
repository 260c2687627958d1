"""Forecasts from every origin of a series: what benchmarks average over."""

from __future__ import annotations

from typing import Any

import numpy as np

from skinformer.ensemble.windows import Rows
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.timeline import fill_forward


def forecast_windows(estimator: Any, X: Any, origins: IntArray) -> Float64Array:
    """Forecast `pred_len` steps from each of many origins, windows overlapping.

    X: consecutive rows in time order that hold the contexts and what is known ahead.
    origins: the row of each window's first forecast step, ``seq_len`` … ``n_rows - pred_len``.

    `predict` gives each row one forecast, from blocks that do not overlap; published tables average
    over all windows instead. The estimator is fitted on one series in frame or "both" mode. X alone
    is the context: nothing is fed back. All forecasters take part that have a share. Forecasts,
    (n_windows, pred_len, n_targets), are in the targets' units.
    """
    forecaster, table = (
        estimator._forecaster,
        estimator._read_prediction(X).without_outliers(),
    )
    values = np.array(forecaster.observe(table).values)
    fill_forward(values, np.array([0, len(values)]))
    nothing = np.zeros(1, dtype=np.int64)
    segment = np.zeros(len(values), dtype=np.int64)
    known = np.ones((len(values), table.n_targets), dtype=bool)
    rows = Rows(values, segment, table.steps, nothing, known)
    with forecaster._threads():
        forecasts = forecaster.ensemble_forecaster(table.series[:1], table.clock)(
            rows, origins
        )
    # (n_windows * pred_len, n_targets, …).
    outputs = forecasts.reshape(-1, *forecasts.shape[2:])
    series = np.zeros(len(outputs), dtype=np.int64)
    head = estimator.head_
    points: Float64Array = head.point(head.to_units(outputs, estimator.scaler_, series))
    return points.reshape(forecasts.shape[:3])
