"""Forecasts of steps by the parts of a fit: history, scale, ensemble and head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from skinformer.bounds.bounds import Bounds
from skinformer.bounds.closed import Closed
from skinformer.cleaning.closures import Closures
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
from skinformer.rolling.own_size import InOwnSize, Resized
from skinformer.rolling.placement import Placement, place_rows
from skinformer.threads import limited
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock, RowClock
from skinformer.timeline.months import MonthEffects
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import (
    Table,
    Timeline,
    build_timeline,
    fill_forward,
    first_known,
)
from skinformer.timeline.windows import origins_between
from skinformer.validation import rows as checks


class Places(NamedTuple):
    """Where steps that are forecast lie.

    series: (n,), their series; one number stands for all that the fit did not hold.
    factors: (n, n_targets), by what their months multiply targets; None for nothing.
    """

    series: IntArray
    factors: Float64Array | None

    def with_months(self, values: Float64Array) -> Float64Array:
        """Multiply forecasts in units, (n, n_targets, …), by the factors of their months."""
        if self.factors is None:
            return values
        n_more = values.ndim - self.factors.ndim
        return values * self.factors.reshape(*self.factors.shape, *[1] * n_more)


@dataclass(frozen=True)
class StepForecaster:
    """The fitted parts, put together to forecast steps of time.

    history, scaler: the standardised rows so far, and how they were standardised.
    roles, sizes: what the columns are; their numbers, and the lengths of windows.
    device: where the network is.
    head: what its outputs mean.
    ensemble: which members forecast, and their weights.
    closures: what columns known ahead say of steps at which nothing happens.
    months: what the days of months do to targets; the history is without it.
    n_jobs: threads at most, see `limited`.
    """

    history: Timeline
    scaler: Scaler
    roles: Roles
    sizes: ModelSizes
    device: str
    head: Head
    ensemble: Ensemble
    closures: Closures
    months: MonthEffects
    n_jobs: int | None

    @property
    def look_back(self) -> int:
        """Rows before an origin that its forecast is made from."""
        return max(self.sizes.seq_len, self.ensemble.look_back)

    @cached_property
    def bounds(self) -> Bounds:
        """What no forecast may be."""
        # The head of a classifier forecasts no values.
        if not self.head.in_units:
            return Bounds.of_classes(self.history)
        return Bounds.of(self.history, self.scaler, self.closures, self.sizes.n_targets)

    def point(self, outputs: Any) -> Any:
        """Return the one value of what is forecast that is fed back."""
        return self.head.point(outputs)

    def observe(self, table: Table) -> Observed:
        """Standardise rows at prediction; series stand for segments as yet."""
        series = np.minimum(table.series, self.history.n_series)
        scaler = self.scaler.with_unseen()
        comparable = self.months.taken_off(table)
        values = scaler.transform(comparable.columns, series)
        if self.roles.static or self.roles.unchanged:
            self._compare_constants(table, values)
        if not (table.clock.dated or isinstance(table.clock, RowClock)):
            self._refuse_reset_rows(table, values)
        return Observed(values, table.series, table.steps)

    def place(self, table: Table, observed: Observed) -> tuple[Placement, Observed]:
        """Find the segments of X's rows; raise or warn where the history cannot be their context.

        observed: the rows of the table, standardised; they come back with their segments.
        """
        n_targets = self.sizes.n_targets
        missing = np.isnan(observed.values[:, :n_targets])
        has_target = ~np.all(missing, axis=1)
        farthest = LONGEST_CHAIN * self.sizes.pred_len
        place, segment = place_rows(table, self.history, has_target, farthest)
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
        return self.in_units(self.standardised(requested), self.places_of(requested))

    def places_of(self, requested: RequestedSteps) -> Places:
        """Return the series and months of steps."""
        series = requested.series(self.history.n_series)
        return self.places(requested.clock, requested.steps, series)

    def places(self, clock: Clock, steps: IntArray, series: IntArray) -> Places:
        """Return these series, with the factors of their months."""
        return Places(series, self.months.factors(clock, steps, series))

    def forecasts(
        self,
        outputs: Float64Array,
        levels: Float64Array,  # noqa: ARG002
        places: Places,
    ) -> Float64Array:
        """Return the values that `predict` gives, (n, n_targets, 1), and no quantiles behind them.

        outputs: from `standardised`.
        """
        return self.head.point(self.in_units(outputs, places))[..., None]

    def in_units(self, outputs: Float64Array, places: Places) -> Float64Array:
        """Put outputs of steps into y's units, below the ceilings of rates."""
        scaler = self.scaler.with_unseen()
        in_units = self.head.to_units(outputs, scaler, places.series)
        bounded = self.bounds.below_ceilings(in_units, places.series)
        return places.with_months(bounded)

    def standardised(self, requested: RequestedSteps) -> Float64Array:
        """Forecast steps: (n, n_targets, *shape)."""
        outputs, held = self.standardised_and_held(requested)
        checks.warn_of_held_values(self.roles, *held)
        return outputs

    def standardised_and_held(
        self, requested: RequestedSteps
    ) -> tuple[Float64Array, HeldValues]:
        """Forecast steps as `standardised` does; return what had to be held, without a warning."""
        with self._threads():
            forecast = self._in_own_size(requested)
            closed = self.bounds.on_clock(requested.clock).closed
            recursive = self._recursive_forecaster(forecast, closed)
            outputs, values, held = recursive.predict(requested)
        self._set_zeros(outputs, values, requested)
        return outputs.astype(np.float64), held

    def _set_zeros(
        self, outputs: Float32Array, values: Float32Array, requested: RequestedSteps
    ) -> None:
        """Forecast zero where the time or a column known ahead says that nothing happens."""
        series = requested.series(self.history.n_series)
        bounds = self.bounds.on_clock(requested.clock)
        zeros = bounds.zeros(values, series, requested.steps)
        if zeros is not None:
            self.set_constant(outputs, *zeros)

    def set_constant(
        self, outputs: Float32Array, where: BoolArray, value: Float32Array
    ) -> None:
        """Put a value, (n, n_targets), in the place of some outputs, (n, n_targets, *shape)."""
        n_axes = len(self.head.outputs)
        outputs[where] = value[where].reshape(-1, *[1] * n_axes)

    def appended(self, table: Table) -> Timeline:
        """Return the history with rows that follow it, missing targets filled by forecasts.

        Rows are sorted by series and step.
        """
        comparable = self.months.taken_off(table)
        new = build_timeline(comparable, self.scaler, fill_covariates=False)
        if not self.sizes.may_miss:
            self._continue_covariates(new)
        missing = table.missing
        if missing is not None:
            targets = new.values[:, : table.n_targets]
            targets[missing] = np.nan
            observed = Observed(new.values, table.series, table.steps)
            targets[:] = self._filled(observed, self.bounds.closed)
        return self.history.appended(new)

    def _continue_covariates(self, new: Timeline) -> None:
        """Fill missing covariates of rows that follow the history, by the last value before."""
        n_targets = self.sizes.n_targets
        covariates = new.values[:, n_targets:]
        if not np.isnan(covariates).any():
            return
        has_rows = np.diff(new.first_row) > 0
        first = new.first_row[:-1][has_rows]
        last = self.history.first_row[1:][has_rows] - 1
        before = self.history.values[last, n_targets:]
        covariates[first] = np.where(
            np.isnan(covariates[first]), before, covariates[first]
        )
        fill_forward(covariates, new.first_row)

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
        # Which steps are never observed the few rows before the first gap cannot tell.
        history.values[rows, :n_targets] = before._filled(observed, self.bounds.closed)

    def _compare_constants(self, table: Table, values: Float32Array) -> None:
        """Fill in static columns in rows of fitted series; warn of values that fit did not see."""
        history = self.history
        roles = self.roles
        is_fitted = table.series < history.n_series
        first_row = history.first_row[table.series[is_fitted]]
        stored = history.values[first_row]
        n_known = len(roles.known)
        differs = _differs(values[is_fitted], stored)
        of_known = np.any(differs[:, -n_known:], axis=0)
        is_changed = dict(zip(roles.known, of_known, strict=True))
        other = [name for name in roles.static if is_changed[name]]
        if other:
            checks.warn_of_other_static(roles.sources_of(other))
        new = [name for name in roles.unchanged if is_changed[name]]
        if new:
            checks.warn_of_new_values(roles.sources_of(new))
        first_static = values.shape[1] - len(roles.static)
        values[is_fitted, first_static:] = stored[:, first_static:]

    def _refuse_reset_rows(self, table: Table, values: Float32Array) -> None:
        """Raise if rows at the steps of the history hold other values."""
        history = self.history
        clock = history.clock
        rows = history.find(table.series, table.steps)
        is_inside = rows >= 0
        rows = rows[is_inside]
        differs = _differs(values[is_inside], history.values[rows])
        if history.weight is not None:
            # A missing target was filled: any value is as good.
            differs[:, : table.n_targets] &= history.weight[rows] > 0
        end_step = history.end_step.max(keepdims=True)
        checks.check_not_reset(
            np.any(differs, axis=1), clock.labels(end_step)[0], clock.freq
        )

    def _recursive_forecaster(
        self, forecast: Forecaster, closed: Closed | None
    ) -> RecursiveForecaster:
        """Make what forecasts steps by windows.

        closed: steps that are never observed, and not forecast.
        """
        return RecursiveForecaster(
            self.history,
            self.sizes._replace(seq_len=self.look_back),
            self.point,
            forecast,
            closed,
        )

    def _in_own_size(self, requested: RequestedSteps) -> Forecaster:
        """Make what forecasts windows, those of new series in their own size."""
        forecast = self._window_forecaster(requested)
        is_new = requested.place.series >= self.history.n_series
        if not is_new.any() or not self.can_resize:
            return forecast
        return InOwnSize(
            forecast,
            is_new,
            self.scaler.with_unseen(),
            self.sizes.seq_len,
            self.restored,
        )

    @property
    def can_resize(self) -> bool:
        """Whether targets in another size are what a series of that size would be.

        Classes have no size, and a transformer of the user's may do anything.
        """
        return self.head.in_units and not self.scaler.targets.transformers

    def restored(self, outputs: Float32Array, size: Resized) -> Float32Array:
        """Put outputs of windows in another size, (n, pred_len, n_targets, …), back."""
        return np.asarray(size.undone(outputs), dtype=np.float32)

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        """Make the function that forecasts windows of the segments that are asked for."""
        return self.ensemble_forecaster(requested.place.series, requested.clock)

    def ensemble_forecaster(self, series: IntArray, clock: Clock) -> EnsembleForecaster:
        """Make the forecaster of windows of segments of these series."""
        return EnsembleForecaster(
            self.ensemble,
            self.sizes,
            series,
            clock,
            self.device,
            self.head,
            self.bounds,
        )

    def _filled(self, rows: Observed, closed: Closed | None) -> Float32Array:
        """Return standardised targets of rows after the history, missing ones by forecasts.

        closed: steps that are never observed, and not forecast.
        """
        series = np.arange(self.history.n_series)
        forecast = self.ensemble_forecaster(series, self.history.clock)
        with self._threads():
            return self._recursive_forecaster(forecast, closed).filled(rows)

    @contextmanager
    def _threads(self) -> Iterator[None]:
        """Set the threads of all predictions of a recursion at once."""
        n_columns = self.history.values.shape[1]
        n_linear = self.sizes.seq_len * self.sizes.pred_len * n_columns
        largest = self.ensemble.largest_product
        with limited(self.n_jobs), prediction_threads(largest, n_linear):
            yield


def _differs(values: Float32Array, stored: Float32Array) -> BoolArray:
    """Whether values are not those that are stored, but for rounding; NaN does not differ."""
    rounding = 1e-4 * (1 + np.abs(stored))
    return np.abs(values - stored) > rounding
