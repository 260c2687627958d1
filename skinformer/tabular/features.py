"""Features of forecast steps: what is known at an origin about one step ahead of it.

A pair is an origin and a row from it on. Every feature of a pair reads rows before the origin, or
columns that are known ahead up to the step itself, so that it does not matter for a forecast
whether later rows were given; never a row of another series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, Float64Array, Floats, IntArray
from skinformer.timeline.calendar import calendar_at
from skinformer.timeline.clock import Clock
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.seasons import likely_seasons

LEVEL = 1  #: Number of the anchor that is a mean over four of the longest seasons.
_N_SEASONS = 4  # of a length that are looked at
_N_LAST = 3  # rows before the origin
_BESIDE = (-3, -2, -1)  # rows before the step, of columns known ahead
_DAY = 4  # rows of a day, three of which their means are over, where there is no season


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

    @classmethod
    def of_windows(
        cls,
        origins: IntArray,
        begin: IntArray,
        steps: IntArray,
        pred_len: int,
        n_targets: int = 1,
    ) -> Pairs:
        """List every step and target of windows, in the order of (n, pred_len, n_targets)."""
        shape = (len(origins), pred_len, n_targets)
        window, ahead, target = np.indices(shape).reshape(3, -1)
        return cls(origins[window], ahead, target, begin[window], steps[window])

    def take(self, part: Any) -> Pairs:
        """Choose pairs, by a slice, numbers or a mask."""
        return Pairs(*[values[part] for values in self])

    def by_origin(self) -> tuple[Pairs, IntArray]:
        """Choose one pair of each origin and target; return also the place of each pair's own.

        >>> pairs = Pairs.of_windows(np.array([7, 9]), np.zeros(2), np.arange(2), pred_len=3)
        >>> some, place = pairs.by_origin()
        >>> some.origin, place
        (array([7, 9]), array([0, 0, 0, 1, 1, 1]))
        """
        number = self.origin * (self.target.max(initial=0) + 1) + self.target
        _, first, place = np.unique(number, return_index=True, return_inverse=True)
        return self.take(first), place


def find_seasons(clock: Clock, lengths: IntArray) -> tuple[int, ...]:
    """Return the seasons, in rows, ascending, whose phases are looked at.

    Those of the calendar are about multiples of the one before; of at most 2048 rows, and such that
    half of the series, of these lengths, hold two of them.
    """
    # Longer ones are left to the calendar: looking back four times bounds the history.
    longest = 2048
    reach = min(longest, int(np.median(lengths)) // 2)
    seasons: list[int] = []
    for season in likely_seasons(clock):
        if season > reach:
            break
        if clock.dated and seasons and not clock.seasons:
            # 365 days are 52 weeks and a day: the weekday says more than the date.
            shorter = seasons[-1]
            season = round(season / shorter) * shorter
        seasons.append(season)
    return tuple(seasons)


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
        return _N_LAST + 2 + (_N_SEASONS + 6) * len(self.seasons)

    @property
    def recent_mean(self) -> int | None:
        """Number of the feature that is the mean of the last longest season; None without one."""
        if not self.seasons:
            return None
        n_each = _N_SEASONS + 5  # beside the anchors
        first_of_longest = self.n_anchors + _N_LAST - 1
        first_of_longest += n_each * (len(self.seasons) - 1)
        return first_of_longest + n_each - 2

    @property
    def n_of_effect(self) -> int:
        """Number of last features, which the calendar's effect makes."""
        if self.calendar is None:
            return 0
        return 2 if self.seasons else 1

    def known_positions(self, n_features: int) -> list[IntArray]:
        """Return the positions of the features of each column known ahead that varies."""
        n_against_phases = len(self.seasons) + 1 if self.seasons else 0
        n_beside = len(_BESIDE) + 2
        numbers = np.cumsum([1, n_against_phases, n_beside])
        sizes = numbers[self._details()]
        stop = n_features - self.columns.n_static - self.n_of_effect
        of_columns = np.arange(stop - sizes.sum(), stop)
        return np.split(of_columns, np.cumsum(sizes)[:-1]) if len(sizes) else []

    def _details(self) -> IntArray:
        """Return how closely each column that is known ahead and varies is looked at: 0, 1 or 2."""
        n_varying = self.columns.n_known - self.columns.n_static
        helpful = np.setdiff1d(np.arange(n_varying), self.plain)
        details = np.zeros(n_varying, dtype=int)
        # Twelve have all features; more of them have fewer, and beyond forty the value alone.
        details[helpful[:40]] = 2 if len(helpful) <= 12 else 1
        return details

    def make(self, values: Floats, pairs: Pairs, clock: Clock) -> Float64Array:
        """Make the features of pairs: (n, n_features).

        NaN where nothing is known. The first ones are the anchors: the last value, the mean of the
        last four longest seasons, then of each season the mean of the step's phase in the last four
        of them. Then the other features of the target, the calendar, and the other columns.
        """
        size = 8192  # pairs at a time
        chunks = []
        for start in range(0, len(pairs.origin), size):
            view = View(values, pairs.take(slice(start, start + size)), self, clock)
            chunks.append(np.column_stack(self._features(view)))
        return np.concatenate(chunks)

    def _features(self, view: View) -> list[AnyArray]:
        """Make the features of what a view shows, one by one."""
        columns = self.columns
        # 1. What the target's own past, the step and its place on the calendar are.
        features = _target_features(view)
        features.append(view.pairs.ahead)
        features += _calendar_features(view)
        if columns.n_targets > 1:
            features.append(view.pairs.target)
        # 2. Columns that are not known ahead: one target alone has been looked at already.
        n_past = columns.n_targets + columns.n_past
        n_others = min(n_past, 12) if n_past > 1 else 0
        for j in range(n_others):
            features += _past_features(view, j)
        # 3. Columns that are known ahead, the static ones last.
        details = self._details()
        for j, detail in enumerate(details, start=n_past):
            features += _known_features(view, j, detail)
        for j in range(n_past + len(details), n_past + columns.n_known):
            features.append(view.ahead(j, view.pairs.origin))
        # 4. What is usual.
        if self.calendar is not None:
            features += _effect_features(view, self.calendar)
        return features


