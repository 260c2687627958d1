"""Forecasts for rows: blocks anchored at the end of the history, fed back where truth is missing.

Each row is forecast at its own step from an origin before it. Rows are forecast in blocks of
``pred_len`` steps; block borders lie at the anchor (the end of the history) plus whole blocks, so
a row's origin depends on its step alone and never on which other rows are asked for. Unknown
truths in a context are filled first, by the rule of `missing_runs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline, fill_forward


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
    """

    observed: Observed
    track: IntArray
    steps: IntArray
    place: Placement
    clock: Clock
    labels: pd.Index | None = None


class Outputs(Protocol):
    """What is forecast of each step and target, see `Head`."""

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of the outputs of one step and target."""

    def point(self, outputs: Any) -> Any:
        """Give the one value that is fed back."""

    def to_units(self, outputs: Float32Array, scaler: Scaler, series: IntArray) -> Float64Array:
        """Put outputs into the truth's units."""


class HeldValues(NamedTuple):
    """How many steps lacked a value that was held at its last one."""

    past: int
    known: int


@dataclass(frozen=True)
class _Canvas:
    """Rows on which forecasts are put in, and where each track begins."""

    rows: Rows
    first_row: IntArray  # (n_tracks + 1,)
    first_step: IntArray  # (n_tracks,)
    missing: BoolArray  # (n_rows, n_targets): where a forecast has to stand in
    until: IntArray  # (n_tracks,): the step from which on none is needed
    sizes: ModelSizes
    head: Outputs
    forecast: Forecaster

    def find(self, track: IntArray, steps: IntArray) -> IntArray:
        return self.first_row[track] + steps - self.first_step[track]

    def missing_runs(self, longest: int | None) -> MissingRuns:
        """Find the forecasts that fill what is missing."""
        unknown = self.missing.any(axis=1) & (self.rows.steps < self.until[self.rows.track])
        seq_len, pred_len = self.sizes.seq_len, self.sizes.pred_len
        return find_missing_runs(unknown, seq_len=seq_len, pred_len=pred_len, longest=longest)


def roll(
    requested: RequestedSteps,
    *,
    history: Timeline,
    sizes: ModelSizes,
    head: Outputs,
    forecast: Forecaster,
) -> tuple[Float32Array, HeldValues]:
    """Forecast steps of tracks, in any order, each from an origin before its block.

    What X gives wins over the stored history.
    sizes: numbers of the columns and lengths; ``seq_len`` are the steps that a forecast looks back.
    head: what forecasts of a step are, and what of them is fed back.
    forecast: ``forecast(rows, origins)`` gives the outputs for windows whose contexts and known
    columns are complete.

    Outputs have shape (n, n_targets, *head.outputs); beside them stands what had to be held.
    One pass for a rolling origin, as many as there are blocks for a recursion: unknown truths are
    filled first, those that need no other all together, and so on.
    """
    observed, track, steps, place = requested[:4]
    start = block_starts(place, track, steps, sizes.pred_len)
    extent = _extent(place, sizes, track, start)
    canvas = _paint(observed, history, place, extent, sizes, head, forecast)
    held = HeldValues(0, 0)
    if not sizes.may_miss:  # else they stay NaN
        held = _hold(canvas, until=_ends(track, steps, len(place.anchor))[1])
    origins, of_request = np.unique(canvas.find(track, start), return_inverse=True)
    runs = canvas.missing_runs(None).needed(origins, seq_len=sizes.seq_len)
    outputs = _forecast_all(canvas, runs, origins)
    return outputs[of_request, steps - start], held


def block_starts(place: Placement, track: IntArray, steps: IntArray, pred_len: int) -> IntArray:
    """Find the origin, as a step, of the block that each step of a track is in."""
    anchor = place.anchor[track]
    start: IntArray = anchor + (steps - anchor) // pred_len * pred_len
    return start


def fill_truths(
    observed: Observed,
    *,
    history: Timeline,
    place: Placement,
    sizes: ModelSizes,
    head: Outputs,
    forecast: Forecaster,
) -> Float32Array:
    """Fill the missing targets, standardised, of rows that follow the history of their tracks.

    observed: rows directly after the history, complete but for targets.
    place: the tracks, beginning at the end of the history.
    sizes, head, forecast: as for `roll`.

    A gap longer than `LONGEST_CHAIN` forecasts is held at its last one from there on.
    """
    lacking = np.isnan(observed.values[:, : sizes.n_targets]).any(axis=1)
    track, steps = observed.track[lacking], observed.steps[lacking]
    extent = _extent(place, sizes, track, steps + 1)
    canvas = _paint(observed, history, place, extent, sizes, head, forecast)
    if not sizes.may_miss:  # else they stay NaN
        _hold(canvas, until=canvas.until)
    _forecast_all(canvas, canvas.missing_runs(LONGEST_CHAIN), np.empty(0, dtype=np.int64))
    filled = observed.values[:, : sizes.n_targets].copy()
    filled[lacking] = canvas.rows.values[canvas.find(track, steps), : sizes.n_targets]
    return filled


def _ends(track: IntArray, steps: IntArray, n_tracks: int) -> tuple[IntArray, IntArray]:
    """Find each track's first and last step; the last is the smaller one where it has none."""
    first = np.full(n_tracks, np.iinfo(np.int64).max)
    last = np.full(n_tracks, np.iinfo(np.int64).min)
    np.minimum.at(first, track, steps)
    np.maximum.at(last, track, steps)
    return first, last


