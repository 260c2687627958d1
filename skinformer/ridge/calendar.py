"""What columns known ahead, the calendar and the time of the year do to targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.ridge.sums import Problem, Sums, gather, remaining
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.cycle import CalendarEffect, Cells
from skinformer.timeline.windows import spread_places

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
_MAX_EFFECT_WINDOWS = 4096  # from which the effect of columns known ahead is found
_EFFECT_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, np.inf)  # the last is no effect
#: Waves of the year and of the day: with one of each, WTH errs by 1 to 2 % more.
_N_WAVES = 2
#: Days one after the other of which no year has shown any: waves would make up what is there.
_LONGEST_GAP = 14
#: Per row, for waves whose mean square is a half.
_YEAR_STRENGTH = 1e-3
_MOST_NUMBERS = 10_000_000  # of the table
#: Days of a leap year before each month.
_BEFORE = np.cumsum([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30])
_CHUNK = 65_536  # rows at a time


def known_effect(problem: Problem, origins: IntArray) -> Float64Array:
    """Regress the targets' changes since the origin on those of the columns known ahead.

    Changes, not levels: two series that both rise are no effect of one on the other, and the maps
    forecast changes. The strength is chosen on the newer half of the windows, the older ones come
    first. The result, (n_known, n_targets), is 0 where no effect forecasts better than none.
    """
    n_known = len(problem.effect)
    if not n_known or len(origins) < 2:
        return np.zeros_like(problem.effect)
    drawn = origins[spread_places(len(origins), _MAX_EFFECT_WINDOWS)]
    older, newer = (_change_sums(problem, part) for part in np.array_split(drawn, 2))
    best = min(_EFFECT_STRENGTHS, key=lambda s: unexplained(*newer, _effect(*older, strength=s)))
    return _effect(*_change_sums(problem, drawn), strength=best)


def _change_sums(problem: Problem, origins: IntArray) -> tuple[Float64Array, Float64Array]:
    """Return mean products of known columns' changes with themselves and with the targets'."""
    n_known, n_targets, n_columns = len(problem.effect), problem.n_targets, problem.values.shape[1]
    everything = problem._replace(n_targets=n_columns, effect=np.empty((0, n_columns)))
    gram, cross = np.zeros((n_known, n_known)), np.zeros((n_known, n_targets))
    n_steps, weights = 0, np.zeros(n_targets)
    for windows in gather(everything, origins):
        changes = windows.future.reshape(-1, n_columns)
        known = changes[:, -n_known:]
        weight = windows.weight.reshape(len(changes), -1)[:, :n_targets]
        gram += known.T @ known
        cross += known.T @ (changes[:, :n_targets] * weight)
        n_steps += len(changes)
        weights += weight.sum(axis=0)
    return gram / n_steps, cross / np.where(weights > 0, weights, 1)


def _effect(gram: Float64Array, cross: Float64Array, *, strength: float) -> Float64Array:
    if np.isinf(strength):
        return np.zeros_like(cross)
    return solution(gram + strength * np.eye(len(gram)), cross)


def unexplained(gram: Float64Array, cross: Float64Array, effect: Float64Array) -> float:
    """Return the mean squared change that an effect leaves, less a constant."""
    return float((effect * (gram @ effect)).sum() - 2 * (effect * cross).sum())


def known_columns(problem: Problem, rows: IntArray, n_known: int) -> Float64Array:
    """Read the last columns of rows, which are known ahead."""
    first = problem.values.shape[1] - n_known
    return np.nan_to_num(problem.values[rows, first:].astype(np.float64))


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
    design = design.for_rows(known_columns(problem, np.concatenate(blocks), design.n_known))
    times = np.array_split(np.arange(len(blocks)), min(_N_TIMES, len(blocks)))
    sums = [_sums(problem, [blocks[i] for i in time], design) for time in times]
    return design.effect(_best(sums, design), problem.cycle.cells)


def _best(times: list[Sums], design: _Design) -> Float64Array:
    """Choose a strength, then one for columns known ahead, by times that have not seen the effect.

    All times are solved with these, (n_regressors, n_targets).
    """
    whole = Sums.total(times)
    others = [Sums(*map(np.subtract, whole, time)) for time in times]

    def solved(sums: Sums, strengths: tuple[float, float]) -> Float64Array:
        [gram], [cross] = sums.means()
        of_calendar = np.arange(len(gram)) < design.borders[1]
        return solution(gram + np.diag(np.where(of_calendar, *strengths)), cross)

    def error(strengths: tuple[float, float]) -> float:
        total = 0.0
        for time, rest in zip(times, others, strict=True):
            [gram], [cross] = time.means()
            total += unexplained(gram, cross, solved(rest, strengths))
        return total

    best = min(((s, s) for s in _STRENGTHS), key=error)
    if design.n_known:
        best = min(((best[0], s) for s in _STRENGTHS), key=error)
    return solved(whole, best)


class _Design(NamedTuple):
    """What rows are explained by: times, cells, columns, and columns at each time.

    bounds: within which values of columns are believed.
    scale: of columns with values beyond these: next to 9831, all else deviates by next to nothing.
    """

    n_times: int
    n_cells: int
    n_known: int
    n_timed: int
    bounds: Float64Array = np.zeros((2, 0))
    scale: Float64Array = np.zeros(0)

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
        return np.cumsum([self.n_times, self.n_cells, self.n_known, self.n_timed * self.n_known])

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


def _sums(problem: Problem, blocks: list[IntArray], design: _Design) -> Sums:
    """Add up the products of regressors with themselves and with targets, less blocks' means."""
    k = problem.n_targets
    sums = Sums.of_sizes(1, design.width, k)
    assert problem.cycle is not None
    for rows in blocks:
        cell = problem.cycle.of_row[rows].astype(np.int64)
        regressors = design.rows(cell, known_columns(problem, rows, design.n_known))
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
        sums.gram[0] += product(regressors.T, regressors * share)
        sums.cross[0] += product(regressors.T, truth)
        sums.weight[0] += n_truths
    return sums


