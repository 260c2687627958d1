"""Forecasts from many origins at once, each from its own past alone, however far they reach."""

from __future__ import annotations

import numpy as np

from skinformer.estimators.forecaster import StepForecaster
from skinformer.estimators.placement import Placement
from skinformer.estimators.rolling import HeldValues, Observed
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import origins_between

__all__ = ["forecast_origins"]

#: Rows that are laid out at a time.
_MOST_ROWS = 1 << 18


def forecast_origins(
    forecaster: StepForecaster, origins: IntArray, horizon: int, *, known: bool = True
) -> tuple[Float64Array, HeldValues]:
    """
    Forecast the steps after many rows of the history.

    Parameters
    ----------
    forecaster : StepForecaster
        Whose history holds the rows; it is not looked at from an origin on, but for columns that
        are known ahead.
    origins : ndarray of int64, shape (n,)
        The row of each first step; there need be no row of this number any more.
    horizon : int
        Steps of each, at least 1; those beyond `pred_len` are forecast from forecasts.
    known : bool, default=True
        Whether the columns known ahead are taken from the history; else they are missing there.

    Returns
    -------
    tuple of ndarray of float64, shape (n, horizon, n_targets, *outputs), and HeldValues
        In the truth's units, and how many steps lacked a value that was held at its last one.
        Cost: linear in the origins.
    """
    n_rows = forecaster.look_back + horizon
    size = max(1, _MOST_ROWS // n_rows)
    parts = [
        _forecast_some(forecaster, origins[i : i + size], horizon, known=known)
        for i in range(0, len(origins), size)
    ]
    held = HeldValues(*(sum(counts) for counts in zip(*(part[1] for part in parts), strict=True)))
    return np.concatenate([part[0] for part in parts]), held


def _forecast_some(
    forecaster: StepForecaster, origins: IntArray, horizon: int, *, known: bool
) -> tuple[Float64Array, HeldValues]:
    """Let each origin have a track of its own, that holds its context and what is known ahead."""
    history, sizes = forecaster.history, forecaster.sizes
    series = np.minimum(history.series_of(origins - 1), history.n_series - 1)
    first = np.maximum(origins - forecaster.look_back, history.first_row[series])
    stop = np.minimum(origins + horizon, history.first_row[series + 1]) if known else origins
    rows = origins_between(first, stop - 1)
    track = np.repeat(np.arange(len(origins)), stop - first)
    steps = rows + (history.first_step - history.first_row[:-1])[series[track]]
    values = history.values[rows].copy()
    ahead = rows >= origins[track]
    values[ahead, : sizes.n_targets + sizes.n_past] = np.nan
    start = origins + (history.first_step - history.first_row[:-1])[series]
    place = Placement(series, start, start, np.zeros(len(origins), dtype=bool))
    asked = np.repeat(np.arange(len(origins)), horizon)
    wanted = (start[:, None] + np.arange(horizon)).ravel()
    given = Observed(values, track, steps)
    out, held = forecaster.rolled(given, asked, wanted, place, history.clock)
    return out.reshape(len(origins), horizon, *out.shape[1:]), held
