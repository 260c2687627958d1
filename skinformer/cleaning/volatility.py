"""One unit in which the series of a panel are comparable: how much they change.

A series that trends has a deviation of up to 170 times its changes: in deviations such series, or a
typing error, would hold most of all sums (notes/panels.md).
"""

from dataclasses import replace

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.periods import find_period
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table, fill_forward


def rescale_by_volatility(
    scaler: Scaler,
    table: Table,
    split: IntArray | None,
) -> Scaler:
    """Scale the targets of a panel's series so that they change alike.

    scaler: of deviations.
    split: the row at which each series' validation split begins; its rows are left out.

    A series' scale is its mean absolute change over a season, where the panel has one, else from
    row to row; times one factor for all, so that the median series has its deviation. The same
    scaler for one series: its columns are not compared.
    """
    start = table.first_row[:-1]
    stop = table.first_row[1:] if split is None else split
    if len(start) < 2:
        return scaler
    seasons = likely_seasons(table.clock)
    scale = scaler.scale.copy()
    for j in range(table.n_targets):
        column = scaler.forward(table.columns[j], table.series, j)
        column = column.astype(np.float64)
        parts = [column[first:last] for first, last in zip(start, stop, strict=True)]
        changes = _volatility(parts, seasons)
        usable = changes > 1e-9 * scale[:, j]
        if usable.any():
            changes = changes[usable]
            factor = np.median(scale[usable, j] / changes)
            scale[usable, j] = factor * changes
    return replace(scaler, scale=scale)


def _volatility(
    parts: list[Float64Array],
    seasons: tuple[int, ...],
) -> Float64Array:
    """Compute mean absolute changes over a season; of series that are too short, by those of rows.

    seasons: that the panel may have.
    """
    first_row = np.cumsum([0, *map(len, parts)])
    filled = np.concatenate(parts)[:, None]
    fill_forward(filled, first_row)
    season = find_period(filled[:, 0], first_row, seasons)
    by_row, _ = _mean_changes(parts, 1)
    if season < 2:
        return by_row
    seasonal, n_changes = _mean_changes(parts, season)
    enough = n_changes >= 4
    both = enough & (seasonal > 0) & (by_row > 0)
    ratio = 1.0
    if both.any():
        ratio = np.median(seasonal[both] / by_row[both])
    return np.where(enough, seasonal, ratio * by_row)


def _mean_changes(
    parts: list[Float64Array], lag: int
) -> tuple[Float64Array, Float64Array]:
    """Compute the mean change of series over so many rows, and the number of changes.

    Those beyond twice the 95th percentile are cut there, as typing errors.
    """
    mean = np.zeros(len(parts))
    n_changes = np.zeros(len(parts))
    for i, values in enumerate(parts):
        changes = np.abs(values[lag:] - values[:-lag])
        changes = changes[~np.isnan(changes)]
        n_changes[i] = len(changes)
        if len(changes):
            limit = 2 * np.quantile(changes, 0.95, method="inverted_cdf")
            # None where nearly all are 0.
            mean[i] = np.minimum(changes, limit or np.inf).mean()
    return mean, n_changes