def year_effect(problem: Problem, origins: IntArray) -> Float64Array | None:
    """Regress targets on waves of the year, of the day, and on their products.

    The result, (n_days, n_times, n_targets), see `CalendarEffect`, has a mean of about 0. It is
    None where two weeks of the year were never seen, or days are not told apart. Cost: ``n_rows ·
    26²`` products. A line in time stands beside the waves, so that a trend is not taken for a
    season; the line has no part in the effect. Rows in which a truth is missing are left out.
    """
    if problem.cycle is None or problem.cycle.cells.n_days == 1:
        return None
    cells, k = problem.cycle.cells, problem.n_targets
    if cells.n_days * cells.n_times * k > _MOST_NUMBERS:
        return None
    rows = np.arange(origins.min() - problem.seq_len, origins.max() + problem.pred_len)
    if problem.missing is not None:
        rows = rows[~problem.missing[rows].any(axis=1)]
    if problem.weight is not None:
        rows = rows[(problem.weight[rows] > 0).all(axis=1)]
    of_row = problem.cycle.of_row
    seen = np.unique(of_row[rows] // cells.n_cells)
    if not len(seen) or np.diff(seen, append=seen[0] + cells.n_days).max() > _LONGEST_GAP:
        return None
    table = _waves(cells)
    low, high = find_bounds(problem.values[rows, :k], 0)
    width = table.shape[1] + 2
    gram, cross = np.zeros((width, width)), np.zeros((width, k))
    for part in np.array_split(rows, -(-len(rows) // _CHUNK)):
        place = of_row[part] // cells.n_cells * cells.n_times + of_row[part] % cells.n_times
        line = (part - rows[0]) / (rows[-1] - rows[0])
        regressors = np.column_stack([table[place], line, np.ones(len(part))])
        gram += product(regressors.T, regressors)
        cross += product(regressors.T, np.clip(remaining(problem, part)[:, :k], low, high))
    gram, cross = gram / len(rows), cross / len(rows)
    found = solution(gram + np.diag([*[_YEAR_STRENGTH] * (width - 2), 0.0, 0.0]), cross)
    effect: Float64Array = product(table, found[:-2])
    return effect.reshape(cells.n_days, cells.n_times, k)


def _waves(cells: Cells) -> Float64Array:
    """Lay the waves out, a row for each time of each of twelve months' 31 days."""
    month, day = np.divmod(np.arange(cells.n_days), 31)
    year = (_BEFORE[month] + day) / 366
    time = np.arange(cells.n_times) / cells.n_times
    n_of_day = min(_N_WAVES, (cells.n_times - 1) // 2)
    of_year, of_day = _circle(year, _N_WAVES), _circle(time, n_of_day)
    waves = of_year[:, None, :, None] * of_day[None, :, None, :]
    return waves.reshape(cells.n_days * cells.n_times, -1)[:, 1:]  # the first is constant


def _circle(turns: Float64Array, n_waves: int) -> Float64Array:
    angle = 2 * np.pi * turns[:, None] * np.arange(1, n_waves + 1)
    return np.concatenate([np.ones((len(turns), 1)), np.sin(angle), np.cos(angle)], axis=1)
