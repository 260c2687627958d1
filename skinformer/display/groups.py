"""ErrorDisplay and CoverageDisplay: what forecasts reached, by step ahead, hour, or any group."""

from __future__ import annotations

from calendar import day_name
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from pandas import DataFrame
from pandas.api.types import is_numeric_dtype

from skinformer.display.axes import ink, label_side, legend_above, with_unit
from skinformer.display.backtested import BacktestDisplay
from skinformer.evaluation.comparison import (
    group_key,
    named_results,
    quantile_columns,
    summary,
)
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


#: Of lines, so that eight differ on paper, too.
_MARKERS = "os^DvPX*"
#: Names of groups in words, where `summary` has others.
GROUPS = {
    "ahead": "steps ahead",
    "hour": "hour of the day",
    "day_of_week": "day of the week",
}


def draw_groups(
    ax: Axes,
    table: DataFrame,
    label: str,
    across: Iterable[float] = (0,),
    *,
    percent: bool = False,
) -> list[Line2D]:
    """
    Draw a line for each column: over numbers, or, as points, below one another.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    table : DataFrame of shape (n_groups, n_lines)
        What is drawn; the index has the name of the groups, and a single column needs no legend.
    label : str
        Of the values.
    across : iterable of float, default=(0,)
        Values that have a dashed line.
    percent : bool, default=False
        Whether values are shares, shown in percent.

    Returns
    -------
    list of matplotlib Line2D
        One for each column.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"mae": [1.0, 3.0]}, index=[1, 2])
    >>> draw_groups(Figure().subplots(), table, "error")[0].get_ydata()
    array([1., 3.])
    """
    groups: Any = table.index.name
    if groups == "day_of_week":
        table = table.rename(index=dict(enumerate(day_name)))
    groups = GROUPS.get(groups, groups)
    by_number = is_numeric_dtype(table.index)
    if by_number:
        lines = _draw_over_numbers(ax, table)
        ax.set_xlabel(groups)
        label_side(ax, label)
    else:
        lines = _draw_below_one_another(ax, table)
        ax.set(xlabel=label, ylabel=groups)
    ax.grid(axis="y", color=ink(ax), alpha=0.15)
    draw_across = ax.axhline if by_number else ax.axvline
    for value in across:
        draw_across(value, color=ink(ax), lw=1, ls="--", zorder=1)
    if percent:
        values = ax.yaxis if by_number else ax.xaxis
        values.set_major_formatter("{x:.0%}")
    if len(lines) > 1:
        legend_above(ax)
    return lines


def _draw_over_numbers(ax: Axes, table: DataFrame) -> list[Line2D]:
    """Draw a line for each column over the groups."""
    spacing = len(table) // 50 + 1  # of markers
    lines = []
    for marker, name in zip(cycle(_MARKERS), table):
        column = table[name]
        lines += ax.plot(column, marker=marker, ms=4, markevery=spacing, label=name)
    ax.locator_params(axis="x", integer=True, steps=[1, 2, 3, 6, 10])
    return lines


def _draw_below_one_another(ax: Axes, table: DataFrame) -> list[Line2D]:
    """Draw points for each column, a row of the picture for each group."""
    names = table.index.map(str)
    lines = []
    for marker, name in zip(cycle(_MARKERS), table):
        lines += ax.plot(table[name], names, marker, label=name)
    ax.invert_yaxis()  # the first on top, as in the table
    return lines