def _paint(
    observed: Observed,
    history: Timeline,
    place: Placement,
    extent: tuple[IntArray, IntArray, IntArray],
    sizes: ModelSizes,
    head: Outputs,
    forecast: Forecaster,
) -> _Canvas:
    """Lay out the rows of an extent and put in what is known; targets are held."""
    low, high, until = extent
    first_row = np.concatenate([[0], np.cumsum(high - low)])
    values = np.full((first_row[-1], observed.values.shape[1]), np.nan, dtype=np.float32)
    track = np.repeat(np.arange(len(low)), high - low)
    steps = np.arange(len(track)) + (low - first_row[:-1])[track]
    values[steps < place.begin[track], sizes.n_targets :] = 0.0  # training mean
    stored = np.where(place.stored[track], history.find(place.series[track], steps), -1)
    values[stored >= 0] = history.values[stored[stored >= 0]]
    inside = (observed.steps >= low[observed.track]) & (observed.steps < high[observed.track])
    rows = (first_row[:-1] - low)[observed.track[inside]] + observed.steps[inside]
    given = observed.values[inside]
    values[rows] = np.where(np.isnan(given), values[rows], given)
    targets = values[:, : sizes.n_targets]
    missing = np.isnan(targets)
    begin = _first_known(np.asarray(~missing.all(axis=1)), first_row)
    if missing.any():
        missing &= _after_first(~missing, first_row)
        fill_forward(targets, first_row)
    laid_out = Rows(values, track, steps, begin)
    return _Canvas(laid_out, first_row, low, missing, until, sizes, head, forecast)


def _extent(
    place: Placement, sizes: ModelSizes, track: IntArray, start: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Find the first step of each track's rows, the one after the last, and the last start."""
    first, last = _ends(track, start, len(place.anchor))
    base = np.where(last > place.begin, np.minimum(first, place.begin), first)
    idle = first > last
    low, high = np.where(idle, 0, base - sizes.seq_len), np.where(idle, 0, last + sizes.pred_len)
    return low, high, last


def _first_known(known: BoolArray, first_row: IntArray) -> IntArray:
    """Find the first known row of each track; its end where there is none."""
    rows = np.append(np.flatnonzero(known), first_row[-1])
    first: IntArray = rows[np.searchsorted(rows, first_row[:-1])]
    return np.minimum(first, first_row[1:])


def _after_first(known: BoolArray, first_row: IntArray) -> BoolArray:
    """Tell where something was known before, of the same track."""
    count = np.cumsum(np.concatenate([np.zeros_like(known[:1], dtype=np.int64), known]), axis=0)
    before: BoolArray = count[:-1] > np.repeat(count[first_row[:-1]], np.diff(first_row), axis=0)
    return before


def _hold(canvas: _Canvas, *, until: IntArray) -> HeldValues:
    """Hold covariates without a value at their last one, and count the steps that matter."""
    rows, sizes = canvas.rows, canvas.sizes
    covariates = rows.values[:, sizes.n_targets :]
    empty = np.isnan(covariates)
    past = empty[:, : sizes.n_past].any(axis=1) & (rows.steps < canvas.until[rows.track])
    varying = empty[:, sizes.n_past : empty.shape[1] - sizes.n_static]
    known = varying.any(axis=1) & (rows.steps <= until[rows.track])
    fill_forward(covariates, canvas.first_row)
    return HeldValues(int(past.sum()), int(known.sum()))


def _forecast_all(canvas: _Canvas, runs: MissingRuns, origins: IntArray) -> Float32Array:
    """Fill gaps turn by turn, then forecast the origins that are asked for."""
    sizes, head = canvas.sizes, canvas.head
    runs = MissingRuns(*(part[np.argsort(runs.turn, kind="stable")] for part in runs))
    place = np.searchsorted(origins, runs.origins)
    requested = np.append(origins, -1)[place] == runs.origins
    edges = np.flatnonzero(np.diff(runs.turn, prepend=-1, append=-1))
    values = canvas.rows.values.reshape(-1)  # a view
    shape = (len(origins), sizes.pred_len, sizes.n_targets, *head.outputs)
    out = np.empty(shape, dtype=np.float32)
    turns = itertools.starmap(slice, itertools.pairwise(edges.tolist()))
    for turn, (cells, fillers) in zip(turns, _fills(canvas, runs, edges), strict=True):
        outputs = canvas.forecast(canvas.rows, runs.origins[turn])
        out[place[turn][requested[turn]]] = outputs[requested[turn]]
        values[cells] = head.point(outputs).reshape(-1)[fillers]
    rest = np.ones(len(origins), dtype=bool)
    rest[place[requested]] = False
    if rest.any():
        out[rest] = canvas.forecast(canvas.rows, origins[rest])
    return out


def _fills(
    canvas: _Canvas, runs: MissingRuns, edges: IntArray
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
    fillers = (within * canvas.sizes.pred_len + step) * canvas.missing.shape[1] + column
    for begin, end in itertools.pairwise(np.searchsorted(number, edges).tolist()):
        yield cells[begin:end], fillers[begin:end]
