"""Fracast as a member of an ensemble; the one module that imports fracast."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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


@dataclass(eq=False, repr=False)
class FracastForecaster(Adapter):
    """
    Fracast, a small pretrained model, for `members` of an `InformerRegressor`.

    The model is not trained on your rows. Its 85,000 weights are part of its package, so nothing
    is downloaded. If a history has fewer than eight observed values, its last value is repeated.

    Parameters
    ----------
    weights : {"w8", "fp32"}, default="w8"
        Weights in eight bits, or in single precision, as they were trained.
    context_length : int, default=2048
        Maximum number of rows per history, at most 2048.
    point : {"median", "mean"}, default="median"
        Point forecast: the median, or the mean of the model's nine quantiles.
    batch_size : int, default=16
        Number of histories per call of the model.
    device : str, default="cpu"
        Device of the model.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and fracast is not installed; the message names the command
        that installs it.

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

    _: KW_ONLY
    weights: str = "w8"
    context_length: int = 2048
    point: str = "median"
    batch_size: int = 16
    device: str = "cpu"
    max_seconds: float = 600

    @property
    def max_context(self) -> int:
        """Maximum number of rows per history."""
        return min(self.context_length, 2048)

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
