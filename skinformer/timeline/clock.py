"""Clocks: the map between the labels of an index and whole numbers of steps.

A clock counts steps from the first training row: step 0 is that row, step -1 the one before
it. Everything behind the estimators' border speaks of steps alone, so that time zones,
daylight saving and months of different length are settled here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import IntArray

#: The step of a label that lies between two ticks of the clock.
OFF_GRID = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Clock(ABC):
    """A regular grid of labels, counted in steps from `origin`, the label of step 0.

    freq: the distance between two labels: an offset of pandas or an int.
    name: of the index, and of labels.
    """

    origin: Any
    freq: Any
    name: Hashable
    #: Whether labels are dates, so that a calendar exists.
    dated: ClassVar[bool] = True

    @abstractmethod
    def steps(self, index: pd.Index) -> IntArray:
        """Count the steps from the origin to each label; `OFF_GRID` between two steps."""

    @abstractmethod
    def labels(self, steps: IntArray) -> pd.Index:
        """Return the labels of steps, the inverse of `steps`; consecutive ones have a frequency."""

    def elapsed(self, steps: IntArray) -> IntArray:
        """Measure the time from the origin to steps: microseconds; steps without dates."""
        if not self.dated:
            return steps
        labels = timestamps(self.labels(np.append(steps, 0)))
        instants = pd.DatetimeIndex(labels).as_unit("us").asi8
        return np.asarray(instants[:-1] - instants[-1])

    def wall_steps(self, steps: IntArray) -> IntArray:
        """Count steps of local time, which differ where summer time begins or ends."""
        return steps

    @property
    def step_name(self) -> str:
        """The step as pandas writes it, such as ``"h"`` or ``"MS"``."""
        return str(getattr(self.freq, "freqstr", self.freq))

    def starting_at(self, label: Any) -> Clock:
        """Return the same clock, counted from another label."""
        return replace(self, origin=label)


@dataclass(frozen=True)
class IntegerClock(Clock):
    """Labels are integers, `freq` apart."""

    dated: ClassVar[bool] = False

    def steps(self, index: pd.Index) -> IntArray:
        """Count the steps from the origin to each integer, or `OFF_GRID`."""
        numbers = index.to_numpy(dtype=np.int64) - int(self.origin)
        steps, rest = np.divmod(numbers, self.freq)
        return np.where(rest == 0, steps, OFF_GRID)

    def labels(self, steps: IntArray) -> pd.Index:
        """Return the integers of steps."""
        numbers = int(self.origin) + steps * self.freq
        labels: pd.Index = pd.Index(numbers, name=self.name)
        return labels


@dataclass(frozen=True)
class RowClock(IntegerClock):
    """No index at all: a row's label is its number."""

    origin: int = 0
    freq: int = 1
    name: None = None


@dataclass(frozen=True)
class PeriodClock(Clock):
    """Labels are periods; a step is `freq.n` of them."""

    def steps(self, index: pd.Index) -> IntArray:
        """Count the steps from the origin to each period, or `OFF_GRID`."""
        distance = pd.PeriodIndex(index).asi8 - self.origin.ordinal
        steps, rest = np.divmod(distance, self.freq.n)
        return np.where(rest == 0, steps, OFF_GRID)

    def labels(self, steps: IntArray) -> pd.Index:
        """Return the periods of steps."""
        ordinals = self.origin.ordinal + steps * self.freq.n
        periods: pd.Index = pd.PeriodIndex.from_ordinals(  # type: ignore[attr-defined]
            ordinals, freq=self.freq, name=self.name
        )
        return periods


