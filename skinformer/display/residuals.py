"""ResidualDisplay: residuals over time, their distribution and autocorrelation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from pandas import DataFrame

from skinformer.display.axes import ink, label_side, legend_above, with_unit
from skinformer.display.backtested import BacktestDisplay
from skinformer.display.over_time import rule_times
from skinformer.evaluation.comparison import read_result
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import timestamps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ResidualDisplay(BacktestDisplay):
    """
    Plot residuals (actual minus forecast): over time, their histogram, and autocorrelation.

    Make it with `from_predictions` or `from_estimator`; `plot` draws it again.

    Parameters
    ----------
    residuals : DataFrame of shape (n_times, n_series)
        Actual values minus forecasts, indexed by time, one column per series. NaN is missing.
    target : str, default=None
        Name of the target, for the labels.
    unit : str, default=None
        Unit of the target, for the labels.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (3,)
        The axes: residuals over time, histogram, autocorrelation.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        The figure of the plot.
    autocorrelation_ : ndarray of float64, shape (n_lags,)
        Autocorrelation from lag 1 on. Several series are pooled, each after subtracting its mean.

    See Also
    --------
    ErrorDisplay : How large errors are, by groups.

    Notes
    -----
    Forecasts of several steps from one origin have errors that are similar within a block, however
    good the model is. Residuals of forecasts one step ahead, ``horizon=1``, should have no
    autocorrelation.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer.display import ResidualDisplay
    >>> display = ResidualDisplay(pd.DataFrame({"load": [1.0, -1.0, 1.0, -1.0]})).plot()
    >>> display.autocorrelation_.tolist()
    [-0.75, 0.5]
    """

    residuals: DataFrame
    _: KW_ONLY
    target: Any = None
    unit: str | None = None

    @classmethod
    def from_predictions(
        cls,
        result: DataFrame,
        *,
        target: Any = None,
        unit: str | None = None,
        ax: Sequence[Axes] | None = None,
    ) -> Self:
        """
        Plot the residuals of a backtest.

        Parameters
        ----------
        result : DataFrame
            A result of `backtest`, with one forecast for each time of each series.
        target : str, default=None
            The target to draw; None is the first.
        unit : str, default=None
            Unit of the target, for the labels.
        ax : sequence of three matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ResidualDisplay
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the result has several forecasts for one time, or no such target.
        """
        result = read_result(result, "time", "target", "actual", "forecast")
        target, result = cls._rows_of_target(result, target)
        table = result.assign(
            residual=result["actual"] - result["forecast"],
            series=result.get("series", ""),
        )
        if table.duplicated(["time", "series"]).any():
            raise ValueError(
                "results have several forecasts for one time, so their residuals are "
                "not a series over time. Pass the forecasts of one step ahead, "
                "results[results['ahead'] == 1]."
            )
        residuals = table.pivot_table("residual", "time", "series", dropna=False)
        return cls(residuals, target=target, unit=unit).plot(ax=ax)

    def plot(self, *, ax: Sequence[Axes] | None = None) -> Self:
        """
        Draw the three plots.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        ResidualDisplay
            The display, with `axes_`, `ax_`, `figure_` and `autocorrelation_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.axes_ = np.array(self._take_axes(ax, (10, 6), 3, "tt;ha"))
        over_time, histogram, memory = self.axes_
        label = "actual minus forecast"
        if self.target is not None:
            label += f", {self.target}"
        label = with_unit(label, self.unit)
        residuals = self.residuals.astype(np.float64)
        self.autocorrelation_ = _autocorrelation(residuals)
        _draw_over_time(over_time, residuals, label)
        _draw_histogram(histogram, residuals.melt()["value"].dropna(), label)
        _draw_autocorrelation(
            memory, self.autocorrelation_, int(residuals.count().sum())
        )
        return self


def _draw_over_time(ax: Axes, residuals: DataFrame, label: str) -> None:
    for name in residuals:
        ax.plot(
            timestamps(residuals.index), residuals[name], ".", ms=4, label=str(name)
        )
    ax.axhline(0, color=ink(ax), lw=0.8, zorder=1)
    ax.margins(x=0)
    rule_times(ax.xaxis, residuals.index)
    label_side(ax, label)
    if residuals.shape[1] > 1:
        legend_above(ax)


def _draw_histogram(ax: Axes, values: pd.Series, label: str) -> None:
    """Draw the distribution, beside a normal one of the same mean and standard deviation."""
    from scipy.stats import norm

    ax.hist(values, bins="sqrt", density=True, label="residuals")
    spread = values.std(ddof=0)
    if spread:
        x = np.linspace(values.min(), values.max(), 200)
        density = norm.pdf(x, values.mean(), spread)
        ax.plot(x, density, color=ink(ax), lw=1.2, label="normal, same mean and spread")
    ax.set(xlabel=label, ylabel="density", yticks=[])
    legend_above(ax)


def _draw_autocorrelation(ax: Axes, correlation: Float64Array, n_known: int) -> None:
    """Draw a bar for each lag, and the limits that 95% of the lags of white noise lie between."""
    lags = np.arange(1, len(correlation) + 1)
    ax.bar(lags, correlation, 0.6)
    limit = 1.96 / np.sqrt(n_known)
    label = "95% limits of white noise"
    ax.fill_between(
        [0, len(lags) + 1], -limit, limit, color=ink(ax), alpha=0.15, lw=0, label=label
    )
    ax.axhline(0, color=ink(ax), lw=0.8)
    ax.set(xlabel="lag, in rows", ylabel="autocorrelation")
    legend_above(ax)


def _autocorrelation(residuals: DataFrame) -> Float64Array:
    """Correlate residuals with those of later rows, where both are known."""
    most_lags = 48  # two days of hours
    n_rows = len(residuals)
    n_lags = min(most_lags, n_rows // 2)
    # What is unknown gives nothing to a sum.
    centred = (residuals - residuals.mean()).fillna(0.0).to_numpy()
    sums = [
        np.vdot(centred[lag:], centred[: n_rows - lag]) for lag in range(n_lags + 1)
    ]
    return np.array(sums[1:]) / (sums[0] or 1.0)
