"""Pictures of a backtest: made of its table, or of an estimator that is tested first."""

from typing import Any, Self

import pandas as pd
from pandas import DataFrame

from skinformer.display.axes import Display, take_options
from skinformer.evaluation.backtest import backtest


class BacktestDisplay(Display):
    """A picture of forecasts from rolling origins."""

    #: What draws the table of a backtest.
    _from_result = "from_predictions"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: DataFrame,
        y: pd.Series | DataFrame | None = None,
        **options: Any,
    ) -> Self:
        """
        Forecast X from rolling origins and plot the result.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline or any regressor
            Fitted on the rows before X.
        X : DataFrame of shape (n_samples, n_features)
            Rows that follow the training rows.
        y : Series or DataFrame, default=None
            The actual values, as in `backtest`.
        **options : Any
            Options of `from_predictions` (for `ForecastDisplay`, of `from_backtest`), such as unit
            and ax, and of `backtest`: start, horizon, step, known_future, refit, levels, coverage.
            `CoverageDisplay` needs levels or coverage, such as ``coverage=[0.5, 0.8, 0.9]``.
            `ForecastDisplay` and `ResidualDisplay` need one forecast for each time.

        Returns
        -------
        Display
            The plot.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `backtest` cannot forecast X, or if its result cannot be plotted.
        """
        draw = getattr(cls, cls._from_result)
        of_picture = take_options(draw, options)
        display: Self = draw(backtest(estimator, X, y, **options), **of_picture)
        return display
