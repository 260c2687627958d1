"""Scores and ranges: levels, coverage, and forecasts that must fit the truth."""

from __future__ import annotations

from numbers import Real
from typing import Any, NoReturn, TypeVar

import numpy as np

from skinformer.timeline.arrays import Float64Array

__all__ = [
    "asked_levels",
    "check_any_change",
    "check_coverage",
    "check_forecast_shape",
    "check_levels",
    "check_no_forecast_missing",
    "check_range_levels",
    "check_ranges",
    "raise_no_ranges",
    "raise_no_training_truth",
    "raise_no_truth",
]

T = TypeVar("T")


def check_levels(levels: Any, *, name: str = "levels") -> Float64Array:
    """Give the levels of quantiles, or raise if they are none."""
    try:
        values = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):  # what is no number
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < 1)).all():
        raise ValueError(
            f"{name}={levels!r} must be a list of numbers between 0 and 1, such as [0.1, 0.5, 0.9]."
        )
    if len(np.unique(values)) < len(values):
        raise ValueError(f"{name}={levels!r} holds one of them twice: name each once.")
    return values


def asked_levels(levels: Any, listed: tuple[float, ...] | None) -> Float64Array:
    """Give the levels that are asked for, those that `loss` lists where none are."""
    if levels is None and listed is None:
        raise ValueError(
            "levels=None needs an estimator whose `loss` lists levels: pass some, such as "
            "levels=[0.1, 0.5, 0.9]."
        )
    return check_levels(listed if levels is None else levels)


def check_coverage(coverage: Any) -> float:
    """Give the share that an interval is to cover, or raise if it is none."""
    if type(coverage) is bool or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(
            f"coverage={coverage!r} must be a number between 0 and 1: the share of the truth that "
            "is to lie within, such as 0.9."
        )
    return float(coverage)


def check_range_levels(coverage: Any, levels: Any) -> Float64Array | None:
    """Give the levels that are asked for, None for none; raise if they are asked for twice."""
    if coverage is not None and levels is not None:
        raise ValueError(
            f"coverage={coverage!r} and levels={levels!r} ask for quantiles twice: pass one of "
            "them; a coverage of 0.9 is levels=[0.05, 0.95]."
        )
    if coverage is not None:
        tail = (1 - check_coverage(coverage)) / 2
        return np.array([tail, 1 - tail])
    return None if levels is None else check_levels(levels)


def check_ranges(ranges: T | None) -> T:
    """Give what is known of errors, or raise if nothing is."""
    if ranges is None:
        raise ValueError(
            "ranges need errors of earlier forecasts, and no row of the fit could be forecast from "
            "rows before it. Fit on more rows: two forecasts long, at least."
        )
    return ranges


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
