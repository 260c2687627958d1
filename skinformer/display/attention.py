"""AttentionDisplay: what one layer of the network looks at, head by head, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, check_axes, figure_of, label_side, load_pyplot
from skinformer.display.over_time import time_axis, write_time
from skinformer.display.style import colour_bar, ink, is_dark, shade
from skinformer.evaluation.attention import AttentionMap, attention_maps, list_maps
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import is_dated, timestamps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


class AttentionDisplay(Display):
    """
    Draw what the heads of one attention layer look at: queries down, keys across, both in time.

    Make one by `from_estimator`, or by `from_maps` of what `attention_maps` gave; draw it again by
    `plot`. Queries that ProbSparse attention does not select are hatched, keys that a query may
    not see are grey.

    Parameters
    ----------
    attention : AttentionMap
        One layer, for the forecasts from one origin.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (n_heads,)
        Where heads were drawn.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        The figure that holds them.

    See Also
    --------
    skinformer.evaluation.attention_maps : The numbers, and what they do not explain.
    ContributionDisplay : Reasons for a forecast.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.display import AttentionDisplay
    >>> from skinformer.evaluation import AttentionMap
    >>> hours = pd.DataFrame({"first": [0, 1], "last": [0, 1]})
    >>> even = AttentionMap(
    ...     "encoder", 1, 2, None, 1.0, np.full((1, 2, 2), 0.5), np.ones((1, 2), dtype=bool),
    ...     np.ones((2, 2), dtype=bool), hours, hours,
    ... )
    >>> AttentionDisplay(even).plot().ax_.get_title()
    'head 1'
    """

    axes_: np.ndarray[Any, Any]

    def __init__(self, attention: AttentionMap) -> None:
        self.attention = attention

    @classmethod
    def from_maps(
        cls,
        maps: AttentionMap | Sequence[AttentionMap],
        *,
        where: str = "encoder",
        layer: int = 1,
        origin: Any = None,
        head: int | None = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Self:
        """
        Draw one of the maps that `attention_maps` gave.

        Parameters
        ----------
        maps : AttentionMap or sequence of AttentionMap
            Of one series.
        where : {"encoder", "decoder", "cross"}, default="encoder"
            Which attention.
        layer : int, default=1
            Which layer of it.
        origin : label of time, default=None
            First forecast step; None is the first origin of the maps.
        head : int, default=None
            Which head, from 1; None draws all.
        ax : matplotlib Axes or sequence of n_heads of them, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        AttentionDisplay
            Drawn.
        """
        return cls(_choose(list_maps(maps), where, layer, origin)).plot(head=head, ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """
        Forecast and draw what a layer looked at.

        Parameters
        ----------
        estimator : InformerRegressor, InformerClassifier, or a Pipeline or search that ends in one
            Fitted.
        X : DataFrame, default=None
            Rows that are forecast; None takes the steps after the history.
        **options : Any
            Of `from_maps`: where, layer, origin, head, ax.

        Returns
        -------
        AttentionDisplay
            Drawn.
        """
        return cls.from_maps(attention_maps(estimator, X), **options)

    def plot(self, *, head: int | None = None, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """
        Draw a heat map for each head, in colours that mean the same in all of them.

        Parameters
        ----------
        head : int, default=None
            Which head, from 1; None draws all.
        ax : matplotlib Axes or sequence of n_heads of them, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        AttentionDisplay
            Itself, with `axes_`, `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        heads = self._heads(head)
        self.axes_ = self._axes(len(heads), ax)
        self.ax_ = self.axes_[0]
        self.figure_ = figure_of(self.ax_)
        brightest = self._brightest(heads)
        for number, axes in zip(heads, self.axes_, strict=True):
            mesh = _draw_head(axes, self.attention, number, brightest)
        self._label(shares_labels=ax is None and len(heads) > 1)
        if ax is None:
            title = _title(self.attention)
            self.figure_.suptitle(title, color=ink(self.ax_), fontsize="medium")
        even = 1 / self.attention.weights.shape[2]
        colour_bar(mesh, list(self.axes_), f"attention weight ({even:.2g} if even)", "max")
        return self

    def _brightest(self, heads: list[int]) -> float:
        """Return the weight from which on all have one colour."""
        weights = self.attention.weights[heads]
        visible = np.broadcast_to(self.attention.visible, weights.shape)
        return float(np.quantile(weights[visible], 0.995)) or 1.0

    def _label(self, *, shares_labels: bool) -> None:
        """Label the sides of each head, or of the figure where heads share the labels."""
        x_label = self.ax_.get_xlabel()
        y_label = self.ax_.get_ylabel()
        if shares_labels:
            style: dict[str, Any] = {"color": ink(self.ax_), "fontsize": "medium"}
            self.figure_.supxlabel(x_label, **style)
            self.figure_.supylabel(y_label, **style)
            x_label = ""
            y_label = ""
        for axes in self.axes_:
            axes.set_xlabel(x_label)
            label_side(axes, y_label)

    def _heads(self, head: int | None) -> list[int]:
        """Return the numbers of the heads to draw, from 0; raise if there is no such head."""
        n_heads = len(self.attention.weights)
        if head is None:
            return list(range(n_heads))
        if head not in range(1, n_heads + 1):
            raise ValueError(
                f"head={head!r} must be one of 1 to {n_heads}, or None for all heads beside one "
                "another."
            )
        return [int(head) - 1]

    def _axes(self, n_heads: int, ax: Axes | Sequence[Axes] | None) -> np.ndarray[Any, Any]:
        """Return axes for so many heads: the user's, or those of a new figure."""
        plt = load_pyplot(self)
        if ax is not None:
            return np.array(
                check_axes(ax, n_heads, f"{n_heads} heads", ", or head=1 for one alone")
            )
        n_columns = min(n_heads, 4)
        n_rows = -(-n_heads // n_columns)
        size = (6.5, 5.0)
        if n_heads > 1:
            size = (2.2 + 2.9 * n_columns, 0.9 + 2.9 * n_rows)
        figure = plt.figure(figsize=size, layout="constrained")
        grid: Any = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
        for spare in grid[n_heads:]:
            spare.remove()
        return np.array(grid[:n_heads])


def _choose(maps: Sequence[AttentionMap], where: str, layer: int, origin: Any) -> AttentionMap:
    """Return the map of a layer, of the first origin for None; raise if there is none."""
    of_layer = [each for each in maps if (each.where, each.layer) == (where, layer)]
    if not of_layer:
        known = list(dict.fromkeys((each.where, each.layer) for each in maps))
        raise ValueError(
            f"where={where!r}, layer={layer!r} is none of the maps; they are of {known}."
        )
    first = of_layer[0]
    n_series = len({each.series for each in of_layer})
    if n_series > 1:
        raise ValueError(
            f"maps hold {n_series} series: one is drawn. Pass "
            f"[m for m in maps if m.series == {first.series!r}]."
        )
    if origin is None:
        return first
    for each in of_layer:
        if each.origin == origin:
            return each
    raise ValueError(
        f"origin={origin!r} is none of the maps; they begin at {first.origin} to "
        f"{of_layer[-1].origin}."
    )


def _title(attention: AttentionMap) -> str:
    """Write which attention it is, and what hatching means where there is any."""
    name = "decoder to encoder" if attention.where == "cross" else attention.where
    origin = write_time(pd.Index([attention.origin]))
    lines = [f"{name}, layer {attention.layer}, forecasts from {origin}"]
    if not attention.selected.all():
        lines.append("hatched: not selected, takes the mean of what it may see")
    if not attention.visible.all():
        lines.append("grey: later, may not be seen")
    return "\n".join(lines)


def _draw_head(ax: Axes, attention: AttentionMap, head: int, brightest: float) -> Any:
    """Colour the weights of one head, and hatch what it does not select."""
    x = _token_borders(attention.key_times)
    y = _token_borders(attention.query_times)
    weights = np.ma.masked_array(attention.weights[head], ~attention.visible)
    colours = _weight_colours(ax)
    mesh = ax.pcolormesh(x, y, weights, cmap=colours, vmin=0, vmax=brightest, rasterized=True)
    selected = attention.selected[head]
    _hatch(ax, x, y, attention.visible, np.flatnonzero(~selected))
    _mark_origin(ax, attention.origin, x, y)
    _rule_times(ax, attention)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[-1], y[0])
    title = f"head {head + 1}"
    if not selected.all():
        title += f": {selected.sum()} of {len(selected)} selected"
    ax.set_title(title, color=ink(ax), fontsize="medium")
    return mesh


def _rule_times(ax: Axes, attention: AttentionMap) -> None:
    """Show the times of keys below and of queries at the side."""
    keys = pd.Index(attention.key_times["first"], name="looked at (keys), time")
    queries = pd.Index(attention.query_times["first"], name="looking (queries), time")
    time_axis(ax, keys)
    time_axis(ax, queries, axis="y")
    ax.xaxis.get_offset_text().set_visible(False)  # the year is in the title
    ax.yaxis.get_offset_text().set_visible(False)


def _weight_colours(ax: Axes) -> Colormap:
    """Return colours from the ground of the axes to the strongest, grey for what is hidden."""
    from matplotlib.colors import LinearSegmentedColormap

    ground: Any = shade(ax, "black", 0.0)
    middle = "#b5651d" if is_dark(ax) else "#f2a65a"
    strongest = "#ffe0b0" if is_dark(ax) else "#6b1400"
    hidden: Any = shade(ax, ink(ax), 0.15)
    colours = LinearSegmentedColormap.from_list("", [ground, middle, strongest])
    return colours.with_extremes(bad=hidden)


def _hatch(ax: Axes, x: Float64Array, y: Float64Array, visible: BoolArray, rows: IntArray) -> None:
    """Hatch the keys that some queries may see.

    x, y: borders of keys and of queries.
    visible: (n_queries, n_keys), from the first key on.
    """
    from matplotlib.patches import Rectangle

    style: dict[str, Any] = {
        "facecolor": shade(ax, ink(ax), 0.08),
        "hatch": "////",
        "lw": 0,
        "edgecolor": shade(ax, ink(ax), 0.3),
    }
    for row in rows:
        width = x[visible[row].sum()] - x[0]
        height = y[row + 1] - y[row]
        ax.add_patch(Rectangle((x[0], y[row]), width, height, **style))


def _mark_origin(ax: Axes, origin: Any, x: Float64Array, y: Float64Array) -> None:
    """Draw where forecasts begin, between keys and between queries."""
    place = _places(pd.Index([origin]))[0]
    if x[0] < place < x[-1]:
        ax.axvline(place, color=ink(ax), lw=0.8, ls=":")
    if y[0] < place < y[-1]:
        ax.axhline(place, color=ink(ax), lw=0.8, ls=":")


def _places(times: pd.Index) -> Float64Array:
    """Return the places of times on an axis: of dates the days since 1970, as in matplotlib."""
    from matplotlib.dates import date2num

    places: Any = timestamps(times)
    if is_dated(places):
        places = date2num(places)  # type: ignore[no-untyped-call]
    return np.asarray(places, dtype=np.float64)


def _token_borders(times: pd.DataFrame) -> Float64Array:
    """Return (n + 1,) borders: a token ends where the next begins, the last one a row later."""
    first = _places(pd.Index(times["first"]))
    last = _places(pd.Index(times["last"]))
    if len(first) > 1:
        row = first[1] - last[0]
        return np.append(first, last[-1] + row)
    row = last[0] - first[0] or 1.0
    return np.append(first, last + row)