class View:
    """Rows as pairs may see them: a feature is an array of pairs, (n,), from (n, k) numbers."""

    def __init__(
        self, values: Any, pairs: Pairs, maker: FeatureMaker, clock: Clock
    ) -> None:
        self.values = values
        self.pairs = pairs
        self.clock = clock
        self.maker = maker
        self.seasons = maker.seasons
        self.row = pairs.origin + pairs.ahead
        #: One pair of each origin and target, and the place of each pair's own among these.
        self.of_origins, self.place = pairs.by_origin()
        seasons = np.array(maker.seasons, dtype=int)
        n_seasons_back = pairs.ahead[:, None] // seasons + 1
        #: Of each season, the last row of the step's phase before the origin, (n, n_seasons).
        self.phase = self.row[:, None] - seasons * n_seasons_back

    def before(self, column: int | IntArray, rows: IntArray) -> Float64Array:
        """Read rows of each pair, shape (n,) or (n, k), where they lie before the origin."""
        return self._read(column, rows, self.pairs, self.pairs.origin)

    def last_of_target(self, n_rows: int) -> list[Float64Array]:
        """Read so many rows of the target before the origin, the last one first."""
        rows = _window(self.of_origins.origin - 1, n_rows)
        return list(self._before_origins(None, rows)[self.place].T)

    def mean_of_last(
        self, n_rows: int, *, column: int | None = None, n_behind: int = 0
    ) -> Float64Array:
        """Return the mean of so many rows, `n_behind` rows before the origin.

        column: None for that of the target.

        PERF: what goes by the origin alone is found once for all steps of a window.
        """
        rows = _window(self.of_origins.origin - 1 - n_behind, n_rows)
        return _mean_known(self._before_origins(column, rows))[self.place]

    def _before_origins(self, column: int | None, rows: IntArray) -> Float64Array:
        """Read rows of each of `of_origins`, (n_origins, k); None is the target's column."""
        pairs = self.of_origins
        of_target: int | IntArray = pairs.target if column is None else column
        return self._read(of_target, rows, pairs, pairs.origin)

    def ahead(self, column: int, rows: IntArray) -> Float64Array:
        """Read rows of a column that is known ahead where they lie before the step, or at it."""
        return self._read(column, rows, self.pairs, self.row + 1)

    def _read(
        self, column: int | IntArray, rows: IntArray, pairs: Pairs, stop: IntArray
    ) -> Float64Array:
        """Read rows of each pair from its series' first one to `stop`; NaN for others."""
        rows = rows.T  # of all pairs, one after the other
        inside = (rows >= pairs.begin) & (rows < stop)
        existing = np.clip(rows, 0, len(self.values) - 1)
        read = self.values[existing, column].astype(float)
        low = self.maker.low[column]
        high = self.maker.high[column]
        believable = (read >= low) & (read <= high)
        return np.where(inside & believable, read, np.nan).T


