"""Rolling-origin evaluation: many forecasts, each from its own past alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from skinformer.evaluation.ahead import ForecastingModel, PredictingModel, take_apart
from skinformer.evaluation.baselines import SeasonalNaive
from skinformer.evaluation.origins import after_updates
from skinformer.reading.places import sort_rows
from skinformer.reading.targets import find_known, read_targets
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import RowClock
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import runs
from skinformer.timeline.windows import origins_between
from skinformer.validation import columns as checks
from skinformer.validation.arguments import (
    check_fitted,
    check_n_jobs,
    check_range_levels,
    check_row_count,
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
    coverage: float | Sequence[float] | None = None,
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
        first row. Rows of X before it are history. An `InformerRegressor` forecasts a series that
        it was not fitted to from origins that have an observed row before them, with a warning.
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
    coverage : float or sequence of float, default=None
        The same for the two bounds of an interval, or of each of several.
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
    found = check_range_levels(coverage, levels)
    requested = np.empty(0) if found is None else found
    if refit is False:
        _check_forecasts(estimator)
    check_n_jobs(n_jobs)
    last = take_apart(estimator)[1]
    horizon = _horizon(last, horizon)
    step = check_row_count("step", horizon if step is None else step)
    if refit is False:
        rows = _read_rows(estimator, last, X, y, known_future)
        listed = rows.origins(start, horizon, step)
        return _forecast_all(estimator, rows, listed, requested, n_jobs=n_jobs, verbose=verbose)
    every = 1 if refit is True else check_row_count("refit", refit)
    folds = _refit_folds(X, y, start, every=every, horizon=horizon, step=step)
    options = {"horizon": horizon, "step": step, "known_future": known_future, "levels": found}
    calls = [delayed(_of_fold)(estimator, *fold, options, every) for fold in folds]
    table = pd.concat(_shared(calls, n_jobs=n_jobs, verbose=verbose, what="fits"))
    keys = [key for key in ("series", "origin", "target", "time") if key in table]
    ordered: pd.DataFrame = table.sort_values(keys, kind="stable", ignore_index=True)
    return ordered


def _refit_folds(
    X: Any, y: Any, start: Any, *, every: int, horizon: int, step: int
) -> list[list[tuple[Any, Any]]]:
    """Part rows, X and y (None for none), into stretches of origins, with the rows before each.

    A stretch ends with the last row that is forecast from its origins.
    every: origins of a stretch.
    horizon, step: rows of a forecast and between origins.

    Series of a panel are cut at the same times. It is a ValueError if there is no start.

    >>> X = pd.DataFrame({"load": range(6)})
    >>> folds = _refit_folds(X, X["load"], 3, every=1, horizon=1, step=2)
    >>> [len(rows) for (rows, truth), later in folds]
    [3, 5]
    """
    if start is None:
        raise ValueError(
            "refit needs start=, the label of the first origin: X holds the training rows before "
            "it. Pass it, such as start=X.index[1000]."
        )
    X = checks.labelled_rows(X, 0)
    time, labels = time_labels(X.index)
    order = sort_rows(time, labels, len(X)).order
    X, time = X.iloc[order], time[order]
    if y is not None:
        y = y.iloc[order] if isinstance(y, pd.Series | pd.DataFrame) else np.asarray(y)[order]
    moments = time.unique().sort_values()
    first = int(moments.get_loc(find_start(time, start)))
    if not first:
        raise ValueError(
            "start is the first label of X, so there are no rows to fit to. Pass X with the "
            "training rows before it."
        )
    folds = []
    for begin in range(first, len(moments), every * step):
        stop = begin + (every - 1) * step + horizon
        before = np.asarray(time < moments[begin])
        later = ~before & np.asarray(time <= moments[min(stop, len(moments)) - 1])
        folds.append([(X[part], None if y is None else y[part]) for part in (before, later)])
    return folds


def _of_fold(
    estimator: Any, training: Any, later: Any, options: dict[str, Any], every: int
) -> pd.DataFrame:
    """Fit a clone to the rows before a stretch of origins, and forecast from these."""
    # An InformerRegressor bounds its threads by itself.
    bounds_itself = hasattr(take_apart(estimator)[1], "forecast")
    with nullcontext() if bounds_itself else threads_for(0):
        fitted = clone(estimator).fit(*training)
    table = backtest(fitted, *later, **options)
    origins = table.groupby("series")["origin"] if "series" in table else table["origin"]
    place = origins.rank(method="dense")  # origins behind the stretch are the next fold's
    return table[place <= every]


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


def _horizon(last: Any, horizon: int | None) -> int:
    """Return the horizon; by itself the steps that a fit was for, whatever the parameter became."""
    if horizon is None and isinstance(last, SeasonalNaive):
        horizon = last.season
    elif horizon is None:
        horizon = getattr(getattr(last, "sizes_", last), "pred_len", None)
    return check_row_count("horizon", horizon)


#: Rows that one call holds at most, unless a series has more: bounds the memory of panels.
_ROWS_AT_ONCE = 1 << 19
_Forecaster: TypeAlias = ForecastingModel | PredictingModel


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

    def origins(self, start: Any, horizon: int, step: int) -> tuple[IntArray, IntArray, IntArray]:
        """List origins, how many rows each forecasts, and its place in its series: its turn."""
        first, ends = self.ends[:-1], self.ends[1:]
        if start is not None:
            early = self.time < find_start(self.time, start)
            first = first + np.bincount(self.series[early], minlength=len(ends))
        counts = -((first - ends) // step)
        turn = origins_between(np.zeros_like(counts), counts - 1)
        origins = np.repeat(first, counts) + step * turn
        return origins, np.minimum(horizon, ends[self.series[origins]] - origins), turn

    def shown(self, rows: IntArray, ahead: BoolArray) -> pd.DataFrame:
        """Return some rows; of those ahead only what is known then."""
        frame = self.frame.iloc[rows].copy()
        frame.iloc[np.flatnonzero(ahead), self.hidden] = np.nan
        return frame


def _read_rows(
    estimator: Any, last: Any, X: Any, y: Any, known_future: str | Sequence[Any]
) -> _SortedRows:
    """Read the rows and their truth, and bring those of each series together in time."""
    roles: Roles | None = getattr(last, "roles_", None)
    history = getattr(last, "timeline_", None)
    by_row = history is not None and isinstance(history.clock, RowClock)
    X = checks.labelled_rows(X, int(last.timeline_.end_step[0]) if by_row else 0)
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
    names, targets = list(X.columns), list(truth.columns)
    fitted = () if roles is None else roles.known
    given = [*checks.check_ahead(known_future, names, targets), *fitted]
    known = find_known(names, given, targets)
    hidden = [j for j, name in enumerate(names) if name not in known]
    checks.check_some_columns(X.shape[1], "X")
    time, labels = time_labels(X.index)
    check_distinct(time, labels)
    rows, frame = sort_rows(time, labels, len(X)), X.copy()
    for j in hidden:
        frame.isetitem(j, checks.numeric_column(X.iloc[:, j], names[j]).astype(np.float64))
    frame, truth, time = frame.iloc[rows.order], truth.iloc[rows.order], time[rows.order]
    labels = None if labels is None else labels[rows.order]
    ends = runs(rows.series, 1 if rows.names is None else len(rows.names))
    return _SortedRows(frame, hidden, truth, time, labels, rows.series, ends)


def _known_targets(roles: Roles | None, estimator: Any, X: pd.DataFrame) -> list[Any]:
    """Find the columns that an Informer, or a `SeasonalNaive`, forecasts; none of others."""
    if isinstance(estimator, SeasonalNaive):
        return [X.columns[place] for place in estimator.targets_ if place < X.shape[1]]
    return [] if roles is None else list(roles.targets)


def _read_truth(targets: list[Any], X: pd.DataFrame, y: Any) -> pd.DataFrame:
    """Find the truth of X's rows, one column a target."""
    if y is None:
        for target in targets:
            checks.check_target_exists(target, list(X.columns), named=True)
            checks.check_finite(checks.numeric_column(X[target], target), target)
        y = X[targets]
    elif targets and isinstance(y, pd.DataFrame) and set(targets) <= set(y.columns):
        y = y[targets]  # of X itself, say
    truth = read_targets(y)
    check_same_rows(X, y)
    n_columns = truth.values.shape[1]
    names = targets or list(range(n_columns))
    if truth.named and truth.index is not None:  # other libraries call a Series without a name ""
        names = list(truth.names)
    if targets:
        check_target_count(len(targets), n_columns)
        if names != targets and set(names) <= set(X.columns):
            fix = f"X[{targets!r}]" if set(targets) <= set(X.columns) else "their truth"
            raise ValueError(
                f"y holds {list(names)!r}, but the estimator forecasts {targets!r}: they would be "
                f"compared with one another. Pass y={fix}."
            )
    return pd.DataFrame(truth.values, X.index, pd.Index(names, tupleize_cols=False))


