"""FLAIR as a member of an ensemble; the one module that imports flaircast."""

import warnings
from collections.abc import Sequence

import numpy as np

from skinformer.beside.histories import Adapter
from skinformer.timeline.arrays import Float64Array

try:
    import flaircast
except ImportError as error:
    raise ImportError(
        "flaircast is missing: pip install 'skinformer[flair]'."
    ) from error


class FlairForecaster(Adapter):
    """
    FLAIR, a level times a shape of the season, for `members` of an `InformerRegressor`.

    It is fitted to each history anew: a ridge forecasts the sum of each season, and the shape of
    the last two seasons parts it. Columns known ahead help to forecast the sums.

    Parameters
    ----------
    freq : str
        The step between rows, as pandas has it, such as ``"h"``, ``"D"`` or ``"MS"``; it tells
        flaircast which seasons there may be.
    max_context : int or None, default=None
        Rows that it looks back at most; None is all.
    n_samples : int, default=200
        Paths that are drawn; their quantiles are the forecast.
    random_state : int or None, default=0
        What they are drawn by.
    max_seconds : float, default=600
        Seconds that it may take for a fit and its forecast.

    Examples
    --------
    >>> import numpy as np
    >>> from skinformer.beside.flair import FlairForecaster
    >>> wave = 10 + np.sin(np.arange(240.0) * np.pi / 12)
    >>> forecast = FlairForecaster("h").predict([wave], horizon=24)
    >>> bool(np.abs(forecast[0] - wave[:24]).max() < 0.2)
    True
    """

    name = "flair"

    def __init__(
        self,
        freq: str,
        *,
        max_context: int | None = None,
        n_samples: int = 200,
        random_state: int | None = 0,
        max_seconds: float = 600,
    ) -> None:
        self.freq = freq
        self.max_context = max_context
        self.n_samples = n_samples
        self.random_state = random_state
        self.max_seconds = max_seconds

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
        known: Sequence[Float64Array] | None = None,
    ) -> Float64Array:
        """Forecast histories, (n, horizon), or the quantiles of levels, (n, horizon, n_levels)."""
        found = []
        for i, values in enumerate(history):
            columns = None if known is None else known[i]
            paths = self._draw_paths(values, horizon, columns)
            if levels is None:
                found.append(np.median(paths, axis=0))
            else:
                found.append(np.quantile(paths, levels, axis=0).T)
        return np.stack(found)

    def _draw_paths(
        self, values: Float64Array, horizon: int, known: Float64Array | None
    ) -> Float64Array:
        """Draw paths of a history, (n_samples, horizon).

        known: columns known ahead, (n_rows + horizon, n_columns).
        """
        recent = values[-(self.max_context or len(values)) :]
        columns = {}
        if known is not None:
            columns["X_hist"] = known[:-horizon][-len(recent) :]
            columns["X_future"] = known[-horizon:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a library about one of many histories
            paths = flaircast.forecast(
                recent,
                horizon,
                self.freq,
                n_samples=self.n_samples,
                seed=self.random_state,
                **columns,
            )
        return np.asarray(paths, dtype=np.float64)
