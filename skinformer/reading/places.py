"""Where rows stand: their series, their order, and their steps on the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import OFF_GRID, Clock, RowClock, clock_for, infer_step
from skinformer.timeline.digest import content_digest
from skinformer.validation import index as checks
from skinformer.validation.rows import check_panel, check_same_kind


@dataclass(frozen=True)
class GroupedRows:
    """Rows in time order, series after series.

    order: brings rows as they came into this order.
    series: the number of each row's series, ascending.
    names: names of the series of a panel.
    time: labels of time, ascending within each series.
    """

    order: Any
    series: IntArray
    names: pd.Index | None
    time: pd.Index | None

    def count_steps(self, freq: Any) -> tuple[Clock, IntArray]:
        """Make the clock, of this step if the user named one, and count each row's steps by it.

        Steps count from the earliest label. It is a ValueError if the rows do not lie on one grid
        without gaps.
        """
        time = self.time
        series = self.series
        if time is None:
            return RowClock(), np.arange(len(series))
        longest = np.bincount(series).argmax()
        begin, end = np.searchsorted(series, [longest, longest + 1])
        time_of_longest = time[begin:end]
        checks.check_freq(time_of_longest, freq)
        step = infer_step(time_of_longest, freq)
        if step is None:
            checks.raise_irregular(time_of_longest, panel=self.names is not None)
        clock = clock_for(time_of_longest, step).starting_at(time.min())
        steps = clock.steps(time)
        checks.check_on_grid(
            steps, time, clock, series, self.names, named=freq is not None
        )
        checks.check_no_missing_steps(time, series, steps, clock, self.names)
        return clock, steps

    def places(self, X: Any, clock: Clock, steps: IntArray) -> RowPlaces:
        """Return what later rows are placed by, without the rows themselves."""
        digest = content_digest(X) if self.time is None else b""
        return RowPlaces(clock, self.names, int(steps[-1]) + 1, digest)


def group_rows(
    time: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> GroupedRows:
    """Bring training rows of each series together, without a copy where they are sorted already.

    It is a ValueError if rows of a series carry the same label or go back in time.
    """
    series, names = _number_series(labels, n_rows, by_name=True)
    if time is not None:
        checks.check_distinct(time, labels)
    order: Any = slice(None)
    if not bool((np.diff(series) >= 0).all()):
        order = np.argsort(series, kind="stable")
    series = series[order]
    if time is not None:
        time = time[order]
        checks.check_order(time, series)
    return GroupedRows(order, series, names, time)


def sort_rows(
    time: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> GroupedRows:
    """Sort rows that may be in any order; without labels of time each series keeps its order."""
    series, names = _number_series(labels, n_rows)
    by_time = np.arange(n_rows) if time is None else np.argsort(time, kind="stable")
    order = by_time[np.argsort(series[by_time], kind="stable")]
    return GroupedRows(
        order, series[order], names, None if time is None else time[order]
    )


def _number_series(
    labels: pd.Index | None, n_rows: int, *, by_name: bool = False
) -> tuple[IntArray, pd.Index | None]:
    """
    Count series in order of appearance or of their names; no labels means one series.

    By names, so that what a fit draws and sums does not depend on which series came first.
    """
    if labels is None:
        return np.zeros(n_rows, dtype=np.int64), None
    checks.check_series_named(labels)
    codes, keys = pd.factorize(labels)
    if by_name:
        order = np.argsort(np.asarray(keys))
        codes = np.argsort(order)[codes]
        keys = keys[order]
    return codes.astype(np.int64), pd.Index(keys, name=labels.name)


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
    names: pd.Index | None
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
    names: pd.Index | None
    end: int
    digest: bytes

    @property
    def n_series(self) -> int:
        """Number of series."""
        return 1 if self.names is None else len(self.names)

    def find(
        self, X: Any, time: pd.Index | None, labels: pd.Index | None, n_rows: int
    ) -> FoundRows:
        """Return series and step of each row, in X's order.

        An array follows the training rows, unless it is the training array itself. It is a
        TypeError or a ValueError if the labels are of another kind than the fitted, or lie on no
        grid of their step.
        """
        check_panel(self.names is not None, labels is not None)
        if time is None or isinstance(self.clock, RowClock):
            return self._follow(X, n_rows, labelled=time is not None)
        check_same_kind(time, self.clock)
        checks.check_distinct(time, labels)
        series, names = _find_series(self.names, labels, n_rows)
        clock = self.clock
        steps = clock.steps(time)
        own = bool((steps == OFF_GRID).any())
        if own:
            clock = clock.starting_at(time.min())
            steps = clock.steps(time)
            checks.check_on_own_grid(steps, time, clock)
        return FoundRows(series, steps, names, clock, own=own, assumed=False)

    def _follow(self, X: Any, n_rows: int, *, labelled: bool) -> FoundRows:
        """Place rows without labels behind the training rows, or on them if they are these."""
        is_fitted = (
            not labelled and self.digest != b"" and content_digest(X) == self.digest
        )
        first_step = 0 if is_fitted else self.end
        steps = np.arange(n_rows) + first_step
        series = np.zeros(n_rows, dtype=np.int64)
        return FoundRows(
            series, steps, self.names, self.clock, own=False, assumed=not is_fitted
        )


def _find_series(
    known: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> tuple[IntArray, pd.Index | None]:
    """Find each row's series, numbered as fitted, new ones behind; and the names of all."""
    if known is None or labels is None:
        return np.zeros(n_rows, dtype=np.int64), known
    checks.check_series_named(labels)
    codes = known.get_indexer(labels).astype(np.int64)
    unseen = codes < 0
    numbers, new = pd.factorize(labels[unseen])
    codes[unseen] = len(known) + numbers
    if not len(new):
        return codes, known
    return codes, known.append(pd.Index(new)).rename(known.name)
