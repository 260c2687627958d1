"""TimesFM 2.5 and 3 as members of an ensemble; the one module that imports timesfm."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
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


@dataclass(eq=False, repr=False)
class TimesFMForecaster(Pretrained):
    """
    A pretrained TimesFM model, for `members` of an `InformerRegressor`.

    The model is not trained on your rows. The weights of a name on the Hugging Face hub are
    downloaded once, by the library of the hub. Version 3 uses covariates, version 2.5 does not.
    The model runs on a GPU if there is one.

    Parameters
    ----------
    model : str, path or model of timesfm, default="google/timesfm-2.5-200m-pytorch"
        A name on the hub, a folder, or a loaded model. A name or folder that contains "2.5" is
        read as version 2.5, others as version 3. `save` stores a name or a folder only.
    context_length : int, default=2048
        Maximum number of rows per history.
    point : {"median", "mean"}, default="median"
        Point forecast: the median, or the mean of the model's nine quantiles.
    batch_size : int, default=32
        Number of histories per call of the model.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and timesfm is not installed; the message names the command
        that installs it.

    Examples
    --------
    >>> from skinformer.beside.timesfm import TimesFMForecaster
    >>> TimesFMForecaster(context_length=512).name
    'timesfm-2.5-200m-pytorch'
    """

    model: Any = "google/timesfm-2.5-200m-pytorch"
    _: KW_ONLY
    context_length: int = 2048
    point: str = "median"
    batch_size: int = 32
    max_seconds: float = 600

    @property
    def max_context(self) -> int:
        """Maximum number of rows per history."""
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
            Past covariates of each series; version 3 alone uses them.
        known : sequence of ndarray of shape (n_rows + horizon, n_known) or None, default=None
            Future covariates of each series; version 3 alone uses them.

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
