"""Checks of forecasters that users bring as members."""

import inspect
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.validation.warning import warn_user
from skinformer.wording import number_of


def is_forecaster(member: Any) -> bool:
    """Return whether a member is a function of history and horizon, or has such a `predict`."""
    if isinstance(member, type | str):
        return False
    predict = getattr(member, "predict", member)
    try:
        parameters = inspect.signature(predict).parameters
    except (TypeError, ValueError):  # not callable, or written in C
        return False
    return "horizon" in parameters


def name_of(forecaster: Any, taken: Collection[str]) -> str:
    """Return the name of a forecaster among members: its `name`, or that of function or class.

    Raises ValueError where it is taken, by a member of the package.
    """
    plain = getattr(forecaster, "__name__", type(forecaster).__name__)
    name = str(getattr(forecaster, "name", None) or plain)
    if name in taken:
        raise ValueError(
            f"the forecaster {forecaster!r} in members is named {name!r}, which is the name of "
            "another member: give it another `name`."
        )
    return name


def check_answer(answer: Any, name: str, shape: tuple[int, ...]) -> Float64Array:
    """Return forecasts as an array; raise if its shape is another one.

    shape: (n_histories, horizon), or (n_histories, horizon, n_levels).
    """
    forecast = np.asarray(answer, dtype=np.float64)
    if forecast.shape != shape:
        histories = number_of(shape[0], "history", "histories")
        steps = number_of(shape[1], "step")
        of_levels = f" of {number_of(shape[2], 'level')}" if len(shape) > 2 else ""
        raise ValueError(
            f"the forecaster {name!r} in members returned an array of shape {forecast.shape}: "
            f"predict(history, horizon) of {histories} and {steps}{of_levels} "
            f"has to return one of shape {shape}, a row for each history."
        )
    return forecast


def warn_of_lost(name: str, n_lost: int, n_histories: int) -> None:
    """Warn that forecasts are no numbers, and what stands in their place."""
    warn_user(
        f"the forecaster {name!r} in members returned NaN or infinity for {n_lost} of "
        f"{n_histories} histories: their forecast is the last observed value."
    )


def warn_of_unjudged(names: Sequence[str]) -> None:
    """Warn of forecasters that are left out because no rows can judge them."""
    if names:
        warn_user(
            f"forecasters in members ({', '.join(names)}) are left out: there are too "
            "few validation rows to measure their errors. Fit more rows, with "
            "early_stopping other than False, or use such a forecaster alone: "
            "members=[forecaster]."
        )


def check_seconds(seconds: float, most: float, name: str, n_histories: int) -> None:
    """Raise if a forecaster would take longer than its user allows.

    seconds: that all histories of a fit take, as a few of them did.
    most: its `max_seconds`.
    """
    if seconds > most:
        raise ValueError(
            f"the forecaster {name!r} in members would take {seconds:,.0f} s for the "
            f"forecasts from {number_of(n_histories, 'history', 'histories')} that this fit "
            f"needs ({seconds / n_histories:.2g} s each), more than its "
            f"max_seconds={most:g}: set its attribute max_seconds to "
            f"{seconds * 1.5:,.0f} or more, or pass fewer series."
        )
