"""What columns known ahead, the calendar and the time of the year do to targets.

Each is a ridge by equations that are added up row by row: `known_effect` on changes of columns
known ahead, `calendar_effect` on cells of the week and these columns; for the time of the year see
`year_effect`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.ridge.sums import Problem, Sums, gather, known_truths
from skinformer.ridge.year import year_effect
from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect, Cycle
from skinformer.timeline.windows import spread_places

#: Effects of columns on targets at each time of the day; of more there is one for all times.
_MOST_TIMED = 512


class Effect(NamedTuple):
    """Which kinds of effects are taken off targets before ridges see them."""

    columns: bool = False
    calendar: bool = False
    year: bool = False

    def find(self, problem: Problem, origins: IntArray) -> Problem:
        """Find the effects by windows, and set them; those that cannot be found are left out."""
        if self.calendar:
            problem = problem._replace(
                calendar=calendar_effect(problem, origins, with_known=self.columns)
            )
        elif self.columns:
            problem = problem._replace(effect=known_effect(problem, origins))
        return with_year(problem, origins) if self.year else problem


def known_effect(problem: Problem, origins: IntArray) -> Float64Array:
    """Regress the targets' changes since the origin on those of the columns known ahead.

    Changes, not levels: two series that both rise are no effect of one on the other, and the maps
    forecast changes. The strength is chosen on the newer half of the windows, the older ones come
    first. The result, (n_known, n_targets), is 0 where no effect forecasts better than none.
    """
    nothing = np.zeros_like(problem.effect)
    if not problem.n_known or len(origins) < 2:
        return nothing
    drawn = origins[spread_places(len(origins), 4096)]
    halves = [_change_sums(problem, part) for part in np.array_split(drawn, 2)]
    older, newer = (half.means() for half in halves)
    strengths = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    errors = [newer.unexplained(older.solve(strength)) for strength in strengths]
    if min(errors) > 0:
        return nothing
    strength = strengths[np.argmin(errors)]
    return Sums.total(halves).means().solve(strength)[0]


def _change_sums(problem: Problem, origins: IntArray) -> Sums:
    """Add up products of known columns' changes with themselves and with the targets'."""
    n_columns = problem.n_columns
    n_targets = problem.n_targets
    # Of all columns what follows is read.
    everything = problem._replace(n_targets=n_columns, effect=np.empty((0, n_columns)))
    sums = Sums.of_sizes(1, problem.n_known, n_targets)
    for windows in gather(everything, origins):
        changes = windows.future.reshape(-1, n_columns)
        weight = windows.weight.reshape(len(changes), -1)
        sums.add(
            0,
            changes[:, problem.n_observed :],
            changes[:, :n_targets],
            weight[:, :n_targets],
        )
    return sums


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
    design = _Design.of(problem, problem.cycle, with_known=with_known)
    blocks = _cut_blocks(problem, origins, problem.cycle.n_cells, design.width)
    if not blocks:
        return None
    parts = []
    for places in np.array_split(np.arange(len(blocks)), min(4, len(blocks))):
        of_time = [blocks[i] for i in places]
        parts.append(_level_sums(problem, of_time, design))
    penalty = _choose_penalty(parts, design)
    [found] = Sums.total(parts).means().solve(penalty)
    known = known_columns(problem, np.concatenate(blocks), design.n_known)
    return design.effect(found, known)


def _choose_penalty(parts: list[Sums], design: _Design) -> float | Float64Array:
    """Choose a strength, then one for columns known ahead, by times that have not seen the effect.

    With such columns the result has a number for each regressor.
    """
    held_out = [part.means() for part in parts]
    others = [rest.means() for rest in Sums.leave_one_out(parts)]

    def error(penalty: float | Float64Array) -> float:
        pairs = zip(held_out, others, strict=True)
        return sum(part.unexplained(rest.solve(penalty)) for part, rest in pairs)

    # Per row. A cell of a week of hours has a mean square of .006, a column known ahead 1.
    strengths = (1e-5, 1e-4, 1e-3, 1e-2)
    best = min(strengths, key=error)
    if not design.n_known:
        return best
    penalties = []
    for strength in strengths:
        of_parts = [best, best, strength, strength]
        penalties.append(np.repeat(of_parts, design.sizes))
    return min(penalties, key=error)


class _Design(NamedTuple):
    """What rows are explained by: times, cells, columns, and columns at each time.

    timed: whether effects of columns differ by the time of the day.
    """

    cycle: Cycle
    n_known: int
    timed: bool

    @classmethod
    def of(cls, problem: Problem, cycle: Cycle, *, with_known: bool) -> _Design:
        """Choose effects by the time for few columns: solving takes as long as products."""
        n_known = problem.n_known if with_known else 0
        timed = cls(cycle, n_known, timed=True)
        few = 0 < n_known * problem.n_targets <= _MOST_TIMED and timed.width <= 1024
        return timed._replace(timed=few)

    @property
    def sizes(self) -> list[int]:
        """Numbers of regressors of each part."""
        n_times = self.cycle.n_times
        n_timed = self.timed * n_times * self.n_known
        return [n_times, self.cycle.n_cells, self.n_known, n_timed]

    @property
    def width(self) -> int:
        """Number of all regressors."""
        return sum(self.sizes)

    def regressors(self, cell: AnyArray, known: Float64Array) -> Float64Array:
        """Lay the regressors of rows out, (n_rows, width)."""
        n_times = self.cycle.n_times
        n_cells = self.cycle.n_cells
        times = np.eye(n_times)[cell % n_times]
        parts = [times, np.eye(n_cells)[cell % n_cells], known]
        if self.timed:
            timed = times[:, :, None] * known[:, None]
            parts.append(timed.reshape(len(cell), -1))
        return np.column_stack(parts)

    def effect(self, found: Float64Array, known: Float64Array) -> CalendarEffect:
        """Fold the parts into one table of cells and one of columns at each time.

        known: columns known ahead of the rows, (n_rows, n_known).
        """
        cycle = self.cycle
        borders = np.cumsum(self.sizes)[:-1]
        times, level, columns, timed = np.split(found, borders)
        time = np.arange(cycle.n_cells) % cycle.n_times
        table = columns[None]
        if self.timed:
            table = table + timed.reshape(cycle.n_times, *columns.shape)
        return _make_effect(cycle, level + times[time], table, known)


def _make_effect(
    cycle: Cycle, level: Float64Array, table: Float64Array, known: Float64Array
) -> CalendarEffect:
    """Make an effect of its tables and the columns known ahead that rows held."""
    bounds = np.stack([known.min(axis=0), known.max(axis=0)])
    return CalendarEffect(level, table, bounds, cycle.places, cycle.fields)


def _cut_blocks(
    problem: Problem, origins: IntArray, n_cells: int, width: int
) -> list[IntArray]:
    """Cut the rows of windows into consecutive ones of two cycles, none of two series.

    None where rows hold fewer than four cycles; some of them where there are very many.
    """
    blocks = []
    for rows in _runs(problem, origins):
        n_blocks = max(len(rows) // (2 * n_cells), 1)
        blocks.extend(np.array_split(rows, n_blocks))
    sizes = [len(block) for block in blocks]
    if sum(sizes) < 4 * n_cells or len(blocks) < 2:
        return []
    # As many as take a second or two.
    n_most = int(4e10 / width**2 / max(sizes))
    kept = spread_places(len(blocks), max(n_most, 2))
    return [blocks[i] for i in kept]


def _runs(problem: Problem, origins: IntArray) -> list[IntArray]:
    """List the consecutive rows of windows, series by series."""
    if not len(origins):
        return []
    origins = np.sort(origins)
    # Windows of two series lie farther apart than they reach.
    length = problem.seq_len + problem.pred_len
    borders = np.flatnonzero(np.diff(origins) >= length) + 1
    runs = []
    for run in np.split(origins, borders):
        rows = np.arange(run[0] - problem.seq_len, run[-1] + problem.pred_len)
        runs.append(rows)
    return runs


def _level_sums(problem: Problem, blocks: list[IntArray], design: _Design) -> Sums:
    """Add up the products of regressors with themselves and with targets, less blocks' means."""
    assert problem.cycle is not None
    sums = Sums.of_sizes(1, design.width, problem.n_targets)
    for rows in blocks:
        y = problem.values[rows, : problem.n_targets].astype(float)
        is_known = known_truths(problem, rows)
        regressors = design.regressors(
            problem.cycle.of_row[rows], known_columns(problem, rows, design.n_known)
        )
        # A row counts by its truths: those that are missing by the clock have cells of their own.
        share = is_known.mean(axis=1, keepdims=True)
        sums.add(
            0,
            _centred(regressors, share),
            _centred(np.nan_to_num(y), is_known),
            is_known,
        )
    return sums


def _centred(values: Float64Array, weight: Float64Array) -> Float64Array:
    """Take off each column's weighted mean; a weight below 1 in all counts as 1."""
    total = (values * weight).sum(axis=0)
    return values - total / np.maximum(weight.sum(axis=0), 1.0)


def known_columns(problem: Problem, rows: IntArray, n_known: int) -> Float64Array:
    """Read the last columns of rows, which are known ahead."""
    known = problem.values[rows, problem.n_columns - n_known :]
    return np.nan_to_num(known.astype(float))


def with_year(problem: Problem, origins: IntArray) -> Problem:
    """Add the time of the year to what is known ahead, where whole years were seen."""
    year = year_effect(problem, origins)
    cycle = problem.cycle
    if year is None or cycle is None:
        return problem
    calendar = problem.calendar
    if calendar is None:
        level = np.zeros((cycle.n_cells, problem.n_targets))
        known = known_columns(problem, origins, problem.n_known)
        calendar = _make_effect(cycle, level, problem.effect[None], known)
    return problem._replace(calendar=calendar._replace(year=year))
