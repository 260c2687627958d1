"""What the time of the year does to targets, and to their course of the day."""

from __future__ import annotations

import numpy as np

from skinformer.algebra import product, solution
from skinformer.ridge.sums import Problem, remaining
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.cycle import Cells

#: Waves of the year and of the day: with one of each, WTH errs by 1 to 2 % more.
_N_WAVES = 2
#: Days one after the other of which no year has shown any: waves would make up what is there.
_LONGEST_GAP = 14
#: Per row, for waves whose mean square is a half.
_STRENGTH = 1e-3
_MOST_NUMBERS = 10_000_000  # of the table
#: Days of a leap year before each month.
_BEFORE = np.cumsum([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30])
_CHUNK = 65_536  # rows at a time


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
    found = solution(gram + np.diag([*[_STRENGTH] * (width - 2), 0.0, 0.0]), cross)
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