def _mean_known(values: Float64Array) -> Float64Array:
    """Return the mean of what is known of each row; NaN where nothing is."""
    known = ~np.isnan(values)
    # Row by row in one order, so that no other row can change how a sum is rounded.
    total = np.ascontiguousarray(np.where(known, values, 0.0)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / known.sum(axis=1)


def _median_known(values: Float64Array) -> Float64Array:
    """Return the median of what is known of each row; NaN where nothing is."""
    ordered = np.sort(values, axis=1)  # NaN last
    count = (~np.isnan(values)).sum(axis=1)
    # Of none, these are the last one and the first, which are NaN.
    middle = np.column_stack([(count - 1) // 2, count // 2])
    return np.take_along_axis(ordered, middle, axis=1).mean(axis=1)


def _target_features(view: View) -> list[AnyArray]:
    """Make features of the target's own past: first the anchors."""
    target = view.pairs.target
    last = view.last_of_target(_N_LAST)
    level = view.mean_of_last(_N_SEASONS * max(view.seasons, default=1))
    anchors = [last[0], level]
    others = last[1:]
    for season, phase in zip(view.seasons, view.phase.T, strict=True):
        same_phase = view.before(target, _same_phase(phase, season))
        anchors.append(_mean_known(same_phase))
        others += _season_features(view, season, phase, same_phase)
    others.append(view.mean_of_last(_N_LAST))
    return anchors + others


def _season_features(
    view: View, season: int, phase: IntArray, same_phase: Float64Array
) -> list[AnyArray]:
    """Make features of the target's phase in the last seasons, beside it, and of whole seasons."""
    target = view.pairs.target
    beside = view.before(target, phase[:, None] + np.array([-1, 1]))
    return [
        *same_phase.T,
        *beside.T,
        _median_known(same_phase),
        view.mean_of_last(season),
        view.mean_of_last(season, n_behind=season),
    ]


def _calendar_features(view: View) -> list[AnyArray]:
    """Read the step's wall clock: time of day and of the week, day of the month and of the year."""
    if not view.clock.dated:
        return []
    fields = ("minute of day", "weekday", "day", "day of year")
    steps = view.pairs.step + view.pairs.ahead
    minute, weekday, day, day_of_year = calendar_at(view.clock, steps, fields).T
    return [minute, weekday, 1440 * weekday + minute, day + 1, day_of_year + 1]


def _effect_features(view: View, calendar: CalendarEffect) -> list[AnyArray]:
    """Make what is usual at the step, and by how much it is more than at its phase before."""
    usual = _usual(view, calendar, view.pairs.ahead)
    if not view.seasons:
        return [usual]
    ahead_of_phase = view.phase[:, -1] - view.pairs.origin
    return [usual, usual - _usual(view, calendar, ahead_of_phase)]


def _usual(view: View, calendar: CalendarEffect, ahead: IntArray) -> Float64Array:
    """Read the effect on the targets of rows; before the series began it is the first row's."""
    pairs = view.pairs
    ahead = np.maximum(ahead, pairs.begin - pairs.origin)
    row = pairs.origin + ahead
    step = pairs.step + ahead
    first_known = view.values.shape[1] - calendar.known.shape[1]
    effect = calendar.at(view.values[row, first_known:], step, view.clock)
    return effect[np.arange(len(row)), pairs.target]


def _past_features(view: View, j: int) -> list[AnyArray]:
    """Make features of a column that is not known ahead."""
    last = view.pairs.origin - 1
    features = [view.before(j, last), *view.before(j, view.phase).T]
    if view.seasons:
        features.append(view.mean_of_last(view.seasons[0], column=j))
    return features


def _known_features(view: View, j: int, detail: int) -> list[AnyArray]:
    """Make features of a column known ahead: at the step, against phases before, and beside it."""
    now = view.ahead(j, view.row)
    features = [now]
    if detail > 0 and view.seasons:
        before = view.before(j, view.phase)
        features += list(now - before.T)
        same_phase = _same_phase(view.phase[:, -1], view.seasons[-1])
        usual = _mean_known(view.before(j, same_phase))
        features.append(now - usual)
    if detail > 1:
        beside = view.row[:, None] + np.array(_BESIDE)
        features += list(view.ahead(j, beside).T)
        day = view.seasons[0] if view.seasons else _DAY
        for n_rows in (day, 3 * day):
            recent = view.ahead(j, _window(view.row, n_rows))
            features.append(_mean_known(recent))
    return features


def _same_phase(phase: IntArray, season: int) -> IntArray:
    """List the rows of a phase in the last seasons, shape (n, 4)."""
    return phase[:, None] - season * np.arange(_N_SEASONS)


def _window(last: IntArray, length: int) -> IntArray:
    """List the rows up to a last one, shape (n, length); of long windows equally many apart."""
    n_most = 168
    every = math.ceil(length / n_most)
    return last[:, None] - np.arange(0, length, every)
