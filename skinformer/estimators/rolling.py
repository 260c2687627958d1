"""Forecasts for rows: blocks anchored at the end of the history, fed back where truth is missing.

Each row is forecast at its own step from an origin before it. Rows are forecast in blocks of
``pred_len`` steps; block borders lie at the anchor (the end of the history) plus whole blocks, so
a row's origin depends on its step alone and never on which other rows are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skinformer.estimators.placement import Placement
from skinformer.timeline.timeline import Timeline, fill_forward
from skinformer.timeline.windows import origins_between, window_rows

__all__ = ["HeldValues", "Observed", "RollingForecast", "roll"]

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

#: Forecasts windows of a canvas: (values, step and series of each row, origins) to
#: (n, pred_len, n_targets).
Forecaster = Callable[[Floats, Rows, Rows, Rows], Floats]


class Observed(NamedTuple):
    """Rows given at prediction: standardised values (NaN = not given), series and steps."""

    values: Floats
    series: Rows
    steps: Rows


class HeldValues(NamedTuple):
    """How many steps lacked a value that was held at its last one."""

    past: int
    known: int


class RollingForecast(NamedTuple):
    """Standardised forecasts of the steps asked for, and what had to be held for them."""

    values: Floats
    held: HeldValues


@dataclass(frozen=True)
class _Blocks:
    """All blocks from the first to the last one needed, series after series."""

    origins: Rows  # canvas row of each block's first step, shape (n_blocks,)
    series: Rows  # shape (n_blocks,)
    of_request: Rows  # block of each requested step, shape (n,)
    offset: Rows  # place of each requested step in its block, shape (n,)


@dataclass(frozen=True)
class _Canvas:
    """Consecutive rows of every series, from the first context to the last block."""

    values: Floats  # (n_rows, n_columns); NaN where nothing is known yet
    first_row: Rows  # (n_series + 1,)
    first_step: Rows  # (n_series,)

    def rows(self, series: Rows, steps: Rows) -> Rows:
        return self.first_row[series] + steps - self.first_step[series]

    @property
    def series(self) -> Rows:
        return np.repeat(np.arange(len(self.first_step)), np.diff(self.first_row))

    @property
    def steps(self) -> Rows:
        series = self.series
        return np.arange(len(series)) - self.first_row[series] + self.first_step[series]


def roll(
    observed: Observed,
    series: Rows,
    steps: Rows,
    *,
    history: Timeline,
    place: Placement,
    n_targets: int,
    n_past: int,
    n_static: int,
    hold: bool,
    seq_len: int,
    pred_len: int,
    forecast: Forecaster,
) -> RollingForecast:
    """
    Forecast steps of series, each from an origin before its block.

    Parameters
    ----------
    observed : Observed
        What X gives; wins over the stored history.
    series, steps : ndarray of int64, shape (n,)
        The steps to forecast, in any order.
    history : Timeline
        The stored history.
    place : Placement
        Where each series' blocks and context lie.
    n_targets, n_past, n_static : int
        Numbers of the first columns: targets, then past-only ones; the rest is known ahead,
        the static ones last.
    hold : bool
        Whether covariates without a value are held at their last one; else they stay NaN.
    seq_len, pred_len : int
        Steps in a context and in a block.
    forecast : callable
        ``forecast(values, steps, series, origins)`` gives the forecasts of windows whose contexts
        and known columns are complete.

    Returns
    -------
    RollingForecast
        Values of shape (n, n_targets).

    Notes
    -----
    Blocks whose contexts are complete are forecast together; then those that needed these, and
    so on: one pass for a rolling origin, as many as there are blocks for a recursion.
    """
    start = place.anchor[series] + (steps - place.anchor[series]) // pred_len * pred_len
    base, last = _span(series, start, place, pred_len=pred_len)
    canvas = _paint(observed, history, place, low=base - seq_len, high=last + pred_len)
    blocks = _blocks(canvas, series, steps, start, base=base, last=last, pred_len=pred_len)
    missing = np.isnan(canvas.values[:, :n_targets])
    held = HeldValues(0, 0)
    if hold:
        until = _last_step(series, steps, base)
        held = _hold(canvas, n_targets, n_past, n_static, last=last, until=until)
    values = _fill_by_forecasts(
        canvas, blocks, missing, seq_len=seq_len, pred_len=pred_len, forecast=forecast
    )
    return RollingForecast(values[blocks.of_request, blocks.offset], held)


def _span(series: Rows, start: Rows, place: Placement, *, pred_len: int) -> tuple[Rows, Rows]:
    """Find each series' first and last block; series without a request get an empty span."""
    anchor, begin = place.anchor, place.begin
    first = np.full(len(anchor), np.iinfo(np.int64).max)
    last = np.full(len(anchor), np.iinfo(np.int64).min)
    np.minimum.at(first, series, start)
    np.maximum.at(last, series, start)
    # A block far ahead builds on all forecasts since the history ended.
    recursion = anchor + (begin - anchor) // pred_len * pred_len
    base = np.minimum(first, np.where(last >= recursion, recursion, first))
    idle = first > last
    return np.where(idle, 0, base), np.where(idle, -pred_len, last)


