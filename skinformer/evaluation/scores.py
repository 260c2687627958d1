"""Scores of point forecasts: missing actual values left out, targets and series weighed alike.

Actual values have shape (n,) or (n, n_targets); a NaN in it is a value that was not measured, and
has no part in any score. Forecasts have its shape. Every score is averaged over the rows of a
target, then over targets.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from pandas import DataFrame
from sklearn.utils import check_consistent_length

from skinformer.evaluation.averages import mean_score, ratio_score, read_scored
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_row_count
from skinformer.validation.truth import (
    check_any_truth,
    check_target_count,
    numeric_truth,
    score_weight,
)


def wape(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """
    Compute the weighted absolute percentage error (WAPE).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_pred : array-like of the same shape
        Forecasts.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        ``sum |y - forecast| / sum |y|``; lower is better.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    Examples
    --------
    >>> wape([1.0, 3.0, float("nan")], [2.0, 3.0, 9.0])
    0.25
    """
    y, y_pred = read_scored(y_true, y_pred)
    errors = np.abs(y_pred - y)
    return ratio_score(errors, np.abs(y), sample_weight)


def smape(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """
    Compute the symmetric mean absolute percentage error (sMAPE).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values.
    y_pred : array-like of the same shape
        Forecasts.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean of ``200 |y - forecast| / (|y| + |forecast|)``, from 0 to 200, as in the M
        competitions; lower is better. An actual value of zero that is forecast as zero has no
        error.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    Examples
    --------
    >>> smape([1.0, 0.0], [3.0, 0.0])
    50.0
    """
    y, y_pred = read_scored(y_true, y_pred)
    errors = np.abs(y_pred - y)
    size = np.abs(y_pred) + np.abs(y)
    size[size == 0] = 1
    return mean_score(200 * errors / size, sample_weight)


def mase(y_true: Any, y_pred: Any, *, y_train: Any, season: int = 1) -> float:
    """
    Compute the mean absolute scaled error (MASE).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values; under an index of (series, time) that of a panel.
    y_pred : array-like of the same shape
        Forecasts.
    y_train : array-like of shape (n_train,) or (n_train, n_targets)
        The training rows in time order, labelled as `y_true` is.
    season : int, default=1
        Number of rows in a season; 1 if it is unknown or there is none.

    Returns
    -------
    float
        Mean over series of ``mean |y - forecast| / mean |y_train[t] - y_train[t - season]|``; lower
        is better. At 1 the forecast is as good as the seasonal naive forecast in training [1]_. A
        series that never changed in training, or was absent, is left out.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    References
    ----------
    .. [1] Hyndman and Koehler (2006), Another Look at Measures of Forecast Accuracy, International
       Journal of Forecasting 22, 679-688.

    Examples
    --------
    >>> mase([5.0, 6.0], [5.0, 7.0], y_train=[1.0, 2.0, 3.0, 4.0])
    0.5
    """
    return _scaled(y_true, y_pred, y_train, season, power=1)


def rmsse(y_true: Any, y_pred: Any, *, y_train: Any, season: int = 1) -> float:
    """
    Compute the root mean squared scaled error (RMSSE).

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The actual values; under an index of (series, time) that of a panel.
    y_pred : array-like of the same shape
        Forecasts.
    y_train : array-like of shape (n_train,) or (n_train, n_targets)
        The training rows in time order, labelled as `y_true` is.
    season : int, default=1
        Number of rows in a season.

    Returns
    -------
    float
        Mean over series of the square root of the mean squared error over the mean squared seasonal
        change ``y_train[t] - y_train[t - season]`` [1]_; lower is better.

    Raises
    ------
    ValueError
        If shapes do not fit, if a forecast of a known actual value is missing, or if no actual
        value is known.

    References
    ----------
    .. [1] Hyndman and Koehler (2006), Another Look at Measures of Forecast Accuracy, International
       Journal of Forecasting 22, 679-688.

    Examples
    --------
    >>> rmsse([5.0, 6.0], [7.0, 8.0], y_train=[1.0, 2.0, 3.0, 4.0])
    2.0
    """
    return _scaled(y_true, y_pred, y_train, season, power=2)


def seasonal_change(rows: Float64Array, season: int, *, power: int = 1) -> float:
    """
    Average how much a series changes from one season to the next.

    Parameters
    ----------
    rows : ndarray of float64, shape (n,)
        Values in time order; NaN is missing.
    season : int
        Rows of a season; a series no longer than it is compared row by row.
    power : int, default=1
        Of each absolute change.

    Returns
    -------
    float
        NaN where nothing ever changes.

    Examples
    --------
    >>> seasonal_change(np.array([1.0, 5.0, 2.0, 6.0]), 2)
    1.0
    """
    rows = np.asarray(rows)  # a column of pandas would be lagged by its labels
    lag = season if len(rows) > season else 1
    later = rows[lag:]
    earlier = rows[:-lag]
    changes = np.abs(later - earlier) ** power
    known = changes[~np.isnan(changes)]
    return float(known.mean()) if known.any() else float("nan")


def _scaled(
    y_true: Any, y_pred: Any, y_train: Any, season: int, *, power: int
) -> float:
    """Average errors over each series' own changes, then over series and targets."""
    check_row_count("season", season)
    y, y_pred = read_scored(y_true, y_pred)
    trained = numeric_truth(y_train)
    trained = trained.reshape(len(trained), -1)
    check_target_count(y.shape[1], trained.shape[1])
    # 1. Errors and changes of each series, in the order of the errors' series.
    errors = DataFrame(np.abs(y_pred - y) ** power)
    error = errors.groupby(_series_of(y_true, len(y))).mean()
    history = DataFrame(trained).groupby(_series_of(y_train, len(trained)))
    changes = {
        name: [
            seasonal_change(column, season, power=power) for column in rows.to_numpy().T
        ]
        for name, rows in history
    }
    scale = DataFrame.from_dict(changes, orient="index").reindex(error.index)
    # 2. Their ratios.
    scores = error.to_numpy() / scale.to_numpy()
    if not np.isfinite(scores).any():
        raise ValueError(
            "errors cannot be scaled: no series of y_true varies in y_train, or none "
            "has the same name there. Pass the training rows of these series, with "
            "the same labels."
        )
    return float(np.nanmean(scores ** (1 / power)))


