"""ForecastDisplay: forecast against actual, over time, with bands of what was to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from skinformer.display.axes import (
    first_or_chosen,
    ink,
    label_side,
    legend_above,
    with_unit,
)
from skinformer.display.backtested import BacktestDisplay
from skinformer.display.over_time import draw_bands, draw_line, rule_times
from skinformer.evaluation.comparison import quantile_columns
from skinformer.frames import to_pandas
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import timestamps
from skinformer.validation.arguments import (
    check_choice,
    check_count,
    check_fitted,
    check_levels,
    check_range_levels,
)
from skinformer.validation.columns import numeric_column
from skinformer.validation.index import time_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ForecastDisplay(BacktestDisplay):
    """
    Plot a forecast, its prediction intervals, and the actual values.

    Make it with `from_predictions`, `from_backtest` or `from_estimator`; `plot` draws it again.

    Parameters
    ----------
    actual : Series of shape (n,)
        The actual values, indexed by time; its name labels the axis. NaN, or missing rows, leave a
        gap.
    forecast : Series of shape (n_forecast,)
        The forecasts, indexed by time, or one for each row of `actual`.
    quantiles : DataFrame of shape (n_quantiles, n_levels), default=None
        The quantiles, one column for each, whose name is or ends in the level, such as 0.05 or
        "load_0.05"; indexed by time, or one row for each row of `forecast`. The lowest and the
        highest quantile are the bounds of the widest band, the next two those of the next band. A
        quantile in the middle is drawn as a line.
    unit : str, default=None
        Unit of the actual values, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of the plot.
    actual_line_ : matplotlib Line2D
        The actual values.
    line_ : matplotlib Line2D
        The forecast.
    bands_ : list of matplotlib FillBetweenPolyCollection
        The bands between quantiles, the widest first.

    See Also
    --------
    skinformer.evaluation.backtest : Makes the forecasts of `from_estimator`.
    CoverageDisplay : Whether the bands contain as many actual values as they should.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import ForecastDisplay
    >>> days = pd.date_range("2024-01-01", periods=3, freq="D")
    >>> actual = pd.Series([1.0, 2.0, 3.0], index=days, name="load")
    >>> display = ForecastDisplay(actual, actual + 1)
    >>> display.forecast.iloc[0]
    np.float64(2.0)
    """

    _from_result = "from_backtest"

    def __init__(
        self,
        actual: Series,
        forecast: Series,
        quantiles: DataFrame | None = None,
        *,
        unit: str | None = None,
    ) -> None:
        self.actual = _as_line(actual, "actual")
        self.forecast = _as_line(forecast, "forecast", DataFrame(actual).index)
        # Labels that share no axis, such as naive and aware ones, are a TypeError of Python.
        begin = timestamps(self.actual.index)[0]
        min(begin, timestamps(self.forecast.index)[0])
        self.quantiles = None if quantiles is None else _as_quantiles(quantiles)
        self.unit = unit

    @classmethod
    def from_predictions(
        cls,
        actual: Series,
        forecast: Any,
        quantiles: Any = None,
        *,
        levels: Sequence[float] | None = None,
        coverage: float | Sequence[float] | None = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot forecasts and actual values.

        Parameters
        ----------
        actual : Series of shape (n,)
            The actual values, indexed by time.
        forecast : Series, or array-like of shape (n,)
            Forecasts indexed by time, or one for each row of `actual`. Rows are drawn in the order
            of time.
        quantiles : DataFrame, or array-like of shape (n, n_levels), default=None
            The result of `predict_quantiles` or `predict_interval`, one row for each row of
            `forecast`; or a frame indexed by time, whose names of columns end in their levels.
        levels : sequence of float, default=None
            The levels of the columns of an array.
        coverage : float or sequence of float, default=None
            The coverage of an interval, in place of levels: 0.9 is ``levels=[0.05, 0.95]``. For
            several, the columns are all bounds in ascending order.
        unit : str, default=None
            Unit of the actual values, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ForecastDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the forecasts are not those of one series and target, or if quantiles and their
            levels do not fit together.
        """
        requested = check_range_levels(coverage, levels)
        if quantiles is not None:
            has_index = isinstance(forecast, Series | DataFrame)
            rows = forecast if has_index else actual
            if not isinstance(quantiles, DataFrame):
                quantiles = DataFrame(quantiles, index=rows.index)
            if len(requested):
                quantiles = quantiles.set_axis(requested.round(12), axis=1)
        return cls(actual, forecast, quantiles, unit=unit).plot(ax=ax, name=name)

    @classmethod
    def from_backtest(
        cls,
        result: DataFrame,
        *,
        target: Any = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot a result of `backtest`, with bands if it has quantiles.

        Parameters
        ----------
        result : DataFrame
            A result of `backtest`, of one series, with one forecast for each time.
        target : str, default=None
            The target to draw; None is the first.
        unit : str, default=None
            Unit of the actual values, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ForecastDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the result is not one of `backtest`, or not that of one series and target.
        """
        result = to_pandas(result)
        target, result = cls._rows_of_target(result, target)
        names = ["series", "time"] if "series" in result else "time"
        table = result.set_index(names)
        actual = table["actual"].rename(target)
        columns = list(quantile_columns(table).values())
        quantiles = table[columns] if columns else None
        display = cls(actual, table["forecast"], quantiles, unit=unit)
        return display.plot(ax=ax, name=name)

    @classmethod
    def from_history(
        cls,
        estimator: Any,
        X: Any = None,
        horizon: int | None = None,
        *,
        series: Any = None,
        target: Any = None,
        coverage: float | Sequence[float] | None = 0.8,
        history: int | None = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """
        Plot the end of the history, and the forecast after it.

        Parameters
        ----------
        estimator : InformerRegressor
            The fitted estimator.
        X : DataFrame, Series or array-like, default=None
            Later history, which is drawn, and future covariates, as for `forecast`.
        horizon : int, default=None
            Number of steps to forecast; None as in `forecast`.
        series : label, default=None
            The series of a panel to draw; None is the first.
        target : label, default=None
            The target to draw; None is the first.
        coverage : float, sequence of float or None, default=0.8
            Coverage of the band, or of several bands. None draws no band, and there is none if the
            fit had too few rows.
        history : int, default=None
            Number of rows of the history; None is three times the number of steps to forecast.
        unit : str, default=None
            Unit of the target, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ForecastDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If X cannot be forecast, if no such series or target was fitted, if X ends before the
            history, or if `history` is not a whole number above 0.
        """
        # 1. Arguments.
        check_fitted(estimator)
        targets = list(estimator.roles_.target_labels)
        place = targets.index(first_or_chosen("target", target, targets))
        levels = check_range_levels(coverage, None)
        # Intervals are looked for where they are drawn: finding them forecasts held-out rows.
        if len(levels) and estimator.intervals_ is None:  # a fit of too few rows
            levels = levels[:0]

        # 2. The forecast of one series and target.
        X = estimator.layout_.read_rows(X)
        forecast = estimator._forecast_frame(X, horizon, levels)
        series, forecast = _rows_of_series(estimator, forecast, series)
        line, quantiles = _columns_of_target(forecast, place, levels)

        # 3. The end of the history, and what X observes after it.
        n_rows = 3 * len(forecast)
        if history is not None:
            n_rows = check_count("history", history, "rows before the forecast")
        actual = _last_rows(estimator, X, n_rows, series, place)
        return cls(actual, line, quantiles, unit=unit).plot(ax=ax, name=name)

    def plot(self, *, ax: Axes | None = None, name: str | None = None) -> Self:
        """
        Draw the actual values, the forecast and the bands.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.
        name : str, default=None
            Label of the forecast; None is "forecast".

        Returns
        -------
        ForecastDisplay
            The display, with `ax_`, `figure_`, `actual_line_`, `line_` and `bands_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        (ax,) = self._take_axes(ax, (10, 4))
        colour = "C0"
        name = name or "forecast"
        self.actual_line_ = draw_line(
            ax, self.actual, color=ink(ax), lw=1, label="actual"
        )
        self.line_ = draw_line(
            ax, _joined_to(self.actual, self.forecast), color=colour, lw=1.4, label=name
        )
        self.bands_ = []
        if self.quantiles is not None:
            bands = _joined_to(self.actual, self.quantiles)
            self.bands_ = draw_bands(ax, bands, colour)
        ax.margins(x=0)
        rule_times(ax.xaxis, self.actual.index)
        label_side(ax, with_unit(self.actual.name, self.unit))
        legend_above(ax)
        return self


def _joined_to(actual: Series, ahead: Any) -> Any:
    """Begin what lies ahead of the actual values at the last one of these, without a gap.

    >>> _joined_to(Series([1.0, 2.0]), Series([3.0], [2])).tolist()
    [2.0, 3.0]
    """
    last = actual.iloc[-1]
    if np.isnan(last) or actual.index[-1] >= ahead.index[0]:
        return ahead
    begin = ahead.iloc[:1] * 0.0 + last
    return pd.concat([begin.set_axis(actual.index[-1:]), ahead])


def _rows_of_series(
    estimator: Any, forecast: DataFrame, series: Any
) -> tuple[Any, DataFrame]:
    """Return the series to draw, the first of a panel for None, and its rows, indexed by time."""
    if estimator.series_ is None:
        check_choice("series", series, [None])
        return None, forecast
    index: Any = forecast.index
    names = [name for name in index.unique(0) if name in estimator.series_]
    series = first_or_chosen("series", series, names)
    # By code: to `loc` a tuple is a name of two levels, and booleans are a mask.
    code = index.levels[0].get_loc(series)
    return series, forecast[index.codes[0] == code].droplevel(0)


def _columns_of_target(
    forecast: DataFrame, place: int, levels: Float64Array
) -> tuple[Series, DataFrame | None]:
    """Return the forecast of a target, and its quantiles, which stand behind it."""
    n_columns = 1 + len(levels)
    own = forecast.iloc[:, place * n_columns : (place + 1) * n_columns]
    quantiles = own.iloc[:, 1:].set_axis(levels.round(12), axis=1)
    return own.iloc[:, 0], quantiles if len(levels) else None


def _last_rows(estimator: Any, X: Any, n_rows: int, series: Any, target: int) -> Series:
    """Return a target in the last rows of a series, in its units; NaN was missing.

    X: what may observe rows after the history; None does not.
    """
    timeline = estimator.timeline_
    number = 0
    label = estimator.roles_.target_labels[target]
    if series is not None:
        number = estimator.series_.get_loc(series)
        label = f"{label} of {series}"
    first, stop = timeline.first_row[[number, number + 1]]
    rows = np.arange(max(stop - n_rows, first), stop)
    times = timeline.clock.labels(timeline.steps_of(rows))
    line = Series(estimator._truths(rows)[:, target], times)
    if X is not None:
        later = _later_rows(estimator, X, number, target, times[-1])
        line = pd.concat([line, later]).tail(n_rows)
    return line.rename(label)


def _later_rows(estimator: Any, X: Any, series: int, target: int, end: Any) -> Series:
    """Return what X observes of a target after the end of the history; raise if X ends before."""
    table = estimator._read_prediction(X)
    rows = table.series == series
    times = table.clock.labels(table.steps[rows])
    if times.max() < end:
        raise ValueError(
            f"X ends at {times.max()}, before the end of the history, but plot draws "
            "the forecast after it. Leave X out, or draw later rows and their "
            "forecasts with ForecastDisplay.from_estimator(model, X)."
        )
    values = table.columns[target]
    values = np.nan if values is None else values[rows]
    observed = Series(values, times).sort_index()
    later = observed[observed.index > end]
    return later[later.bfill().notna()]  # without rows of the future


def _as_line(values: Any, name: str, index: pd.Index | None = None) -> Series:
    """Return values, (n,) or (n, 1), as numbers in time order; raise if they are no one line.

    index: labels of values that bring none.
    """
    if not isinstance(values, Series | DataFrame):
        values = DataFrame(np.asarray(values), index=index)
    table = DataFrame(values)
    time, series = time_labels(table.index, name)
    n_series = 1 if series is None else series.nunique()
    if len(time) == 0 or n_series * table.shape[1] != 1 or time.has_duplicates:
        raise ValueError(
            f"{name} of shape {table.shape} is not a single line over time. Pass one "
            "column of one series; of a backtest pass the forecasts of one step "
            "ahead, table[table['ahead'] == 1]."
        )
    column = table.iloc[:, 0]
    label = values.name if isinstance(values, Series) else column.name
    numbers = numeric_column(column, label).astype(np.float64)
    return Series(numbers, index=time, name=label).sort_index()


def _as_quantiles(quantiles: DataFrame) -> DataFrame:
    """Return quantiles of one series as numbers in time order; columns are levels, ascending.

    Names of columns are levels, or end in one.
    """
    endings = [str(name).split("_")[-1].lstrip("q") for name in quantiles]
    levels = check_levels(endings, name="quantiles.columns")
    named = quantiles.set_axis(levels, axis=1)
    lines = {level: _as_line(values, "quantiles") for level, values in named.items()}
    return DataFrame(lines).sort_index(axis=1)
