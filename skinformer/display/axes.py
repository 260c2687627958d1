"""Axes of all pictures, their figure, and labels with units."""

from __future__ import annotations

import reprlib
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skinformer.evaluation.ahead import split_last_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a letter, in sizes of the font, with some room.
LETTER = 0.55


class Display:
    """A picture, drawn on axes of a figure."""

    ax_: Axes
    figure_: Figure

    def _take_axes(self, ax: Axes | None, size: tuple[float, float]) -> Axes:
        """Return the axes to draw on: the user's, or a new figure's of this size in inches."""
        plt = load_pyplot(self)
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = check_axes(ax)[0]
        self.figure_ = figure_of(self.ax_)
        return self.ax_

    @staticmethod
    def _rows_of_target(table: pd.DataFrame, target: Any) -> tuple[Any, pd.DataFrame]:
        """Return the target to draw, the first for None, and its rows; raise if there are none."""
        names = list(table["target"].unique())
        target = names[0] if target is None else target
        if target not in names:
            raise ValueError(f"target={target!r} is not forecast; the targets are {names}.")
        return target, table[table["target"] == target]

    @staticmethod
    def _fitted_part(estimator: Any, attribute: str) -> Any:
        """Return what a Pipeline or search ends in; raise if its fit lacks what is drawn."""
        last = split_last_step(estimator)[1]
        if not hasattr(last, attribute):
            raise TypeError(
                f"{type(last).__name__} has no {attribute}. Pass a fitted InformerRegressor, or "
                "a Pipeline or search that ends in one."
            )
        return last


def load_pyplot(picture: Any) -> Any:
    """Load ``matplotlib.pyplot``, or raise an error that names the picture."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        name = picture if isinstance(picture, str) else type(picture).__name__
        raise ImportError(
            f"{name} draws with matplotlib, which is not installed: pip install 'skinformer[plot]'."
        ) from error
    return pyplot


def check_axes(ax: Any, n: int = 1, what: str = "1 picture", advice: str = "") -> list[Axes]:
    """Return the user's axes as a list of n, or raise if they are no axes, or other than n.

    what, advice: for messages: what needs so many, and what else can be done about it.
    """
    from matplotlib.axes import Axes

    given: list[Axes] = list(np.asarray(ax, dtype=object).ravel())
    if not all(isinstance(each, Axes) for each in given):
        raise TypeError(f"ax={reprlib.repr(ax)} must be matplotlib Axes, or None for a new figure.")
    if len(given) != n:
        raise ValueError(f"ax holds {len(given)} axes for {what}. Pass one for each{advice}.")
    return given


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes are in, not a subfigure.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> figure_of(figure.subfigures().subplots()) is figure
    True
    """
    return ax.get_figure(root=True)  # type: ignore[return-value]  # axes that are drawn have one


def with_unit(label: Any, unit: str | None) -> str:
    """Put the unit behind what an axis shows; None is "value".

    >>> with_unit("load", "MW")
    'load (MW)'
    """
    text = "value" if label is None else str(label)
    return text if unit is None else f"{text} ({unit})"


def label_side(ax: Axes, text: str) -> None:
    r"""Label the axis at the side, in as many lines as its height asks for.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure(figsize=(4, 2)).subplots()
    >>> label_side(ax, "mean absolute error of the load")
    >>> ax.get_ylabel()
    'mean absolute error\nof the load'
    """
    room = ax.get_window_extent().height * 72 / figure_of(ax).dpi
    letter = LETTER * float(ax.yaxis.label.get_fontsize())
    letters = max(int(room / letter), 12)
    ax.set_ylabel(fill(text, letters))
