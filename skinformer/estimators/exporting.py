"""Fitted estimators to graphs, `torch.export` and ONNX: windows in units to forecasts in units."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.member import NETWORK
from skinformer.ensemble.members import module_of
from skinformer.estimators.state import FittedState
from skinformer.model.served import ServedForecast, Units
from skinformer.persistence.atomic import replacing
from skinformer.serving.signature import METADATA_KEY, Signature, plain
from skinformer.timeline.arrays import Float32Array
from skinformer.timeline.scaling import Scaler
from skinformer.validation.files import (
    check_exported_forecasters,
    check_exported_head,
    check_exported_scale,
    check_exporter,
)

if TYPE_CHECKING:
    from torch.export import ExportedProgram

#: Windows of the call that is traced: no batch but the least that torch takes for any.
_BATCH = 5


def signature_of(model: FittedState) -> Signature:
    """Tell what a model's graph takes."""
    roles, sizes, clock = model.roles_, model.sizes_, model.timeline_.clock
    inputs = {
        "past": True,
        "future": sizes.n_known > 0,
        "series": model.series_ is not None,
        "time": bool(sizes.calendar_fields),
        "instant": sizes.mean_step is not None,
    }
    zone = getattr(clock.origin, "tz", None)
    return Signature(
        targets=_plain(roles.targets),
        past=_plain(roles.past),
        known=_plain(roles.known),
        static=_plain(roles.static),
        seq_len=sizes.seq_len,
        pred_len=sizes.pred_len,
        inputs=tuple(name for name, there in inputs.items() if there),
        series=None if model.series_ is None else _plain(model.series_),
        freq=_written(clock.freq),
        tz=None if zone is None else str(zone),
        may_miss=sizes.may_miss,
    )


def _plain(names: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(plain(name) for name in names)


def _written(freq: Any) -> str | int | None:
    """Write a step as pandas reads it; there is no text for an offset of several units."""
    if isinstance(freq, int | np.integer):
        return int(freq)
    text = str(freq.freqstr)
    return None if text.startswith("<") else text


def served_module(model: FittedState) -> ServedForecast:
    """Put all that forecasts into one module: a copy on the CPU, in evaluation mode.

    It is a ValueError if the forecasts are those of others, too, if they are several quantiles, or
    if targets are transformed by a transformer.
    """
    _check(model)
    sizes, scaler, share = model.sizes_, model.scaler_, model.ensemble_.weights_of(NETWORK)[:, 0]
    panel = model.series_ is not None
    module = ServedForecast(
        module=copy.deepcopy(module_of(model.ensemble_)).cpu(),
        units=_units(scaler.with_unseen() if panel else scaler, sizes.n_targets),
        trust=torch.from_numpy(share if panel else share[:1]).float(),
        static=torch.from_numpy(_static(model)),
        n_targets=sizes.n_targets,
        n_past=sizes.n_past,
        n_known=sizes.n_known,
        seq_len=sizes.seq_len,
        pred_len=sizes.pred_len,
        calendar=sizes.calendar_fields,
        embeds_series=bool(sizes.n_series),
        mean_step=sizes.mean_step,
        may_miss=sizes.may_miss,
    ).eval()
    with torch.no_grad():
        module(*_example(sizes, panel=panel).values())  # draws keys, which a graph cannot
    return module.requires_grad_(False)


def _check(model: FittedState) -> None:
    check_exported_head(model, model.head_)
    members = model.ensemble_.members.values()
    check_exported_forecasters([m.name for m in members if not m.exportable])
    check_exported_scale(model.scaler_.targets)


def _units(scaler: Scaler, n_targets: int) -> Units:
    """Give the numbers of a scaler as tables."""
    shape = len(scaler.mean), n_targets
    tables: dict[str, Any] = {
        "logs": np.zeros(shape, dtype=bool),
        "low": np.ones(shape),
        "smear": np.zeros(shape),
        "floor": np.full(shape, -np.inf),
    }
    if scaler.targets is not None:
        tables = {name: getattr(scaler.targets, name) for name in tables}
    tables |= {"mean": scaler.mean, "scale": scaler.scale}
    limits = tuple(torch.from_numpy(table) for table in scaler.limits or ())
    copied = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
    return Units(**copied, limits=limits)


def _static(model: FittedState) -> Float32Array:
    """Give the static values of the fitted series, and of a new one, which says them itself."""
    n_static, timeline = model.sizes_.n_static, model.timeline_
    first = timeline.values[timeline.first_row[:-1]]
    fitted = first[:, first.shape[1] - n_static :]
    return np.vstack([fitted, np.full((1, n_static), np.nan, dtype=np.float32)])


def _example(sizes: ModelSizes, *, panel: bool) -> dict[str, Tensor | None]:
    """Make inputs that the graph is traced on, by the names of `ServedForecast.forward`."""
    n_columns = sizes.n_targets + sizes.n_past + sizes.n_known
    length = sizes.seq_len + sizes.pred_len
    steps = torch.arange(length).expand(_BATCH, length).contiguous()
    known = torch.zeros(_BATCH, sizes.pred_len, sizes.n_known, dtype=torch.float64)
    return {
        "past": torch.zeros(_BATCH, sizes.seq_len, n_columns, dtype=torch.float64),
        "future": known if sizes.n_known else None,
        "series": torch.zeros(_BATCH, dtype=torch.int64) if panel else None,
        "time": steps if sizes.calendar_fields else None,
        "instant": steps.clone() if sizes.mean_step is not None else None,
    }


def export_program(model: FittedState) -> ExportedProgram:
    """Trace the module of a model, with the dimension "batch"; see `InformerRegressor`."""
    module = served_module(model)
    example = _example(model.sizes_, panel=model.series_ is not None)
    batch = torch.export.Dim("batch", min=1)
    inputs = {name: tensor for name, tensor in example.items() if tensor is not None}
    with torch.no_grad():
        return torch.export.export(
            module, (), inputs, dynamic_shapes={name: {0: batch} for name in inputs}
        )


def export_onnx(model: FittedState, path: str | os.PathLike[str]) -> None:
    """Write the module of a model as ONNX; see `InformerRegressor.export_onnx`."""
    _check(model)  # before what can be installed: that would not help
    check_exporter()
    program = torch.onnx.export(
        export_program(model),
        dynamo=True,
        # PERF: onnxscript's optimiser takes as long as all else, and onnxruntime has its own.
        optimize=False,
        verbose=False,
        output_names=["forecast", "fed_back"],
    )
    if program is None:
        raise AssertionError  # where no file is named, torch gives the program
    content = program.model_proto
    _strip(content.graph)
    entry = content.metadata_props.add()
    entry.key, entry.value = METADATA_KEY, signature_of(model).to_json()
    with replacing(path) as file:
        file.write(content.SerializeToString())


def _strip(graph: Any) -> None:
    """Name the batch, and leave out source paths and stack traces, two thirds of a small file."""
    del graph.metadata_props[:], graph.value_info[:]
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    for part in (*graph.input, *graph.output):
        part.type.tensor_type.shape.dim[0].dim_param = "batch"
