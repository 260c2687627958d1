"""Pictures of a backtest: made of its table, or of an estimator that is tested first."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Self

import pandas as pd

from skinformer.display.axes import Display
from skinformer.evaluation.backtest import backtest


class BacktestDisplay(Display):
    """A picture of forecasts from rolling origins; `from_predictions` takes their table."""

    from_predictions: ClassVar[Callable[..., Any]]
    #: Quantiles that are forecast where the user names none.
    _levels: ClassVar[list[float] | None] = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: pd.DataFrame,
        y: pd.Series | pd.DataFrame | None = None,
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
            Of `from_predictions`, such as unit and ax, and of `backtest`: start, horizon, step,
            known_future, refit, levels, coverage. Of a `CoverageDisplay` intervals of 50, 80 and
            90 % are forecast where neither of the last two is given; a `ResidualDisplay` forecasts
            no time twice.

        Returns
        -------
        Display
            Drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `backtest` and `from_predictions`.
        """
        of_picture = {}
        for name in signature(cls.from_predictions).parameters:
            if name in options:
                of_picture[name] = options.pop(name)
        if options.get("coverage") is None and cls._levels is not None:
            options.setdefault("levels", cls._levels)
        result = backtest(estimator, X, y, **options)
        made: Self = cls.from_predictions(result, **of_picture)
        return made
