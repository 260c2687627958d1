"""ForecastDisplay: forecast against actual, over time, with bands of what was to be expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer.display.axes import Display, label_side, with_unit
from skinformer.display.over_time import draw_bands, draw_line, time_axis
from skinformer.display.style import ink, legend_above
from skinformer.evaluation.backtest import backtest
from skinformer.evaluation.comparison import quantile_columns
from skinformer.timeline.clock import is_dated
from skinformer.validation import arguments as checks
from skinformer.validation.columns import numeric_column
from skinformer.validation.index import time_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D


#: Of the forecast and, mixed with the ground, of its bands.
_COLOUR = "C0"


class ForecastDisplay(Display):
    """
    Draw a forecast and what came of it, in scikit-learn's Display style.

    Make one by `from_predictions` or `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    actual : Series of shape (n,)
        The truth, indexed by time; its name labels the axis. NaN, or missing rows, leave a gap.
    forecast : Series of shape (n_forecast,)
        Forecasts, indexed by their time, or one for each row of `actual`.
    quantiles : DataFrame of shape (n_quantiles, n_levels), default=None
        Quantiles, a column each that ends in its level, such as 0.05 or "load_0.05"; indexed by
        time, or one row for each of `forecast`. The lowest and the highest bound the widest band,
        the next ones the next; one between is a line.
    unit : str, default=None
        Of the truth, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    actual_line_ : matplotlib Line2D
        The truth.
    line_ : matplotlib Line2D
        The forecast.
    bands_ : list of matplotlib FillBetweenPolyCollection
        Between quantiles, the widest first.

    See Also
    --------
    skinformer.evaluation.backtest : Makes the forecasts of `from_estimator`.
    CoverageDisplay : Whether as many truths lie in the bands as should.

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

    actual_line_: Line2D
    line_: Line2D
    bands_: list[FillBetweenPolyCollection]

    def __init__(
        self,
        actual: pd.Series,
        forecast: pd.Series,
        quantiles: pd.DataFrame | None = None,
        *,
        unit: str | None = None,
    ) -> None:
        self.actual = _drawn_line(actual, "actual")
        self.forecast = _drawn_line(forecast, "forecast", _rows_of(actual))
        self.quantiles = None
        if quantiles is not None:
            self.quantiles = _drawn_quantiles(_labelled_quantiles(quantiles, None, actual))
        _check_same_axis(self.actual.index, self.forecast.index)
        if self.quantiles is not None:
            _check_same_axis(self.actual.index, self.quantiles.index)
        self.unit = unit

    @classmethod
    def from_predictions(
        cls,
        actual: pd.Series,
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
        Draw forecasts beside the truth.

        Parameters
        ----------
        actual : Series of shape (n,)
            The truth, indexed by time.
        forecast : Series, or array-like of shape (n,)
            Forecasts with their own time, or one for each row of `actual`. Rows are drawn in
            time order.
        quantiles : DataFrame, or array-like of shape (n, n_levels), default=None
            What `predict_quantiles` or `predict_interval` gives, row by row like `forecast`; or a
            frame with its own time, whose columns end in their levels.
        levels : sequence of float, default=None
            Levels of an array's columns.
        coverage : float or sequence of float, default=None
            The same by intervals: 0.9 is ``levels=[0.05, 0.95]``; of several, all lower and upper
            bounds in ascending order.
        unit : str, default=None
            Of the truth, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ForecastDisplay
            Drawn.
        """
        requested = _drawn_levels(coverage, levels)
        if quantiles is not None:
            rows = forecast if isinstance(forecast, pd.Series | pd.DataFrame) else actual
            quantiles = _labelled_quantiles(quantiles, requested, rows)
        return cls(actual, forecast, quantiles, unit=unit).plot(ax=ax, name=name)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: pd.DataFrame,
        y: pd.Series | pd.DataFrame | None = None,
        *,
        target: Any = None,
        levels: Sequence[float] | None = None,
        coverage: float | Sequence[float] | None = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """
        Forecast X from rolling origins and draw it.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline or any regressor
            Fitted on the rows before X.
        X : DataFrame of shape (n_samples, n_features)
            Rows of one series that follow the training rows.
        y : Series or DataFrame, default=None
            The truth, as in `backtest`.
        target : str, default=None
            Which target to draw; None is the first.
        levels : sequence of float, default=None
            Quantiles between which bands are drawn, the outermost two first.
        coverage : float or sequence of float, default=None
            The same by intervals, such as ``[0.5, 0.8, 0.95]``.
        unit : str, default=None
            Of the truth, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is the estimator's class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : Any
            Options of `backtest`: start, horizon, known_future. Not step, as each time is
            drawn once.

        Returns
        -------
        ForecastDisplay
            Drawn.
        """
        if "step" in options:
            raise ValueError(
                f"step={options['step']!r} is no option of a picture, where each time is drawn "
                "once. Draw the rows of one distance, table[table['ahead'] == 1] of a backtest, by "
                "from_predictions."
            )
        _check_one_series(getattr(X, "index", None), "X")
        requested = _drawn_levels(coverage, levels)
        result = backtest(estimator, X, y, levels=requested, **options)
        target, result = cls._rows_of_target(result, target)
        result = result.set_index("time")
        actual = result["actual"].rename(target)
        columns = list(quantile_columns(result).values())
        quantiles = result[columns] if columns else None
        display = cls(actual, result["forecast"], quantiles, unit=unit)
        return display.plot(ax=ax, name=name or type(estimator).__name__)

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
        Draw the end of the history, and the forecast that follows.

        Parameters
        ----------
        estimator : InformerRegressor
            Fitted.
        X : DataFrame, Series or array-like, default=None
            Later history, which is drawn, and what is known of the future, as `forecast` takes
            them.
        horizon : int, default=None
            Steps to forecast; None as in `forecast`.
        series : label, default=None
            Which series of a panel; None is the first.
        target : label, default=None
            Which target; None is the first.
        coverage : float, sequence of float or None, default=0.8
            Share of the truth that is to lie in a band; of several one band each. None draws none,
            and so do fits of too few rows.
        history : int, default=None
            Rows of the history; None is three times as many as are forecast.
        unit : str, default=None
            Of the target, for the label of the axis.
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ForecastDisplay
            Drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `forecast`; if no such series or target was fitted; if X ends before the history;
            if history is no whole number above 0.
        """
        # 1. Arguments.
        checks.check_fitted(estimator)
        if history is not None:
            history = checks.check_count("history", history, "rows before the forecast")
        target_labels = list(estimator.roles_.target_labels)
        if target is None:
            target = target_labels[0]
        checks.check_choice("target", target, target_labels)
        target_place = target_labels.index(target)
        levels = None
        if coverage is not None and estimator.intervals_ is not None:
            levels = _drawn_levels(coverage, None)

        # 2. The forecast of one series and target.
        forecast = estimator.forecast(X, horizon, levels=levels)
        series = _chosen_series(estimator, forecast, series)
        series_number = 0
        label = target
        if series is not None:
            forecast = _rows_of_series(forecast, series)
            series_number = estimator.series_.get_loc(series)
            label = f"{target} of {series}"
        point, quantiles = _columns_of_target(forecast, target_place, levels)

        # 3. The end of the history, and what X observes after it.
        n_rows = history or 3 * len(forecast)
        actual = _last_rows(estimator, n_rows, series_number, target_place)
        if X is not None:
            later = _later_rows(estimator, X, series_number, target_place)
            actual = pd.concat([actual, later]).iloc[-n_rows:]
        display = cls(actual.rename(label), point.rename(label), quantiles, unit=unit)
        return display.plot(ax=ax, name=name)

    def plot(self, *, ax: Axes | None = None, name: str | None = None) -> Self:
        """
        Draw the two lines, and the bands behind them.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Label of the forecast; None is "forecast".

        Returns
        -------
        ForecastDisplay
            Itself, with `ax_`, `figure_`, `actual_line_`, `line_` and `bands_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = self._take_axes(ax, (10, 4))
        name = name or "forecast"
        self.actual_line_ = draw_line(ax, self.actual, color=ink(ax), lw=1, label="actual")
        self.line_ = draw_line(ax, self.forecast, color=_COLOUR, lw=1.4, label=name)
        self.bands_ = [] if self.quantiles is None else draw_bands(ax, self.quantiles, _COLOUR)
        time_axis(ax, self.actual.index)
        label_side(ax, with_unit(self.actual.name, self.unit))
        legend_above(ax)
        return self


