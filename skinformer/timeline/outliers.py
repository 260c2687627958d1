"""Values that cannot be: typing errors in targets and covariates, in the fit and after it.

Ridges and networks learn from squares, and a forecast builds on every row of its context: one value
a thousand times too large would be heard everywhere. What is usual is found once, on the training
rows, by medians and gaps, which no outlier moves. Later rows are judged by that and by the rows
before them alone: whether a value is an outlier never depends on later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.leaps import (
    earlier_values,
    is_leap,
    judge_leaps,
    lags,
    n_phases,
    stored,
    usual_after,
)
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table, Timeline

#: How far an outlier lies beyond the other values, in distances of the farthest of these from the
#: median: public series have 4 at most, in units of hours 1 (docs/laboratory/robustness.md).
_FARTHEST = 5.0
#: Divided by the number of rows, so many distances more: the one peak of a short table, as at
#: Christmas, is beyond all others, and no error (docs/laboratory/robustness.md).
_SHORT = 75.0
#: So many times as far where most values are alike, as of rare sales, or some far beyond most.
_HEAVIEST = 5.0
#: So many values of a series, or one in a thousand, may be outliers; what comes more often may
#: come again. But for what lies beyond all measure, by what a fifth of the distances exceed.
_FEW, _BEYOND, _BESIDE = 2, 10_000.0, 1000.0
#: Share of the least value below which what lies far below it is next to zero, and values of the
#: fit that tell so: of ten numbers between 0 and 1 one may be.
_NONE, _TELLING = 0.05, 20
_TINY = float(np.finfo(np.float64).tiny)
_LEAST = 10  # values that tell what is usual
_LAUNCHED = 40  # from which on zeros before them do not: first sales are few, and rise
_RUN, _LONG = 3, 24  # rows of alike values that are a new level: at the end, and within


class Outlier(NamedTuple):
    """A row of a table, a column, and the value there.

    low, high: what is usual, beyond which it lies.
    after: whether that is usual after the rows before it alone, and other values are elsewhere.
    """

    row: int
    column: int
    value: float
    low: float
    high: float
    after: bool = False


_Place: TypeAlias = tuple[int, int]  # the number of a series, and that of a column
_Replaced: TypeAlias = list[tuple[Outlier, float]]  # with what stands in for each


class _Course(NamedTuple):
    """A column of a series, step by step from a season before its rows on.

    row_at: the place of each of its rows, in time, and its number in the table.
    signs: the least and the greatest sign of its history.
    leaps: by a place modulo their number, (n_phases, 3).
    outliers: those that were found, by their places.
    """

    values: Float64Array
    row_at: dict[int, int]
    signs: tuple[float, float]
    leaps: Float64Array
    outliers: dict[int, float]


@dataclass(frozen=True)
class Usual:
    """What is usual in each series and column.

    low, high: (n_series, n_columns), of the training rows, outliers aside.
    reach: likewise, how far beyond them outliers lie; infinite where there are none.
    season: rows before a value that it may be like, too.
    pending: (n_series, n_columns, 2), the last values of the history that are outliers, else NaN.
    leaps: (n_series, n_targets, n_phases, 3), see `judge_leaps`.
    """

    low: Float64Array
    high: Float64Array
    reach: Float64Array
    season: int
    pending: Float64Array
    leaps: Float64Array

    def least(self, n_targets: int) -> float:
        """Return the least value of targets that never were below 0; of rare ones it is 0."""
        return max(0.0, float(self.low[:, :n_targets].min()))

    @np.errstate(over="ignore", invalid="ignore")
    def judge(
        self, table: Table, history: Timeline, scaler: Scaler
    ) -> tuple[Table, Usual, list[Outlier]]:
        """Judge rows after the fit, in any order, by what was usual and by the rows before each.

        Covariates have other values in place of outliers, targets are marked as `wild`; and what
        to go by once these rows are history. Series that the fit did not see are not judged.
        """
        fitted = table.series < len(self.reach)
        owner, pending, found = np.where(fitted, table.series, 0), self.pending.copy(), []
        pending[table.series[fitted]] = np.nan
        for j, column in enumerate(table.columns):
            if column is None:
                continue
            values = column.astype(np.float64)
            low, high, reach = (bound[owner, j] for bound in (self.low, self.high, self.reach))
            far = _beyond(values, low, high, reach)
            if j < table.n_targets and table.clock == history.clock:
                leap = self.leaps[owner, j, table.steps % self.leaps.shape[2]]
                before = earlier_values(table, history, scaler, owner, j, self.season)
                far |= is_leap(values, before, leap, np.maximum(np.abs(low), np.abs(high)))
            for i in np.unique(table.series[fitted & far]):
                rows = np.flatnonzero(table.series == i)
                rows = rows[np.argsort(table.steps[rows], kind="stable")]
                course = self._course(table, rows, (i, j), history, scaler)
                found += self._judge_series(table, rows[far[rows]], (i, j), course)
                end = len(course.values)
                pending[i, j] = [course.outliers.get(end - k, np.nan) for k in (2, 1)]
        return _without(table, found), replace(self, pending=pending), [one for one, _ in found]

    def _course(
        self, table: Table, rows: IntArray, place: _Place, history: Timeline, scaler: Scaler
    ) -> _Course:
        """Return a series' values, from a season before its rows on, and its last outliers."""
        first, (i, j) = int(table.steps[rows[0]]) - self.season - 1, place
        row_at = dict(zip((table.steps[rows] - first).tolist(), rows.tolist(), strict=True))
        steps = np.arange(first, int(table.steps[rows[-1]]) + 1)
        values, outliers = np.full(len(steps), np.nan), {}
        leaps = np.full((1, 3), np.inf)  # covariates have none
        known = np.arange(history.first_step[i], history.end_step[i])
        known = stored(history, scaler, j, np.full_like(known, i), known, n_targets=table.n_targets)
        signs = np.sign(np.round(known / max(np.nanmax(np.abs(known), initial=0.0), _TINY), 5))
        if table.clock == history.clock:
            series = np.full(len(steps), i)
            values = stored(history, scaler, j, series, steps, n_targets=table.n_targets)
            last = enumerate(self.pending[i, j], int(history.end_step[i]) - first - 2)
            outliers = {at: x for at, x in last if not np.isnan(x) and at not in row_at}
            leaps = self.leaps[place] if j < table.n_targets else leaps
        values[list(row_at)] = table.columns[j][rows]
        signs = (np.nanmin(signs, initial=1.0), np.nanmax(signs, initial=-1.0))
        return _Course(values, row_at, signs, np.roll(leaps, -first, axis=0), outliers)

    def _judge_series(
        self, table: Table, suspect: IntArray, place: _Place, course: _Course
    ) -> _Replaced:
        """Judge a column of a series; its outliers are NaN, or stood in for, from then on."""
        (values, row_at, signs, leaps, outliers), j, found = course, place[1], []
        size = np.abs([self.low[place], self.high[place]]).max()
        judged = set(suspect.tolist())
        # In time: where an outlier is no more, the values after it are judged anew.
        for at, row in row_at.items():
            if row not in judged or np.isnan(values[at]):
                continue
            recent = values[at - self.season : at]
            bounds = self._bounds(place, recent)
            far = _beyond(values[at], *bounds)
            before = values[at - np.array(lags(self.season))]
            by_rows = (before, leaps[at % len(leaps)], size)
            # What comes more often may come again.
            leap = np.isnan(recent).sum() <= _FEW and is_leap(values[at], *by_rows)
            run = [outliers[k] for k in (at - 2, at - 1) if k in outliers] + [values[at]]
            level = len(run) == _RUN and _agree(run, *bounds[:2])
            if not (leap or far) or (level and (j < table.n_targets or not far)):
                continue
            value, usual = float(values[at]), _of_signs(*bounds[:2], signs)
            if usual[0] <= value <= usual[1]:  # but not after these rows
                usual = _within(value, usual_after(value, *by_rows), usual)
                outlier = Outlier(row, j, value, *usual, after=True)
            else:
                outlier = Outlier(row, j, value, *usual)
            values[at] = np.nan
            outliers[at] = outlier.value
            if j >= table.n_targets:
                low, high = bounds[:2]
                values[at] = _like(values, at, self.season, low, high)
                if self.low[place] == -self.high[place]:  # a flag comes when it comes
                    values[at] = np.clip(outlier.value, low, high)
            found.append((outlier, float(values[at])))
            judged |= {row_at[at + lag] for lag in lags(self.season) if at + lag in row_at}
        return found

    def _bounds(self, place: _Place, recent: Float64Array) -> tuple[float, float, float]:
        """Return what is usual, recent values among it: after growth, or a step, others are."""
        low, high, reach = self.low[place], self.high[place], self.reach[place]
        recent = recent[~np.isnan(recent)]
        if not len(recent):
            return low, high, reach
        least, most = recent.min(), recent.max()
        size = max(most - least, -least, most)  # what grows may double
        return min(low, least), max(high, most), max(reach, size)


