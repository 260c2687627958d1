"""What a file without code, or an exported graph, cannot hold, and what to do instead."""

from importlib.util import find_spec
from typing import Any, NoReturn

from skinformer.timeline.clock import Clock, OpenClock
from skinformer.validation.forecasters import is_forecaster

_INSTEAD = (
    "Write it by pickle, joblib or skops, whose files may run code when they are read."
)


def check_saved_history(history: Any) -> None:
    """Raise unless it names the rows to save."""
    if history not in ("all", "context"):
        raise ValueError(
            f'history={history!r} must be "all" or "context": a file holds all '
            "rows, or only those that later forecasts need."
        )


def check_own_class(model: Any) -> None:
    """Raise for a subclass, which `load` would have to import."""
    if not type(model).__module__.startswith("skinformer.estimators."):
        raise ValueError(
            "save writes only InformerRegressor and InformerClassifier, not "
            f"{type(model).__name__}: reading the file would have to import it. "
            f"{_INSTEAD}"
        )


def refuse_to_save(place: str, value: Any) -> NoReturn:
    """Raise because of a value that numbers and text cannot stand for, and say what to do."""
    config = ""
    if is_forecaster(value):
        config = (
            " Give the forecaster a to_config(), of numbers and text, and a class method "
            "from_config(config), by which load builds it again."
        )
    raise ValueError(
        f"save cannot write {place.lstrip('.')}, a {type(value).__name__}: files hold numbers, "
        f"text and this package's own types, so that reading them runs no code.{config} {_INSTEAD}"
    )


def refuse_to_save_unread(fault: Exception) -> NoReturn:
    """Raise because of a fitted model that `load` would refuse, which is no fault of the user's."""
    raise ValueError(
        f"save cannot write this model: {fault}, which load could not read. This is a "
        f"bug of skinformer; please report it. {_INSTEAD}"
    )


def check_exporter() -> None:
    """Raise unless the packages are installed by which torch writes ONNX."""
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"export_onnx needs {' and '.join(missing)}, with which torch writes ONNX. "
            'Install them with pip install "skinformer[onnx]"; export_program needs '
            "neither."
        )


def check_exported_clock(clock: Clock) -> None:
    """Raise if the steps of a fit are those of opening hours, which no signature names."""
    if isinstance(clock, OpenClock):
        raise ValueError(
            "a model of opening hours cannot be exported: a graph counts closed hours "
            f"as steps. Fit with freq={clock.step_name!r}, so that closed hours are "
            "steps, too, or serve the model with save and skinformer.load."
        )


def check_exportable(
    model: Any, head: Any, others: list[str], scale: Any, mean_step: float | None
) -> None:
    """Raise unless a graph gives what `predict` does.

    head: what the network's outputs mean.
    others: members that a graph does not hold.
    scale: how targets are transformed.
    mean_step: by which positions count time; None where they count steps.
    """
    if not head.in_units:
        raise ValueError(
            f"{type(model).__name__} cannot be exported: its probabilities come from "
            "several forecasters, but a graph holds only ridges and the network. "
            "Serve it with skinformer.load or pickle, or export an InformerRegressor."
        )
    if head.level is not None:
        raise ValueError(
            f"loss={list(head.levels)} cannot be exported: quantiles of several levels "
            "are calibrated by the errors of earlier windows, which a graph of one "
            "window does not have. Export one model per level, such as "
            f"loss={head.levels[0]}; its quantiles are then not calibrated."
        )
    if model.roles_.categories:
        names = [categories.name for categories in model.roles_.categories]
        raise ValueError(
            f"columns of text or categories, {names}, cannot be exported: a graph "
            "takes numbers only. Fit on columns of 0 and 1, pd.get_dummies(X), or "
            "serve the model with skinformer.load."
        )
    if others:
        raise ValueError(
            f"what {' and '.join(others)} forecast cannot be exported: a graph holds "
            "only ridges and the network. Fit with members=['ridges', 'network'], or "
            "members=['network'] if series are too short for ridges, and compare the "
            "errors by backtest: they were 10 to 42% larger without trees on four "
            "long tables, and 26% with ridges alone on eight panels. Or serve the "
            "whole model with save and skinformer.load."
        )
    if scale.transformers:
        transformer = scale.transformers[0].transformer
        raise ValueError(
            f"target_transform={transformer!r} cannot be exported: a graph can only "
            'take logarithms. Fit with target_transform="log" or None, or transform '
            "the target yourself, before fit and after the graph."
        )
    if mean_step is not None:
        raise ValueError(
            "position='continuous' cannot be exported: a graph does not get the "
            "times. Fit with position='sinusoidal', which is the same if all steps "
            "are equal."
        )
