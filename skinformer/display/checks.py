"""Checks that several pictures share."""

from __future__ import annotations

from typing import Any


def check_drawn_target(target: Any, names: list[Any]) -> None:
    """Raise if a target to draw is not forecast."""
    if target not in names:
        raise ValueError(f"target={target!r} is not forecast; the targets are {names}.")


def check_drawn_fit(estimator: Any, attribute: str) -> None:
    """Raise if an estimator's fit does not tell what is drawn."""
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{type(estimator).__name__} has no {attribute}. Pass a fitted InformerRegressor, or "
            "a Pipeline or search that ends in one."
        )
