"""What several pictures ask of their estimators and targets."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skinformer.evaluation.ahead import take_apart


def rows_of_target(table: pd.DataFrame, target: Any) -> tuple[Any, pd.DataFrame]:
    """Give the target to draw, the first for None, and its rows; raise if it is not forecast."""
    names = list(table["target"].unique())
    target = names[0] if target is None else target
    if target not in names:
        raise ValueError(f"target={target!r} is not forecast; the targets are {names}.")
    return target, table[table["target"] == target]


def fitted_part(estimator: Any, attribute: str) -> Any:
    """Give what a Pipeline or search ends in; raise if its fit does not tell what is drawn."""
    last = take_apart(estimator)[1]
    if not hasattr(last, attribute):
        raise TypeError(
            f"{type(last).__name__} has no {attribute}. Pass a fitted InformerRegressor, or "
            "a Pipeline or search that ends in one."
        )
    return last
