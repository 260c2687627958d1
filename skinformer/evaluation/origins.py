"""All origins of a backtest at once: each a segment of its own, at a cost linear in the origins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.timeline import Table, Timeline, runs
from skinformer.timeline.windows import origins_between
from skinformer.validation.rows import warn_of_held_values


@dataclass(frozen=True)
class OriginsModel:
    """An InformerRegressor that was given all later rows, and forgets them at each origin.

    history: its own, with the later rows behind it.
    rows: where each later row lies there.
    after_truth: whether the row before each was observed: else its forecast begins farther back.
    """

    model: Any
    history: Timeline
    rows: IntArray
    after_truth: BoolArray

    def forecast(
        self, origins: IntArray, horizon: IntArray, levels: Float64Array
    ) -> Float64Array:
        """Forecast so many steps from each of these later rows, as `update` and `forecast` would.

        The shape is (n_steps, n_targets, 1 + n_levels), origin after origin.
        """
        rows = self.rows[origins]
        series = np.repeat(self.history.series_of(rows), horizon)
        forecaster = replace(self.model._forecaster_of(levels), history=self.history)
        outputs, held = forecast_origins(forecaster, rows, horizon)
        warn_of_held_values(forecaster.roles, *held)
        first = self.history.steps_of(rows)
        steps = origins_between(first, first + horizon - 1)
        places = forecaster.places(self.history.clock, steps, series)
        return forecaster.forecasts(outputs, levels, places)


def after_updates(model: Any, frame: pd.DataFrame) -> OriginsModel | None:
    """Update a copy of a fitted model by later rows; None if `update` could not take them."""
    table = model._read_prediction(frame).without_outliers()
    ordered = table.take(np.lexsort((table.steps, table.series)))
    if not _can_update(model, ordered):
        return None
    # 1. Append the rows: missing truths, which are filled in, have no weight.
    targets = np.column_stack(ordered.targets)
    weight = (~np.isnan(targets)).astype(np.float64)
    forecaster = model._forecaster
    history = forecaster.appended(replace(ordered, weight=weight))
    if not _have_same_ceilings(forecaster, replace(forecaster, history=history)):
        return None
    # 2. Find where they lie now, and whether a truth precedes each.
    rows = history.find(table.series, table.steps)
    is_first = table.steps == model.timeline_.end_step[table.series]
    has_truth = (history.weight > 0).all(axis=1)
    after_truth = is_first | has_truth[rows - 1]
    return OriginsModel(model, history, rows, after_truth)


def _have_same_ceilings(before: StepForecaster, after: StepForecaster) -> bool:
    """Return whether later rows neither end a ceiling nor show a new one.

    Else the first forecasts would know it.
    """
    known, found = before.bounds.ceilings, after.bounds.ceilings
    if known is None or found is None:
        return known is found
    return np.array_equal(known, found)


def _can_update(model: Any, table: Table) -> bool:
    """Return whether sorted rows follow the history as those of `update` do.

    They do not where series are new, where rows or covariates are missing, or where a value below
    zero would change the bounds of forecasts on the way.
    """
    history = model.timeline_
    if table.clock != history.clock or (table.series >= history.n_series).any():
        return False
    first_row = runs(table.series, history.n_series)
    place = np.arange(len(table.steps)) - first_row[table.series]
    expected = history.end_step[table.series] + place
    if (table.steps != expected).any():
        return False
    for column in table.covariates:
        if column is None or np.isnan(column).any():
            return False
    scaler = model.scaler_
    updated = scaler.updated(table.columns, first_row)
    return np.array_equal(updated.targets.floor, scaler.targets.floor)
