"""What all pictures are drawn with: axes of a figure, labels with units, colours and legends."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from inspect import signature
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame

from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a letter, in sizes of the font, with some room.
_LETTER = 0.55


class Display:
    """A picture, drawn on axes of a figure."""

    ax_: Axes
    figure_: Figure

    def _take_axes(
        self, ax: Any, size: tuple[float, float], n_axes: int = 1, mosaic: Any = "a"
    ) -> list[Axes]:
        """Return the axes to draw on: the user's, or a new figure's of this size in inches.

        Raise if the user's are no axes, or not as many.
        """
        plt = load_pyplot(type(self).__name__)
        if ax is None:
            figure = plt.figure(figsize=size, layout="constrained")
            ax = list(figure.subplot_mosaic(mosaic).values())
        axes = list(np.asarray(ax, dtype=object).ravel())
        if not all(isinstance(each, plt.Axes) for each in axes):
            raise TypeError(
                f"ax={reprlib.repr(ax)} must be matplotlib Axes, or None for a new figure."
            )
        if len(axes) != n_axes:
            raise ValueError(
                f"ax holds {len(axes)} axes, and {n_axes} are needed: pass one for "
                "each plot."
            )
        self.ax_ = axes[0]
        self.figure_ = _figure_of(self.ax_)
        return axes

    @staticmethod
    def _rows_of_target(table: DataFrame, target: Any) -> tuple[Any, DataFrame]:
        """Return the target to draw, the first for None, and its rows; raise if there are none."""
        target = first_or_chosen("target", target, list(table["target"].unique()))
        return target, table[table["target"] == target]


def load_pyplot(picture: str) -> Any:
    """Load ``matplotlib.pyplot``, or raise an error that names the picture."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{picture} draws with matplotlib, which is not installed: pip install "
            "'skinformer[plot]'."
        ) from error
    return pyplot


def first_or_chosen(name: str, value: Any, known: list[Any]) -> Any:
    """Return a value that must be known, the first for None.

    >>> first_or_chosen("target", None, ["load", "temp"])
    'load'
    """
    if value is None:
        return known[0]
    check_choice(name, value, known)
    return value


def take_options(
    function: Callable[..., Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Remove the options that a function has a parameter for, and return them.

    >>> options = {"key": abs, "default": 0}
    >>> take_options(sorted, options)
    {'key': <built-in function abs>}
    >>> options
    {'default': 0}
    """
    return {
        name: options.pop(name)
        for name in signature(function).parameters
        if name in options
    }


def _figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes are in, not a subfigure."""
    return ax.get_figure(root=True)  # type: ignore[return-value]  # axes that are drawn have one


def with_unit(label: Any, unit: str | None) -> str:
    """Put the unit behind what an axis shows; None is "value".

    >>> with_unit("load", "MW")
    'load (MW)'
    """
    text = "value" if label is None else str(label)
    return text if unit is None else f"{text} ({unit})"


def as_number(value: Any) -> str:
    """Write a number with three digits, from 1000 on with all before the point.

    >>> as_number(0.012345), as_number(1234567.8), as_number(-3.0), as_number(float("nan"))
    ('0.0123', '1,234,568', '−3', '–')
    """
    number = float(value) + 0.0  # no sign of zero
    if not math.isfinite(number):
        return "–"
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return text.replace("-", "−")


def label_side(ax: Axes, text: str) -> None:
    r"""Label the axis at the side, in as many lines as its height asks for.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure(figsize=(4, 2)).subplots()
    >>> label_side(ax, "mean absolute error of the load")
    >>> ax.get_ylabel()
    'mean absolute error\nof the load'
    """
    height = ax.get_window_extent().height
    n_letters = int(_in_letters(ax, height) / _LETTER)
    ax.set_ylabel(fill(text, max(n_letters, 12)))


def ink(ax: Axes) -> Any:
    """Return the colour of the axes' texts: dark on light styles, light on dark ones."""
    return ax.xaxis.label.get_color()


def is_dark(ax: Axes) -> bool:
    """Return whether the ground of the axes is dark."""
    from matplotlib.colors import to_rgb

    return sum(to_rgb(ax.get_facecolor())) < 1.5


def legend_above(ax: Axes) -> None:
    """Explain the lines of axes above them, where they cover no peak; many names stand beside."""
    most_letters = 40
    handles, names = ax.get_legend_handles_labels()
    labels = [name[:most_letters] for name in names]
    widths = [
        _LETTER * len(label) + 5 for label in labels
    ]  # with its line, and a space
    room = _in_letters(ax, ax.get_window_extent().width)
    n_columns = len(labels)
    if sum(widths) > room:
        n_columns = max(int(room / max(widths)), 1)
    # More rows than there is room for above.
    is_beside = n_columns == 1 and len(labels) > 3
    ax.legend(
        handles,
        labels,
        loc="upper left" if is_beside else "lower right",
        bbox_to_anchor=(1, 1),
        ncols=n_columns,
        frameon=False,
        labelcolor=ink(ax),
    )


def _in_letters(ax: Axes, length: float) -> float:
    """Turn a length on the screen into sizes of the font of labels."""
    points = length * 72 / _figure_of(ax).dpi
    return points / float(ax.yaxis.label.get_fontsize())