@np.errstate(over="ignore", invalid="ignore")
def find_usual(table: Table, *, targets: bool) -> tuple[Table, Usual, list[Outlier]]:
    """Find what is usual on the rows of a fit, and the outliers among them.

    table: sorted by series and step; the same where there are none. Else with other values in their
    place, those of targets without weight: ridges leave out windows with missing values.
    targets: whether outliers are looked for among the targets, too.
    """
    shape, first_row = (len(table.first_row) - 1, len(table.columns)), table.first_row
    low, high, reach = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
    pending, found = np.full((*shape, 2), np.nan), []
    season = max(likely_seasons(table.clock)[:1], default=4)
    phases = n_phases(np.diff(first_row), season)
    leaps = np.full((shape[0], table.n_targets, phases, 3), np.inf)
    for j in range(0 if targets else table.n_targets, shape[1]):
        parts = [part.astype(np.float64) for part in np.split(table.columns[j], first_row[1:-1])]
        each = [_usual(values) for values in parts]
        some = [usual.reach for usual in each if usual is not None and not usual.rare]
        for i, (start, values, usual) in enumerate(zip(first_row[:-1], parts, each, strict=True)):
            if some and (usual is None or usual.rare):  # what is rare here may be usual elsewhere
                usual = _usual(values, _HEAVIEST * float(np.median(some)))
            quiet = j >= table.n_targets and len(np.unique(values[~np.isnan(values)])) < 2
            if usual is None or quiet:  # a price that has not changed yet may change
                continue
            raw, reach[i, j] = values.copy(), usual.reach
            values[usual.outlying] = np.nan
            if j < table.n_targets and not usual.rare:
                leaps[i, j], new = judge_leaps(values, int(table.steps[start]), season, phases)
                values[new] = np.nan
            low[i, j], high[i, j] = _extremes(values, usual.rare)
            begun = values[np.argmax(raw != 0) :]
            shown = (float(np.nanmin(begun)), float(np.nanmax(begun)))
            for at in np.flatnonzero(np.isnan(values) & ~np.isnan(raw)).tolist():
                values[at] = _stand_in(values, at, season, low[i, j], high[i, j])
                outlier = Outlier(int(start + at), j, float(raw[at]), *shown)
                found.append((outlier, float(values[at])))
                if at >= len(values) - 2:
                    pending[i, j, at - len(values)] = raw[at]
    table = _without(table, found, of_targets=True)
    return table, Usual(low, high, reach, season, pending, leaps), [outlier for outlier, _ in found]


