"""Features of forecast steps: what is known at an origin about one step ahead of it.

A pair is an origin and a row from it on. Every feature of a pair reads rows before the origin, or
columns that are known ahead up to the step itself, so that it does not matter for a forecast
whether later rows were given; never a row of another series.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.seasons import likely_seasons

LEVEL = 1  #: Number of the anchor that is a mean over four of the longest seasons.
#: Seasons of more rows are left to the calendar: looking back four times bounds the history.
_LONGEST_SEASON = 2048
_N_SEASONS = 4  # of a length that are looked at
_LAST = (1, 2, 3)  # rows back from the origin
_BESIDE = (-3, -2, -1)  # rows before the step, of columns known ahead
_DAY = 4  # rows of a day, three of which their means are over, where there is no season
_SAMPLES = 168  # rows of a mean at most, equally far apart
#: So many columns known ahead have all features; more of them have fewer …
_ALL_FEATURES = 12
#: … and of columns beyond these many the value at the step alone is seen.
_MOST_COLUMNS = 40
#: Columns that are not known ahead, besides the target, that are looked at.
_MOST_OTHERS = 12


class Columns(NamedTuple):
    """What the columns of the rows are, in their order.

    n_targets, n_past: numbers of the first columns: targets, then those known up to the origin.
    n_known: number of the last columns, which are known ahead.
    n_static: how many of those, the last ones, are constant in each series.
    """

    n_targets: int
    n_past: int
    n_known: int
    n_static: int
    pred_len: int


class Pairs(NamedTuple):
    """Steps to forecast, each from an origin; arrays of shape (n,).

    origin: rows of the first steps of their windows.
    ahead: rows from the origin to the step, from 0.
    target: number of the target.
    begin: the first row of their series.
    step: the origin's step on the clock.
    """

    origin: IntArray
    ahead: IntArray
    target: IntArray
    begin: IntArray
    step: IntArray

    def take(self, part: slice | IntArray | BoolArray) -> Pairs:
        """Choose pairs."""
        return Pairs(*(values[part] for values in self))


def find_seasons(clock: Clock, lengths: IntArray) -> tuple[int, ...]:
    """Return the seasons, in rows, ascending, whose phases are looked at.

    Each is about a multiple of the one before where there are dates; of at most 2048 rows, and such
    that half of the series, of these lengths, hold two of them.
    """
    reach = min(_LONGEST_SEASON, int(np.median(lengths)) // 2)
    found = [season for season in likely_seasons(clock) if season <= reach]
    if clock.dated:
        # 365 days are 52 weeks and a day: the weekday says more than the date.
        for i, (short, long) in enumerate(pairwise(found)):
            found[i + 1] = round(long / short) * short
    return tuple(found)


@dataclass(frozen=True)
class FeatureMaker:
    """Make the features of pairs.

    seasons: from `find_seasons`.
    low, high: (n_columns,), from `find_bounds`: what lies beyond counts as unknown.
    plain: numbers among the columns known ahead that vary: those that are seen at the step alone.
    calendar: what ridges were fitted beside: what the calendar and these columns usually do.
    """

    columns: Columns
    seasons: tuple[int, ...]
    low: Float64Array
    high: Float64Array
    plain: tuple[int, ...] = ()
    calendar: CalendarEffect | None = None

    @property
    def look_back(self) -> int:
        """Rows before an origin that any feature may read."""
        return _N_SEASONS * max(self.seasons, default=_DAY) + 1

    @property
    def n_anchors(self) -> int:
        """Number of first features that are levels to start from: see `make`."""
        return 2 + len(self.seasons)

    @property
    def n_own(self) -> int:
        """Number of first features, which the target's own past makes."""
        return len(_LAST) + 2 + (_N_SEASONS + 6) * len(self.seasons)

    @property
    def of_effect(self) -> slice:
        """The last features, which the calendar's effect makes; none without one."""
        n_features = 0 if self.calendar is None else 1 + bool(self.seasons)
        return slice(-n_features, None) if n_features else slice(0)

    def known_features(self, n_features: int) -> list[IntArray]:
        """Return the positions of the features of each column known ahead that varies."""
        steady = bool(self.seasons)
        counts = [1, 2 + len(self.seasons) if steady else 1, 0]
        counts[2] = counts[1] + len(_BESIDE) + 2
        ends = np.cumsum([0, *(counts[detail] for detail in self._details())])
        n_after = self.columns.n_static
        if self.calendar is not None:
            n_after += 1 + steady
        ends += n_features - n_after - ends[-1]
        return [np.arange(low, high) for low, high in pairwise(ends)]

    def _details(self) -> list[int]:
        """Return how closely each column that is known ahead and varies is looked at: 0, 1 or 2."""
        n_varying = self.columns.n_known - self.columns.n_static
        rich = [i for i in range(n_varying) if i not in self.plain]
        all_features = len(rich) <= _ALL_FEATURES
        looked_at = set(rich[:_MOST_COLUMNS])
        return [(1 + all_features) if i in looked_at else 0 for i in range(n_varying)]

    def make(self, values: Floats, pairs: Pairs, clock: Clock) -> Float64Array:
        """Make the features of as many pairs as fit in memory: (n, n_features).

        NaN where nothing is known. The first ones are the anchors: the last value, the mean of the
        last four longest seasons, then of each season the mean of the step's phase in the last four
        of them. Then the other features of the target, the calendar, and the other columns.
        """
        features = self._features(View(values, pairs, self, clock))
        return np.column_stack(features).astype(np.float64, copy=False)

    def _features(self, view: View) -> list[AnyArray]:
        """Make the features of what a view shows, one by one."""
        columns, pairs = self.columns, view.pairs
        past = columns.n_targets + columns.n_past
        others = [j for j in range(min(past, _MOST_OTHERS)) if past > 1]
        known = past + np.arange(columns.n_known)
        varying = known[: len(known) - columns.n_static]
        features = [*_of_target(view), pairs.ahead, *_of_calendar(view)]
        if columns.n_targets > 1:
            features.append(pairs.target)
        for j in others:
            features += _of_other(view, j)
        for j, detail in zip(varying, self._details(), strict=True):
            features += _of_known(view, int(j), detail)
        features += [view.ahead(int(j), pairs.origin) for j in known[len(varying) :]]
        if self.calendar is not None:
            features += _of_effect(view)
        return features


