"""ErrorDisplay and CoverageDisplay: what forecasts reached, by step ahead, hour, or any group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import label_side, with_unit
from skinformer.display.backtested import BacktestDisplay
from skinformer.display.style import ink, legend_above, mark, show_percent
from skinformer.evaluation.comparison import group_key, named_results, quantile_columns, summary
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


_DAY_OF_WEEK = "day of the week"
_HOUR = "hour of the day"
_GROUPS = {
    "ahead": "steps ahead",
    "hour": _HOUR,
    "day_of_week": _DAY_OF_WEEK,
    "dayofweek": _DAY_OF_WEEK,
    "weekday": _DAY_OF_WEEK,
    "None": "group",
}


def group_label(name: Any) -> str:
    """
    Return the label of an axis for groups.

    Parameters
    ----------
    name : Any
        What `summary` calls them.

    Returns
    -------
    str
        In words.

    Examples
    --------
    >>> group_label("ahead")
    'steps ahead'
    """
    return _GROUPS.get(str(name), str(name))


def draw_groups(
    ax: Axes, table: pd.DataFrame, label: str, groups: str, *, zero: bool = False
) -> list[Line2D]:
    """
    Draw a line for each column: over numbers, or, as points, below one another.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    table : DataFrame of shape (n_groups, n_lines)
        What is drawn; a single column needs no legend.
    label : str
        Of the values.
    groups : str
        Of the groups, from `group_label`.
    zero : bool, default=False
        Whether the axis of values begins at zero, or shows it.

    Returns
    -------
    list of matplotlib Line2D
        One for each column.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> table = pd.DataFrame({"mae": [1.0, 3.0]}, index=[1, 2])
    >>> draw_groups(Figure().subplots(), table, "error", "steps ahead")[0].get_ydata()
    array([1., 3.])
    """
    if pd.api.types.is_numeric_dtype(table.index):
        lines = _draw_over_numbers(ax, table)
        _rule_numbers(ax, groups)
        label_side(ax, label)
        ax.grid(axis="y", color=ink(ax), alpha=0.15)
    else:
        lines = _draw_below_one_another(ax, table)
        ax.set_xlabel(label)
        ax.set_ylabel(groups)
        ax.grid(axis="both", color=ink(ax), alpha=0.15)
    if zero:
        _show_zero(ax, table)
    if table.shape[1] > 1:
        legend_above(ax)
    return lines


def _draw_over_numbers(ax: Axes, table: pd.DataFrame) -> list[Line2D]:
    """Draw a line for each column over the groups; many points have no markers."""
    most_marked = 50
    lines = []
    for i, name in enumerate(table):
        marker = mark(i) if len(table) <= most_marked else ""
        lines += ax.plot(table.index, table[name], marker=marker, label=name, ms=4)
    return lines


def _draw_below_one_another(ax: Axes, table: pd.DataFrame) -> list[Line2D]:
    """Draw points for each column, a row of the picture for each group."""
    places = np.arange(len(table))
    lines = []
    for i, name in enumerate(table):
        lines += ax.plot(table[name], places, marker=mark(i), label=name, ls="")
    ax.set_yticks(places, [str(name) for name in table.index])
    ax.invert_yaxis()  # the first on top, as in the table
    return lines


def _show_zero(ax: Axes, table: pd.DataFrame) -> None:
    """Let the axis of values begin at zero; where some are below it, draw a line there."""
    by_number = pd.api.types.is_numeric_dtype(table.index)
    smallest = np.nanmin(table.to_numpy(dtype=np.float64))
    if smallest >= 0:
        set_limit = ax.set_ylim if by_number else ax.set_xlim
        set_limit(0)
    else:
        draw_zero = ax.axhline if by_number else ax.axvline
        draw_zero(0, color=ink(ax), lw=0.8, zorder=1)


def _rule_numbers(ax: Axes, groups: str) -> None:
    """Label the groups below, with ticks at usual hours and days."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(groups)
    if groups == _DAY_OF_WEEK:
        ax.set_xticks(range(7), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    elif groups == _HOUR:
        ax.set_xticks(range(0, 24, 3))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 4, 5, 10]))


_SHARES = {"coverage": "of the truth inside", "levels": "of the truth at or below"}


