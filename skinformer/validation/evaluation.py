"""Rolling origins, scores and explanations: what they need of estimators, truth and rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils import check_array

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.roles import Roles
from skinformer.validation.arguments import check_choice, check_fitted
from skinformer.validation.columns import check_known_future, check_rows
from skinformer.validation.warning import warn_user


def labelled_rows(X: Any, first: int) -> Any:
    """Give rows as a frame; those without an index are numbered from `first` on."""
    if isinstance(X, pd.Series):
        X = X.to_frame()
    elif not isinstance(X, pd.DataFrame) and hasattr(X, "columns"):  # of another library
        names = [str(name) for name in getattr(X, "column_names", X.columns)]
        X = pd.DataFrame({name: np.asarray(X[name]) for name in names})
        X.index += first
    elif not isinstance(X, pd.DataFrame):
        check_rows(X)
        # Numbers and missing values are judged by column, as those of a frame.
        values = check_array(
            X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0
        )
        X = pd.DataFrame(values, index=pd.RangeIndex(first, first + len(values)))
    if not len(X):
        raise ValueError("X has no rows to forecast.")
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X has several columns named {twice!r}: give each its own name.")
    return X


def check_truth_reaches(roles: Roles | None, targets: Sequence[Hashable], y: Any) -> None:
    """Raise if the truth is nowhere, or does not reach the estimator."""
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


def check_truth_names(
    given: Sequence[Hashable], targets: Sequence[Hashable], columns: Sequence[Hashable]
) -> None:
    """Raise if the truth is named as columns of X that are not forecast, or in another order."""
    if list(given) != list(targets) and set(given) <= set(columns):
        fix = f"X[{list(targets)!r}]" if set(targets) <= set(columns) else "their truth"
        raise ValueError(
            f"y holds {list(given)!r}, but the estimator forecasts {list(targets)!r}: they would "
            f"be compared with one another. Pass y={fix}."
        )


def check_ahead(known: Any, columns: Sequence[Hashable], targets: Sequence[Hashable]) -> list[Any]:
    """Give the columns said to be known ahead, or raise if they are no columns of X."""
    single = isinstance(known, str) or not isinstance(known, Iterable)
    names = [] if known is None else [known] if single else list(known)
    check_known_future(names, columns, targets)
    return names


def find_start(times: pd.Index, start: Any) -> Any:
    """Give the label of the first origin in X's own kind, or raise if no row has it."""
    label = start
    try:
        if isinstance(times, pd.DatetimeIndex) and isinstance(start, (str, date, np.datetime64)):
            label = pd.Timestamp(start)
            if isinstance(start, str) and label.tz is None:
                label = label.tz_localize(times.tz)
        elif isinstance(times, pd.PeriodIndex):
            label = pd.Period(start, freq=times.freqstr)
        known = label in times
    except (TypeError, ValueError):  # what cannot be a label
        known = False
    if not known:
        raise ValueError(
            f"start={start!r} is not a label of X.index. Pass one, such as {times[0]!r}."
        )
    return label


def check_after_training(steps: IntArray, end: Any, labels: pd.Index) -> None:
    """Raise if an Informer has seen one of the first rows to be forecast."""
    seen = np.flatnonzero(steps < end)
    if len(seen):
        raise ValueError(
            f"The first origin, {labels[seen[0]]}, lies in the training rows. Pass rows after "
            "them, or a later start."
        )


def check_metric(metric: Any) -> None:
    """Raise if a metric cannot be called, such as the name of one."""
    if not callable(metric):
        raise TypeError(
            f"metric={metric!r} must be a function metric(y_true, y_pred). Pass one of "
            "sklearn.metrics, such as mean_absolute_error."
        )


def check_forecasts(estimator: Any) -> None:
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


def check_refit_start(start: Any) -> None:
    """Raise if nothing says where training ends."""
    if start is None:
        raise ValueError(
            "refit needs start=, the label of the first origin: X holds the training rows before "
            "it. Pass it, such as start=X.index[1000]."
        )


