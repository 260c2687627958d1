"""How far the forecasts of an estimator are off, as far as an origin tells: for any forecaster.

Windows of the history are forecast, and so are the windows that ended before an origin: their
errors say how wild the times are. What makes the forecasts does not matter here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from skinformer.ensemble.head import Head, PointHead
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.estimators.forecaster import StepForecaster
from skinformer.estimators.placement import Placement
from skinformer.estimators.rolling import Observed
from skinformer.ranges.residuals import Residuals
from skinformer.ranges.runs import N_TRAILING, trailing_origins, trailing_sizes
from skinformer.ranges.spread import Spread
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import window_rows

__all__ = [
    "PointForecaster",
    "RangeForecaster",
    "Ranges",
    "Situation",
    "earliest_origins",
    "features_of",
    "mean_size",
    "volatility",
]

#: Rows by which volatility is told, and share of the usual one that is added: none has none.
_WIDTH, QUIET = 48, 0.1
#: Level, in means of the series, that is added: an error at level zero is not zero.
_LOW_LEVEL = 0.05
#: Distance of quantiles, standardised, below which the network has said nothing.
_LEAST_APART = 1e-6
#: Rows before the first window of a series.
_FEWEST_ROWS = 3


@dataclass(frozen=True)
class Ranges:
    """What a fit found out about its errors.

    spread: their sizes, by step ahead and by what is known at the origin.
    residuals: what they are in such sizes: a sample of whole forecasts.
    quiet: (n_targets,), volatility that is added to that of a window.
    far: (n_far, n_targets), logs of the sizes of the steps after `pred_len`, which are forecast
    from forecasts.
    growth: (n_targets,), power of the step by which sizes grow beyond these.
    optimism: (n_targets,), by how much errors are larger on rows that the forecaster was not fitted
    to.
    distance: rows between windows that tell of each other.
    fitted_until: (n_series,), the step after the last row that the fit saw.
    """

    spread: Spread
    residuals: Residuals
    quiet: Float64Array
    far: Float64Array
    growth: Float64Array
    optimism: Float64Array
    distance: int
    fitted_until: IntArray

    def quantiles(
        self, outputs: Float64Array, levels: Float64Array, scaler: Scaler, series: IntArray
    ) -> Float64Array:
        """Give quantiles of rows, (n, n_targets, n_levels), in the truth's units, ascending.

        outputs: (n, n_targets, 3), from `RangeForecaster.forecast`.
        scaler: of the fit, and of series that it did not hold.
        series: that of each row.
        """
        table = self.residuals.quantiles(levels)
        if scaler.targets is not None and scaler.targets.falls.any():
            turned = self.residuals.quantiles(1 - levels)
            table = np.where(scaler.targets.falls, turned, table)
        point, size, ahead = self._parts(outputs)
        targets = np.arange(point.shape[1])
        each = (point + size * quantiles[ahead, targets] for quantiles in table)
        return np.stack([scaler.restored(values, series) for values in each], axis=2)

    def paths(
        self, outputs: Float64Array, windows: IntArray, scaler: Scaler, series: IntArray
    ) -> Float64Array:
        """Give one draw of each row, (n, n_targets), in the truth's units.

        windows: whose errors each row gets; all else is as for `quantiles`.
        """
        point, size, ahead = self._parts(outputs)
        errors = self.residuals.paths(windows, ahead[:, 0])
        return scaler.restored(point + size * errors, series)

    def _parts(self, outputs: Float64Array) -> tuple[Float64Array, Float64Array, IntArray]:
        """Take outputs apart: the forecast, the size of its error, and which errors are like it."""
        point, log_size, ahead = (outputs[..., i] for i in range(3))
        sizes = np.concatenate([self.spread.typical, self.far])
        step = np.minimum(ahead, len(sizes) - 1).astype(np.int64)
        beyond = np.log(np.maximum((ahead + 1) / len(sizes), 1.0)) * self.growth
        size = np.exp(log_size + beyond + sizes[step, np.arange(point.shape[1])])
        return point, size, np.minimum(step, len(self.spread.typical) - 1)


class Situation(NamedTuple):
    """Windows of rows, and what is known of these.

    values: (n_rows, n_columns), standardised, the targets first.
    begin: (n,), the first row of each window's series.
    series: (n,), that of each window.
    steps: (n,), the step of each window's first forecast row.
    """

    values: Float32Array
    begin: IntArray
    series: IntArray
    steps: IntArray


def earliest_origins(begin: IntArray, end: IntArray, *, seq_len: int, pred_len: int) -> IntArray:
    """Give the first rows of series, from begin to end, from which forecasts tell of errors.

    A whole context lies before them, or half of the rows where these are few.
    >>> earliest_origins(np.array([0, 0]), np.array([900, 50]), seq_len=96, pred_len=10)
    array([96, 20])
    """
    half = np.maximum((end - begin - pred_len) // 2, _FEWEST_ROWS)
    earliest: IntArray = begin + np.minimum(seq_len, half)
    return earliest


def features_of(
    situation: Situation,
    known_until: IntArray,
    outputs: Float64Array,
    *,
    head: Head,
    quiet: Float64Array,
    scaler: Scaler,
) -> Float64Array:
    """Tell what sizes of errors may depend on: (n, pred_len, n_targets, n_features).

    known_until: (n,), the row after the last known one before each window.
    outputs: (n, pred_len, n_targets, *head.outputs), forecasts, standardised.
    quiet: (n_targets,), volatility that is added.
    scaler: of the fit, and of series that it did not hold.

    Logs of volatility, of level and, of several outputs, of how far these lie apart; NaN where
    there is none.
    """
    points = head.point(outputs)
    changes = volatility(situation.values, situation.begin, known_until, points.shape[2])
    wild = np.broadcast_to(np.log(changes + quiet)[:, None], points.shape)
    found = [wild, _levels(points, scaler, situation.series)]
    if head.middle is not None:
        apart = np.abs(outputs - points[..., None]).mean(axis=-1)
        found.append(np.log(np.where(apart > _LEAST_APART, apart, np.nan)))
    return np.stack(found, axis=-1)


def volatility(
    values: Float32Array, begin: IntArray, known_until: IntArray, n_targets: int
) -> Float64Array:
    """Give mean absolute changes of targets over the last 48 known rows at most: (n, n_targets).

    Changes of each window are seen from `begin` on, and before `known_until`; NaN where there are
    not two rows.
    >>> rows = np.array([[0.0], [2.0], [2.0]], dtype=np.float32)
    >>> volatility(rows, np.array([0, 2]), np.array([3, 3]), 1).ravel()
    array([ 1., nan])
    """
    places = np.maximum(known_until[:, None] + np.arange(-_WIDTH, 0), begin[:, None])
    past = values[np.minimum(places, len(values) - 1), :n_targets].astype(np.float64)
    total = np.abs(np.diff(past, axis=1)).sum(axis=1)
    count = np.minimum(known_until - begin, _WIDTH)[:, None] - 1.0
    mean: Float64Array = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def mean_size(sizes: Float64Array) -> Float64Array:
    """Average the sizes of a window's errors over steps; NaN where all are unknown.

    >>> mean_size(np.array([[[1.0], [np.nan], [2.0]], [[np.nan]] * 3])).ravel()
    array([1.5, nan])
    """
    known = ~np.isnan(sizes)
    count = known.sum(axis=1)
    total = np.where(known, sizes, 0.0).sum(axis=1)
    mean: Float64Array = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return mean


def _levels(points: Float64Array, scaler: Scaler, series: IntArray) -> Float64Array:
    """Give logs of forecasts in means of their series, where these are counts or amounts."""
    out = np.zeros(points.shape)
    if scaler.targets is None:
        return out
    k = points.shape[2]
    mean, scale = scaler.mean[series, :k], scaler.scale[series, :k]
    amounts = (scaler.targets.floor[series, :k] == 0) & ~scaler.targets.shaped[series, :k]
    amounts &= mean > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        level = points * (scale / mean)[:, None] + 1.0
    return np.where(amounts[:, None], np.log(np.maximum(level, 0.0) + _LOW_LEVEL), out)


@dataclass(frozen=True)
class StandardHead(PointHead):
    """One value that stays standardised."""

    def to_units(
        self,
        outputs: Float32Array,
        scaler: Scaler,  # noqa: ARG002 – as every head
        series: IntArray,  # noqa: ARG002
    ) -> Float64Array:
        """Give outputs as they are."""
        return outputs.astype(np.float64)


@dataclass(frozen=True)
class RangeHead(StandardHead):
    """Three values: the forecast, the log of its error's size by what is known, steps ahead."""

    outputs: ClassVar[tuple[int, ...]] = (3,)

    def point(self, outputs: Any) -> Any:
        """Give the forecast."""
        return outputs[..., 0]


