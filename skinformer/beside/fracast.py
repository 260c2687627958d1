"""Fracast as a member of an ensemble; the one module that imports fracast."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from skinformer.beside.histories import Adapter, quantile_weights
from skinformer.timeline.arrays import Float64Array

try:
    from fracast import FracastModel
except ImportError as error:
    raise ImportError(
        "fracast is missing: pip install 'skinformer[fracast]'."
    ) from error


class FracastForecaster(Adapter):
    """
    Fracast, a small pretrained model, for `members` of an `InformerRegressor`.

    It learns nothing from the rows. Its 85,000 weights are part of its package, so that nothing is
    downloaded. A history of fewer than eight observed values is forecast by its last one.

    Parameters
    ----------
    weights : {"w8", "fp32"}, default="w8"
        Weights in eight bits, or as they were trained.
    context_length : int, default=2048
        Rows that it looks back at most; the model looks no further than 2048.
    point : {"median", "mean"}, default="median"
        What is forecast; the mean is that of the model's nine quantiles.
    batch_size : int, default=16
        Histories at once.
    device : str, default="cpu"
        Where the model is put.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.beside.fracast import FracastForecaster
    >>> waves = [np.sin(np.arange(200.0) * np.pi / 6), np.ones(3)]
    >>> forecast = FracastForecaster().predict(waves, horizon=12)
    >>> forecast.shape
    (2, 12)
    >>> bool(np.abs(forecast[0] - waves[0][8:20]).max() < 0.2)
    True
    """

    name = "fracast"

    def __init__(
        self,
        *,
        weights: str = "w8",
        context_length: int = 2048,
        point: str = "median",
        batch_size: int = 16,
        device: str = "cpu",
        max_seconds: float = 600,
    ) -> None:
        self.weights = weights
        self.context_length = context_length
        self.point = point
        self.batch_size = batch_size
        self.device = device
        self.max_seconds = max_seconds

    @property
    def max_context(self) -> int:
        """Rows that it looks back at most."""
        return min(self.context_length, 2048)

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), or the quantiles of levels, (n, horizon, n_levels)."""
        model = _load(self.weights, self.device)
        contexts = []
        gaps = []
        for values in history:
            end = np.flatnonzero(~np.isnan(values))[-1] + 1
            contexts.append(values[:end])
            gaps.append(len(values) - end)
        quantiles = self._forecast_quantiles(model, contexts, horizon + max(gaps))
        forecasts = quantiles @ quantile_weights(model.quantiles, levels, self.point)
        found = [forecasts[i, gap : gap + horizon] for i, gap in enumerate(gaps)]
        return np.stack(found)

    def _forecast_quantiles(
        self, model: FracastModel, contexts: list[Float64Array], n_steps: int
    ) -> Float64Array:
        """Forecast the quantiles that a model knows, (n, n_steps, n_quantiles).

        contexts: each ends with an observed value, which forecasts those that are too short.
        """
        quantiles = np.empty((len(contexts), n_steps, len(model.quantiles)))
        padded = np.full((len(contexts), self.max_context), np.nan)
        for i, values in enumerate(contexts):
            quantiles[i] = values[-1]
            recent = values[-self.max_context :]
            padded[i, -len(recent) :] = recent
        fewest = 8  # observed values without which the model does not forecast
        n_observed = np.isfinite(padded).sum(axis=1)
        enough = np.flatnonzero(n_observed >= fewest)
        if len(enough):
            quantiles[enough] = model.forecast_batch(padded[enough], horizon=n_steps)
        return quantiles


@lru_cache(maxsize=2)
def _load(weights: str, device: str) -> FracastModel:
    """Load the model of the package."""
    return FracastModel.from_pretrained(weights=weights, device=device)
