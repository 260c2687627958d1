"""ContributionDisplay: what each column, or group of columns, gives to forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, with_unit
from skinformer.display.over_time import say_when, time_axis
from skinformer.display.style import colour_bar, ink, is_dark, shade
from skinformer.evaluation.explain import explain
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import timestamps
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Sources that have a bar or a row of their own; those that give less are drawn together.
_MOST = 10
#: Share of the largest mean size below which nothing would be seen.
_INVISIBLE = 0.002
_KINDS = ("waterfall", "heatmap")


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
        self.contributions, self.target, self.unit = contributions, target, unit

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
        return cls(table.sort_index(), target=target, unit=unit).plot(kind=kind, time=time, ax=ax)

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
        check_choice("kind", kind, _KINDS)
        table, waterfall = self.contributions, kind == "waterfall"
        if waterfall and time is not None:
            table = _rows_at(table, time)
        self.drawn_ = _largest(table)
        height = 1.6 + 0.35 * self.drawn_.shape[1]
        ax = self._take_axes(ax, (9, height) if waterfall else (10, height + 0.4))
        target = self.target if waterfall else f"given to {self.target or 'the forecast'}"
        draw = _draw_waterfall if waterfall else _draw_heatmap
        draw(ax, self.drawn_, with_unit(target, self.unit))
        return self


def _check_reasons(reasons: Any) -> None:
    """Raise if a frame is not what `explain` gives of one series."""
    needed = ("time", "target", "source", "contribution")
    lacking = [each for each in needed if each not in getattr(reasons, "columns", ())]
    if lacking:
        raise ValueError(
            f"reasons lack the column {lacking[0]!r}: a picture is made of what `explain` gives. "
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
    baseline, others = table.iloc[:, :1], table.iloc[:, 1:]
    size = others.abs().mean()
    others = others.loc[:, size > _INVISIBLE * size.max()]
    if others.shape[1] > _MOST:
        kept = others.columns.isin(size.nlargest(_MOST - 1).index)
        rest = others.loc[:, ~kept]
        together = {f"{rest.shape[1]} others together": rest.sum(axis=1)}
        others = others.loc[:, kept].assign(**together)
    return baseline.join(others)


def _draw_waterfall(ax: Axes, table: pd.DataFrame, label: str) -> None:
    """Let each bar begin where the one above ended, from the baseline to the forecast."""
    baseline, given = table.columns[0], table.mean()
    steps = given.iloc[1:].sort_values(key=np.abs, ascending=False)
    ends = np.cumsum([given.iloc[0], *steps])
    colours = [_colours(ax)[int(step > 0)] for step in steps]
    ax.barh(np.arange(1, len(ends)), steps, 0.7, ends[:-1], color=colours)
    for place, end in enumerate(ends):  # to the next bar, the last to the sum
        ax.plot([end, end], [place - 0.35, place + 1.35], color=ink(ax), lw=0.8, alpha=0.5)
    ax.plot(ends[[0, -1]], [0, len(ends)], "D", color=ink(ax), ms=6)
    _annotate(ax, ends, steps.to_numpy())
    names = [f"{baseline}: usual past", *steps.index, "forecast"]
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(label if len(table) == 1 else f"{label}, mean of {len(table)} forecasts")
    if len(table) == 1:
        ax.set_title(say_when(table.index), color=ink(ax), fontsize="medium")
    ax.grid(axis="x", color=ink(ax), alpha=0.15)
    ax.set_axisbelow(True)


def _annotate(ax: Axes, ends: Float64Array, steps: Float64Array) -> None:
    """Write each contribution beside its bar, on the side it points to."""
    width = float(np.ptp(ends)) or max(abs(float(ends[0])), 1.0)
    digits = max(0, 2 - int(np.floor(np.log10(width))))
    ax.set_xlim(ends.min() - 0.16 * width, ends.max() + 0.16 * width)
    texts = [f"{ends[0]:,.{digits}f}", *(f"{step:+,.{digits}f}" for step in steps)]
    texts.append(f"{ends[-1]:,.{digits}f}")
    points_right = [True, *(steps > 0), True]
    for place, text in enumerate(texts):
        side = "left" if points_right[place] else "right"
        end = ends[min(place, len(ends) - 1)]
        offset = (7 if points_right[place] else -5, 0)
        style: dict[str, Any] = {"color": ink(ax), "fontsize": "small", "va": "center", "ha": side}
        signed = text.replace("-", "−")
        ax.annotate(signed, (end, place), offset, textcoords="offset points", **style)


def _draw_heatmap(ax: Axes, table: pd.DataFrame, label: str) -> None:
    """Colour a row for each source by what it gives at each time."""
    from matplotlib.colors import LinearSegmentedColormap

    values = table.iloc[:, 1:]
    low, high = _colours(ax)
    colours = LinearSegmentedColormap.from_list("", [low, shade(ax, low, 0.0), high])
    limit = float(np.quantile(np.abs(values.to_numpy()), 0.995)) or 1.0
    places = np.arange(values.shape[1])
    scale: dict[str, Any] = {"cmap": colours, "vmin": -limit, "vmax": limit}
    given = timestamps(table.index), places, values.to_numpy().T
    mesh = ax.pcolormesh(*given, shading="nearest", rasterized=True, **scale)
    ax.set_yticks(places, list(values.columns))
    ax.set_ylim(values.shape[1] - 0.5, -0.5)
    time_axis(ax, table.index)
    colour_bar(mesh, [ax], label, "both")


def _colours(ax: Axes) -> tuple[Any, Any]:
    """Return a colour for what lowers and one for what raises, apart for the colour-blind too."""
    return ("#5aa9e6", "#f2a65a") if is_dark(ax) else ("#2166ac", "#c85200")
