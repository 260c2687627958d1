"""Rolling origins, scores and explanations: what they need of estimators, truth and rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from skinformer.timeline.arrays import Float64Array
from skinformer.validation.columns import check_known_future, check_rows


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


def raise_no_ranges(estimator: Any, method: str) -> NoReturn:
    """Raise where an estimator forecasts points alone."""
    raise TypeError(
        f"{type(estimator).__name__} has no {method}: it forecasts points alone. Pass an "
        "InformerRegressor, a Pipeline that ends in one, or a search over either."
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


def check_attention_maps(maps: Sequence[Any], kind: type) -> None:
    """Raise if something else than maps is given, or none."""
    others = [each for each in maps if not isinstance(each, kind)]
    if others or not maps:
        what = f"hold a {type(others[0]).__name__}" if others else "are empty"
        raise ValueError(
            f"maps {what}: pass what attention_maps gives, or some of these, such as "
            "[m for m in maps if m.where == 'encoder']."
        )
