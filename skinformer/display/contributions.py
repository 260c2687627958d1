"""ContributionDisplay: what each column, or group of columns, gives to forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, with_unit
from skinformer.display.over_time import time_axis, write_time
from skinformer.display.style import colour_bar, ink, is_dark, shade
from skinformer.evaluation.explain import explain
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import timestamps
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContributionDisplay(Display):
    """
    Draw what columns give to a forecast, or to forecasts over time.

    Make one by `from_estimator`, or by `from_frame` of what `explain` returns; draw it again by
    `plot`.

    Parameters
    ----------
    contributions : DataFrame of shape (n_times, n_sources)
        In the target's units, by time. The first column is the baseline; rows add up to forecasts.
    target : str, default=None
        What is forecast, for the labels.
    unit : str, default=None
        Of the target.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    drawn_ : DataFrame
        What was drawn: the sources that give most, and the rest together.

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

    drawn_: pd.DataFrame

    def __init__(
        self, contributions: pd.DataFrame, *, target: Any = None, unit: str | None = None
    ) -> None:
        self.contributions = contributions
        self.target = target
        self.unit = unit

    @classmethod
    def from_frame(
        cls,
        reasons: pd.DataFrame,
        *,
        kind: str = "waterfall",
        time: Any = None,
        target: Any = None,
        unit: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Draw what `explain` returns.

        Parameters
        ----------
        reasons : DataFrame
            From `explain`, of one series.
        kind : {"waterfall", "heatmap"}, default="waterfall"
            The way from the baseline to one forecast, or all forecasts over time.
        time : label of time, default=None
            The forecast that a waterfall shows, or a day, of whose forecasts it shows the mean;
            None is the mean of all.
        target : str, default=None
            Which target to draw; None is the first.
        unit : str, default=None
            Of the target, for the labels.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ContributionDisplay
            Drawn.
        """
        _check_reasons(reasons)
        target, reasons = cls._rows_of_target(reasons, target)
        table = reasons.pivot_table("contribution", "time", "source", sort=False, observed=True)
        table.columns = table.columns.map(str)
        display = cls(table.sort_index(), target=target, unit=unit)
        return display.plot(kind=kind, time=time, ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        groups: Any = None,
        n_permutations: int = 10,
        random_state: int = 0,
        **options: Any,
    ) -> Self:
        """
        Explain forecasts and draw what was found.

        Parameters
        ----------
        estimator : InformerRegressor, or a Pipeline or search that ends in one
            Fitted.
        X : DataFrame, default=None
            Rows whose forecasts are explained; None takes the steps after the history.
        groups : mapping of hashable to sequence of column names, default=None
            Columns that are replaced together, as in `explain`.
        n_permutations : int, default=10
            Orders of groups, as in `explain`.
        random_state : int, default=0
            Seed of these orders.
        **options : Any
            Of `from_frame`: kind, time, target, unit, ax.

        Returns
        -------
        ContributionDisplay
            Drawn.
        """
        reasons = explain(
            estimator, X, groups=groups, n_permutations=n_permutations, random_state=random_state
        )
        return cls.from_frame(reasons, **options)

    def plot(self, *, kind: str = "waterfall", time: Any = None, ax: Axes | None = None) -> Self:
        """
        Draw bars from the baseline to a forecast, or colours over time.

        Parameters
        ----------
        kind : {"waterfall", "heatmap"}, default="waterfall"
            Which.
        time : label of time, default=None
            The forecast that a waterfall shows, or a day, of whose forecasts it shows the mean;
            None is the mean of all.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ContributionDisplay
            Itself, with `ax_`, `figure_` and `drawn_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_choice("kind", kind, ("waterfall", "heatmap"))
        is_waterfall = kind == "waterfall"
        table = self.contributions
        if is_waterfall and time is not None:
            table = _rows_at(table, time)
        self.drawn_ = _largest(table)
        height = 1.6 + 0.35 * self.drawn_.shape[1]
        if is_waterfall:
            ax = self._take_axes(ax, (9, height))
            _draw_waterfall(ax, self.drawn_, with_unit(self.target, self.unit))
        else:
            ax = self._take_axes(ax, (10, height + 0.4))
            label = f"given to {self.target or 'the forecast'}"
            _draw_heatmap(ax, self.drawn_, with_unit(label, self.unit))
        return self


def _check_reasons(reasons: Any) -> None:
    """Raise if a frame is not what `explain` gives of one series."""
    columns = getattr(reasons, "columns", ())
    for needed in ("time", "target", "source", "contribution"):
        if needed not in columns:
            raise ValueError(
                f"reasons lack the column {needed!r}: a picture is made of what `explain` gives. "
                "Pass such a frame."
            )
    names = list(reasons["series"].unique()) if "series" in reasons else []
    if len(names) > 1:
        raise ValueError(
            f"reasons hold {len(names)} series: one is drawn. Pass "
            f"reasons[reasons['series'] == {names[0]!r}]."
        )


def _rows_at(table: pd.DataFrame, time: Any) -> pd.DataFrame:
    """Return the forecasts at a time, such as an hour or a day; raise if there are none."""
    try:
        found = table.loc[time:time]
    except (KeyError, TypeError, ValueError):
        found = table[:0]
    if found.empty:
        raise ValueError(
            f"time={time!r} has no forecast: they are of {table.index[0]} to {table.index[-1]}. "
            "Pass one of these, or a day."
        )
    return found


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the baseline and the largest sources; put the others together."""
    most = 10  # sources that have a bar or a row of their own
    least = 0.002  # share of the largest mean size below which nothing would be seen
    baseline = table.iloc[:, :1]
    sources = table.iloc[:, 1:]
    size = sources.abs().mean()
    sources = sources.loc[:, size > least * size.max()]
    if sources.shape[1] > most:
        largest = size.nlargest(most - 1).index
        is_large = sources.columns.isin(largest)
        rest = sources.loc[:, ~is_large]
        sources = sources.loc[:, is_large].copy()
        sources[f"{rest.shape[1]} others together"] = rest.sum(axis=1)
    return baseline.join(sources)


def _draw_waterfall(ax: Axes, table: pd.DataFrame, label: str) -> None:
    """Let each bar begin where the one above ended, from the baseline to the forecast."""
    means = table.mean()
    baseline = means.iloc[0]
    steps = means.iloc[1:].sort_values(key=np.abs, ascending=False)
    ends = np.cumsum([baseline, *steps])
    _draw_steps(ax, ends, steps)
    _annotate(ax, ends, steps.to_numpy())

    names = [f"{table.columns[0]}: usual past", *steps.index, "forecast"]
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    if len(table) == 1:
        ax.set_xlabel(label)
        ax.set_title(write_time(table.index), color=ink(ax), fontsize="medium")
    else:
        ax.set_xlabel(f"{label}, mean of {len(table)} forecasts")
    ax.grid(axis="x", color=ink(ax), alpha=0.15)
    ax.set_axisbelow(True)


def _draw_steps(ax: Axes, ends: Float64Array, steps: pd.Series) -> None:
    """Draw a bar for each step, lines between bars, and marks at the baseline and the sum.

    ends: (n_steps + 1,), the baseline and the sums after each step.
    """
    falling, rising = _colours(ax)
    colours = [rising if step > 0 else falling for step in steps]
    places = np.arange(1, len(ends))
    ax.barh(places, steps, 0.7, ends[:-1], color=colours)
    black = ink(ax)
    for place, end in enumerate(ends):  # to the next bar, the last to the sum
        top = place - 0.35
        bottom = place + 1.35
        ax.plot([end, end], [top, bottom], color=black, lw=0.8, alpha=0.5)
    ax.plot(ends[[0, -1]], [0, len(ends)], "D", color=black, ms=6)


def _annotate(ax: Axes, ends: Float64Array, steps: Float64Array) -> None:
    """Write each contribution beside its bar, on the side it points to."""
    baseline = float(ends[0])
    forecast = float(ends[-1])
    width = float(np.ptp(ends)) or max(abs(baseline), 1.0)
    digits = max(0, 2 - int(np.floor(np.log10(width))))
    room = 0.16 * width
    ax.set_xlim(ends.min() - room, ends.max() + room)
    _write_beside(ax, baseline, 0, f"{baseline:,.{digits}f}")
    for place, step in enumerate(steps, 1):
        text = f"{step:+,.{digits}f}"
        _write_beside(ax, ends[place], place, text, points_right=step > 0)
    _write_beside(ax, forecast, len(ends), f"{forecast:,.{digits}f}")


def _write_beside(ax: Axes, x: float, place: int, text: str, *, points_right: bool = True) -> None:
    """Write a number beside the end of a bar."""
    ax.annotate(
        text.replace("-", "−"),
        (x, place),
        (7 if points_right else -5, 0),
        textcoords="offset points",
        color=ink(ax),
        fontsize="small",
        va="center",
        ha="left" if points_right else "right",
    )


def _draw_heatmap(ax: Axes, table: pd.DataFrame, label: str) -> None:
    """Colour a row for each source by what it gives at each time."""
    from matplotlib.colors import LinearSegmentedColormap

    sources = table.iloc[:, 1:]
    values = sources.to_numpy()
    falling, rising = _colours(ax)
    ground = shade(ax, falling, 0.0)
    mixed: Any = [falling, ground, rising]
    colours = LinearSegmentedColormap.from_list("", mixed)
    limit = float(np.quantile(np.abs(values), 0.995)) or 1.0
    places = np.arange(sources.shape[1])
    mesh = ax.pcolormesh(
        timestamps(table.index),
        places,
        values.T,
        shading="nearest",
        rasterized=True,
        cmap=colours,
        vmin=-limit,
        vmax=limit,
    )
    ax.set_yticks(places, list(sources.columns))
    ax.set_ylim(sources.shape[1] - 0.5, -0.5)
    time_axis(ax, table.index)
    colour_bar(mesh, [ax], label, "both")


def _colours(ax: Axes) -> tuple[str, str]:
    """Return a colour for what lowers and one for what raises, apart for the colour-blind too."""
    if is_dark(ax):
        return "#5aa9e6", "#f2a65a"
    return "#2166ac", "#c85200"
