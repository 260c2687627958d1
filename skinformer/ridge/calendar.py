"""What the calendar, and columns known ahead at each time of the day, do to targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.cycle import CalendarEffect, Cells
from skinformer.timeline.windows import spread_places

if TYPE_CHECKING:
    from skinformer.ridge.sums import Problem

#: Per row. A cell of a week of hours has a mean square of .006, a column known ahead 1.
_STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2)
_CYCLES_PER_BLOCK = 2  # whose mean is what effects are distances from
_LEAST_CYCLES = 4  # of rows, before anything is said of a cell
_MOST_PRODUCTS = 4e10  # of two numbers, which takes a second or two
#: Effects of columns known ahead differ by the time of the day where a time has no more than these.
_MOST_TIMED = 512
#: Nor where there are more regressors: solving for these takes as long as their products.
_MOST_REGRESSORS = 1024
_N_TIMES = 4  # each of which says what becomes of an effect that was found on the others


def calendar_effect(
    problem: Problem, origins: IntArray, *, with_known: bool
) -> CalendarEffect | None:
    """Regress targets on the cells of the calendar, and on columns known ahead at each time of day.

    It is None where the rows do not hold the cycle four times. Cost: one pass over the rows, at
    most 4e10 products.

    Rows are compared with the mean of two cycles around them, so that a moving level is not taken
    for an effect. All is found together: a holiday is judged beside what its hour and weekday
    usually have, and a temperature beside the hour, which has the same cycle. The day is there
    beside the week, and a column beside itself at each hour, so that the ridge penalty draws an
    hour of the week to that of the day, and a holiday's hour to the whole holiday. Strengths are
    chosen by times that have not seen the effect.
    """
    if problem.cycle is None:
        return None
    design = _Design.of(problem, problem.cycle.cells, with_known=with_known)
    blocks = _blocks(problem, origins, _CYCLES_PER_BLOCK * design.n_cells)
    if sum(map(len, blocks)) < _LEAST_CYCLES * design.n_cells or len(blocks) < 2:
        return None
    n_most = int(_MOST_PRODUCTS / design.width**2 / max(map(len, blocks)))
    blocks = [blocks[i] for i in spread_places(len(blocks), max(n_most, 2))]
    design = design.for_rows(_known(problem, np.concatenate(blocks), design.n_known))
    times = np.array_split(np.arange(len(blocks)), min(_N_TIMES, len(blocks)))
    trial = _Trial([_sums(problem, [blocks[i] for i in time], design) for time in times], design)
    best = trial.best()
    return design.effect(best, problem.cycle.cells)


class _Trial:
    """Effects of some strengths, each judged on times that it has not seen."""

    def __init__(self, times: list[_Sums], design: _Design) -> None:
        self.times, self.design = times, design
        self.whole = _Sums(*(sum(parts) for parts in zip(*times, strict=True)))
        self.others = [_Sums(*map(np.subtract, self.whole, time)) for time in times]

    def best(self) -> Float64Array:
        """Choose a strength, then one for columns known ahead, and solve with all times."""
        pairs = [(s, s) for s in _STRENGTHS]
        best = min(pairs, key=self._error)
        if self.design.n_known:
            best = min(((best[0], s) for s in _STRENGTHS), key=self._error)
        return self._solved(self.whole, best)

    def _error(self, strengths: tuple[float, float]) -> float:
        """Give the mean square of each time that the others leave, less a constant."""
        error = 0.0
        for time, others in zip(self.times, self.others, strict=True):
            gram, cross = time.means()
            effect = self._solved(others, strengths)
            error += float((effect * (gram @ effect)).sum() - 2 * (effect * cross).sum())
        return error

    def _solved(self, sums: _Sums, strengths: tuple[float, float]) -> Float64Array:
        gram, cross = sums.means()
        of_calendar = np.arange(len(gram)) < self.design.borders[1]
        return solution(gram + np.diag(np.where(of_calendar, *strengths)), cross)


class _Design(NamedTuple):
    """What rows are explained by: times, cells, columns, and columns at each time."""

    n_times: int
    n_cells: int
    n_known: int
    n_timed: int
    bounds: Float64Array = np.zeros((2, 0))
    """Within which values of columns are believed."""
    scale: Float64Array = np.zeros(0)
    """Of columns with values beyond these: next to 9831, all else deviates by next to nothing."""

    @classmethod
    def of(cls, problem: Problem, cells: Cells, *, with_known: bool) -> _Design:
        n_known = len(problem.effect) if with_known else 0
        timed = cls(cells.n_times, cells.n_cells, n_known, cells.n_times)
        few = 0 < n_known * problem.n_targets <= _MOST_TIMED and timed.width <= _MOST_REGRESSORS
        return timed if few else timed._replace(n_timed=0)

    def for_rows(self, known: Float64Array) -> _Design:
        """Find bounds and scales of columns known ahead, no farther out than what was seen."""
        lowest, highest = known.min(axis=0), known.max(axis=0)
        bounds = np.clip(np.stack(find_bounds(known, 0)), lowest, highest)
        scale = np.clip(known, *bounds).std(axis=0)
        outliers = ((bounds[0] > lowest) | (bounds[1] < highest)) & (scale > 0)
        return self._replace(bounds=bounds, scale=np.where(outliers, scale, 1.0))

    @property
    def borders(self) -> IntArray:
        sizes = self.n_times, self.n_cells, self.n_known, self.n_timed * self.n_known
        borders: IntArray = np.cumsum(sizes)
        return borders

    @property
    def width(self) -> int:
        return int(self.borders[-1])

    def rows(self, cell: IntArray, known: Float64Array) -> Float64Array:
        """Lay the regressors of rows out."""
        known = np.clip(known, *self.bounds) / self.scale
        out, place = np.zeros((len(cell), self.width)), np.arange(len(cell))
        time, every, column, _ = self.borders
        out[place, cell % self.n_times] = 1.0
        out[place, time + cell % self.n_cells] = 1.0
        out[:, every:column] = known
        if self.n_timed:
            timed = out[:, column:].reshape(len(cell), self.n_timed, self.n_known)
            timed[place, cell % self.n_timed] = known
        return out

    def effect(self, found: Float64Array, cells: Cells) -> CalendarEffect:
        """Fold the parts into one table of cells and one of columns at each time."""
        time, every, column = self.borders[:3]
        n_targets = found.shape[1]
        level = found[time:every] + found[np.arange(self.n_cells) % self.n_times]
        known = found[None, every:column]
        if self.n_timed:
            known = known + found[column:].reshape(self.n_timed, self.n_known, n_targets)
        known = known / self.scale[:, None]
        return CalendarEffect(level, known, self.bounds, cells.places, cells.fields)


class _Sums(NamedTuple):
    gram: Float64Array
    cross: Float64Array
    n_rows: Float64Array
    n_truths: Float64Array

    def means(self) -> tuple[Float64Array, Float64Array]:
        """Give mean products; of a target with missing truths by those that are known."""
        return self.gram / np.maximum(self.n_rows, 1.0), self.cross / np.maximum(self.n_truths, 1.0)


def _blocks(problem: Problem, origins: IntArray, length: int) -> list[IntArray]:
    """Cut the rows of windows into consecutive ones of about a length, none of two series."""
    origins, whole = np.sort(origins), problem.seq_len + problem.pred_len
    # Windows of two series lie farther apart than they reach.
    runs = np.split(origins, np.flatnonzero(np.diff(origins) >= whole) + 1)
    blocks = []
    for run in runs:
        if len(run):
            rows = np.arange(run[0] - problem.seq_len, run[-1] + problem.pred_len)
            blocks += np.array_split(rows, max(len(rows) // length, 1))
    return blocks


def _sums(problem: Problem, blocks: list[IntArray], design: _Design) -> _Sums:
    """Add up the products of regressors with themselves and with targets, less blocks' means."""
    width, k = design.width, problem.n_targets
    sums = _Sums(np.zeros((width, width)), np.zeros((width, k)), np.zeros(()), np.zeros(k))
    assert problem.cycle is not None
    for rows in blocks:
        cell = problem.cycle.of_row[rows].astype(np.int64)
        regressors = design.rows(cell, _known(problem, rows, design.n_known))
        truth = np.nan_to_num(problem.values[rows, :k].astype(np.float64))
        there = np.ones_like(truth)
        if problem.missing is not None:
            there *= ~problem.missing[rows]
        if problem.weight is not None:
            there *= problem.weight[rows] > 0
        n_truths = there.sum(axis=0)
        truth = (truth - (truth * there).sum(axis=0) / np.maximum(n_truths, 1.0)) * there
        # A row counts by its truths: those that are missing by the clock have cells of their own.
        share = there.mean(axis=1, keepdims=True)
        regressors -= (regressors * share).sum(axis=0) / max(share.sum(), 1.0)
        sums.gram[...] += product(regressors.T, regressors * share)
        sums.cross[...] += product(regressors.T, truth)
        sums.n_rows[...] += share.sum()
        sums.n_truths[...] += n_truths
    return sums


def _known(problem: Problem, rows: IntArray, n_known: int) -> Float64Array:
    first = problem.values.shape[1] - n_known
    return np.nan_to_num(problem.values[rows, first:].astype(np.float64))
