"""Colours that follow the style of the axes, marks, and legends that cover nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skinformer.display.axes import LETTER, figure_of, label_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


def mark(i: int) -> str:
    """Return the marker of a line by its place, so that lines differ on paper, too.

    Eight neighbours have different ones.
    """
    markers = "os^DvPX*"
    return markers[i % len(markers)]


def ink(ax: Axes) -> Any:
    """Return the colour of the axes' texts: dark on light styles, light on dark ones."""
    return ax.xaxis.label.get_color()


def shade(ax: Axes, colour: Any, share: float) -> tuple[float, ...]:
    """Mix a colour with the ground of the axes, so that what lies upon another does not add up.

    >>> from matplotlib.figure import Figure
    >>> shade(Figure().subplots(), "black", 0.25)
    (0.75, 0.75, 0.75)
    """
    from matplotlib.colors import to_rgb, to_rgba

    ground = to_rgba(ax.get_facecolor())
    is_transparent = not ground[3]
    if is_transparent:
        ground = to_rgba(figure_of(ax).get_facecolor())
    own = np.array(to_rgb(colour))
    mixed = share * own + (1 - share) * np.array(ground[:3])
    return tuple(mixed.tolist())


def is_dark(ax: Axes) -> bool:
    """Return whether the ground of the axes is dark."""
    return sum(shade(ax, "black", 0.0)) < 1.5


def colour_bar(mesh: Any, axes: Sequence[Axes], label: str, extend: str) -> None:
    """Explain colours beside axes, in the ink of the first."""
    first = axes[0]
    colour = ink(first)
    bar = figure_of(first).colorbar(mesh, ax=list(axes), pad=0.01, extend=extend)
    label_side(bar.ax, label)
    bar.ax.tick_params(colors=colour)
    bar.ax.yaxis.label.set_color(colour)


def legend_above(ax: Axes, *others: Axes, **options: Any) -> None:
    """Explain the lines of axes and of others, such as a twin, above them: inside it covers a peak.

    Many lines of narrow axes are explained beside them.
    """
    handles: list[Any] = []
    labels: list[str] = []
    for each in (ax, *others):
        own_handles, own_labels = each.get_legend_handles_labels()
        handles += own_handles
        labels += own_labels
    n_columns = _legend_columns(ax, labels)
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": n_columns}
    if n_columns == 1 and len(labels) > 3:  # more rows than there is room for above
        place = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    ax.legend(handles, labels, frameon=False, labelcolor=ink(ax), **place, **options)


def _legend_columns(ax: Axes, labels: list[str]) -> int:
    """Return the most columns, filled one after the other, for which axes have room."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    widths = [size * (LETTER * len(label) + 5) for label in labels]  # with its line, and a space
    room = ax.get_window_extent().width * 72 / figure_of(ax).dpi
    n_columns = max(len(labels), 1)
    while n_columns > 1:
        columns = np.array_split(widths, n_columns)
        if sum(map(max, columns)) <= room:
            break
        n_columns -= 1
    return n_columns


def show_percent(axis: Axis) -> None:
    """Show shares in percent.

    >>> from matplotlib.figure import Figure
    >>> axis = Figure().subplots().xaxis
    >>> show_percent(axis)
    >>> axis.get_major_formatter()(0.5)
    '50 %'
    """
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, 0, symbol=" %"))
