"""Forecasts for rows: blocks anchored at the end of the history, fed back where truth is missing.

Each row is forecast at its own step from an origin before it. Rows are forecast in blocks of
``pred_len`` steps; block borders lie at the anchor (the end of the history) plus whole blocks, so
a row's origin depends on its step alone and never on which other rows are asked for. Unknown
truths in a context are filled first, by the rule of `missing_runs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
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
    """Rows given at prediction: standardised values (NaN = not given), tracks and steps."""

    values: Float32Array
    track: IntArray
    steps: IntArray

    def without(self, outliers: BoolArray | None) -> Observed:
        """Forget targets that are outliers: they are filled as missing ones are."""
        if outliers is None:
            return self
        values = self.values.copy()
        values[:, : outliers.shape[1]][outliers] = np.nan
        return self._replace(values=values)


class RequestedSteps(NamedTuple):
    """Steps to forecast, in their places.

    observed: what X gives.
    track, steps: (n,), the steps.
    clock: what the steps count.
    labels: of rows after the history; None for rows of X.
    filled: rows of `observed` whose targets are forecasts; None where none is.
    """

    observed: Observed
    track: IntArray
    steps: IntArray
    place: Placement
    clock: Clock
    labels: pd.Index | None = None
    filled: BoolArray | None = None

    def series(self, n_fitted: int) -> IntArray:
        """Return the series of each step; one number stands for all that the fit did not hold."""
        return np.minimum(self.place.series[self.track], n_fitted)


class HeldValues(NamedTuple):
    """How many steps lacked a value that was held at its last one."""

    past: int
    known: int


@dataclass(frozen=True)
class _Canvas:
    """Rows on which forecasts are put in.

    tracks: the rows of each track, as a timeline.
    rows: the same, as forecasters see them.
    missing: (n_rows, n_targets), where a forecast has to stand in.
    until: (n_tracks,), the step from which on none is needed.
    """

    tracks: Timeline
    rows: Rows
    missing: BoolArray
    until: IntArray


@dataclass(frozen=True)
class Roller:
    """Forecasts of steps, fed back where truths are missing.

    history: what is known beside what X gives, which wins over it.
    sizes: numbers of the columns and lengths; ``seq_len`` are the steps that a forecast looks back.
    shape: of the outputs of one step and target.
    point: gives the one value of outputs that is fed back.
    forecast: ``forecast(rows, origins)`` gives the outputs for windows whose contexts and known
    columns are complete.
    closed: steps that are never observed: the last value before them stands there, as in training,
    and no forecast is fed back. None for no such steps.
    """

    history: Timeline
    sizes: ModelSizes
    shape: tuple[int, ...]
    point: Callable[[Any], Any]
    forecast: Forecaster
    closed: Closed | None = None

    def roll(self, requested: RequestedSteps) -> tuple[Float32Array, HeldValues]:
        """Forecast steps of tracks, in any order, each from an origin before its block.

        Outputs have shape (n, n_targets, *shape); beside them stands what had to be held. One pass
        for a rolling origin, as many as there are blocks for a recursion: unknown truths are filled
        first, those that need no other all together, and so on.
        """
        observed, track, steps, place = requested[:4]
        start = block_starts(place, track, steps, self.sizes.pred_len)
        canvas = self._paint(observed, place, track, start, filled=requested.filled)
        held = self._hold(canvas, until=_ends(track, steps, len(place.anchor))[1])
        origins, of_request = np.unique(canvas.tracks.find(track, start), return_inverse=True)
        runs = self._missing_runs(canvas, None).needed(origins, seq_len=self.sizes.seq_len)
        outputs = self._forecast_all(canvas, runs, origins)
        return outputs[of_request, steps - start], held

    def filled(self, observed: Observed) -> Float32Array:
        """Return the targets, standardised, of rows after the history, the missing ones filled.

        observed: rows directly after the history, complete but for targets.

        A gap longer than `LONGEST_CHAIN` forecasts is held at its last one from there on.
        """
        targets = observed.values[:, : self.sizes.n_targets].copy()
        lacking = np.isnan(targets).any(axis=1)
        track, steps = observed.track[lacking], observed.steps[lacking]
        canvas = self._paint(observed, after_history(self.history), track, steps + 1)
        self._hold(canvas, until=canvas.until)
        runs = self._missing_runs(canvas, LONGEST_CHAIN)
        self._forecast_all(canvas, runs, np.empty(0, dtype=np.int64))
        rows = canvas.tracks.find(track, steps)
        targets[lacking] = canvas.rows.values[rows, : self.sizes.n_targets]
        return targets

    def _paint(
        self,
        observed: Observed,
        place: Placement,
        track: IntArray,
        start: IntArray,
        filled: BoolArray | None = None,
    ) -> _Canvas:
        """Lay out the rows of blocks and put in what is known; targets are held."""
        low, high, until = _extent(place, self.sizes, track, start)
        history, first_row = self.history, np.concatenate([[0], np.cumsum(high - low)])
        values = np.full((first_row[-1], observed.values.shape[1]), np.nan, dtype=np.float32)
        tracks = Timeline(values, None, first_row, low, history.clock)
        track, steps = tracks.series, tracks.steps
        rows = tracks.find(observed.track, observed.steps)
        held = np.flatnonzero(rows >= 0)
        given, rows = observed.values[held], rows[held]
        early = steps < place.begin[track]
        early[rows] = False  # what a given row lacks is missing, also before the origin
        values[early, self.sizes.n_targets :] = 0.0  # training mean
        stored = np.where(place.stored[track], history.find(place.series[track], steps), -1)
        values[stored >= 0] = history.values[stored[stored >= 0]]
        values[rows] = np.where(np.isnan(given), values[rows], given)
        targets = values[:, : self.sizes.n_targets]
        missing = np.isnan(targets)
        unknown = missing.copy()
        unknown[(stored >= 0) & (stored < history.first_truth[history.series_of(stored)])] = True
        begin = first_known(unknown, first_row)
        known = ~unknown
        if history.weight is not None:
            known[stored >= 0] &= history.weight[stored[stored >= 0]] > 0
        known[rows] |= ~np.isnan(given[:, : self.sizes.n_targets])
        if filled is not None:
            known[rows[filled[held]]] = False
        if missing.any():
            missing &= _after_first(~missing, first_row)
            fill_forward(targets, first_row)
        return _Canvas(tracks, Rows(values, track, steps, begin, known), missing, until)

    def _hold(self, canvas: _Canvas, *, until: IntArray) -> HeldValues:
        """Hold covariates without a value at their last one, and count the steps that matter."""
        rows, sizes = canvas.rows, self.sizes
        if sizes.may_miss:  # they stay NaN
            return HeldValues(0, 0)
        covariates = rows.values[:, sizes.n_targets :]
        empty = np.isnan(covariates)
        past = empty[:, : sizes.n_past].any(axis=1) & (rows.steps < canvas.until[rows.track])
        varying = empty[:, sizes.n_past : empty.shape[1] - sizes.n_static]
        known = varying.any(axis=1) & (rows.steps <= until[rows.track])
        fill_forward(covariates, canvas.tracks.first_row)
        return HeldValues(int(past.sum()), int(known.sum()))

    def _missing_runs(self, canvas: _Canvas, longest: int | None) -> MissingRuns:
        """Find the forecasts that fill what is missing."""
        rows, sizes = canvas.rows, self.sizes
        unknown = canvas.missing.any(axis=1) & (rows.steps < canvas.until[rows.track])
        if self.closed is not None:
            unknown[unknown] = ~self.closed.at(rows.steps[unknown])
        return find_missing_runs(
            unknown, seq_len=sizes.seq_len, pred_len=sizes.pred_len, longest=longest
        )

    def _forecast_all(self, canvas: _Canvas, runs: MissingRuns, origins: IntArray) -> Float32Array:
        """Fill gaps turn by turn, then forecast the origins that are asked for."""
        sizes = self.sizes
        runs = MissingRuns(*(part[np.argsort(runs.turn, kind="stable")] for part in runs))
        place = np.searchsorted(origins, runs.origins)
        requested = np.append(origins, -1)[place] == runs.origins
        edges = np.flatnonzero(np.diff(runs.turn, prepend=-1, append=-1))
        values = canvas.rows.values.reshape(-1)  # a view
        shape = (len(origins), sizes.pred_len, sizes.n_targets, *self.shape)
        out = np.empty(shape, dtype=np.float32)
        turns = itertools.starmap(slice, itertools.pairwise(edges.tolist()))
        fills = _fills(canvas, runs, edges, sizes.pred_len)
        for turn, (cells, fillers) in zip(turns, fills, strict=True):
            outputs = self.forecast(canvas.rows, runs.origins[turn])
            out[place[turn][requested[turn]]] = outputs[requested[turn]]
            values[cells] = self.point(outputs).reshape(-1)[fillers]
        rest = np.ones(len(origins), dtype=bool)
        rest[place[requested]] = False
        if rest.any():
            out[rest] = self.forecast(canvas.rows, origins[rest])
        return out


def block_starts(place: Placement, track: IntArray, steps: IntArray, pred_len: int) -> IntArray:
    """Find the origin, as a step, of the block that each step of a track is in."""
    anchor = place.anchor[track]
    return anchor + (steps - anchor) // pred_len * pred_len


def _ends(track: IntArray, steps: IntArray, n_tracks: int) -> tuple[IntArray, IntArray]:
    """Find each track's first and last step; the last is the smaller one where it has none."""
    first = np.full(n_tracks, np.iinfo(np.int64).max)
    last = np.full(n_tracks, np.iinfo(np.int64).min)
    np.minimum.at(first, track, steps)
    np.maximum.at(last, track, steps)
    return first, last


