"""Rolling-origin evaluation: many forecasts, each from its own past alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from sklearn.base import clone, is_classifier

from skinformer.evaluation.ahead import CallingModel, ForecastingModel, PredictingModel, take_apart
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.evaluation.folds import Fold, refit_folds, shared
from skinformer.evaluation.origins import OriginsModel, after_updates
from skinformer.reading.places import sort_rows
from skinformer.reading.targets import find_known, read_truth
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import RowClock
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import runs
from skinformer.timeline.windows import origins_between
from skinformer.validation.arguments import check_fitted, check_range_levels, check_row_count
from skinformer.validation.columns import (
    check_ahead,
    check_finite,
    check_some_columns,
    check_target_exists,
    labelled_rows,
    numeric_column,
)
from skinformer.validation.index import check_distinct, check_same_rows, find_start, time_labels
from skinformer.validation.truth import check_target_count


def backtest(
    estimator: Any,
    X: pd.DataFrame,
    y: pd.Series | pd.DataFrame | None = None,
    *,
    start: Any = None,
    horizon: int | None = None,
    step: int | None = None,
    known_future: str | Sequence[Any] = (),
    refit: bool | int = False,
    levels: Sequence[float] | None = None,
    coverage: float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """
    Forecast later rows from one origin after the other.

    At each origin the estimator gets the rows of X before it and, behind them, `horizon` rows
    in which every column is hidden (NaN) but those known ahead. So no forecast can come from
    what was not known then, whatever the estimator does.

    Parameters
    ----------
    estimator : InformerRegressor, Pipeline, any regressor, or a function
        Fitted on the rows before X, but with `refit`. A function gets the rows before the origin
        and those to forecast, and gives an array of one forecast a row. An `InformerRegressor`,
        alone, as the last step of a Pipeline or as the best one of a search, forecasts from the
        origin itself; of others `predict` is asked, whose features may reach back no less than
        `horizon` rows
        (``SlidingWindow(lag=horizon)``). On a panel it gets the rows of many series at once.
    X : DataFrame, Series or array-like of shape (n_samples, n_features)
        Rows that follow the training rows, of one series or of a panel, in any order. Rows
        without an index are numbered.
    y : Series, DataFrame or array-like, default=None
        The truth, row by row like X and with its index; of a frame that holds other columns,
        too, those that the estimator forecasts. None: these columns of X.
    start : label of time in X.index, default=None
        The first origin, of a panel each series' first row that is not before it; None is the
        first row. Rows of X before it are history.
    horizon : int, default=None
        Rows forecast from each origin; None is the estimator's `pred_len`, or `SeasonalNaive`'s
        `season`.
    step : int, default=None
        Rows between two origins; None is `horizon`, so that each row is forecast once.
    known_future : str or list, default=()
        Columns of X whose values are known ahead, besides those that an `InformerRegressor`
        knows by its own parameter and those that `CalendarFeatures` makes.
    refit : bool or int, default=False
        Whether a clone of the estimator is fitted to all rows of X before an origin: at each
        (True), or at every so many. X then begins with the training rows, and `start` says where
        the first origin is; `estimator` need not be fitted.
    levels : sequence of float, default=None
        Quantiles to forecast, too; the estimator must have `predict_quantiles`.
    coverage : float, default=None
        The same for the two bounds of an interval.
    n_jobs : int or None, default=None
        Processes that share refits, or origins; None is one. Within
        ``joblib.parallel_config("dask")`` or ``"ray"`` those of a cluster.
    verbose : int, default=0
        Above 0: a progress bar of ``rich``.

    Returns
    -------
    DataFrame
        One row for each origin, row ahead and target: ``origin`` (label of the first row
        forecast; only rows before it were seen), ``time`` (label of the row), ``ahead``
        (1 … `horizon`), ``target``, ``actual`` and ``forecast`` in the truth's units; of a panel
        the ``series`` before them. Quantiles follow as ``q0.05`` and so on. The last origin may
        have fewer than `horizon` rows; a shorter horizon is ``result[result["ahead"] <= 6]``.

    Raises
    ------
    ValueError
        If the truth, the horizon or the first origin cannot be told, or if forecasts would
        start within the training rows.
    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    SeasonalNaive : What a model must beat.
    summary : Errors by step ahead, series or hour.
    compare : Several results side by side.

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
    requested = check_range_levels(coverage, levels)
    requested = np.empty(0) if requested is None else requested
    options: dict[str, Any] = {
        "horizon": horizon,
        "step": step,
        "known_future": known_future,
        "levels": requested,
    }
    if refit is not False:
        every = 1 if refit is True else check_row_count("refit", refit)
        horizon = _horizon(estimator, horizon)
        options |= {"horizon": horizon, "step": _step(step, horizon)}
        folds = refit_folds(X, y, start, every=every, horizon=horizon, step=options["step"])
        return _with_refits(estimator, folds, options, every, n_jobs=n_jobs, verbose=verbose)
    return _of_fitted(estimator, X, y, start=start, n_jobs=n_jobs, verbose=verbose, **options)


