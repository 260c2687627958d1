"""Fits of a backtest: which rows each is fitted to, and processes that share them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel

from skinformer.reading.places import sort_rows
from skinformer.validation.columns import labelled_rows
from skinformer.validation.index import find_start, time_labels

#: Rows of a fit, X and y (None for none): those before its first origin, and those from there on
#: up to the last one that is forecast.
Fold = list[tuple[Any, Any]]


def refit_folds(X: Any, y: Any, start: Any, *, every: int, horizon: int, step: int) -> list[Fold]:
    """Part rows into stretches of origins, each with the rows before it.

    every: origins of a stretch.
    horizon, step: rows of a forecast and between origins.

    Series of a panel are cut at the same times. It is a ValueError if there is no start.

    >>> X = pd.DataFrame({"load": range(6)})
    >>> folds = refit_folds(X, X["load"], 3, every=1, horizon=1, step=2)
    >>> [len(rows) for (rows, truth), later in folds]
    [3, 5]
    """
    if start is None:
        raise ValueError(
            "refit needs start=, the label of the first origin: X holds the training rows before "
            "it. Pass it, such as start=X.index[1000]."
        )
    X = labelled_rows(X, 0)
    time, labels = time_labels(X.index)
    order = sort_rows(time, labels, len(X)).order
    X, time = X.iloc[order], time[order]
    y = None if y is None else _rows(y, order)
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


def shared(calls: list[Any], *, n_jobs: int | None, verbose: int, what: str) -> Iterator[Any]:
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
    """Give results as they come; all at the end, where an engine, as Ray's, cannot do so."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:
        return Parallel(n_jobs=n_jobs)


def _rows(y: Any, order: Any) -> Any:
    return y.iloc[order] if isinstance(y, pd.Series | pd.DataFrame) else np.asarray(y)[order]
