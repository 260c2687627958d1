"""Lines and bands over time, with gaps where nothing was measured, and dates as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from skinformer.display.axes import figure_of
from skinformer.display.style import shade
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import is_dated, timestamps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D


def time_axis(ax: Axes, index: pd.Index, *, axis: Literal["x", "y"] = "x") -> None:
    """Label the time axis: local dates, each day with its month, the year once at the end.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> time_axis(ax, pd.date_range("2024-01-01", periods=3, tz="Asia/Tokyo"))
    >>> ax.get_xlabel()
    'time (Asia/Tokyo)'
    """
    zone = getattr(index, "tz", None)
    label = "time" if index.name is None else str(index.name)
    if zone is not None:
        label = f"{label} ({zone})"
    extent = ax.get_window_extent()
    if axis == "x":
        ruled: Axis = ax.xaxis
        length = extent.width
        ax.set_xmargin(0)
    else:
        ruled = ax.yaxis
        length = extent.height
        ax.set_ymargin(0)
    ruled.set_label_text(label)
    if is_dated(index):
        room = length * 72 / figure_of(ax).dpi
        font_size = float(ax.xaxis.label.get_fontsize())
        date_width = 5 * font_size  # with some room
        _rule_dates(ruled, zone, int(room / date_width))


def _rule_dates(ruled: Axis, zone: Any, n_dates: int) -> None:
    """Write dates at the ticks of an axis that has room for so many."""
    from matplotlib import dates

    most = min(max(n_dates, 4), 10)
    # Two units, such as days, are 48 of the smaller one, which are drawn by twelves at most.
    fewest = min((most - 1) // 2, 4)
    locator = dates.AutoDateLocator(  # type: ignore[no-untyped-call]
        tz=zone, minticks=fewest, maxticks=most
    )
    formatter = dates.ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        tz=zone,
        formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f"],
        zero_formats=["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
        offset_formats=["", "", "%Y", "%Y", "%Y-%m-%d", "%Y-%m-%d"],
    )
    ruled.set_major_locator(locator)
    ruled.set_major_formatter(formatter)


def write_time(index: pd.Index) -> str:
    """Write the first time of an index out, for a title."""
    first = index[0]
    return f"{first:%A, %d %B %Y, %H:%M}" if is_dated(index) else f"time {first}"


def break_at_gaps(index: pd.Index, values: Float64Array) -> tuple[pd.Index, Float64Array]:
    """Break lines, (n,) or (n, n_lines), by a NaN where rows are missing from ascending times."""
    # Times the usual step; more is a gap. Business days leave four over a weekend and a holiday.
    longest_step = 4
    time = timestamps(index)
    steps = np.asarray(time[1:] - time[:-1]).astype(np.int64)
    usual = np.median(steps) if len(steps) else 0
    is_gap = steps > longest_step * usual
    begins = np.flatnonzero(is_gap) + 1  # of rows after a gap
    rows = np.insert(np.arange(len(time)), begins, begins)
    return time[rows], np.insert(values, begins, np.nan, axis=0)


def draw_line(ax: Axes, line: pd.Series, **style: Any) -> Line2D:
    """Draw a line over time; a point alone, which a line does not show, is marked."""
    time, values = break_at_gaps(line.index, line.to_numpy())
    known = np.pad(~np.isnan(values), 1)
    before = known[:-2]
    after = known[2:]
    alone = known[1:-1] & ~before & ~after
    marker = "." if alone.any() else ""
    return ax.plot(time, values, marker=marker, **style)[0]


def draw_bands(ax: Axes, quantiles: pd.DataFrame, colour: str) -> list[FillBetweenPolyCollection]:
    """Fill between the lowest and the highest quantile, then between the next ones, on top.

    Quantiles, (n, n_levels), ascend by time and level; one in the middle is a line. The wider a
    band, the lighter it is; the widest comes first.

    >>> from matplotlib.figure import Figure
    >>> bounds = pd.DataFrame({0.1: [1.0, 2.0], 0.9: [3.0, 5.0]})
    >>> [band.get_label() for band in draw_bands(Figure().subplots(), bounds, "blue")]
    ['80 % of cases']
    """
    time, values = break_at_gaps(quantiles.index, quantiles.to_numpy())
    levels = [float(level) for level in quantiles.columns]
    n_bands = len(levels) // 2
    bands = []
    for i in range(n_bands):
        depth = i / n_bands
        share = levels[-1 - i] - levels[i]
        band = ax.fill_between(
            time,
            values[:, i],
            values[:, -1 - i],
            label=f"{100 * share:.3g} % of cases",
            color=shade(ax, colour, 0.2 + 0.5 * depth),
            lw=0,
            zorder=0.5 + 0.1 * depth,
        )
        bands.append(band)
    if len(levels) % 2:
        level = levels[n_bands]
        label = "median" if level == 0.5 else f"{100 * level:.3g} % lie below"
        ax.plot(time, values[:, n_bands], color=colour, lw=1, ls=":", label=label)
    return bands
