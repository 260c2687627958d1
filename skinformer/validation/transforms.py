"""Transformations of targets: what they need of the training rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

import pandas as pd

from skinformer.timeline.arrays import BoolArray, Float64Array

__all__ = ["check_increasing", "check_inverse", "check_positive", "raise_unfit_transform"]


def check_positive(
    least: Float64Array, positive: BoolArray, targets: tuple[Hashable, ...], names: pd.Index | None
) -> None:
    """Raise if logarithms are asked for of targets that are not all above zero."""
    if positive.all():
        return
    i, j = (int(place[0]) for place in (~positive).nonzero())
    where = f"{targets[j]!r}" + ("" if names is None else f" of series {names[i]!r}")
    raise ValueError(
        f"target_transform='log' needs targets above 0, but {where} falls to {least[i, j]:g}: that "
        "has no logarithm. Make such rows NaN, or pass target_transform='auto', None or "
        "FunctionTransformer(np.log1p, np.expm1)."
    )


def raise_unfit_transform(
    transformer: Any, target: Hashable, values: Float64Array, error: Exception
) -> NoReturn:
    """Raise where a transformer cannot be fitted to a target; `values` ascend."""
    where = f"lies in {values[0]:g} … {values[-1]:g}" if len(values) else "has no training rows"
    raise ValueError(
        f"target_transform={transformer!r} cannot be fitted to target {target!r}, which {where}: "
        f"{error} Choose one that is defined there, or target_transform='auto'."
    ) from error


def check_inverse(transformer: Any, target: Hashable, lost: float, reach: float) -> None:
    """Raise if a transformer does not give training values back."""
    if not lost <= reach:  # NaN, too
        raise ValueError(
            f"target_transform={transformer!r} does not give the training values of target "
            f"{target!r} back: inverse_transform(transform(y)) is off by {lost:g}, and forecasts "
            "would be, too. Pass a transformer with the inverse that belongs to it, or "
            "target_transform=None."
        )


def check_increasing(transformer: Any, target: Hashable, increasing: bool) -> None:
    """Raise if a quantile would become another one."""
    if not increasing:
        raise ValueError(
            f"target_transform={transformer!r} falls where target {target!r} rises: a quantile as "
            "loss would forecast the opposite one. Pass a transformer that rises, or another loss."
        )
