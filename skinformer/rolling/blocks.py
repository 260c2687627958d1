"""Recursive forecasts of rows: blocks from the end of the history on, fed back where y is missing.

Each row is forecast at its own step from an origin before it. Rows are forecast in blocks of
``pred_len`` steps; block borders lie at the anchor (the end of the history) plus whole blocks, so
a row's origin depends on its step alone and never on which other rows are asked for. Unknown
targets in a context are filled first, by the rule of `missing_runs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.bounds.closed import Closed
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.windows import Forecaster, Rows
from skinformer.rolling.missing_runs import (
    LONGEST_CHAIN,
    MissingRuns,
    count_up,
    find_missing_runs,
)
from skinformer.rolling.placement import Placement, after_history
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
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
        return Observed(
            self.values[some],
            self.segment[some],
            self.steps[some],
            None if self.filled is None else self.filled[some],
        )

    def without(self, outliers: BoolArray | None) -> Observed:
        """Replace targets that are outliers by NaN: they are filled as missing ones are."""
        if outliers is None:
            return self
        values = self.values.copy()
        n_targets = outliers.shape[1]
        values[:, :n_targets][outliers] = np.nan
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
        series = self.place.series[self.segment]
        return np.minimum(series, n_fitted)


class HeldValues(NamedTuple):
    """How many steps lacked a value that was held at its last one.

    past, known: of columns known up to the present, and of those known ahead.
    columns: numbers of the columns that lacked it, among the former and then the latter.
    """

    past: int
    known: int
    columns: frozenset[int] = frozenset()

    def plus(self, other: HeldValues) -> HeldValues:
        """Count the steps of both."""
        return HeldValues(
            self.past + other.past,
            self.known + other.known,
            self.columns | other.columns,
        )


class ForecastSteps(NamedTuple):
    """Forecasts of steps.

    outputs: (n, n_targets, …).
    values: (n_steps, n_columns), standardised, what is known of the steps in the columns known
    ahead.
    held: what had to be held.
    """

    outputs: Float32Array
    values: Float32Array
    held: HeldValues


@dataclass(frozen=True)
class _BlockRows:
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

    def predict(self, requested: RequestedSteps) -> ForecastSteps:
        """Forecast steps of segments, in any order, each from an origin before its block.

        One pass for a rolling origin, as many as there are blocks for a recursion: unknown targets
        are filled first, those that need no other all together, and so on.
        """
        segment = requested.segment
        steps = requested.steps
        place = requested.place
        start = block_starts(place, segment, steps, self.sizes.pred_len)
        buffer = self._build_buffer(requested.observed, place, segment, start)
        last = _last_steps(place, segment, steps)
        held = self._hold_covariates(buffer, last)
        rows = buffer.segments.find(segment, start)
        origins, of_request = np.unique(rows, return_inverse=True)
        runs = self._missing_runs(buffer, longest=None)
        needed = runs.needed(origins, seq_len=self.sizes.seq_len)
        outputs = self._forecast_all(buffer, needed, origins)
        ahead = steps - start
        return ForecastSteps(
            outputs[of_request, ahead], buffer.rows.values[rows + ahead], held
        )

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
        self._hold_covariates(buffer, buffer.until)
        runs = self._missing_runs(buffer, longest=LONGEST_CHAIN)
        self._fill(buffer, runs)
        rows = buffer.segments.find(segment, steps)
        targets[lacking] = buffer.rows.values[rows, :n_targets]
        return targets

    def _build_buffer(
        self, observed: Observed, place: Placement, segment: IntArray, start: IntArray
    ) -> _BlockRows:
        """Lay out the rows of blocks with what is known; unknown targets are held at their last."""
        n_targets = self.sizes.n_targets
        until = _last_steps(place, segment, start)
        segments = self._empty_rows(place, segment, start, until)
        # 1. Put in what is known.
        rows = segments.find(observed.segment, observed.steps)
        is_inside = rows >= 0
        observed = observed.take(is_inside)
        rows = rows[is_inside]
        stored = self._put_in(segments, place, rows, observed.values)
        # 2. Find the targets that are known; forecasts in their place are not.
        known = self._known_targets(segments, stored)
        begin = first_known(~known, segments.first_row)
        known &= self._was_observed(stored)
        known[rows] |= ~np.isnan(observed.values[:, :n_targets])
        if observed.filled is not None:
            known[rows[observed.filled]] = False
        # 3. Hold the others until they are forecast.
        missing = _hold_targets(segments, n_targets)
        laid_out = Rows(segments.values, segments.series, segments.steps, begin, known)
        return _BlockRows(segments, laid_out, missing, until)

    def _empty_rows(
        self, place: Placement, segment: IntArray, start: IntArray, until: IntArray
    ) -> Timeline:
        """Return the segments of blocks and of their contexts, without values."""
        first_start = place.begin.copy()
        np.minimum.at(first_start, segment, start)
        first_step = first_start - self.sizes.seq_len
        # A segment without blocks has no rows.
        end_step = np.maximum(first_step, until + self.sizes.pred_len)
        lengths = end_step - first_step
        first_row = np.concatenate([[0], np.cumsum(lengths)])
        shape = (first_row[-1], self.history.values.shape[1])
        return Timeline(
            np.full(shape, np.nan, dtype=np.float32),
            None,
            first_row,
            first_step,
            self.history.clock,
        )

    def _put_in(
        self, segments: Timeline, place: Placement, rows: IntArray, given: Float32Array
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
        series = self.history.series_of(stored)
        first_truth = self.history.first_truth[series]
        has_begun = (stored < 0) | (stored >= first_truth)
        return ~np.isnan(targets) & has_begun[:, None]

    def _was_observed(self, stored: IntArray) -> BoolArray:
        """Whether targets of rows of the history were observed, (n, n_targets); true of -1."""
        shape = (len(stored), self.sizes.n_targets)
        observed = np.ones(shape, dtype=bool)
        weight = self.history.weight
        if weight is not None:
            is_stored = stored >= 0
            observed[is_stored] = weight[stored[is_stored]] > 0
        return observed

    def _hold_covariates(self, buffer: _BlockRows, until: IntArray) -> HeldValues:
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
        lacks[rows.steps >= buffer.until[rows.segment], :n_past] = False
        lacks[rows.steps > until[rows.segment], n_past:] = False
        fill_forward(covariates, buffer.segments.first_row)
        return HeldValues(
            lacks[:, :n_past].any(axis=1).sum(),
            lacks[:, n_past:n_changing].any(axis=1).sum(),
            frozenset(np.flatnonzero(lacks[:, :n_changing].any(axis=0)).tolist()),
        )

    def _missing_runs(self, buffer: _BlockRows, longest: int | None) -> MissingRuns:
        """Find the forecasts that fill what is missing."""
        steps = buffer.rows.steps
        unknown = buffer.missing.any(axis=1)
        unknown &= steps < buffer.until[buffer.rows.segment]
        if self.closed is not None:
            unknown[unknown] = ~self.closed.at(steps[unknown])
        return find_missing_runs(
            unknown,
            seq_len=self.sizes.seq_len,
            pred_len=self.sizes.pred_len,
            longest=longest,
        )

    def _forecast_all(
        self, buffer: _BlockRows, runs: MissingRuns, origins: IntArray
    ) -> Float32Array:
        """Fill gaps, then forecast the origins that are asked for, some of them in gaps."""
        made, outputs = self._fill(buffer, runs)
        rest = np.setdiff1d(origins, made)
        if len(rest) or not outputs:
            outputs.append(self.forecast(buffer.rows, rest))
        done = pd.Index(np.concatenate([made, rest]))
        place = done.get_indexer(origins)
        return np.concatenate(outputs)[place]

    def _fill(
        self, buffer: _BlockRows, runs: MissingRuns
    ) -> tuple[IntArray, list[Float32Array]]:
        """Write the forecasts of gaps into the rows, turn by turn; return origins and outputs."""
        targets = buffer.rows.values[:, : self.sizes.n_targets]  # a view
        by_turn = np.argsort(runs.turn, kind="stable")
        runs = runs.take(by_turn)
        changes = np.diff(runs.turn, prepend=-1, append=-1)
        turn_edges = np.flatnonzero(changes)
        outputs = []
        for begin, end in pairwise(turn_edges):
            origins, lengths, _ = runs.take(slice(begin, end))
            forecasts = self.forecast(buffer.rows, origins)
            outputs.append(forecasts)
            y_pred = self.point(forecasts)
            run, step = count_up(lengths)
            rows = origins[run] + step
            targets[rows] = np.where(
                buffer.missing[rows], y_pred[run, step], targets[rows]
            )
        return runs.origins, outputs


def _hold_targets(segments: Timeline, n_targets: int) -> BoolArray:
    """Hold targets without a value at their last one; return where, (n_rows, n_targets).

    Before the first one the training mean stands, which no forecast replaces.
    """
    targets = segments.values[:, :n_targets]
    missing = np.isnan(targets)
    if missing.any():
        is_known = pd.DataFrame(~missing)
        has_begun = is_known.groupby(segments.series).cummax()
        missing &= has_begun.to_numpy(dtype=bool)
        fill_forward(targets, segments.first_row)
    return missing


def block_starts(
    place: Placement, segment: IntArray, steps: IntArray, pred_len: int
) -> IntArray:
    """Find the origin, as a step, of the block that each step of a segment is in."""
    anchor = place.anchor[segment]
    return anchor + (steps - anchor) // pred_len * pred_len


def _last_steps(place: Placement, segment: IntArray, steps: IntArray) -> IntArray:
    """Find each segment's last step; the least number of all where it has none."""
    last = np.full_like(place.anchor, np.iinfo(np.int64).min)
    np.maximum.at(last, segment, steps)
    return last
