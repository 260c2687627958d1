"""Forecasters of driven series: yardsticks, the estimator, and parts of it alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from drivers import DAY, HORIZON, Driven, Forecaster
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.backtest import backtest
from skinformer.tabular.features import Columns
from skinformer.tabular.fit import fit_tabular
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import clock_for
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.timeline import Table, build_timeline

_WEEK = 7 * DAY
#: The yardstick's lags: from the shortest that is known for all hours ahead to four weeks.
_LAGS = (48, 49, 50, 71, 72, 73, 96, 120, 144, 167, 168, 169, 336, 504, 672)
_CALENDAR = ("hour", "weekday", "day of year", "year")
_STRENGTHS = tuple(np.logspace(-1, 4, 11))


def forecast_weekly_naive(driven: Driven) -> Float64Array:
    """Repeat the last week: (n_origins, 48), NaN where that value is missing."""
    values: Float64Array = driven.frame.iloc[:, 0].to_numpy()[driven.ahead - _WEEK]
    return values


def forecast_boosting(driven: Driven) -> Float64Array:
    """Forecast by 300 boosted trees on lags, the calendar and the drivers of each hour."""
    return _forecast_by(
        driven, HistGradientBoostingRegressor(max_iter=300, random_state=0)
    )


def forecast_ridge(driven: Driven) -> Float64Array:
    """Forecast by a ridge on the same, hours and weekdays as columns; strength by leave-one-out."""
    classes = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["hour", "weekday", "hour of week"]),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
        verbose_feature_names_out=False,
        sparse_threshold=0,
    )
    return _forecast_by(
        driven, make_pipeline(classes, RidgeCV(_STRENGTHS)), hour_of_week=True
    )


def forecast_tabular(driven: Driven) -> Float64Array:
    """Forecast by the estimator's regressor on window features alone."""
    frame, origins = driven.frame, driven.origins
    columns = [frame[name].to_numpy() for name in frame.columns]
    start, stop = np.zeros(1, dtype=np.int64), np.array([driven.n_train])
    scaler = fit_scaler(columns, start, stop, static=[])
    steps = np.arange(len(frame))
    clock = clock_for(frame.index, pd.tseries.frequencies.to_offset("h")).starting_at(
        frame.index[0]
    )
    table = Table(columns, 1, np.zeros_like(steps), steps, clock)
    timeline = build_timeline(table, scaler, fill_covariates=True)
    fit = fit_tabular(
        timeline.head(stop),
        Columns(1, 0, len(columns) - 1, 0, HORIZON),
        missing=None if table.missing is None else table.missing[: driven.n_train],
    )
    begin = np.zeros_like(origins)
    forecast = fit.forecast(timeline.values, begin, origins, origins, clock)
    rows = forecast.reshape(-1, 1)
    return scaler.inverse_with_smearing(
        rows, np.zeros(len(rows), dtype=np.int64)
    ).reshape(-1, HORIZON)


def make_forecaster(parameters: dict[str, Any]) -> Forecaster:
    """Make a function that fits the estimator and forecasts a series, (n_origins, 48)."""
    return partial(_forecast_by_estimator, parameters=parameters)


#: Forecasters by the names that the command line takes, besides the estimator.
METHODS: dict[str, Forecaster] = {
    "ridge": forecast_ridge,
    "boosting": forecast_boosting,
    "tabular": forecast_tabular,
}


def _forecast_by_estimator(
    driven: Driven, *, parameters: dict[str, Any]
) -> Float64Array:
    frame, n_train = driven.frame, driven.n_train
    target, *known = frame.columns
    model = InformerRegressor(target, pred_len=HORIZON, known_future=known or None)
    model.set_params(**parameters).fit(frame.iloc[:n_train])
    table = backtest(model, frame.iloc[n_train:], horizon=HORIZON, step=DAY)
    table = table[table["origin"].isin(frame.index[driven.origins])]
    return table["forecast"].to_numpy().reshape(-1, HORIZON)


def _forecast_by(
    driven: Driven, regressor: Any, *, hour_of_week: bool = False
) -> Float64Array:
    """Fit a regressor to the rows before the first origin, one forecast a row."""
    features = _features(driven.frame)
    if hour_of_week:
        features["hour of week"] = features["weekday"] * DAY + features["hour"]
    truth = driven.frame.iloc[:, 0]
    learnt = slice(_LAGS[-1], driven.n_train)
    known = truth.iloc[learnt].notna().to_numpy()
    regressor.fit(features.iloc[learnt][known], truth.iloc[learnt][known])
    # No lag is shorter than the horizon: a row's forecast is the same from both its origins.
    forecast: Float64Array = np.full(len(truth), np.nan)
    forecast[driven.n_train :] = regressor.predict(features.iloc[driven.n_train :])
    return forecast[driven.ahead]


def _features(frame: pd.DataFrame) -> pd.DataFrame:
    """Put lags, the mean of a week, the calendar and the drivers beside each hour."""
    target, hours = frame.iloc[:, 0], pd.to_datetime(frame.index)
    features = {f"lag {lag}": target.shift(lag) for lag in _LAGS}
    features["mean of a week"] = (
        target.shift(HORIZON).rolling(_WEEK, min_periods=1).mean()
    )
    calendar = (hours.hour, hours.day_of_week, hours.day_of_year, hours.year)
    features |= {
        name: pd.Series(values, frame.index)
        for name, values in zip(_CALENDAR, calendar, strict=True)
    }
    return pd.concat([pd.DataFrame(features), frame.iloc[:, 1:]], axis=1)
