"""What is asked of `explain`: a fit that can be explained, blocks of lags; choices of all kinds."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from numbers import Integral
from typing import Any, NoReturn

__all__ = ["check_blocks", "check_choice", "raise_not_explained"]


def check_blocks(blocks: Any) -> list[int]:
    """Give the oldest lag of each block, or raise if they are none."""
    several = isinstance(blocks, Collection) and not isinstance(blocks, str)
    found: list[Any] = list(blocks) if several else [None]
    whole = all(type(lag) is not bool and isinstance(lag, Integral) for lag in found)
    if not whole or any(low >= high for low, high in pairwise([0, *found])):
        raise ValueError(
            f"blocks={blocks!r} must be whole numbers above 0 that rise: the oldest lag of each "
            "block, as in blocks=[1, 24, 168]; blocks=[] makes one block of each column."
        )
    return [int(lag) for lag in found]


def check_choice(name: str, value: Any, known: Collection[str]) -> None:
    """Raise if a value is none of those that there are."""
    if value not in [*known]:  # which asks for no hash
        raise ValueError(f"{name}={value!r} must be one of {sorted(known)}.")


def raise_not_explained(estimator: Any) -> NoReturn:
    """Raise because only forecasts of numbers by this package are taken apart."""
    raise TypeError(
        f"{type(estimator).__name__} cannot be explained: contributions are read off the windows "
        "of an InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a Pipeline or "
        "search that ends in one; scikit-learn's permutation_importance takes any estimator."
    )
