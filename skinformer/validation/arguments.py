"""Arguments of methods and functions: counts, choices, levels of quantiles."""

import reprlib
from collections.abc import Collection
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import date_step

#: The most that an argument counts: 114 years of hours.
MOST = 1_000_000


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError before `fit`."""
    check_is_fitted(estimator)


def check_count(
    name: str, value: Any, what: str, *, least: int = 1, advice: str = ""
) -> int:
    """Return a whole number as Python's own, or raise if it is none, too small or too large."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (is_whole and least <= value <= MOST):
        short = reprlib.repr(value.item() if isinstance(value, np.generic) else value)
        raise ValueError(
            f"{name}={short} must be a whole number from {least} to {MOST:,}: {what}.{advice}"
        )
    return int(value)


def check_horizon(horizon: Any) -> None:
    """Raise if a horizon is not a positive whole number."""
    advice = " Leave it None for pred_len steps."
    check_count("horizon", horizon, "it counts the steps to forecast", advice=advice)


def check_choice(name: str, value: Any, known: Collection[Any]) -> None:
    """Raise if a value is none of those that there are."""
    if value not in [*known]:  # which asks for no hash
        raise ValueError(f"{name}={value!r} must be one of {sorted(known, key=str)}.")


def check_row_count(name: str, value: Any) -> int:
    """Return a number of rows, or raise if it is none."""
    if value is None:
        raise ValueError(
            f"{name}=None needs an estimator with pred_len. Pass a number of rows."
        )
    return check_count(name, value, "it counts rows")


def check_origin_step(step: Any) -> Any:
    """Return the step between origins, rows or an offset of pandas, or raise if it is neither."""
    if not isinstance(step, str | timedelta | pd.DateOffset):
        return check_row_count("step", step)
    try:
        offset = date_step(step)
        start = pd.Timestamp(2000, 1, 1)
        goes_forward = start + offset > start
    except ValueError:  # what pandas does not know
        goes_forward = False
    if not goes_forward:
        raise ValueError(
            f"step={step!r} must be a number of rows, or a positive offset of pandas, "
            "such as 'D', '12h' or 'MS': the distance from one origin to the next."
        )
    return offset


def check_levels(levels: Any, *, name: str = "levels") -> Float64Array:
    """Return the levels of quantiles, or raise if they are none."""
    try:
        values = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):  # what is no number
        values = np.empty(0)
    is_inside = (values > 0) & (values < 1)
    is_listed = values.ndim == 1 and values.size > 0 and is_inside.all()
    if not is_listed or len(np.unique(values)) < len(values):
        raise ValueError(
            f"{name}={levels!r} must be a list of numbers between 0 and 1, each once, such as "
            "[0.1, 0.5, 0.9]."
        )
    return values


def check_coverage(coverage: Any) -> float:
    """Return the share that an interval is to cover, or raise if it is none."""
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not (is_number and 0 < coverage < 1):
        raise ValueError(
            f"coverage={coverage!r} must be a number between 0 and 1: the share of actual values "
            "that should lie inside, such as 0.9."
        )
    return float(coverage)


def check_range_levels(coverage: Any, levels: Any) -> Float64Array:
    """Return the levels that are asked for, of coverages ascending and once; maybe none.

    >>> check_range_levels([0.5, 0.8, 0.5], None).round(3)
    array([0.1 , 0.25, 0.75, 0.9 ])
    """
    if coverage is not None and levels is not None:
        raise ValueError(
            f"coverage={coverage!r} and levels={levels!r} ask for quantiles twice: pass one of "
            "them; a coverage of 0.9 is levels=[0.05, 0.95]."
        )
    if coverage is None:
        return np.empty(0) if levels is None else check_levels(levels)
    shares = np.atleast_1d(coverage).tolist()
    checked = np.array([check_coverage(share) for share in shares])
    lower = (1 - checked) / 2
    bounds = np.concatenate([lower, 1 - lower])
    _, distinct = np.unique(bounds.round(12), return_index=True)
    return check_levels(bounds[distinct].tolist(), name="levels of coverage")


def check_ranges(ranges: Any, fewest: int) -> Any:
    """Return what is known of errors, or raise if nothing is.

    fewest: rows of one series by which something is.
    """
    if ranges is None:
        raise ValueError(
            "prediction intervals need errors of earlier forecasts, but no row of the "
            "fit with an observed target could be forecast from the rows before it. Fit "
            f"on more rows, at least {fewest} of one series, and the last of them with "
            "an observed target."
        )
    return ranges