def _chosen_series(estimator: Any, forecast: pd.DataFrame, series: Any) -> Any:
    """Return the series to draw, None where the fit holds one; raise if there is no such series.

    series: the user's choice; None is the first series of the forecast.
    """
    if estimator.series_ is None:
        if series is not None:
            raise ValueError(f"series={series!r}: the fit holds one series. Leave it out.")
        return None
    if series is None:
        series = forecast.index[0][0]
    fitted = forecast.index.unique(0).intersection(estimator.series_)
    checks.check_choice("series", series, fitted)
    return series


def _rows_of_series(forecast: pd.DataFrame, series: Any) -> pd.DataFrame:
    """Return the rows of one series, indexed by time."""
    index: Any = forecast.index
    # By code: to `loc` a tuple is a name of two levels, and booleans are a mask.
    code = index.levels[0].get_loc(series)
    rows: pd.DataFrame = forecast[index.codes[0] == code]
    return rows.droplevel(0)


def _columns_of_target(
    forecast: pd.DataFrame, place: int, levels: list[float] | None
) -> tuple[pd.Series, pd.DataFrame | None]:
    """Return the points of a target, and its quantiles where there are any."""
    n_columns = 1 + len(levels or ())
    first = place * n_columns
    columns = forecast.iloc[:, first : first + n_columns]
    quantiles = columns.iloc[:, 1:].set_axis(levels, axis=1) if levels else None
    return columns.iloc[:, 0], quantiles


