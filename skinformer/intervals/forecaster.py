"""Forecasts with the sizes of their errors, and what intervals, quantiles and paths are made of.

Windows of the history are forecast, and so are the windows that ended before an origin: their
errors say how wild the times are. What makes the forecasts does not matter here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skinformer.ensemble.head import Head
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.intervals.changes import level_sizes
from skinformer.intervals.features import STILL, WIDTH, features_of, unmoved, volatility
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.runs import (
    N_TRAILING,
    earliest_origins,
    spare_rows,
    trailing_origins,
    trailing_sizes,
)
from skinformer.intervals.spread import Spread, mean_of_known
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import window_rows

#: Levels of the quantiles that paths are made of: the middles of equal shares.
_TABLE = (np.arange(99) + 0.5) / 99
#: Size of an error of a path, in usual ones, at most. Larger ones are of products that began to be
#: sold: a hundred times what was usual for them says nothing of other series.
_MOST_ERROR = 10.0
#: Error of a path at most where logarithms are forecast: a factor of 20.
_MOST_LOG = 3.0
#: Log of the size of an error where there is none.
_NO_SIZE = -100.0
#: Factor by which paths of amounts are moved at most, to have the mean that is forecast.
_MOST_MOVED = 2.0


@dataclass(frozen=True)
class Intervals:
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
        """Return quantiles of rows, (n, n_targets, n_levels), in the truth's units, ascending.

        outputs: (n, n_targets, 3), from `IntervalForecaster.standardised`.
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

    def forecasts(
        self,
        head: Head,
        outputs: Float64Array,
        levels: Float64Array,
        scaler: Scaler,
        series: IntArray,
    ) -> Float64Array:
        """Return what `predict` gives, and behind it quantiles: (n, n_targets, 1 + n_levels).

        head: of the fit; all else is as for `quantiles`.
        """
        if head.level is not None:
            return self.quantiles(outputs, np.append(head.level, levels), scaler, series)
        points = scaler.inverse(outputs[..., 0].astype(np.float32), series)[..., None]
        return np.concatenate([points, self.quantiles(outputs, levels, scaler, series)], axis=2)

    def paths(
        self,
        head: Head,
        outputs: Float64Array,
        levels: Float32Array,
        scaler: Scaler,
        series: IntArray,
    ) -> Float64Array:
        """Return paths, (n, n_targets, n_paths), in the truth's units.

        levels: (n, n_paths, pred_len, n_targets), from `draw_levels`; all else is as for
        `forecasts`. Where the forecast is a mean, that of many paths is the same.
        """
        point, size, ahead = self._parts(outputs)
        reach = _reach(scaler, series, point.shape[1])
        table = np.clip(self.residuals.quantiles(_TABLE), -_MOST_ERROR, _MOST_ERROR)
        errors = np.empty((*point.shape, levels.shape[1]))
        for step in range(table.shape[1]):
            for j in range(table.shape[2]):
                rows = ahead[:, j] == step
                errors[rows, j] = np.interp(levels[rows, :, step, j], _TABLE, table[:, step, j])
        each = (point + np.clip(size * e, -reach, reach) for e in np.moveaxis(errors, 2, 0))
        paths = np.stack([scaler.restored(values, series) for values in each], axis=2)
        if not head.of_mean:
            return paths
        usual = (size * e[ahead, np.arange(point.shape[1])] for e in table)
        usual = (point + np.clip(e, -reach, reach) for e in usual)
        mean = np.mean([scaler.restored(values, series) for values in usual], axis=0)
        wanted = scaler.inverse(outputs[..., 0].astype(np.float32), series)
        return _with_mean(paths, mean, wanted, scaler, series)

    def _parts(self, outputs: Float64Array) -> tuple[Float64Array, Float64Array, IntArray]:
        """Take outputs apart: the forecast, the size of its error, and which errors are like it."""
        point, log_size, ahead = (outputs[..., i] for i in range(3))
        sizes = np.concatenate([self.spread.typical, self.far])
        step = np.minimum(ahead, len(sizes) - 1).astype(np.int64)
        beyond = np.log(np.maximum((ahead + 1) / len(sizes), 1.0)) * self.growth
        size = np.exp(log_size + beyond + sizes[step, np.arange(point.shape[1])])
        return point, size, np.minimum(step, len(self.spread.typical) - 1)


