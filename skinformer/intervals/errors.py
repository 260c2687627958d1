"""Errors of forecasts from windows of the history."""

from typing import NamedTuple

import numpy as np

from skinformer.ensemble.windows import Rows
from skinformer.intervals.collapses import Collapses
from skinformer.intervals.spread import mean_size
from skinformer.judging.proof import Proved
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import window_rows


class WindowForecasts(NamedTuple):
    """Forecasts of windows, and how far they were off.

    outputs: (n, horizon, n_targets, *shape), standardised.
    errors: (n, horizon, n_targets), the truth less the forecast; NaN is unknown. Where a series is
    always zero there are none, which would say that all others are small; nor inside of a fall that
    was recovered from, which would say that all others are large.
    """

    outputs: Float64Array
    errors: Float64Array


def forecast_windows(
    forecaster: StepForecaster, origins: IntArray, horizon: int | None = None
) -> WindowForecasts:
    """Forecast windows of the history, and compare them with it.

    origins: (n,), their first forecast rows.
    horizon: steps of each; None is `pred_len`.
    """
    n = len(origins)
    horizon = horizon or forecaster.sizes.pred_len
    flat, _ = forecast_origins(forecaster, origins, np.full(n, horizon))
    outputs = flat.reshape(n, horizon, *flat.shape[1:])
    errors = _errors_of(forecaster, origins, forecaster.point(outputs))
    return WindowForecasts(outputs, errors)


def proved_errors(forecaster: StepForecaster, proved: Proved) -> Float64Array:
    """Return errors of what was proved, (n, pred_len, n_targets), see `WindowForecasts`.

    forecaster: the final one, whose weights and bounds make a joint forecast of it.
    """
    timeline = forecaster.history
    rows = Rows(
        timeline.values,
        timeline.series,
        timeline.steps,
        timeline.first_truth,
        timeline.observed(forecaster.sizes.n_targets),
    )
    series = np.arange(timeline.n_series)
    joint = forecaster.ensemble_forecaster(series, timeline.clock)
    points = joint.weigh(joint.windows(rows, proved.origins), proved.forecasts)
    return _errors_of(forecaster, proved.origins, points.astype(np.float64))


def optimism_of(
    held_out: Float64Array, fitted: Float64Array, n_apart: int
) -> Float64Array:
    """Return by what factor errors of fitted rows are too small, (n_targets,).

    A single window shows little of it, and the forecaster that had learnt few rows knew far fewer:
    a large factor is believed where windows are several.

    held_out, fitted: errors of the same windows, before these were fitted to and behind it.
    n_apart: how many of the windows share no row.
    """
    most = 4.0
    of_one_window = 1.25
    ratio = np.clip(size_ratio(held_out, fitted), 1.0, most)
    share = 1 / n_apart**2
    return np.minimum(ratio, of_one_window**share * ratio ** (1 - share))


def _errors_of(
    forecaster: StepForecaster, origins: IntArray, points: Float64Array
) -> Float64Array:
    """Return the truth less the points of windows, (n, horizon, n_targets)."""
    timeline = forecaster.history
    horizon = points.shape[1]
    steps = window_rows(timeline.steps_of(origins), horizon)
    series = timeline.series_of(origins)
    rows = timeline.find(series[:, None], steps)
    y = open_targets(forecaster)[rows].astype(np.float64)
    y[rows < 0] = np.nan
    if timeline.weight is not None:
        is_missing = timeline.weight[rows] == 0
        y[is_missing] = np.nan
    errors = y - points
    collapses = Collapses.of(forecaster, timeline.clock, series)
    in_collapse = collapses.before(series, steps[:, 0])
    errors[np.repeat(in_collapse[:, None], horizon, axis=1)] = np.nan
    return errors


def open_targets(forecaster: StepForecaster) -> Float32Array:
    """Return targets of the history, (n_rows, n_targets), of which ranges are made.

    NaN where they are always zero, and in a collapse that has been recovered from.
    """
    timeline = forecaster.history
    series, steps = timeline.series, timeline.steps
    targets = timeline.values[:, : forecaster.sizes.n_targets]
    zeros = forecaster.bounds.zero_phases
    if zeros is not None:
        targets = zeros.without(targets, series, steps)
    collapses = Collapses.of(forecaster, timeline.clock, series)
    return collapses.without(targets, series, steps)


def size_ratio(errors: Float64Array, others: Float64Array) -> Float64Array:
    """Divide mean sizes of errors of targets by those of others; 1 where there are none."""
    size = mean_size(errors, axis=(0, 1))
    other = mean_size(others, axis=(0, 1))
    is_known = (size > 0) & (other > 0)
    return np.divide(size, other, out=np.ones_like(size), where=is_known)
