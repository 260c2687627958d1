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
        Forecast X from rolling origins and draw what came of it.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline or any regressor
            Fitted on the rows before X.
        X : DataFrame of shape (n_samples, n_features)
            Rows that follow the training rows.
        y : Series or DataFrame, default=None
            The truth, as in `backtest`.
        **options : Any
            Of `from_predictions` (of a `ForecastDisplay`, of `from_backtest`), such as unit and
            ax, and of `backtest`: start, horizon, step, known_future, refit, levels, coverage. A
            `CoverageDisplay` needs one of the last two, such as ``coverage=[0.5, 0.8, 0.9]``; a
            `ForecastDisplay` and a `ResidualDisplay` forecast no time twice.

        Returns
        -------
        Display
            Drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `backtest`, and in what draws its table.
        """
        draw = getattr(cls, cls._from_result)
        of_picture = take_options(draw, options)
        display: Self = draw(backtest(estimator, X, y, **options), **of_picture)
        return display