@dataclass(frozen=True)
class IntervalForecaster(StepForecaster):
    """A forecaster that says with each forecast how far it may be off.

    It gives three values of each step and target: the forecast, the log of its error's size by what
    is known, and the steps since the last truth. They have no units: `standardised` is asked for
    them, and `Intervals` says what they mean.
    """

    intervals: Intervals

    @classmethod
    def of(cls, forecaster: StepForecaster, intervals: Intervals) -> IntervalForecaster:
        """Let a forecaster tell of its errors, as far as the fit's errors tell of them."""
        return cls(**vars(forecaster), intervals=intervals)

    @property
    def shape(self) -> tuple[int, ...]:
        """Three values."""
        return (3,)

    def point(self, outputs: Any) -> Any:
        """Return the forecast, the first of them."""
        return outputs[..., 0]

    def still(self, outputs: Float32Array, where: BoolArray, value: Float32Array) -> None:
        """Put a value in the place of some outputs, of which nothing is unsure."""
        outputs[where, 0], outputs[where, 1] = value[where], _NO_SIZE

    @property
    def look_back(self) -> int:
        """Rows before an origin that a forecast and those before it are made from."""
        return self.near + N_TRAILING * self.intervals.distance

    @property
    def near(self) -> int:
        """Rows before an origin that its forecast and volatility are made from."""
        return max(super().look_back, WIDTH)

    def _window_forecaster(self, requested: RequestedSteps) -> Forecaster:
        return _SizedWindows(self, super()._window_forecaster(requested), requested)


@dataclass
class _SizedWindows:
    """Forecast windows of a canvas with the sizes of their errors.

    known: which rows of the canvas were observed, the same in all calls.
    known_until: where what is known before each of them ends.
    """

    forecaster: IntervalForecaster
    inner: Forecaster
    requested: RequestedSteps
    known: BoolArray | None = None
    known_until: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        fit, place = self.forecaster, self.requested.place
        model, reach, pred_len = fit.intervals, fit.look_back, fit.sizes.pred_len
        if self.known is None:
            self.known, self.known_until = _known_rows(fit, rows, self.requested)
        # Nothing goes by rows before these, which other forecasts of the call may have asked for.
        late = np.maximum(rows.steps[origins] - place.begin[rows.track[origins]], 0)
        until = np.maximum(self.known_until[origins], origins - late - reach)
        anchor = np.maximum(until, origins - late)
        begin = np.maximum(rows.begin[rows.track[origins]], anchor - reach)
        earliest = earliest_origins(
            begin,
            anchor,
            seq_len=fit.sizes.seq_len,
            pred_len=pred_len,
            fewest=fit.ensemble.fewest_rows,
            spare=spare_rows(fit.history.n_series, model.distance),
        )
        before = trailing_origins(anchor, earliest, model.distance)
        earlier, of_earlier = np.unique(before[before >= 0], return_inverse=True)
        requested, where = np.unique(np.append(origins, earlier), return_inverse=True)
        outputs = self.inner(rows, requested).astype(np.float64)[where]
        own, past = outputs[: len(origins)], outputs[len(origins) :]
        now = self._changes(rows, origins, until, anchor)
        then = self._changes(rows, earlier, self.known_until[earlier], earlier)
        log_size = self._log_sizes(own, rows, origins, now)
        usual = self._log_sizes(past, rows, earlier, then)
        errors = self._errors(fit.head.point(past), rows, earlier, self.known)
        sizes = mean_of_known(np.abs(errors) * np.exp(-model.spread.typical - usual), axis=1)
        recent = np.full((*before.shape, sizes.shape[1]), np.nan)
        recent[before >= 0] = sizes[of_earlier]
        still = np.zeros(recent.shape, dtype=bool)
        still[before >= 0] = unmoved(errors, then)[of_earlier]
        recent[still & (now >= STILL)[:, None]] = np.nan
        points = fit.head.point(own)
        out = np.empty((*points.shape, 3), dtype=np.float32)
        out[..., 0] = points
        out[..., 1] = log_size + np.log(trailing_sizes(recent))[:, None]
        self._widen_unknown(out, rows, origins)
        out[..., 2] = ((origins - until)[:, None] + np.arange(pred_len))[..., None]
        return out

    def _widen_unknown(self, out: Float32Array, rows: Rows, origins: IntArray) -> None:
        """Let ranges of series of which nothing was ever known cover the levels of all others."""
        fit, track = self.forecaster, rows.track[origins]
        series = self.requested.place.series[track]
        blank = self.known_until[origins] == np.searchsorted(rows.track, track)
        some = np.flatnonzero(blank & (series < fit.history.n_series))
        if not len(some):
            return
        levels = level_sizes(fit.history, fit.scaler, fit.sizes.n_targets)[series[some], None]
        out[some, :, :, 1] = np.where(
            np.isnan(levels), out[some, :, :, 1], levels - fit.intervals.spread.typical
        )

    def _changes(
        self, rows: Rows, origins: IntArray, known_until: IntArray, anchor: IntArray
    ) -> Float64Array:
        """Return the volatility before windows."""
        begin = np.maximum(rows.begin[rows.track[origins]], anchor - self.forecaster.near)
        targets = rows.values[:, : self.forecaster.sizes.n_targets]
        return volatility(targets, begin, np.maximum(known_until, begin))

    def _log_sizes(
        self, outputs: Float64Array, rows: Rows, origins: IntArray, changes: Float64Array
    ) -> Float64Array:
        """Return the sizes of errors of windows, by what is known of these."""
        fit, track = self.forecaster, rows.track[origins]
        series = np.minimum(self.requested.place.series[track], len(fit.scaler.mean))
        quiet, scaler = fit.intervals.quiet, fit.scaler.with_unseen()
        features = features_of(outputs, changes, series, head=fit.head, quiet=quiet, scaler=scaler)
        steps = rows.steps[origins][:, None] + np.arange(fit.sizes.pred_len)
        return fit.intervals.spread.log_size(features, steps)

    def _errors(
        self, points: Float64Array, rows: Rows, origins: IntArray, known: BoolArray
    ) -> Float64Array:
        """Return errors of earlier windows, as they would be on rows that the fit did not see."""
        fit, until = self.forecaster, self.forecaster.intervals.fitted_until
        ahead = np.minimum(window_rows(origins, fit.sizes.pred_len), len(known) - 1)
        truth = rows.values[ahead, : fit.sizes.n_targets].astype(np.float64)
        errors = np.where(known[ahead][..., None], truth - points, np.nan)
        series = self.requested.place.series[rows.track[origins]]
        fitted = (self.requested.clock == fit.history.clock) & (series < len(until))
        fitted &= rows.steps[origins] < until[np.where(fitted, series, 0)]
        errors[fitted] *= fit.intervals.optimism
        return errors