@dataclass(frozen=True)
class PointForecaster(StepForecaster):
    """A forecaster of points that stay standardised, whatever the module gives.

    inner: what the outputs of the module are.
    """

    inner: Head

    @classmethod
    def of(cls, forecaster: StepForecaster) -> PointForecaster:
        """Keep the points of a forecaster."""
        return cls(**_parts_of(forecaster, StandardHead("mse")), inner=forecaster.head)

    @property
    def module_head(self) -> Head:
        """What the outputs of the module mean."""
        return self.inner

    def _window_forecaster(self, place: Placement, clock: Clock) -> Forecaster:
        inner = super()._window_forecaster(place, clock)
        return lambda rows, origins: self.inner.point(inner(rows, origins))


@dataclass(frozen=True)
class RangeForecaster(StepForecaster):
    """A forecaster that says with each forecast how far it may be off; its head is a `RangeHead`.

    inner: what the outputs of the module are.
    given: what X brings.
    """

    ranges: Ranges
    inner: Head
    given: Observed

    @classmethod
    def of(cls, forecaster: StepForecaster, ranges: Ranges, given: Observed) -> RangeForecaster:
        """Let a forecaster tell of its errors, as far as X and the ranges tell of them."""
        parts = _parts_of(forecaster, RangeHead("mse"))
        return cls(**parts, ranges=ranges, inner=forecaster.head, given=given)

    @property
    def look_back(self) -> int:
        """Rows before an origin that a forecast and those before it are made from."""
        return self._near + N_TRAILING * self.ranges.distance

    @property
    def _near(self) -> int:
        """Rows before an origin that its forecast and volatility are made from."""
        return max(super().look_back, _WIDTH)

    @property
    def module_head(self) -> Head:
        """What the outputs of the module mean."""
        return self.inner

    def _window_forecaster(self, place: Placement, clock: Clock) -> Forecaster:
        inner = super()._window_forecaster(place, clock)
        seen: list[tuple[BoolArray, IntArray]] = []

        def forecast(rows: Rows, origins: IntArray) -> Float32Array:
            if not seen:
                seen.append(self._known_rows(rows, place))
            on_clock = clock == self.history.clock
            return self._with_sizes(inner, rows, origins, place, *seen[0], on_clock)

        return forecast

    def _with_sizes(
        self,
        inner: Forecaster,
        rows: Rows,
        origins: IntArray,
        place: Placement,
        known: BoolArray,
        known_until: IntArray,
        on_clock: bool,
    ) -> Float32Array:
        ranges, pred_len, reach = self.ranges, self.sizes.pred_len, self.look_back
        # Nothing goes by rows before these, which other forecasts of the call may have asked for.
        late = np.maximum(rows.steps[origins] - place.begin[rows.track[origins]], 0)
        until = np.maximum(known_until[origins], origins - late - reach)
        anchor = np.maximum(until, origins - late)
        begin = np.maximum(rows.begin[rows.track[origins]], anchor - reach)
        earliest = earliest_origins(begin, anchor, seq_len=self.sizes.seq_len, pred_len=pred_len)
        before = trailing_origins(anchor, earliest, ranges.distance)
        earlier, of_earlier = np.unique(before[before >= 0], return_inverse=True)
        asked, where = np.unique(np.append(origins, earlier), return_inverse=True)
        outputs = inner(rows, asked).astype(np.float64)[where]
        own, past = outputs[: len(origins)], outputs[len(origins) :]
        log_size = self._log_sizes(own, rows, origins, place, until, anchor)
        errors = self._errors(self.inner.point(past), rows, earlier, place, known, on_clock)
        usual = self._log_sizes(past, rows, earlier, place, known_until[earlier], earlier)
        sizes = mean_size(np.abs(errors) * np.exp(-ranges.spread.typical - usual))
        recent = np.full((*before.shape, sizes.shape[1]), np.nan)
        recent[before >= 0] = sizes[of_earlier]
        points = self.inner.point(own)
        out = np.empty((*points.shape, 3), dtype=np.float32)
        out[..., 0] = points
        out[..., 1] = log_size + np.log(trailing_sizes(recent))[:, None]
        out[..., 2] = ((origins - until)[:, None] + np.arange(pred_len))[..., None]
        return out

    def _log_sizes(
        self,
        outputs: Float64Array,
        rows: Rows,
        origins: IntArray,
        place: Placement,
        known_until: IntArray,
        anchor: IntArray,
    ) -> Float64Array:
        """Tell the sizes of errors of windows, by what is known of these."""
        track, first = rows.track[origins], rows.steps[origins]
        series = np.minimum(place.series[track], len(self.scaler.mean))
        begin = np.maximum(rows.begin[track], anchor - self._near)
        found = features_of(
            Situation(rows.values, begin, series, first),
            np.maximum(known_until, begin),
            outputs,
            head=self.inner,
            quiet=self.ranges.quiet,
            scaler=self.scaler.with_unseen(),
        )
        steps = first[:, None] + np.arange(self.sizes.pred_len)
        return self.ranges.spread.log_size(found, steps)

    def _errors(
        self,
        points: Float64Array,
        rows: Rows,
        origins: IntArray,
        place: Placement,
        known: BoolArray,
        on_clock: bool,
    ) -> Float64Array:
        """Give errors of earlier windows, as they would be on rows that the fit did not see."""
        ahead = np.minimum(window_rows(origins, self.sizes.pred_len), len(known) - 1)
        truth = rows.values[ahead, : self.sizes.n_targets].astype(np.float64)
        errors = np.where(known[ahead][..., None], truth - points, np.nan)
        series, until = place.series[rows.track[origins]], self.ranges.fitted_until
        known_series = on_clock & (series < len(until))
        fitted = known_series & (rows.steps[origins] < until[np.where(known_series, series, 0)])
        errors[fitted] *= self.ranges.optimism
        return errors

    def _known_rows(self, rows: Rows, place: Placement) -> tuple[BoolArray, IntArray]:
        """Tell which rows were observed, and for each one where what is known before it ends."""
        history, k = self.history, self.sizes.n_targets
        owner = place.series[rows.track]
        stored = place.stored[rows.track] & (owner < history.n_series)
        owner = np.where(stored, owner, 0)
        inside = rows.steps - history.first_step[owner]
        stored &= (inside >= 0) & (inside < np.diff(history.first_row)[owner])
        known = stored.copy()
        if history.weight is not None:
            places = (history.first_row[owner] + inside)[stored]
            known[stored] = (history.weight[places] > 0).all(axis=1)
        first = np.searchsorted(rows.track, np.arange(len(place.series)))
        seen = ~np.isnan(self.given.values[:, :k]).any(axis=1)
        track, steps = self.given.track[seen], self.given.steps[seen]
        start = np.minimum(first[track], len(rows.track) - 1)
        row = start + steps - rows.steps[start]
        there = (row >= start) & (row < len(rows.track))
        there[there] = rows.track[row[there]] == track[there]
        known[row[there]] = True
        numbers = np.arange(len(known))
        last = np.maximum.accumulate(np.where(known, numbers, -1))
        before = np.append(-1, last[:-1]) + 1
        return known, np.maximum(before, first[rows.track])


def _parts_of(forecaster: StepForecaster, head: Head) -> dict[str, Any]:
    """Give what a forecaster is made of, with another head."""
    same = {part.name: getattr(forecaster, part.name) for part in fields(StepForecaster)}
    return same | {"head": head}
