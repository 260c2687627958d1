"""ErrorDisplay and CoverageDisplay: what forecasts reached, by step ahead, hour, or any group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

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


_GROUPS = {
    "ahead": "steps ahead",
    "hour": "hour of the day",
    **dict.fromkeys(("day_of_week", "dayofweek", "weekday"), "day of the week"),
    "None": "group",
}
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
#: More points than that are drawn without markers.
_MARKED = 50


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
    by_number = pd.api.types.is_numeric_dtype(table.index)
    places = table.index if by_number else np.arange(len(table))
    style: dict[str, Any] = {"ms": 4} if by_number else {"ls": ""}
    lines = []
    for i, name in enumerate(table):
        points = (places, table[name]) if by_number else (table[name], places)
        marker = "" if by_number and len(table) > _MARKED else mark(i)
        lines += ax.plot(*points, marker=marker, label=name, **style)
    if by_number:
        _rule_numbers(ax, groups)
        label_side(ax, label)
    else:
        ax.set_yticks(places, [str(name) for name in table.index])
        ax.invert_yaxis()  # the first on top, as in the table
        ax.set(xlabel=label, ylabel=groups)
    ax.grid(axis="y" if by_number else "both", color=ink(ax), alpha=0.15)
    if zero and np.nanmin(table.to_numpy(dtype=np.float64)) >= 0:
        (ax.set_ylim if by_number else ax.set_xlim)(0)
    elif zero:
        (ax.axhline if by_number else ax.axvline)(0, color=ink(ax), lw=0.8, zorder=1)
    if table.shape[1] > 1:
        legend_above(ax)
    return lines


def _rule_numbers(ax: Axes, groups: str) -> None:
    """Name the groups below, with ticks where one looks for them."""
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel(groups)
    if groups == _GROUPS["dayofweek"]:
        ax.set_xticks(range(7), _DAYS)
    elif groups == _GROUPS["hour"]:
        ax.set_xticks(range(0, 24, 3))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 4, 5, 10]))


#: What `from_estimator` asks for if nothing is said: intervals of 50, 80 and 90 %, and the median.
_LEVELS = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]
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
    _levels = _LEVELS

    def __init__(
        self, reached: pd.DataFrame, *, kind: str = "coverage", by: str | None = None
    ) -> None:
        check_choice("kind", kind, _SHARES)
        self.reached, self.kind, self.by = reached, kind, by

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
        groups = None if by is None else getattr(by, "__name__", "group") if callable(by) else by
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
        several = len(self.reached["result"].unique()) > 1
        ax = self._take_axes(ax, (7, 4) if self.by else (7, 5) if several else (5, 5))
        self.lines_ = self._draw_line(ax) if self.by is None else self._draw_groups(ax)
        return self

    def _draw_line(self, ax: Axes) -> list[Line2D]:
        ax.plot([0, 1], [0, 1], color=ink(ax), lw=1, ls="--", label="nominal")
        lines = []
        for i, (name, part) in enumerate(self.reached.groupby("result", sort=False)):
            points, label = (part["nominal"], part["reached"]), name or "reached"
            lines += ax.plot(*points, marker=mark(i), ms=5, label=label)
        for axis in (ax.xaxis, ax.yaxis):
            show_percent(axis)
        share = f"share {_SHARES[self.kind]}"
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=f"nominal: {share}")
        label_side(ax, f"reached: {share}")
        ax.grid(color=ink(ax), alpha=0.15)
        legend_above(ax)
        return lines

    def _draw_groups(self, ax: Axes) -> list[Line2D]:
        """Draw a line for each share of one result, or for each result of one share."""
        names = list(self.reached["result"].unique())
        requested = np.sort(self.reached["nominal"].unique())
        alone = len(names) == 1
        if not alone:  # more lines, of several shares, could not be told apart
            requested = requested[-1:]
        part = self.reached[self.reached["nominal"].isin(requested)]
        lined, order = ("nominal", requested[::-1]) if alone else ("result", names)
        table = part.pivot_table(index="group", columns=lined, values="reached")[order]
        if alone:
            table.columns = [f"{100 * each:.3g} % nominal" for each in order]
        nominal = "" if alone else f"; nominal: {100 * requested[0]:.3g} %"
        label = f"share {_SHARES[self.kind]}{nominal}"
        lines = draw_groups(ax, table, label, group_label(self.by))
        numbers = pd.api.types.is_numeric_dtype(table.index)
        for i, share in enumerate(requested[::-1]):
            colour, label = lines[i].get_color() if alone else ink(ax), "_" if i else "nominal"
            (ax.axhline if numbers else ax.axvline)(share, color=colour, lw=1, ls="--", label=label)
        show_percent(ax.yaxis if numbers else ax.xaxis)
        legend_above(ax)
        return lines


def central_pairs(levels: Iterable[float]) -> list[tuple[float, float]]:
    """Return the ascending levels of which two make an interval around 0.5, the widest first."""
    return [(low, high) for low, high in combinations(levels, 2) if abs(low + high - 1) < 1e-9]


def _count(name: str, table: pd.DataFrame, kind: str, by: Any) -> pd.DataFrame:
    """Count truths, by group and share that was requested."""
    known = table[table["actual"].notna()]
    actual, columns = known["actual"], quantile_columns(known)
    if not columns:
        raise ValueError(
            "results hold no quantiles. Make them by backtest(..., levels=[0.1, 0.9]) or "
            "coverage=0.8."
        )
    below = {level: actual <= known[column] for level, column in columns.items()}
    pairs = central_pairs(columns)
    if kind == "coverage" and not pairs:
        raise ValueError(
            f"results hold the levels {list(columns)}, of which no two make an interval. Draw "
            "kind='levels', or add levels on the other side of 0.5."
        )
    inside = {
        round(high - low, 9): (known[columns[low]] <= actual) & below[high]
        for low, high in reversed(pairs)
    }
    counted = inside if kind == "coverage" else below
    group = np.zeros(len(known)) if by is None else group_key(known, by).to_numpy()
    shares = pd.DataFrame(counted).groupby(group).mean().rename_axis("group")
    tidy = shares.melt(var_name="nominal", value_name="reached", ignore_index=False)
    return tidy.reset_index().astype({"nominal": float}).assign(result=name)


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
        self.errors, self.label = errors, label

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
        groups = {name: summary(table, by) for name, table in tables.items()}
        for table in groups.values():
            check_choice("score", score, set(_ERRORS) & set(table.columns))
        errors = pd.DataFrame({name: table[score] for name, table in groups.items()})
        errors.index.name = next(iter(groups.values())).index.name
        targets = pd.concat([table["target"] for table in tables.values()]).unique()
        of = f" of {targets[0]}" if len(targets) == 1 else ""
        return cls(errors, label=with_unit(_ERRORS[score] + of, unit)).plot(ax=ax)

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