def _known_rows(
    fit: IntervalForecaster, rows: Rows, requested: RequestedSteps
) -> tuple[BoolArray, IntArray]:
    """Return which rows were observed, and for each one where what is known before it ends."""
    history, given, place = fit.history, requested.observed, requested.place
    stored = history.find(place.series[rows.track], rows.steps)
    known = place.stored[rows.track] & (stored >= 0)
    if history.weight is not None:
        known[known] = (history.weight[stored[known]] > 0).all(axis=1)
    seen = ~np.isnan(given.values[:, : fit.sizes.n_targets]).any(axis=1)
    if requested.filled is not None:
        seen &= ~requested.filled
    first = np.searchsorted(rows.track, np.arange(len(place.series) + 1))
    start = rows.steps[np.minimum(first[:-1], len(rows.steps) - 1)]
    tracks = Timeline(rows.values, None, first, start, requested.clock)
    row = tracks.find(given.track[seen], given.steps[seen])
    known[row[row >= 0]] = True
    behind = np.where(known, np.arange(1, len(known) + 1), 0)
    until = np.maximum.accumulate(np.append(0, behind[:-1]))
    return known, np.maximum(until, first[rows.track])


def _reach(scaler: Scaler, series: IntArray, k: int) -> Float64Array:
    """Return the error, (n, n_targets), that no path exceeds: a factor, of logarithms."""
    if scaler.targets is None:
        return np.full((len(series), k), np.inf)
    return np.where(scaler.targets.logs[series], _MOST_LOG / scaler.scale[series, :k], np.inf)


def _with_mean(
    paths: Float64Array, mean: Float64Array, wanted: Float64Array, scaler: Scaler, series: IntArray
) -> Float64Array:
    """Move the mean of the law that paths come from to the forecast: by a factor, of amounts.

    mean, wanted: (n, n_targets), what it is and what it is to be.

    Amounts that are moved so stay amounts.
    """
    moved: Float64Array = paths + (wanted - mean)[..., None]
    if scaler.targets is None:
        return moved
    amounts = (scaler.targets.floor[series] == 0) & (mean > 0)
    ratio = np.divide(wanted, mean, out=np.ones_like(mean), where=amounts)
    ratio = np.clip(ratio, 1 / _MOST_MOVED, _MOST_MOVED)
    return np.where(amounts[..., None], paths * ratio[..., None], moved)
