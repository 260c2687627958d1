"""Forecasters of whole panels: yardsticks, the estimator, and parts of it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from panels import Forecaster, Panel, forecast_by_estimator

from skinformer.timeline.arrays import Float64Array


def forecast_seasonal_naive(panel: Panel) -> Float64Array:
    """Repeat the last season, (n_series, horizon)."""
    steps = np.arange(panel.horizon)
    return np.stack(
        [
            _last_season(rows, panel.period)[steps % panel.period]
            for rows in panel.filled
        ]
    )


def forecast_naive2(panel: Panel) -> Float64Array:
    """Repeat the last value of the seasonally adjusted rows, by which OWA is measured.

    Effects multiply, by classical decomposition, where the autocorrelation at the lag of a season
    is significant at 90% and all rows are positive.
    """
    steps = np.arange(panel.horizon)
    out = []
    for rows in panel.filled:
        effects = _effects(rows, panel.period)
        # The last row has the last phase; the next one the first.
        out.append(rows[-1] / effects[-1] * effects[steps % panel.period])
    return np.stack(out)


def forecast_classical(panel: Panel) -> Float64Array:
    """Forecast by the classical blend alone, as errors of panels are absolute ones."""
    return forecast_by_estimator(panel, {"members": ["classical"], "loss": "mae"})[
        ..., 0
    ]


def make_forecaster(parameters: dict[str, Any]) -> Forecaster:
    """Make a function that fits the estimator and forecasts a panel, (n_series, horizon)."""
    return lambda panel: forecast_by_estimator(panel, parameters)[..., 0]


def repeat_medians(
    history: Sequence[Float64Array], horizon: int, *, period: int
) -> Float64Array:
    """Forecast by medians of the last seven same phases of a season, for each history."""
    found = np.empty((len(history), horizon))
    for i, rows in enumerate(history):
        for step in range(horizon):
            same_phase = rows[len(rows) - period + step % period :: -period][:7]
            same_phase = same_phase[~np.isnan(same_phase)]
            found[i, step] = (
                np.median(same_phase) if len(same_phase) else np.nanmedian(rows)
            )
    return found


def draw(history: Sequence[Float64Array], horizon: int) -> Float64Array:
    """Draw values of each history at random: a forecaster that knows nothing."""
    rng = np.random.default_rng(0)
    return np.stack([rng.choice(rows[~np.isnan(rows)], horizon) for rows in history])


def _make_medians(period: int) -> Any:
    def medians(history: Sequence[Float64Array], horizon: int) -> Float64Array:
        return repeat_medians(history, horizon, period=period)

    return medians


def _make_auto_ets(period: int) -> Any:
    from statsforecast.models import AutoETS

    from skinformer.beside.statsforecast import StatsForecaster

    return StatsForecaster(AutoETS(season_length=period))


def _make_fracast(_: int) -> Any:
    from skinformer.beside.fracast import FracastForecaster

    return FracastForecaster()


#: Forecasters that are members of the estimator's ensemble, made for the rows of a season.
FORECASTERS: dict[str, Callable[[int], Any]] = {
    "medians": _make_medians,
    "noise": lambda _: draw,
    "fracast": _make_fracast,
    "AutoETS": _make_auto_ets,
}


def _as_member(make: Callable[[int], Any], *, beside: Sequence[str]) -> Forecaster:
    """Return what fits the estimator with a forecaster beside members of its own, or alone."""

    def forecast(panel: Panel) -> Float64Array:
        parameters = {"members": [*beside, make(panel.period)], "random_state": 0}
        return forecast_by_estimator(panel, parameters)[..., 0]

    return forecast


#: Forecasters by the names that the command line takes, besides the estimator.
METHODS: dict[str, Forecaster] = {"classical": forecast_classical}
_OWN = ("ridges", "own_ridges", "classical", "trees", "network")
for _name, _make in FORECASTERS.items():
    METHODS[_name] = _as_member(_make, beside=())
    METHODS[f"with {_name}"] = _as_member(_make, beside=_OWN)


def _last_season(rows: Float64Array, period: int) -> Float64Array:
    """Return the last season, or the last value where there is none."""
    return rows[-period:] if len(rows) >= period else np.repeat(rows[-1], period)


def _effects(rows: Float64Array, period: int) -> Float64Array:
    """Return the factors of the next rows' seasons; 1 where a test finds none."""
    if period == 1 or not _is_seasonal(rows, period):
        return np.ones(period)
    weights = np.full(period, 1 / period)
    if period % 2 == 0:
        weights = np.concatenate([[0.5], np.ones(period - 1), [0.5]]) / period
    half = len(weights) // 2
    average = np.convolve(rows, weights, mode="valid")
    ratios = rows[half : half + len(average)] / average
    phases = (np.arange(half, half + len(average)) - len(rows)) % period
    factors = np.array([ratios[phases == phase].mean() for phase in range(period)])
    scaled: Float64Array = factors / factors.mean()
    return scaled


def _is_seasonal(rows: Float64Array, period: int) -> bool:
    """Test the autocorrelation at the lag of a season, as the M competitions do."""
    if len(rows) < 3 * period or rows.min() <= 0 or np.ptp(rows) == 0:
        return False
    away = rows - rows.mean()
    lags = np.array([away[k:] @ away[:-k] for k in range(1, period + 1)]) / (
        away @ away
    )
    limit = 1.645 * np.sqrt((1 + 2 * (lags[:-1] ** 2).sum()) / len(rows))
    return bool(abs(lags[-1]) > limit)