class View:
    """Rows as pairs may see them: a feature is an array of pairs, (n,), from (n, k) numbers."""

    def __init__(self, values: Any, pairs: Pairs, maker: FeatureMaker, clock: Clock) -> None:
        self.values, self.pairs, self.seasons, self.clock = values, pairs, maker.seasons, clock
        self.low, self.high, self.calendar = maker.low, maker.high, maker.calendar
        self.at = pairs.origin + pairs.ahead
        #: Of each season, the last row of the step's phase before the origin.
        self.phase = [self.at - season * (pairs.ahead // season + 1) for season in self.seasons]

    def before(self, column: int | IntArray, rows: IntArray) -> Float64Array:
        """Read rows of each pair, shape (n,) or (n, k), where they lie before the origin."""
        return self._read(column, rows, self.pairs.origin)

    def ahead(self, column: int, rows: IntArray) -> Float64Array:
        """Read a column that is known ahead, up to the step."""
        return self._read(column, rows, self.at + 1)

    def _read(self, column: int | IntArray, rows: IntArray, stop: IntArray) -> Float64Array:
        start, column = self.pairs.begin, np.asarray(column)
        if rows.ndim == 2:
            start, stop, column = start[:, None], stop[:, None], column[..., None]
        inside = (rows >= start) & (rows < stop)
        read = self.values[np.clip(rows, 0, len(self.values) - 1), column].astype(np.float64)
        inside &= (read >= self.low[column]) & (read <= self.high[column])
        return np.where(inside, read, np.nan)

    def wall(self) -> tuple[Float64Array, ...]:
        """Read minute of the day, weekday, day of the month and of the year off the wall."""
        steps, place = np.unique(self.pairs.step + self.pairs.ahead, return_inverse=True)
        wall: Any = self.clock.labels(steps)  # of periods what pandas reads, as everywhere else
        fields = wall.hour * 60 + wall.minute, wall.day_of_week, wall.day, wall.day_of_year
        return tuple(np.asarray(field)[place] for field in fields)

    def usual(self, ahead: IntArray) -> Float64Array:
        """Read the effect on the targets of rows; before the series began it is the first row's."""
        pairs, calendar = self.pairs, self.calendar
        assert calendar is not None
        ahead = np.maximum(ahead, pairs.begin - pairs.origin)
        n_known = calendar.known.shape[1]
        known = self.values[pairs.origin + ahead, self.values.shape[1] - n_known :]
        effect = calendar.at(known.astype(np.float64), pairs.step + ahead, self.clock)
        return effect[np.arange(len(ahead)), pairs.target]


def _mean_known(values: Float64Array) -> Float64Array:
    """Return the mean of what is known of each row; NaN where nothing is."""
    known = ~np.isnan(values)
    # Row by row in one order, so that no other row can change how a sum is rounded.
    total: Float64Array = np.ascontiguousarray(np.where(known, values, 0.0)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=1))


def _median_known(values: Float64Array) -> Float64Array:
    """Return the median of what is known of each row; NaN where nothing is."""
    ordered, count = np.sort(values, axis=1), (~np.isnan(values)).sum(axis=1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], axis=1)
    middle = np.minimum(middle, values.shape[1] - 1)
    median = np.take_along_axis(ordered, middle, axis=1).mean(axis=1)
    return np.where(count > 0, median, np.nan)


