"""ForecastDisplay: forecast against actual, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skinformer import validation
from skinformer.evaluation.backtest import backtest
from skinformer.timeline.clock import is_dated, timestamps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["ForecastDisplay"]


class ForecastDisplay:
    """
    Draw a forecast and what came of it, in scikit-learn's Display style.

    Make one by `from_predictions` or `from_estimator`; draw it again by `plot`.

    Parameters
    ----------
    actual : Series of shape (n,)
        The truth, indexed by time; its name labels the axis. NaN, or missing rows, leave a gap.
    forecast : Series of shape (n_forecast,)
        Forecasts, indexed by their time, or one for each row of `actual`.

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

    See Also
    --------
    skinformer.evaluation.backtest : Makes the forecasts of `from_estimator`.

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

    ax_: Axes
    figure_: Figure
    actual_line_: Line2D
    line_: Line2D

    def __init__(self, actual: pd.Series, forecast: pd.Series) -> None:
        self.actual = validation.drawn_line(actual, "actual")
        index = getattr(actual, "index", None)  # of a list a method
        index = index if isinstance(index, pd.Index) else None
        self.forecast = validation.drawn_line(forecast, "forecast", index)
        validation.check_same_axis(self.actual.index, self.forecast.index)

    @classmethod
    def from_predictions(
        cls, actual: pd.Series, forecast: Any, *, name: str | None = None, ax: Axes | None = None
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
        name : str, default=None
            Label of the forecast; None is "forecast".
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ForecastDisplay
            Drawn.
        """
        return cls(actual, forecast).plot(ax=ax, name=name)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: pd.DataFrame,
        y: pd.Series | pd.DataFrame | None = None,
        *,
        target: Any = None,
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
        validation.check_drawn_once(options)
        validation.check_one_series(getattr(X, "index", None), "X")
        table = backtest(estimator, X, y, **options)
        target = table["target"].iloc[0] if target is None else target
        validation.check_drawn_target(target, list(table["target"].unique()))
        table = table[table["target"] == target].set_index("time")
        actual = table["actual"].rename(target)
        return cls(actual, table["forecast"]).plot(ax=ax, name=name or type(estimator).__name__)

    def plot(self, *, ax: Axes | None = None, name: str | None = None) -> Self:
        """
        Draw the two lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        name : str, default=None
            Label of the forecast; None is "forecast".

        Returns
        -------
        ForecastDisplay
            Itself, with `ax_`, `figure_`, `actual_line_` and `line_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt, dates = _matplotlib()
        if ax is None:
            _, ax = plt.subplots(figsize=(10, 4), layout="constrained")
        zone = getattr(self.actual.index, "tz", None)
        self.actual_line_ = _draw(ax, self.actual, color="0.25", lw=1, label="actual")
        self.line_ = _draw(ax, self.forecast, color="tab:orange", lw=1.4, label=name or "forecast")
        if is_dated(self.actual.index):
            _date_axis(ax, dates, zone)
        xlabel = _label(self.actual.index.name, "time")
        ax.set_xlabel(xlabel if zone is None else f"{xlabel} ({zone})")
        ax.set_ylabel(_label(self.actual.name, "value"))
        ax.margins(x=0)
        # Above the axes: inside, it would cover a peak.
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure.get_figure(root=True)
        return self


def _matplotlib() -> tuple[Any, Any]:
    """Load pyplot and the dates of matplotlib."""
    try:
        from matplotlib import dates, pyplot
    except ImportError as error:
        raise ImportError(
            "ForecastDisplay draws with matplotlib, which is not installed: "
            "pip install 'skinformer[plot]'."
        ) from error
    return pyplot, dates


def _date_axis(ax: Axes, dates: Any, zone: Any) -> None:
    """Mark dates in local time, each day with its month, the year once at the end."""
    locator = dates.AutoDateLocator(tz=zone, minticks=4, maxticks=10)
    formatter = dates.ConciseDateFormatter(
        locator,
        tz=zone,
        formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f"],
        zero_formats=["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
        offset_formats=["", "", "%Y", "%Y", "%Y-%m-%d", "%Y-%m-%d"],
    )
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(formatter)


#: Times the usual step; more is a hole. Business days leave four over a weekend and a holiday.
_LONGEST_STEP = 4


def _draw(ax: Axes, line: pd.Series, **style: Any) -> Line2D:
    """Draw a line that is broken where rows are missing, as where their values are."""
    time, values = timestamps(line.index), line.to_numpy()
    gaps = np.asarray(time[1:] - time[:-1]).astype(np.int64)
    usual = np.median(gaps) if len(gaps) else 0
    holes = np.flatnonzero(gaps > _LONGEST_STEP * usual) + 1
    time = time[np.insert(np.arange(len(time)), holes, holes)]
    values = np.insert(values, holes, np.nan)
    known = np.pad(~np.isnan(values), 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]  # a line does not show such a point
    drawn: Line2D = ax.plot(time, values, marker="." if alone.any() else "", **style)[0]
    return drawn


def _label(name: Any, otherwise: str) -> str:
    return otherwise if name is None else str(name)
