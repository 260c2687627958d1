"""AttentionDisplay: what one layer of the network looks at, head by head, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from pandas import Index

from skinformer.display.axes import Display, first_or_chosen, is_dark
from skinformer.display.over_time import rule_times
from skinformer.evaluation.attention import AttentionMap, attention_maps
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import short_label, timestamps
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class AttentionDisplay(Display):
    """
    Plot the attention weights of each head of one layer: queries by keys, both over time.

    Make it with `from_estimator`, or with `from_maps` from the result of `attention_maps`; `plot`
    draws it again. Queries that ProbSparse attention does not select are hatched. Keys that a query
    may not see are grey.

    Parameters
    ----------
    attention : AttentionMap
        One layer, for the forecasts from one origin.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (n_heads,)
        The axes, one for each head.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        The figure of the plot.

    See Also
    --------
    skinformer.evaluation.attention_maps : The numbers, and their limits.
    ContributionDisplay : Contributions of columns to a forecast.

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

    attention: AttentionMap

    @classmethod
    def from_maps(
        cls,
        maps: AttentionMap | Sequence[AttentionMap],
        *,
        where: str = "encoder",
        layer: int = 1,
        origin: Any = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Self:
        """
        Plot one of the maps that `attention_maps` returns.

        Parameters
        ----------
        maps : AttentionMap or sequence of AttentionMap
            The maps, of one series.
        where : {"encoder", "decoder", "cross"}, default="encoder"
            The kind of attention.
        layer : int, default=1
            The layer.
        origin : label of time, default=None
            The first step of the forecast; None is the first origin of the maps.
        ax : matplotlib Axes or sequence of n_heads of them, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        AttentionDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `maps` are not those of one series, or if there is no such layer or origin.
        """
        return cls(_choose(maps, where, layer, origin)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """
        Forecast and plot the attention weights of a layer.

        Parameters
        ----------
        estimator : InformerRegressor, InformerClassifier, or a Pipeline or search that ends in one
            The fitted estimator.
        X : DataFrame, default=None
            Rows that are forecast; None takes the steps after the history.
        **options : Any
            Options of `from_maps`: where, layer, origin, ax.

        Returns
        -------
        AttentionDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If the estimator has no network.
        ValueError
            If there is no such layer or origin.
        """
        return cls.from_maps(attention_maps(estimator, X), **options)

    def plot(self, *, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """
        Draw a heat map for each head, all with the same colour scale.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of n_heads of them, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        AttentionDisplay
            The display, with `axes_`, `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        attention = self.attention
        n_heads = len(attention.weights)
        mosaic = _heads_in_rows(n_heads)
        n_rows, n_columns = mosaic.shape
        width = 2.9 + 2.9 * n_columns
        height = 1.5 + 2.9 * n_rows
        axes = self._take_axes(ax, (width, height), n_heads, mosaic)
        self.axes_ = np.array(axes)

        weights = attention.weights[:, attention.visible]
        brightest = float(np.quantile(weights, 0.995)) or 1.0
        for head, each in enumerate(axes):
            mesh = _draw_head(each, attention, head, brightest)
        if ax is None:
            self.figure_.suptitle(_title(attention), fontsize="medium")
            for each in axes:
                each.label_outer()
        even = 1 / attention.visible.shape[1]
        label = f"attention weight ({even:.2g} if even)"
        self.figure_.colorbar(mesh, ax=axes, pad=0.01, extend="max", label=label)
        return self


def _heads_in_rows(n_heads: int) -> Any:
    """Return names of heads in rows of at most four, the last one filled with dots."""
    n_columns = min(n_heads, 4)
    n_empty = -n_heads % n_columns
    heads = [f"head {number}" for number in range(1, n_heads + 1)]
    names = heads + ["."] * n_empty
    return np.reshape(names, (-1, n_columns))


def _choose(
    maps: AttentionMap | Sequence[AttentionMap], where: str, layer: int, origin: Any
) -> AttentionMap:
    """Return the map of a layer, of the first origin for None; raise if there is none."""
    maps = [maps] if isinstance(maps, AttentionMap) else list(maps)
    if not maps or not all(isinstance(each, AttentionMap) for each in maps):
        raise ValueError(
            "maps must be the result of attention_maps, or a part of it, such as [m "
            "for m in maps if m.where == 'encoder']."
        )
    if len({each.series for each in maps}) > 1:
        raise ValueError(
            "maps are of several series, but a plot shows one. Pass [m for m in maps "
            f"if m.series == {maps[0].series!r}]."
        )
    layers = [(each.where, each.layer) for each in maps]
    check_choice("(where, layer)", (where, layer), set(layers))
    by_origin = {}
    for each in maps:
        if (each.where, each.layer) == (where, layer):
            by_origin[each.origin] = each
    return by_origin[first_or_chosen("origin", origin, list(by_origin))]


def _title(attention: AttentionMap) -> str:
    """Write which attention it is, and what hatching means where there is any."""
    name = "decoder to encoder" if attention.where == "cross" else attention.where
    origin = short_label(attention.origin)
    title = f"{name}, layer {attention.layer}, forecasts from {origin}"
    if not attention.selected.all():
        title += "\nhatched: not selected, takes the mean of what it may see"
    if not attention.visible.all():
        title += "\ngrey: later, may not be seen"
    return title


def _draw_head(ax: Axes, attention: AttentionMap, head: int, brightest: float) -> Any:
    """Colour the weights of one head, and hatch what it does not select."""
    x = _token_borders(ax.xaxis, attention.key_times)
    y = _token_borders(ax.yaxis, attention.query_times)
    weights = np.ma.masked_array(attention.weights[head], ~attention.visible)
    mesh = ax.pcolormesh(
        x, y, weights, cmap=_weight_colours(ax), vmin=0, vmax=brightest, rasterized=True
    )
    n_visible = attention.visible.sum(axis=1)
    rows = np.flatnonzero(~attention.selected[head])
    ax.barh(
        y[rows],
        x[n_visible[rows]] - x[0],
        np.diff(y)[rows],
        x[0],
        align="edge",
        hatch="////",
        facecolor=ax.get_facecolor(),
        edgecolor="grey",
        lw=0,
    )
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[-1], y[0])
    _label_head(ax, attention, head)
    return mesh


def _label_head(ax: Axes, attention: AttentionMap, head: int) -> None:
    """Show the times of keys below and of queries at the side, and what is selected above."""
    rule_times(ax.xaxis, Index(attention.key_times["first"], name="keys, time"))
    rule_times(ax.yaxis, Index(attention.query_times["first"], name="queries, time"))
    selected = attention.selected[head]
    title = f"head {head + 1}"
    if not selected.all():
        title += f": {selected.sum()} of {len(selected)} selected"
    ax.set_title(title, fontsize="medium")


def _weight_colours(ax: Axes) -> Any:
    """Return colours that begin at the ground of the axes; what is hidden is grey."""
    from matplotlib import colormaps

    return colormaps["afmhot" if is_dark(ax) else "afmhot_r"].with_extremes(bad="grey")


def _token_borders(axis: Any, times: pd.DataFrame) -> Float64Array:
    """Return (n + 1,) borders: a token ends where the next begins, the last one a row later."""
    begins = timestamps(Index(times["first"]))
    ends = timestamps(Index(times["last"]))
    axis.update_units(begins)
    first = axis.convert_units(begins)
    last = axis.convert_units(ends)
    row = last[0] - first[0]
    if len(first) > 1:
        row = first[1] - last[0]
    return np.append(first, last[-1] + (row or 1.0))
