"""Lines over groups: steps ahead, hours of the day, series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skinformer.display.axes import label_side
from skinformer.display.style import ink, legend_above, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_WORDS = {
    "ahead": "steps ahead",
    "hour": "hour of the day",
    "day_of_week": "day of the week",
    "dayofweek": "day of the week",
    "weekday": "day of the week",
    "None": "group",
}
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
#: More points than that are drawn without markers.
_MARKED = 50


def group_label(name: Any) -> str:
    """Give the label of an axis for groups that `summary` calls by this name.

    >>> group_label("ahead")
    'steps ahead'
    """
    return _WORDS.get(str(name), str(name))


def draw_groups(
    ax: Axes, table: pd.DataFrame, label: str, groups: str, *, zero: bool = False
) -> list[Line2D]:
    """Draw a line for each column: over numbers, or, as points, below one another.

    A single column needs no legend. ``zero`` says whether the axis begins at zero, or shows it.

    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"mae": [1.0, 3.0]}, index=[1, 2])
    >>> draw_groups(Figure().subplots(), table, "error", "steps ahead")[0].get_ydata()
    array([1., 3.])
    """
    by_number = pd.api.types.is_numeric_dtype(table.index)
    places = table.index if by_number else np.arange(len(table))
    style: dict[str, Any] = {"ms": 4} if by_number else {"ls": ""}
    lines = []
    for i, name in enumerate(table):
        points = (places, table[name]) if by_number else (table[name], places)
        marker = "" if by_number and len(table) > _MARKED else mark(i)
        lines += ax.plot(*points, marker=marker, label=name, **style)
    if by_number:
        _rule_numbers(ax, groups)
        label_side(ax, label)
    else:
        ax.set_yticks(places, [str(name) for name in table.index])
        ax.invert_yaxis()  # the first on top, as in the table
        ax.set(xlabel=label, ylabel=groups)
    ax.grid(axis="y" if by_number else "both", color=ink(ax), alpha=0.15)
    if zero and np.nanmin(table.to_numpy(dtype=np.float64)) >= 0:
        (ax.set_ylim if by_number else ax.set_xlim)(0)
    elif zero:
        (ax.axhline if by_number else ax.axvline)(0, color=ink(ax), lw=0.8, zorder=1)
    if table.shape[1] > 1:
        legend_above(ax)
    return lines


def _rule_numbers(ax: Axes, groups: str) -> None:
    """Name the groups below, with ticks where one looks for them."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(groups)
    if groups == _WORDS["dayofweek"]:
        ax.set_xticks(range(7), _DAYS)
    elif groups == _WORDS["hour"]:
        ax.set_xticks(range(0, 24, 3))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 4, 5, 10]))
