"""One unit in which the series of a panel are comparable: how much they change.

A series that trends has a deviation of up to 170 times its changes: in deviations such series, or a
typing error, would hold most of all sums (docs/laboratory/panels.md).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from skinformer.classical.periods import find_period
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table, fill_forward
from skinformer.timeline.windows import origins_between

#: Changes beyond twice this quantile of a series' own are typing errors, or as rare.
_QUANTILE = 0.95
#: Changes over a season that tell more than those from row to row.
_ENOUGH = 4


def comparable(scaler: Scaler, table: Table, split: IntArray | None) -> Scaler:
    """Return the targets of a panel's series units in which they change alike.

    scaler: of deviations.
    split: the row at which each series' validation split begins; its rows are left out.

    A series' scale is its mean absolute change over a season, where the panel has one, else from
    row to row; times one factor for all, so that the median series has its deviation. The same
    scaler for one series: its columns are not compared.
    """
    start, stop = table.first_row[:-1], table.first_row[1:] if split is None else split
    if len(start) < 2:
        return scaler
    rows = origins_between(start, stop - 1)
    first_row = np.concatenate([[0], np.cumsum(stop - start)])
    scale = scaler.scale.copy()
    for j in range(table.n_targets):
        column = scaler.forward(table.columns[j], table.series, j).astype(np.float64)
        season = _season(column[rows], first_row, likely_seasons(table.clock))
        changes = _changes(column, start, stop, season)
        usable = changes > 1e-9 * scale[:, j]
        if usable.any():
            factor = np.median(scale[usable, j] / changes[usable])
            scale[usable, j] = factor * changes[usable]
    return replace(scaler, scale=scale)


def _season(column: Float64Array, first_row: IntArray, likely: tuple[int, ...]) -> int:
    values = column[:, None].copy()
    fill_forward(values, first_row)
    return find_period(values[:, 0], first_row, likely)


def _changes(column: Float64Array, start: IntArray, stop: IntArray, season: int) -> Float64Array:
    """Return mean absolute changes over a season; of series that are too short, from row to row."""
    change, count = _lagged(column, start, stop, 1)
    if season > 1:
        seasonal, n_seasonal = _lagged(column, start, stop, season)
        known = (n_seasonal >= _ENOUGH) & (seasonal > 0) & (change > 0)
        ratio = np.median(seasonal[known] / change[known]) if known.any() else 1.0
        change = np.where(n_seasonal >= _ENOUGH, seasonal, ratio * change)
    return np.where(count > 0, change, 0.0)


def _lagged(
    column: Float64Array, start: IntArray, stop: IntArray, lag: int
) -> tuple[Float64Array, npt.NDArray[np.int64]]:
    """Return mean absolute changes over so many rows, and their number.

    Those beyond twice their 95th percentile are cut there, if that is above 0.
    """
    rows = origins_between(start + lag, stop - 1)
    owner = np.repeat(np.arange(len(start)), np.maximum(stop - start - lag, 0))
    change = np.abs(column[rows] - column[rows - lag])
    known = ~np.isnan(change)
    change, owner = change[known], owner[known]
    change = change[np.lexsort((change, owner))]
    count = np.bincount(owner, minlength=len(start))
    end = np.cumsum(count)
    place = end - count + np.ceil(_QUANTILE * count).astype(np.int64) - 1
    most = np.zeros(len(start))
    most[count > 0] = 2 * change[place[count > 0]]
    most = np.where(most > 0, most, np.inf)
    total = np.bincount(owner, np.minimum(change, most[owner]), minlength=len(start))
    return total / np.maximum(count, 1), count
