"""Recursive forecasts of rows: blocks from the end of the history on, fed back where y is missing.

Each row is forecast at its own step from an origin before it. Rows are forecast in blocks of
``pred_len`` steps; block borders lie at the anchor (the end of the history) plus whole blocks, so
a row's origin depends on its step alone and never on which other rows are asked for. Unknown
targets in a context are filled first, by the rule of `missing_runs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.rolling.missing_runs import (
    LONGEST_CHAIN,
    MissingRuns,
    filled_rows,
    find_missing_runs,
)
from skinformer.rolling.placement import Placement, after_history
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.closed import Closed
from skinformer.timeline.timeline import Timeline, fill_forward, first_known


class Observed(NamedTuple):
    """Rows of X at prediction.

    values: standardised; NaN is not given.
    segment, steps: the segment and the step of each row.
    filled: rows whose targets are forecasts; None where none is.
    """

    values: Float32Array
    segment: IntArray
    steps: IntArray
    filled: BoolArray | None = None

    def take(self, some: BoolArray) -> Observed:
        """Choose rows."""
        filled = None if self.filled is None else self.filled[some]
        return Observed(self.values[some], self.segment[some], self.steps[some], filled)

    def without(self, outliers: BoolArray | None) -> Observed:
        """Replace targets that are outliers by NaN: they are filled as missing ones are."""
        if outliers is None:
            return self
        values = self.values.copy()
        targets = values[:, : outliers.shape[1]]
        targets[outliers] = np.nan
        return self._replace(values=values)


class RequestedSteps(NamedTuple):
    """Steps to forecast, in their places.

    observed: the rows of X.
    segment, steps: (n,), the steps.
    clock: what the steps count.
    labels: of rows after the history; None for rows of X.
    """

    observed: Observed
    segment: IntArray
    steps: IntArray
    place: Placement
    clock: Clock
    labels: pd.Index | None = None

    def series(self, n_fitted: int) -> IntArray:
        """Return the series of each step; one number stands for all that the fit did not hold."""
        return np.minimum(self.place.series[self.segment], n_fitted)


class HeldValues(NamedTuple):
    """How many steps lacked a value that was held at its last one."""

    past: int
    known: int


@dataclass(frozen=True)
class _RowBuffer:
    """Rows that forecasts are written into.

    segments: the rows of each segment, as a timeline.
    rows: the same, as forecasters see them.
    missing: (n_rows, n_targets), where a forecast has to stand in.
    until: (n_segments,), the step from which on none is needed.
    """

    segments: Timeline
    rows: Rows
    missing: BoolArray
    until: IntArray


@dataclass(frozen=True)
class RecursiveForecaster:
    """Forecasts of steps, fed back where targets are missing.

    history: what is known beside the rows of X, which win over it.
    sizes: numbers of the columns and lengths; ``seq_len`` are the steps that a forecast looks back.
    point: returns the one value of outputs that is fed back.
    forecast: ``forecast(rows, origins)`` returns the outputs for windows whose contexts and known
    columns are complete.
    closed: steps that are never observed: the last value before them stands there, as in training,
    and no forecast is fed back. None for no such steps.
    """

    history: Timeline
    sizes: ModelSizes
    point: Callable[[Any], Any]
    forecast: Forecaster
    closed: Closed | None = None

    def predict(self, requested: RequestedSteps) -> tuple[Float32Array, HeldValues]:
        """Forecast steps of segments, in any order, each from an origin before its block.

        Outputs have shape (n, n_targets, …); beside them stands what had to be held. One pass
        for a rolling origin, as many as there are blocks for a recursion: unknown targets are
        filled first, those that need no other all together, and so on.
        """
        segment = requested.segment
        steps = requested.steps
        place = requested.place
        start = block_starts(place, segment, steps, self.sizes.pred_len)
        buffer = self._build_buffer(requested.observed, place, segment, start)
        _, last = _ends(segment, steps, len(place.anchor))
        held = self._hold_covariates(buffer, until=last)
        rows = buffer.segments.find(segment, start)
        origins, of_request = np.unique(rows, return_inverse=True)
        runs = self._missing_runs(buffer, longest=None)
        runs = runs.needed(origins, seq_len=self.sizes.seq_len)
        outputs = self._forecast_all(buffer, runs, origins)
        return outputs[of_request, steps - start], held

    def filled(self, observed: Observed) -> Float32Array:
        """Return the targets, standardised, of rows after the history, the missing ones filled.

        observed: rows directly after the history, complete but for targets.

        A gap longer than `LONGEST_CHAIN` forecasts is held at its last one from there on.
        """
        n_targets = self.sizes.n_targets
        targets = observed.values[:, :n_targets].copy()
        lacking = np.isnan(targets).any(axis=1)
        segment = observed.segment[lacking]
        steps = observed.steps[lacking]
        place = after_history(self.history)
        buffer = self._build_buffer(observed, place, segment, steps + 1)
        self._hold_covariates(buffer, until=buffer.until)
        self._fill(buffer, self._missing_runs(buffer, longest=LONGEST_CHAIN))
        rows = buffer.segments.find(segment, steps)
        targets[lacking] = buffer.rows.values[rows, :n_targets]
        return targets

    def _build_buffer(
        self,
        observed: Observed,
        place: Placement,
        segment: IntArray,
        start: IntArray,
    ) -> _RowBuffer:
        """Lay out the rows of blocks with what is known; unknown targets are held at their last."""
        first_step, end_step, until = _extent(place, self.sizes, segment, start)
        segments = self._empty_rows(first_step, end_step)
        # 1. Put in what is known.
        rows = segments.find(observed.segment, observed.steps)
        observed = observed.take(rows >= 0)
        rows = rows[rows >= 0]
        stored = self._put_in(segments, place, rows, observed.values)
        # 2. Find the targets that are known; forecasts in their place are not.
        known = self._known_targets(segments, stored)
        begin = first_known(~known, segments.first_row)
        known &= self._was_observed(stored)
        known[rows] |= ~np.isnan(observed.values[:, : self.sizes.n_targets])
        if observed.filled is not None:
            known[rows[observed.filled]] = False
        # 3. Hold the others until they are forecast.
        missing = _hold_targets(segments, self.sizes.n_targets)
        laid_out = Rows(
            segments.values,
            segments.series,
            segments.steps,
            begin,
            known,
        )
        return _RowBuffer(segments, laid_out, missing, until)

    def _empty_rows(self, first_step: IntArray, end_step: IntArray) -> Timeline:
        """Return segments of steps without values."""
        first_row = np.concatenate([[0], np.cumsum(end_step - first_step)])
        shape = (first_row[-1], self.history.values.shape[1])
        values = np.full(shape, np.nan, dtype=np.float32)
        return Timeline(
            values,
            None,
            first_row,
            first_step,
            self.history.clock,
        )

    def _put_in(
        self,
        segments: Timeline,
        place: Placement,
        rows: IntArray,
        given: Float32Array,
    ) -> IntArray:
        """Put in rows of the history, and over them those of X; return the former, -1 for none."""
        values = segments.values
        segment = segments.series
        steps = segments.steps
        is_early = steps < place.begin[segment]
        # What a row of X lacks is missing, also before the origin.
        is_early[rows] = False
        values[is_early, self.sizes.n_targets :] = 0.0  # training mean
        stored = self.history.find(place.series[segment], steps)
        stored[~place.stored[segment]] = -1
        is_stored = stored >= 0
        values[is_stored] = self.history.values[stored[is_stored]]
        values[rows] = np.where(np.isnan(given), values[rows], given)
        return stored

    def _known_targets(self, segments: Timeline, stored: IntArray) -> BoolArray:
        """Whether targets have values, those of the history from their first known one on."""
        targets = segments.values[:, : self.sizes.n_targets]
        has_begun = self._has_begun(stored)
        return ~np.isnan(targets) & has_begun[:, None]

    def _has_begun(self, stored: IntArray) -> BoolArray:
        """Whether rows of the history do not lie before their first known target; true of -1."""
        first_truth = self.history.first_truth[self.history.series_of(stored)]
        return (stored < 0) | (stored >= first_truth)

    def _was_observed(self, stored: IntArray) -> BoolArray:
        """Whether targets of rows of the history were observed, (n, n_targets); true of -1."""
        observed = np.ones((len(stored), self.sizes.n_targets), dtype=bool)
        if self.history.weight is not None:
            is_stored = stored >= 0
            observed[is_stored] = self.history.weight[stored[is_stored]] > 0
        return observed

    def _hold_covariates(self, buffer: _RowBuffer, *, until: IntArray) -> HeldValues:
        """Hold covariates without a value at their last one, and count the steps that matter.

        until: the last step of each segment for which values known ahead matter.
        """
        if self.sizes.may_miss:  # they stay NaN
            return HeldValues(0, 0)
        rows = buffer.rows
        covariates = rows.values[:, self.sizes.n_targets :]
        lacks = np.isnan(covariates)
        n_past = self.sizes.n_past
        n_changing = lacks.shape[1] - self.sizes.n_static
        lacks_past = lacks[:, :n_past].any(axis=1)
        lacks_past &= rows.steps < buffer.until[rows.segment]
        lacks_known = lacks[:, n_past:n_changing].any(axis=1)
        lacks_known &= rows.steps <= until[rows.segment]
        fill_forward(covariates, buffer.segments.first_row)
        return HeldValues(
            int(lacks_past.sum()),
            int(lacks_known.sum()),
        )

    def _missing_runs(self, buffer: _RowBuffer, longest: int | None) -> MissingRuns:
        """Find the forecasts that fill what is missing."""
        rows = buffer.rows
        unknown = buffer.missing.any(axis=1)
        unknown &= rows.steps < buffer.until[rows.segment]
        if self.closed is not None:
            unknown[unknown] = ~self.closed.at(rows.steps[unknown])
        return find_missing_runs(
            unknown,
            seq_len=self.sizes.seq_len,
            pred_len=self.sizes.pred_len,
            longest=longest,
        )

    def _forecast_all(
        self,
        buffer: _RowBuffer,
        runs: MissingRuns,
        origins: IntArray,
    ) -> Float32Array:
        """Fill gaps, then forecast the origins that are asked for, some of them in gaps."""
        made, outputs = self._fill(buffer, runs)
        rest = np.setdiff1d(origins, made)
        if len(rest) or not outputs:
            outputs.append(self.forecast(buffer.rows, rest))
        made = np.concatenate([made, rest])
        order = np.argsort(made)
        place = order[np.searchsorted(made, origins, sorter=order)]
        return np.concatenate(outputs)[place]

    def _fill(
        self, buffer: _RowBuffer, runs: MissingRuns
    ) -> tuple[IntArray, list[Float32Array]]:
        """Write the forecasts of gaps into the rows, turn by turn; return origins and outputs."""
        runs = runs.take(np.argsort(runs.turn, kind="stable"))
        turn_edges = np.flatnonzero(np.diff(runs.turn, prepend=-1, append=-1))
        pred_len = self.sizes.pred_len
        cells, points, cell_edges = _cells_to_fill(buffer, runs, turn_edges, pred_len)
        values = buffer.rows.values.reshape(-1)  # a view
        outputs = []
        for turn, begin in enumerate(turn_edges[:-1]):
            origins = runs.origins[begin : turn_edges[turn + 1]]
            forecasts = self.forecast(buffer.rows, origins)
            outputs.append(forecasts)
            y_pred = self.point(forecasts).reshape(-1)
            filled = slice(cell_edges[turn], cell_edges[turn + 1])
            values[cells[filled]] = y_pred[points[filled]]
        return runs.origins, outputs


def _hold_targets(segments: Timeline, n_targets: int) -> BoolArray:
    """Hold targets without a value at their last one; return where, (n_rows, n_targets).

    Before the first one the training mean stands, which no forecast replaces.
    """
    targets = segments.values[:, :n_targets]
    missing = np.isnan(targets)
    if missing.any():
        has_begun = pd.DataFrame(~missing).groupby(segments.series).cummax()
        missing &= has_begun.to_numpy(dtype=bool)
        fill_forward(targets, segments.first_row)
    return missing


def block_starts(
    place: Placement,
    segment: IntArray,
    steps: IntArray,
    pred_len: int,
) -> IntArray:
    """Find the origin, as a step, of the block that each step of a segment is in."""
    anchor = place.anchor[segment]
    return anchor + (steps - anchor) // pred_len * pred_len


def _ends(
    segment: IntArray,
    steps: IntArray,
    n_segments: int,
) -> tuple[IntArray, IntArray]:
    """Find each segment's first and last step; the last is the smaller one where it has none."""
    limits = np.iinfo(np.int64)
    first = np.full(n_segments, limits.max)
    last = np.full(n_segments, limits.min)
    np.minimum.at(first, segment, steps)
    np.maximum.at(last, segment, steps)
    return first, last


