"""What the time of the year does to targets: slow waves, and what single days have beside them.

In the trade of December or the holidays of summer a level changes within days. Waves that follow
this would invent a season where there is noise, so each of them has to be the stronger, the
shorter it is, and strengths are chosen by years that have not seen the effect.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.sums import Problem, Sums, known_truths, remaining
from skinformer.selection import mean_less_error
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.cycle import Cycle
from skinformer.timeline.windows import spread_places

#: Days of a year.
_N_DAYS = 366
#: Days over which a change is compared with that of other years.
_N_APART = 28
#: Years that changes have to cover, and of which each is left out once, at most.
_FEWEST_YEARS, _MOST_YEARS = 1.5, 8
#: Penalties of squared differences between neighbouring days, in changes of one day.
_ROUGHNESS = (3.0, 30.0, 300.0)


def year_effect(problem: Problem, origins: IntArray) -> Float64Array | None:
    """Regress targets on waves of the year, of the day, and on their products; then on single days.

    The result, (n_days, n_times, n_targets), see `CalendarEffect`, has a mean of about 0. It is
    None where two weeks of the year were never seen, or days are not told apart. Cost: ``n_rows ·
    26²`` products, and ``366²`` for each day. A line in time stands beside the waves, so that a
    trend is not taken for a season; the line has no part in the effect. Rows in which a truth is
    missing are left out, and of others 100,000 are read at most.
    """
    cycle = problem.cycle
    if cycle is None:
        return None
    rows = _year_rows(problem, cycle, origins)
    if not len(rows):
        return None
    # 1. Waves, a line in time, and a level.
    n_targets = problem.n_targets
    waves = _year_waves(cycle.n_times)
    regressors = _year_regressors(cycle, rows, waves)
    # 2. Targets without other effects, outliers clipped.
    bounds = find_bounds(problem.values[rows, :n_targets], 0)
    y = np.clip(remaining(problem, rows)[:, :n_targets], *bounds)
    # 3. A ridge per row, for waves whose mean square is a half; line and level are free.
    penalty = np.full(regressors.shape[1], 1e-3)
    penalty[-2:] = 0.0
    sums = Sums.of_sizes(1, len(penalty), n_targets)
    sums.add(0, regressors, y, np.ones_like(y))
    [found] = sums.means().solve(penalty)
    year = product(waves, found[:-2]).reshape(cycle.n_days, cycle.n_times, -1)
    # 4. What single days have beside them.
    day, cell = np.divmod(cycle.of_row[rows], cycle.n_cells)
    days, means = _means_of_days(day, y - year[day, cell % cycle.n_times])
    return year + _days_effect(_DayChanges.of(days, means))[:, None]


def _means_of_days(
    day: IntArray, values: Float64Array
) -> tuple[IntArray, Float64Array]:
    """Average rows, (n, n_targets), of each day in turn; return these days, and the means.

    >>> _means_of_days(np.array([3, 3, 4]), np.array([[1.0], [2.0], [7.0]]))
    (array([3, 4]), array([[1.5],
           [7. ]]))
    """
    first = np.flatnonzero(np.diff(day, prepend=-1))
    n_rows = np.diff(first, append=len(day))
    return day[first], np.add.reduceat(values, first) / n_rows[:, None]


class _DayChanges(NamedTuple):
    """How much higher days were than those four weeks before.

    before, after: (n,), their days of the year, from 0.
    size: (n, n_targets).
    year: (n,), number of the year of the latter.
    """

    before: IntArray
    after: IntArray
    size: Float64Array
    year: IntArray

    @classmethod
    def of(cls, days: IntArray, values: Float64Array) -> _DayChanges:
        """Compare days in time order, (n,), 31 for each month, and their values, (n, n_targets)."""
        place = _days_of_year()[days]
        year: IntArray = np.cumsum(np.diff(place, prepend=0) < 0)
        changes = cls(
            place[:-_N_APART],
            place[_N_APART:],
            values[_N_APART:] - values[:-_N_APART],
            year[_N_APART:],
        )
        # Days without rows may lie between two days, but no season.
        return changes.take((changes.after - changes.before) % _N_DAYS <= 2 * _N_APART)

    def take(self, some: BoolArray) -> _DayChanges:
        """Choose changes."""
        return _DayChanges(
            self.before[some], self.after[some], self.size[some], self.year[some]
        )

    def sums(self) -> Sums:
        """Add up products of waves' changes with themselves and with the targets'."""
        waves = _waves_of_days()
        sums = Sums.of_sizes(1, waves.shape[1], self.size.shape[1])
        sums.add(
            0,
            waves[self.after] - waves[self.before],
            self.size,
            np.ones_like(self.size),
        )
        return sums


def _days_effect(changes: _DayChanges) -> Float64Array:
    """Find what days of the year have, (n_days, n_targets); zeros where years do not agree."""
    nothing = np.zeros((12 * 31, changes.size.shape[1]))
    if len(changes.size) < _FEWEST_YEARS * _N_DAYS - _N_APART:
        return nothing
    # 1. Each year is left out once, and how much the others explain of it is compared.
    n_years = changes.year.max() + 1
    number = changes.year * min(n_years, _MOST_YEARS) // n_years
    parts = [changes.take(number == some).sums() for some in np.unique(number)]
    others = list(Sums.leave_one_out(parts))
    gains = [_gain(parts, others, roughness) for roughness in _ROUGHNESS]
    best = np.argmax(gains)
    if gains[best] <= 0:
        return nothing
    # 2. The effect of all years.
    found = _solve(Sums.total(parts), _ROUGHNESS[best])
    return product(_waves_of_days(), found[0])[_days_of_year()]


def _gain(parts: list[Sums], others: list[Sums], roughness: float) -> float:
    """Return the squared error that others surely save on each part, of a mean part."""
    gains = [
        -part.means().unexplained(_solve(rest, roughness)) * part.weight.mean()
        for part, rest in zip(parts, others, strict=True)
    ]
    return mean_less_error(np.array(gains))


def _solve(sums: Sums, roughness: float) -> Float64Array:
    """Return the waves' sizes, (1, n_waves, n_targets), the shorter ones penalised the more.

    The penalty is that of differences between neighbouring days, and a little of days themselves.
    """
    turns = np.tile(np.arange(1, _N_DAYS // 2 + 1), 2) / _N_DAYS
    of_differences = 2 - 2 * np.cos(2 * np.pi * turns)
    of_days = roughness * of_differences + 0.1
    return sums.means().solve(_N_DAYS / 2 * of_days / sums.weight.mean())


@cache
def _waves_of_days() -> Float64Array:
    """Lay out all waves of a year, a row for each of its days."""
    return fourier(np.arange(_N_DAYS) / _N_DAYS, _N_DAYS // 2)[:, 1:]


def _days_of_year() -> IntArray:
    """Return the number in a leap year of each day of twelve months of 31 days, from 0."""
    days_before_month = np.cumsum([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    month, day = np.divmod(np.arange(12 * 31), 31)
    return np.minimum(days_before_month[month] + day, _N_DAYS - 1)


def _year_regressors(cycle: Cycle, rows: IntArray, waves: Float64Array) -> Float64Array:
    """Lay out the waves of rows, a line in time, and 1."""
    day, cell = np.divmod(cycle.of_row[rows], cycle.n_cells)
    place = day * cycle.n_times + cell % cycle.n_times
    line = (rows - rows[0]) / (rows[-1] - rows[0])
    return np.column_stack([waves[place], line, np.ones(len(rows))])


def _year_rows(problem: Problem, cycle: Cycle, origins: IntArray) -> IntArray:
    """Return the rows of windows that a year is learnt from; none where that cannot be done."""
    nothing = origins[:0]
    n_effects = cycle.n_days * cycle.n_times * problem.n_targets
    if cycle.n_days == 1 or n_effects > 10_000_000 or not len(origins):
        return nothing
    rows = np.arange(origins.min() - problem.seq_len, origins.max() + problem.pred_len)
    rows = rows[known_truths(problem, rows).all(axis=1)]
    rows = rows[spread_places(len(rows), 100_000)]
    days = np.unique(cycle.of_row[rows] // cycle.n_cells)
    if not len(days):
        return nothing
    # Between days that no year has shown, waves would make up what is there.
    longest_gap = np.diff(days, append=days[0] + cycle.n_days).max()
    return rows if longest_gap <= 14 else nothing


def _year_waves(n_times: int) -> Float64Array:
    """Lay the waves out, a row for each time of each of twelve months' 31 days."""
    # With one wave of each, WTH errs by 1 to 2 % more.
    of_year = fourier(_days_of_year() / _N_DAYS, 2)
    of_day = fourier(np.arange(n_times) / n_times, min(2, (n_times - 1) // 2))
    # Each wave of the year times each of the day; the first is constant.
    return np.kron(of_year, of_day)[:, 1:].astype(float)


def fourier(turns: Float64Array, n_waves: int) -> Float64Array:
    """Return 1, and cosines and sines of 1, 2, … turns as often: (n, 1 + 2 n_waves)."""
    angle = 2 * np.pi * np.outer(turns, np.arange(1, n_waves + 1))
    return np.column_stack([np.ones(len(turns)), np.cos(angle), np.sin(angle)])