def _horizon(estimator: Any, horizon: int | None) -> int:
    last = take_apart(estimator)[1]
    return check_row_count("horizon", _fitted_horizon(last) if horizon is None else horizon)


def _step(step: int | None, horizon: int) -> int:
    return check_row_count("step", horizon if step is None else step)


def _of_fitted(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    start: Any = None,
    horizon: int | None,
    step: int | None,
    known_future: str | Sequence[Any],
    levels: Float64Array,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """Forecast from all origins by one fitted estimator."""
    _check_forecasts(estimator)
    transformers, last = take_apart(estimator)
    roles: Roles | None = getattr(last, "roles_", None)
    horizon = _horizon(estimator, horizon)
    step = _step(step, horizon)
    X = labelled_rows(X, _row_after(last))
    targets = _known_targets(roles, estimator, X)
    if roles is not None and roles.mode == "features":
        raise ValueError(
            "estimator was fitted on features alone, so the truth before an origin does not reach "
            "it. Fit it on a frame that holds the target: fit(X) or fit(X, y) with y in X."
        )
    if y is None and not targets:
        raise ValueError(
            "y=None needs an estimator that knows its target, such as InformerRegressor("
            "target='load'). Pass the truth, such as y=X['load']."
        )
    truth = _read_truth(targets, X, y)
    rows = _sort(X, truth, _hidden(roles, X, truth.columns, known_future))
    first = rows.first_origins(start)
    quick: OriginsModel | None = None
    forecaster: ForecastingModel | PredictingModel | CallingModel
    if hasattr(last, "forecast"):
        forecaster = ForecastingModel(transformers, last, rows.time, rows.labels, levels)
        forecaster.check_origins(first[first < rows.ends[1:]])
        quick = None if transformers else after_updates(last, rows.frame)
    elif hasattr(last, "predict"):
        forecaster = PredictingModel(estimator, levels)
    else:
        forecaster = CallingModel(estimator, levels)
    origins = list(_origins(first, rows.ends[1:], step))
    parts = []
    if quick is not None:
        parts = _forecast_quickly(quick, rows, origins, horizon, levels)
        origins = [_without(origin, quick.after_truth, rows.ends[1:]) for origin in origins]
    origins = [origin for origin in origins if (origin < rows.ends[1:]).any()]
    calls = [delayed(_forecast_origins)(forecaster, rows, origin, horizon) for origin in origins]
    for part in shared(calls, n_jobs=n_jobs, verbose=verbose, what="origins"):
        parts += part
    return _as_table(rows, levels, *(np.concatenate(part) for part in zip(*parts, strict=True)))


def _check_forecasts(estimator: Any) -> None:
    """Raise if an estimator is not fitted, forecasts classes, or is none and no function either."""
    if hasattr(estimator, "fit") and is_classifier(estimator):
        raise TypeError(
            f"{type(estimator).__name__} forecasts classes, and backtest measures numbers. Pass it "
            "to cross_val_score(estimator, X, y, cv=PanelTimeSeriesSplit(), "
            "scoring='neg_log_loss'), which fits it to the rows before each test."
        )
    if hasattr(estimator, "fit"):
        check_fitted(estimator)
    elif not callable(estimator):
        raise TypeError(
            f"estimator={estimator!r} must be a fitted regressor, or a function of the rows before "
            "an origin and of those to forecast."
        )


def _forecast_quickly(
    quick: OriginsModel,
    rows: _SortedRows,
    origins: list[IntArray],
    horizon: int,
    levels: Float64Array,
) -> list[tuple[IntArray, IntArray, Float64Array]]:
    """Forecast from all origins that a truth lies before, in one go."""
    chosen, lengths = [], []
    for origin in origins:
        begun = origin < rows.ends[1:]
        some, stop = origin[begun], rows.ends[1:][begun]
        known = quick.after_truth[some]
        chosen.append(some[known])
        lengths.append(np.minimum(horizon, stop - some)[known])
    starts, steps = np.concatenate(chosen), np.concatenate(lengths)
    if not len(starts):
        return []
    forecast = quick.forecast(starts, steps, levels)
    check_target_count(forecast.shape[1], rows.truth.shape[1])
    return [(origins_between(starts, starts + steps - 1), np.repeat(starts, steps), forecast)]


def _without(origin: IntArray, done: BoolArray, ends: IntArray) -> IntArray:
    """Leave out the origins that are done."""
    inside = np.minimum(origin, len(done) - 1)
    return np.where((origin < ends) & done[inside], ends, origin)


def _with_refits(
    estimator: Any,
    folds: list[Fold],
    options: dict[str, Any],
    every: int,
    *,
    n_jobs: int | None,
    verbose: int,
) -> pd.DataFrame:
    """Fit a clone before each stretch of origins, and put their results together."""
    calls = [delayed(_of_fold)(estimator, fold, options, every) for fold in folds]
    tables = shared(calls, n_jobs=n_jobs, verbose=verbose, what="fits")
    table = pd.concat(tables, ignore_index=True)
    keys = [key for key in ("series", "origin", "target", "time") if key in table]
    ordered: pd.DataFrame = table.sort_values(keys, kind="stable", ignore_index=True)
    return ordered


def _of_fold(estimator: Any, fold: Fold, options: dict[str, Any], every: int) -> pd.DataFrame:
    fitted = clone(estimator).fit(*fold.training)
    table = _of_fitted(fitted, *fold.later, **options)
    origins = table.groupby("series")["origin"] if "series" in table else table["origin"]
    place = origins.rank(method="dense")  # origins behind the stretch are the next fold's
    kept: pd.DataFrame = table[place <= every]
    return kept


#: Rows that one call holds at most, unless a series has more: bounds the memory of panels.
_ROWS_AT_ONCE = 1 << 19


@dataclass(frozen=True)
class _SortedRows:
    """The rows of X, series after series, each in time."""

    frame: pd.DataFrame
    hidden: list[int]  # positions of the columns that are not known ahead
    truth: pd.DataFrame
    time: pd.Index
    labels: pd.Index | None  # the series of each row
    series: IntArray  # its number
    ends: IntArray  # series i holds rows ends[i] … ends[i + 1] - 1

    def first_origins(self, start: Any) -> IntArray:
        """Find each series' first row that is not before `start`; its end if there is none."""
        if start is None:
            return self.ends[:-1]
        early = self.time < find_start(self.time, start)
        return self.ends[:-1] + np.bincount(self.series[early], minlength=len(self.ends) - 1)

    def shown(self, rows: IntArray, ahead: BoolArray) -> pd.DataFrame:
        """Give some rows; of those ahead only what is known then."""
        frame = self.frame.iloc[rows].copy()
        frame.iloc[np.flatnonzero(ahead), self.hidden] = np.nan
        return frame


def _fitted_horizon(estimator: Any) -> int | None:
    """Give the steps that a fit was for, not what the parameter has become since."""
    sizes = getattr(estimator, "sizes_", None)
    if isinstance(estimator, SeasonalNaive):
        return estimator.season
    return getattr(estimator if sizes is None else sizes, "pred_len", None)


def _row_after(last: Any) -> int:
    """Give the number of the row after training if the estimator counts rows, else 0."""
    timeline = getattr(last, "timeline_", None)
    if timeline is None or not isinstance(timeline.clock, RowClock):
        return 0
    return int(timeline.end_step[0])


def _known_targets(roles: Roles | None, estimator: Any, X: pd.DataFrame) -> list[Any]:
    """Find the columns that an Informer, or a `SeasonalNaive`, forecasts; none of others."""
    if isinstance(estimator, SeasonalNaive):
        return [X.columns[place] for place in estimator.targets_ if place < X.shape[1]]
    return [] if roles is None else list(roles.targets)


def _read_truth(targets: list[Any], X: pd.DataFrame, y: Any) -> pd.DataFrame:
    """Find the truth of X's rows, one column a target."""
    if y is None:
        for target in targets:
            check_target_exists(target, list(X.columns), named=True)
            column = numeric_column(X[target], target)
            check_finite(column, target)
        y = X[targets]
    elif targets and isinstance(y, pd.DataFrame) and set(targets) <= set(y.columns):
        y = y[targets]  # of X itself, say
    truth = read_truth(y)
    check_same_rows(X, y)
    n_columns = truth.values.shape[1]
    names = targets or list(range(n_columns))
    if truth.named and truth.index is not None:  # other libraries call a Series without a name ""
        names = list(truth.names)
    if targets:
        check_target_count(len(targets), n_columns)
        if list(names) != targets and set(names) <= set(X.columns):
            fix = f"X[{targets!r}]" if set(targets) <= set(X.columns) else "their truth"
            raise ValueError(
                f"y holds {list(names)!r}, but the estimator forecasts {targets!r}: they would be "
                f"compared with one another. Pass y={fix}."
            )
    return pd.DataFrame(truth.values, index=X.index).set_axis(
        pd.Index(names, tupleize_cols=False), axis=1
    )


def _hidden(roles: Roles | None, X: pd.DataFrame, targets: Any, known_future: Any) -> list[int]:
    """Find the columns of X that are not known ahead."""
    names = list(X.columns)
    given = check_ahead(known_future, names, list(targets))
    given += [] if roles is None else list(roles.known)
    known = find_known(names, given, list(targets))
    return [j for j, name in enumerate(names) if name not in known]


def _sort(X: pd.DataFrame, truth: pd.DataFrame, hidden: list[int]) -> _SortedRows:
    """Bring the rows of each series together in time, hidden columns as floating-point numbers."""
    check_some_columns(X.shape[1], "X")
    time, labels = time_labels(X.index)
    check_distinct(time, labels)
    rows = sort_rows(time, labels, len(X))
    columns = {j: X.iloc[:, j] for j in range(X.shape[1])}
    for j in hidden:
        column = numeric_column(columns[j], X.columns[j])
        columns[j] = pd.Series(column.astype(np.float64), index=X.index)
    frame = pd.DataFrame(columns, index=X.index).set_axis(X.columns, axis=1)
    return _SortedRows(
        frame.iloc[rows.order],
        hidden,
        truth.iloc[rows.order],
        time[rows.order],
        None if labels is None else labels[rows.order],
        rows.series,
        runs(rows.series, 1 if rows.names is None else len(rows.names)),
    )


def _origins(first: IntArray, ends: IntArray, step: int) -> Iterator[IntArray]:
    """Give each series' first origin, then the next one; its end where there are no more."""
    origin = first
    while (origin < ends).any():
        yield np.minimum(origin, ends)
        origin = origin + step


def _forecast_origins(
    forecaster: ForecastingModel | PredictingModel | CallingModel,
    rows: _SortedRows,
    origin: IntArray,
    horizon: int,
) -> list[tuple[IntArray, IntArray, Float64Array]]:
    """Forecast from one origin of each series: rows ahead, their origins and forecasts."""
    begun = np.flatnonzero(origin < rows.ends[1:])
    first, stop = rows.ends[begun], np.minimum(origin[begun] + horizon, rows.ends[begun + 1])
    batch = np.cumsum(forecaster.sizes(first, stop)) // _ROWS_AT_ONCE
    found = []
    for number in np.unique(batch):
        chosen = batch == number
        lengths = (stop - first)[chosen]
        shown = origins_between(first[chosen], stop[chosen] - 1)
        start = np.repeat(origin[begun][chosen], lengths)
        ahead = shown >= start
        forecast = forecaster.forecast(rows.shown(shown, ahead), shown, ahead)
        check_target_count(forecast.shape[1], rows.truth.shape[1])
        found.append((shown[ahead], start[ahead], forecast))
    return found


def _as_table(
    rows: _SortedRows, levels: Float64Array, row: IntArray, origin: IntArray, forecast: Float64Array
) -> pd.DataFrame:
    """Lay out all forecasts by series, origin and target."""
    n_targets = forecast.shape[1]
    target = np.tile(np.arange(n_targets), len(row))
    row, origin = np.repeat(row, n_targets), np.repeat(origin, n_targets)
    order = np.lexsort((row, target, origin))
    row, origin, target = row[order], origin[order], target[order]
    names = np.empty(n_targets, dtype=object)
    names[:] = list(rows.truth.columns)
    table = {
        "origin": rows.time[origin],
        "time": rows.time[row],
        "ahead": row - origin + 1,
        "target": names[target],
        "actual": rows.truth.to_numpy()[row, target],
    }
    flat = forecast.reshape(-1, 1 + len(levels))[order]
    names_of_levels = [f"q{level:g}" for level in levels]
    table |= dict(zip(["forecast", *names_of_levels], flat.T, strict=True))
    if rows.labels is not None:
        table = {"series": rows.labels[row], **table}
    return pd.DataFrame(table)
