"""Scales in which the series of a panel are comparable, of those with few rows, too.

A series that trends has a deviation of up to 170 times its changes: in deviations such series, or a
typing error, would hold most of all sums (notes/panels.md). So series are scaled by how much they
change.

A deviation of eight rows says little: a price that stood still in them has none, and a promotion
ahead would be measured by the price itself. Series of few rows have the scales of longer ones.
"""

from dataclasses import replace

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.periods import find_period
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Table, fill_forward


def comparable_scales(
    scaler: Scaler, table: Table, split: IntArray | None, window_len: int
) -> Scaler:
    """Return a scaler in whose units the series of a panel are comparable.

    scaler: means and deviations of each series.
    split: the row at which each series' validation split begins; its rows are left out.
    window_len: rows of a window with its forecast.
    """
    scaler = rescale_by_volatility(scaler, table, split)
    return lend_scales(scaler, table, split, window_len)


def rescale_by_volatility(
    scaler: Scaler, table: Table, split: IntArray | None
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


def _volatility(parts: list[Float64Array], seasons: tuple[int, ...]) -> Float64Array:
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


def lend_scales(
    scaler: Scaler, table: Table, split: IntArray | None, window_len: int
) -> Scaler:
    """
    Lend series that do not hold a window the scales of those that do.

    Parameters
    ----------
    scaler : Scaler
        Means and scales of each series by its own rows.
    table : Table
        The rows.
    split : ndarray of shape (n_series,) or None
        The row at which each series' validation split begins; its rows are left out.
    window_len : int
        Rows of a window with its forecast.

    Returns
    -------
    Scaler
        A series' own scale counts as a logarithm, by the square of its share of a window. The same
        scaler where no series holds a window, or all do.
    """
    stop = table.first_row[1:] if split is None else split
    scale = scaler.scale.copy()
    changing = set(range(len(table.columns))) - set(table.static_columns())
    for j in sorted(changing):
        n_rows = _known_rows(table.columns[j], table.first_row[:-1], stop)
        own_share = np.clip((n_rows - 1) / (window_len - 1), 0.0, 1.0) ** 2
        is_long = n_rows >= window_len
        logs = scaler.takes_logs(j)
        for kind in (logs, ~logs):
            long = kind & is_long
            short = kind & ~is_long
            if short.any() and long.any():
                usual = _usual_scale(scaler.mean[:, j], scale[:, j], long)
                lent = scale[:, j] ** own_share * usual ** (1 - own_share)
                scale[short, j] = lent[short]
    return replace(scaler, scale=scale)


def _known_rows(column: AnyArray, start: IntArray, stop: IntArray) -> IntArray:
    """Count the known values of a column between some rows of each series, (n_series,)."""
    n_before = np.append(0, np.cumsum(~np.isnan(column)))
    return n_before[stop] - n_before[start]


def _usual_scale(
    mean: Float64Array, scale: Float64Array, known: BoolArray
) -> Float64Array:
    """Return the scale that known series of each one's size usually have, (n_series,).

    It goes by the size where scales of these are more alike as parts of their means.
    """
    size = np.abs(mean)
    of_known = np.log(scale[known])
    usual = np.full(len(mean), np.exp(np.median(of_known)))
    if (size[known] > 0).all():
        parts = of_known - np.log(size[known])
        if parts.std() < of_known.std():
            usual = np.where(size > 0, size * np.exp(np.median(parts)), usual)
    return usual
