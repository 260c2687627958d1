"""Rolling-origin evaluation: many forecasts, each from its own past alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from pandas import DataFrame
from sklearn.base import clone, is_classifier

from skinformer.evaluation.ahead import (
    ForecastingModel,
    predict_ahead,
    raise_no_ranges,
    split_last_step,
)
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.evaluation.origins import after_updates
from skinformer.evaluation.rows import (
    SortedRows,
    count_steps,
    read_labels,
    read_sorted_rows,
)
from skinformer.frames import to_library
from skinformer.progress import counted
from skinformer.reading.layout import Layout
from skinformer.reading.places import sort_rows
from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import origins_between
from skinformer.validation.arguments import (
    check_fitted,
    check_origin_step,
    check_range_levels,
    check_row_count,
)
from skinformer.validation.columns import labelled_rows
from skinformer.validation.index import check_dates_for, find_start, time_labels
from skinformer.validation.truth import check_target_count

#: X and y.
_Rows = tuple[Any, Any]
#: Origins, (n_origins,), and the forecasts from these: (n_steps, n_targets, 1 + n_levels).
_Forecasts = tuple[DataFrame, Float64Array]


class _Request(NamedTuple):
    """What is forecast from each origin.

    horizon: rows of a forecast.
    step: rows between origins, or an offset of pandas.
    known_future: columns of X that are known ahead.
    levels: of quantiles.
    every: so many origins share a fit, if it is repeated.
    since: the label from which steps of dates are counted; None is the first origin's.
    until: the label before which origins lie; None is behind all rows.
    layout: how X came.
    """

    horizon: int
    step: Any
    known_future: Any
    levels: Float64Array
    every: int
    since: Any = None
    until: Any = None
    layout: Layout = Layout()


def backtest(
    estimator: Any,
    X: DataFrame,
    y: pd.Series | DataFrame | None = None,
    *,
    start: Any = None,
    horizon: int | None = None,
    step: Any = None,
    known_future: str | Sequence[Any] = (),
    refit: bool | int = False,
    levels: Sequence[float] | None = None,
    coverage: float | Sequence[float] | None = None,
    n_jobs: int | None = None,
    verbose: int | bool = 0,
) -> DataFrame:
    """
    Forecast later rows from one origin after the other.

    At each origin the estimator gets the rows of X before it, followed by `horizon` rows in which
    all columns except future covariates are hidden (NaN). No forecast can therefore use what was
    not known at its origin, whatever the estimator does.

    Parameters
    ----------
    estimator : InformerRegressor, Pipeline, any regressor, or a function
        The forecaster, fitted on the rows before X (unless `refit` is given). A function gets the
        rows before the origin and the rows to forecast, and returns an array with one forecast per
        row. An `InformerRegressor`, also as the last step of a Pipeline or the best estimator of a
        search, forecasts with `forecast`. Other regressors forecast with `predict`, so their lags
        must be at least `horizon` (``SlidingWindow(lag=horizon)``). In a panel the rows of many
        series are passed at once.
    X : DataFrame, Series or array-like of shape (n_samples, n_features)
        Rows that follow the training rows, of one series or of a panel, in any order. Rows
        without an index are numbered.
    y : Series, DataFrame or array-like, default=None
        The actual values of the rows of X, with the same index. Of a frame with other columns, the
        targets of the estimator are used. None takes these columns from X.
    start : label of time in X.index, default=None
        The first origin; in a panel the first origin of each series is its first row that is not
        before this label. None is the first row. Rows of X before it are history. An
        `InformerRegressor` forecasts a series that it was not fitted to from origins that have an
        observed row before them, with a warning.
    horizon : int, default=None
        Number of rows that are forecast from each origin. None is the `pred_len` of the estimator,
        or the `season` of `SeasonalNaive`.
    step : int, str or offset of pandas, default=None
        The distance from one origin to the next, in rows. None is `horizon`, so that each row is
        forecast once. For rows with dates it may also be a period, such as ``"D"``, ``"12h"`` or
        ``"MS"``. Origins then keep the local time of `start` when daylight saving time begins or
        ends; with 24 rows of hours they do not.
    known_future : str or list, default=()
        Future covariates, in addition to those of the parameter of an `InformerRegressor` and those
        made by `CalendarFeatures`.
    refit : bool or int, default=False
        Whether a clone of the estimator is fitted to all rows of X before an origin: True does so
        at each origin, a number n at every n-th. X then begins with the training rows, `start` is
        the first origin, and `estimator` need not be fitted.
    levels : sequence of float, default=None
        Levels of quantiles that an `InformerRegressor` forecasts, too.
    coverage : float or sequence of float, default=None
        The coverage of a prediction interval that is forecast, too, or of several.
    n_jobs : int or None, default=None
        Number of processes that share the fits of `refit`; None is one. Within
        ``joblib.parallel_config("dask")`` or ``"ray"`` they are the processes of a cluster.
    verbose : int or bool, default=0
        Above 0: write how many fits of `refit`, or how many turns of other estimators' forecasts,
        are done, and the seconds that the others likely take.

    Returns
    -------
    DataFrame
        One row for each origin, row ahead and target: ``origin`` (label of the first row
        forecast; only rows before it were seen), ``time`` (label of the row), ``ahead``
        (1 … `horizon`), ``target``, ``actual`` and ``forecast`` in the units of the target; of a
        panel the ``series`` before them. Quantiles follow as ``q0.05`` and so on. The last origin
        may have fewer than `horizon` rows; a shorter horizon is ``result[result["ahead"] <= 6]``.

    Raises
    ------
    ValueError
        If the actual values, the horizon or the first origin are not known, or if forecasts would
        start within the training rows.
    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    SeasonalNaive : A simple forecast to compare with.
    summary : Errors by step ahead, series or hour.
    compare : Several results in one table.

    Notes
    -----
    An `InformerRegressor` forecasts from all origins at once, as if rows were given to `update`
    one after the other: cost and memory are linear in the origins. For others, and behind the
    transformers of a Pipeline, the rows shown at an origin are copied, some half a million at a
    time (a series is never split); all series of a panel that have an origin there are forecast
    by one call, or a few.

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
    wanted = check_range_levels(coverage, levels)
    _check_estimator(estimator, must_be_fitted=refit is False)
    horizon = _horizon(split_last_step(estimator)[1], horizon)
    step = check_origin_step(horizon if step is None else step)
    every = 1 if isinstance(refit, bool) else check_row_count("refit", refit)
    layout, X, y = read_labels(estimator, X, y)
    request = _Request(horizon, step, known_future, wanted, every, layout=layout)
    if refit is False:
        table = _forecast_all(estimator, X, y, start, request, verbose=verbose)
    else:
        table = _refit_all(estimator, X, y, start, request, n_jobs, verbose=verbose)
    return to_library(table, layout.library)