class _Found(NamedTuple):
    reach: float
    outlying: IntArray
    rare: bool  # whether most values are alike


def _usual(values: Float64Array, least: float = 0.0) -> _Found | None:
    """Return how far is far in a series, and its outliers; None where nothing can be told."""
    lost = _lost_sensor(values)
    found = _usual_once(np.where(lost, np.nan, values) if lost.any() else values, least)
    if found is None or not lost.any():
        return found
    return found._replace(outlying=np.union1d(found.outlying, np.flatnonzero(lost)))


def _lost_sensor(values: Float64Array) -> BoolArray:
    """Find the zeros of a sensor that failed for hours: more than may be outliers by themselves.

    The others are many and never come halfway near zero, as temperatures in kelvins. Zeros within
    less than a day of hours are one failure, and failures are as few as single outliers.
    """
    lost: BoolArray = values == 0
    lost[: np.argmax(~lost & ~np.isnan(values))] = False  # before it began
    at, rest = np.flatnonzero(lost), values[~lost & ~np.isnan(values)]
    few = _n_few(values)
    none: BoolArray = np.zeros(len(lost), dtype=bool)
    if not few < len(at) < len(rest) or len(np.unique(rest)) <= _TELLING:
        return none
    begins = np.append(True, np.diff(at) >= _LONG)
    lengths = at[np.append(begins[1:], True)] - at[begins] + 1
    high = np.partition(rest, len(rest) - 1 - few)[len(rest) - 1 - few]
    level = bool(lost[-_RUN:].all())
    believed = begins.sum() > few or lengths.max() >= _LONG or level or 2 * rest.min() <= high
    return none if believed else lost


