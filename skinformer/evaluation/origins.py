"""All origins of a backtest at once: each a segment of its own, at a cost linear in the origins."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.intervals.forecaster import IntervalForecaster
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.origins import forecast_origins
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.timeline import Table, runs
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

    def forecast(
        self, origins: IntArray, horizon: IntArray, levels: Float64Array
    ) -> Float64Array:
        """Forecast so many steps from each of these later rows, as `update` and `forecast` would.

        The shape is (n_steps, n_targets, 1 + n_levels), origin after origin.
        """
        rows = self.rows[origins]
        forecaster = self.forecaster
        series = np.repeat(forecaster.history.series_of(rows), horizon)
        if forecaster.head.level is not None or len(levels):
            found = check_ranges(self.model.intervals_)
            forecaster = IntervalForecaster.of(forecaster, found)
        outputs, held = forecast_origins(forecaster, rows, horizon)
        warn_of_held_values(forecaster.roles, past=held.past, known=held.known)
        if isinstance(forecaster, IntervalForecaster):
            return forecaster.forecasts(outputs, levels, series)
        return forecaster.head.point(forecaster.in_units(outputs, series))[..., None]


def after_updates(model: Any, frame: pd.DataFrame) -> OriginsModel | None:
    """Update a copy of a fitted model by later rows; None if `update` could not take them."""
    table = model._read_prediction(frame).without_outliers()
    order = np.lexsort((table.steps, table.series))
    table = table.take(order)
    if not _can_update(model, table):
        return None
    # Missing truths, which are filled in, have no weight.
    known = np.ones((len(order), table.n_targets), dtype=bool)
    weight = None
    if table.missing is not None:
        known = ~table.missing
        weight = known.astype(np.float64)
    forecaster = model._forecaster
    history = forecaster.appended(replace(table, weight=weight))
    place = (
        table.steps - model.timeline_.end_step[table.series]
    )  # of a row in its series
    n_stored = np.diff(model.timeline_.first_row)
    rows = np.empty_like(order)
    rows[order] = (history.first_row[:-1] + n_stored)[table.series] + place
    after_truth = np.empty(len(order), dtype=bool)
    after_truth[order] = np.append(True, known[:-1].all(axis=1)) | (place == 0)
    return OriginsModel(model, replace(forecaster, history=history), rows, after_truth)


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
    follows = table.steps == history.end_step[table.series] + place
    covariates = table.columns[table.n_targets :]
    if not follows.all() or any(
        each is None or np.isnan(each).any() for each in covariates
    ):
        return False
    floor = model.scaler_.targets.floor
    return bool(
        (model.scaler_.updated(table.columns, first_row).targets.floor == floor).all()
    )
