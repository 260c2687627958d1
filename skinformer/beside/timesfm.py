"""TimesFM 2.5 and 3 as members of an ensemble; the one module that imports timesfm."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from skinformer.beside.histories import Pretrained, quantile_weights
from skinformer.timeline.arrays import Float64Array

try:
    from timesfm import ForecastConfig, TimesFM3Forecaster, TimesFM_2p5_200M_torch
except ImportError as error:
    raise ImportError(
        "timesfm is missing: pip install 'skinformer[timesfm]'."
    ) from error


class TimesFMForecaster(Pretrained):
    """
    A pretrained TimesFM model, for `members` of an `InformerRegressor`.

    It learns nothing from the rows. Weights are in no package: those of a name on the Hugging Face
    hub are fetched once, by its library. Version 3 sees the columns beside the target, too. It
    runs on a GPU where there is one.

    Parameters
    ----------
    model : str, path or model of timesfm, default="google/timesfm-2.5-200m-pytorch"
        A name on the hub or a folder, of version 2.5 where that is part of its name, else of
        version 3; or a model that is loaded, which no file of a model holds.
    context_length : int, default=2048
        Rows that it looks back at most.
    point : {"median", "mean"}, default="median"
        What is forecast; the mean is that of the model's nine quantiles.
    batch_size : int, default=32
        Histories at once.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Examples
    --------
    >>> from skinformer.beside.timesfm import TimesFMForecaster
    >>> TimesFMForecaster(context_length=512).name
    'timesfm-2.5-200m-pytorch'
    """

    def __init__(
        self,
        model: Any = "google/timesfm-2.5-200m-pytorch",
        *,
        context_length: int = 2048,
        point: str = "median",
        batch_size: int = 32,
        max_seconds: float = 600,
    ) -> None:
        self.model = model
        self.context_length = context_length
        self.point = point
        self.batch_size = batch_size
        self.max_seconds = max_seconds

    @property
    def max_context(self) -> int:
        """Rows that it looks back at most."""
        return self.context_length

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
        model = self._loaded()
        recent = [values[-self.context_length :] for values in history]
        if isinstance(model, TimesFM3Forecaster):
            lengths = [len(values) for values in recent]
            quantiles = self._forecast_by_3(
                model,
                recent,
                horizon,
                past_only_covariates=_last_rows(past, lengths),
                past_future_covariates=_last_rows(
                    known, [n_rows + horizon for n_rows in lengths]
                ),
            )
            known_levels = model.config.quantiles
        else:
            quantiles = self._forecast_by_2p5(model, recent, horizon)
            known_levels = model.model.config.quantiles
        return quantiles @ quantile_weights(known_levels, levels, self.point)

    def _forecast_by_3(
        self,
        model: TimesFM3Forecaster,
        recent: list[Float64Array],
        horizon: int,
        **columns: Any,
    ) -> Float64Array:
        """Forecast the quantiles that the model knows, (n, horizon, n_quantiles)."""
        outputs = model.predict_batch(
            recent, horizon, return_quantiles=True, padding_mode="edge", **columns
        )
        found = [output.quantiles for output in outputs]
        return np.stack(found).astype(np.float64)

    def _forecast_by_2p5(
        self, model: Any, recent: list[Float64Array], horizon: int
    ) -> Float64Array:
        """Forecast the quantiles that the model knows, (n, horizon, n_quantiles)."""
        longest = max(len(values) for values in recent)
        config = ForecastConfig(
            max_context=min(longest, self.context_length),
            max_horizon=horizon,
            normalize_inputs=True,
            per_core_batch_size=self.batch_size,
            use_continuous_quantile_head=horizon <= model.model.os,
            infer_is_positive=False,
            fix_quantile_crossing=True,
        )
        model.compile(config)
        # It appends to the list; behind the mean come the quantiles.
        _, found = model.forecast(horizon, list(recent))
        return found[..., 1:].astype(np.float64)

    def _load(self, name: str) -> Any:
        """Load a model, once."""
        return _load(name, self.batch_size)


def _last_rows(
    columns: Sequence[Float64Array] | None, lengths: list[int]
) -> list[Float64Array] | None:
    """Return the last rows of each history's columns, (n_columns, n_rows)."""
    if columns is None:
        return None
    return [each[-n_rows:].T for each, n_rows in zip(columns, lengths, strict=True)]


@lru_cache(maxsize=2)
def _load(name: str, batch_size: int) -> Any:
    """Load a model from a folder or the hub."""
    if "2.5" in name:
        return TimesFM_2p5_200M_torch.from_pretrained(name, torch_compile=False)
    return TimesFM3Forecaster.from_pretrained(name, per_core_batch_size=batch_size)
