"""Measure quantiles of whole panels: weighted quantile loss, and how much intervals cover.

Run ``python measure.py --panel m3_yearly m3_monthly --panels-folder FOLDER --levels``.
As the published tables have it, the loss is twice the pinball loss of the levels 0.1 to 0.9, summed
over all rows of all series, over the sum of the truth's sizes; and all series of a panel have its
longest horizon.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from panels import Panel, forecast_by_estimator, published_table

from skinformer.evaluation import interval_coverage, weighted_quantile_loss
from skinformer.timeline.arrays import Float64Array

#: Levels of the loss, and those of the intervals of 80 and 95%.
LEVELS = tuple(round(0.1 * i, 1) for i in range(1, 10))
_BOUNDS = {"80%": (0.1, 0.9), "95%": (0.025, 0.975)}
_ASKED = (*LEVELS, 0.025, 0.975)

#: What forecasts quantiles of a panel: gives shape (n_series, horizon, n_levels).
QuantileForecaster: TypeAlias = Callable[[Panel, tuple[float, ...]], Float64Array]


def make_quantile_forecaster(parameters: dict[str, Any]) -> QuantileForecaster:
    """Make a function that fits the estimator and forecasts (n_series, horizon, n_levels)."""
    return lambda panel, levels: forecast_by_estimator(panel, parameters, levels)[
        ..., 1:
    ]


def repeat_last_season(panel: Panel, levels: tuple[float, ...]) -> Float64Array:
    """Repeat the last season at all levels, (n_series, horizon, n_levels)."""
    steps = np.arange(panel.horizon)
    rows = [part[-panel.period :] for part in panel.filled]
    forecast = np.stack([part[steps % len(part)] for part in rows])
    return np.repeat(forecast[..., None], len(levels), axis=2)


def measure_panel_ranges(
    panel: Panel, forecasters: Mapping[str, QuantileForecaster]
) -> pd.DataFrame:
    """Measure quantiles of forecasters, which give (n_series, horizon, n_levels).

    One row each: WQL, what the intervals of 80 and 95% cover, on average and at the steps ahead
    where it is least and most, and seconds.
    """
    rows = {}
    for name, forecaster in forecasters.items():
        started = time.perf_counter()
        quantiles = forecaster(panel, _ASKED)
        seconds = time.perf_counter() - started
        rows[name] = _losses(panel.truth, quantiles) | {"seconds": seconds}
    return pd.DataFrame.from_dict(rows, orient="index")


def published_losses(name: str, folder: str | Path) -> pd.DataFrame:
    """Read the WQL of others on a panel's test part, from the table beside it, if any."""
    losses = {
        str(method).removesuffix("_WQL"): {"WQL": value}
        for method, value in published_table(folder, "chronos_zero_shot", name).items()
        if str(method).endswith("_WQL")
    }
    return pd.DataFrame.from_dict(losses, orient="index", columns=["WQL"])


def _losses(truth: Float64Array, quantiles: Float64Array) -> dict[str, float]:
    flat, n = truth.ravel(), len(LEVELS)
    each = quantiles.reshape(len(flat), -1)
    found = {"WQL": weighted_quantile_loss(flat, each[:, :n], levels=LEVELS)}
    for name, bounds in _BOUNDS.items():
        interval = quantiles[..., [_ASKED.index(level) for level in bounds]]
        steps = [
            interval_coverage(truth[:, i], interval[:, i])
            for i in range(truth.shape[1])
        ]
        found[name] = interval_coverage(flat, interval.reshape(-1, 2))
        found[f"{name} least"], found[f"{name} most"] = min(steps), max(steps)
    return found
