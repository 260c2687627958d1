"""Forecasts of steps by the parts of a fit: history, scale, ensemble and head."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble, EnsembleForecaster
from skinformer.ensemble.head import Head
from skinformer.ensemble.predicting import prediction_threads
from skinformer.ensemble.windows import Forecaster
from skinformer.rolling.blocks import (
    HeldValues,
    Observed,
    RecursiveForecaster,
    RequestedSteps,
)
from skinformer.rolling.missing_runs import LONGEST_CHAIN
from skinformer.rolling.placement import Placement, place_rows
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock, RowClock
from skinformer.timeline.closed import Closed
from skinformer.timeline.forecast_bounds import ForecastBounds
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table, Timeline, build_timeline, first_known
from skinformer.timeline.windows import origins_between
from skinformer.timeline.zero_phases import ZeroPhases
from skinformer.validation import rows as checks


@dataclass(frozen=True)
class StepForecaster:
    """The fitted parts, put together to forecast steps of time.

    history, scaler: the standardised rows so far, and how they were standardised.
    roles, sizes: what the columns are; their numbers, and the lengths of windows.
    device: where the network is.
    head: what its outputs mean.
    ensemble: which members forecast, and their weights.
    """

    history: Timeline
    scaler: Scaler
    roles: Roles
    sizes: ModelSizes
    device: str
    head: Head
    ensemble: Ensemble

    @property
    def look_back(self) -> int:
        """Rows before an origin that its forecast is made from."""
        return max(self.sizes.seq_len, self.ensemble.look_back)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what is forecast of each step and target."""
        return self.head.outputs

    def point(self, outputs: Any) -> Any:
        """Return the one value of what is forecast that is fed back."""
        return self.head.point(outputs)

    def observe(self, table: Table) -> Observed:
        """Standardise rows at prediction; series stand for segments as yet."""
        n_fitted = self.history.n_series
        scaler = self.scaler
        if (table.series >= n_fitted).any():
            scaler = scaler.with_unseen()
        values = scaler.transform(table.columns, np.minimum(table.series, n_fitted))
        if self.roles.static or self.roles.unchanged:
            self._compare_constants(table, values)
        if not (table.clock.dated or isinstance(table.clock, RowClock)):
            self._refuse_reset_rows(table, values)
        return Observed(values, table.series, table.steps)

    def place(self, table: Table, observed: Observed) -> tuple[Placement, Observed]:
        """Find the segments of X's rows; raise or warn where the history cannot be their context.

        observed: the rows of the table, standardised; they come back with their segments.
        """
        missing = np.isnan(observed.values[:, : self.sizes.n_targets])
        has_target = np.asarray(~missing.all(axis=1))
        farthest = LONGEST_CHAIN * self.sizes.pred_len
        place, segment = place_rows(
            table, self.history, observed=has_target, farthest=farthest
        )
        checks.check_placement(
            place,
            segment,
            table,
            self.history,
            has_target=has_target,
            features=self.roles.mode == "features",
            sizes=self.sizes,
            reach=farthest,
        )
        return place, observed._replace(segment=segment)

    def forecast(self, requested: RequestedSteps) -> Float64Array:
        """Forecast steps in y's units: (n, n_targets, *head.outputs)."""
        series = requested.series(self.history.n_series)
        return self.in_units(self.standardised(requested), series)

    def in_units(self, outputs: Float64Array, series: IntArray) -> Float64Array:
        """Put outputs of steps of these series into y's units."""
        return self.head.to_units(outputs, self.scaler.with_unseen(), series)

    def standardised(self, requested: RequestedSteps) -> Float64Array:
        """Forecast steps: (n, n_targets, *shape)."""
        outputs, held = self.standardised_and_held(requested)
        checks.warn_of_held_values(self.roles, past=held.past, known=held.known)
        return outputs

    def standardised_and_held(
        self, requested: RequestedSteps
    ) -> tuple[Float64Array, HeldValues]:
        """Forecast steps as `standardised` does; return what had to be held, without a warning."""
        with self._threads():
            forecast = self._window_forecaster(requested)
            recursive = self._recursive_forecaster(forecast, requested.clock)
            outputs, held = recursive.predict(requested)
        if self.head.in_units and requested.clock == self.history.clock:
            self._apply_zero_phases(outputs, requested)
        return outputs.astype(np.float64), held

    def _apply_zero_phases(
        self, outputs: Float32Array, requested: RequestedSteps
    ) -> None:
        """Forecast zero where a series was nothing else at the same phase of a day or a week."""
        zeros = ZeroPhases.of(self.history, self.scaler, self.sizes.n_targets)
        if zeros.phases:
            series = requested.series(self.history.n_series)
            is_zero = zeros.at(series, requested.steps)
            self.set_constant(outputs, is_zero, zeros.zero[series])

    def set_constant(
        self,
        outputs: Float32Array,
        where: BoolArray,
        value: Float32Array,
    ) -> None:
        """Put a value, (n, n_targets), in the place of some outputs, (n, n_targets, *shape)."""
        outputs[where] = value[where].reshape(-1, *[1] * len(self.shape))

    def appended(self, table: Table) -> Timeline:
        """Return the history with rows that follow it, missing targets filled by forecasts.

        Rows are sorted by series and step.
        """
        new = build_timeline(
            table, self.scaler, fill_covariates=not self.sizes.may_miss
        )
        if table.missing is not None:
            values = new.values.copy()
            targets = values[:, : table.n_targets]
            targets[table.missing] = np.nan
            targets[:] = self._filled(Observed(values, table.series, table.steps))
            new = replace(new, values=values)
        return self.history.appended(new)

    def fill_missing(self, missing: BoolArray) -> None:
        """Put forecasts in for all missing targets of the history, as `appended` does.

        missing: (n_rows, n_targets), where the history's values change.
        """
        history = self.history
        # Of each series, the rows from its first missing target on.
        end = history.first_row[1:]
        first = first_known(~missing, history.first_row)
        rows = origins_between(first, end - 1)
        values = history.values[rows]
        n_targets = missing.shape[1]
        targets = values[:, :n_targets]
        targets[missing[rows]] = np.nan
        observed = Observed(values, history.series_of(rows), history.steps_of(rows))
        before = replace(self, history=history.head(first))
        history.values[rows, :n_targets] = before._filled(observed)

    def _compare_constants(self, table: Table, values: Float32Array) -> None:
        """Fill in static columns in rows of fitted series; warn of values that fit did not see."""
        roles = self.roles
        rows = np.flatnonzero(table.series < self.history.n_series)
        first_row = self.history.first_row[table.series[rows]]
        stored = self.history.values[first_row]
        differs = np.asarray(_differs(values[rows], stored).any(axis=0))
        known = list(roles.known)
        changed = np.flatnonzero(differs[-len(known) :])
        names = {known[j] for j in changed}
        other = [name for name in roles.static if name in names]
        if other:
            checks.warn_of_other_static(other)
        new = [name for name in roles.unchanged if name in names]
        if new:
            checks.warn_of_new_values(new)
        static = [known.index(name) - len(known) for name in roles.static]
        values[rows[:, None], static] = stored[:, static]

    def _refuse_reset_rows(self, table: Table, values: Float32Array) -> None:
        """Raise if rows at the steps of the history hold other values."""
        history = self.history
        rows = history.find(table.series, table.steps)
        is_inside = rows >= 0
        rows = rows[is_inside]
        differs = _differs(values[is_inside], history.values[rows])
        if history.weight is not None:
            # A missing target was filled: any value is as good.
            differs[:, : table.n_targets] &= history.weight[rows] > 0
        end = history.clock.labels(history.end_step.max(keepdims=True))[0]
        checks.check_not_reset(np.asarray(differs.any(axis=1)), end, history.clock.freq)

    def _recursive_forecaster(
        self, forecast: Forecaster, clock: Clock
    ) -> RecursiveForecaster:
        sizes = self.sizes._replace(seq_len=self.look_back)
        # Steps of rows that are their own timeline lie elsewhere in a day.
        closed = Closed.of(self.history) if clock == self.history.clock else None
        return RecursiveForecaster(
            self.history,
            sizes,
            self.point,
            forecast,
            closed,
        )

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        """Make the function that forecasts windows of the segments that are asked for."""
        return self.ensemble_forecaster(requested.place.series, requested.clock)

    def ensemble_forecaster(self, series: IntArray, clock: Clock) -> EnsembleForecaster:
        """Make the forecaster of windows of segments of these series."""
        limits = self.scaler.with_unseen().limits
        # The head of a classifier forecasts no values.
        bounds = None
        if self.head.in_units:
            bounds = ForecastBounds.of(self.history, self.sizes.n_targets, limits)
        return EnsembleForecaster(
            self.ensemble,
            self.sizes,
            series,
            clock,
            self.device,
            self.head,
            limits,
            bounds,
        )

    def _filled(self, rows: Observed) -> Float32Array:
        """Return standardised targets of rows after the history, missing ones by forecasts."""
        history = self.history
        forecast = self.ensemble_forecaster(np.arange(history.n_series), history.clock)
        with self._threads():
            return self._recursive_forecaster(forecast, history.clock).filled(rows)

    def _threads(self) -> AbstractContextManager[object]:
        """Set the threads of all predictions of a recursion at once."""
        sizes = self.sizes
        n_linear = sizes.seq_len * sizes.pred_len * self.history.values.shape[1]
        return prediction_threads(self.ensemble.largest_product, n_linear)


def _differs(values: Float32Array, stored: Float32Array) -> BoolArray:
    """Whether values are not those that are stored, but for rounding; NaN does not differ."""
    return np.abs(values - stored) > 1e-4 * (1 + np.abs(stored))