@dataclass(frozen=True)
class ElapsedClock(Clock):
    """Labels are a fixed time apart (hours, minutes…), whatever the wall clock shows."""

    def steps(self, index: pd.Index) -> IntArray:
        """Count the steps to instants, in any time zone if the origin has one, or `OFF_GRID`."""
        elapsed = pd.DatetimeIndex(index) - self.origin
        step = pd.Timedelta(self.freq)
        steps = (elapsed // step).to_numpy(dtype=np.int64)
        return np.where((elapsed % step) == pd.Timedelta(0), steps, OFF_GRID)

    def labels(self, steps: IntArray) -> pd.Index:
        """Return the instants of steps, in the origin's time zone."""
        # Multiplied as integers of the origin's own unit: pandas' step * array is per element.
        unit = self.origin.unit
        length = pd.Timedelta(self.freq) / pd.Timedelta(1, unit=unit)
        elapsed = (steps * np.int64(length)).astype(f"timedelta64[{unit}]")
        dates = self.origin + pd.to_timedelta(elapsed)
        return _with_freq(pd.DatetimeIndex(dates, name=self.name), steps, self.freq)

    def wall_steps(self, steps: IntArray) -> IntArray:
        """Count steps on the clock on the wall: summer time lies an hour off."""
        if self.origin.tz is None or not steps.size:
            return steps
        first = int(steps.min())
        every = np.arange(first, int(steps.max()) + 1)
        walls = pd.DatetimeIndex(self.labels(every)).tz_localize(None)
        moved = (walls - self.origin.tz_localize(None)) / pd.Timedelta(self.freq)
        on_the_wall = np.floor(moved.to_numpy()).astype(np.int64)
        return np.asarray(on_the_wall[steps - first])


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
        wall = _walls(pd.DatetimeIndex([label]), usual)[0]
        return replace(self, origin=label, wall=wall)

    def steps(self, index: pd.Index) -> IntArray:
        """Count the steps to dates, or `OFF_GRID`; O(span of the labels): their grid is made."""
        dates = pd.DatetimeIndex(index)
        if not len(dates):
            return np.empty(0, dtype=np.int64)
        if dates.tz is not None:
            dates = dates.tz_convert(self.origin.tz)
        walls = dates.tz_localize(None)
        before = self._count_before(walls.min())
        later = pd.date_range(self.wall, walls.max(), freq=self.freq)
        grid = self._grid(before, max(0, len(later) - 1))
        found = grid.get_indexer(dates.as_unit(grid.unit))
        return np.where(found < 0, OFF_GRID, found - before)

    def labels(self, steps: IntArray) -> pd.Index:
        """Return the dates of steps in the origin's time zone.

        A wall time that daylight saving skips is moved to the next one that exists; of a repeated
        one the first is meant.
        """
        before = -int(steps.min(initial=0))
        after = int(steps.max(initial=0))
        grid = self._grid(before, after).as_unit(self.origin.unit)
        dates = pd.DatetimeIndex(grid[steps + before], name=self.name)
        return _with_freq(dates, steps, self.freq)

    def _count_before(self, low: Any) -> int:
        """Count how many steps back from the origin cover `low`."""
        # An hour more: a skipped wall time lies before the label it was moved to.
        low = low - pd.Timedelta(hours=1)
        if low >= self.wall:
            return 0
        count = 1
        while (
            pd.date_range(
                end=self.wall,
                periods=count + 1,
                freq=self.freq,
            )[0]
            > low
        ):
            count *= 2
        return count

    def _grid(self, before: int, after: int) -> pd.DatetimeIndex:
        """Make the labels of steps -before … after."""
        past = pd.date_range(
            end=self.wall,
            periods=before + 1,
            freq=self.freq,
        )
        future = pd.date_range(self.wall, periods=after + 1, freq=self.freq)
        walls = pd.DatetimeIndex(past[:-1].append(future))
        return _on_the_clock(walls, self.origin.tz)


#: All kinds.
CLOCKS: tuple[type[Clock], ...] = (
    IntegerClock,
    RowClock,
    PeriodClock,
    ElapsedClock,
    WallClock,
)


def clock_for(index: pd.Index, freq: Any) -> Clock:
    """Make the clock that counts the labels of an index, in time order, from its first one.

    freq: from `infer_step`. Labels that do not lie on it are for the caller to find, by
    ``clock.steps(index) == OFF_GRID``.
    """
    origin = index[0]
    name = index.name
    if isinstance(index, pd.PeriodIndex):
        return PeriodClock(origin, freq, name)
    if not isinstance(index, pd.DatetimeIndex):
        return IntegerClock(int(origin), freq, name)
    if isinstance(freq, pd.offsets.Tick):
        return ElapsedClock(origin, freq, name)
    walls = _walls(index[:1], _usual_time(index))
    return WallClock(origin, freq, name, walls[0])


def infer_step(index: pd.Index, freq: Any) -> Any:
    """Find the step of an index: given, known, regular, or the commonest that divides all gaps.

    Labels are in time order without duplicates; some may be missing. None is for irregular steps:
    none divides all gaps. The frequency of an index, and what pandas infers, is taken
    only where all labels lie on it: both outlast a change of zone.
    """
    if isinstance(index, pd.PeriodIndex):
        return index.freq
    if not isinstance(index, pd.DatetimeIndex):
        if freq is not None:
            return freq
        numbers: IntArray = index.to_numpy(dtype=np.int64)
        return _common_gap(np.diff(numbers), 1)
    if freq is not None:
        if isinstance(freq, pd.Timedelta) and freq == pd.Timedelta(days=freq.days):
            return pd.offsets.Day(freq.days)
        return pd.tseries.frequencies.to_offset(freq)
    return _infer_date_step(index)


def _infer_date_step(index: pd.DatetimeIndex) -> Any:
    """Find the step of dates: known, regular, or the commonest that divides all gaps."""
    if index.freq is not None and lies_on(index, index.freq):
        return index.freq
    walls = _walls(index, _usual_time(index))
    for guess in (_regular_step(index), _regular_step(walls)):
        if guess is not None and lies_on(index, guess):
            return guess
    step = _gappy_step(index, walls) or _monthly_step(walls)
    if step is None or not lies_on(index, step):
        return None
    return step


def lies_on(index: pd.DatetimeIndex, step: Any) -> bool:
    """Check whether all labels of an index, in time order, lie on steps from the first one on."""
    return not bool((clock_for(index, step).steps(index) == OFF_GRID).any())


def _regular_step(index: pd.DatetimeIndex) -> Any:
    """Find the step of dates without gaps, or None."""
    # What `pd.infer_freq` returns, and whether it warns, is an option of the whole process; the
    # constructor returns an offset in every pandas 3.
    return pd.DatetimeIndex(index, freq="infer").freq


def _gappy_step(index: pd.DatetimeIndex, walls: pd.DatetimeIndex) -> Any:
    """Find the step of dates with gaps: the commonest gap, if it divides all others."""
    # Whole days on the wall are days of the calendar; anything finer is elapsed time.
    since_first = walls - walls[0]
    by_day = bool((since_first % pd.Timedelta(days=1) == pd.Timedelta(0)).all())
    times = walls if by_day else index
    day = int(pd.Timedelta(days=1) / pd.Timedelta(1, unit=index.unit))
    gap = _common_gap(np.diff(times.asi8), day)
    if gap is None:
        return None
    if not by_day:
        return pd.tseries.frequencies.to_offset(pd.Timedelta(gap, unit=index.unit))
    is_workday = walls.day_of_week < 5
    if gap == day and len(index) > 7 and bool(is_workday.all()):
        return pd.offsets.BDay()
    return pd.offsets.Day(gap // day)


def _monthly_step(walls: pd.DatetimeIndex) -> Any:
    """Find the step of dates at one place of the month: its first day, its end, or its 15th."""
    time_of_day = walls - walls.normalize()
    if (time_of_day != time_of_day[0]).any():
        return None
    months = _common_gap(np.diff(12 * walls.year + walls.month), 1)
    if months is None:
        return None
    if (walls.day == 1).all():
        return pd.offsets.MonthBegin(months)
    if walls.is_month_end.all():
        return pd.offsets.MonthEnd(months)
    # A 29th is not in every month.
    same_day = (walls.day == walls.day[0]).all() and walls.day[0] <= 28
    return pd.DateOffset(months=months) if same_day else None


def is_dated(index: pd.Index | None) -> bool:
    """Return whether an index has a calendar: dates or periods."""
    return isinstance(index, pd.DatetimeIndex | pd.PeriodIndex)


def timestamps(index: pd.Index) -> pd.Index:
    """Return periods as the timestamps of their start; other labels as they are."""
    return index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index


def wall_times(index: pd.Index) -> pd.DatetimeIndex:
    """Read dates or periods off the wall: naive local time."""
    return pd.DatetimeIndex(timestamps(index)).tz_localize(None)


def short_label(label: Any) -> str:
    """Format a label of time without seconds, and without the hour at midnight.

    >>> short_label(pd.Timestamp("2024-03-01")), short_label(pd.Timestamp("2024-03-01 06:00"))
    ('2024-03-01', '2024-03-01 06:00')
    """
    if not isinstance(label, pd.Timestamp) or label.second or label.microsecond:
        return str(label)
    return f"{label:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def join_series(
    names: pd.Index | None,
    codes: IntArray,
    labels: pd.Index,
) -> pd.Index:
    """Put the names of a panel's series before labels of time; the labels alone without names.

    >>> names, days = pd.Index(["a", "b"], name="site"), pd.Index([7, 8], name="day")
    >>> join_series(names, np.array([1, 1]), days).tolist()
    [('b', 7), ('b', 8)]
    """
    if names is None:
        return labels
    levels = [names.take(codes), labels]
    return pd.MultiIndex.from_arrays(levels, names=[names.name, labels.name])


def _usual_time(index: pd.DatetimeIndex) -> Any:
    """Find the commonest time of day of an index."""
    wall = index.tz_localize(None)
    return (wall - wall.normalize()).value_counts().index[0]


def _walls(index: pd.DatetimeIndex, usual: Any) -> pd.DatetimeIndex:
    """Read dates off the wall; one that daylight saving moved counts at its usual time."""
    wall = index.tz_localize(None)
    if index.tz is None:
        return wall
    planned = pd.DatetimeIndex(wall.normalize() + usual)
    moved = _on_the_clock(planned, index.tz) == index
    return pd.DatetimeIndex(np.where(moved, planned, wall))


def _on_the_clock(wall: pd.DatetimeIndex, tz: Any) -> pd.DatetimeIndex:
    """Put wall times into a time zone: skipped ones move on, of repeated ones the first counts."""
    if tz is None:
        return wall
    first = np.ones(len(wall), dtype=bool)
    return pd.DatetimeIndex(
        wall.tz_localize(tz, nonexistent="shift_forward", ambiguous=first)
    )


def _common_gap(gaps: IntArray, default: int) -> int | None:
    """Find the commonest of some gaps, or None if it does not divide all of them."""
    if not len(gaps):
        return default
    values, counts = np.unique(gaps, return_counts=True)
    commonest = int(values[counts.argmax()])
    return commonest if commonest > 0 and not (gaps % commonest).any() else None


def _with_freq(
    dates: pd.DatetimeIndex,
    steps: IntArray,
    freq: Any,
) -> pd.DatetimeIndex:
    """Set the frequency of consecutive dates; pandas refuses what daylight saving moved."""
    if not len(steps) or (np.diff(steps) != 1).any():
        return dates
    try:
        return pd.DatetimeIndex(dates, freq=freq)
    except ValueError:
        return dates
