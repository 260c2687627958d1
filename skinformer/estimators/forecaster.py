"""Forecasts of steps from what a fit keeps: history, scale and network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from skinformer import validation
from skinformer.estimators.batches import WindowSource, predict_windows, window_source
from skinformer.estimators.holes import LONGEST_CHAIN
from skinformer.estimators.placement import Placement, after_history, place_rows
from skinformer.estimators.reading import fitted_rows
from skinformer.estimators.rolling import Layout, Observed, fill_truths, roll
from skinformer.estimators.state import FittedState
from skinformer.reading.prediction import read_prediction
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Table, Timeline, build_timeline
from skinformer.timeline.windows import origins_between

__all__ = ["StepForecaster"]


class StepForecaster(FittedState):
    """The part of an estimator that forecasts steps; `fit` sets what it needs."""

    def _observe(self, X: Any) -> tuple[Table, Observed]:
        """Read rows at prediction and standardise them."""
        validation.check_fitted(self)
        table = read_prediction(self, X, fitted_rows(self))
        known = self.timeline_.n_series
        scaler = self.scaler_.with_unseen() if (table.series >= known).any() else self.scaler_
        values = scaler.transform(table.columns, np.minimum(table.series, known))
        if self.roles_.static or self.roles_.unchanged:
            self._compare_constants(table, values)
        if not (table.clock.dated or isinstance(table.clock, RowClock)):
            self._refuse_reset_rows(table, values)
        return table, Observed(values, table.series, table.steps)

    def _compare_constants(self, table: Table, values: Float32Array) -> None:
        """Give rows of fitted series what is static; warn of values that nothing was learnt of."""
        rows = np.flatnonzero(table.series < self.timeline_.n_series)
        stored = self.timeline_.values[self.timeline_.first_row[table.series[rows]]]
        place = {name: j - len(self.roles_.known) for j, name in enumerate(self.roles_.known)}
        differs = np.abs(values[rows] - stored) > 1e-4 * (1 + np.abs(stored))  # NaN: no
        for names, warn in (
            (self.roles_.static, validation.warn_of_other_static),
            (self.roles_.unchanged, validation.warn_of_new_values),
        ):
            new = [name for name in names if differs[:, place[name]].any()]
            if new:
                warn(new)
        static = [place[name] for name in self.roles_.static]
        values[rows[:, None], static] = stored[:, static]

    def _refuse_reset_rows(self, table: Table, values: Float32Array) -> None:
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

    def _place(self, table: Table, observed: Observed) -> tuple[Placement, Observed]:
        """Find the tracks of X's rows; raise or warn where the history cannot be their context."""
        missing = np.isnan(observed.values[:, : self.sizes_.n_targets])
        has_target = np.asarray(~missing.all(axis=1))
        reach = LONGEST_CHAIN * self.sizes_.pred_len
        place, track = place_rows(table, self.timeline_, observed=has_target, reach=reach)
        validation.check_placement(
            place,
            track,
            table,
            self.timeline_,
            has_target=has_target,
            features=self.roles_.mode == "features",
            seq_len=self.sizes_.seq_len,
            reach=reach,
        )
        return place, observed._replace(track=track)

    def _layout(self) -> Layout:
        sizes = self.sizes_
        return Layout(
            n_targets=sizes.n_targets,
            n_past=sizes.n_past,
            n_static=sizes.n_static,
            seq_len=sizes.seq_len,
            pred_len=sizes.pred_len,
            hold=not self.sizes_.may_miss,
        )

    def _window_forecaster(self, place: Placement, clock: Any) -> Any:
        """Make the function that forecasts windows of a canvas of these tracks."""
        source: WindowSource | None = None

        def forecast(
            values: Any, row_steps: IntArray, row_track: IntArray, origins: IntArray
        ) -> Float32Array:
            nonlocal source
            if source is None:
                source = window_source(
                    values,
                    row_steps,
                    place.series[row_track],
                    clock,
                    sizes=self.sizes_,
                    device=self.device_,
                )
            else:  # the same rows, with forecasts put in; on a CPU they share the memory
                source = replace(source, values=torch.from_numpy(values).to(self.device_))
            return predict_windows(self.module_, source, origins)

        return forecast

    def _forecast_steps(
        self, observed: Observed, track: IntArray, steps: IntArray, place: Placement, clock: Any
    ) -> Float64Array:
        """Forecast steps in the targets' units, shape (n, n_targets)."""
        result = roll(
            observed,
            track,
            steps,
            history=self.timeline_,
            place=place,
            layout=self._layout(),
            forecast=self._window_forecaster(place, clock),
        )
        if result.held.past:
            names = self.roles_.past
            validation.warn_of_held_values("past-only columns", names, result.held.past)
        if result.held.known:
            names = self.roles_.known
            validation.warn_of_held_values("columns known ahead", names, result.held.known)
        scaler = self.scaler_.with_unseen()
        series = np.minimum(place.series[track], self.timeline_.n_series)
        return scaler.inverse(result.values, series)

    def _filled(self, history: Timeline, rows: Observed) -> Float32Array:
        """Give the standardised targets of rows after a history, forecasts where they miss."""
        place = after_history(history)
        forecast = self._window_forecaster(place, history.clock)
        return fill_truths(
            rows, history=history, place=place, layout=self._layout(), forecast=forecast
        )

    def _append(self, table: Table) -> None:
        """Take in rows that follow the history, missing targets filled by forecasts."""
        fill = not self.sizes_.may_miss
        new = build_timeline(table, self.scaler_, fill_covariates=fill)
        if table.missing is not None:
            values = new.values.copy()
            k = table.n_targets
            values[:, :k][table.missing] = np.nan
            values[:, :k] = self._filled(
                self.timeline_, Observed(values, table.series, table.steps)
            )
            new = replace(new, values=values)
        self.timeline_ = self.timeline_.appended(new)

    def _fill_missing(self, missing: BoolArray) -> None:
        """Put forecasts in for all missing targets of the history, as `update` does."""
        timeline = self.timeline_
        first = timeline.first_row[1:].copy()  # of each series, the first row without its truth
        rows = np.flatnonzero(missing.any(axis=1))
        series = np.searchsorted(timeline.first_row[1:], rows, side="right")
        np.minimum.at(first, series, rows)
        late = origins_between(first, timeline.first_row[1:] - 1)
        values = timeline.values[late]
        k = missing.shape[1]
        values[:, :k][missing[late]] = np.nan
        series = np.repeat(np.arange(len(first)), timeline.first_row[1:] - first)
        given = Observed(values, series, timeline.steps_of(late))
        timeline.values[late, :k] = self._filled(timeline.head(first), given)