def _of_target(view: View) -> list[Float64Array]:
    """Make what the target's own past says of the step: first the anchors."""
    origin, target = view.pairs.origin, view.pairs.target
    last = [view.before(target, origin - k) for k in _LAST]
    longest = _window(origin - 1, _N_SEASONS * max(view.seasons, default=1))
    anchors, lags = [last[0], _mean_known(view.before(target, longest))], last[1:]
    for season, phase in zip(view.seasons, view.phase, strict=True):
        same = view.before(target, phase[:, None] - season * np.arange(_N_SEASONS))
        anchors.append(_mean_known(same))
        beside = view.before(target, phase[:, None] + np.array([-1, 1]))
        lags += [each[..., i] for each in (same, beside) for i in range(each.shape[-1])]
        level = _window(origin - 1, season)
        lags.append(_median_known(same))
        lags += [_mean_known(view.before(target, rows)) for rows in (level, level - season)]
    lags.append(_mean_known(view.before(target, _window(origin - 1, len(_LAST)))))
    return anchors + lags


def _of_calendar(view: View) -> list[Float64Array]:
    """Read the step's wall clock: time of day and of the week, day of the month and of the year."""
    if not view.clock.dated:
        return []
    minute, weekday, day, year_day = view.wall()
    return [minute, weekday, weekday * 1440 + minute, day, year_day]


def _of_effect(view: View) -> list[Float64Array]:
    """Make what is usual at the step, and by how much it is more than at its phase before."""
    usual = [view.usual(view.pairs.ahead)]
    for phase in view.phase[-1:]:
        usual.append(usual[0] - view.usual(phase - view.pairs.origin))
    return usual


def _of_other(view: View, j: int) -> list[Float64Array]:
    """Make what another column that is not known ahead says."""
    features = [view.before(j, view.pairs.origin - 1)]
    features += [view.before(j, phase) for phase in view.phase]
    if view.seasons:
        season = _window(view.pairs.origin - 1, view.seasons[0])
        features.append(_mean_known(view.before(j, season)))
    return features


def _of_known(view: View, j: int, detail: int) -> list[Float64Array]:
    """Make what a column known ahead says: at the step, against phases before, and beside it."""
    now = view.ahead(j, view.at)
    features = [now]
    if detail > 0:
        features += [now - view.before(j, phase) for phase in view.phase]
        for season, phase in list(zip(view.seasons, view.phase, strict=True))[-1:]:
            rows = phase[:, None] - season * np.arange(_N_SEASONS)
            features.append(now - _mean_known(view.before(j, rows)))
    if detail > 1:
        features += [view.ahead(j, view.at + k) for k in _BESIDE]
        day = (*view.seasons, _DAY)[0]
        features += [_mean_known(view.ahead(j, _window(view.at, n))) for n in (day, 3 * day)]
    return features


def _window(last: IntArray, length: int) -> IntArray:
    """List the rows up to a last one, shape (n, length); of long windows equally many apart."""
    return last[:, None] - np.arange(0, length, -(-length // _SAMPLES))