def _last_rows(estimator: Any, n_rows: int, series: int, target: int) -> pd.Series:
    """Return a target in the last rows of a series' history, in its units; NaN was missing."""
    timeline = estimator.timeline_
    first, stop = timeline.first_row[series : series + 2].tolist()
    rows = np.arange(max(stop - n_rows, first), stop)
    times = timeline.clock.labels(timeline.steps_of(rows))
    values = timeline.truths(rows, estimator.scaler_, estimator.sizes_.n_targets)
    return pd.Series(values[:, target], times)


def _later_rows(estimator: Any, X: Any, series: int, target: int) -> pd.Series:
    """Return what X observes of a target after the history; raise if X ends before that does."""
    table = estimator._read_prediction(X)
    rows = table.series == series
    steps = table.steps[rows]
    times = table.clock.labels(steps)
    history = estimator.timeline_
    end_step = history.end_step[series] if table.clock == history.clock else steps.min()
    if steps.max() < end_step - 1:
        raise ValueError(
            f"X ends at {times.max()}, before the history does: what follows that is drawn. "
            "Leave X out, or draw rows that were not fitted beside their forecasts, by "
            "ForecastDisplay.from_estimator(model, X)."
        )
    values = table.columns[target]
    observed = pd.Series(np.nan if values is None else values[rows], times)
    is_later = np.asarray(steps >= end_step)
    later = observed.loc[is_later].sort_index()
    last_observed = np.flatnonzero(later.notna()).max(initial=-1)
    return later.head(last_observed + 1)


def _drawn_line(values: Any, name: str, index: pd.Index | None = None) -> pd.Series:
    """Return values, (n,) or (n, 1), as one line of numbers in time order; `name` is for messages.

    index: labels of values that bring none; None numbers them.
    """
    if isinstance(values, pd.DataFrame):
        values = _only_column(values, name)
    if not isinstance(values, pd.Series):
        values = _labelled(values, name, index)
    if not len(values):
        raise ValueError(f"{name} has no rows to draw.")
    _check_one_series(values.index, name)
    time, _ = time_labels(values.index, name)
    _check_unique_times(time, name)
    numbers = numeric_column(values, values.name).astype(np.float64)
    return pd.Series(numbers, index=time, name=values.name).sort_index()


