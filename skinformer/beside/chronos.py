"""Chronos-Bolt and Chronos-2 as members of an ensemble; the one module that imports chronos."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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


@dataclass(eq=False, repr=False)
class ChronosForecaster(Pretrained):
    """
    A pretrained Chronos model, for `members` of an `InformerRegressor`.

    The model is not trained on your rows. The weights of a name on the Hugging Face hub are
    downloaded once, by the library of the hub. Chronos-2 uses covariates, Chronos-Bolt does not.

    Parameters
    ----------
    pipeline : str, path or pipeline of chronos
        A name on the hub, such as ``"amazon/chronos-2"``, a folder, or what
        `BaseChronosPipeline.from_pretrained` returned. `save` stores a name or a folder only.
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
        When this module is imported and chronos is not installed; the message names the command
        that installs it.

    Examples
    --------
    >>> from skinformer.beside.chronos import ChronosForecaster
    >>> ChronosForecaster("amazon/chronos-bolt-small", context_length=512).name
    'chronos-bolt-small'
    """

    _parameter = "pipeline"

    pipeline: Any
    _: KW_ONLY
    context_length: int | None = None
    point: str = "median"
    batch_size: int = 256
    device: str = "cpu"
    max_seconds: float = 600

    @property
    def max_context(self) -> int:
        """Maximum number of rows per history."""
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
        past : sequence of ndarray of shape (n_rows, n_past) or None, default=None
            Past covariates of each series; Chronos-2 alone uses them.
        known : sequence of ndarray of shape (n_rows + horizon, n_known) or None, default=None
            Future covariates of each series; Chronos-2 alone uses them.

        Returns
        -------
        ndarray of shape (n, horizon), or (n, horizon, n_levels) where levels are given
            Point forecasts, or quantiles.

        Raises
        ------
        ValueError
            If `point` is neither "median" nor "mean".
        """
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
