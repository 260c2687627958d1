"""The record of what no forecast may be, and the steps by which forecasts keep to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skinformer.bounds.ceilings import find_ceilings
from skinformer.bounds.closed import Closed
from skinformer.bounds.closed_ahead import ClosedAhead, zero_of_series
from skinformer.bounds.limits import Limits
from skinformer.bounds.lone_sales import find_lone_sales
from skinformer.bounds.reach import Reach, observed_range
from skinformer.bounds.windows import SeenWindows
from skinformer.bounds.zero_phases import ZeroPhases, standardised_zeros
from skinformer.cleaning.closed_dates import ClosedDates
from skinformer.cleaning.closures import Closures
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline


@dataclass(frozen=True)
class Bounds:
    """What no forecast may be, by a history; whatever is None bounds nothing.

    These are the steps, in their order; an exported graph has the same ones, by the same names
    (`export.bounds`). Between the third and the fourth stands the way to units, which holds the
    floor of each target (`TargetScale.inverse`).

    1. `limit`: each member keeps near what was seen, so that the others share nothing wild.
    2. `level`: the joint forecast behind a lone sale.
    3. `zeros`: where the joint forecast is zero, by the time or by a column known ahead.
    4. `below_ceilings`: points, quantiles and paths of rates, in their units.

    reach, limits: what no forecast leaves, and what one in logarithms hardly exceeds.
    zero: (n_series + 1, n_targets), what zero is in each series; NaN of new ones, the last.
    zero_phases: where series were never anything else.
    closed: steps that are never observed: no forecast is fed back there.
    closed_ahead: steps that a column known ahead tells.
    closed_dates: dates at which series are closed every year.
    closed_zero: (n_series + 1, n_targets), what zero is in a closure.
    clock: whose steps are meant.
    ceilings: (n_series + 1, n_targets), what rates do not exceed, in units.
    """

    reach: Reach | None = None
    limits: Limits | None = None
    zero: Float32Array | None = None
    zero_phases: ZeroPhases | None = None
    closed: Closed | None = None
    closed_ahead: ClosedAhead | None = None
    closed_dates: ClosedDates | None = None
    closed_zero: Float32Array | None = None
    clock: Clock | None = None
    ceilings: Float64Array | None = None

    @classmethod
    def of(
        cls, history: Timeline, scaler: Scaler, closures: Closures, n_targets: int
    ) -> Bounds:
        """Find the bounds of values by their history, standardised by a scaler."""
        with_unseen = scaler.with_unseen()
        limits = Limits.of(with_unseen)
        low, high = observed_range(history, n_targets)
        zero = standardised_zeros(scaler, history.n_series, n_targets)
        closed_zero = None
        if closures.found or closures.dates is not None:
            closed_zero = zero_of_series(with_unseen, n_targets)
        return cls(
            reach=Reach.of(low, high, limits),
            limits=limits,
            zero=zero,
            zero_phases=ZeroPhases.of(history, zero),
            closed=Closed.of(history),
            closed_ahead=ClosedAhead.of(closures, with_unseen, n_targets),
            closed_dates=closures.dates,
            closed_zero=closed_zero,
            clock=history.clock,
            ceilings=find_ceilings(history, scaler, high),
        )

    @classmethod
    def of_classes(cls, history: Timeline) -> Bounds:
        """Find the bounds of probabilities, which have no values: closed steps alone."""
        return cls(closed=Closed.of(history), clock=history.clock)

    def on_clock(self, clock: Clock) -> Bounds:
        """Leave out what goes by the time where rows are on another clock than the history."""
        if self.clock is None or self.clock == clock:
            return self
        return replace(self, zero_phases=None, closed=None, clock=clock)

    def limit(self, y_pred: Float32Array, windows: SeenWindows) -> Float32Array:
        """Keep a member's forecasts of windows, (n, pred_len, n_targets, …), near what was seen."""
        if self.reach is not None:
            y_pred = self.reach.apply(y_pred, windows.series, windows.observed_range)
        if self.limits is None:
            return y_pred
        series = np.minimum(windows.series, len(self.limits.top) - 1)
        return self.limits.apply(y_pred, series, windows.greatest)

    def level(
        self,
        points: Float32Array,
        windows: SeenWindows,
        *,
        of_mean: bool,
        look_back: int,
    ) -> None:
        """Set forecasts behind one sale after many zeros, which is no level: the mean or zero.

        points: (n, pred_len, n_targets), the joint forecast of windows.
        of_mean: whether it is a mean; a median is zero.
        look_back: rows that it is made from.
        """
        if self.zero is None:
            return
        lone = find_lone_sales(
            windows, self.zero, pred_len=points.shape[1], look_back=look_back
        )
        level = lone.mean if of_mean else lone.zero
        np.copyto(points, level[:, None], where=lone.is_lone[:, None])

    def zeros(
        self, values: Float32Array, series: IntArray, steps: IntArray
    ) -> tuple[BoolArray, Float32Array] | None:
        """Find where the joint forecast of steps is zero, and what zero is, (n, n_targets) each.

        values: (n, n_columns), what is known of the steps, standardised.
        series, steps: (n,), of which those are. None for nowhere.
        """
        found = []
        zero = self.zero
        if self.zero_phases is not None:
            found.append(self.zero_phases.at(series, steps))
        if self.closed_dates is not None and self.clock is not None:
            found.append(self.closed_dates.at(self.clock, series, steps))
        if self.closed_ahead is not None:
            found.append(self.closed_ahead.at(values, series))
        if self.closed_zero is not None:
            zero = self.closed_zero
        if not found or zero is None:
            return None
        return np.logical_or.reduce(found), zero[series]

    def below_ceilings(self, values: Float64Array, series: IntArray) -> Float64Array:
        """Clip values of rows, (n, n_targets, …), in units, to the ceilings of rates."""
        if self.ceilings is None:
            return values
        ceilings = self.ceilings[series]
        axes = tuple(range(2, values.ndim))
        return np.minimum(values, np.expand_dims(ceilings, axes))
