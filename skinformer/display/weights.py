"""WeightsDisplay: the members' weights in forecasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, label_side, take_axes
from skinformer.display.groups import group_label
from skinformer.display.style import legend_above, show_percent
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More rows than that have no names.
_NAMED = 40
#: A weight that is not worth a bar.
_NEGLIGIBLE = 0.005


class WeightsDisplay(Display):
    """
    Draw how much of a forecast each forecaster says: classical ones, trees, ridges, the network.

    Make one by `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    weights : DataFrame of shape (n_rows, n_forecasters)
        In [0, 1]; rows are steps ahead, if they are numbers, and else named, such as series.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    TrainingDisplay : How the network was trained, and what it is trusted with.

    Notes
    -----
    "ridges" forecast in closed form; "network" is what they forecast as the network corrects it,
    where there are any.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import WeightsDisplay
    >>> weights = pd.DataFrame({"ridges": [0.5, 0.25], "trees": [0.5, 0.75]}, index=[1, 2])
    >>> WeightsDisplay(weights).plot().ax_.get_xlabel()
    'steps ahead'
    """

    def __init__(self, weights: pd.DataFrame) -> None:
        self.weights = weights

    @classmethod
    def from_estimator(cls, estimator: Any, *, by: str = "ahead", ax: Axes | None = None) -> Self:
        """
        Draw who speaks in the forecasts of a fit.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            Fitted.
        by : {"ahead", "series", "candidate"}, default="ahead"
            Means over series by step ahead; means over steps by series, or by target where there
            is one series; or each ridge, classical forecaster and the trees alone, in what is
            forecast without the network.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        WeightsDisplay
            Drawn.
        """
        check_choice("by", by, _TABLES)
        weights = _who_counts(_TABLES[by](cls._fitted_part(estimator, "base_blend_")))
        return cls(weights.T if by == "candidate" else weights).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw areas over steps ahead, or bars below one another.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        WeightsDisplay
            Itself, with `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        by_step = pd.api.types.is_numeric_dtype(self.weights.index)
        height = 4.0 if by_step else float(np.clip(1.2 + 0.3 * len(self.weights), 2, 10))
        ax = take_axes(self, ax, (7, height))
        (_draw_areas if by_step else _draw_bars)(ax, self.weights)
        if self.weights.shape[1] > 1:
            legend_above(ax)
        return self._drawn_on(ax)


def _draw_areas(ax: Axes, weights: pd.DataFrame) -> None:
    """Stack areas, a step of each width for each step ahead."""
    from matplotlib.ticker import MaxNLocator

    edges = np.append(weights.index - 0.5, weights.index[-1] + 0.5)
    tops = weights.cumsum(axis=1)
    bottoms = tops.shift(axis=1, fill_value=0.0)
    for name in weights:
        ax.stairs(tops[name], edges, baseline=bottoms[name], fill=True, label=name)
    ax.set(xlim=edges[[0, -1]], ylim=(0, 1), xlabel=group_label("ahead"))
    label_side(ax, "share of the forecast")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    show_percent(ax.yaxis)


def _draw_bars(ax: Axes, weights: pd.DataFrame) -> None:
    named = len(weights) <= _NAMED
    places = np.arange(len(weights))
    lefts = weights.cumsum(axis=1).shift(axis=1, fill_value=0.0)
    for name in weights:
        ax.barh(places, weights[name], 0.7 if named else 1.0, lefts[name], label=name)
    ax.set_yticks(*((places, [str(row) for row in weights.index]) if named else ([],)))
    alone = weights.shape[1] == 1 and len(weights) > 1  # candidates, which share one bar
    ax.set(xlim=(0, None if alone else 1), ylim=(len(weights) - 0.5, -0.5))
    ax.set_xlabel("share of the forecast" + (" without the network" if alone else ""))
    name = "" if weights.index.name is None else str(weights.index.name)
    ax.set_ylabel(name if named else f"{len(weights)} {name or 'series'}")
    show_percent(ax.xaxis)


def _who_counts(weights: pd.DataFrame) -> pd.DataFrame:
    """Keep the columns that are worth drawing."""
    least = min(_NEGLIGIBLE, float(weights.to_numpy().max()))
    return weights.loc[:, (weights >= least).any()]


def _by_candidate(model: Any) -> pd.DataFrame:
    weights = pd.DataFrame(model.base_blend_ or {"network": 1.0}, index=["weight"])
    return weights.sort_values("weight", axis=1, ascending=False)


_TABLES: dict[str, Callable[[Any], pd.DataFrame]] = {
    "ahead": lambda model: model.ensemble_.by_step(model.sizes_.pred_len),
    "series": lambda model: model.ensemble_.by_series(model.series_, model.roles_.target_labels),
    "candidate": _by_candidate,
}
