"""Clocks: the map between the labels of an index and whole numbers of steps.

A clock counts steps from the first training row: step 0 is that row, step -1 the one before
it. Everything behind the estimators' border speaks of steps alone, so that time zones,
daylight saving and months of different length are settled here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar, TypeGuard

import numpy as np
import pandas as pd
from pandas import DatetimeIndex, Index, PeriodIndex, Timedelta, date_range, offsets
from pandas.errors import OutOfBoundsDatetime
from pandas.tseries.frequencies import to_offset

from skinformer.compatibility.dates import WALL_TIME_ERRORS, elapsed_step, is_elapsed
from skinformer.timeline.arrays import IntArray

#: The step of a label that lies between two ticks of the clock.
OFF_GRID = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Clock(ABC):
    """A regular grid of labels, counted in steps from `origin`, the label of step 0.

    freq: the distance between two labels: an offset of pandas or an int.
    name: of the index, and of labels.
    seasons: rows of each season that a user named or rows showed, ascending, in place of those of
    the calendar; it makes no other clock.
    """

    origin: Any
    freq: Any
    name: Hashable
    seasons: tuple[int, ...] = field(default=(), kw_only=True, compare=False)
    #: Whether labels are dates, so that a calendar exists.
    dated: ClassVar[bool] = True

    @abstractmethod
    def steps(self, index: Index) -> IntArray:
        """Count the steps from the origin to each label; `OFF_GRID` between two steps."""

    @abstractmethod
    def labels(self, steps: IntArray) -> Index:
        """Return the labels of steps, the inverse of `steps`; consecutive ones have a frequency."""

    def elapsed(self, steps: IntArray) -> IntArray:
        """Measure the time from the origin to steps: microseconds; steps without dates."""
        if not self.dated:
            return steps
        with_origin = np.append(steps, 0)
        labels = timestamps(self.labels(with_origin))
        instants = DatetimeIndex(labels).as_unit("us").asi8
        return instants[:-1] - instants[-1]

    def wall_steps(self, steps: IntArray) -> IntArray:
        """Count steps of local time, which differ where summer time begins or ends."""
        return steps

    def _with_freq(self, dates: DatetimeIndex, steps: IntArray) -> DatetimeIndex:
        """Name dates, with the frequency where pandas takes it: not of those that were moved."""
        dates = dates.rename(self.name)
        if not len(steps) or (np.diff(steps) != 1).any():
            return dates
        try:
            return DatetimeIndex(dates, freq=self.freq)
        except WALL_TIME_ERRORS:
            return dates

    @property
    def step_name(self) -> str:
        """The step as pandas writes it, such as ``"h"`` or ``"MS"``."""
        return str(getattr(self.freq, "freqstr", self.freq))

    def starting_at(self, label: Any) -> Clock:
        """Return the same clock, counted from another label."""
        return replace(self, origin=label)


class IntegerClock(Clock):
    """Labels are integers, `freq` apart."""

    dated: ClassVar[bool] = False

    def steps(self, index: Index) -> IntArray:
        """Count the steps from the origin to each integer, or `OFF_GRID`."""
        numbers = index.to_numpy(dtype=np.int64)
        distance = numbers - int(self.origin)
        return _whole_steps(distance, self.freq)

    def labels(self, steps: IntArray) -> Index:
        """Return the integers of steps."""
        numbers = int(self.origin) + steps * self.freq
        return Index(numbers, name=self.name)


@dataclass(frozen=True)
class RowClock(IntegerClock):
    """No index at all: a row's label is its number."""

    origin: int = 0
    freq: int = 1
    name: None = None


class PeriodClock(Clock):
    """Labels are periods; a step is `freq.n` of them."""

    def steps(self, index: Index) -> IntArray:
        """Count the steps from the origin to each period, or `OFF_GRID`."""
        distance = PeriodIndex(index).asi8 - self.origin.ordinal
        return _whole_steps(distance, self.freq.n)

    def labels(self, steps: IntArray) -> Index:
        """Return the periods of steps."""
        ordinals = self.origin.ordinal + steps * self.freq.n
        return PeriodIndex.from_ordinals(  # type: ignore[attr-defined]
            ordinals, freq=self.freq, name=self.name
        )


