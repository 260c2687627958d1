"""What adapters of other forecasters share: files, gaps, short histories, quantiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from skinformer.estimators.bases import BaseEstimator
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.warning import warn_user

#: Forecasts the next steps of values without gaps.
OneForecast = Callable[[Float64Array, int], npt.ArrayLike]


class Adapter(BaseEstimator):
    """
    A forecaster of another library, with parameters by name; files hold these.

    Examples
    --------
    >>> Adapter.from_config(Adapter().to_config())
    Adapter()
    """

    def to_config(self) -> dict[str, Any]:
        """Return the parameters for a file."""
        return self.get_params(deep=False)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return the forecaster of a file."""
        return cls(**config)


def without_gaps(history: Float64Array) -> tuple[Float64Array, int]:
    """
    Return a history up to its last observed value, with lines across its gaps.

    Parameters
    ----------
    history : ndarray of shape (n_rows,)
        NaN is missing; at least one value is observed.

    Returns
    -------
    values : ndarray
        Without NaN.
    n_missing : int
        Rows behind the last observed value.

    Examples
    --------
    >>> without_gaps(np.array([1.0, np.nan, 3.0, np.nan]))
    (array([1., 2., 3.]), 1)
    """
    observed = np.flatnonzero(~np.isnan(history))
    n_rows = int(observed[-1]) + 1
    values = np.interp(np.arange(n_rows), observed, history[observed])
    return values, len(history) - n_rows


def repeat_season(
    values: Float64Array,
    horizon: int,
    season: int,
) -> Float64Array:
    """
    Forecast by the last season, or by the last value where there is no whole one.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Without NaN.
    horizon : int
        Steps ahead.
    season : int
        Its rows.

    Returns
    -------
    ndarray of shape (horizon,)
        Forecasts.

    Examples
    --------
    >>> repeat_season(np.array([1.0, 2.0, 3.0]), 3, 2).tolist()
    [2.0, 3.0, 2.0]
    """
    period = season if len(values) >= season else 1
    return np.resize(values[-period:], horizon)


def forecast_each(
    forecast: OneForecast,
    histories: Sequence[Float64Array],
    horizon: int,
    *,
    name: str,
    season: int = 1,
    max_context: int | None = None,
    n_jobs: int | None = None,
) -> Float64Array:
    """
    Forecast histories one by one; the last season stands where a forecast is an error or NaN.

    Parameters
    ----------
    forecast : callable
        From values without gaps and a number of steps to forecasts of these.
    histories : sequence of ndarray
        NaN is missing; at least one value of each is observed.
    horizon : int
        Steps ahead.
    name : str
        Of the forecaster, for the warning where it fails with two seasons and ten values or more.
    season : int, default=1
        Rows of a season.
    max_context : int or None, default=None
        Rows of a history that are read at most, the last ones; None is all.
    n_jobs : int or None, default=None
        Processes of joblib.

    Returns
    -------
    ndarray of shape (n_histories, horizon)
        Forecasts.

    Examples
    --------
    >>> mean = lambda values, horizon: np.full(horizon, values.mean())
    >>> forecast_each(mean, [np.array([1.0, np.nan, 3.0])], 2, name="mean")
    array([[2., 2.]])
    """
    found = np.empty((len(histories), horizon))
    errors = []
    calls = []
    for history in histories:
        recent = history[-(max_context or len(history)) :]
        calls.append(delayed(_forecast_one)(forecast, recent, horizon, season))
    answers = Parallel(n_jobs=n_jobs)(calls)
    for i, (y_pred, error) in enumerate(answers):
        found[i] = y_pred
        if error:
            errors.append(error)
    if errors:
        warn_user(
            f"{name} failed for {len(errors)} of {len(histories)} histories, the last time with "
            f"{errors[-1]}: the last season stands there."
        )
    return found


def _forecast_one(
    forecast: OneForecast,
    history: Float64Array,
    horizon: int,
    season: int,
) -> tuple[Float64Array, str]:
    """Return forecasts, and the error of a history that is long enough as text."""
    values, gap = without_gaps(history)
    n_steps = gap + horizon
    repeated = repeat_season(values, n_steps, season)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a library about one of many histories
            y_pred = np.asarray(forecast(values, n_steps), dtype=np.float64)
        y_pred = y_pred.reshape(n_steps)
    except Exception as error:  # each library has its own for what is too short
        is_long = len(values) >= max(2 * season, 10)
        return repeated[gap:], f"{type(error).__name__}: {error}" if is_long else ""
    return np.where(np.isfinite(y_pred), y_pred, repeated)[gap:], ""


def quantile_weights(
    known: Sequence[float],
    levels: Sequence[float] | None,
    point: str = "median",
) -> Float64Array:
    """
    Return the weights of known quantiles in quantiles of other levels, or in a point.

    Parameters
    ----------
    known : sequence of float
        Levels, increasing.
    levels : sequence of float or None
        Those asked for, on straight lines between neighbours, at the ends the outermost known
        ones; None asks for a point.
    point : {"median", "mean"}, default="median"
        Which.

    Returns
    -------
    ndarray of shape (n_known, n_levels), or (n_known,)
        Weights: quantiles ``(…, n_known) @ weights`` are what is asked for.

    Examples
    --------
    >>> quantile_weights([0.1, 0.5, 0.9], [0.5, 0.7]).T.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    >>> quantile_weights([0.1, 0.5, 0.9], None, "mean").round(2).tolist()
    [0.3, 0.4, 0.3]
    """
    if point not in ("median", "mean"):
        raise ValueError(f'point={point!r} must be "median" or "mean".')
    at = np.asarray(known, dtype=np.float64)
    if levels is None and point == "mean":
        middles = (at[1:] + at[:-1]) / 2
        return np.diff(np.concatenate([[0.0], middles, [1.0]]))
    wanted = 0.5 if levels is None else levels
    weights = [np.interp(wanted, at, one) for one in np.eye(len(at))]
    return np.stack(weights)


def beside_columns(
    targets: Sequence[Any],
    horizon: int,
    past: Sequence[Float64Array] | None,
    known: Sequence[Float64Array] | None,
) -> list[dict[str, Any]]:
    """
    Return each target with its columns by name, as Chronos-2 reads them.

    Parameters
    ----------
    targets : sequence
        The last rows of histories.
    horizon : int
        Steps ahead.
    past : sequence of ndarray of shape (n_rows, n_past) or None
        Columns that are known up to the present.
    known : sequence of ndarray of shape (n_rows + horizon, n_known) or None
        Columns that are known ahead.

    Returns
    -------
    list of dict
        With "target", "past_covariates" and "future_covariates".

    Examples
    --------
    >>> [each] = beside_columns([np.ones(2)], 1, None, [np.arange(4.0)[:, None]])
    >>> each["past_covariates"]["known 0"].tolist(), each["future_covariates"]["known 0"].tolist()
    ([1.0, 2.0], [3.0])
    """
    found = []
    for i, target in enumerate(targets):
        n_rows = len(target)
        before = {}
        ahead = {}
        if past is not None:
            for j, column in enumerate(past[i].T):
                before[f"past {j}"] = column[-n_rows:]
        if known is not None:
            for j, column in enumerate(known[i].T):
                before[f"known {j}"] = column[-n_rows - horizon : -horizon]
                ahead[f"known {j}"] = column[-horizon:]
        columns = {"past_covariates": before, "future_covariates": ahead}
        found.append({"target": target, **columns})
    return found
