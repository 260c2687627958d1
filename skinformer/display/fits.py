"""TrainingDisplay and WeightsDisplay: the course of a fit, and the weights of its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pandas import DataFrame, isna
from pandas.api.types import is_numeric_dtype

from skinformer.display.axes import Display, ink, legend_above
from skinformer.display.groups import GROUPS, draw_groups
from skinformer.evaluation.ahead import split_last_step
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TrainingDisplay(Display):
    """
    Plot the losses of each epoch, and the share of the network's correction in the forecast.

    Make it with `from_estimator`; `plot` draws it again.

    Parameters
    ----------
    history : DataFrame of shape (n_epochs, n_columns)
        ``epoch``, ``loss`` and ``validation_loss``, as ``history_`` has them.
    trust : float, default=None
        Share of the correction by the network that the forecast uses; None does not show it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.
    lines_ : list of matplotlib Line2D
        The training loss and, if there are validation rows, the validation loss.

    See Also
    --------
    WeightsDisplay : The weights of all members.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import TrainingDisplay
    >>> epochs = {"epoch": [1, 2], "loss": [3.0, 2.0], "validation_loss": [3.0, 2.5]}
    >>> display = TrainingDisplay(pd.DataFrame(epochs)).plot()
    >>> display.ax_.get_xlabel()
    'epoch (dashed: 2, with the lowest loss)'
    """

    def __init__(self, history: DataFrame, *, trust: float | None = None) -> None:
        if not len(history):
            raise ValueError(
                "history_ has no epochs: the network was not trained, because these "
                "series are too short for it. WeightsDisplay shows which models "
                "forecast them."
            )
        self.history = history
        self.trust = trust

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """
        Plot the training of a fitted estimator.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            The fitted estimator.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        TrainingDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If no network was trained.
        """
        _, model = split_last_step(estimator)
        # Without a path to correct, the network forecasts alone.
        ensemble = model.ensemble_
        trust = ensemble.trust if len(ensemble.members) > 1 else None
        return cls(model.history_, trust=trust).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw losses by epoch.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        TrainingDisplay
            The display, with `ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        (ax,) = self._take_axes(ax, (7, 4))
        losses = self.history.set_index("epoch")[["loss", "validation_loss"]]
        losses.columns = ["training", "validation"]
        losses = losses.dropna(axis=1, how="all")
        self.lines_ = draw_groups(ax, losses, "loss, in standardised units", across=())
        best_epoch: Any = losses.iloc[:, -1].idxmin()
        ax.axvline(best_epoch, color=ink(ax), lw=1, ls="--")
        label = f"epoch (dashed: {best_epoch}, with the lowest loss)"
        if self.trust is not None:
            label += (
                f"\nThe forecast uses {self.trust:.0%} of the network's correction."
            )
        ax.set_xlabel(label)
        return self


@dataclass(eq=False, repr=False)
class WeightsDisplay(Display):
    """
    Plot the weights of the members of the ensemble.

    Make it with `from_estimator`; `plot` draws it again.

    Parameters
    ----------
    weights : DataFrame of shape (n_rows, n_forecasters)
        Weights in [0, 1], one column per member. Rows are steps ahead if their labels are numbers,
        otherwise groups such as series.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.

    See Also
    --------
    TrainingDisplay : The training of the network.

    Notes
    -----
    If the network corrects ridges, "network" is the forecast of the ridges with this correction.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import WeightsDisplay
    >>> weights = pd.DataFrame({"ridges": [0.5, 0.25], "trees": [0.5, 0.75]}, index=[1, 2])
    >>> WeightsDisplay(weights).plot().ax_.get_xlabel()
    'steps ahead'
    """

    weights: DataFrame

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, by: str = "ahead", ax: Axes | None = None
    ) -> Self:
        """
        Plot the weights of the members of a fitted ensemble.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            The fitted estimator.
        by : {"ahead", "series", "member"}, default="ahead"
            "ahead" plots means over series for each step ahead. "series" plots means over steps for
            each series, or for each target of a single series. "member" plots the mean weight of
            each member, with its validation error, as in ``leaderboard()``.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        WeightsDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `by` is none of these.
        """
        check_choice("by", by, ("ahead", "series", "member"))
        _, model = split_last_step(estimator)
        if by == "ahead":
            weights = model.ensemble_.by_step(model.sizes_.pred_len)
        elif by == "series":
            weights = model.ensemble_.by_series(
                model.series_, model.roles_.target_labels
            )
        else:
            return cls(_by_member(model.leaderboard())).plot(ax=ax)
        least = 0.005  # what is less could not be seen
        is_visible = (weights >= least).any()
        return cls(weights.loc[:, is_visible]).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw areas over steps ahead, or bars for groups.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        WeightsDisplay
            The display, with `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        most_names = 40
        weights = self.weights
        n_rows = len(weights)
        share = "share of the forecast"
        if n_rows > 1 and is_numeric_dtype(weights.index):
            (ax,) = self._take_axes(ax, (7, 4))
            weights.plot.area(ax=ax, lw=0, legend=False)
            ax.set(xlabel=GROUPS["ahead"], ylabel=share, ylim=(0, 1))
            ax.margins(x=0)
            ax.locator_params(axis="x", integer=True)
            ax.yaxis.set_major_formatter("{x:.0%}")
        else:
            height = min(1.4 + 0.3 * n_rows, 10)
            (ax,) = self._take_axes(ax, (7, height))
            weights.plot.barh(ax=ax, stacked=True, width=0.7, legend=False)
            ax.set(xlabel=share, xlim=(0, 1))
            ax.invert_yaxis()
            ax.xaxis.set_major_formatter("{x:.0%}")
            if n_rows > most_names:
                ax.set_yticks([])
        if weights.shape[1] > 1:
            legend_above(ax)
        return self


def _by_member(board: DataFrame) -> DataFrame:
    """Return the weights of members, each a row of its own, named with its error."""
    members = board[board["weight"] < 1] if len(board) > 1 else board
    names = [
        name if isna(error) else f"{name}, error {error:.3f}"
        for name, error in members["error"].items()
    ]
    return DataFrame({"weight": members["weight"].to_numpy()}, index=names)