def _forecast_all(
    estimator: Any, rows: _SortedRows, at: tuple[IntArray, ...], levels: Float64Array, **jobs: Any
) -> pd.DataFrame:
    """Forecast from the origins that `rows.origins` lists."""
    origins, lengths, turn = at
    transformers, last = take_apart(estimator)
    forecaster: _Forecaster
    parts = []
    if hasattr(last, "forecast"):
        forecaster = ForecastingModel(transformers, last, rows.time, rows.labels, levels)
        forecaster.check_origins(origins[turn == 0])
        known = forecaster.after_history(origins, rows.truth.notna().any(axis=1).to_numpy())
        origins, lengths, turn = origins[known], lengths[known], turn[known]
        quick = None if transformers else after_updates(last, rows.frame)
        at_once = np.zeros(len(origins), bool) if quick is None else quick.after_truth[origins]
        if quick is not None and at_once.any():
            start, steps = origins[at_once], lengths[at_once]
            found = quick.forecast(start, steps, levels)
            ahead = origins_between(start, start + steps - 1)
            parts.append((ahead, np.repeat(start, steps), found))
        origins, lengths, turn = origins[~at_once], lengths[~at_once], turn[~at_once]
    else:
        forecaster = PredictingModel(estimator, levels)
    calls = [
        delayed(_forecast_origins)(forecaster, rows, origins[turn == now], lengths[turn == now])
        for now in np.unique(turn)
    ]
    for part in _shared(calls, what="origins", **jobs):
        parts += part
    return _as_table(rows, levels, *map(np.concatenate, zip(*parts, strict=True)))


