"""TiRex as a member of an ensemble; the one module that imports tirex."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from skinformer.beside.histories import Pretrained, quantile_weights
from skinformer.timeline.arrays import Float64Array

try:
    from tirex import load_model
except ImportError as error:
    raise ImportError("tirex is missing: pip install 'skinformer[tirex]'.") from error


@dataclass(eq=False, repr=False)
class TiRexForecaster(Pretrained):
    """
    TiRex, a pretrained recurrent model, for `members` of an `InformerRegressor`.

    The model is not trained on your rows, and uses no covariates. The weights of a name on the
    Hugging Face hub are downloaded once, by the library of the hub. They have their own licence.

    Parameters
    ----------
    model : str or model of tirex, default="NX-AI/TiRex"
        A name on the hub, or what `tirex.load_model` returned. `save` stores a name only.
    context_length : int or None, default=None
        Maximum number of rows per history; None is the maximum of the model.
    point : {"median", "mean"}, default="median"
        Point forecast: the median, or the mean of the model's quantiles.
    batch_size : int, default=256
        Number of histories per call of the model.
    device : str, default="cpu"
        Device of a model that is given by name.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and tirex is not installed; the message names the command
        that installs it.

    Examples
    --------
    >>> from skinformer.beside.tirex import TiRexForecaster
    >>> TiRexForecaster(context_length=512).name
    'TiRex'
    """

    model: Any = "NX-AI/TiRex"
    _: KW_ONLY
    context_length: int | None = None
    point: str = "median"
    batch_size: int = 256
    device: str = "cpu"
    max_seconds: float = 600

    @property
    def max_context(self) -> int:
        """Maximum number of rows per history."""
        longest = int(self._loaded().config.train_ctx_len)
        return min(self.context_length or longest, longest)

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
    ) -> Float64Array:
        """
        Forecast histories.

        Parameters
        ----------
        history : sequence of ndarray of shape (n_rows,)
            One array per series, the newest value last; NaN is a missing value.
        horizon : int
            Number of steps to forecast.
        levels : sequence of float or None, default=None
            Levels of the quantiles to forecast; None asks for a point forecast.

        Returns
        -------
        ndarray of shape (n, horizon), or (n, horizon, n_levels) where levels are given
            Point forecasts, or quantiles.

        Raises
        ------
        ValueError
            If `point` is neither "median" nor "mean".
        """
        model = self._loaded()
        n_rows = self.max_context
        quantiles, _ = model.forecast(
            [values[-n_rows:].copy() for values in history],
            output_type="numpy",
            batch_size=self.batch_size,
            prediction_length=horizon,
        )
        weights = quantile_weights(model.config.quantiles, levels, self.point)
        return np.asarray(quantiles, dtype=np.float64) @ weights

    def _load(self, name: str) -> Any:
        """Load a model, once."""
        return _load(name, self.device)


@lru_cache(maxsize=2)
def _load(name: str, device: str) -> Any:
    """Load a model from the hub."""
    return load_model(name, device=device)
