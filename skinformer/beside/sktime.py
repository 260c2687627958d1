"""An InformerRegressor as a forecaster of sktime.

The one module that imports sktime; import it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame, Index
from sklearn.base import clone

from skinformer import Network, Training
from skinformer.estimators.regressor import InformerRegressor
from skinformer.timeline.clock import join_series

try:
    from sktime.forecasting.base import BaseForecaster
except ImportError as error:
    raise ImportError(
        "skinformer.beside.sktime needs sktime, which skinformer does not install: "
        "pip install sktime (1.2 takes pandas 3.0, not yet 3.1)."
    ) from error


class InformerForecaster(BaseForecaster):
    """
    An `InformerRegressor` behind sktime's interface.

    `y` contains one target or several. The columns of `X` are future covariates, as everywhere in
    sktime. One model is fitted to all series of a panel.

    Parameters
    ----------
    regressor : InformerRegressor or None, default=None
        The estimator, which `fit` clones; `fit` sets its `target` and `known_future`. None is an
        estimator with default parameters. Its `loss` is that of a point forecast or of one
        quantile; `predict_interval` and `predict_quantiles` need no other.

    Attributes
    ----------
    regressor_ : InformerRegressor
        The fitted estimator, with all its attributes.

    Raises
    ------
    ImportError
        When this module is imported and sktime is not installed; the message names the command
        that installs it.

    Notes
    -----
    `fit`, `predict`, `predict_interval`, `predict_quantiles` and `update` are those of sktime's
    ``BaseForecaster``. `update` adds later rows and never trains, whatever `update_params` says; it
    skips rows that it has already. To train again, call `fit`, or wrap the forecaster in sktime's
    ``UpdateRefitsEvery``.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.beside.sktime import InformerForecaster
    >>> days = pd.period_range("2024-01-01", periods=90, freq="D")
    >>> y = pd.Series(np.sin(np.arange(90.0)), index=days, name="load")
    >>> sizes = {"seq_len": 14, "pred_len": 3, "training": Training(max_iter=1)}
    >>> sizes["network"] = Network(d_model=8, n_heads=2)
    >>> forecaster = InformerForecaster(InformerRegressor(**sizes)).fit(y)
    >>> forecaster.predict(fh=[1, 2, 3]).index.astype(str).tolist()
    ['2024-03-31', '2024-04-01', '2024-04-02']
    """

    _tags = {  # noqa: RUF012 - sktime reads it off the class
        "object_type": "forecaster",
        "authors": "the skinformer developers",
        "maintainers": "the skinformer developers",
        "python_dependencies": "skinformer",
        "y_inner_mtype": ["pd.DataFrame", "pd-multiindex"],
        "X_inner_mtype": ["pd.DataFrame", "pd-multiindex"],
        "requires-fh-in-fit": False,
        "X-y-must-have-same-index": True,
        "capability:multivariate": True,
        "capability:exogenous": True,
        "capability:insample": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": True,
        "capability:missing_values": False,
        "capability:update": True,
        "capability:categorical_in_X": False,
        "capability:random_state": False,  # it is the regressor's
    }

    _config = {"remember_data": False}  # noqa: RUF012 - the regressor does

    def __init__(self, regressor: InformerRegressor | None = None) -> None:
        self.regressor = regressor
        super().__init__()

    def _fit(
        self,
        y: DataFrame,
        X: DataFrame | None,
        fh: Any,  # noqa: ARG002
    ) -> InformerForecaster:
        """Fit a clone."""
        regressor = self.regressor
        if regressor is None:
            regressor = InformerRegressor()
        rows = _side_by_side(y, X)
        names = list(rows.columns)
        n_known = len(names) - y.shape[1]
        known = names[:n_known]
        targets = names[n_known:]
        self.regressor_ = clone(regressor)
        self.regressor_.set_params(target=targets, known_future=known or None)
        self.regressor_.fit(rows)
        # sktime hands on no rows of the past, which in-sample forecasts need.
        self._targets = y.columns
        self._known = X
        return self

    def _predict(self, fh: Any, X: DataFrame | None) -> DataFrame:
        """Forecast the rows that a horizon names."""
        requested, rows = self._rows(fh, X)
        forecast = self.regressor_.predict(rows)
        return DataFrame(forecast, rows.index, self._targets).loc[requested]

    def _predict_quantiles(
        self, fh: Any, X: DataFrame | None, alpha: Sequence[float]
    ) -> DataFrame:
        """Forecast quantiles of the rows that a horizon names."""
        requested, rows = self._rows(fh, X)
        levels = np.unique(alpha)
        quantiles = self.regressor_.predict_quantiles(rows, levels.tolist())
        quantiles = quantiles.reshape(len(rows), -1, len(levels))
        quantiles = quantiles[..., np.searchsorted(levels, alpha)]
        parts = {}
        for j, name in enumerate(self._get_varnames()):
            part = DataFrame(quantiles[:, j], rows.index, list(alpha))
            parts[name] = part.loc[requested]
        table: DataFrame = pd.concat(parts, axis=1)
        return table

    def _update(
        self,
        y: DataFrame,
        X: DataFrame | None = None,
        update_params: bool = True,  # noqa: ARG002
    ) -> InformerForecaster:
        """Append the rows that are not known yet."""
        rows = _side_by_side(y, X)
        time = rows.index.get_level_values(-1)
        next_rows = self.regressor_.make_future_frame(1).index
        next_time = next_rows.get_level_values(-1)
        if rows.index.nlevels == 1:
            new = time >= next_time[0]
        else:
            starts = pd.Series(next_time, next_rows.get_level_values(0))
            start = starts.reindex(rows.index.get_level_values(0))
            new = np.asarray(time >= start.array)
        if new.any():
            self.regressor_.update(rows[new])
            self._known = None if X is None else pd.concat([self._known, X[new]])
        return self

    def _rows(self, fh: Any, X: DataFrame | None) -> tuple[Index, DataFrame]:
        """Return the index that a horizon names, of each series, and the rows to forecast.

        These are those requested, and those of X that come before them.
        """
        time = fh.to_absolute_index(self.cutoff)
        series = self.regressor_.series_
        n_series = 1 if series is None else len(series)
        codes, steps = np.indices((n_series, len(time))).reshape(2, -1)
        requested = join_series(series, codes, time[steps])
        index = requested if X is None else requested.union(X.index)
        names = self.regressor_.roles_.column_labels
        rows = DataFrame(np.nan, index, names)
        for known in (self._known, X):  # those given last win
            if known is not None:
                shared = index.intersection(known.index)
                columns = list(names[: known.shape[1]])
                rows.loc[shared, columns] = known.loc[shared].to_numpy()
        return requested, rows

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:  # noqa: ARG003
        """
        Return small forecasters, for sktime's tests.

        Parameters
        ----------
        parameter_set : str, default="default"
            Not used.

        Returns
        -------
        list of dict
            Parameters.
        """
        default = InformerRegressor(
            seq_len=4,
            pred_len=2,
            random_state=0,
            network=Network(d_model=4, n_heads=2),
            training=Training(max_iter=1),
        )
        network = clone(default)
        network.set_params(seq_len=8, members=["ridges", "network"])
        return [{"regressor": default}, {"regressor": network}]


def _side_by_side(y: DataFrame, X: DataFrame | None) -> DataFrame:
    """Join covariates and targets, which come last, under names that are text."""
    rows = y if X is None else pd.concat([X, y], axis=1)
    names = rows.columns.astype(str)
    if not names.is_unique:
        names = Index([f"c{j}" for j in range(len(names))])
    return rows.set_axis(names, axis=1)
