"""Forecasters of sktime as members of an ensemble; `beside.sktime` is the way round."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from skinformer.beside.histories import FitsEachHistory
from skinformer.persistence.errors import UnknownForecasterError
from skinformer.timeline.arrays import Float64Array

try:
    from sktime.forecasting.base import BaseForecaster
except ImportError as error:
    raise ImportError(
        "sktime is missing: pip install sktime (1.2 takes pandas 3.0, not yet 3.1)."
    ) from error


@dataclass(eq=False, repr=False)
class SktimeForecaster(FitsEachHistory):
    """
    A forecaster of sktime, for `members` of an `InformerRegressor`.

    The forecaster is cloned and fitted again to each history; the index of a history is 0, 1, 2 and
    so on. Gaps are filled by linear interpolation. If a history is too short for the forecaster,
    its forecast repeats the last season, or the last value. If the forecaster fails for another
    reason, the forecast does the same, and a warning says why.

    Parameters
    ----------
    forecaster : forecaster of sktime
        For example ``ThetaForecaster(sp=12)``, or a pipeline. It forecasts one target without
        covariates.
    max_context : int or None, default=None
        Maximum number of rows per history; None is all. Fits to fewer rows are quicker.
    n_jobs : int or None, default=None
        Number of processes, which joblib starts; None is one.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and sktime is not installed; the message names the command
        that installs it.

    Notes
    -----
    A saved file does not contain the forecaster of sktime. Pass the whole member to
    `skinformer.load`: ``load(path, forecasters=[SktimeForecaster(ThetaForecaster(sp=12))])``.

    Examples
    --------
    >>> import numpy as np
    >>> from sktime.forecasting.naive import NaiveForecaster
    >>> from skinformer.beside.sktime_member import SktimeForecaster
    >>> mean = SktimeForecaster(NaiveForecaster("mean"))
    >>> mean.predict([np.array([1.0, np.nan, 3.0]), np.array([5.0])], horizon=2)
    array([[2., 2.],
           [5., 5.]])
    """

    forecaster: Any
    _: KW_ONLY
    max_context: int | None = None
    n_jobs: int | None = None
    max_seconds: float = 600

    @property
    def name(self) -> str:
        """Name of the forecaster's class."""
        return type(self.forecaster).__name__

    def predict(self, history: Sequence[Float64Array], horizon: int) -> Float64Array:
        """
        Forecast histories.

        Parameters
        ----------
        history : sequence of ndarray of shape (n_rows,)
            One array per series, the newest value last; NaN is a missing value.
        horizon : int
            Number of steps to forecast.

        Returns
        -------
        ndarray of shape (n, horizon)
            Point forecasts.

        Raises
        ------
        TypeError
            If `forecaster` is not a forecaster of sktime.
        """
        if not isinstance(self.forecaster, BaseForecaster):
            raise TypeError(
                f"SktimeForecaster({self.forecaster!r}) is not a forecaster of sktime: "
                "pass an instance, such as ThetaForecaster(sp=12)."
            )
        season = getattr(self.forecaster, "sp", 1)
        if not isinstance(season, Integral):
            season = 1
        return self._forecast_each(history, horizon, int(season))

    def _forecast(self, values: Float64Array, horizon: int) -> Any:
        """Forecast by a clone that is fitted to values without gaps."""
        steps = np.arange(1, horizon + 1)
        return self.forecaster.clone().fit(pd.Series(values), fh=steps).predict()

    def to_config(self) -> dict[str, Any]:
        """Return the text of the member, which an error of `load` shows."""
        return {"member": repr(self)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> NoReturn:
        """
        Raise an error: a file does not contain the forecaster.

        Parameters
        ----------
        config : dict
            What `to_config` returned.

        Raises
        ------
        UnknownForecasterError
            Always. Pass the member itself to `skinformer.load`.
        """
        raise UnknownForecasterError(config["member"])
