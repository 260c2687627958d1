"""Rolling origins: what `backtest` needs to know of the truth, the rows and the origins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils import check_array

from skinformer.timeline.arrays import IntArray
from skinformer.timeline.roles import Roles
from skinformer.validation.columns import check_known_future, check_rows
from skinformer.validation.explaining import check_choice
from skinformer.validation.parameters import check_count, check_fitted

__all__ = [
    "check_after_training",
    "check_ahead",
    "check_compared",
    "check_forecasts",
    "check_group",
    "check_metric",
    "check_refit_rows",
    "check_refit_start",
    "check_row_count",
    "check_truth_names",
    "check_truth_reaches",
    "find_start",
    "labelled_rows",
    "progress_bar",
]


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


def check_row_count(name: str, value: Any) -> int:
    """Give a number of rows, or raise if it is none."""
    if value is None:
        raise ValueError(f"{name}=None needs an estimator with pred_len. Pass a number of rows.")
    return check_count(name, value, "it counts rows")


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
