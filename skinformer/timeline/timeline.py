"""The timeline: series of consecutive steps in one standardised block of memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pandas import Index, Series

from skinformer.timeline.arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    Float64Array,
    Floats,
    IntArray,
    take_rows,
)
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import origins_between, repeat_numbers


@dataclass(frozen=True)
class Table:
    """Rows as the user gave them, validated: each has a series and a step.

    columns: raw values, ordered targets, past-only, known ahead, (n,) each; None is one not given.
    series: the series of each row, 0 … n_series - 1.
    steps: the step of each row on the clock.
    weight: weight of each truth in the loss, (n, n_targets); 0 where it is missing.
    names: names of the series of a panel, (n_series,).
    outliers: where targets are outliers: observed, but not used, (n, n_targets).
    unused: where targets of a fit are taken as missing: in closures, of incomplete periods and
    of sensors that hang, (n, n_targets).
    """

    columns: list[Any]
    n_targets: int
    series: IntArray
    steps: IntArray
    clock: Clock
    weight: Float64Array | None = None
    names: Index | None = None
    outliers: BoolArray | None = None
    unused: BoolArray | None = None

    @property
    def first_row(self) -> IntArray:
        """First row of each series, and the end; the rows must be sorted by series."""
        last_series = self.series.max(initial=-1)
        return runs(self.series, last_series + 1)

    @property
    def targets(self) -> list[Any]:
        """Columns of targets."""
        return self.columns[: self.n_targets]

    @property
    def covariates(self) -> list[Any]:
        """Columns beside the targets, those that are known up to the present alone first."""
        return self.columns[self.n_targets :]

    def no_marks(self) -> BoolArray:
        """Return marks of targets, (n, n_targets), none of them set."""
        return np.zeros((len(self.series), self.n_targets), dtype=bool)

    @property
    def has_target(self) -> BoolArray:
        """Which rows have a value of a target, (n,)."""
        has_target = np.zeros(len(self.series), dtype=bool)
        for column in self.targets:
            if column is not None:
                has_target |= ~np.isnan(column)
        return has_target

    @property
    def missing(self) -> BoolArray | None:
        """Where targets are missing, shape (n, n_targets); None where none is."""
        missing = np.column_stack([np.isnan(column) for column in self.targets])
        return missing if missing.any() else None

    def constant_columns(self) -> list[int]:
        """Find the covariates that never change within a series."""
        first_of_series = self.first_row[self.series]
        constant = []
        for j in range(self.n_targets, len(self.columns)):
            column = self.columns[j]
            if (column == column[first_of_series]).all():
                constant.append(j)
        return constant

    def static_columns(self) -> list[int]:
        """Find the covariates that are constant in each series and differ between them."""
        start = self.first_row[:-1]
        static = []
        for j in self.constant_columns():
            of_series = self.columns[j][start]
            # A column that is the same everywhere may be a measurement in a quiet time.
            if (of_series != of_series[0]).any():
                static.append(j)
        return static

    def take(self, rows: Any) -> Table:
        """Choose or reorder rows, by a slice, numbers or a mask."""
        return replace(
            self,
            columns=[take_rows(column, rows) for column in self.columns],
            series=self.series[rows],
            steps=self.steps[rows],
            weight=take_rows(self.weight, rows),
            outliers=take_rows(self.outliers, rows),
            unused=take_rows(self.unused, rows),
        )

    def with_all_steps(self, first_step: IntArray | None = None) -> Table:
        """Add the steps between the rows of each series, without truths, if there are any.

        Covariates keep their last values there. Rows are sorted by series and step.

        first_step: of each series, where there are rows to add before its own; None for none.
        """
        changes_series = np.diff(self.series) != 0
        is_first = np.append(True, changes_series)
        is_last = np.append(changes_series, True)
        # The steps at which the values of each row stand: up to the next one of its series.
        since = self.steps.copy()
        if first_step is not None:
            begins = first_step[self.series[is_first]]
            since[is_first] = np.minimum(since[is_first], begins)
        until = np.where(is_last, self.steps, np.append(since[1:] - 1, 0))
        steps = origins_between(since, until)
        if len(steps) == len(self.steps):
            return self
        row = repeat_numbers(until - since + 1)
        is_added = steps != self.steps[row]
        marks = np.repeat(is_added[:, None], self.n_targets, axis=1)
        return replace(self.take(row), steps=steps)._without(marks)

    def by_series(self, values: AnyArray) -> list[AnyArray]:
        """Split values of rows by their series; the rows must be sorted by series."""
        return np.split(values, self.first_row[1:-1])

    def without_outliers(self) -> Table:
        """Take targets that are outliers as missing."""
        return replace(self._without(self.outliers), outliers=None)

    def without_unused(self, unused: BoolArray | None) -> Table:
        """Take targets as missing, (n, n_targets), None for none, and mark them as not used."""
        return replace(self._without(unused), unused=unused)

    def without(self, places: Iterable[tuple[Any, int]]) -> Table:
        """Take targets at some rows and columns as missing, and mark them as not used, too."""
        unused = self.no_marks() if self.unused is None else self.unused.copy()
        for rows, column in places:
            unused[rows, column] = True
        return self.without_unused(unused)

    def _without(self, marks: BoolArray | None) -> Table:
        """Take marked targets as missing."""
        if marks is None:
            return self
        columns = list(self.columns)
        for j, marked in enumerate(marks.T):
            if marked.any():
                columns[j] = np.where(marked, np.nan, columns[j])
        weight = 1.0 if self.weight is None else self.weight
        return replace(self, columns=columns, weight=np.where(marks, 0.0, weight))


@dataclass(frozen=True)
class Timeline:
    """What the estimator keeps of the rows it saw: standardised, gap-free, series after series.

    values: float32, (n_rows, n_columns), ordered targets, past-only, known ahead; missing targets
    are filled causally, because context must be a number.
    weight: of each truth in the loss, (n_rows, n_targets); 0 where it is missing; None: all weigh
    1.
    first_row: series i holds rows ``first_row[i]`` … ``first_row[i + 1] - 1``, (n_series + 1,).
    first_step: the step of each series' first row, (n_series,).
    forecast_from: where earlier rows were left out, the first step of each series that can be
    forecast.
    """

    values: Float32Array
    weight: Float32Array | None
    first_row: IntArray
    first_step: IntArray
    clock: Clock
    forecast_from: IntArray | None = None

    @property
    def n_series(self) -> int:
        """Number of series."""
        return len(self.first_step)

    @property
    def series(self) -> IntArray:
        """The series of each row, shape (n_rows,)."""
        lengths = np.diff(self.first_row)
        return repeat_numbers(lengths)

    @property
    def steps(self) -> IntArray:
        """The step of each row, shape (n_rows,)."""
        last_step = self.end_step - 1
        return origins_between(self.first_step, last_step)

    def steps_of(self, rows: IntArray) -> IntArray:
        """Return the steps of some rows, without making those of all."""
        series = self.series_of(rows)
        place = rows - self.first_row[series]
        return self.first_step[series] + place

    def series_of(self, rows: IntArray) -> IntArray:
        """Return the series of some rows, without making those of all."""
        return np.searchsorted(self.first_row[1:], rows, side="right")

    def find(self, series: IntArray, steps: IntArray) -> IntArray:
        """Find the row of each step of a series; -1 where none is held, as of new series."""
        known = series < self.n_series
        owner = np.where(known, series, 0)
        place = steps - self.first_step[owner]
        length = np.diff(self.first_row)[owner]
        inside = (place >= 0) & (place < length)
        held = known & inside
        row = self.first_row[owner] + place
        return np.where(held, row, -1)

    def truths(self, rows: IntArray, scaler: Scaler, n_targets: int) -> Float64Array:
        """Return targets of rows, (n, n_targets), in their own units; NaN where none was seen."""
        series = self.series_of(rows)
        standardised = self.values[rows, :n_targets]
        y = scaler.inverse_without_smearing(standardised, series)
        if self.weight is not None:
            is_missing = self.weight[rows] == 0
            y[is_missing] = np.nan
        return y

    @property
    def end_step(self) -> IntArray:
        """The step after each series' last row, shape (n_series,)."""
        return self.first_step + np.diff(self.first_row)

    @property
    def labels(self) -> Index:
        """Labels of all steps from the earliest to the last one."""
        first = self.first_step.min()
        steps = np.arange(first, self.end_step.max())
        return self.clock.labels(steps)

    @property
    def first_truth(self) -> IntArray:
        """First row of each series with a truth, before which its mean stands; its end for none."""
        if self.weight is None:
            return self.first_row[:-1]
        n_targets = self.weight.shape[1]
        y = self.values[:, :n_targets]
        blank = (self.weight == 0) & (y == 0)
        return first_known(blank, self.first_row)

    def observed(self, n_targets: int) -> BoolArray:
        """Return which targets were observed, (n_rows, n_targets)."""
        if self.weight is not None:
            return self.weight > 0
        return np.ones((len(self.values), n_targets), dtype=bool)

    def head(self, end: IntArray) -> Timeline:
        """Keep a copy of the first rows of each series, before row ``end``, (n_series,)."""
        return self._part(self.first_row[:-1], end)

    def recent(self, n_rows: int) -> Timeline:
        """Keep a copy of at most so many last rows of each series, whose steps stay as they are."""
        stop = self.first_row[1:]
        first = np.maximum(self.first_row[:-1], stop - n_rows)
        since = self.end_step if self.forecast_from is None else self.forecast_from
        first_step = self.end_step - (stop - first)
        return self._part(first, stop, first_step=first_step, forecast_from=since)

    def of_series(self, chosen: IntArray) -> Timeline:
        """Keep a copy of some series, numbered anew."""
        return self._part(
            self.first_row[chosen],
            self.first_row[chosen + 1],
            first_step=self.first_step[chosen],
            forecast_from=take_rows(self.forecast_from, chosen),
        )

    def _part(self, first: IntArray, stop: IntArray, **changes: Any) -> Timeline:
        """Keep a copy of the rows from first to before stop of each series."""
        rows = origins_between(first, stop - 1)
        first_row = np.append(0, np.cumsum(stop - first))
        return replace(
            self,
            values=self.values[rows],
            weight=take_rows(self.weight, rows),
            first_row=first_row,
            **changes,
        )

    def appended(self, other: Timeline) -> Timeline:
        """Continue each series with the rows of another timeline, which follow directly."""
        series = np.concatenate([self.series, other.series])
        order = np.argsort(series, kind="stable")
        values = np.concatenate([self.values, other.values])
        weight = self.weight
        if weight is None:
            weight = other.weight
        if weight is not None:
            n_targets = weight.shape[1]
            weights = [self.weights(n_targets), other.weights(n_targets)]
            weight = np.concatenate(weights)[order]
        return replace(
            self,
            values=values[order],
            weight=weight,
            first_row=self.first_row + other.first_row,
        )

    def weights(self, n_targets: int) -> Float32Array:
        """Return the weight of each truth, (n_rows, n_targets)."""
        if self.weight is None:
            return np.ones((len(self.values), n_targets), dtype=np.float32)
        return self.weight