def check_refit_rows(n_before: int) -> None:
    """Raise if there is nothing to fit to."""
    if not n_before:
        raise ValueError(
            "start is the first label of X, so there are no rows to fit to. Pass X with the "
            "training rows before it."
        )


def check_compared(reference: Any, labels: Mapping[str, pd.DataFrame]) -> None:
    """Raise if results are of different rows, or the one to compare with is missing."""
    check_choice("reference", reference, labels)
    for name, table in labels.items():
        if not table.equals(labels[reference]):
            raise ValueError(
                f"results of {name!r} and {reference!r} are of different rows: run both backtests "
                "on the same X with the same start, horizon and step."
            )


def check_group(name: Any, columns: list[Any], times: pd.Index) -> None:
    """Raise if a result cannot be grouped by a name."""
    if not hasattr(times, str(name)):
        raise ValueError(
            f"by={name!r} is neither a column of the result, {columns}, nor a field of its times, "
            "such as 'hour'. Pass one of these, or a function of the times."
        )


def progress_bar() -> Callable[..., Any]:
    """Give rich's progress bar, or raise if it is not installed."""
    try:
        from rich.progress import track
    except ImportError as error:
        raise ImportError(
            "verbose=1 shows a progress bar of rich, which is not installed: pip install rich, "
            "or pass verbose=0."
        ) from error
    return track


def check_forecast_shape(
    truth: tuple[int, ...], forecast: tuple[int, ...], behind: int | None
) -> None:
    """Raise if forecasts, with so many values behind each truth, do not fit the truth."""
    columns = truth if len(truth) > 1 else (*truth, 1)
    fitting = [(*shape, *(() if behind is None else (behind,))) for shape in (truth, columns)]
    if forecast not in fitting and not (len(truth) > 1 and truth[1] == 1 and forecast == truth[:1]):
        raise ValueError(
            f"forecasts of shape {forecast} do not fit a truth of shape {truth}: they need shape "
            f"{fitting[0]}."
        )


def check_no_forecast_missing(forecast: Float64Array) -> None:
    """Raise if a forecast is missing where the truth is known."""
    missing = int(np.isnan(forecast).sum())
    if missing:
        raise ValueError(
            f"forecasts hold {missing} NaN where the truth is known: a score of the other rows "
            "would favour whoever forecasts only the easy ones. Forecast them all."
        )


def check_any_change(changed: bool) -> None:
    """Raise if no series has a scale."""
    if not changed:
        raise ValueError(
            "no series of y_true changes in y_train, or none has the same name there, so errors "
            "have no unit. Pass the training rows of these series, under the same labels."
        )


def raise_no_ranges(estimator: Any, method: str) -> NoReturn:
    """Raise where an estimator forecasts points alone."""
    raise TypeError(
        f"{type(estimator).__name__} has no {method}: it forecasts points alone. Pass an "
        "InformerRegressor, a Pipeline that ends in one, or a search over either."
    )


def raise_no_training_truth(estimator: Any) -> NoReturn:
    """Raise where the training rows of an estimator are not known."""
    raise ValueError(
        f"{type(estimator).__name__} does not keep its training rows, by which errors are scaled. "
        "Pass them as y_train=, such as y_train=df['load']; rows from X's first one on are left "
        "out."
    )


def raise_no_truth(estimator: Any) -> NoReturn:
    """Raise where nobody says what the truth is."""
    raise ValueError(
        f"y=None needs an InformerRegressor, which knows its target; {type(estimator).__name__} "
        "does not. Pass the truth, such as y=X['load']."
    )


