"""Models of statsforecast as members of an ensemble; the one module that imports statsforecast."""

import inspect
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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


@dataclass(eq=False, repr=False)
class StatsForecaster(FitsEachHistory):
    """
    A model of statsforecast, for `members` of an `InformerRegressor`.

    The model is fitted again to each history. Gaps are filled by linear interpolation. If a
    history is too short for the model, its forecast repeats the last season, or the last value. If
    the model fails for another reason, the forecast does the same, and a warning says why.

    Parameters
    ----------
    model : model of statsforecast
        For example ``AutoETS(season_length=12)`` or ``MSTL([24, 168])``.
    max_context : int or None, default=None
        Maximum number of rows per history; None is all. Fits to fewer rows are quicker.
    n_jobs : int or None, default=None
        Number of processes, which joblib starts; None is one. More than one pay if the forecast of
        one history takes a tenth of a second or more, as with AutoETS and AutoARIMA.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and statsforecast is not installed; the message names the
        command that installs it.

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

    model: Any
    _: KW_ONLY
    max_context: int | None = None
    n_jobs: int | None = None
    max_seconds: float = 600

    @property
    def name(self) -> str:
        """The model's alias, by default its class."""
        return str(self.model.alias)

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
        """
        seasons = np.atleast_1d(getattr(self.model, "season_length", 1))
        return self._forecast_each(history, horizon, int(seasons.max()))

    def _forecast(self, values: Float64Array, horizon: int) -> Any:
        """Forecast by a copy of the model that is fitted to values without gaps."""
        return self.model.new().forecast(y=values, h=horizon)["mean"]

    def to_config(self) -> dict[str, Any]:
        """Return the parameters for a file; the model is given by its class and parameters."""
        return {**super().to_config(), "model": _described(self.model)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """
        Return the forecaster of a file.

        Parameters
        ----------
        config : dict
            What `to_config` returned.

        Returns
        -------
        StatsForecaster
            With a new model of the same parameters.

        Raises
        ------
        ValueError
            If the class of the model is none of `statsforecast.models`.
        """
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