def are_consecutive(series: IntArray, steps: IntArray) -> bool:
    """Whether no series lacks a step between two of its rows, which are sorted."""
    is_next = np.diff(steps) == 1
    return bool(is_next.all() or is_next[np.diff(series) == 0].all())


def build_timeline(table: Table, scaler: Scaler, *, fill_covariates: bool) -> Timeline:
    """Standardise validated rows, in a float32 copy, and fill what is missing.

    Rows are sorted by series and step, consecutive within each series. Without ``fill_covariates``
    missing covariates stay NaN.
    """
    values = scaler.transform(table.columns, table.series)
    first_row = runs(table.series, len(scaler.mean))
    filled = values if fill_covariates else values[:, : table.n_targets]
    fill_forward(filled, first_row)
    weight = None if table.weight is None else table.weight.astype(np.float32)
    last_row = len(table.steps) - 1
    starts = np.minimum(first_row[:-1], last_row)
    first_step = table.steps[starts]
    return Timeline(values, weight, first_row, first_step, table.clock)


def runs(series: IntArray, n_series: int) -> IntArray:
    """Find where series begin in sorted rows: i holds rows ``out[i]`` … ``out[i + 1] - 1``."""
    return np.searchsorted(series, np.arange(n_series + 1))


def first_known(missing: BoolArray | None, first_row: IntArray) -> IntArray:
    """Find the first row of each series with a known target; its end where there is none.

    missing: (n_rows, n_targets); None where all are known.

    >>> first_known(np.array([[True], [False], [True], [True]]), np.array([0, 2, 4]))
    array([1, 4])
    """
    if missing is None:
        return first_row[:-1]
    is_known = ~missing.all(axis=1)
    known = np.append(np.flatnonzero(is_known), first_row[-1])
    place = np.searchsorted(known, first_row[:-1])
    return np.minimum(known[place], first_row[1:])


def fill_forward(values: Floats, first_row: IntArray) -> None:
    """Fill missing values in place by the last one before in their series, else by the mean, 0."""
    lengths = np.diff(first_row)
    series = repeat_numbers(lengths)
    has_gaps = np.isnan(values).any(axis=0)
    for j in np.flatnonzero(has_gaps):
        column = Series(values[:, j])
        filled = column.groupby(series).ffill()
        values[:, j] = filled.fillna(0)