def _refit_all(
    estimator: Any,
    X: Any,
    y: Any,
    start: Any,
    request: _Request,
    n_jobs: int | None,
    *,
    verbose: int | bool,
) -> DataFrame:
    """Fit and forecast each fold, and put the forecasts in the order of those without refits."""
    if start is None:
        raise ValueError(
            "refit needs start=, the label of the first origin: X holds the training rows before "
            "it. Pass it, such as start=X.index[1000]."
        )
    X = labelled_rows(X, 0)
    moments = time_labels(X.index)[0].unique().sort_values()
    begins = _begin_stretches(moments, start, request)
    folds = _cut_folds(X, y, moments, begins, request)
    fits = (delayed(_fit_and_forecast)(estimator, *fold) for fold in folds)
    # What is counted comes one by one, which not every cluster can do.
    return_as = "generator" if verbose else "list"
    tables = Parallel(n_jobs=n_jobs, return_as=return_as)(fits)
    table = pd.concat(counted(tables, len(begins), "backtest", verbose=verbose))
    keys = ["origin", "target", "time"]
    if "series" in table:
        keys.insert(0, "series")
    return table.sort_values(keys, kind="stable", ignore_index=True)


def _begin_stretches(moments: Any, start: Any, request: _Request) -> IntArray:
    """Find the places, among labels of time, of the origins at which an estimator is fitted.

    It is a ValueError if no row lies before the start.

    >>> request = _Request(horizon=1, step=2, known_future=(), levels=np.empty(0), every=1)
    >>> _begin_stretches(pd.RangeIndex(6), 3, request)
    array([3, 5])
    """
    check_dates_for(request.step, moments)
    first = moments.get_indexer([find_start(moments, start)])[0]
    if not first:
        raise ValueError(
            "start is the first label of X, so there are no rows to fit to. Pass X with the "
            "training rows before it."
        )
    later = moments[first:]
    steps = count_steps(later, np.arange(len(later)), request.step)
    _, begins = np.unique(steps, return_index=True)
    return first + begins[:: request.every]