def forecast_array(forecast: Any) -> Float64Array:
    """Give forecasts as numbers, or raise if they are none."""
    try:
        values = np.asarray(forecast, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if not values.ndim or not values.size:
        raise ValueError(
            f"forecasts of type {type(forecast).__name__} hold no numbers: pass an array with a "
            "row for each truth."
        )
    return values


def check_result(result: Any, *needed: str, of: str = "", advice: str = "") -> None:
    """Raise if a frame is not what `backtest` gives, or holds nothing to compare with."""
    lacking = [each for each in needed if each not in getattr(result, "columns", ())]
    if lacking:
        raise ValueError(
            f"results{of} lack the column {lacking[0]!r}: this is made of what `backtest` gives. "
            f"Pass such a frame{advice}."
        )
    if not result["actual"].notna().any():
        raise ValueError(
            f"results{of} hold no known truth: there is nothing to compare with. Pass backtests of "
            "rows that were observed."
        )


def named_results(results: Any, *needed: str) -> dict[str, pd.DataFrame]:
    """Give backtests by name, a single one by none; raise if they are none."""
    tables = dict(results) if isinstance(results, Mapping) else {"": results}
    for name, table in tables.items():
        of = f" of {name!r}" if name else ""
        check_result(table, *needed, of=of, advice=", or several of them by name, {'model': frame}")
    if not tables:
        raise ValueError("results={} holds no backtest. Pass one by name, {'model': frame}.")
    return {str(name): table for name, table in tables.items()}


def raise_not_explained(estimator: Any) -> NoReturn:
    """Raise because only forecasts of numbers by this package are taken apart."""
    raise TypeError(
        f"{type(estimator).__name__} cannot be explained: contributions are read off the windows "
        "of an InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a Pipeline or "
        "search that ends in one; scikit-learn's permutation_importance takes any estimator."
    )


def raise_no_network(estimator: Any) -> NoReturn:
    """Raise because an estimator has no attention."""
    raise TypeError(
        f"{type(estimator).__name__} has no attention to show. Pass a fitted InformerRegressor or "
        "InformerClassifier, or a Pipeline or search that ends in one."
    )


def raise_no_samples(estimator: Any) -> NoReturn:
    """Raise because only the forecasts of numbers of this package's network are drawn again."""
    raise TypeError(
        f"{type(estimator).__name__} gives no samples by dropout: they are forecasts of numbers by "
        "a network. Pass a fitted InformerRegressor, or a Pipeline or search that ends in one."
    )


def warn_of_silent_network(n_silent: int, n: int, *, spread: bool) -> None:
    """Warn that forecasts do not use the network, whose attention is shown."""
    but = " but for how far quantiles lie apart" if spread else ""
    warn_user(
        f"the network has no share in {n_silent} of {n} forecasts{but}: others make them, and its "
        "attention explains nothing of them. trust_ tells how far a fit trusts it; with base=None "
        "it forecasts alone."
    )


def check_any_dropout(dropout: float) -> None:
    """Raise if a network drops nothing."""
    if not dropout:
        raise ValueError(
            "the network was fitted with dropout=0 and drops nothing: all samples would be the "
            "forecast. Fit with dropout above 0, such as 0.2; predict_interval tells how far "
            "forecasts of any fit are off."
        )


def check_network_speaks(speaks: bool, trust: float) -> None:
    """Raise if nothing of the network is in forecasts whose spread is asked for."""
    if not speaks:
        raise ValueError(
            f"the network has no share in these forecasts (trust_={trust:.3g}): all samples would "
            "be the forecast. predict_interval tells how far it is off; with base=None the network "
            "forecasts alone."
        )


def check_attention_maps(maps: Sequence[Any], kind: type) -> None:
    """Raise if something else than maps is given, or none."""
    others = [each for each in maps if not isinstance(each, kind)]
    if others or not maps:
        what = f"hold a {type(others[0]).__name__}" if others else "are empty"
        raise ValueError(
            f"maps {what}: pass what attention_maps gives, or some of these, such as "
            "[m for m in maps if m.where == 'encoder']."
        )
