"""Rolling-origin evaluation: many forecasts of a fitted model, each from its own past alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.pipeline import Pipeline

from skinformer.estimators import validation

__all__ = ["backtest"]


def backtest(
    estimator: Any,
    X: pd.DataFrame,
    y: pd.Series | pd.DataFrame | None = None,
    *,
    start: Any = None,
    horizon: int | None = None,
    step: int | None = None,
    known_future: Sequence[Any] = (),
) -> pd.DataFrame:
    """
    Forecast later rows of a fitted estimator from one origin after the other.

    At each origin the estimator gets the rows of X before it and, behind them, `horizon` rows
    in which every column is hidden (NaN) but those known ahead. So no forecast can come from
    what was not known then, whatever the estimator does. Nothing is trained again; to train
    again at each origin use `sklearn.model_selection.TimeSeriesSplit`.

    Parameters
    ----------
    estimator : InformerRegressor, Pipeline or any regressor
        Fitted on the rows before X. An `InformerRegressor`, alone or as the last step of a
        Pipeline, forecasts from the origin itself; of others `predict` is asked, whose features
        may reach back no less than `horizon` rows (``SlidingWindow(lag=horizon)``).
    X : DataFrame of shape (n_samples, n_features)
        Rows that follow the training rows, of one series or of a panel.
    y : Series or DataFrame, default=None
        The truth, with X's index. None: the columns of X that the estimator was fitted to
        forecast.
    start : label of X.index, default=None
        The first origin; None is X's first row. Rows of X before it are history.
    horizon : int, default=None
        Rows forecast from each origin; None is the estimator's `pred_len`.
    step : int, default=None
        Rows between two origins; None is `horizon`, so that each row is forecast once.
    known_future : list, default=()
        Columns of X whose values are known ahead, besides those that an `InformerRegressor`
        knows by its own parameter.

    Returns
    -------
    DataFrame
        One row for each origin, row ahead and target: ``origin`` (label of the first row
        forecast; only rows before it were seen), ``time`` (label of the row), ``ahead``
        (1 … `horizon`), ``target``, ``actual`` and ``forecast`` in the truth's units; of a panel
        the ``series`` before them. The last origin may have fewer than `horizon` rows.

    Raises
    ------
    ValueError
        If the truth, the horizon or the first origin cannot be told, or if forecasts would
        start within the training rows.

    See Also
    --------
    SeasonalNaive : What a model must beat.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import SeasonalNaive, backtest
    >>> days = pd.date_range("2024-01-01", periods=8, freq="D")
    >>> df = pd.DataFrame({"load": np.arange(8.0)}, index=days)
    >>> result = backtest(SeasonalNaive().fit(df[:4]), df[4:], df[["load"]][4:], horizon=2)
    >>> result["forecast"].tolist()
    [3.0, 3.0, 5.0, 5.0]
    """
    last = _last_step(estimator)
    truth = _find_truth(last, X, y)
    horizon = validation.check_row_count(
        "horizon", getattr(last, "pred_len", None) if horizon is None else horizon
    )
    step = validation.check_row_count("step", horizon if step is None else step)
    known = {*known_future, *(getattr(last, "known_future", None) or ())}
    hidden = [name for name in X.columns if name not in known]
    rows = X.astype(dict.fromkeys(hidden, np.float64))
    if X.index.nlevels == 1:
        first = validation.find_row(X.index, start)
        validation.check_after_training(last, X.index[first], None)
        return _roll(estimator, rows, truth, hidden, range(first, len(X), step), horizon)
    parts = []
    for name in X.index.unique(0):
        one = rows.loc[[name]]
        first = validation.find_row(one.index.get_level_values(1), start)
        validation.check_after_training(last, one.index[first][1], name)
        origins = range(first, len(one), step)
        part = _roll(estimator, one, truth.loc[[name]], hidden, origins, horizon)
        part.insert(0, "series", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _roll(
    estimator: Any,
    rows: pd.DataFrame,
    truth: pd.DataFrame,
    hidden: list[Any],
    origins: Iterable[int],
    horizon: int,
) -> pd.DataFrame:
    """Forecast the rows of one series from one origin after the other."""
    parts = []
    for origin in origins:
        seen = rows.iloc[: origin + horizon].copy()
        seen.loc[seen.index[origin:], hidden] = np.nan
        block = truth.iloc[origin : origin + horizon]
        parts.append(_as_table(block, _forecast(estimator, seen, len(block))))
    return pd.concat(parts, ignore_index=True)


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _find_truth(last: Any, X: pd.DataFrame, y: Any) -> pd.DataFrame:
    """Find the truth of X's rows, one column a target."""
    roles = getattr(last, "roles_", None)
    validation.check_truth_reaches(roles, y)
    truth = X[list(roles.targets)] if y is None else y  # type: ignore[union-attr]
    validation.check_same_index(X, truth)
    return truth.to_frame() if isinstance(truth, pd.Series) else truth


def _forecast(estimator: Any, seen: pd.DataFrame, n_rows: int) -> npt.NDArray[np.float64]:
    """Forecast the last rows of a frame, shape (n_rows, n_targets)."""
    last = _last_step(estimator)
    if not hasattr(last, "forecast"):
        return np.asarray(estimator.predict(seen)).reshape(len(seen), -1)[-n_rows:]
    labels = seen.index[-n_rows:]
    if last is not estimator and len(estimator) > 1:
        seen = estimator[:-1].transform(seen)
    forecast: npt.NDArray[np.float64] = last.forecast(seen).loc[labels].to_numpy()
    return forecast


def _as_table(truth: pd.DataFrame, forecast: npt.NDArray[np.float64]) -> pd.DataFrame:
    """Lay out the forecasts of one origin, target after target."""
    n_rows, n_targets = truth.shape
    names: Iterable[Any] = truth.columns
    time = truth.index.get_level_values(-1)
    return pd.DataFrame(
        {
            "origin": time[np.zeros(n_rows * n_targets, dtype=int)],
            "time": time[np.tile(np.arange(n_rows), n_targets)],
            "ahead": np.tile(np.arange(1, n_rows + 1), n_targets),
            "target": np.repeat(np.array(list(names), dtype=object), n_rows),
            "actual": truth.to_numpy(dtype=np.float64).T.ravel(),
            "forecast": forecast.T.ravel(),
        }
    )
