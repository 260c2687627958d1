"""Members that forecast each target of each series in its own units, from rows as they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from skinformer.classical.windows import UnitWindows
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.ridge.calendar import known_effect
from skinformer.ridge.sums import Problem
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import origins_between

#: Windows at a time.
_CHUNK = 4096


class Series(NamedTuple):
    """Targets of series, each a series by itself, in their own units.

    values: rows of all series for the first target, series after series, then for the second; what
    was not observed is filled.
    known, steps: which rows were observed, and the step of each.
    first_row: (n_series * n_targets + 1,).
    of_mean: whether forecasts are to be means; else medians.
    """

    values: Float64Array
    known: BoolArray
    steps: IntArray
    first_row: IntArray
    clock: Clock
    of_mean: bool


@dataclass(frozen=True)
class InUnits(Member):
    """Forecasts of a timeline's targets by what knows single series.

    fit: of each target of each series, in its own units, series by series for the first target,
    then for the second.
    effect: (n_known, n_targets), what columns known ahead do to the targets of their own row,
    standardised; it is taken off first and added last.
    of_mean: whether forecasts are means; else medians.
    scaler: of the fit, and of series that it did not hold. Targets that it transforms are forecast
    as they are standardised, but for logarithms that `own_logs` undoes.
    """

    fit: Any
    effect: Float64Array
    scaler: Scaler
    of_mean: bool

    forecasts_short = fits_again = True
    #: Whether the fit finds out by itself which series are better seen in logarithms.
    own_logs = False

    @staticmethod
    def fit_series(series: Series, sizes: ModelSizes, whole: Any = None) -> Any:
        """Fit what has a `seq_len`, a `pred_len`, and forecasts windows as `ClassicalFit` does.

        whole: what was fitted to all rows, where these are some of them.
        """
        raise NotImplementedError

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return int(self.fit.seq_len)

    @property
    def n_targets(self) -> int:
        """Number of first columns that are forecast."""
        return int(self.effect.shape[1])

    @classmethod
    def of_rows(
        cls,
        rows: FitRows,
        settings: FitSettings,
        *,
        before_split: bool,
        earlier: Self | None = None,  # noqa: ARG003
    ) -> Self:
        """Fit it to each target of each series."""
        timeline = rows.timeline
        if before_split and rows.split is not None:
            timeline = timeline.head(rows.split)
        return cls.of_timeline(timeline, rows.sizes, rows.scaler, of_mean=settings.head.of_mean)

    @classmethod
    def of_timeline(
        cls,
        timeline: Timeline,
        sizes: ModelSizes,
        scaler: Scaler,
        *,
        of_mean: bool,
        whole: Any = None,
    ) -> Self:
        """Fit them to the rows of a timeline, standardised by this scaler; see `fit_series`."""
        k, series = sizes.n_targets, timeline.series
        effect, values = np.zeros((sizes.n_known, k)), timeline.values[:, :k].astype(np.float64)
        if sizes.n_known:
            problem = Problem(timeline.values, timeline.weight, None, k, 1, sizes.pred_len, effect)
            ends = timeline.first_row[1:] - sizes.pred_len
            effect = known_effect(problem, origins_between(timeline.first_row[:-1] + 1, ends))
            known = timeline.values[:, -sizes.n_known :].astype(np.float64)
            values -= np.nan_to_num(known) @ effect
        start, stop = _known_span(timeline, k)
        rows = origins_between(start, stop - 1)
        units = (SeriesUnits.of(scaler, series, j, own_logs=cls.own_logs) for j in range(k))
        columns = [each.raw(values[:, [j]]) for j, each in enumerate(units)]
        flat = np.concatenate(columns).ravel()[rows]
        observed = np.ones(len(flat), dtype=bool)
        if timeline.weight is not None:
            observed = (timeline.weight.T > 0).ravel()[rows]
        steps = np.tile(timeline.steps, k)[rows]
        first_row = np.concatenate([[0], np.cumsum(stop - start)])
        # Forecasts of logarithms that the scaler takes are raised to means by the scaler.
        raised = of_mean and not (cls.own_logs and _takes_logs(scaler))
        fit = cls.fit_series(
            Series(flat, observed, steps, first_row, timeline.clock, raised), sizes, whole
        )
        return cls(fit, effect, scaler.with_unseen(), of_mean)

    def fitted_again(self, timeline: Timeline, sizes: ModelSizes, scaler: Scaler) -> Self:
        """Fit it to other rows."""
        of_mean, whole = self.of_mean, self.fit
        return type(self).of_timeline(timeline, sizes, scaler, of_mean=of_mean, whole=whole)

    def forecast(self, at: Windows, base: Float32Array | None = None) -> Float32Array:  # noqa: ARG002
        """Forecast windows, see `Member.forecast`; the training mean where nothing is known."""
        out = np.zeros((len(at), self.fit.pred_len, self.n_targets), dtype=np.float32)
        for start in range(0, len(at), _CHUNK):
            part = slice(start, start + _CHUNK)
            out[part] = self._forecast(at.take(np.arange(len(at))[part]))
        return out

    def _forecast(self, at: Windows) -> Float64Array:
        values, begin, series, origins = at.values, at.begin, at.series, at.origins
        seq_len, pred_len, k = self.fit.seq_len, self.fit.pred_len, self.n_targets
        rows = np.maximum(origins[:, None] + np.arange(-seq_len, 0), begin[:, None])
        past = values[:, :k][rows].astype(np.float64) - self._effect(values, rows)
        length, steps = np.minimum(origins - begin, seq_len), at.steps
        seen = np.ones((*rows.shape, k), dtype=bool) if at.known is None else at.known[rows]
        some, like = _distinct(past, seen, length, series, steps)
        some = some[length[some] > 0]
        n_series = len(self.scaler.mean) - 1
        found = np.zeros((len(origins), pred_len, k))
        for j in range(k):
            known = np.minimum(series, n_series)[some]
            units = SeriesUnits.of(self.scaler, known, j, own_logs=self.own_logs)
            place = np.where(series[some] < n_series, j * n_series + series[some], -1)
            raw = units.raw(past[some, :, j])
            given = length[some], seen[some, :, j], steps[some], place
            windows = UnitWindows(raw, *given, at.canvas.clock)
            found[some, :, j] = units.standardised(self.fit.forecast(windows))
        found = found[like] + self._effect(values, origins[:, None] + np.arange(pred_len))
        return np.where((length > 0)[:, None, None], found, 0.0)

    def _effect(self, values: Float32Array, rows: IntArray) -> Float64Array | float:
        if not len(self.effect):
            return 0.0
        rows = np.minimum(rows, len(values) - 1)
        known = np.nan_to_num(values[rows][..., -len(self.effect) :].astype(np.float64))
        return known @ self.effect


def _distinct(
    past: Float64Array, known: BoolArray, length: IntArray, series: IntArray, steps: IntArray
) -> tuple[IntArray, IntArray]:
    """Choose windows that differ from one another, and tell which of them each window is like.

    PERF: who explains forecasts asks for many that differ in columns that nobody reads here.
    """
    each = zip(length, series, steps, past, known, strict=True)
    keys = [(*key, row.tobytes(), seen.tobytes()) for *key, row, seen in each]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    return np.array(sorted(first.values())), np.array([first[key] for key in keys])


def _known_span(timeline: Timeline, k: int) -> tuple[IntArray, IntArray]:
    """Find the first truth and the end of the last of each target: held values are none of both."""
    n_rows = len(timeline.values)
    begin, end = timeline.first_row[:-1], timeline.first_row[1:]
    start, stop = np.tile(begin, (k, 1)), np.tile(end, (k, 1))
    weights = () if timeline.weight is None else timeline.weight.T
    for j, weight in enumerate(weights):
        known = np.flatnonzero(weight > 0)
        low, high = np.searchsorted(known, begin), np.searchsorted(known, end)
        some = high > low
        start[j, some], stop[j, some] = known[low[some]], known[high[some] - 1] + 1
    offset = n_rows * np.arange(k)[:, None]
    return (start + offset).ravel(), (stop + offset).ravel()


def _takes_logs(scaler: Scaler) -> bool:
    """Whether any target of any series is standardised as its logarithm."""
    targets = scaler.targets
    return targets is not None and not targets.transformers and bool(targets.logs.any())


class SeriesUnits(NamedTuple):
    """How values of some series become numbers in their units, (n, 1) each.

    low: what logarithms count as the least value; NaN where there are none.
    """

    mean: Float64Array
    deviation: Float64Array
    low: Float64Array

    @classmethod
    def of(cls, scaler: Scaler, series: IntArray, j: int, *, own_logs: bool) -> SeriesUnits:
        """Read those of target j off a scaler."""
        mean, deviation = (each[:, [j]] for each in scaler.affine_parameters(series, j + 1))
        low, targets = np.full(mean.shape, np.nan), scaler.targets
        if own_logs and targets is not None and not targets.transformers:
            logs = targets.logs[series, j, None]
            mean = np.where(logs, scaler.mean[series, j, None], mean)
            deviation = np.where(logs, scaler.scale[series, j, None], deviation)
            low = np.where(logs, targets.low[series, j, None], np.nan)
        return cls(mean, deviation, low)

    def take(self, some: Any) -> SeriesUnits:
        """Choose series by number."""
        return SeriesUnits(*(each[some] for each in self))

    def raw(self, values: Float64Array) -> Float64Array:
        """Undo it; what float32 made of a zero is zero again, for logarithms' sake."""
        out: Float64Array = values * self.deviation + self.mean
        logs = ~np.isnan(self.low[:, 0])
        zero = np.abs(out) < 1e-6 * (np.abs(self.mean) + self.deviation)
        out[zero & ~logs[:, None]] = 0.0
        out[logs] = np.exp(out[logs])
        return out

    def standardised(self, values: Float64Array) -> Float64Array:
        """Do it again."""
        logs = ~np.isnan(self.low[:, 0])
        out = values.copy()
        out[logs] = np.log(np.maximum(out[logs], self.low[logs]))
        return (out - self.mean) / self.deviation