@dataclass(eq=False, repr=False)
class CoverageDisplay(BacktestDisplay):
    """
    Plot the share of actual values inside intervals over the requested coverage.

    It is for prediction intervals what scikit-learn's `CalibrationDisplay` is for probabilities of
    classes.

    Parameters
    ----------
    reached : DataFrame
        Rows of ``result`` (its name), ``nominal`` and ``reached`` (shares in [0, 1]), and, to be
        drawn by groups, ``group``.
    by : str, default=None
        Name of the groups; None plots the coverage that was reached over the nominal one.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.
    lines_ : list of matplotlib Line2D
        The lines: one per result, or, by groups, one per coverage of a single result.

    See Also
    --------
    skinformer.evaluation.interval_coverage : The coverage of one interval as a number.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import CoverageDisplay
    >>> result = pd.DataFrame({"actual": [1.0, 2, 3, 9], "q0.1": [0.0] * 4, "q0.9": [5.0] * 4})
    >>> CoverageDisplay.from_predictions(result).reached[["nominal", "reached"]].values.tolist()
    [[0.8, 0.75]]
    """

    reached: DataFrame
    _: KW_ONLY
    by: str | None = None

    @classmethod
    def from_predictions(
        cls,
        results: DataFrame | Mapping[Any, DataFrame],
        *,
        by: str | Callable[[Any], Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the coverage of backtests.

        Parameters
        ----------
        results : DataFrame, or mapping of str to DataFrame
            A result of `backtest` with `levels` or `coverage`, or several by name. Use
            ``dict(list(result.groupby("series")))`` to draw each series.
        by : str or callable, default=None
            Groups as in `summary`, such as "ahead", to plot the coverage of each group. For several
            results only the highest coverage is drawn.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        CoverageDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If results are not those of `backtest`, or if none of their levels form an interval.
        """
        tables = named_results(results, "actual")
        counted = [
            _count(table, by).assign(result=name) for name, table in tables.items()
        ]
        groups: Any = getattr(by, "__name__", by)
        return cls(pd.concat(counted), by=groups).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw the coverage that was reached over the nominal coverage, or by groups.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        CoverageDisplay
            The display, with `ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        label = "coverage: share of actual values inside"
        if self.by is not None:
            (ax,) = self._take_axes(ax, (7, 4))
            self.lines_ = self._draw_groups(ax, label)
            return self
        (ax,) = self._take_axes(ax, (5, 5))
        table = self.reached.pivot_table("reached", "nominal", "result", sort=False)
        self.lines_ = draw_groups(
            ax, table, f"observed {label}", across=(), percent=True
        )
        ax.axline((0, 0), slope=1, color=ink(ax), lw=1, ls="--")
        ticks = np.linspace(0, 1, 6)
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, aspect="equal")
        ax.set_xlabel("nominal coverage (dashed line)")
        ax.xaxis.set_major_formatter("{x:.0%}")
        return self

    def _draw_groups(self, ax: Axes, label: str) -> list[Line2D]:
        """Draw a line for each share of one result, or for each result the highest share."""
        reached = self.reached
        columns = "nominal"
        if len(reached["result"].unique()) > 1:
            highest = reached["nominal"].max()
            reached = reached[reached["nominal"] == highest]
            columns = "result"
        table = reached.pivot_table("reached", "group", columns, sort=False)
        table.index.name = self.by
        if columns == "nominal":
            table.columns = (100 * table.columns).map("{:g}% nominal".format)
        nominal = reached["nominal"].unique()
        return draw_groups(
            ax, table, f"{label} (dashed: nominal)", nominal, percent=True
        )


def central_pairs(levels: Iterable[float]) -> list[tuple[float, float]]:
    """Return the ascending levels of which two make an interval around 0.5, the widest first."""
    pairs = combinations(levels, 2)
    return [(low, high) for low, high in pairs if abs(low + high - 1) < 1e-9]


def _count(table: DataFrame, by: Any) -> DataFrame:
    """Count truths in intervals, by group and nominal share, ascending."""
    known = table[table["actual"].notna()]
    columns = quantile_columns(known)
    is_inside = {}
    for low, high in reversed(central_pairs(columns)):
        lower = known[columns[low]]
        upper = known[columns[high]]
        nominal = round(high - low, 9)
        is_inside[nominal] = known["actual"].between(lower, upper)
    if not is_inside:
        raise ValueError(
            f"results have the levels {list(columns)}, but no two of them form an "
            "interval around 0.5. Make results by backtest(..., coverage=[0.5, 0.8])."
        )
    groups = np.zeros(len(known))
    if by is not None:
        groups = group_key(known, by).to_numpy()
    shares = DataFrame(is_inside).groupby(groups).mean().rename_axis("group")
    counted = shares.melt(var_name="nominal", value_name="reached", ignore_index=False)
    return counted.reset_index()


@dataclass(eq=False, repr=False)
class ErrorDisplay(BacktestDisplay):
    """
    Plot errors of one or several backtests by step ahead, hour of day, series, or any group.

    Make it with `from_predictions` or `from_estimator`; `plot` draws it again.

    Parameters
    ----------
    errors : DataFrame of shape (n_groups, n_results)
        One column per result, such as ``summary(result)["mae"]``. Groups that are not numbers are
        drawn below one another.
    label : str, default="mean absolute error"
        Label of the axis: the score and its unit.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.
    lines_ : list of matplotlib Line2D
        The lines, one per result.

    See Also
    --------
    skinformer.evaluation.summary : The same as a table.
    skinformer.evaluation.compare : Several results by their means, and whether they differ.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import ErrorDisplay
    >>> from skinformer.evaluation import SeasonalNaive, backtest
    >>> df = pd.DataFrame({"load": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> result = backtest(SeasonalNaive().fit(df[:2]), df[2:], df["load"][2:], horizon=2)
    >>> display = ErrorDisplay.from_predictions(result, unit="MW")
    >>> display.errors.index.name, display.label
    ('ahead', 'mean absolute error of load (MW)')
    """

    errors: DataFrame
    _: KW_ONLY
    label: str = "mean absolute error"

    @classmethod
    def from_predictions(
        cls,
        results: DataFrame | Mapping[Any, DataFrame],
        *,
        by: str | Callable[[Any], Any] = "ahead",
        score: str = "mae",
        unit: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the errors of backtests.

        Parameters
        ----------
        results : DataFrame, or mapping of str to DataFrame
            A result of `backtest`, or several by name. Use
            ``dict(list(result.groupby("series")))`` to draw a line for each series.
        by : str or callable, default="ahead"
            Groups, as in `summary`: "ahead", "series", "target", "hour", "day_of_week", "month", or
            a function of the index of times.
        score : {"mae", "rmse", "bias", "pinball", "width"}, default="mae"
            The score: a column of `summary`.
        unit : str, default=None
            Unit of the actual values, for the label of the axis.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ErrorDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If results are not those of `backtest`, or do not have the score.
        """
        names = {
            "mae": "mean absolute error",
            "rmse": "root mean squared error",
            "bias": "mean forecast less actual",
            "pinball": "pinball loss",
            "width": "width of the interval",
        }
        tables = named_results(results, "time", "target", "actual", "forecast")
        errors = {}
        for name, table in tables.items():
            found = summary(table, by)
            check_choice("score", score, names.keys() & found.keys())
            errors[name] = found[score]
        label = names[score]
        targets = pd.concat(tables)["target"].unique()
        if len(targets) == 1:
            label += f" of {targets[0]}"
        return cls(DataFrame(errors), label=with_unit(label, unit)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw a line for each result, or points if groups are not numbers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ErrorDisplay
            The display, with `ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        (ax,) = self._take_axes(ax, (7, 4))
        self.lines_ = draw_groups(ax, self.errors, self.label)
        return self
