"""Rolling origins: what `backtest` needs to know of the truth, the rows and the origins."""

from __future__ import annotations

from typing import Any

import pandas as pd

__all__ = [
    "check_after_training",
    "check_row_count",
    "check_truth_reaches",
    "find_row",
]


def check_truth_reaches(roles: Any, y: Any) -> None:
    """Raise if the truth is nowhere, or does not reach the estimator."""
    if getattr(roles, "mode", None) == "features":
        raise ValueError(
            "estimator was fitted on features alone, so the truth before an origin does not reach "
            "it. Fit it on a frame that holds the target: fit(X) or fit(X, y) with y in X."
        )
    if y is None and roles is None:
        raise ValueError(
            "y=None needs an InformerRegressor, which knows its target. Pass the truth, such as "
            "y=X['load']."
        )


def check_row_count(name: str, value: Any) -> int:
    """Give a number of rows, or raise if it is none."""
    if value is None:
        raise ValueError(f"{name}=None needs an estimator with pred_len. Pass a number of rows.")
    if value != int(value) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of rows, at least 1.")
    return int(value)


def find_row(index: pd.Index, start: Any) -> int:
    """Find the row of the first origin, or raise if there is none."""
    if not len(index):
        raise ValueError("X has no rows to forecast.")
    row = 0 if start is None else index.get_indexer(pd.Index([start]))[0]
    if row < 0:
        raise ValueError(
            f"start={start!r} is not a label of X.index. Pass one, such as X.index[0]."
        )
    return int(row)


def check_after_training(estimator: Any, label: Any, series: Any) -> None:
    """Raise if an Informer has seen the first row to be forecast."""
    timeline = getattr(estimator, "timeline_", None)
    if timeline is None:
        return
    code = 0
    if estimator.series_ is not None:
        code = estimator.series_.get_indexer(pd.Index([series]))[0]
    if code >= 0 and timeline.clock.steps(pd.Index([label]))[0] < timeline.end_step[code]:
        raise ValueError(
            f"The first origin, {label}, lies in the training rows. Pass rows after them, or a "
            "later start."
        )
