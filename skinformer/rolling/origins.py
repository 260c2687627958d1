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

    forecaster: its history holds the rows; it is not looked at from an origin on, but for columns
    that are known ahead.
    origins: the row of each first step.
    horizon: steps of each, at least 1; those beyond `pred_len` are forecast from forecasts.

    Forecasts, (n_steps, n_targets, *shape), are standardised, origin after origin; beside them
    stands how many steps lacked a value that was held at its last one.
    """
    most_rows = 1 << 18  # that are laid out at a time
    n_rows = forecaster.look_back + int(horizon.max(initial=1))
    size = max(1, most_rows // n_rows)
    outputs = []
    n_past = 0
    n_known = 0
    for start in range(0, len(origins), size):
        some = slice(start, start + size)
        requested = _request(forecaster, origins[some], horizon[some])
        forecasts, held = forecaster.standardised_and_held(requested)
        outputs.append(forecasts)
        n_past += held.past
        n_known += held.known
    return np.concatenate(outputs), HeldValues(n_past, n_known)


def _request(
    forecaster: StepForecaster, origins: IntArray, horizon: IntArray
) -> RequestedSteps:
    """Lay out a segment for each origin, with its context and what is known ahead.

    Behind the last row of a series its values are held.
    """
    history = forecaster.history
    sizes = forecaster.sizes
    series = history.series_of(origins)
    # 1. The rows of each segment.
    first = np.maximum(origins - forecaster.look_back, history.first_row[series])
    end = origins + horizon
    rows = origins_between(first, end - 1)
    segment = np.repeat(np.arange(len(origins)), end - first)
    offset = (history.first_step - history.first_row[:-1])[series]
    steps = rows + offset[segment]
    # 2. Their values, without those that are not known at the origin.
    held = np.minimum(rows, history.first_row[series + 1][segment] - 1)
    values = history.values[held]
    values[rows >= origins[segment], : sizes.n_targets + sizes.n_past] = np.nan
    values[rows < history.first_truth[series][segment], : sizes.n_targets] = np.nan
    filled = None
    if history.weight is not None:
        filled = (history.weight[held] == 0).any(axis=1)
    # 3. The steps after the origins.
    start = origins + offset
    place = Placement(series, start, start, np.zeros(len(origins), dtype=bool))
    return RequestedSteps(
        Observed(values, segment, steps),
        np.repeat(np.arange(len(origins)), horizon),
        origins_between(start, start + horizon - 1),
        place,
        history.clock,
        filled=filled,
    )