class CoverageDisplay(BacktestDisplay):
    """
    Draw the share of truths in intervals, or below quantiles, against what was requested.

    scikit-learn's `CalibrationDisplay` judges probabilities of classes; this one, ranges.

    Parameters
    ----------
    reached : DataFrame
        Rows of ``result`` (its name), ``nominal`` and ``reached`` (shares in [0, 1]), and, to be
        drawn by groups, ``group``.
    kind : {"coverage", "levels"}, default="coverage"
        Whether of intervals or of quantiles.
    by : str, default=None
        What the groups are; None is nominal against reached.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each result; by groups, of a single result, for each share.

    See Also
    --------
    skinformer.evaluation.interval_coverage : The same of one interval, as a number.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import CoverageDisplay
    >>> result = pd.DataFrame({"actual": [1.0, 2, 3, 9], "q0.1": [0.0] * 4, "q0.9": [5.0] * 4})
    >>> CoverageDisplay.from_predictions(result).reached[["nominal", "reached"]].values.tolist()
    [[0.8, 0.75]]
    """

    lines_: list[Line2D]
    # Intervals of 50, 80 and 90 %, and the median.
    _levels: ClassVar[list[float] | None] = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]

    def __init__(
        self, reached: pd.DataFrame, *, kind: str = "coverage", by: str | None = None
    ) -> None:
        check_choice("kind", kind, _SHARES)
        self.reached = reached
        self.kind = kind
        self.by = by

    @classmethod
    def from_predictions(
        cls,
        results: pd.DataFrame | Mapping[Any, pd.DataFrame],
        *,
        kind: str = "coverage",
        by: str | Callable[[Any], Any] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Draw the coverage of what was forecast.

        Parameters
        ----------
        results : DataFrame, or mapping of str to DataFrame
            From `backtest` with `levels` or `coverage`, or several by name: columns ``actual`` and
            ``q0.05`` and so on. ``dict(list(result.groupby("series")))`` draws each series.
        kind : {"coverage", "levels"}, default="coverage"
            Intervals between two levels as far from 0.5, or each level.
        by : str or callable, default=None
            Groups, as in `summary`, such as "ahead", to see whether the share is reached in each;
            of several results the highest share alone.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CoverageDisplay
            Drawn.
        """
        check_choice("kind", kind, _SHARES)
        tables = named_results(results, "actual")
        counted = [_count(name, table, kind, by) for name, table in tables.items()]
        reached = pd.concat(counted, ignore_index=True)
        groups = getattr(by, "__name__", "group") if callable(by) else by
        return cls(reached, kind=kind, by=groups).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw requested against reached, or what was reached by groups.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        CoverageDisplay
            Itself, with `ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_results = len(self.reached["result"].unique())
        width = 7 if self.by or n_results > 1 else 5
        ax = self._take_axes(ax, (width, 4 if self.by else 5))
        if self.by is None:
            self.lines_ = self._draw_shares(ax)
        elif n_results == 1:
            self.lines_ = self._draw_groups_of_one(ax)
        else:
            self.lines_ = self._draw_groups_of_several(ax)
        return self

    def _draw_shares(self, ax: Axes) -> list[Line2D]:
        """Draw reached against nominal shares, a line for each result."""
        ax.plot([0, 1], [0, 1], color=ink(ax), lw=1, ls="--", label="nominal")
        lines = []
        for i, (name, part) in enumerate(self.reached.groupby("result", sort=False)):
            label = name or "reached"
            lines += ax.plot(part["nominal"], part["reached"], marker=mark(i), ms=5, label=label)
        show_percent(ax.xaxis)
        show_percent(ax.yaxis)
        share = f"share {_SHARES[self.kind]}"
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=f"nominal: {share}")
        label_side(ax, f"reached: {share}")
        ax.grid(color=ink(ax), alpha=0.15)
        legend_above(ax)
        return lines

    def _draw_groups_of_one(self, ax: Axes) -> list[Line2D]:
        """Draw what one result reached by groups, a line for each share, the highest first."""
        table = self.reached.pivot_table(index="group", columns="nominal", values="reached")
        table = table[table.columns[::-1]]
        shares = [float(share) for share in table.columns]
        table.columns = [_nominal(share) + " nominal" for share in shares]
        lines = draw_groups(ax, table, f"share {_SHARES[self.kind]}", group_label(self.by))
        for i, share in enumerate(shares):
            _draw_nominal(ax, table, share, lines[i].get_color(), "_" if i else "nominal")
        _explain_shares(ax, table)
        return lines

    def _draw_groups_of_several(self, ax: Axes) -> list[Line2D]:
        """Draw the highest share alone by groups, a line for each result."""
        share = self.reached["nominal"].max()
        part = self.reached[self.reached["nominal"] == share]
        names = list(self.reached["result"].unique())
        table = part.pivot_table(index="group", columns="result", values="reached")[names]
        label = f"share {_SHARES[self.kind]}; nominal: {_nominal(share)}"
        lines = draw_groups(ax, table, label, group_label(self.by))
        _draw_nominal(ax, table, share, ink(ax), "nominal")
        _explain_shares(ax, table)
        return lines


def _nominal(share: float) -> str:
    return f"{100 * share:.3g} %"


def _draw_nominal(ax: Axes, table: pd.DataFrame, share: float, colour: Any, label: str) -> None:
    """Draw a line at a share that was requested."""
    by_number = pd.api.types.is_numeric_dtype(table.index)
    draw = ax.axhline if by_number else ax.axvline
    draw(share, color=colour, lw=1, ls="--", label=label)


def _explain_shares(ax: Axes, table: pd.DataFrame) -> None:
    """Show shares by groups in percent, and explain the lines."""
    by_number = pd.api.types.is_numeric_dtype(table.index)
    show_percent(ax.yaxis if by_number else ax.xaxis)
    legend_above(ax)


def central_pairs(levels: Iterable[float]) -> list[tuple[float, float]]:
    """Return the ascending levels of which two make an interval around 0.5, the widest first."""
    return [(low, high) for low, high in combinations(levels, 2) if abs(low + high - 1) < 1e-9]


def _count(name: str, table: pd.DataFrame, kind: str, by: Any) -> pd.DataFrame:
    """Count truths, by group and share that was requested."""
    known = table[table["actual"].notna()]
    columns = quantile_columns(known)
    if not columns:
        raise ValueError(
            "results hold no quantiles. Make them by backtest(..., levels=[0.1, 0.9]) or "
            "coverage=0.8."
        )
    is_reached = _is_inside(known, columns) if kind == "coverage" else _is_below(known, columns)
    groups = np.zeros(len(known)) if by is None else group_key(known, by).to_numpy()
    shares = pd.DataFrame(is_reached).groupby(groups).mean().rename_axis("group")
    counted = shares.melt(var_name="nominal", value_name="reached", ignore_index=False)
    return counted.reset_index().astype({"nominal": float}).assign(result=name)


def _is_below(known: pd.DataFrame, columns: dict[float, str]) -> dict[float, pd.Series]:
    """Return by level whether truths are at or below its quantile."""
    return {level: known["actual"] <= known[column] for level, column in columns.items()}


def _is_inside(known: pd.DataFrame, columns: dict[float, str]) -> dict[float, pd.Series]:
    """Return by nominal coverage, ascending, whether truths are in the interval."""
    pairs = central_pairs(columns)
    if not pairs:
        raise ValueError(
            f"results hold the levels {list(columns)}, of which no two make an interval. Draw "
            "kind='levels', or add levels on the other side of 0.5."
        )
    inside = {}
    for low, high in reversed(pairs):
        coverage = round(high - low, 9)
        lower = known[columns[low]]
        upper = known[columns[high]]
        inside[coverage] = known["actual"].between(lower, upper)
    return inside


_ERRORS = {
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "bias": "mean forecast less actual",
    "pinball": "pinball loss",
    "width": "width of the interval",
}


class ErrorDisplay(BacktestDisplay):
    """
    Draw errors of one backtest or several by step ahead, hour of day, series, or any group.

    Make one by `from_predictions` or `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    errors : DataFrame of shape (n_groups, n_results)
        A column for each result, such as ``summary(result)["mae"]``. Groups that are no numbers
        are drawn below one another.
    label : str, default="mean absolute error"
        What they are, and their unit.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each result.

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

    lines_: list[Line2D]

    def __init__(self, errors: pd.DataFrame, *, label: str = "mean absolute error") -> None:
        self.errors = errors
        self.label = label

    @classmethod
    def from_predictions(
        cls,
        results: pd.DataFrame | Mapping[Any, pd.DataFrame],
        *,
        by: str | Callable[[Any], Any] = "ahead",
        score: str = "mae",
        unit: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Draw errors of what was forecast.

        Parameters
        ----------
        results : DataFrame, or mapping of str to DataFrame
            From `backtest`, or several by name. ``dict(list(result.groupby("series")))`` draws a
            line for each series.
        by : str or callable, default="ahead"
            Groups, as in `summary`: "ahead", "series", "target", "hour", "day_of_week", "month", or
            a function of the index of times.
        score : {"mae", "rmse", "bias", "pinball", "width"}, default="mae"
            Which of its columns.
        unit : str, default=None
            Of the truth, for the label of the axis.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ErrorDisplay
            Drawn.
        """
        check_choice("score", score, _ERRORS)
        tables = named_results(results, "time", "target", "actual", "forecast")
        summaries = {name: summary(table, by) for name, table in tables.items()}
        columns = {}
        for name, table in summaries.items():
            check_choice("score", score, set(_ERRORS) & set(table.columns))
            columns[name] = table[score]
        errors = pd.DataFrame(columns)
        errors.index.name = table.index.name
        label = _ERRORS[score]
        targets = pd.concat([table["target"] for table in tables.values()]).unique()
        if len(targets) == 1:
            label += f" of {targets[0]}"
        return cls(errors, label=with_unit(label, unit)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """
        Draw a line for each result; below one another, points, where groups are no numbers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ErrorDisplay
            Itself, with `ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = self._take_axes(ax, (7, 4))
        groups = group_label(self.errors.index.name)
        self.lines_ = draw_groups(ax, self.errors, self.label, groups, zero=True)
        return self