def _cut_folds(
    X: DataFrame, y: Any, moments: Any, begins: IntArray, request: _Request
) -> Iterator[tuple[_Request, _Rows, _Rows]]:
    """Cut rows, X and y (None for none), into stretches of origins, and the rows before each.

    A stretch ends with the last row that is forecast from its origins. Series of a panel are cut at
    the same times.
    """
    time, labels = time_labels(X.index)
    # A fit needs rows in the order of time.
    order = sort_rows(time, labels, len(X)).order
    time = time[order]
    for begin, following in zip_longest(begins, begins[1:]):
        until = None if following is None else moments[following]
        stop = None if following is None else following - 1 + request.horizon
        before = order[time < moments[begin]]
        test = order[time.isin(moments[begin:stop])]
        stretch = request._replace(since=moments[begins[0]], until=until)
        yield stretch, _take(X, y, before), _take(X, y, test)


def _take(X: DataFrame, y: Any, rows: IntArray) -> _Rows:
    """Choose rows of X and of y, which may be a frame, a series, an array, a list or None."""
    if hasattr(y, "iloc"):
        y = y.iloc[rows]
    elif y is not None:
        y = np.asarray(y)[rows]
    return X.iloc[rows], y


def _fit_and_forecast(
    estimator: Any, request: _Request, training: _Rows, test: _Rows
) -> DataFrame:
    """Fit a clone to the rows before a stretch of origins, and forecast from these."""
    # An InformerRegressor bounds its threads by itself.
    bounds_itself = hasattr(split_last_step(estimator)[1], "forecast")
    X, y = training
    X = request.layout.write_rows(X)
    if request.layout.has_columns and isinstance(y, pd.Series | DataFrame):
        y = y.reset_index(drop=True)
    with nullcontext() if bounds_itself else threads_for(0):
        fitted = clone(estimator).fit(X, y)
    return _forecast_all(fitted, *test, None, request)


def _check_estimator(estimator: Any, *, must_be_fitted: bool) -> None:
    """Raise if an estimator is not fitted, forecasts classes, or is none and no function either."""
    if not hasattr(estimator, "fit"):
        if callable(estimator):
            return
        raise TypeError(
            f"estimator={estimator!r} must be a fitted regressor, or a function of the rows before "
            "an origin and of those to forecast."
        )
    if is_classifier(estimator):
        raise TypeError(
            f"{type(estimator).__name__} forecasts classes, but backtest measures "
            "errors of numbers. Pass it to cross_val_score(estimator, X, y, "
            "cv=PanelTimeSeriesSplit(), scoring='neg_log_loss'), which fits it to the "
            "rows before each test."
        )
    if must_be_fitted:
        check_fitted(estimator)


def _horizon(last: Any, horizon: int | None) -> int:
    """Return the horizon; by itself the steps that a fit was for, whatever the parameter became."""
    if horizon is None:
        horizon = getattr(getattr(last, "sizes_", last), "pred_len", None)
        if isinstance(last, SeasonalNaive):
            horizon = last.season
    return check_row_count("horizon", horizon)