def _paint(
    observed: Observed, history: Timeline, place: Placement, *, low: Rows, high: Rows
) -> _Canvas:
    """Lay out the rows from `low` to `high` and put in what is known."""
    high = np.maximum(high, low)
    first_row = np.concatenate([[0], np.cumsum(high - low)])
    values = np.full((first_row[-1], observed.values.shape[1]), np.nan, dtype=np.float32)
    canvas = _Canvas(values, first_row, low)
    before = np.clip(place.begin - low, 0, high - low)
    values[origins_between(first_row[:-1], first_row[:-1] + before - 1)] = 0.0  # training mean
    kept = np.flatnonzero(place.stored)
    start = np.maximum(low[kept], history.first_step[kept])
    stop = np.minimum(high[kept], history.end_step[kept])
    to, source = first_row[kept] - low[kept], history.first_row[kept] - history.first_step[kept]
    values[origins_between(start + to, stop + to - 1)] = history.values[
        origins_between(start + source, stop + source - 1)
    ]
    inside = (observed.steps >= low[observed.series]) & (observed.steps < high[observed.series])
    rows = canvas.rows(observed.series[inside], observed.steps[inside])
    given = observed.values[inside]
    values[rows] = np.where(np.isnan(given), values[rows], given)
    return canvas


def _blocks(
    canvas: _Canvas,
    series: Rows,
    steps: Rows,
    start: Rows,
    *,
    base: Rows,
    last: Rows,
    pred_len: int,
) -> _Blocks:
    """List the blocks of the canvas and find each requested step's."""
    counts = (last - base) // pred_len + 1
    before = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(owner)) - before[owner]
    return _Blocks(
        origins=canvas.rows(owner, base[owner] + number * pred_len),
        series=owner,
        of_request=before[series] + (start - base[series]) // pred_len,
        offset=steps - start,
    )


def _last_step(series: Rows, steps: Rows, base: Rows) -> Rows:
    last = base.copy()
    np.maximum.at(last, series, steps)
    return last


def _hold(
    canvas: _Canvas, n_targets: int, n_past: int, n_static: int, *, last: Rows, until: Rows
) -> HeldValues:
    """Hold covariates without a value at their last one, and count the steps that matter."""
    empty = np.isnan(canvas.values[:, n_targets:])
    series, steps = canvas.series, canvas.steps
    past = empty[:, :n_past].any(axis=1) & (steps < last[series])
    varying = empty[:, n_past : empty.shape[1] - n_static]
    known = varying.any(axis=1) & (steps <= until[series])
    fill_forward(canvas.values[:, n_targets:], canvas.first_row)
    return HeldValues(int(past.sum()), int(known.sum()))


def _fill_by_forecasts(
    canvas: _Canvas,
    blocks: _Blocks,
    missing: npt.NDArray[np.bool_],
    *,
    seq_len: int,
    pred_len: int,
    forecast: Forecaster,
) -> Floats:
    """Forecast all needed blocks, each as soon as its context is complete."""
    n_targets = missing.shape[1]
    out = np.full((len(blocks.origins), pred_len, n_targets), np.nan, dtype=np.float32)
    steps, series = canvas.steps, canvas.series
    pending = np.flatnonzero(_needed(blocks, missing, pred_len))
    while len(pending):
        unknown = np.concatenate([[0], np.cumsum(missing.any(axis=1))])
        origins = blocks.origins[pending]
        ready = pending[unknown[origins] == unknown[origins - seq_len]]
        out[ready] = forecast(canvas.values, steps, series, blocks.origins[ready])
        rows = window_rows(blocks.origins[ready], pred_len)
        filled = np.where(missing[rows], out[ready], canvas.values[rows, :n_targets])
        canvas.values[rows, :n_targets] = filled
        missing[rows] = False
        pending = pending[~np.isin(pending, ready)]
    return out


def _needed(
    blocks: _Blocks, missing: npt.NDArray[np.bool_], pred_len: int
) -> npt.NDArray[np.bool_]:
    """Choose the blocks that are asked for or lack values before one that is."""
    asked = np.zeros(len(blocks.origins), dtype=bool)
    asked[blocks.of_request] = True
    lacking = missing[window_rows(blocks.origins, pred_len)].any(axis=(1, 2))
    return asked | lacking