def _series_of(rows: Any, n: int) -> Any:
    """Return each row's series; one for rows without names."""
    index: Any = getattr(rows, "index", None)
    if getattr(index, "nlevels", 1) > 1:  # a list has a method of that name
        return index.get_level_values(0)
    return np.zeros(n)


class skip_missing:  # noqa: N801 – used as a function, a class so that it can be pickled
    """
    Make a metric of scikit-learn leave out rows with a missing actual value.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, *, sample_weight=None, …)``, such as
        `sklearn.metrics.mean_absolute_error`.

    See Also
    --------
    sklearn.metrics.make_scorer : Turns the result into a scorer for cross-validation.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer, mean_absolute_error
    >>> from skinformer.evaluation import skip_missing
    >>> metric = skip_missing(mean_absolute_error)
    >>> metric([1.0, float("nan"), 3.0], [2.0, 9.0, 3.0])
    0.5
    >>> scorer = make_scorer(metric, greater_is_better=False)
    """

    def __init__(self, metric: Callable[..., float]) -> None:
        self.metric = metric
        self.__name__ = getattr(metric, "__name__", type(metric).__name__)

    def __call__(
        self, y_true: Any, y_pred: Any, *, sample_weight: Any = None, **options: Any
    ) -> float:
        """
        Measure the rows with a known actual value.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, n_targets)
            The actual values; a row with a NaN is left out.
        y_pred : array-like of the same shape
            Forecasts.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.
        **options : object
            More arguments of the metric.

        Returns
        -------
        float
            What the metric gives.
        """
        y = numeric_truth(y_true)
        y_pred = np.asarray(y_pred)
        check_consistent_length(y, y_pred)
        columns = y.reshape(len(y), -1)
        known = ~np.isnan(columns).any(axis=1)
        check_any_truth(known)
        if sample_weight is not None:
            weight = score_weight(sample_weight, len(y))
            options["sample_weight"] = weight[known]
        return self.metric(y[known], y_pred[known], **options)
