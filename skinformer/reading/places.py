"""Where rows stand: their series, their order, and their steps on the clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import (
    OFF_GRID,
    Clock,
    RowClock,
    clock_for,
    infer_step,
    is_dated,
    open_clock,
)
from skinformer.timeline.digest import content_digest
from skinformer.timeline.open_hours import find_open_week
from skinformer.timeline.timeline import are_consecutive
from skinformer.validation import index as checks
from skinformer.validation.labels import IN_INDEX, Labels
from skinformer.validation.rows import check_panel, check_same_kind

#: Labels of rows; None where there are none.
OptionalIndex: TypeAlias = pd.Index | None


def labels_of(index: OptionalIndex) -> tuple[OptionalIndex, OptionalIndex]:
    """Return labels of time and of series, None where rows have none."""
    return (None, None) if index is None else checks.time_labels(index)


@dataclass(frozen=True)
class GroupedRows:
    """Rows in time order, series after series.

    order: brings rows as they came into this order.
    series: the number of each row's series, ascending.
    names: names of the series of a panel.
    time: labels of time, ascending within each series.
    labels: where rows held these and the names.
    """

    order: Any
    series: IntArray
    names: OptionalIndex
    time: OptionalIndex
    labels: Labels = IN_INDEX

    def count_steps(
        self, freq: Any, *, may_skip: bool = False
    ) -> tuple[Clock, IntArray]:
        """Make the clock, of this step if the user named one, and count each row's steps by it.

        Steps count from the earliest label. It is a ValueError if the rows do not lie on one grid
        without gaps.

        may_skip: whether rows may be missing: at closed hours, which are no steps then, and here
        and there between.
        """
        time = self.time
        if time is None:
            return RowClock(), np.arange(len(self.series))
        longest = self._time_of_longest(time)
        checks.check_freq(longest, freq, self.labels)
        step = infer_step(longest, freq)
        if step is None:
            checks.raise_irregular(longest, self.labels)
        checks.check_no_nanoseconds(longest, step, self.labels)
        clock = clock_for(longest, step).starting_at(time.min())
        steps = clock.steps(time)
        if are_consecutive(self.series, steps):
            return clock, steps
        named = freq is not None
        week = None
        if may_skip and not named:
            week = find_open_week(time.unique().sort_values(), step)
        if week is not None:
            clock = open_clock(longest, step, week).starting_at(time.min())
            steps = clock.steps(time)
        self._check_steps(
            time, clock, steps, may_skip=may_skip, of_week=week is not None, named=named
        )
        return clock, steps

    def _check_steps(
        self,
        time: pd.Index,
        clock: Clock,
        steps: IntArray,
        *,
        may_skip: bool,
        of_week: bool,
        named: bool,
    ) -> None:
        """Raise if rows lie between two steps, or lack too many of them; warn if they lack few.

        of_week: whether the steps are those of open hours or days, which the rows showed.
        named: whether the user named the step.
        """
        checks.check_on_grid(
            steps, time, clock, self.series, self.names, self.labels, named=named
        )
        of_rows = self.series, steps, clock, self.names
        if may_skip and is_dated(time) and self._lacks_few(steps, named=named):
            checks.warn_of_missing_steps(*of_rows, of_week=of_week, named=named)
        else:
            checks.check_no_missing_steps(time, *of_rows, self.labels)

    def _time_of_longest(self, time: pd.Index) -> pd.Index:
        """Return the labels of time of the series that has most."""
        longest = np.bincount(self.series).argmax()
        first, end = np.searchsorted(self.series, [longest, longest + 1])
        # A slice keeps what an index knows of its step.
        return time[first:end]

    def _lacks_few(self, steps: IntArray, *, named: bool) -> bool:
        """Whether rows are missing here and there, in a timeline that is none the less one.

        Gaps after every few rows are those of rows that were drawn, and one that is long beside the
        series may be a fold of a cross-validation that is not one of time.

        named: whether the user named the step, which may be shorter than that of most rows.
        """
        distances = np.diff(steps)[np.diff(self.series) == 0]
        if named:
            return bool(distances.sum() < 20 * len(steps))
        longest = distances.max(initial=1) - 1
        n_gaps = np.count_nonzero(distances > 1)
        n_rows = len(steps) / (self.series[-1] + 1)
        return bool(n_gaps < 0.15 * len(steps) and longest <= 0.1 * n_rows)

    def places(self, X: Any, clock: Clock, steps: IntArray) -> RowPlaces:
        """Return what later rows are placed by, without the rows themselves."""
        return RowPlaces(
            clock,
            self.names,
            end=int(steps[-1]) + 1,
            digest=content_digest(X) if self.time is None else b"",
        )


def group_rows(
    time: OptionalIndex,
    series_labels: OptionalIndex,
    n_rows: int,
    labels: Labels = IN_INDEX,
) -> GroupedRows:
    """Bring training rows of each series together, without a copy where they are sorted already.

    It is a ValueError if rows of a series carry the same label or go back in time.

    labels: where rows held their labels, for messages.
    """
    labels = replace(labels, panel=series_labels is not None)
    series, names = _number_series(series_labels, n_rows, by_name=True)
    if time is not None:
        checks.check_distinct(time, series_labels, labels)
    order: Any = slice(None)
    if (np.diff(series) < 0).any():
        order = np.argsort(series, kind="stable")
    series = series[order]
    if time is not None:
        time = time[order]
        checks.check_order(time, series)
    return GroupedRows(order, series, names, time, labels)


def sort_rows(
    time: OptionalIndex, series_labels: OptionalIndex, n_rows: int
) -> GroupedRows:
    """Sort rows that may be in any order; without labels of time each series keeps its order."""
    series, names = _number_series(series_labels, n_rows)
    if time is None:
        order = np.argsort(series, kind="stable")
    else:
        by_time = np.argsort(time, kind="stable")
        by_series = np.argsort(series[by_time], kind="stable")
        order = by_time[by_series]
        time = time[order]
    return GroupedRows(order, series[order], names, time)


def _number_series(
    labels: OptionalIndex, n_rows: int, *, by_name: bool = False
) -> tuple[IntArray, OptionalIndex]:
    """
    Count series in order of appearance or of their names; no labels means one series.

    By names, so that what a fit draws and sums does not depend on which series came first.
    """
    if labels is None:
        return np.zeros(n_rows, dtype=np.int64), None
    checks.check_series_named(labels)
    codes, keys = pd.factorize(labels)
    if by_name:
        order = np.asarray(keys).argsort()
        rank = order.argsort()
        codes = rank[codes]
        keys = keys[order]
    return codes, pd.Index(keys, name=labels.name)


class FoundRows(NamedTuple):
    """Where rows stand among those that were fitted.

    series: numbers of the series, those of new ones after the fitted.
    steps: on the clock.
    names: of all these series, of a panel.
    clock: the fitted one; of the same step from X's first row where X lies between its steps.
    own: whether X lies between the steps of the training rows, so that it is its own timeline.
    assumed: whether rows without labels are taken to follow the training rows.
    """

    series: IntArray
    steps: IntArray
    names: OptionalIndex
    clock: Clock
    own: bool
    assumed: bool


@dataclass(frozen=True)
class RowPlaces:
    """Where rows lie in time, counted as the training rows were.

    clock: what counts the steps of the index.
    names: of the series of a panel.
    end: the step after the last training row; of an array, where the next one begins.
    digest: recognises the training array; empty for a frame.
    """

    clock: Clock
    names: OptionalIndex
    end: int
    digest: bytes

    @property
    def n_series(self) -> int:
        """Number of series."""
        return 1 if self.names is None else len(self.names)

    def find(
        self,
        X: Any,
        time: OptionalIndex,
        series_labels: OptionalIndex,
        n_rows: int,
        labels: Labels = IN_INDEX,
    ) -> FoundRows:
        """Return series and step of each row, in X's order.

        An array follows the training rows, unless it is the training array itself. It is a
        TypeError or a ValueError if the labels are of another kind than the fitted, or lie on no
        grid of their step.

        labels: where rows held their labels, for messages.
        """
        check_panel(self.names is not None, series_labels is not None)
        if time is None or isinstance(self.clock, RowClock):
            return self._follow(X, n_rows, labelled=time is not None)
        check_same_kind(time, self.clock, labels)
        checks.check_distinct(time, series_labels, labels)
        series, names = _find_series(self.names, series_labels, n_rows)
        clock = self.clock
        steps = clock.steps(time)
        own = bool((steps == OFF_GRID).any())
        if own:
            clock = clock.starting_at(time.min())
            steps = clock.steps(time)
            checks.check_on_own_grid(steps, time, clock, labels)
        return FoundRows(series, steps, names, clock, own=own, assumed=False)

    def _follow(self, X: Any, n_rows: int, *, labelled: bool) -> FoundRows:
        """Place rows without labels behind the training rows, or on them if they are these."""
        steps = np.arange(n_rows)
        is_fitted = False
        if self.digest and not labelled:
            is_fitted = content_digest(X) == self.digest
        return FoundRows(
            np.zeros_like(steps),
            steps if is_fitted else steps + self.end,
            self.names,
            self.clock,
            own=False,
            assumed=not is_fitted,
        )


def _find_series(
    known: OptionalIndex, labels: OptionalIndex, n_rows: int
) -> tuple[IntArray, OptionalIndex]:
    """Find each row's series, numbered as fitted, new ones behind; and the names of all."""
    if known is None or labels is None:
        return np.zeros(n_rows, dtype=np.int64), known
    checks.check_series_named(labels)
    codes = known.get_indexer(labels)
    unseen = codes < 0
    if not unseen.any():
        return codes, known
    numbers, new = pd.factorize(labels[unseen])
    codes[unseen] = len(known) + numbers
    return codes, known.append(new).rename(known.name)