def _extent(
    place: Placement,
    sizes: ModelSizes,
    segment: IntArray,
    start: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Find the first step of each segment's rows, the one after the last, and the last start."""
    first, last = _ends(segment, start, len(place.anchor))
    is_idle = first > last
    has_gap = last > place.begin
    first_needed = np.where(has_gap, np.minimum(first, place.begin), first)
    low = np.where(is_idle, 0, first_needed - sizes.seq_len)
    high = np.where(is_idle, 0, last + sizes.pred_len)
    return low, high, last


def _cells_to_fill(
    buffer: _RowBuffer,
    runs: MissingRuns,
    turn_edges: IntArray,
    pred_len: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """
    Find the cells that forecasts fill, and the numbers of the points of their turn that fill them.

    Beside them stands where the cells of each turn begin, and the end.

    PERF: for all turns at once; a recursion by single steps has as many turns as steps.
    """
    n_columns = buffer.rows.values.shape[1]
    n_targets = buffer.missing.shape[1]
    # 1. The forecast and its step that stand in for each missing target.
    run, step = filled_rows(runs)
    rows = runs.origins[run] + step
    is_filled, column = np.nonzero(buffer.missing[rows])
    cells = rows[is_filled] * n_columns + column
    run = run[is_filled]
    step = step[is_filled]
    # 2. Its number among the points of all forecasts of the turn.
    turn = np.searchsorted(turn_edges, run, side="right") - 1
    run_in_turn = run - turn_edges[turn]
    step_in_turn = run_in_turn * pred_len + step
    points = step_in_turn * n_targets + column
    return cells, points, np.searchsorted(run, turn_edges)
