"""Outliers among targets and covariates, in the fit and after it.

The range of each series is found once, on the training rows. Later rows are judged by it and by the
rows before them alone: whether a value is an outlier never depends on later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skinformer.cleaning.jumps import fit_jump_limits
from skinformer.cleaning.later import judge, n_rows_before
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
    """By what outliers are told in later rows.

    season: rows before a value by which it is judged.
    ranges: (n_series, n_columns, 4), of the training rows, see `Range`.
    jump_limits: (n_series, n_columns, n_phases, 2), see `fit_jump_limits`.
    recent: (n_series, n_columns, n_rows), the last values of the history as they were given.
    """

    season: int
    ranges: Float64Array
    jump_limits: Float64Array
    recent: Float64Array

    def least(self, n_targets: int) -> float:
        """Return the least value of targets that never were below 0."""
        return max(0.0, float(self.ranges[:, :n_targets, 0].min()))

    def keep_recent(self, place: tuple[int, int], values: Float64Array) -> None:
        """Keep the last values of a series and column."""
        recent = self.recent[place]
        n = min(len(recent), len(values))
        recent[-n:] = values[-n:]

    def clean(
        self, table: Table, history: Timeline
    ) -> tuple[Table, OutlierBounds, list[Outlier]]:
        """Find outliers in rows after the fit, in any order.

        Return the rows, with other values in place of outliers of covariates and a mark at those of
        targets; the bounds to go by once these rows are history; and the outliers. Series that the
        fit did not see are not judged.
        """
        found: list[Outlier] = []
        recent = self.recent.copy()
        columns = list(table.columns)
        order = np.lexsort((table.steps, table.series))
        first_row = runs(table.series[order], len(recent))
        for i in np.flatnonzero(np.diff(first_row)).tolist():
            rows = order[first_row[i] : first_row[i + 1]]
            end = int(history.end_step[i]) if table.clock == history.clock else None
            first, values = _continued(recent[i], end, table, rows)
            recent[i] = values[:, -recent.shape[2] :]
            for j in np.flatnonzero(np.isfinite(self.ranges[i, :, 2])).tolist():
                found += self._clean_column(
                    (i, j), first, values[j], rows, table, columns
                )
        return _marked(table, columns, found), replace(self, recent=recent), found

    def _clean_column(
        self,
        place: tuple[int, int],
        first: int,
        values: Float64Array,
        rows: IntArray,
        table: Table,
        columns: list[Any],
    ) -> list[Outlier]:
        """Find outliers among rows of a column, and put others in place of those of covariates.

        place: series and column.
        values: of all steps from `first` on.
        """
        j = place[1]
        usual = Range(*self.ranges[place])
        phases = (first + np.arange(len(values))) % self.jump_limits.shape[2]
        is_target = j < table.n_targets
        limits = self.jump_limits[place][phases]
        outlying, low, high = judge(
            values, usual, limits, self.season, may_grow=is_target
        )
        steps = table.steps[rows] - first
        found = [
            Outlier(row, j, values[at], low[at], high[at])
            for row, at in zip(rows.tolist(), steps.tolist(), strict=True)
            if outlying[at]
        ]
        if found and not is_target:
            cleaned = _cleaned(values, outlying, usual, self.season)
            columns[j] = columns[j].astype(np.float64)
            columns[j][rows] = cleaned[steps]
        return found


def _continued(
    recent: Float64Array, end: int | None, table: Table, rows: IntArray
) -> tuple[int, Float64Array]:
    """Put rows of a series behind its recent values; return the first step, and all by steps.

    end: the step after the recent values; None where these have steps of their own.
    """
    steps = table.steps[rows]
    if end is None:
        end = int(steps[0])
        recent = np.full_like(recent, np.nan)
    n_columns, n_recent = recent.shape
    first = min(int(steps[0]), end) - n_recent
    values = np.full((n_columns, max(int(steps[-1]) + 1, end) - first), np.nan)
    values[:, end - n_recent - first : end - first] = recent
    for j, column in enumerate(table.columns):
        if column is not None:
            values[j, steps - first] = column[rows]
    return first, values


@np.errstate(all="ignore")
def find_outliers(
    table: Table, *, targets: bool
) -> tuple[Table, OutlierBounds, list[Outlier]]:
    """Replace the outliers among the rows of a fit, and find the bounds for later ones.

    table: sorted by series and step; the same where there are none. Else with other values in their
    place, those of targets without weight: ridges leave out windows with missing values.
    targets: whether outliers are looked for among the targets, too.
    """
    found: list[Outlier] = []
    bounds = _unlimited(table)
    columns = list(table.columns)
    for j in range(0 if targets else table.n_targets, len(columns)):
        column = columns[j].astype(np.float64)
        outliers = _fit_column(bounds, table, j, column)
        if outliers:
            columns[j] = column
            found += outliers
    if found:
        table = _marked(table, columns, found)
        table = replace(table, weight=table.without_outliers().weight, outliers=None)
    return table, bounds, found


def _fit_column(
    bounds: OutlierBounds, table: Table, j: int, column: Float64Array
) -> list[Outlier]:
    """Learn what is usual in a column; find its outliers, and put other values in their place."""
    found = []
    is_target = j < table.n_targets
    parts = np.split(column, table.first_row[1:-1])
    for i, (usual, outlying) in enumerate(find_ranges(parts)):
        values = parts[i]
        start = int(table.first_row[i])
        varies = usual.low < usual.high or outlying.any()
        if np.isinf(usual.reach) or not (varies or is_target):
            continue  # a price that has not changed yet may change
        bounds.ranges[i, j] = usual
        bounds.keep_recent((i, j), values)
        if is_target and not usual.rare:
            rest = np.where(outlying, np.nan, values)
            bounds.jump_limits[i, j] = fit_jump_limits(
                rest,
                int(table.steps[start]),
                bounds.season,
                n_phases=bounds.jump_limits.shape[2],
            )
        found += [
            Outlier(start + at, j, values[at], usual.low, usual.high)
            for at in np.flatnonzero(outlying).tolist()
        ]
        values[:] = _cleaned(values, outlying, usual, bounds.season)
    return found


def _unlimited(table: Table) -> OutlierBounds:
    """Return bounds by which nothing is an outlier."""
    n_rows = np.diff(table.first_row)
    season = next(iter(likely_seasons(table.clock)), 4)
    # Series of fewer seasons have too few jumps at each phase.
    n_phases = season if n_rows.min() >= 40 * season else 1
    shape = (len(n_rows), len(table.columns))
    return OutlierBounds(
        season,
        ranges=np.tile(UNKNOWN, (*shape, 1)),
        jump_limits=np.full((*shape, n_phases, 2), np.inf),
        recent=np.full((*shape, n_rows_before(season)), np.nan),
    )


def _cleaned(
    values: Float64Array, outlying: BoolArray, usual: Range, season: int
) -> Float64Array:
    """Return values with those of a season before in place of outliers.

    Of flags, and where nothing is known, the nearest usual ones.
    """
    found = values.copy()
    nearest = np.clip(values, usual.low, usual.high)
    for at in np.flatnonzero(outlying).tolist():
        before = found[at - season] if at >= season else np.nan
        found[at] = nearest[at] if usual.rare or np.isnan(before) else before
    return found


def _marked(table: Table, columns: list[Any], found: list[Outlier]) -> Table:
    """Return the table with cleaned columns, and marks at outliers of targets."""
    marks = np.zeros((len(table.series), len(columns)), dtype=bool)
    for outlier in found:
        marks[outlier.row, outlier.column] = True
    marks = marks[:, : table.n_targets]
    return replace(table, columns=columns, outliers=marks if marks.any() else None)
