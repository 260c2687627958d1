"""FLAIR as a member of an ensemble; the one module that imports flaircast."""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from skinformer.beside.histories import Adapter
from skinformer.timeline.arrays import Float64Array

try:
    import flaircast
except ImportError as error:
    raise ImportError(
        "flaircast is missing: pip install 'skinformer[flair]'."
    ) from error


@dataclass(eq=False, repr=False)
class FlairForecaster(Adapter):
    """
    FLAIR, a level times a seasonal shape, for `members` of an `InformerRegressor`.

    FLAIR is fitted again to each history. A ridge regression forecasts the sum of each season,
    which is then distributed over the steps by the shape of the last two seasons. Future
    covariates help to forecast the sums.

    Parameters
    ----------
    freq : str
        Frequency of the rows in the notation of pandas, such as ``"h"``, ``"D"`` or ``"MS"``.
        flaircast derives from it which seasons to try.
    max_context : int or None, default=None
        Maximum number of rows per history; None is all.
    n_samples : int, default=200
        Number of sample paths; their median and quantiles are the forecast.
    random_state : int or None, default=0
        Seed of the sample paths; None draws other paths at each call.
    max_seconds : float, default=600
        Maximum number of seconds for all forecasts of a fit. A few histories are forecast first;
        if their run time shows that the maximum would be exceeded, `fit` raises an error.

    Raises
    ------
    ImportError
        When this module is imported and flaircast is not installed; the message names the command
        that installs it.

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

    freq: str
    _: KW_ONLY
    max_context: int | None = None
    n_samples: int = 200
    random_state: int | None = 0
    max_seconds: float = 600

    def predict(
        self,
        history: Sequence[Float64Array],
        horizon: int,
        *,
        levels: Sequence[float] | None = None,
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
        known : sequence of ndarray of shape (n_rows + horizon, n_known) or None, default=None
            Future covariates of each series, which help to forecast the sums of seasons.

        Returns
        -------
        ndarray of shape (n, horizon), or (n, horizon, n_levels) where levels are given
            Point forecasts, or quantiles.
        """
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
