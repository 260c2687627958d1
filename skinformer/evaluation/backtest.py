"""Rolling-origin evaluation: many forecasts, each from its own past alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from skinformer.evaluation.ahead import ForecastingModel, PredictingModel, split_last_step
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
from skinformer.validation.arguments import check_fitted, check_range_levels, check_row_count
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
        origin itself; others forecast by `predict`, and their features may reach back no less
        than `horizon` rows (``SlidingWindow(lag=horizon)``). On a panel it gets the rows of many
        series at once.
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
        has by its own parameter and those that `CalendarFeatures` makes.
    refit : bool or int, default=False
        Whether a clone of the estimator is fitted to all rows of X before an origin: at each
        (True), or at every so many. X then begins with the training rows, and `start` is the
        first origin; `estimator` need not be fitted.
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
        If the truth, the horizon or the first origin is not known, or if forecasts would
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
    if refit is False:
        _check_forecasts(estimator)
    jobs = {"n_jobs": n_jobs, "verbose": verbose}
    last = split_last_step(estimator)[1]
    horizon = _horizon(last, horizon)
    step = check_row_count("step", horizon if step is None else step)
    if refit is False:
        rows = _read_rows(estimator, last, X, y, known_future)
        origins = rows.origins(start, horizon, step)
        given = np.empty(0) if requested is None else requested
        return _forecast_all(estimator, rows, origins, given, jobs)
    every = 1 if refit is True else check_row_count("refit", refit)
    folds = _refit_folds(X, y, start, every=every, horizon=horizon, step=step)
    options = {"horizon": horizon, "step": step, "known_future": known_future, "levels": requested}
    calls = [delayed(_of_fold)(estimator, *fold, options, every) for fold in folds]
    table = pd.concat(_shared(calls, jobs, "fits"))
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
    X, y, time = _sorted_in_time(X, y)
    moments = time.unique().sort_values()
    first: Any = moments.get_loc(find_start(time, start))
    if not first:
        raise ValueError(
            "start is the first label of X, so there are no rows to fit to. Pass X with the "
            "training rows before it."
        )
    folds = []
    for begin in range(first, len(moments), every * step):
        stop = min(begin + (every - 1) * step + horizon, len(moments))
        before = np.asarray(time < moments[begin])
        later = ~before & np.asarray(time <= moments[stop - 1])
        training = (X[before], None if y is None else y[before])
        test = (X[later], None if y is None else y[later])
        folds.append([training, test])
    return folds


def _sorted_in_time(X: Any, y: Any) -> tuple[pd.DataFrame, Any, pd.Index]:
    """Return rows, series after series, each in time, their truth, None for none, and times."""
    X = checks.labelled_rows(X, 0)
    time, labels = time_labels(X.index)
    order = sort_rows(time, labels, len(X)).order
    if isinstance(y, pd.Series | pd.DataFrame):
        y = y.iloc[order]
    elif y is not None:
        y = np.asarray(y)[order]
    return X.iloc[order], y, time[order]


def _of_fold(
    estimator: Any, training: Any, test: Any, options: dict[str, Any], every: int
) -> pd.DataFrame:
    """Fit a clone to the rows before a stretch of origins, and forecast from these."""
    # An InformerRegressor bounds its threads by itself.
    bounds_itself = hasattr(split_last_step(estimator)[1], "forecast")
    with nullcontext() if bounds_itself else threads_for(0):
        fitted = clone(estimator).fit(*training)
    table = backtest(fitted, *test, **options)
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


_Forecaster: TypeAlias = ForecastingModel | PredictingModel


class _Origins(NamedTuple):
    """Where forecasts begin.

    row: first row that each forecasts.
    n_steps: how many rows it forecasts.
    turn: its place among the origins of its series.
    """

    row: IntArray
    n_steps: IntArray
    turn: IntArray

    def take(self, chosen: BoolArray) -> _Origins:
        """Return some of them."""
        return _Origins(self.row[chosen], self.n_steps[chosen], self.turn[chosen])


class _Forecasts(NamedTuple):
    """Forecasts of rows.

    row, origin: of each.
    values: (n, n_targets, 1 + n_levels), points and quantiles.
    """

    row: IntArray
    origin: IntArray
    values: Float64Array


@dataclass(frozen=True)
class _SortedRows:
    """The rows of X, series after series, each in time."""

    frame: pd.DataFrame
    hidden: list[int]  # positions of the columns that are not known ahead
    truth: pd.DataFrame
    time: pd.Index
    labels: pd.Index | None  # the series of each row
    series: IntArray  # its number
    first_row: IntArray  # series i holds rows first_row[i] … first_row[i + 1] - 1

    def origins(self, start: Any, horizon: int, step: int) -> _Origins:
        """List the origins of all series, every `step` rows."""
        first = self.first_row[:-1]
        ends = self.first_row[1:]
        if start is not None:
            is_early = self.time < find_start(self.time, start)
            n_early = np.bincount(self.series[is_early], minlength=len(ends))
            first = first + n_early
        n_origins = -((first - ends) // step)
        turn = origins_between(np.zeros_like(n_origins), n_origins - 1)
        row = np.repeat(first, n_origins) + step * turn
        n_left = ends[self.series[row]] - row
        return _Origins(row, np.minimum(horizon, n_left), turn)

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
    X = checks.labelled_rows(X, _first_number(last))
    names = list(X.columns)
    truth = _read_truth(_known_targets(roles, estimator, X, y), X, y)
    known = _known_ahead(names, list(truth.columns), roles, known_future)
    hidden = [j for j, name in enumerate(names) if name not in known]
    checks.check_some_columns(X.shape[1], "X")
    time, labels = time_labels(X.index)
    check_distinct(time, labels)
    frame = X.copy()
    for j in hidden:
        values = checks.numeric_column(X.iloc[:, j], names[j])
        frame.isetitem(j, values.astype(np.float64))
    rows = sort_rows(time, labels, len(X))
    n_series = 1 if rows.names is None else len(rows.names)
    return _SortedRows(
        frame=frame.iloc[rows.order],
        hidden=hidden,
        truth=truth.iloc[rows.order],
        time=time[rows.order],
        labels=None if labels is None else labels[rows.order],
        series=rows.series,
        first_row=runs(rows.series, n_series),
    )


def _first_number(last: Any) -> int:
    """Return the number of the first row without an index, after those that a fit has counted."""
    history = getattr(last, "timeline_", None)
    counts_rows = history is not None and isinstance(history.clock, RowClock)
    return int(last.timeline_.end_step[0]) if counts_rows else 0


def _known_ahead(
    names: list[Any], targets: list[Any], roles: Roles | None, known_future: str | Sequence[Any]
) -> tuple[Hashable, ...]:
    """Return the columns that are known ahead, by the user, the fit or the calendar."""
    given = checks.check_ahead(known_future, names, targets)
    fitted = () if roles is None else roles.known
    return find_known(names, [*given, *fitted], targets)


def _known_targets(roles: Roles | None, estimator: Any, X: pd.DataFrame, y: Any) -> list[Any]:
    """Find the columns that an Informer, or a `SeasonalNaive`, forecasts; none of others.

    Raise if these are none of X, or if others have no truth.
    """
    targets = [] if roles is None else list(roles.targets)
    if isinstance(estimator, SeasonalNaive):
        targets = [X.columns[place] for place in estimator.targets_ if place < X.shape[1]]
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
    return targets


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
        _check_target_names(names, targets, set(X.columns))
    return pd.DataFrame(truth.values, X.index, pd.Index(names, tupleize_cols=False))


def _check_target_names(names: list[Any], targets: list[Any], columns: set[Any]) -> None:
    """Raise if the truth is of other columns of X than those that are forecast."""
    if names != targets and set(names) <= columns:
        fix = f"X[{targets!r}]" if set(targets) <= columns else "their truth"
        raise ValueError(
            f"y holds {names!r}, but the estimator forecasts {targets!r}: they would be "
            f"compared with one another. Pass y={fix}."
        )


def _forecast_all(
    estimator: Any, rows: _SortedRows, origins: _Origins, levels: Float64Array, jobs: dict[str, Any]
) -> pd.DataFrame:
    """Forecast from all origins."""
    transformers, last = split_last_step(estimator)
    forecaster: _Forecaster
    parts: list[_Forecasts] = []
    if hasattr(last, "forecast"):
        forecaster = ForecastingModel(transformers, last, rows.time, rows.labels, levels)
        forecaster.check_origins(origins.row[origins.turn == 0])
        observed = rows.truth.notna().any(axis=1).to_numpy()
        origins = origins.take(forecaster.after_history(origins.row, observed))
        if not transformers:
            parts, origins = _forecast_at_once(last, rows, origins, levels)
    else:
        forecaster = PredictingModel(estimator, levels)
    calls = []
    for turn in np.unique(origins.turn):
        of_turn = origins.take(origins.turn == turn)
        calls.append(delayed(_forecast_origins)(forecaster, rows, of_turn))
    for found in _shared(calls, jobs, "origins"):
        parts += found
    return _as_table(rows, levels, parts)


def _forecast_at_once(
    model: Any, rows: _SortedRows, origins: _Origins, levels: Float64Array
) -> tuple[list[_Forecasts], _Origins]:
    """Forecast at once from origins right after an observed row; return the others, too."""
    updated = after_updates(model, rows.frame)
    if updated is None:
        return [], origins
    is_after_truth = updated.after_truth[origins.row]
    if not is_after_truth.any():
        return [], origins
    row, n_steps, _ = origins.take(is_after_truth)
    values = updated.forecast(row, n_steps, levels)
    ahead = origins_between(row, row + n_steps - 1)
    found = _Forecasts(ahead, np.repeat(row, n_steps), values)
    return [found], origins.take(~is_after_truth)


def _forecast_origins(
    forecaster: _Forecaster, rows: _SortedRows, origins: _Origins
) -> list[_Forecasts]:
    """Forecast from one origin of each of some series."""
    # Rows that one call holds at most, unless a series has more: bounds the memory of panels.
    rows_at_once = 1 << 19
    first = rows.first_row[rows.series[origins.row]]
    stop = origins.row + origins.n_steps
    batch = np.cumsum(forecaster.sizes(first, stop)) // rows_at_once
    parts = []
    for number in np.unique(batch):
        chosen = batch == number
        shown = origins_between(first[chosen], stop[chosen] - 1)
        n_shown = stop[chosen] - first[chosen]
        origin = np.repeat(origins.row[chosen], n_shown)
        ahead = shown >= origin
        values = forecaster.forecast(rows.shown(shown, ahead), shown, ahead)
        parts.append(_Forecasts(shown[ahead], origin[ahead], values))
    return parts


def _shared(calls: list[Any], jobs: dict[str, Any], what: str) -> Iterator[Any]:
    """Make joblib's delayed calls, in several processes if n_jobs is more; results come in order.

    jobs: n_jobs and verbose, above 0 a progress bar, where ``rich`` is installed.
    what: what it counts.
    """
    results = _in_order(jobs["n_jobs"])(calls)
    if jobs["verbose"] and len(calls) > 1:
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


def _as_table(rows: _SortedRows, levels: Float64Array, parts: list[_Forecasts]) -> pd.DataFrame:
    """Lay out all forecasts by series, origin and target."""
    values = np.concatenate([part.values for part in parts])
    n_targets = values.shape[1]
    check_target_count(n_targets, rows.truth.shape[1])
    keys = _keys(parts, n_targets)
    order = np.lexsort(keys)
    row, target, origin = keys[:, order]
    table: dict[str, Any] = {}
    if rows.labels is not None:
        table["series"] = rows.labels[row]
    table["origin"] = rows.time[origin]
    table["time"] = rows.time[row]
    table["ahead"] = row - origin + 1
    table["target"] = rows.truth.columns.to_numpy(dtype=object)[target]
    table["actual"] = rows.truth.to_numpy()[row, target]
    names = ["forecast", *(f"q{level:g}" for level in levels)]
    forecasts = values.reshape(-1, len(names))[order]
    table |= dict(zip(names, forecasts.T, strict=True))
    return pd.DataFrame(table)


def _keys(parts: list[_Forecasts], n_targets: int) -> IntArray:
    """Return row, target and origin, (3, n), of each forecast of each target."""
    row = np.concatenate([part.row for part in parts])
    origin = np.concatenate([part.origin for part in parts])
    target = np.tile(np.arange(n_targets), len(row))
    return np.stack([row.repeat(n_targets), target, origin.repeat(n_targets)])
