"""TrainingDisplay: the course of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, label_side, take_axes
from skinformer.display.style import ink, legend_above, mark

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
    WeightsDisplay : Who else has a part in the forecast.

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
        self.history, self.trust, self.kept = history, trust, kept

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
        history = last.history_
        # Without a path to correct, the network forecasts alone.
        trust = last.trust_ if last.base_blend_ else None
        return cls(history, trust=trust, kept=_kept(history, last.best_loss_)).plot(ax=ax)

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
        ax = take_axes(self, ax, (7, 4))
        epoch, n = self.history["epoch"], len(self.history)
        self.rate_ax_ = rate = ax.twinx()
        self.lines_ = []
        for column, label in (("loss", "training"), ("validation_loss", "validation")):
            losses = self.history[column]
            if losses.notna().any():
                marker = "" if n > 50 else mark(len(self.lines_))
                self.lines_ += ax.plot(epoch, losses, marker=marker, ms=4, label=label)
        if self.kept is not None:
            ax.axvline(self.kept, color=ink(ax), lw=1, ls="--", label=f"kept: epoch {self.kept}")
        faint: dict[str, Any] = {"color": ink(ax), "alpha": 0.6, "ls": ":"}
        faint |= {"marker": "." if n < 2 else "", "label": "learning rate"}
        self.rate_line_ = rate.plot(epoch, self.history["learning_rate"], **faint)[0]
        self._label(ax, rate)
        return self._drawn_on(ax)

    def _label(self, ax: Axes, rate: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_xlabel("epoch")
        if self.trust is not None:
            share = f"{100 * self.trust:.0f} %"
            ax.set_xlabel(f"epoch\nThe forecast takes {share} of the network's correction.")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        label_side(ax, "loss, in standardised units")
        ax.grid(axis="y", color=ink(ax), alpha=0.15)
        rate.set(ylabel="learning rate", ylim=(0, None))
        rate.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
        legend_above(ax, rate)


def _kept(history: pd.DataFrame, best: float) -> int | None:
    """Find the last epoch of the best loss."""
    held_out = history["validation_loss"]
    losses = held_out if held_out.notna().any() else history["loss"]
    found = np.flatnonzero(losses.to_numpy() == best)
    return int(history["epoch"].iloc[found[-1]]) if len(found) else None
