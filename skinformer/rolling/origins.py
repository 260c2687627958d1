"""Forecasts from many origins at once, each from its own past alone, however far they reach."""

import numpy as np

from skinformer.rolling.blocks import HeldValues, Observed, RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import origins_between


def forecast_origins(
    forecaster: StepForecaster, origins: IntArray, horizon: IntArray
) -> tuple[Float64Array, HeldValues]:
    """Forecast the steps after many rows of the history, at a cost linear in these.

    forecaster: its history holds the rows; from an origin on only columns that are known ahead are
    read.
    origins: the row of each first step.
    horizon: steps of each, at least 1; those beyond `pred_len` are forecast from forecasts.

    Forecasts, (n_steps, n_targets, *shape), are standardised, origin after origin; beside them
    stands how many steps lacked a value that was held at its last one.
    """
    most_rows = 1 << 18  # that are laid out at a time
    n_rows = forecaster.look_back + horizon.max()
    size = max(1, most_rows // n_rows)
    outputs = []
    n_held = HeldValues(0, 0)
    for start in range(0, len(origins), size):
        some = slice(start, start + size)
        requested = _request(forecaster, origins[some], horizon[some])
        forecasts, held = forecaster.standardised_and_held(requested)
        outputs.append(forecasts)
        n_held = n_held.plus(held)
    return np.concatenate(outputs), n_held


def _request(
    forecaster: StepForecaster, origins: IntArray, horizon: IntArray
) -> RequestedSteps:
    """Lay out a segment for each origin, with its context and what is known ahead."""
    history = forecaster.history
    series = history.series_of(origins)
    n_segments = len(origins)
    # 1. The rows of each segment.
    numbers = np.arange(n_segments)
    first_row = history.first_row[series]
    begin = np.maximum(origins - forecaster.look_back, first_row)
    end = origins + horizon
    rows = origins_between(begin, end - 1)
    segment = np.repeat(numbers, end - begin)
    # 2. Their values, without those that are not known at the origin.
    observed = _observe(forecaster, rows, segment, origins)
    # 3. The steps after the origins.
    start = history.steps_of(origins)
    last = start + horizon - 1
    is_stored = np.zeros(n_segments, dtype=bool)
    return RequestedSteps(
        observed,
        np.repeat(numbers, horizon),
        origins_between(start, last),
        Placement(series, start, start, is_stored),
        history.clock,
    )


def _observe(
    forecaster: StepForecaster, rows: IntArray, segment: IntArray, origins: IntArray
) -> Observed:
    """Return what is known of rows at the origins of their segments.

    Behind the last row of a series its values are held.
    """
    history = forecaster.history
    n_targets = forecaster.sizes.n_targets
    series = history.series_of(origins)[segment]
    last_row = history.first_row[series + 1] - 1
    held = np.minimum(rows, last_row)
    values = history.values[held]
    is_ahead = rows >= origins[segment]
    n_not_ahead = n_targets + forecaster.sizes.n_past
    values[is_ahead, :n_not_ahead] = np.nan
    is_blank = rows < history.first_truth[series]
    values[is_blank, :n_targets] = np.nan
    filled = None
    if history.weight is not None:
        filled = (history.weight[held] == 0).any(axis=1)
    steps = history.steps_of(held) + rows - held
    return Observed(values, segment, steps, filled)
