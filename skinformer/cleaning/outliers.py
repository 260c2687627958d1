"""Outliers among targets and covariates, in the fit and after it.

The range of each series is found once, on the training rows. Later rows are judged by it and by the
rows before them alone: whether a value is an outlier never depends on later ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from skinformer.cleaning.jumps import fit_jump_limits
from skinformer.cleaning.later import judge
from skinformer.cleaning.ranges import UNKNOWN, Range, find_ranges
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.seasons import calendar_seasons, likely_seasons, step_days
from skinformer.timeline.timeline import Table, Timeline, runs


class Outlier(NamedTuple):
    """An outlier.

    row, column: its place in the table.
    value: what stood there.
    low, high: what is usual, which it lies beyond.
    """

    row: int
    column: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OutlierBounds:
    """Bounds by which later rows are judged.

    season: rows before a value by which it is judged.
    ranges: (n_series, n_columns, 4), of the training rows, see `Range`.
    jump_limits: (n_series, n_columns, n_phases, 2), see `fit_jump_limits`.
    recent: (n_series, n_columns, n_recent), the last values of the history as they were given.
    """

    season: int
    ranges: Float64Array
    jump_limits: Float64Array
    recent: Float64Array

    def least(self, n_targets: int) -> float:
        """Return the least value of targets that never were below 0."""
        return max(0.0, self.ranges[:, :n_targets, 0].min())

    def clean(
        self, table: Table, history: Timeline, explained: BoolArray | None = None
    ) -> tuple[Table, OutlierBounds, list[Outlier]]:
        """Find outliers in rows after the fit, in any order.

        explained: (n, n_targets), where targets have a reason to lie far beyond the usual; None for
        nowhere.

        Return the rows, with other values in place of outliers of covariates and a mark at those of
        targets; the bounds to go by once these rows are history; and the outliers. Series that the
        fit did not see are not judged.
        """
        found: list[Outlier] = []
        columns = list(table.columns)
        explained = _or_nowhere(explained, table)
        recent = self.recent.copy()
        end_step = history.end_step if table.clock == history.clock else None
        for i, rows in enumerate(_rows_of_series(table, len(recent))):
            if not len(rows):
                continue
            end = None if end_step is None else end_step[i]
            part = _append_rows(recent[i], end, table, explained, rows)
            recent[i] = part.values[:, -recent.shape[2] :]
            found += self._clean_series(i, part, table, columns)
        return _marked(table, columns, found), replace(self, recent=recent), found

    def _clean_series(
        self, i: int, part: _RowsBehindRecent, table: Table, columns: list[Any]
    ) -> Iterator[Outlier]:
        """Find outliers among rows of a series, and put others in place of those of covariates."""
        clock = table.clock
        has_nights = clock.dated and step_days(clock) < 0.9
        for j, values in enumerate(part.values):
            usual = Range(*self.ranges[i, j])
            if np.isinf(usual.margin):
                continue
            limits = self.jump_limits[i, j]
            is_target = j < table.n_targets
            outlying, bounds = judge(
                values,
                usual,
                limits[part.clock % len(limits)],
                self.season,
                part.explained[j],
                may_grow=is_target,
                may_return=not has_nights,
            )
            is_outlier = outlying[part.steps]
            rows = part.rows[is_outlier]
            steps = part.steps[is_outlier]
            yield from map(Outlier, rows, repeat(j), values[steps], *bounds[:, steps])
            if rows.size and not is_target:
                columns[j] = columns[j].astype(np.float64)
                columns[j][rows] = _impute(values, outlying, usual, self.season)[steps]


class _RowsBehindRecent(NamedTuple):
    """Rows of a series behind its recent values.

    rows, steps: of the table, and their places in `values`.
    clock: (n_steps,), the steps of `values` on the clock.
    values: of all steps, (n_columns, n_steps).
    explained: which of these have a reason to lie far beyond the usual.
    """

    rows: IntArray
    steps: IntArray
    clock: IntArray
    values: Float64Array
    explained: BoolArray


def _rows_of_series(table: Table, n_series: int) -> list[IntArray]:
    """Return the rows of each fitted series, ordered by their steps."""
    order = np.lexsort((table.steps, table.series))
    first_row = runs(table.series[order], n_series)
    return np.split(order, first_row[1:])[:-1]


def _append_rows(
    recent: Float64Array, end: Any, table: Table, explained: BoolArray, rows: IntArray
) -> _RowsBehindRecent:
    """Put rows of a series behind its recent values.

    end: the step after the recent values; None where these have steps of their own.
    """
    n_columns, n_recent = recent.shape
    steps = table.steps[rows]
    if end is None:
        end = steps[0]
        recent = np.full_like(recent, np.nan)
    first_step = min(steps[0], end) - n_recent
    clock = np.arange(first_step, max(steps[-1] + 1, end))
    values = np.full((n_columns, len(clock)), np.nan)
    place = end - first_step
    values[:, place - n_recent : place] = recent
    steps = steps - first_step
    has_reason = np.zeros(values.shape, dtype=bool)
    has_reason[:, steps] = explained[rows].T
    for j, column in enumerate(table.columns):
        if column is not None:
            values[j, steps] = column[rows]
    return _RowsBehindRecent(rows, steps, clock, values, has_reason)


@np.errstate(all="ignore")
def find_outliers(
    table: Table, explained: BoolArray | None = None, *, targets: bool
) -> tuple[Table, OutlierBounds, list[Outlier]]:
    """Replace the outliers among the rows of a fit, and find the bounds for later ones.

    table: sorted by series and step; the same where there are none. Else with other values in their
    place, those of targets without weight: ridges leave out windows with missing values.
    explained: (n, n_targets), where targets have a reason to lie far beyond the usual; None for
    nowhere.
    targets: whether outliers are looked for among the targets, too.
    """
    found: list[Outlier] = []
    explained = _or_nowhere(explained, table)
    bounds = _without_bounds(table)
    columns = list(table.columns)
    for j in range(0 if targets else table.n_targets, len(columns)):
        column = columns[j].astype(np.float64)
        outlying = _fit_column(bounds, table, j, column, explained[:, j])
        if outlying.any():
            rows = np.flatnonzero(outlying)
            series = table.series[rows]
            usual = bounds.ranges[series, j].T
            found += map(Outlier, rows, repeat(j), column[rows], *usual[:2])
            first_row = table.first_row[series]
            columns[j] = _impute(column, outlying, usual, bounds.season, first_row)
    if found:
        weight = _marked(table, columns, found).without_outliers().weight
        table = replace(table, columns=columns, weight=weight)
    return table, bounds, found


def _or_nowhere(explained: BoolArray | None, table: Table) -> BoolArray:
    """Return marks of all columns, (n, n_columns), of which those of targets alone may be set."""
    marks = np.zeros((len(table.series), len(table.columns)), dtype=bool)
    if explained is not None:
        marks[:, : table.n_targets] = explained
    return marks


def _fit_column(
    bounds: OutlierBounds,
    table: Table,
    j: int,
    column: Float64Array,
    explained: BoolArray,
) -> BoolArray:
    """Set the bounds of a column; return where its outliers are."""
    is_target = j < table.n_targets
    parts = table.by_series(column)
    year = max(calendar_seasons(table.clock, least_days=365), default=0)
    ranges = find_ranges(parts, table.by_series(explained), year)
    for i, (usual, outlying) in enumerate(ranges):
        varies = usual.low < usual.high or outlying.any()
        if np.isinf(usual.margin) or not (varies or is_target):
            continue  # a price that has not changed yet may change
        bounds.ranges[i, j] = usual
        last = parts[i][-bounds.recent.shape[2] :]
        bounds.recent[i, j, -len(last) :] = last
        if is_target and not usual.is_rare:
            bounds.jump_limits[i, j] = fit_jump_limits(
                np.where(outlying, np.nan, parts[i]),
                table.steps[table.first_row[i]],
                bounds.season,
                bounds.jump_limits.shape[2],
            )
    return np.concatenate([outlying for _, outlying in ranges])


def _without_bounds(table: Table) -> OutlierBounds:
    """Return bounds by which nothing is an outlier."""
    n_rows = np.diff(table.first_row)
    season = next(iter(likely_seasons(table.clock)), 4)
    # What is longer than all series has no value before: an hour of microseconds fills no memory.
    season = min(season, int(n_rows.max()))
    # Series of fewer seasons have too few jumps at each phase.
    n_phases = season if n_rows.min() >= 40 * season else 1
    shape = (len(n_rows), len(table.columns))
    n_recent = 3 * season + 6  # what `judge` looks back
    return OutlierBounds(
        season,
        ranges=np.tile(UNKNOWN, (*shape, 1)),
        jump_limits=np.full((*shape, n_phases, 2), np.inf),
        recent=np.full((*shape, n_recent), np.nan),
    )


def _impute(
    values: Float64Array,
    outlying: BoolArray,
    ranges: Any,
    season: int,
    first_row: Any = 0,
) -> Float64Array:
    """Return values with those of a season before in place of outliers.

    Of flags, and where nothing is known, the nearest usual ones.

    ranges: see `Range`, of each outlier or of all.
    first_row: (n_outliers,), where the series of each begins.
    """
    outliers = np.flatnonzero(outlying)
    low, high, _, is_rare = ranges
    imputed = values.copy()
    imputed[outliers] = np.clip(values[outliers], low, high)
    has_before = (outliers - season >= first_row) & (is_rare == 0)
    for place in outliers[has_before]:
        before = imputed[place - season]
        if not np.isnan(before):
            imputed[place] = before
    return imputed


def _marked(table: Table, columns: list[Any], found: list[Outlier]) -> Table:
    """Return the table with cleaned columns, and marks at outliers of targets."""
    marks = table.no_marks()
    for outlier in found:
        if outlier.column < table.n_targets:
            marks[outlier.row, outlier.column] = True
    return replace(table, columns=columns, outliers=marks if marks.any() else None)
