"""TrainingDisplay and WeightsDisplay: the course of a fit, and the weights of its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, label_side
from skinformer.display.groups import group_label
from skinformer.display.style import ink, legend_above, mark, show_percent
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class TrainingDisplay(Display):
    """
    Draw the losses of each epoch, the learning rate, and what the network is trusted with.

    Make one by `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    history : DataFrame of shape (n_epochs, n_columns)
        ``epoch``, ``loss``, ``validation_loss`` and ``learning_rate``, as ``history_`` has them.
    trust : float, default=None
        Share of the network's correction in the forecast, ``trust_``; None leaves it out.
    kept : int, default=None
        The epoch whose weights were kept; None leaves it out.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the losses were drawn.
    rate_ax_ : matplotlib Axes
        Its twin, of the learning rate.
    figure_ : matplotlib Figure
        The figure that holds them.
    lines_ : list of matplotlib Line2D
        Training loss and, where rows were held out, validation loss.
    rate_line_ : matplotlib Line2D
        The learning rate.

    See Also
    --------
    WeightsDisplay : What else has a part in the forecast.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import TrainingDisplay
    >>> epochs = {"epoch": [1, 2], "loss": [3.0, 2.0], "validation_loss": [3.0, 2.5]}
    >>> display = TrainingDisplay(pd.DataFrame(epochs | {"learning_rate": [0.1, 0.05]})).plot()
    >>> display.ax_.get_xlabel()
    'epoch'
    """

    rate_ax_: Axes
    lines_: list[Line2D]
    rate_line_: Line2D

    def __init__(
        self, history: pd.DataFrame, *, trust: float | None = None, kept: int | None = None
    ) -> None:
        if not len(history):
            raise ValueError(
                "history_ holds no epoch: the network was not trained, as these series are too "
                "short for it. WeightsDisplay shows who forecasts them."
            )
        self.history = history
        self.trust = trust
        self.kept = kept

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """
        Draw the course of a fit.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        TrainingDisplay
            Drawn.
        """
        last = cls._fitted_part(estimator, "history_")
        # Without a path to correct, the network forecasts alone.
        trust = last.trust_ if last.base_blend_ else None
        kept = _kept_epoch(last.history_, last.best_loss_)
        return cls(last.history_, trust=trust, kept=kept).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw losses on the left axis and the learning rate on the right one.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        TrainingDisplay
            Itself, with `ax_`, `rate_ax_`, `figure_`, `lines_` and `rate_line_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = self._take_axes(ax, (7, 4))
        self.rate_ax_ = ax.twinx()
        self.lines_ = self._draw_losses(ax)
        if self.kept is not None:
            ax.axvline(self.kept, color=ink(ax), lw=1, ls="--", label=f"kept: epoch {self.kept}")
        rates = self.rate_ax_.plot(
            self.history["epoch"],
            self.history["learning_rate"],
            color=ink(ax),
            alpha=0.6,
            ls=":",
            marker="." if len(self.history) < 2 else "",
            label="learning rate",
        )
        self.rate_line_ = rates[0]
        self._label(ax, self.rate_ax_)
        return self

    def _draw_losses(self, ax: Axes) -> list[Line2D]:
        """Draw the losses that are known; many epochs have no markers."""
        most_marked = 50
        epochs = self.history["epoch"]
        lines: list[Line2D] = []
        for column, label in (("loss", "training"), ("validation_loss", "validation")):
            losses = self.history[column]
            if losses.notna().any():
                marker = mark(len(lines)) if len(epochs) <= most_marked else ""
                lines += ax.plot(epochs, losses, marker=marker, ms=4, label=label)
        return lines

    def _label(self, ax: Axes, rate: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        label = "epoch"
        if self.trust is not None:
            share = f"{100 * self.trust:.0f} %"
            label += f"\nThe forecast takes {share} of the network's correction."
        ax.set_xlabel(label)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        label_side(ax, "loss, in standardised units")
        ax.grid(axis="y", color=ink(ax), alpha=0.15)
        rate.set(ylabel="learning rate", ylim=(0, None))
        rate.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
        legend_above(ax, rate)


def _kept_epoch(history: pd.DataFrame, best_loss: float) -> int | None:
    """Find the last epoch of the best loss."""
    losses = history["validation_loss"]
    if losses.isna().all():
        losses = history["loss"]
    is_best = losses.to_numpy() == best_loss
    epochs = history["epoch"][is_best]
    return int(epochs.iloc[-1]) if len(epochs) else None


class WeightsDisplay(Display):
    """
    Draw how much of a forecast each forecaster gives: classical ones, trees, ridges, the network.

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
        Draw the weights of a fit's forecasters.

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
        check_choice("by", by, ("ahead", "series", "candidate"))
        model = cls._fitted_part(estimator, "base_blend_")
        if by == "ahead":
            weights = model.ensemble_.by_step(model.sizes_.pred_len)
        elif by == "series":
            weights = model.ensemble_.by_series(model.series_, model.roles_.target_labels)
        else:
            blend = model.base_blend_ or {"network": 1.0}
            weights = pd.DataFrame(blend, index=["weight"])
            weights = weights.sort_values("weight", axis=1, ascending=False)
        weights = _without_negligible(weights)
        if by == "candidate":
            weights = weights.T
        return cls(weights).plot(ax=ax)

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
        if pd.api.types.is_numeric_dtype(self.weights.index):
            ax = self._take_axes(ax, (7, 4))
            _draw_areas(ax, self.weights)
        else:
            height = float(np.clip(1.2 + 0.3 * len(self.weights), 2, 10))
            ax = self._take_axes(ax, (7, height))
            _draw_bars(ax, self.weights)
        if self.weights.shape[1] > 1:
            legend_above(ax)
        return self


def _draw_areas(ax: Axes, weights: pd.DataFrame) -> None:
    """Stack areas, a step of each width for each step ahead."""
    from matplotlib.ticker import MaxNLocator

    edges = np.append(weights.index - 0.5, weights.index[-1] + 0.5)
    tops = weights.cumsum(axis=1)
    bottoms = tops.shift(axis=1, fill_value=0.0)
    for name in weights:
        ax.stairs(tops[name], edges, baseline=bottoms[name], fill=True, label=name)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1)
    ax.set_xlabel(group_label("ahead"))
    label_side(ax, "share of the forecast")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    show_percent(ax.yaxis)


def _draw_bars(ax: Axes, weights: pd.DataFrame) -> None:
    """Stack bars, one for each row; of more than 40 rows none has a name, and bars touch."""
    n_rows = len(weights)
    is_named = n_rows <= 40
    places = np.arange(n_rows)
    lefts = weights.cumsum(axis=1).shift(axis=1, fill_value=0.0)
    height = 0.7 if is_named else 1.0
    for name in weights:
        ax.barh(places, weights[name], height, lefts[name], label=name)
    of_rows = weights.index.name
    label = "" if of_rows is None else str(of_rows)
    if is_named:
        ax.set_yticks(places, [str(row) for row in weights.index])
        ax.set_ylabel(label)
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{n_rows} {label or 'series'}")
    ax.set_ylim(n_rows - 0.5, -0.5)
    are_candidates = weights.shape[1] == 1 and n_rows > 1  # which share one bar
    if are_candidates:
        ax.set_xlim(0, None)
        ax.set_xlabel("share of the forecast without the network")
    else:
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of the forecast")
    show_percent(ax.xaxis)


def _without_negligible(weights: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns whose weights are all too small to be drawn."""
    least = min(0.005, float(weights.to_numpy().max()))
    return weights.loc[:, (weights >= least).any()]
