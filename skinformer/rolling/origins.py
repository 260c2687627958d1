"""Forecasts from many origins at once, each from its own past alone, however far they reach."""

import numpy as np

from skinformer.rolling.blocks import HeldValues, Observed, RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import origins_between

#: Rows that are laid out at a time.
_MOST_ROWS = 1 << 18


def forecast_origins(
    forecaster: StepForecaster, origins: IntArray, horizon: IntArray
) -> tuple[Float64Array, HeldValues]:
    """Forecast the steps after many rows of the history, at a cost linear in these.

    forecaster: its history holds the rows; it is not looked at from an origin on, but for columns
    that are known ahead.
    origins: the row of each first step.
    horizon: steps of each, at least 1; those beyond `pred_len` are forecast from forecasts.

    Forecasts, (n_steps, n_targets, *shape), are standardised, origin after origin; beside them
    stands how many steps lacked a value that was held at its last one.
    """
    size = max(1, _MOST_ROWS // (forecaster.look_back + int(horizon.max(initial=1))))
    chunks = (slice(start, start + size) for start in range(0, len(origins), size))
    parts = [_forecast_some(forecaster, origins[some], horizon[some]) for some in chunks]
    held = HeldValues(*(sum(counts) for counts in zip(*(part[1] for part in parts), strict=True)))
    return np.concatenate([part[0] for part in parts]), held


def _forecast_some(
    forecaster: StepForecaster, origins: IntArray, horizon: IntArray
) -> tuple[Float64Array, HeldValues]:
    """Let each origin have a track of its own, that holds its context and what is known ahead.

    Behind the last row of a series its values are held.
    """
    history, sizes = forecaster.history, forecaster.sizes
    series = history.series_of(origins)
    first = np.maximum(origins - forecaster.look_back, history.first_row[series])
    ahead = origins + horizon
    rows = origins_between(first, ahead - 1)
    track = np.repeat(np.arange(len(origins)), ahead - first)
    offset = (history.first_step - history.first_row[:-1])[series]
    held = np.minimum(rows, history.first_row[series + 1][track] - 1)
    values = history.values[held]
    values[rows >= origins[track], : sizes.n_targets + sizes.n_past] = np.nan
    values[rows < history.first_truth[series][track], : sizes.n_targets] = np.nan
    start = origins + offset
    observed = Observed(values, track, rows + offset[track])
    wanted = np.repeat(np.arange(len(origins)), horizon)
    steps = origins_between(start, start + horizon - 1)
    place = Placement(series, start, start, np.zeros(len(origins), dtype=bool))
    filled = None if history.weight is None else (history.weight[held] == 0).any(axis=1)
    requested = RequestedSteps(observed, wanted, steps, place, history.clock, filled=filled)
    return forecaster.rolled(requested)
