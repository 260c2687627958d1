"""ErrorDisplay: how large errors are, by step ahead, hour of day or any group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from skinformer.display.axes import Display, take_axes, with_unit
from skinformer.display.groups import draw_groups, group_label
from skinformer.evaluation.backtest import backtest
from skinformer.evaluation.comparison import named_results, summary
from skinformer.validation.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_WORDS = {
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "bias": "mean forecast less actual",
    "pinball": "pinball loss",
    "width": "width of the interval",
}


class ErrorDisplay(Display):
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
        check_choice("score", score, _WORDS)
        tables = named_results(results, "time", "target", "actual", "forecast")
        groups = {name: summary(table, by) for name, table in tables.items()}
        for table in groups.values():
            check_choice("score", score, set(_WORDS) & set(table.columns))
        errors = pd.DataFrame({name: table[score] for name, table in groups.items()})
        errors.index.name = next(iter(groups.values())).index.name
        targets = pd.concat([table["target"] for table in tables.values()]).unique()
        of = f" of {targets[0]}" if len(targets) == 1 else ""
        return cls(errors, label=with_unit(_WORDS[score] + of, unit)).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: pd.DataFrame,
        y: pd.Series | pd.DataFrame | None = None,
        *,
        by: str | Callable[[Any], Any] = "ahead",
        score: str = "mae",
        unit: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """
        Forecast X from rolling origins and draw the errors.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline or any regressor
            Fitted on the rows before X.
        X : DataFrame of shape (n_samples, n_features)
            Rows that follow the training rows.
        y : Series or DataFrame, default=None
            The truth, as in `backtest`.
        by : str or callable, default="ahead"
            Groups, as in `summary`.
        score : {"mae", "rmse", "bias", "pinball", "width"}, default="mae"
            Which of its columns; the last two need levels.
        unit : str, default=None
            Of the truth, for the label of the axis.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : Any
            Of `backtest`: start, horizon, step, known_future, refit, levels, coverage.

        Returns
        -------
        ErrorDisplay
            Drawn.
        """
        result = backtest(estimator, X, y, **options)
        return cls.from_predictions(result, by=by, score=score, unit=unit, ax=ax)

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
        ax = take_axes(self, ax, (7, 4))
        groups = group_label(self.errors.index.name)
        self.lines_ = draw_groups(ax, self.errors, self.label, groups, zero=True)
        return self._drawn_on(ax)
