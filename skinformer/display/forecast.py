"""ForecastDisplay: forecast against actual, over time, with bands of what was to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from skinformer.display.axes import Display, label_side, take_axes, with_unit
from skinformer.display.checks import rows_of_target
from skinformer.display.lines import (
    check_one_series,
    check_same_axis,
    drawn_levels,
    drawn_line,
    drawn_quantiles,
    labelled_quantiles,
    rows_of,
)
from skinformer.display.over_time import draw_bands, draw_line, time_axis
from skinformer.display.style import ink, legend_above
from skinformer.evaluation.backtest import backtest
from skinformer.evaluation.results import quantile_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

#: Of the forecast, and, mixed with the ground, of its bands.
_COLOUR = "tab:orange"


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
        self.actual = drawn_line(actual, "actual")
        self.forecast = drawn_line(forecast, "forecast", rows_of(actual))
        self.quantiles = None if quantiles is None else drawn_quantiles(quantiles)
        for each in (self.forecast, self.quantiles):
            if each is not None:
                check_same_axis(self.actual.index, each.index)
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
        requested = drawn_levels(coverage, levels)
        if quantiles is not None:
            rows = forecast if isinstance(forecast, pd.Series | pd.DataFrame) else actual
            quantiles = labelled_quantiles(quantiles, requested, rows)
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
        check_one_series(getattr(X, "index", None), "X")
        requested = drawn_levels(coverage, levels)
        table = backtest(estimator, X, y, levels=requested, **options)
        target, table = rows_of_target(table, target)
        table = table.set_index("time")
        columns = list(quantile_columns(table).values())
        quantiles = table[columns] if columns else None
        display = cls(table["actual"].rename(target), table["forecast"], quantiles, unit=unit)
        return display.plot(ax=ax, name=name or type(estimator).__name__)

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
        ax = take_axes(self, ax, (10, 4))
        name = name or "forecast"
        self.actual_line_ = draw_line(ax, self.actual, color=ink(ax), lw=1, label="actual")
        self.line_ = draw_line(ax, self.forecast, color=_COLOUR, lw=1.4, label=name)
        self.bands_ = [] if self.quantiles is None else draw_bands(ax, self.quantiles, _COLOUR)
        time_axis(ax, self.actual.index)
        label_side(ax, with_unit(self.actual.name, self.unit))
        legend_above(ax)
        return self._drawn_on(ax)
