"""Models of statsforecast as members of an ensemble; the one module that imports statsforecast."""

import inspect
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from skinformer.beside.histories import FitsEachHistory
from skinformer.timeline.arrays import Float64Array

try:
    from statsforecast import models
except ImportError as error:
    raise ImportError(
        "statsforecast is missing: pip install 'skinformer[statsforecast]' (2.0.3; later ones ask "
        "for a pandas below 3, and run with 3: pip install --no-deps --upgrade statsforecast)."
    ) from error


class StatsForecaster(FitsEachHistory):
    """
    A model of statsforecast, for `members` of an `InformerRegressor`.

    It is fitted to each history anew. Lines are drawn across gaps; the last season, or value,
    stands where a history is too short for the model, and with a warning where it fails otherwise.

    Parameters
    ----------
    model : model of statsforecast
        Such as ``AutoETS(season_length=12)``, ``AutoTheta(season_length=7)``, ``MSTL([24, 168])``.
    max_context : int or None, default=None
        Rows that it looks back at most; None is all. Fits to fewer rows are quicker.
    n_jobs : int or None, default=None
        Processes of joblib by which histories are forecast; None is one. They pay where a forecast
        takes a tenth of a second or more, as those of AutoETS and AutoARIMA do.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Examples
    --------
    >>> import numpy as np
    >>> from statsforecast.models import SeasonalNaive
    >>> from skinformer.beside.statsforecast import StatsForecaster
    >>> naive = StatsForecaster(SeasonalNaive(season_length=3))
    >>> naive.predict([np.array([1.0, 2.0, np.nan, 4.0]), np.array([5.0])], horizon=3)
    array([[2., 3., 4.],
           [5., 5., 5.]])
    """

    def __init__(
        self,
        model: Any,
        *,
        max_context: int | None = None,
        n_jobs: int | None = None,
        max_seconds: float = 600,
    ) -> None:
        self.model = model
        self.max_context = max_context
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds

    @property
    def name(self) -> str:
        """The model's alias, by default its class."""
        return str(self.model.alias)

    def predict(self, history: Sequence[Float64Array], horizon: int) -> Float64Array:
        """Forecast histories, (n, horizon); NaN is missing."""
        seasons = np.atleast_1d(getattr(self.model, "season_length", 1))
        return self._forecast_each(history, horizon, int(seasons.max()))

    def _forecast(self, values: Float64Array, horizon: int) -> Any:
        """Forecast by a copy of the model that is fitted to values without gaps."""
        return self.model.new().forecast(y=values, h=horizon)["mean"]

    def to_config(self) -> dict[str, Any]:
        """Return the parameters for a file, the model by its class and own parameters."""
        return {**super().to_config(), "model": _described(self.model)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return the forecaster of a file, whose model is a class of statsforecast.models."""
        return cls(**{**config, "model": _built(config["model"])})


def _described(model: Any) -> dict[str, Any]:
    """Return class and parameters; models among these are described, too."""
    parameters = {}
    for name in inspect.signature(type(model)).parameters:
        if hasattr(model, name):
            value = getattr(model, name)
            parameters[name] = _described(value) if _is_model(value) else value
    return {"class": type(model).__name__, "parameters": parameters}


def _built(description: dict[str, Any]) -> Any:
    """Build the model that `_described` described."""
    kind = getattr(models, description["class"], None)
    if not (isinstance(kind, type) and kind.__module__ == models.__name__):
        raise ValueError(f"{description['class']!r} is not a model of statsforecast.")
    parameters = dict(description["parameters"])
    for name, value in parameters.items():
        if isinstance(value, dict) and "class" in value:
            parameters[name] = _built(value)
    return kind(**parameters)


def _is_model(value: Any) -> bool:
    """Whether a value is a model of statsforecast."""
    return type(value).__module__ == models.__name__ and hasattr(value, "forecast")
