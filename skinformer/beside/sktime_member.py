"""Forecasters of sktime as members of an ensemble; `beside.sktime` is the way round."""

from collections.abc import Sequence
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


class SktimeForecaster(FitsEachHistory):
    """
    A forecaster of sktime, for `members` of an `InformerRegressor`.

    It is cloned and fitted to each history anew, whose rows are numbered. Lines are drawn across
    gaps; the last season, or value, stands where a history is too short for the forecaster, and
    with a warning where it fails otherwise.

    Parameters
    ----------
    forecaster : forecaster of sktime
        Such as ``ThetaForecaster(sp=12)``, or a pipeline. Of one target, without columns beside it.
    max_context : int or None, default=None
        Rows that it looks back at most; None is all. Fits to fewer rows are quicker.
    n_jobs : int or None, default=None
        Processes of joblib by which histories are forecast; None is one.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Notes
    -----
    A file of the model holds no forecaster of sktime, so that `skinformer.load` needs the whole
    member: ``load(path, forecasters=[SktimeForecaster(ThetaForecaster(sp=12))])``.

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

    def __init__(
        self,
        forecaster: Any,
        *,
        max_context: int | None = None,
        n_jobs: int | None = None,
        max_seconds: float = 600,
    ) -> None:
        self.forecaster = forecaster
        self.max_context = max_context
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds

    @property
    def name(self) -> str:
        """The forecaster's class."""
        return type(self.forecaster).__name__

    def predict(self, history: Sequence[Float64Array], horizon: int) -> Float64Array:
        """Forecast histories, (n, horizon); NaN is missing."""
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
        """Return the text of the member, by which `load` names what it asks for."""
        return {"member": repr(self)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> NoReturn:
        """Raise: text builds no forecaster, so that `load` has to be given the member itself."""
        raise UnknownForecasterError(config["member"])
