"""Chronos-Bolt and Chronos-2 as members of an ensemble; the one module that imports chronos."""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from skinformer.beside.histories import Pretrained, beside_columns, quantile_weights
from skinformer.timeline.arrays import Float64Array

try:
    from chronos import BaseChronosPipeline, Chronos2Pipeline
except ImportError as error:
    raise ImportError(
        "chronos is missing: pip install 'skinformer[chronos]'."
    ) from error


class ChronosForecaster(Pretrained):
    """
    A pretrained Chronos model, for `members` of an `InformerRegressor`.

    It learns nothing from the rows. Weights are in no package: those of a name on the Hugging Face
    hub are fetched once, by its library. Chronos-2 sees the columns beside the target, too.

    Parameters
    ----------
    pipeline : str, path or pipeline of chronos
        A name on the hub, such as ``"amazon/chronos-2"``, a folder, or what
        `BaseChronosPipeline.from_pretrained` returned, which no file of a model holds.
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
    >>> from skinformer.beside.chronos import ChronosForecaster
    >>> ChronosForecaster("amazon/chronos-bolt-small", context_length=512).name
    'chronos-bolt-small'
    """

    _parameter = "pipeline"

    def __init__(
        self,
        pipeline: Any,
        *,
        context_length: int | None = None,
        point: str = "median",
        batch_size: int = 256,
        device: str = "cpu",
        max_seconds: float = 600,
    ) -> None:
        self.pipeline = pipeline
        self.context_length = context_length
        self.point = point
        self.batch_size = batch_size
        self.device = device
        self.max_seconds = max_seconds

    @property
    def max_context(self) -> int:
        """Rows that it looks back at most."""
        longest = int(self._loaded().model_context_length)
        return min(self.context_length or longest, longest)

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
        past: Sequence[Float64Array] | None = None,
        known: Sequence[Float64Array] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), or the quantiles of levels, (n, horizon, n_levels)."""
        pipeline = self._loaded()
        n_rows = self.max_context
        inputs: list[Any] = [torch.tensor(values[-n_rows:]) for values in history]
        if isinstance(pipeline, Chronos2Pipeline):
            inputs = beside_columns(inputs, horizon, past, known)
        with warnings.catch_warnings():
            # Of horizons beyond those of its training.
            warnings.simplefilter("ignore", UserWarning)
            found, _ = pipeline.predict_quantiles(inputs, horizon, pipeline.quantiles)
        quantiles = [np.asarray(each).reshape(horizon, -1) for each in found]
        weights = quantile_weights(pipeline.quantiles, levels, self.point)
        return np.stack(quantiles) @ weights

    def _load(self, name: str) -> Any:
        """Load a pipeline, once."""
        return _load(name, self.device)


@lru_cache(maxsize=2)
def _load(name: str, device: str) -> Any:
    """Load a pipeline from a folder or the hub."""
    return BaseChronosPipeline.from_pretrained(name, device_map=device)