def _usual_once(values: Float64Array, least: float) -> _Found | None:
    """Return the same, where what comes more often than a few times may come again."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < _LEAST:
        return None
    begun = known[np.argmax(values[known] != 0) :]  # zeros before a launch are none of its values
    begun = begun if len(begun) >= _LAUNCHED else known
    middle = float(np.median(values[begun]))
    away = np.abs(values - middle)
    farthest, reach = _farthest(away[begun], abs(middle), least)
    if not reach > 0:
        return None
    outlying = away > farthest
    outlying[: begun[0]] = False
    rare = bool(np.median(away[begun]) == 0)
    high = np.nanmax(values[~outlying])
    for bound in (0.0, _NONE * high)[: 1 + (len(begun) >= _TELLING)]:
        few = (values <= bound) & ~outlying
        if not rare and 0 < few.sum() <= _n_few(known):
            lowest = np.min(values[~outlying & (values > bound)], initial=np.inf)
            if _beyond(values[few], lowest, high, np.inf).all():
                outlying |= few
    if outlying.any():
        outlying = _without_levels(values, outlying, *_extremes(values[~outlying], rare))
    return _Found(reach, np.flatnonzero(outlying), rare)


def _n_few(values: AnyArray) -> int:
    """Return how many values of a series may be outliers: what comes more often may come again."""
    return max(_FEW, len(values) // 1000)


def _farthest(away: Float64Array, size: float, least: float) -> tuple[float, float]:
    """Return the distance of the farthest usual value from the median, and of outliers from it."""
    n, few = len(away), _n_few(away)
    at = [n // 2, n - 1 - n // 5, n - 1 - n // 20, n - 1 - few]
    parted = np.partition(away, at)
    half, fifth, twentieth = parted[at[:3]]
    if parted[-few:].max() > _BEYOND * fifth > 0:
        return _farthest(away[away <= _BESIDE * fifth], size, least)
    top = np.sort(parted[at[3] :])[::-1]
    usual = np.maximum(top, 0.0 if fifth else size)  # a constant has its size
    heavy = np.clip(usual / (4 * twentieth), 1, _HEAVIEST) if half else _HEAVIEST
    reach = np.maximum((_FARTHEST + _SHORT / n) * heavy * usual, least)
    gaps = np.flatnonzero((top[:-1] - usual[1:] > reach[1:]) & (reach[1:] > 0))
    k = gaps[-1] + 1 if len(gaps) else 0
    return float(top[k]), float(reach[k])


def _without_levels(values: AnyArray, outlying: BoolArray, low: float, high: float) -> BoolArray:
    """Leave out runs that are a new level: of alike values, to the end or for long."""
    edges = np.flatnonzero(np.diff(np.r_[False, outlying, False]))
    outlying = outlying.copy()
    for start, stop in edges.reshape(-1, 2):
        last = stop == len(values)
        if stop - start >= (_RUN if last else _LONG) and _agree(values[start:stop], low, high):
            outlying[start:stop] = False
    return outlying


def _extremes(values: Float64Array, rare: bool) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (min(low, -high), max(high, -low)) if rare else (low, high)  # what is sold comes back


def _of_signs(low: float, high: float, signs: tuple[float, float]) -> tuple[float, float]:
    """Return bounds of a series without a sign that it never had."""
    return (max(low, 0.0) if signs[0] >= 0 else low), (min(high, 0.0) if signs[1] <= 0 else high)


def _within(
    value: float, usual: tuple[float, float], bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return what is usual without what lies out of bounds; a value stays beyond it."""
    low, high = (float(each) for each in np.clip(usual, *bounds))
    return (low, high) if not low <= value <= high else usual


