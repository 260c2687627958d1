"""ContributionDisplay: what each column, or group of columns, gives to forecasts."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from pandas import DataFrame

from skinformer.display.axes import (
    Display,
    as_number,
    ink,
    is_dark,
    label_side,
    take_options,
    with_unit,
)
from skinformer.display.over_time import rule_times
from skinformer.evaluation.explain import explain
from skinformer.timeline.clock import short_label, timestamps
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ContributionDisplay(Display):
    """
    Plot the contributions of columns to a forecast, or to forecasts over time.

    Make it with `from_estimator`, or with `from_frame` from the result of `explain`; `plot` draws
    it again.

    Parameters
    ----------
    contributions : DataFrame of shape (n_times, n_sources)
        Contributions in the units of the target, indexed by time. The first column is the baseline;
        rows add up to forecasts.
    target : str, default=None
        Name of the target, for the labels.
    unit : str, default=None
        Unit of the target, for the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.
    drawn_ : DataFrame
        The numbers of the plot: the largest contributions, and the sum of the others.

    See Also
    --------
    skinformer.evaluation.explain : The numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import ContributionDisplay
    >>> hours = pd.date_range("2024-01-01", periods=2, freq="h")
    >>> each = {"baseline": [50.0, 60.0], "holiday": [-20.0, -22.0]}
    >>> display = ContributionDisplay(pd.DataFrame(each, index=hours), unit="people").plot()
    >>> display.ax_.get_xlabel()
    'value (people), mean of 2 forecasts'
    """

    contributions: DataFrame
    _: KW_ONLY
    target: Any = None
    unit: str | None = None

    @classmethod
    def from_frame(
        cls,
        reasons: DataFrame,
        *,
        kind: str = "waterfall",
        time: Any = None,
        target: Any = None,
        unit: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot a result of `explain`.

        Parameters
        ----------
        reasons : DataFrame
            A result of `explain`, of one series.
        kind : {"waterfall", "heatmap"}, default="waterfall"
            Bars from the baseline to one forecast, or a heat map of all forecasts over time.
        time : label of time, default=None
            The time of the forecast in a waterfall plot, or a day, whose mean is drawn. None is the
            mean of all forecasts.
        target : str, default=None
            The target to draw; None is the first.
        unit : str, default=None
            Unit of the target, for the labels.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ContributionDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `reasons` are of several series, or if there is no such target, kind of plot or time.
        """
        if "series" in reasons and len(reasons["series"].unique()) > 1:
            raise ValueError("reasons are of several series: pass those of one series.")
        target, reasons = cls._rows_of_target(reasons, target)
        table = reasons.pivot_table(
            "contribution", "time", "source", sort=False, observed=True
        )
        table.columns = table.columns.map(str)
        display = cls(table.sort_index(), target=target, unit=unit)
        return display.plot(kind=kind, time=time, ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, **options: Any) -> Self:
        """
        Explain forecasts and plot the contributions.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            The fitted estimator.
        X : DataFrame, default=None
            Rows whose forecasts are explained; None takes the steps after the history.
        **options : Any
            Options of `from_frame`: kind, time, target, unit, ax; and of `explain`: groups,
            n_permutations, random_state.

        Returns
        -------
        ContributionDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If the estimator is not an `InformerRegressor`, nor ends in one.
        ValueError
            If X cannot be forecast, or contains several series.
        """
        of_picture = take_options(cls.from_frame, options)
        return cls.from_frame(explain(estimator, X, **options), **of_picture)

    def plot(
        self, *, kind: str = "waterfall", time: Any = None, ax: Axes | None = None
    ) -> Self:
        """
        Draw bars from the baseline to a forecast, or colours over time.

        Parameters
        ----------
        kind : {"waterfall", "heatmap"}, default="waterfall"
            The kind of plot.
        time : label of time, default=None
            The time of the forecast in a waterfall plot, or a day, whose mean is drawn. None is the
            mean of all forecasts.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ContributionDisplay
            The display, with `ax_`, `figure_` and `drawn_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_choice("kind", kind, ("waterfall", "heatmap"))
        table = self.contributions
        if kind == "waterfall" and time is not None:
            table = _rows_at(table, time)
        self.drawn_ = _largest(table)
        height = 1.8 + 0.35 * self.drawn_.shape[1]
        (ax,) = self._take_axes(ax, (10, height))
        if kind == "waterfall":
            _draw_waterfall(ax, self.drawn_, with_unit(self.target, self.unit))
        else:
            label = f"contribution to {self.target or 'the forecast'}"
            _draw_heatmap(ax, self.drawn_.iloc[:, 1:], with_unit(label, self.unit))
        return self


def _rows_at(table: DataFrame, time: Any) -> DataFrame:
    """Return the forecasts at a time, such as an hour or a day; raise if there are none."""
    found = table.loc[time:time]
    if found.empty:
        raise ValueError(
            f"time={time!r} has no forecast: the forecasts are from {table.index[0]} "
            f"to {table.index[-1]}. Pass one of these, or a day."
        )
    return found


def _largest(table: DataFrame) -> DataFrame:
    """Keep the baseline and the largest sources; put the others together."""
    most = 10  # sources that have a bar or a row of their own
    sources = table.iloc[:, 1:]
    if sources.shape[1] <= most:
        return table
    size = sources.abs().mean()
    smallest = size.nsmallest(len(size) - most + 1).index
    rest = table[smallest].sum(axis=1)
    table = table.drop(columns=smallest)
    table[f"{len(smallest)} others together"] = rest
    return table


def _draw_waterfall(ax: Axes, table: DataFrame, label: str) -> None:
    """Draw bars from the baseline to the forecast, each from where the one above ended."""
    means = table.mean()
    steps = means.iloc[1:].sort_values(key=np.abs, ascending=False)
    texts = ["+" * (step > 0) + as_number(step) for step in steps]
    first = as_number(means.iloc[0])
    last = as_number(means.sum())
    _draw_steps(ax, means.iloc[0], steps, [first, *texts, last])

    names = [f"{table.columns[0]}: usual past", *steps.index, "forecast"]
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    time = short_label(table.index[0])
    if len(table) > 1:
        time = f"mean of {len(table)} forecasts"
    ax.set_xlabel(f"{label}, {time}")
    ax.grid(axis="x", color=ink(ax), alpha=0.15)
    ax.set_axisbelow(True)


def _draw_steps(ax: Axes, baseline: float, steps: pd.Series, texts: list[str]) -> None:
    """Draw a bar with its text for each step, and marks at the baseline and the sum."""
    widths = np.array([0, *steps, 0])  # none of the baseline and the forecast
    ends = baseline + widths.cumsum()
    places = np.arange(len(ends))
    colours = np.where(widths > 0, "C3", "C0")
    bars = ax.barh(places, widths, 0.7, ends - widths, color=colours)
    colour = ink(ax)
    ax.bar_label(bars, texts, padding=7, color=colour)
    ax.vlines(
        ends[:-1],
        places[:-1] - 0.35,
        places[1:] + 0.35,
        lw=0.8,
        alpha=0.5,
        color=colour,
    )
    ax.plot(ends[[0, -1]], places[[0, -1]], "D", ms=6, color=colour)
    ax.use_sticky_edges = False
    ax.margins(x=0.2)


def _draw_heatmap(ax: Axes, sources: DataFrame, label: str) -> None:
    """Colour a row for each source by what it gives at each time."""
    limit = np.quantile(sources.abs(), 0.995) or 1.0
    mesh = ax.pcolormesh(
        timestamps(sources.index),
        np.arange(sources.shape[1]),
        sources.T,
        shading="nearest",
        rasterized=True,
        cmap="berlin" if is_dark(ax) else "RdBu_r",  # zero is as the ground
        vmin=-limit,
        vmax=limit,
    )
    ax.set_yticks(range(sources.shape[1]), list(sources.columns))
    ax.invert_yaxis()
    rule_times(ax.xaxis, sources.index)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.01, extend="both")
    label_side(bar.ax, label)