class ElapsedClock(Clock):
    """Labels are a fixed time apart (hours, minutes…), whatever the wall clock shows."""

    def steps(self, index: Index) -> IntArray:
        """Count the steps to instants, in any time zone if the origin has one, or `OFF_GRID`."""
        elapsed = DatetimeIndex(index) - self.origin
        step = Timedelta(self.freq)
        return _whole_steps(elapsed, step)

    def labels(self, steps: IntArray) -> Index:
        """Return the instants of steps, in the origin's time zone."""
        # Multiplied as integers of the origin's own unit: pandas' step * array is per element.
        step = Timedelta(self.freq).as_unit(self.origin.unit)
        elapsed = steps * step.to_numpy()
        dates = self.origin + pd.to_timedelta(elapsed)
        return self._with_freq(dates, steps)

    def wall_steps(self, steps: IntArray) -> IntArray:
        """Count steps on the clock on the wall: summer time lies an hour off."""
        if self.origin.tz is None or not steps.size:
            return steps
        first = steps.min()
        every = np.arange(first, steps.max() + 1)
        walls = wall_times(self.labels(every))
        moved = walls - self.origin.tz_localize(None)
        on_the_wall = moved // Timedelta(self.freq)
        return on_the_wall.to_numpy(dtype=np.int64)[steps - first]


@dataclass(frozen=True)
class WallClock(Clock):
    """Labels follow the calendar on the wall: days, business days, weeks, months, quarters.

    wall: what the wall shows at the origin; another time than the origin's own where daylight
    saving skipped it, as midnight in some zones.
    """

    wall: Any

    def starting_at(self, label: Any) -> Clock:
        """Return the same clock, counted from another label."""
        usual = self.wall - self.wall.normalize()
        wall = _walls(DatetimeIndex([label]), usual)[0]
        return replace(self, origin=label, wall=wall)

    def steps(self, index: Index) -> IntArray:
        """Count the steps to dates, or `OFF_GRID`; O(span of the labels): their grid is made."""
        dates = DatetimeIndex(index)
        if not len(dates):
            return np.empty(0, dtype=np.int64)
        if dates.tz is not None:
            dates = dates.tz_convert(self.origin.tz)
        walls = dates.tz_localize(None)
        # An hour more: a skipped wall time lies before the label it was moved to.
        earliest = walls.min() - Timedelta(hours=1)
        earlier = date_range(earliest, self.wall, freq=self.freq)
        later = date_range(self.wall, walls.max(), freq=self.freq)
        grid = self._grid(len(earlier), len(later))
        n_before = grid.searchsorted(self.origin)
        found = grid.get_indexer(dates.as_unit(grid.unit))
        return np.where(found < 0, OFF_GRID, found - n_before)

    def labels(self, steps: IntArray) -> Index:
        """Return the dates of steps in the origin's time zone.

        A wall time that daylight saving skips is moved to the next one that exists; of a repeated
        one the first is meant.
        """
        before = -steps.min(initial=0)
        after = steps.max(initial=0)
        dates = self._grid(before, after)[steps + before]
        # Rows before a history may lie before 1677, where nanoseconds begin.
        with suppress(OutOfBoundsDatetime):
            dates = dates.as_unit(self.origin.unit)
        return self._with_freq(dates, steps)

    def _grid(self, before: int, after: int) -> DatetimeIndex:
        """Make the labels of steps -before … after."""
        if isinstance(self.freq, offsets.Week) and self.freq.is_on_offset(self.wall):
            # pandas adds week after week, a hundred times as slowly.
            weeks = self.freq.n * np.arange(-before, after + 1)
            distance = pd.to_timedelta(7 * weeks, unit="D")
            walls = DatetimeIndex(self.wall.as_unit("us") + distance)
            return _on_the_clock(walls, self.origin.tz)
        past = date_range(end=self.wall, periods=before + 2, freq=self.freq, unit="us")
        # An offset may not lead back from the origin to itself: business hours from closing time.
        past = past[past < self.wall]
        past = past[len(past) - before :]
        future = date_range(self.wall, periods=after + 1, freq=self.freq, unit="us")
        walls = DatetimeIndex(past.append(future))
        return _on_the_clock(walls, self.origin.tz)


