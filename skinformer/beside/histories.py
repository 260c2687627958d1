"""What adapters of other forecasters share: files, gaps, short histories, quantiles."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.metaestimators import available_if

from skinformer.estimators.bases import BaseEstimator
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_choice
from skinformer.validation.warning import warn_user


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
        """
        Return the forecaster of a file.

        Parameters
        ----------
        config : dict
            What `to_config` returned.

        Returns
        -------
        Adapter
            A forecaster with the same parameters.
        """
        return cls(**config)


def _is_named(adapter: Any) -> bool:
    """Whether the model of an adapter is a name or a folder."""
    return isinstance(adapter._given(), str | Path)


class Pretrained(Adapter):
    """
    A forecaster whose weights nothing changes: of a name or a folder, or a model that is given.

    A subclass has `_load`, from a name to a model.
    """

    #: The parameter that names the model, or is it.
    _parameter = "model"

    def __sklearn_clone__(self) -> Self:
        """Return one that shares the weights, which nothing changes."""
        return type(self)(**self.get_params(deep=False))

    @property
    def name(self) -> str:
        """The last part of the model's name, or the model's class."""
        model = self._given()
        return Path(model).name if _is_named(self) else type(model).__name__

    @available_if(_is_named)
    def to_config(self) -> dict[str, Any]:
        """Return the parameters for a file, if the model is given by its name or folder."""
        return {**super().to_config(), self._parameter: str(self._given())}

    def _given(self) -> Any:
        """Return the parameter: a name, a folder or a model."""
        return getattr(self, self._parameter)

    def _loaded(self: Any) -> Any:
        """Return the model, loaded once where it is named."""
        model = self._given()
        return self._load(str(model)) if _is_named(self) else model


class FitsEachHistory(Adapter):
    """
    A forecaster that is fitted to each history anew.

    A subclass has a `name`, `max_context`, `n_jobs`, and `_forecast`, from values without gaps and
    a number of steps to forecasts of these.
    """

    def _forecast_each(
        self: Any, histories: Sequence[Float64Array], horizon: int, season: int
    ) -> Float64Array:
        """Forecast histories; the last season stands where a forecast is an error or NaN.

        Histories, of which at least one value is observed, are read from their last `max_context`
        rows. A warning tells of errors with two seasons and ten values or more.
        """
        found = np.empty((len(histories), horizon))
        errors = []
        calls = []
        for history in histories:
            recent = history[-(self.max_context or len(history)) :]
            calls.append(
                delayed(_forecast_one)(self._forecast, recent, horizon, season)
            )
        answers = Parallel(n_jobs=self.n_jobs)(calls)
        for i, (y_pred, error) in enumerate(answers):
            found[i] = y_pred
            if error:
                errors.append(error)
        if errors:
            warn_user(
                f"{self.name} failed for {len(errors)} of {len(histories)} histories, "
                f"the last time with {errors[-1]}: their forecast repeats the last "
                "season."
            )
        return found


def _forecast_one(
    forecast: Any, history: Float64Array, horizon: int, season: int
) -> tuple[Float64Array, str]:
    """Return forecasts, and the error of a history that is long enough as text.

    >>> history = np.array([1.0, np.nan, 3.0, np.nan])
    >>> _forecast_one(lambda values, n_steps: values[-n_steps:], history, 1, season=1)
    (array([3.]), '')
    """
    # Up to the last observed value, with lines across gaps.
    observed = np.flatnonzero(~np.isnan(history))
    n_rows = int(observed[-1]) + 1
    values = np.interp(np.arange(n_rows), observed, history[observed])
    gap = len(history) - n_rows
    n_steps = gap + horizon
    # The last season, or the last value where there is no whole one.
    period = season if n_rows >= season else 1
    repeated = np.resize(values[-period:], n_steps)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a library about one of many histories
            y_pred = np.asarray(forecast(values, n_steps), dtype=np.float64)
        y_pred = y_pred.reshape(n_steps)
    except Exception as error:  # each library has its own for what is too short
        is_long = n_rows >= max(2 * season, 10)
        return repeated[gap:], f"{type(error).__name__}: {error}" if is_long else ""
    return np.where(np.isfinite(y_pred), y_pred, repeated)[gap:], ""


def quantile_weights(
    known: Sequence[float], levels: Sequence[float] | None, point: str = "median"
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
    check_choice("point", point, ("median", "mean"))
    at = np.asarray(known, dtype=np.float64)
    if levels is None and point == "mean":
        middles = (at[1:] + at[:-1]) / 2
        return np.diff(middles, prepend=0.0, append=1.0)
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
        found.append(
            {"target": target, "past_covariates": before, "future_covariates": ahead}
        )
    return found