def _forecast_all(
    estimator: Any,
    X: Any,
    y: Any,
    start: Any,
    request: _Request,
    *,
    verbose: int | bool = 0,
) -> DataFrame:
    """Forecast from all origins of a fitted estimator."""
    rows = read_sorted_rows(estimator, X, y, request.known_future)
    check_dates_for(request.step, rows.time)
    origins = rows.origins(
        start, request.horizon, request.step, request.since, request.until
    )
    levels = request.levels
    transformers, last = split_last_step(estimator)
    if hasattr(last, "forecast"):
        model = ForecastingModel(
            transformers, last, rows.time, rows.labels, levels, request.layout
        )
        parts = _forecast_by_model(model, rows, origins, verbose=verbose)
    elif len(levels):
        raise_no_ranges(estimator, "predict_quantiles")
    else:
        forecast = partial(predict_ahead, estimator, layout=request.layout)
        parts = _forecast_turns(forecast, rows, origins, verbose=verbose)
    return _as_table(rows, levels, parts)


def _forecast_by_model(
    model: ForecastingModel,
    rows: SortedRows,
    origins: DataFrame,
    *,
    verbose: int | bool,
) -> Iterator[_Forecasts]:
    """Forecast from all origins at once where rows may be given to `update`, else by turns."""
    observed = rows.truth.notna().any(axis=1).to_numpy()
    origins = origins[model.has_history(origins["row"].to_numpy(), observed)]
    updated = None if model.transformers else after_updates(model.model, rows.frame)
    if updated is not None:
        after_truth = updated.after_truth[origins["row"]]
        at_once = origins[after_truth]
        origins = origins[~after_truth]
        if len(at_once):
            row, stop = at_once[["row", "stop"]].to_numpy().T
            yield at_once, updated.forecast(row, stop - row, model.levels)
    yield from _forecast_turns(model.forecast, rows, origins, verbose=verbose)


def _forecast_turns(
    forecast: Callable[..., Float64Array],
    rows: SortedRows,
    origins: DataFrame,
    *,
    verbose: int | bool,
) -> Iterator[_Forecasts]:
    """Forecast from one origin of each series at a time.

    forecast: called with the rows shown, their numbers, and which of them to forecast.
    """
    # Rows that one call holds at most, unless a series has more: bounds the memory of panels.
    rows_at_once = 1 << 19
    n_shown = origins["stop"] - origins["first"]
    batch = n_shown.groupby(origins["turn"]).cumsum() // rows_at_once
    turns = origins.groupby([origins["turn"], batch])
    for _, part in counted(turns, len(turns), "backtest", verbose=verbose):
        first, row, stop = part[["first", "row", "stop"]].to_numpy().T
        shown = origins_between(first, stop - 1)
        ahead = shown >= np.repeat(row, stop - first)
        yield part, forecast(rows.shown(shown, ahead), shown, ahead)


def _as_table(
    rows: SortedRows, levels: Float64Array, parts: Iterable[_Forecasts]
) -> DataFrame:
    """Lay out all forecasts by series, origin and target."""
    origins, forecasts = zip(*parts, strict=True)
    values = np.concatenate(forecasts)
    n_targets = values.shape[1]
    check_target_count(n_targets, rows.truth.shape[1])
    # 1. Row, target and origin of each forecast of each target.
    first, stop = pd.concat(origins)[["row", "stop"]].to_numpy().T
    row = np.repeat(origins_between(first, stop - 1), n_targets)
    target = np.resize(np.arange(n_targets), len(row))
    origin = np.repeat(first, (stop - first) * n_targets)
    # 2. In the order of the table.
    order = np.lexsort((row, target, origin))
    table = _label(rows, row[order], target[order], origin[order])
    names = ["forecast", *(f"q{level:g}" for level in levels)]
    table[names] = values.reshape(-1, len(names))[order]
    return table


def _label(
    rows: SortedRows, row: IntArray, target: IntArray, origin: IntArray
) -> DataFrame:
    """Name what forecasts are of, and put the truth beside: numbers of rows and columns each."""
    time = rows.time
    table = DataFrame({"origin": time[origin], "time": time[row]})
    table["ahead"] = row - origin + 1
    table["target"] = rows.truth.columns.to_numpy(dtype=object)[target]
    table["actual"] = rows.truth.to_numpy()[row, target]
    if rows.labels is not None:
        table.insert(0, "series", rows.labels[row])
    return table