def _forecast_origins(
    forecaster: _Forecaster, rows: _SortedRows, origins: IntArray, lengths: IntArray
) -> list[tuple[IntArray, IntArray, Float64Array]]:
    """Forecast from one origin of each of some series: rows ahead, their origins and forecasts."""
    first, stop = rows.ends[rows.series[origins]], origins + lengths
    batch = np.cumsum(forecaster.sizes(first, stop)) // _ROWS_AT_ONCE
    found = []
    for number in np.unique(batch):
        chosen = batch == number
        shown = origins_between(first[chosen], stop[chosen] - 1)
        start = np.repeat(origins[chosen], (stop - first)[chosen])
        ahead = shown >= start
        forecast = forecaster.forecast(rows.shown(shown, ahead), shown, ahead)
        found.append((shown[ahead], start[ahead], forecast))
    return found


def _shared(calls: list[Any], *, n_jobs: int | None, verbose: int, what: str) -> Iterator[Any]:
    """Make joblib's delayed calls, in several processes if asked to; results come in order.

    verbose: above 0 a progress bar, where ``rich`` is installed.
    what: what it counts.
    """
    results = _in_order(n_jobs)(calls)
    if verbose and len(calls) > 1:
        try:
            from rich.progress import track
        except ImportError as error:
            raise ImportError(
                "verbose=1 shows a progress bar of rich, which is not installed: pip install rich, "
                "or pass verbose=0."
            ) from error
        results = track(results, total=len(calls), description=f"backtest, {what}")
    yield from results


def _in_order(n_jobs: int | None) -> Any:
    """Return results as they come; all at the end, where an engine, as Ray's, cannot do so."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)


def _as_table(
    rows: _SortedRows, levels: Float64Array, row: IntArray, origin: IntArray, forecast: Float64Array
) -> pd.DataFrame:
    """Lay out all forecasts by series, origin and target."""
    n_targets = forecast.shape[1]
    check_target_count(n_targets, rows.truth.shape[1])
    target = np.tile(np.arange(n_targets), len(row))
    row, origin = np.repeat(row, n_targets), np.repeat(origin, n_targets)
    order = np.lexsort((row, target, origin))
    row, origin, target = row[order], origin[order], target[order]
    table: dict[str, Any] = {} if rows.labels is None else {"series": rows.labels[row]}
    table |= {
        "origin": rows.time[origin],
        "time": rows.time[row],
        "ahead": row - origin + 1,
        "target": rows.truth.columns.to_numpy(dtype=object)[target],
        "actual": rows.truth.to_numpy()[row, target],
    }
    names = ["forecast", *(f"q{level:g}" for level in levels)]
    flat = forecast.reshape(-1, len(names))[order]
    return pd.DataFrame(table | dict(zip(names, flat.T, strict=True)))
