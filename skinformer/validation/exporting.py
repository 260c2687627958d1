"""What an exported graph cannot hold, and what to do instead."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = [
    "check_exported_forecasters",
    "check_exported_head",
    "check_exported_scale",
    "check_exporter",
]


def check_exporter() -> None:
    """Raise unless the packages are installed by which torch writes ONNX."""
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"export_onnx needs {' and '.join(missing)}, by which torch writes ONNX. Install them "
            'by pip install "skinformer[onnx]"; export_program needs neither.'
        )


def check_exported_head(model: Any, head: Any) -> None:
    """Raise unless the network's one output is what `predict` gives."""
    if not head.in_units:
        raise ValueError(
            f"{type(model).__name__} cannot be exported: its probabilities are those of several "
            "forecasters, and a graph holds the network and ridges alone. Serve it by "
            "skinformer.load or pickle, or export an InformerRegressor."
        )
    if head.level is not None:
        raise ValueError(
            f"loss={list(head.levels)} cannot be exported: quantiles of several levels are "
            "calibrated by the errors of earlier windows, which a graph of one window does not "
            f"see. Export one model for each level, such as loss={head.levels[0]}."
        )


def check_exported_forecasters(names: list[str]) -> None:
    """Raise if members that a graph does not hold count in the forecasts."""
    if names:
        raise ValueError(
            f"what {' and '.join(names)} forecast cannot be exported, and would be missing: it has "
            "a share in the forecasts (base_blend_), and a graph holds the network and ridges "
            'alone. Fit with base="linear", on series much longer than windows (seq_len + '
            "pred_len), or with base=None for the network alone."
        )


def check_exported_scale(scale: Any) -> None:
    """Raise if targets are transformed by what a graph has no word for."""
    if scale is not None and scale.transformers:
        transformer = scale.transformers[0].transformer
        raise ValueError(
            f"target_transform={transformer!r} cannot be exported: a graph holds logarithms alone. "
            'Fit with target_transform="log", "auto" or None, or transform the target yourself, '
            "before fit and after the graph."
        )
