"""Lines and bands over time, with gaps where nothing was measured, and dates as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame, Index, Series

from skinformer.display.axes import with_unit
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import is_dated, timestamps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D


def rule_times(axis: Axis, index: Index) -> None:
    """Label an axis of time: local dates, each day with its month, the year in the axis' label.

    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> axis = Figure().subplots().xaxis
    >>> rule_times(axis, pd.date_range("2024-01-01", periods=3, tz="Asia/Tokyo"))
    >>> axis.get_label_text()
    'time (Asia/Tokyo)'
    """
    from matplotlib.dates import AutoDateLocator

    from skinformer.display.dates import DateFormatter

    zone = getattr(index, "tz", None)
    label = "time" if index.name is None else index.name
    axis.set_label_text(with_unit(label, zone))
    if not is_dated(index):
        return
    most = min(max(axis.get_tick_space() * 3 // 5, 4), 10)
    # Two units, such as days, are 48 of the smaller one, which are drawn by twelves at most.
    fewest = min((most - 1) // 2, 4)
    locator = AutoDateLocator(  # type: ignore[no-untyped-call]
        tz=zone, minticks=fewest, maxticks=most
    )
    axis.set_major_locator(locator)
    axis.set_major_formatter(DateFormatter(axis, locator, zone))


def _break_at_gaps(table: Series | DataFrame) -> tuple[Index, Float64Array]:
    """Return times and values, with a NaN where rows are missing from ascending times."""
    # Times the usual step; more is a gap. Business days leave four over a weekend and a holiday.
    longest_step = 4
    time = timestamps(table.index)
    steps = time.to_series().diff()
    usual = steps.dropna().median()  # of nothing pandas 2 warns
    is_after_gap = steps > longest_step * usual
    begins = np.flatnonzero(is_after_gap)
    values = np.insert(table.to_numpy(), begins, np.nan, axis=0)
    rows = np.insert(np.arange(len(time)), begins, begins)
    return time[rows], values


def draw_line(ax: Axes, line: Series, **style: Any) -> Line2D:
    """Draw a line over time; a single point, which a line does not show, is marked."""
    marker = "." if len(line) == 1 else ""
    return ax.plot(*_break_at_gaps(line), marker=marker, **style)[0]


def draw_bands(
    ax: Axes, quantiles: DataFrame, colour: str
) -> list[FillBetweenPolyCollection]:
    """Fill between the lowest and the highest quantile, then between the next ones, on top.

    Quantiles, (n, n_levels), ascend by time and level; one in the middle is a line.

    >>> from matplotlib.figure import Figure
    >>> bounds = DataFrame({0.1: [1.0, 2.0], 0.9: [3.0, 5.0]})
    >>> [band.get_label() for band in draw_bands(Figure().subplots(), bounds, "blue")]
    ['80% prediction interval']
    """
    time, values = _break_at_gaps(quantiles)
    levels = quantiles.columns.to_numpy()
    middle = len(levels) // 2
    bands = []
    for i in range(middle):
        share = levels[-1 - i] - levels[i]
        band = ax.fill_between(
            time,
            values[:, i],
            values[:, -1 - i],
            label=f"{100 * share:.3g}% prediction interval",
            color=colour,
            alpha=0.2 + 0.4 * i / middle,
            lw=0,
        )
        bands.append(band)
    if len(levels) % 2:
        level = levels[middle]
        label = f"{level:.3g} quantile"
        if level == 0.5:
            label = "median"
        ax.plot(time, values[:, middle], color=colour, lw=1, ls=":", label=label)
    return bands
