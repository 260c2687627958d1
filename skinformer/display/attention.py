"""AttentionDisplay: what one layer of the network looks at, head by head, over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, check_axes, figure_of, label_side, load_pyplot
from skinformer.display.over_time import say_when, time_axis
from skinformer.display.style import colour_bar, ink, is_dark, shade
from skinformer.evaluation.attention import AttentionMap, attention_maps, list_maps
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import is_dated, timestamps
from skinformer.validation.arguments import MOST, Whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What looks at what, where the name of the map does not say it.
_NAMES = {"cross": "decoder to encoder"}
#: Heads beside one another at most.
_MOST_COLUMNS = 4
#: Share of the weights above which colours are not told apart.
_BRIGHTEST = 0.995


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
    skinformer.evaluation.attention_maps : The numbers, and what they do not say.
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
        n_heads = len(self.attention.weights)
        if head is not None and not (Whole(1, MOST).is_satisfied_by(head) and head <= n_heads):
            raise ValueError(
                f"head={head!r} must be one of 1 to {n_heads}, or None for all heads beside one "
                "another."
            )
        heads = list(range(n_heads)) if head is None else [int(head) - 1]
        self.axes_ = self._axes(len(heads), ax)
        weights = self.attention.weights[heads]
        seen = weights[np.broadcast_to(self.attention.visible, weights.shape)]
        brightest = float(np.quantile(seen, _BRIGHTEST)) or 1.0
        for number, axes in zip(heads, self.axes_, strict=True):
            mesh = _draw_head(axes, self.attention, number, brightest)
        first = self.axes_[0]
        x_label, y_label = first.get_xlabel(), first.get_ylabel()
        together = ax is None and len(heads) > 1
        for axes in self.axes_:
            axes.set_xlabel("" if together else x_label)
            label_side(axes, "" if together else y_label)
        even = 1 / weights.shape[2]
        colour_bar(mesh, list(self.axes_), f"attention weight ({even:.2g} if even)", "max")
        self.ax_, self.figure_ = first, figure_of(first)
        small: dict[str, Any] = {"color": ink(first), "fontsize": "medium"}
        if together:
            self.figure_.supxlabel(x_label, **small)
            self.figure_.supylabel(y_label, **small)
        if ax is None:
            self.figure_.suptitle(_title(self.attention), **small)
        return self

    def _axes(self, n: int, ax: Axes | Sequence[Axes] | None) -> np.ndarray[Any, Any]:
        """Return axes for so many heads."""
        plt = load_pyplot(self)
        if ax is not None:
            return np.array(check_axes(ax, n, f"{n} heads", ", or head=1 for one alone"))
        columns = min(n, _MOST_COLUMNS)
        rows = -(-n // columns)
        size = (2.2 + 2.9 * columns, 0.9 + 2.9 * rows) if n > 1 else (6.5, 5)
        figure = plt.figure(figsize=size, layout="constrained")
        made: Any = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for spare in made[n:]:
            spare.remove()
        return np.array(made[:n])


def _choose(maps: Sequence[AttentionMap], where: str, layer: int, origin: Any) -> AttentionMap:
    """Return the map of a layer, of the first origin for None; raise if there is none."""
    there = [each for each in maps if (each.where, each.layer) == (where, layer)]
    if not there:
        known = list(dict.fromkeys((each.where, each.layer) for each in maps))
        raise ValueError(
            f"where={where!r}, layer={layer!r} is none of the maps; they are of {known}."
        )
    if len({each.series for each in there}) > 1:
        raise ValueError(
            f"maps hold {len({each.series for each in there})} series: one is drawn. Pass "
            f"[m for m in maps if m.series == {there[0].series!r}]."
        )
    found = [each for each in there if origin is None or each.origin == origin]
    if not found:
        raise ValueError(
            f"origin={origin!r} is none of the maps; they begin at {there[0].origin} to "
            f"{there[-1].origin}."
        )
    return found[0]


def _title(attention: AttentionMap) -> str:
    """Describe whose attention it is, and what hatching means where there is any."""
    name = f"{_NAMES.get(attention.where, attention.where)}, layer {attention.layer}"
    when = say_when(pd.Index([attention.origin]))
    notes = []
    if not attention.selected.all():
        notes.append("hatched: not selected, takes the mean of what it may see")
    if not attention.visible.all():
        notes.append("grey: later, may not be seen")
    return "\n".join([f"{name}, forecasts from {when}", *notes])


def _draw_head(ax: Axes, attention: AttentionMap, head: int, brightest: float) -> Any:
    """Colour the weights of one head, and hatch what it does not select."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    strongest = ("#b5651d", "#ffe0b0") if is_dark(ax) else ("#f2a65a", "#6b1400")
    mixed: list[Any] = [shade(ax, "black", 0.0), *strongest]
    hidden: Any = shade(ax, ink(ax), 0.15)
    colours = LinearSegmentedColormap.from_list("", mixed).with_extremes(bad=hidden)
    x, y = _token_borders(attention.key_times), _token_borders(attention.query_times)
    weights = np.ma.masked_array(attention.weights[head], ~attention.visible)
    mesh = ax.pcolormesh(x, y, weights, cmap=colours, vmin=0, vmax=brightest, rasterized=True)
    selected = attention.selected[head]
    hatch: dict[str, Any] = {"facecolor": shade(ax, ink(ax), 0.08), "hatch": "////", "lw": 0}
    hatch["edgecolor"] = shade(ax, ink(ax), 0.3)
    for row in np.flatnonzero(~selected):
        size = x[attention.visible[row].sum()] - x[0], y[row + 1] - y[row]
        ax.add_patch(Rectangle((x[0], y[row]), *size, **hatch))
    origin = _places(pd.Index([attention.origin]))[0]
    for border, line in ((x, ax.axvline), (y, ax.axhline)):
        if border[0] < origin < border[-1]:
            line(origin, color=ink(ax), lw=0.8, ls=":")
    time_axis(ax, pd.Index(attention.key_times["first"], name="looked at (keys), time"))
    queries = pd.Index(attention.query_times["first"], name="looking (queries), time")
    time_axis(ax, queries, axis="y")
    for ruled in (ax.xaxis, ax.yaxis):
        ruled.get_offset_text().set_visible(False)  # the year is in the title
    ax.set(xlim=(x[0], x[-1]), ylim=(y[-1], y[0]))
    chosen = "" if selected.all() else f": {selected.sum()} of {len(selected)} selected"
    ax.set_title(f"head {head + 1}{chosen}", color=ink(ax), fontsize="medium")
    return mesh


def _places(times: pd.Index) -> Float64Array:
    """Return the places of times on an axis: of dates the days since 1970, as in matplotlib."""
    from matplotlib.dates import date2num

    dates = timestamps(times)
    return np.asarray(date2num(dates) if is_dated(dates) else dates, dtype=np.float64)  # type: ignore[no-untyped-call]


def _token_borders(times: pd.DataFrame) -> Float64Array:
    """Return (n + 1,) borders: a token ends where the next begins, the last one a row later."""
    first, last = (_places(pd.Index(times[side])) for side in ("first", "last"))
    row = first[1] - last[0] if len(first) > 1 else (last[0] - first[0] or 1.0)
    return np.append(first, last[-1] + row)
