"""CostDisplay: what a fit cost, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from skinformer.display.axes import Display, take_axes
from skinformer.display.style import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer


class CostDisplay(Display):
    """
    Draw the seconds of each part of a fit.

    Make one by `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    fit_times : DataFrame of shape (n_parts, 3)
        ``part``, ``seconds`` and ``cpu_seconds``, as ``fit_times_`` has them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    bars_ : matplotlib BarContainer
        One bar a part, the costliest on top.

    See Also
    --------
    TrainingDisplay : What the network's part was good for.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import CostDisplay
    >>> seconds = {"seconds": [1.0, 3.0], "cpu_seconds": [1.0, 3.0]}
    >>> times = pd.DataFrame({"part": ["reading", "network"], **seconds})
    >>> display = CostDisplay(times).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['network', 'reading']
    """

    bars_: BarContainer

    def __init__(self, fit_times: pd.DataFrame) -> None:
        if not len(fit_times):
            raise ValueError(
                "fit_times holds no part, so there is nothing to draw. Pass the fit_times_ of a "
                "fitted estimator; files of earlier versions have none: fit again."
            )
        self.fit_times = fit_times

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """
        Draw what a fit cost.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CostDisplay
            Drawn.
        """
        return cls(cls._fitted_part(estimator, "fit_times_").fit_times_).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw a bar for each part, with its seconds and its share.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CostDisplay
            Itself, with `ax_`, `figure_` and `bars_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        times = self.fit_times.sort_values("seconds", ascending=False, kind="stable")
        seconds = times["seconds"]
        ax = take_axes(self, ax, (7, 1.2 + 0.4 * len(seconds)))
        self.bars_ = ax.barh(range(len(seconds)), seconds)
        whole = float(seconds.sum())
        labels = [f"{each:.1f} s, {100 * each / (whole or 1):.0f} %" for each in seconds]
        ax.bar_label(self.bars_, labels, padding=4, color=ink(ax))
        ax.set_yticks(range(len(seconds)), list(times["part"]))
        ax.invert_yaxis()
        ax.set_xlim(0, 1.25 * float(seconds.max()) or 1)  # room for the longest bar's label
        busy = float(times["cpu_seconds"].sum())
        ax.set_xlabel(f"seconds of the fit\n{whole:.1f} s in all, {busy:.1f} s of processors")
        ax.grid(axis="x", color=ink(ax), alpha=0.15)
        ax.set_axisbelow(True)
        return self._drawn_on(ax)