def _extent(
    place: Placement, sizes: ModelSizes, track: IntArray, start: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Find the first step of each track's rows, the one after the last, and the last start."""
    first, last = _ends(track, start, len(place.anchor))
    base = np.where(last > place.begin, np.minimum(first, place.begin), first)
    idle = first > last
    low, high = np.where(idle, 0, base - sizes.seq_len), np.where(idle, 0, last + sizes.pred_len)
    return low, high, last


def _after_first(known: BoolArray, first_row: IntArray) -> BoolArray:
    """Return where something was known before, of the same track."""
    count = np.cumsum(np.concatenate([np.zeros_like(known[:1], dtype=np.int64), known]), axis=0)
    return count[:-1] > np.repeat(count[first_row[:-1]], np.diff(first_row), axis=0)


def _fills(
    canvas: _Canvas, runs: MissingRuns, edges: IntArray, pred_len: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """
    Find the cells that each turn fills, and the numbers among its points that fill them.

    PERF: for all turns at once; a recursion by single steps has as many turns as steps.
    """
    number, step = filled_rows(runs)
    rows = runs.origins[number] + step
    filled, column = np.nonzero(canvas.missing[rows])
    number, step = number[filled], step[filled]
    cells = rows[filled] * canvas.rows.values.shape[1] + column
    within = number - edges[np.searchsorted(edges, number, side="right") - 1]  # its turn
    fillers = (within * pred_len + step) * canvas.missing.shape[1] + column
    for begin, end in itertools.pairwise(np.searchsorted(number, edges).tolist()):
        yield cells[begin:end], fillers[begin:end]