def _only_column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return the column of a frame; raise if there are several."""
    if frame.shape[1] != 1:
        raise ValueError(
            f"{name} has {frame.shape[1]} columns: one line is drawn. Pass one of them, "
            f"{name}[column]."
        )
    return frame.iloc[:, 0]


def _check_unique_times(time: pd.Index, name: str) -> None:
    """Raise if a time comes twice."""
    duplicated = time.duplicated()
    if duplicated.any():
        raise ValueError(
            f"{name} holds {int(duplicated.sum())} times twice, the first "
            f"{time[duplicated][0]}: each is drawn once. Keep one of them, "
            f"{name}[~{name}.index.duplicated()]."
        )


def _labelled(values: Any, name: str, index: pd.Index | None) -> pd.Series:
    """Return an array as a Series."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}: one line is drawn. Pass one column.")
    if index is not None and len(index) != len(array):
        raise ValueError(
            f"{name} has {len(array)} values for {len(index)} times: without an index it needs one "
            "for each row of actual. Pass a Series with its own times."
        )
    return pd.Series(array, index=index)


def _check_one_series(index: Any, name: str) -> None:
    """Raise if rows belong to several series."""
    if getattr(index, "nlevels", 1) > 1 and len(index.unique(0)) > 1:
        raise ValueError(f"{name} holds several series: draw one of them, {name}.loc[[series]].")


def _check_same_axis(actual: pd.Index, forecast: pd.Index) -> None:
    """Raise if two lines have no time axis in common."""
    if is_dated(actual) != is_dated(forecast):
        raise TypeError(
            f"actual has {actual.dtype} labels and forecast {forecast.dtype} ones, which share no "
            "axis. Give both the same kind of index."
        )
    actual_is_naive = getattr(actual, "tz", None) is None
    forecast_is_naive = getattr(forecast, "tz", None) is None
    if actual_is_naive != forecast_is_naive:
        raise TypeError(
            "of actual and forecast one is time-zone aware and one naive: the hours cannot be "
            "matched. Use tz_localize(zone) on the naive one."
        )


def _drawn_levels(coverage: Any, levels: Any) -> list[float] | None:
    """Return the requested levels, of coverages in ascending order; None for none."""
    requested = checks.check_range_levels(coverage, levels)
    return None if requested is None else requested.round(12).tolist()


def _labelled_quantiles(quantiles: Any, levels: list[float] | None, rows: Any) -> pd.DataFrame:
    """Return quantiles of some rows as a frame of a column a level; a frame brings its own rows."""
    if isinstance(quantiles, pd.DataFrame):
        if levels is None:
            return quantiles
        if quantiles.shape[1] != len(levels):
            raise ValueError(
                f"quantiles have {quantiles.shape[1]} columns for {len(levels)} levels, {levels}. "
                "Pass one column a level."
            )
        return quantiles.set_axis(levels, axis=1)
    array = np.asarray(quantiles)
    if levels is None:
        raise ValueError(
            f"quantiles of shape {array.shape} do not say their levels. Pass a frame whose columns "
            "are levels, or to from_predictions levels=[0.1, 0.9], say, or coverage=0.8."
        )
    needed = (len(rows), len(levels))
    if array.shape != needed:
        raise ValueError(
            f"quantiles have the shape {array.shape}, and {len(rows)} forecasts at "
            f"{len(levels)} levels need {needed}. Pass one target's rows."
        )
    return pd.DataFrame(array, index=_rows_of(rows), columns=levels)


def _rows_of(values: Any) -> pd.Index | None:
    """Return the labels of values that bring some."""
    return values.index if isinstance(values, pd.Series | pd.DataFrame) else None


def _drawn_quantiles(quantiles: pd.DataFrame) -> pd.DataFrame:
    """Return quantiles of one series as numbers in time order; columns are levels, ascending.

    Names of columns are levels, or end in one.
    """
    lines = {}
    for place, name in enumerate(quantiles.columns):
        level = _level_of(name)
        lines[level] = _drawn_line(quantiles.iloc[:, place], "quantiles")
    ascending = dict(sorted(lines.items()))
    return pd.DataFrame(ascending)


def _level_of(name: Any) -> float:
    """Return the level that a column's name ends in; raise if there is none in (0, 1)."""
    found = re.search(r"(?:^|_|q)(0?\.\d+)$", str(name))
    if found is None or not 0 < float(found[1]) < 1:
        raise ValueError(
            f"quantiles have a column {name!r}, which does not end in a level. Name it by its "
            "level, such as 0.05 or 'load_0.05'."
        )
    return float(found[1])
