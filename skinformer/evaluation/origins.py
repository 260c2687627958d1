"""All origins of a backtest at once: each a segment of its own, at a cost linear in the origins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.intervals.forecaster import IntervalForecaster
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.timeline import Timeline, runs
from skinformer.validation.arguments import check_ranges
from skinformer.validation.rows import warn_of_held_values


@dataclass(frozen=True)
class OriginsModel:
    """An InformerRegressor that was given all later rows, and forgets them at each origin.

    forecaster: its own, with the later rows in the history.
    rows: where each later row lies there.
    after_truth: whether the row before each was observed: else its forecast begins farther back.
    """

    model: Any
    forecaster: StepForecaster
    rows: IntArray
    after_truth: BoolArray

    def forecast(self, origins: IntArray, horizon: IntArray, levels: Float64Array) -> Float64Array:
        """Forecast so many steps from each of these later rows, as `update` and `forecast` would.

        The shape is (n_steps, n_targets, 1 + n_levels), origin after origin.
        """
        forecaster, starts = self.forecaster, self.rows[origins]
        head, roles, found = forecaster.head, forecaster.roles, None
        if head.level is not None or len(levels):
            found = check_ranges(self.model.intervals_)
            forecaster = IntervalForecaster.of(forecaster, found)
        outputs, held = forecast_origins(forecaster, starts, horizon)
        warn_of_held_values(roles, past=held.past, known=held.known)
        series = np.repeat(forecaster.history.series_of(starts), horizon)
        if found is None:
            return head.point(forecaster.in_units(outputs, series))[..., None]
        scaler = forecaster.scaler.with_unseen()
        return np.asarray(found.forecasts(head, outputs, levels, scaler, series))


def after_updates(model: Any, frame: pd.DataFrame) -> OriginsModel | None:
    """Update a copy of a fitted model by later rows, if `update` could take them.

    It is None where rows do not follow the history of known series directly, where covariates are
    missing, or where a value below zero would change the bounds of forecasts on the way.
    """
    table = model._read_prediction(frame).without_outliers()
    history, scaler = model.timeline_, model.scaler_
    if table.clock != history.clock or (table.series >= history.n_series).any():
        return None
    order = np.lexsort((table.steps, table.series))
    table = table.take(order)
    first_row = runs(table.series, history.n_series)
    inside = np.arange(len(order)) - first_row[table.series]
    lacking = any(each is None or np.isnan(each).any() for each in table.columns[table.n_targets :])
    if (table.steps != history.end_step[table.series] + inside).any() or lacking:
        return None
    before, after = scaler.targets, scaler.after(table.columns, first_row).targets
    if before is not None and (before.floor != after.floor).any():
        return None
    known, weight = np.ones(len(order), dtype=bool), None
    if table.missing is not None:
        known = np.asarray(~table.missing.any(axis=1))
        weight = (~table.missing).astype(np.float64)
    extended: Timeline = model._forecaster.appended(replace(table, weight=weight))
    places = extended.first_row[table.series] + np.diff(history.first_row)[table.series] + inside
    rows, after_truth = np.empty_like(order), np.empty(len(order), dtype=bool)
    rows[order] = places
    after_truth[order] = np.append(True, known[:-1]) | (inside == 0)
    return OriginsModel(model, replace(model._forecaster, history=extended), rows, after_truth)
