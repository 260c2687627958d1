"""What a file without code cannot hold, and what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["check_own_class", "check_saved_history", "refuse_to_save", "refuse_to_save_extremes"]

_INSTEAD = "Write it by pickle, joblib or skops, whose files may run code when they are read."


def check_saved_history(history: Any) -> None:
    """Raise unless it names the rows to save."""
    if history not in ("all", "context"):
        raise ValueError(
            f'history={history!r} must be "all" or "context": the rows that a file holds are all, '
            "or those alone that later forecasts start from."
        )


def check_own_class(model: Any) -> None:
    """Raise for a subclass, which `load` would have to import."""
    if not type(model).__module__.startswith("skinformer.estimators."):
        raise ValueError(
            "save writes InformerRegressor and InformerClassifier alone, no "
            f"{type(model).__name__}: reading the file would have to import it. {_INSTEAD}"
        )


def refuse_to_save(place: str, value: Any) -> NoReturn:
    """Raise because of a value that numbers and text cannot stand for, and say what to do."""
    raise ValueError(
        f"save cannot write {place.lstrip('.')}, a {type(value).__name__}: files hold numbers, "
        f"text and this package's own types, so that reading them runs no code. {_INSTEAD}"
    )


def refuse_to_save_extremes(fault: Exception) -> NoReturn:
    """Raise because of fitted values that `load` would take for forged ones."""
    raise ValueError(
        f"save cannot write this model: {fault}, as of files that were forged. Look at the "
        f"training rows for numbers that cannot be. {_INSTEAD}"
    )
