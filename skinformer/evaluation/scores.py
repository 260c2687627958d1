"""Scores of forecasts and of ranges: missing truths left out, targets and series weighed alike.

The truth has shape (n,) or (n, n_targets); a NaN in it is a value that was not measured, and has no
part in any score. Point forecasts have its shape; quantiles have one axis more behind it, samples
one before it. Every score is averaged over the rows of a target, then over targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_consistent_length

from skinformer.timeline.arrays import Float64Array
from skinformer.validation import truth as checks
from skinformer.validation.arguments import (
    check_coverage,
    check_levels,
    check_row_count,
)


def pinball_loss(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Measure quantiles by the loss that each is lowest for.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of its quantiles.
    levels : array-like of shape (n_levels,)
        Their levels, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean over levels; in units of the truth, the lower the better.

    Examples
    --------
    >>> pinball_loss([3.0, float("nan")], [[1.0, 2.0], [9.0, 9.0]], levels=[0.1, 0.5])
    0.35
    """
    _, losses = _pinball(y_true, y_quantiles, check_levels(levels))
    return _mean(losses.mean(axis=2), sample_weight)


def weighted_quantile_loss(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Measure quantiles by twice their pinball losses over the size of the truth.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of its quantiles.
    levels : array-like of shape (n_levels,)
        Their levels, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean over levels, free of units, the lower the better; for the median alone it is `wape`.

    Examples
    --------
    >>> round(weighted_quantile_loss([3.0, 1.0], [[1.0, 2.0], [1.0, 1.0]], levels=[0.1, 0.5]), 4)
    0.175
    """
    y, losses = _pinball(y_true, y_quantiles, check_levels(levels))
    return _ratio(2 * losses.mean(axis=2), np.abs(y), sample_weight)


def crps_of_quantiles(
    y_true: Any, y_quantiles: Any, *, levels: npt.ArrayLike, sample_weight: Any = None
) -> float:
    """
    Estimate the continuous ranked probability score from quantiles.

    It is twice the integral of the pinball loss over all levels: each level given stands for those
    that lie nearest to it.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_quantiles : array-like of shape (n, n_levels) or (n, n_targets, n_levels)
        Forecasts of its quantiles.
    levels : array-like of shape (n_levels,)
        Their levels, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        In units of the truth, the lower the better; for a forecast that is sure, its absolute
        error.

    Examples
    --------
    >>> crps_of_quantiles([3.0], [[2.0, 2.0, 2.0]], levels=[0.25, 0.5, 0.75])
    1.0
    """
    levels = check_levels(levels)
    _, losses = _pinball(y_true, y_quantiles, levels)
    order = np.argsort(levels)
    ascending = levels[order]
    between = (ascending[1:] + ascending[:-1]) / 2
    width = np.empty(len(levels))
    width[order] = np.diff(between, prepend=0.0, append=1.0)
    return _mean(2 * losses @ width, sample_weight)


def crps_of_samples(y_true: Any, y_samples: Any, *, sample_weight: Any = None) -> float:
    """
    Estimate the continuous ranked probability score from samples.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_samples : array-like of shape (n, n_samples) or (n, n_targets, n_samples)
        Draws, such as `InformerRegressor.sample` gives.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        In units of the truth, the lower the better. The distance between two draws is averaged
        over pairs of different ones, so that few draws are no disadvantage.

    Examples
    --------
    >>> crps_of_samples([3.0], [[2.0, 4.0]])
    0.0
    """
    y, samples = _check_arrays(y_true, y_samples, *np.shape(y_samples)[-1:])
    n = samples.shape[2]
    error = np.abs(samples - y[..., None]).mean(axis=2)
    # Half the mean distance of pairs: in ascending order each draw counts by its place.
    ascending = np.sort(samples, axis=2)
    place = 2 * np.arange(n) - n + 1.0
    n_pairs = max(n * (n - 1), 1)
    distance = ascending @ place / n_pairs
    return _mean(error - distance, sample_weight)


def interval_coverage(
    y_true: Any, y_interval: Any, *, sample_weight: Any = None
) -> float:
    """
    Return which share of the truth lies within its interval.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds; a truth on a bound is covered.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> interval_coverage([1.0, 2.0, float("nan")], [[0, 1], [0, 1], [0, 1]])
    0.5
    """
    y, bounds = _check_arrays(y_true, y_interval, 2)
    inside = (bounds[..., 0] <= y) & (y <= bounds[..., 1])
    return _mean(np.where(np.isnan(y), np.nan, inside), sample_weight)


def interval_width(y_true: Any, y_interval: Any, *, sample_weight: Any = None) -> float:
    """
    Return how wide intervals are.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth: rows without it have no part, as in the other scores.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean width, in units of the truth.

    Examples
    --------
    >>> interval_width([1.0, 2.0], [[0, 1], [0, 2]])
    1.5
    """
    y, bounds = _check_arrays(y_true, y_interval, 2)
    width = bounds[..., 1] - bounds[..., 0]
    return _mean(np.where(np.isnan(y), np.nan, width), sample_weight)


def winkler_score(
    y_true: Any, y_interval: Any, *, coverage: float, sample_weight: Any = None
) -> float:
    """
    Measure intervals by their width, and by how far the truth lies outside.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_interval : array-like of shape (n, 2) or (n, n_targets, 2)
        Lower and upper bounds.
    coverage : float
        What they are meant to cover, in (0, 1).
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Mean of the width plus 2 / (1 - coverage) times the distance outside; in units of the
        truth, the lower the better.

    Examples
    --------
    >>> round(winkler_score([1.0, 3.0], [[0, 2], [0, 2]], coverage=0.8), 6)
    7.0
    """
    check_coverage(coverage)
    y, bounds = _check_arrays(y_true, y_interval, 2)
    low = bounds[..., 0]
    high = bounds[..., 1]
    below = np.maximum(low - y, 0)
    above = np.maximum(y - high, 0)
    penalty = 2 / (1 - coverage) * (below + above)
    return _mean(high - low + penalty, sample_weight)


def wape(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """
    Divide the sum of absolute errors by the sum of the truth's sizes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_pred : array-like of the same shape
        Forecasts of it.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        Free of units, the lower the better.

    Examples
    --------
    >>> wape([1.0, 3.0, float("nan")], [2.0, 3.0, 9.0])
    0.25
    """
    y, y_pred = _check_arrays(y_true, y_pred)
    return _ratio(np.abs(y_pred - y), np.abs(y), sample_weight)


def smape(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """
    Measure absolute errors in percent of the mean size of truth and forecast.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth.
    y_pred : array-like of the same shape
        Forecasts of it.
    sample_weight : array-like of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    float
        From 0 to 200, as in the M competitions; zero forecast as zero has no error.

    Examples
    --------
    >>> smape([1.0, 0.0], [3.0, 0.0])
    50.0
    """
    y, y_pred = _check_arrays(y_true, y_pred)
    size = np.abs(y_pred) + np.abs(y)
    size[size == 0] = 1
    percent = 200 * np.abs(y_pred - y) / size
    return _mean(percent, sample_weight)


def mase(y_true: Any, y_pred: Any, *, y_train: Any, season: int = 1) -> float:
    """
    Measure absolute errors in units of each series' own seasonal changes in training.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth; under an index of (series, time) that of a panel.
    y_pred : array-like of the same shape
        Forecasts of it.
    y_train : array-like of shape (n_train,) or (n_train, n_targets)
        The training rows in time order, labelled as `y_true` is.
    season : int, default=1
        Rows of a season; 1 where it is unknown or there is none.

    Returns
    -------
    float
        Mean over series; 1 is as good as the seasonal naive forecast was in training, the lower
        the better. A series that never changed, or that training did not hold, is left out.

    Examples
    --------
    >>> mase([5.0, 6.0], [5.0, 7.0], y_train=[1.0, 2.0, 3.0, 4.0])
    0.5
    """
    return _scaled(y_true, y_pred, y_train, season, power=1)


def rmsse(y_true: Any, y_pred: Any, *, y_train: Any, season: int = 1) -> float:
    """
    Measure root mean squared errors in units of each series' seasonal changes in training.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, n_targets)
        The truth; under an index of (series, time) that of a panel.
    y_pred : array-like of the same shape
        Forecasts of it.
    y_train : array-like of shape (n_train,) or (n_train, n_targets)
        The training rows in time order, labelled as `y_true` is.
    season : int, default=1
        Rows of a season.

    Returns
    -------
    float
        Mean over series of the root of mean squared errors over mean squared changes, the lower
        the better.

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


def _check_arrays(
    y_true: Any, y_pred: Any, *behind: int
) -> tuple[Float64Array, Float64Array]:
    """Return truth and forecasts as (n, n_targets, *behind); raise where they do not fit."""
    y = checks.numeric_truth(y_true)
    forecasts = np.asarray(y_pred, dtype=np.float64)
    columns = y.reshape(len(y), -1)
    shape = (*columns.shape, *behind)
    # Axes of one value may be left out.
    same_axes = [n for n in forecasts.shape if n != 1] == [n for n in shape if n != 1]
    if not (same_axes and forecasts.size and forecasts.shape[:1] == y.shape[:1]):
        raise ValueError(
            f"forecasts of shape {forecasts.shape} do not fit a truth of shape {y.shape}: they "
            f"need shape {(*y.shape, *behind)}."
        )
    forecasts = forecasts.reshape(shape)
    known = ~np.isnan(columns)
    checks.check_any_truth(int(known.sum()))
    n_missing = int(np.isnan(forecasts[known]).sum())
    if n_missing:
        raise ValueError(
            f"forecasts hold {n_missing} NaN where the truth is known: a score of the other rows "
            "would favour whoever forecasts only the easy ones. Forecast them all."
        )
    return columns, forecasts


def _pinball(
    y_true: Any, y_quantiles: Any, levels: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return the truth, (n, n_targets), and the loss of each quantile: (n, n_targets, n_levels)."""
    y, quantiles = _check_arrays(y_true, y_quantiles, len(levels))
    residuals = y[..., None] - quantiles
    return y, np.maximum(levels * residuals, (levels - 1) * residuals)


def _mean(errors: Float64Array, sample_weight: Any) -> float:
    """Average over the rows that are known, then over the targets that have any."""
    return _ratio(errors, np.ones_like(errors), sample_weight)


def _ratio(errors: Float64Array, sizes: Float64Array, sample_weight: Any) -> float:
    """Divide sums over the rows that are known, then average over the targets that have any."""
    weights = checks.score_weight(sample_weight, len(errors))
    if weights is None:
        weights = np.ones(len(errors))
    known = ~np.isnan(errors)
    total = weights @ np.where(known, errors, 0.0)
    size = weights @ np.where(known, sizes, 0.0)
    is_scored = known.any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = total[is_scored] / size[is_scored]
    return float(ratios.mean())


def _scaled(
    y_true: Any, y_pred: Any, y_train: Any, season: int, *, power: int
) -> float:
    """Average errors over each series' own changes, then over series and targets."""
    check_row_count("season", season)
    y, y_pred = _check_arrays(y_true, y_pred)
    errors = np.abs(y_pred - y) ** power
    trained = checks.numeric_truth(y_train)
    trained = trained.reshape(len(trained), -1)
    checks.check_target_count(errors.shape[1], trained.shape[1])
    by_series = pd.DataFrame(errors).groupby(_series_of(y_true, len(errors)))
    error = by_series.mean()
    history = pd.DataFrame(trained).groupby(_series_of(y_train, len(trained)))
    scale = history.agg(seasonal_change, season=season, power=power).reindex(
        error.index
    )
    scores = error.to_numpy() / scale.to_numpy()
    if not np.isfinite(scores).any():
        raise ValueError(
            "no series of y_true changes in y_train, or none has the same name there, so errors "
            "have no unit. Pass the training rows of these series, under the same labels."
        )
    return float(np.nanmean(scores ** (1 / power)))


def _series_of(rows: Any, n: int) -> Any:
    """Return each row's series; one for rows without names."""
    index: Any = getattr(rows, "index", None)
    if getattr(index, "nlevels", 1) < 2:  # a list has a method of that name
        return np.zeros(n, dtype=np.int64)
    return index.get_level_values(0)


class skip_missing:  # noqa: N801 – used as a function, a class so that it can be pickled
    """
    Make a metric of scikit-learn leave out rows whose truth is missing.

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
        Measure the rows whose truth is known.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, n_targets)
            The truth; a row with a NaN is left out.
        y_pred : array-like of the same shape
            Forecasts of it.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.
        **options : object
            More arguments of the metric.

        Returns
        -------
        float
            What the metric gives.
        """
        y = checks.numeric_truth(y_true)
        y_pred = np.asarray(y_pred)
        check_consistent_length(y, y_pred)
        is_missing = np.isnan(y.reshape(len(y), -1)).any(axis=1)
        known = ~is_missing
        checks.check_any_truth(int(known.sum()))
        weight = checks.score_weight(sample_weight, len(y))
        if weight is not None:
            options["sample_weight"] = weight[known]
        return self.metric(y[known], y_pred[known], **options)
