"""TiRex as a member of an ensemble; the one module that imports tirex."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from skinformer.beside.histories import Pretrained, quantile_weights
from skinformer.timeline.arrays import Float64Array

try:
    from tirex import load_model
except ImportError as error:
    raise ImportError("tirex is missing: pip install 'skinformer[tirex]'.") from error


class TiRexForecaster(Pretrained):
    """
    TiRex, a pretrained recurrent model, for `members` of an `InformerRegressor`.

    It learns nothing from the rows, and sees the target alone. Weights are in no package: those of
    a name on the Hugging Face hub are fetched once, by its library, under a licence of their own.

    Parameters
    ----------
    model : str or model of tirex, default="NX-AI/TiRex"
        A name on the hub, or what `tirex.load_model` returned, which no file of a model holds.
    context_length : int or None, default=None
        Rows that it looks back at most; None is as far as the model can.
    point : {"median", "mean"}, default="median"
        What is forecast; the mean is that of the model's quantiles.
    batch_size : int, default=256
        Histories at once.
    device : str, default="cpu"
        Where a model that is named is put.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Examples
    --------
    >>> from skinformer.beside.tirex import TiRexForecaster
    >>> TiRexForecaster(context_length=512).name
    'TiRex'
    """

    def __init__(
        self,
        model: Any = "NX-AI/TiRex",
        *,
        context_length: int | None = None,
        point: str = "median",
        batch_size: int = 256,
        device: str = "cpu",
        max_seconds: float = 600,
    ) -> None:
        self.model = model
        self.context_length = context_length
        self.point = point
        self.batch_size = batch_size
        self.device = device
        self.max_seconds = max_seconds

    @property
    def max_context(self) -> int:
        """Rows that it looks back at most."""
        longest = int(self._loaded().config.train_ctx_len)
        return min(self.context_length or longest, longest)

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), or the quantiles of levels, (n, horizon, n_levels)."""
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