def _beyond(values: npt.ArrayLike, low: Any, high: Any, reach: Any) -> Any:
    """Return what lies out of reach; or is about 0, or below, where nothing was."""
    values = np.asarray(values)
    zero = (np.abs(values) < _NONE * low) & (low > high / 4)
    sign = (values < 0) & (-values > high / 2)
    away = np.maximum(low - values, values - high)
    return (away > reach) | ((low >= 0) & (high > 0) & (zero | sign))


def _agree(run: npt.ArrayLike, low: float, high: float) -> bool:
    """Return whether all values of a run are on one side, and about as far."""
    away = np.asarray(run) - np.clip(run, low, high)
    near, far = np.abs(away).min(), np.abs(away).max()
    return bool(3 * near >= far and np.ptp(np.sign(away)) == 0)


def _like(values: Float64Array, at: int, season: int, low: float, high: float) -> float:
    """Return what stands in for an outlier: its value a season before, else its last one."""
    before = values[:at]
    known = before[~np.isnan(before)]
    if at >= season and not np.isnan(values[at - season]):
        return float(values[at - season])
    return float(known[-1]) if len(known) else (low + high) / 2


def _stand_in(values: Float64Array, at: int, season: int, low: float, high: float) -> float:
    """Return what stands for an outlier of the fit: as `_like`, raised where its series rises."""
    like = _like(values, at, season, low, high)
    rises = values[season:] - values[:-season]
    level = rises[at - season - 1] if at > season else np.nan
    steps = np.abs(np.diff(rises))
    falls = np.isnan(steps).all() or not np.nanmedian(steps) < np.nanmedian(np.abs(rises))
    if np.isnan(level) or falls:
        return like
    return float(np.clip(like + level, low, high))


def _without(table: Table, found: _Replaced, *, of_targets: bool = False) -> Table:
    """Put in what stands in for outliers of covariates, and mark those of targets.

    Or put in what stands in `of_targets`, too: without weight.
    """
    if not found:
        return table
    columns = list(table.columns)
    outliers = np.zeros((len(table.series), table.n_targets), dtype=bool)
    for (row, j, *_), value in found:
        if j < table.n_targets:
            outliers[row, j] = True
        if j >= table.n_targets or of_targets:
            if columns[j] is table.columns[j]:
                columns[j] = columns[j].astype(np.float64)
            columns[j][row] = value
    table = replace(table, columns=columns, outliers=outliers if outliers.any() else None)
    if of_targets:
        return replace(table, weight=table.without_outliers().weight, outliers=None)
    return table
