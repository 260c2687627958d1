"""Targets that may not be what the user means: one that was not named, one in a scaler's units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer.validation.parameters import first_names
from skinformer.validation.warning import warn_user

__all__ = ["warn_of_last_column", "warn_of_scaled_targets"]

#: How near mean and deviation, or least and greatest value, of a scaled column are to 0 and 1:
#: single precision leaves so much. Of raw columns not one in a million is as near by chance.
_ROUNDING = 1e-5
#: Share of rows that a scaled column has at its greatest value, if there are more than one. A share
#: of something, such as cloud cover, is 1 for days.
_MOST_AT_ONE = 0.01


def warn_of_last_column(target: Hashable, others: Sequence[Hashable], *, named: bool) -> None:
    """Warn that no target was named where others could be meant."""
    if not others:
        return
    what = repr(target) if named else f"number {target}"
    warn_user(
        f"target=None forecasts the last column of X, {what}; the others that are not known "
        f"ahead, {first_names(pd.Index(others))}, only help. Say which is meant: "
        f"target={target!r}, or several in a list, target={[target, others[0]]!r}."
    )


def warn_of_scaled_targets(columns: dict[Hashable, npt.NDArray[Any]], *, named: bool) -> None:
    """Warn that targets without y come in the units of a scaler, of all by the first of them."""
    for target, column in columns.items():
        found = _scaler_of(column)
        if found is None:
            continue
        targets = list(columns) if len(columns) > 1 else target
        y = f"y=df[{targets!r}]" if named else f"target={targets!r} and y, what stood there,"
        warn_user(
            f"the target {target!r} {found}: forecasts come in these units. If X was scaled, pass "
            f"{y} as it was before that, or leave the scaler out, as the estimator standardises "
            "by itself."
        )
        return


def _scaler_of(column: npt.NDArray[Any]) -> str | None:
    """Tell the scaler that a column evidently went through."""
    if column.dtype.kind != "f":  # NaN is no truth; integers went through none
        return None
    values = column[~np.isnan(column)].astype(np.float64)
    low, high = values.min(), values.max()
    if max(-low, high) > np.sqrt(len(values)) + 1:
        return None  # no standardised value is larger, and squares of large ones overflow
    if not ((values > low) & (values < high)).any():
        return None  # two values are a yes and a no
    if max(abs(values.mean()), abs(values.std() - 1)) < _ROUNDING:
        return "has mean 0 and deviation 1, as behind a StandardScaler"
    rare = (values > 1 - _ROUNDING).sum() <= max(1, _MOST_AT_ONE * len(values))
    if rare and max(abs(low), abs(high - 1)) < _ROUNDING:
        return "runs from 0 to 1, as behind a MinMaxScaler"
    return None
