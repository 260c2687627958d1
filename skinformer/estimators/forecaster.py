"""Forecasts of steps from what a fit keeps: history, scale and network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from skinformer.estimators import validation
from skinformer.estimators.batches import WindowSource, predict_windows, window_source
from skinformer.estimators.building import ModelSizes
from skinformer.estimators.placement import Placement, after_history, place_rows
from skinformer.estimators.reading import Roles, read_prediction
from skinformer.estimators.rolling import Observed, roll
from skinformer.model.informer import Informer
from skinformer.timeline.clock import RowClock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table, Timeline, build_timeline

__all__ = ["StepForecaster"]

Rows = npt.NDArray[np.int64]


class StepForecaster:
    """The part of an estimator that forecasts steps; `fit` sets what it needs."""

    embeddings: Any
    seq_len: int
    device_: str
    module_: Informer
    roles_: Roles
    scaler_: Scaler
    sizes_: ModelSizes
    timeline_: Timeline

    def _observe(self, X: Any) -> tuple[Table, Observed]:
        """Read rows at prediction and standardise them."""
        validation.check_fitted(self)
        table = read_prediction(self, X)
        known = self.timeline_.n_series
        scaler = self.scaler_.with_unseen() if (table.series >= known).any() else self.scaler_
        values = scaler.transform(table.columns, np.minimum(table.series, known))
        if self.sizes_.n_static:  # what is static is known of fitted series, whatever X says
            rows = table.series < known
            first = self.timeline_.first_row[table.series[rows]]
            values[rows, -self.sizes_.n_static :] = self.timeline_.values[
                first, -self.sizes_.n_static :
            ]
        if not (table.clock.dated or isinstance(table.clock, RowClock)):
            self._refuse_reset_rows(table, values)
        return table, Observed(values, table.series, table.steps)

    def _refuse_reset_rows(self, table: Table, values: npt.NDArray[np.float32]) -> None:
        timeline = self.timeline_
        series = np.minimum(table.series, timeline.n_series - 1)
        place = table.steps - timeline.first_step[series]
        length = np.diff(timeline.first_row)[series]
        inside = (place >= 0) & (place < length) & (table.series < timeline.n_series)
        rows = (timeline.first_row[series] + place)[inside]
        stored, given = timeline.values[rows], values[inside]
        differs = np.abs(given - stored) > 1e-4 * (1 + np.abs(stored))  # NaN compares as equal
        if timeline.weight is not None:  # a missing truth was filled: any value is as good
            differs[:, : table.n_targets] &= timeline.weight[rows] > 0
        end = timeline.clock.labels(timeline.end_step.max(keepdims=True))[0]
        validation.check_not_reset(differs.any(axis=1), end, timeline.clock.freq)

    def _place(self, table: Table) -> Placement:
        has_history = self.roles_.mode != "features"
        place = place_rows(table, self.timeline_, seq_len=self.seq_len, has_history=has_history)
        if not has_history:
            validation.check_after_history(not place.stored.all())
        gaps = (table.steps - place.begin[table.series])[place.stored[table.series]]
        validation.check_gap(int(gaps.max(initial=0)) - len(gaps))
        return place

    def _forecast_steps(
        self, observed: Observed, series: Rows, steps: Rows, place: Placement, clock: Any
    ) -> npt.NDArray[np.float64]:
        """Forecast steps in the targets' units, shape (n, n_targets)."""
        sizes = self.sizes_

        source: WindowSource | None = None

        def forecast(
            values: Any, row_steps: Rows, row_series: Rows, origins: Rows
        ) -> npt.NDArray[np.float32]:
            nonlocal source
            if source is None:
                source = window_source(
                    values, row_steps, row_series, clock, sizes=sizes, device=self.device_
                )
            else:  # the same rows, with forecasts put in; on a CPU they share the memory
                source = replace(source, values=torch.from_numpy(values).to(self.device_))
            return predict_windows(self.module_, source, origins)

        result = roll(
            observed,
            series,
            steps,
            history=self.timeline_,
            place=place,
            n_targets=sizes.n_targets,
            n_past=sizes.n_past,
            n_static=sizes.n_static,
            hold="missing" not in self.embeddings,
            seq_len=sizes.seq_len,
            pred_len=sizes.pred_len,
            forecast=forecast,
        )
        if result.held.past:
            names = self.roles_.past
            validation.warn_of_held_values("past-only columns", names, result.held.past)
        if result.held.known:
            names = self.roles_.known
            validation.warn_of_held_values("columns known ahead", names, result.held.known)
        scaler = self.scaler_.with_unseen()
        return scaler.inverse(result.values, np.minimum(series, self.timeline_.n_series))

    def _append(self, table: Table) -> None:
        """Take in rows that follow the history, missing targets filled by forecasts."""
        columns = list(table.columns)
        if any(np.isnan(column).any() for column in columns[: table.n_targets]):
            values = self.scaler_.transform(table.columns, table.series)
            rows = Observed(values, table.series, table.steps)
            place = after_history(self.timeline_)
            forecasts = self._forecast_steps(rows, rows.series, rows.steps, place, table.clock)
            for j in range(table.n_targets):
                columns[j] = np.where(np.isnan(columns[j]), forecasts[:, j], columns[j])
        filled = replace(table, columns=columns)
        new = build_timeline(filled, self.scaler_, fill_covariates="missing" not in self.embeddings)
        self.timeline_ = self.timeline_.appended(new)

    def _missing_end(self, table: Table) -> tuple[Table, Rows] | None:
        """Find the rows after the last complete truth of each series, and where they begin."""
        targets = table.columns[: table.n_targets]
        if not any(np.isnan(column).any() for column in targets):
            return None
        missing = np.isnan(np.column_stack(targets)).any(axis=1)
        last = np.flatnonzero(~missing)
        end = np.zeros(self.timeline_.n_series, dtype=np.int64) + self.timeline_.first_row[:-1]
        np.maximum.at(end, table.series[last], last + 1)
        late = np.arange(len(missing)) >= end[table.series]
        return (table.take(late), end) if late.any() else None

    def _forecast_missing_end(self, late: Table, end: Rows) -> None:
        """Put forecasts in for targets that are missing at the end, as `update` does."""
        weight = self.timeline_.weight
        self.timeline_ = self.timeline_.head(end)
        self._append(late)
        self.timeline_ = replace(self.timeline_, weight=weight)
