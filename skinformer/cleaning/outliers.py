"""Outliers among targets and covariates, in the fit and after it.

The range of each series is found once, on the training rows. Later rows are judged by it and by the
rows before them alone: whether a value is an outlier never depends on later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skinformer.cleaning.jumps import fit_jump_limits
from skinformer.cleaning.later import judge
from skinformer.cleaning.ranges import UNKNOWN, Range, find_ranges
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.seasons import likely_seasons
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
        self, table: Table, history: Timeline
    ) -> tuple[Table, OutlierBounds, list[Outlier]]:
        """Find outliers in rows after the fit, in any order.

        Return the rows, with other values in place of outliers of covariates and a mark at those of
        targets; the bounds to go by once these rows are history; and the outliers. Series that the
        fit did not see are not judged.
        """
        found = []
        columns = list(table.columns)
        recent = self.recent.copy()
        order = np.lexsort((table.steps, table.series))
        first_row = runs(table.series[order], len(recent))
        parts = np.split(order, first_row[1:])
        end_step = history.end_step
        is_continued = table.clock == history.clock
        for i, rows in enumerate(parts[:-1]):
            if not len(rows):
                continue
            end = end_step[i] if is_continued else None
            part = _append_rows(recent[i], end, table, rows)
            recent[i] = part.values[:, -recent.shape[2] :]
            found += self._clean_series(i, part, columns, table.n_targets)
        return _marked(table, columns, found), replace(self, recent=recent), found

    def _clean_series(
        self,
        i: int,
        part: _Part,
        columns: list[Any],
        n_targets: int,
    ) -> list[Outlier]:
        """Find outliers among rows of a series, and put others in place of those of covariates."""
        found = []
        season = self.season
        rows = part.rows
        steps = part.steps
        phase = part.clock % self.jump_limits.shape[2]
        for j, values in enumerate(part.values):
            usual = Range(*self.ranges[i, j])
            if np.isinf(usual.margin):
                continue
            is_target = j < n_targets
            limits = self.jump_limits[i, j, phase]
            outlying, bounds = judge(
                values,
                usual,
                limits,
                season,
                may_grow=is_target,
            )
            outliers = _list_outliers(
                rows,
                j,
                values[steps],
                outlying[steps],
                bounds[:, steps],
            )
            if outliers and not is_target:
                cleaned = _impute(values, outlying, usual, season)
                columns[j] = columns[j].astype(np.float64)
                columns[j][rows] = cleaned[steps]
            found += outliers
        return found


class _Part(NamedTuple):
    """Rows of a series behind its recent values.

    rows, steps: of the table, and their places in `values`.
    clock: (n_steps,), the steps of `values` on the clock.
    values: of all steps, (n_columns, n_steps).
    """

    rows: IntArray
    steps: IntArray
    clock: IntArray
    values: Float64Array


def _append_rows(
    recent: Float64Array,
    end: Any,
    table: Table,
    rows: IntArray,
) -> _Part:
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
    for j, column in enumerate(table.columns):
        if column is not None:
            values[j, steps] = column[rows]
    return _Part(rows, steps, clock, values)


@np.errstate(all="ignore")
def find_outliers(
    table: Table, *, targets: bool
) -> tuple[Table, OutlierBounds, list[Outlier]]:
    """Replace the outliers among the rows of a fit, and find the bounds for later ones.

    table: sorted by series and step; the same where there are none. Else with other values in their
    place, those of targets without weight: ridges leave out windows with missing values.
    targets: whether outliers are looked for among the targets, too.
    """
    found = []
    bounds = _without_bounds(table)
    columns = list(table.columns)
    for j in range(0 if targets else table.n_targets, len(columns)):
        column = columns[j].astype(np.float64)
        outliers = _fit_column(bounds, table, j, column)
        if outliers:
            columns[j] = column
            found += outliers
    if not found:
        return table, bounds, found
    marked = _marked(table, columns, found)
    weight = marked.without_outliers().weight
    return replace(marked, weight=weight, outliers=None), bounds, found


def _fit_column(
    bounds: OutlierBounds,
    table: Table,
    j: int,
    column: Float64Array,
) -> list[Outlier]:
    """Find what is usual in a column, and put other values in place of its outliers."""
    found = []
    is_target = j < table.n_targets
    n_recent = bounds.recent.shape[2]
    n_phases = bounds.jump_limits.shape[2]
    first_row = table.first_row
    parts = np.split(column, first_row[1:-1])
    for i, (usual, outlying) in enumerate(find_ranges(parts)):
        values = parts[i]
        varies = usual.low < usual.high or outlying.any()
        if np.isinf(usual.margin) or not (varies or is_target):
            continue  # a price that has not changed yet may change
        # 1. What later rows are judged by.
        bounds.ranges[i, j] = usual
        last = values[-n_recent:]
        bounds.recent[i, j, -len(last) :] = last
        if is_target and not usual.is_rare:
            rest = np.where(outlying, np.nan, values)
            first_step = table.steps[first_row[i]]
            limits = fit_jump_limits(rest, first_step, bounds.season, n_phases)
            bounds.jump_limits[i, j] = limits
        # 2. The outliers.
        rows = first_row[i] + np.arange(len(values))
        low_high = np.full((len(values), 2), usual[:2]).T
        found += _list_outliers(
            rows,
            j,
            values,
            outlying,
            low_high,
        )
        values[:] = _impute(values, outlying, usual, bounds.season)
    return found


def _list_outliers(
    rows: IntArray,
    j: int,
    values: Float64Array,
    outlying: BoolArray,
    bounds: Float64Array,
) -> list[Outlier]:
    """Return the outliers among some rows of a column.

    bounds: (2, n), the least and the greatest usual value at each row.
    """
    return [
        Outlier(
            rows[i],
            j,
            values[i],
            *bounds[:, i],
        )
        for i in np.flatnonzero(outlying)
    ]


def _without_bounds(table: Table) -> OutlierBounds:
    """Return bounds by which nothing is an outlier."""
    n_rows = np.diff(table.first_row)
    season = next(iter(likely_seasons(table.clock)), 4)
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
    usual: Range,
    season: int,
) -> Float64Array:
    """Return values with those of a season before in place of outliers.

    Of flags, and where nothing is known, the nearest usual ones.
    """
    imputed = values.copy()
    imputed[outlying] = np.clip(values[outlying], usual.low, usual.high)
    if usual.is_rare:
        return imputed
    with_before = season + np.flatnonzero(outlying[season:])
    for row in with_before.tolist():
        before = imputed[row - season]
        if not np.isnan(before):
            imputed[row] = before
    return imputed


def _marked(
    table: Table,
    columns: list[Any],
    found: list[Outlier],
) -> Table:
    """Return the table with cleaned columns, and marks at outliers of targets."""
    marks = np.zeros((len(table.series), table.n_targets), dtype=bool)
    for outlier in found:
        if outlier.column < table.n_targets:
            marks[outlier.row, outlier.column] = True
    return replace(table, columns=columns, outliers=marks if marks.any() else None)