@dataclass(frozen=True)
class OpenClock(Clock):
    """Labels are a fixed time apart on the wall; closed hours of the week are no steps.

    week: which steps of a week, from its Monday's first on, are open; some are.
    """

    week: tuple[bool, ...]

    def steps(self, index: Index) -> IntArray:
        """Count the open steps from the origin to each label; `OFF_GRID` for closed ones, too."""
        dates = DatetimeIndex(index)
        if dates.tz is not None:
            dates = dates.tz_convert(self.origin.tz)
        distance = dates.tz_localize(None) - self._monday
        places = _whole_steps(distance, Timedelta(self.freq))
        weeks, of_week = np.divmod(places, len(self.week))
        is_open = np.asarray(self.week)
        n_before = np.cumsum(is_open) - is_open
        steps = weeks * self.steps_of_week + n_before[of_week] - self._n_before_origin
        is_step = (places != OFF_GRID) & is_open[of_week]
        return np.where(is_step, steps, OFF_GRID)

    def labels(self, steps: IntArray) -> Index:
        """Return the dates of open steps in the origin's time zone."""
        n_open = steps + self._n_before_origin
        weeks, of_week = np.divmod(n_open, self.steps_of_week)
        places = weeks * len(self.week) + np.flatnonzero(self.week)[of_week]
        step = Timedelta(self.freq).as_unit(self.origin.unit)
        elapsed = places * step.to_numpy()
        walls = DatetimeIndex(self._monday + pd.to_timedelta(elapsed))
        return _on_the_clock(walls, self.origin.tz).rename(self.name)

    @property
    def steps_of_week(self) -> int:
        """Number of open steps of a week."""
        return sum(self.week)

    @property
    def steps_of_day(self) -> int:
        """Number of open steps of an open day; 0 where days differ."""
        days = np.reshape(self.week, (7, -1))
        lengths = {int(n) for n in days.sum(axis=1) if n}
        return lengths.pop() if len(lengths) == 1 else 0

    @property
    def _monday(self) -> pd.Timestamp:
        """The first step of the origin's week, open or not, on the wall."""
        wall = self.origin.tz_localize(None)
        monday = wall.normalize() - Timedelta(days=wall.day_of_week)
        return monday + (wall - monday) % Timedelta(self.freq)

    @property
    def _n_before_origin(self) -> int:
        """Number of open steps of the origin's week before it."""
        since_monday = self.origin.tz_localize(None) - self._monday
        return sum(self.week[: since_monday // Timedelta(self.freq)])


#: All kinds.
CLOCKS = (IntegerClock, RowClock, PeriodClock, ElapsedClock, WallClock, OpenClock)


def clock_for(index: Index, freq: Any) -> Clock:
    """Make the clock that counts the labels of an index, in time order, from its first one.

    freq: from `infer_step`. Labels that do not lie on it are for the caller to find, by
    ``clock.steps(index) == OFF_GRID``.
    """
    origin = index[0]
    name = index.name
    if isinstance(index, PeriodIndex):
        return PeriodClock(origin, freq, name)
    if not isinstance(index, DatetimeIndex):
        return IntegerClock(int(origin), freq, name)
    if is_elapsed(freq):
        return ElapsedClock(origin, freq, name)
    walls = _walls(index[:1], _usual_time(index))
    return WallClock(origin, freq, name, walls[0])


def open_clock(index: Index, step: Any, week: Sequence[bool]) -> Clock:
    """Make the clock of the open steps of a week, that counts from the first label of an index."""
    if len(week) > 7:
        return OpenClock(index[0], step, index.name, tuple(week))
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    is_open = zip(names, week, strict=True)
    open_days = " ".join(name for name, flag in is_open if flag)
    return clock_for(index, offsets.CustomBusinessDay(weekmask=open_days))


def infer_step(index: Index, freq: Any) -> Any:
    """Find the step of an index: given, known, regular, or the commonest that divides all gaps.

    Labels are in time order without duplicates; some may be missing. None is for irregular steps:
    none divides all gaps. The frequency of an index, and what pandas infers, is taken
    only where all labels lie on it: both outlast a change of zone.
    """
    if isinstance(index, PeriodIndex):
        return index.freq
    if not isinstance(index, DatetimeIndex):
        if freq is not None:
            return freq
        numbers = index.to_numpy(dtype=np.int64)
        return _common_gap(numbers)
    if freq is None:
        return _infer_date_step(index)
    return date_step(freq)


def date_step(freq: Any) -> Any:
    """Return a step of dates as an offset of pandas; whole days are days of the calendar."""
    if isinstance(freq, timedelta) and freq == timedelta(days=freq.days):
        return offsets.Day(freq.days)
    return to_offset(freq)


def _infer_date_step(index: DatetimeIndex) -> Any:
    """Find the step of dates: known, regular, or the commonest that divides all gaps."""
    if lies_on(index, index.freq):
        return index.freq
    walls = _walls(index, _usual_time(index))
    for dates in (index, walls):
        # What `pd.infer_freq` returns, and whether it warns, is an option of the whole process;
        # the constructor returns an offset in every pandas 3.
        guess = DatetimeIndex(dates, freq="infer").freq
        if lies_on(index, guess):
            return guess
    step = _gappy_step(index, walls)
    return step if lies_on(index, step) else None


def regular_times(index: Index, step: Any) -> Index:
    """Return times a step of dates apart, from the first label of an index to its last.

    They keep the time on the wall over summer time. Steps of an hour and less are elapsed time,
    for an hour that comes twice has rows of its own.

    >>> hours = date_range("2024-03-30", periods=48, freq="h", tz="Europe/Berlin")
    >>> [str(time) for time in regular_times(hours, offsets.Day())]
    ['2024-03-30 00:00:00+01:00', '2024-03-31 00:00:00+01:00', '2024-04-01 00:00:00+02:00']
    """
    dates = DatetimeIndex(timestamps(index))
    if is_elapsed(step) and Timedelta(step) <= Timedelta(hours=1):
        return date_range(dates.min(), dates.max(), freq=step)
    walls = wall_times(dates)
    grid = date_range(walls.min(), walls.max(), freq=step)
    return _on_the_clock(grid, dates.tz)


def lies_on(index: DatetimeIndex, step: Any) -> bool:
    """Check whether all labels of an index, in time order, lie on steps from the first one on.

    False where there is no step.
    """
    if step is None:
        return False
    steps = clock_for(index, step).steps(index)
    return OFF_GRID not in steps


def _gappy_step(index: DatetimeIndex, walls: DatetimeIndex) -> Any:
    """Find the step of dates with gaps: the commonest gap, if it divides all others."""
    times_of_day = walls - walls.normalize()
    # Whole days on the wall are days of the calendar; anything finer is elapsed time.
    if (times_of_day != times_of_day[0]).any():
        gap = _common_gap(index.asi8)
        if gap is None:
            return None
        return elapsed_step(Timedelta(gap, unit=index.unit))
    days = walls.to_numpy().astype("datetime64[D]")
    n_days = _common_gap(days.astype(np.int64))
    # Which of them are closed, opening hours tell.
    if _lie_on_few_weekdays(walls) and n_days in (1, None):
        return offsets.Day()
    if n_days is None:
        return _monthly_step(walls)
    is_workday = walls.day_of_week < 5
    if n_days == 1 and len(walls) > 7 and is_workday.all():
        return offsets.BDay()
    return offsets.Day(n_days)


def _lie_on_few_weekdays(walls: DatetimeIndex) -> bool:
    """Whether rows are on four days of the week at most, and on at least half of these days.

    A dozen rows do not tell.
    """
    n_weekdays = walls.day_of_week.nunique()
    n_weeks = (walls[-1] - walls[0]) / Timedelta(weeks=1)
    fewest = max(12, 0.5 * n_weeks * n_weekdays)
    return n_weekdays < 5 and len(walls) > fewest


def _monthly_step(walls: DatetimeIndex) -> Any:
    """Find the step of dates that may lie at one place of the month: 1st, its end, or 15th."""
    months = _common_gap(12 * walls.year + walls.month)
    if months is None:
        return None
    first_day = walls.day[0]
    if first_day == 1:
        return offsets.MonthBegin(months)
    if walls.is_month_end.all():
        return offsets.MonthEnd(months)
    # A 29th is not in every month.
    return pd.DateOffset(months=months) if first_day <= 28 else None


def is_dated(index: Index | None) -> TypeGuard[Index]:
    """Return whether an index has a calendar: dates or periods."""
    return isinstance(index, DatetimeIndex | PeriodIndex)


def timestamps(index: Index) -> Index:
    """Return periods as the timestamps of their start; other labels as they are."""
    return index.to_timestamp() if isinstance(index, PeriodIndex) else index


def end_times(index: Index) -> Index:
    """Return the end of periods; what are no periods stays as it is."""
    return index.to_timestamp(how="end") if isinstance(index, PeriodIndex) else index


def wall_times(index: Index) -> DatetimeIndex:
    """Read dates or periods off the wall: naive local time."""
    return DatetimeIndex(timestamps(index)).tz_localize(None)


def short_label(label: Any) -> str:
    """Format a label of time without seconds, and without the hour at midnight.

    >>> short_label(pd.Timestamp("2024-03-01")), short_label(pd.Timestamp("2024-03-01 06:00"))
    ('2024-03-01', '2024-03-01 06:00')
    """
    if not isinstance(label, pd.Timestamp) or label.second or label.microsecond:
        return str(label)
    return f"{label:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def join_series(names: Index | None, codes: IntArray, labels: Index) -> Index:
    """Put the names of a panel's series before labels of time; the labels alone without names.

    >>> names, days = pd.Index(["a", "b"], name="site"), pd.Index([7, 8], name="day")
    >>> join_series(names, np.array([1, 1]), days).tolist()
    [('b', 7), ('b', 8)]
    """
    if names is None:
        return labels
    levels = [names.take(codes), labels]
    return pd.MultiIndex.from_arrays(levels)


def _usual_time(index: DatetimeIndex) -> Any:
    """Find the commonest time of day of an index."""
    wall = index.tz_localize(None)
    return (wall - wall.normalize()).value_counts().index[0]


def _walls(index: DatetimeIndex, usual: Any) -> DatetimeIndex:
    """Read dates off the wall; one that daylight saving moved counts at its usual time."""
    wall = index.tz_localize(None)
    if index.tz is None:
        return wall
    planned = wall.normalize() + usual
    is_moved = _on_the_clock(planned, index.tz) == index
    return planned.where(is_moved, wall)


def _on_the_clock(wall: DatetimeIndex, tz: Any) -> DatetimeIndex:
    """Put wall times into a time zone: skipped ones move on, of repeated ones the first counts."""
    is_first = np.ones(len(wall), dtype=bool)
    return wall.tz_localize(tz, nonexistent="shift_forward", ambiguous=is_first)


def _whole_steps(distance: Any, step: Any) -> IntArray:
    """Divide distances by a step; `OFF_GRID` where something is left."""
    steps, rest = divmod(distance, step)
    numbers = np.where(rest == 0 * step, steps, OFF_GRID)
    # Of times, numpy's quotients are another type of the same size.
    return numbers.astype(np.int64)


def _common_gap(numbers: Any) -> int | None:
    """Find the commonest gap of numbers, 1 of a single one; None if it does not divide all gaps."""
    gaps = np.diff(numbers)
    if not len(gaps):
        return 1
    values, counts = np.unique(gaps, return_counts=True)
    commonest = int(values[counts.argmax()])
    if commonest <= 0 or (gaps % commonest).any():
        return None
    return commonest
