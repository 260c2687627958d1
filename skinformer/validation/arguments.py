"""Arguments of methods and functions: counts, choices, levels of quantiles."""

import inspect
import reprlib
from collections.abc import Callable, Collection
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skinformer.timeline.arrays import Float64Array

#: The most that an argument counts: 114 years of hours.
MOST = 1_000_000


class Whole(Interval):
    """A whole number that is no truth value, and that an array can be long."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(Integral, least, most, closed="both")

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is such a number."""
        return type(val) is not bool and bool(super().is_satisfied_by(val))


class Decimal(Interval):
    """A number between two, of any kind that floats can say: a Fraction, too, or NumPy's halves."""

    def __init__(self, low: float, high: float | None, *, closed: str) -> None:
        super().__init__(Real, low, high, closed=closed)

    def is_satisfied_by(self, val: Any) -> bool:
        """Check whether a value is such a number."""
        return isinstance(val, Real) and float(val) in self


Method = TypeVar("Method", bound=Callable[..., Any])


T = TypeVar("T")


def check_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError before `fit`."""
    check_is_fitted(estimator)


def check_count(
    name: str, value: Any, what: str, *, least: int = 1, most: int = MOST, advice: str = ""
) -> int:
    """Return a whole number as Python's own, or raise if it is none, too small or too large."""
    if not Whole(least, most).is_satisfied_by(value):
        shown = reprlib.repr(value)
        raise ValueError(
            f"{name}={shown} must be a whole number from {least} to {most:,}: {what}.{advice}"
        )
    return int(value)


def check_n_jobs(n_jobs: Any) -> None:
    """Raise if a number of processes is none."""
    if n_jobs is None or (Whole(-MOST, MOST).is_satisfied_by(n_jobs) and n_jobs != 0):
        return
    raise ValueError(
        f"n_jobs={reprlib.repr(n_jobs)} must be a whole number other than 0: it counts processes, "
        "and -1 takes all cores. Leave it None for one."
    )


def check_horizon(horizon: Any) -> None:
    """Raise if a horizon is not a positive whole number."""
    advice = " Leave it None for pred_len steps."
    check_count("horizon", horizon, "it counts the steps to forecast", advice=advice)


def with_horizon(method: Method) -> Method:
    """Name the argument for a number of steps where a call names it otherwise."""
    known = list(inspect.signature(method).parameters)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        for name in kwargs.keys() - {*known}:
            fix = ""
            if isinstance(kwargs[name], Integral):
                fix = f"; for a number of steps pass horizon={kwargs[name]!r}"
            raise TypeError(f"{method.__name__}() has no argument {name!r}, but {known[1:]}{fix}.")
        return method(*args, **kwargs)

    return cast("Method", call)


def check_choice(name: str, value: Any, known: Collection[Any]) -> None:
    """Raise if a value is none of those that there are."""
    if value not in [*known]:  # which asks for no hash
        raise ValueError(f"{name}={value!r} must be one of {sorted(known, key=str)}.")


def check_row_count(name: str, value: Any) -> int:
    """Return a number of rows, or raise if it is none."""
    if value is None:
        raise ValueError(f"{name}=None needs an estimator with pred_len. Pass a number of rows.")
    return check_count(name, value, "it counts rows")


def check_levels(levels: Any, *, name: str = "levels") -> Float64Array:
    """Return the levels of quantiles, or raise if they are none."""
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


def requested_levels(levels: Any, listed: tuple[float, ...] | None) -> Float64Array:
    """Return the levels that are asked for, those that `loss` lists where none are."""
    if levels is None and listed is None:
        raise ValueError(
            "levels=None needs an estimator whose `loss` lists levels: pass some, such as "
            "levels=[0.1, 0.5, 0.9]."
        )
    return check_levels(listed if levels is None else levels)


def check_coverage(coverage: Any) -> float:
    """Return the share that an interval is to cover, or raise if it is none."""
    if type(coverage) is bool or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ValueError(
            f"coverage={coverage!r} must be a number between 0 and 1: the share of the truth that "
            "is to lie within, such as 0.9."
        )
    return float(coverage)


def check_range_levels(coverage: Any, levels: Any) -> Float64Array | None:
    """Return the levels that are asked for, those of coverages ascending and once; None for none.

    >>> check_range_levels([0.5, 0.8, 0.5], None).round(3)
    array([0.1 , 0.25, 0.75, 0.9 ])
    """
    if coverage is not None and levels is not None:
        raise ValueError(
            f"coverage={coverage!r} and levels={levels!r} ask for quantiles twice: pass one of "
            "them; a coverage of 0.9 is levels=[0.05, 0.95]."
        )
    if coverage is None:
        return None if levels is None else check_levels(levels)
    if not isinstance(coverage, list | tuple) and getattr(coverage, "ndim", 0) != 1:
        coverage = [coverage]
    shares = np.array([check_coverage(share) for share in coverage])
    if not len(shares):
        raise ValueError(
            f"coverage={coverage!r} asks for no interval: pass one share or more, such as "
            "[0.5, 0.8], or None for none."
        )
    lower = (1 - shares) / 2
    bounds = np.concatenate([lower, 1 - lower])
    _, distinct = np.unique(bounds.round(12), return_index=True)
    return bounds[distinct]


def check_ranges(ranges: T | None) -> T:
    """Return what is known of errors, or raise if nothing is."""
    if ranges is None:
        raise ValueError(
            "ranges need errors of earlier forecasts, and no row of the fit could be forecast from "
            "rows before it. Fit on more rows: two forecasts long, at least."
        )
    return ranges
