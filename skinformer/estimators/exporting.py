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
from skinformer.ensemble.member import NETWORK, OWN_RIDGES, RIDGES, TREES
from skinformer.ensemble.members import module_of
from skinformer.estimators.served import ServedForecast, Units
from skinformer.estimators.served_own import ServedOwnRidges
from skinformer.estimators.served_trees import ServedTrees
from skinformer.estimators.state import FittedState
from skinformer.persistence.atomic import replacing
from skinformer.serving.signature import METADATA_KEY, Signature, plain
from skinformer.timeline.arrays import Float32Array
from skinformer.validation.arguments import check_fitted
from skinformer.validation.files import check_exportable, check_exporter

if TYPE_CHECKING:
    from torch.export import ExportedProgram

#: Windows of the call that is traced: no batch but the least that torch takes for any.
_BATCH = 5


class ExportMixin(FittedState):
    """Graphs of a fitted estimator: windows in units in, forecasts in units out."""

    @property
    def signature_(self) -> Signature:
        """What an exported graph takes; `skinformer.serving.window_inputs` makes it of rows."""
        check_fitted(self)
        roles, sizes, clock = self.roles_, self.sizes_, self.timeline_.clock
        inputs = {
            "past": True,
            "future": sizes.n_known > 0,
            "series": self.series_ is not None,
            "time": bool(sizes.calendar_fields)
            or (clock.dated and TREES in self.ensemble_.members),
            "instant": sizes.mean_step is not None,
        }
        zone = getattr(clock.origin, "tz", None)
        return Signature(
            targets=_plain(roles.targets),
            past=_plain(roles.past),
            known=_plain(roles.known),
            static=_plain(roles.static),
            seq_len=self._forecaster.look_back,
            pred_len=sizes.pred_len,
            inputs=tuple(name for name, there in inputs.items() if there),
            series=None if self.series_ is None else _plain(self.series_),
            freq=_written(clock.freq),
            tz=None if zone is None else str(zone),
            may_miss=sizes.may_miss,
        )

    def export_program(self) -> ExportedProgram:
        """
        Trace the fitted model by `torch.export`: scaling, calendar and all who forecast in one.

        Returns
        -------
        torch.export.ExportedProgram
            Its first dimension, "batch", is any number of windows; its keyword arguments are named
            by `signature_`; it gives forecasts in the targets' units, and what to feed back, see
            `export_onnx`.

        Raises
        ------
        ValueError
            If others than ridges, boosted trees and network have a share in the forecasts.

        See Also
        --------
        export_onnx : The same in a file that onnxruntime reads.

        Examples
        --------
        >>> import numpy as np, pandas as pd, torch
        >>> from skinformer import InformerRegressor
        >>> from skinformer.serving import window_inputs
        >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
        >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
        >>> model = InformerRegressor("load", members=["network"], **sizes, random_state=0).fit(df)
        >>> inputs, labels = window_inputs(df, model.signature_)
        >>> tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        >>> forecast, _ = model.export_program().module()(**tensors)
        >>> np.allclose(forecast[0], model.forecast(), rtol=0, atol=1e-5)
        True
        """
        check_fitted(self)
        module = served_module(self)
        batch, every = torch.export.Dim("batch", min=1), _example(self.sizes_, module.look_back)
        inputs = {name: every[name] for name in self.signature_.inputs}
        shapes = {name: {0: batch} for name in inputs}
        with torch.no_grad():
            return torch.export.export(module, (), inputs, dynamic_shapes=shapes)

    def export_onnx(self: Any, path: str | os.PathLike[str]) -> None:
        """
        Write the fitted model to an ONNX file, which forecasts without torch and scikit-learn.

        Parameters
        ----------
        path : str or path-like
            Target file; its folder must exist. It holds the old content or the new one.

        Raises
        ------
        ValueError
            If a regressor of your own or classical forecasters have a share in the forecasts, which
            the file would silently lack; for quantiles of several levels, classes, and a
            transformer as `target_transform`.
        ImportError
            Without the packages of the extra "onnx".
        OSError
            If the file cannot be written.

        See Also
        --------
        skinformer.serving.window_inputs : The arrays that the graph takes, from rows.
        save : A file that this package reads, with everything in it.

        Notes
        -----
        Inputs, of which a graph has those that its model reads: "past" (batch, seq_len, n_columns)
        and "future" (batch, pred_len, n_known), float64, in units, NaN for missing; "series"
        (batch,); "time" and "instant" (batch, seq_len + pred_len), int64, in microseconds. Outputs:
        "forecast" (batch, pred_len, n_targets), float64, in the targets' units, and "fed_back",
        which stands for truths that are missing in a later window. The metadata hold the signature.
        Tracing takes 10 to 20 s, most for ridges of each series.
        """
        check_fitted(self)
        _check(self)  # before what can be installed: that would not help
        check_exporter()
        program = torch.onnx.export(
            self.export_program(),
            dynamo=True,
            # PERF: onnxscript's optimiser takes as long as all else, and onnxruntime has its own.
            optimize=False,
            verbose=False,
            output_names=["forecast", "fed_back"],
        )
        if program is None:
            raise AssertionError  # where no file is named, torch gives the program
        content = program.model_proto
        _cast_plainly(content.graph)
        _strip(content.graph)
        entry = content.metadata_props.add()
        entry.key, entry.value = METADATA_KEY, self.signature_.to_json()
        with replacing(path) as file:
            file.write(content.SerializeToString())


def _plain(names: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(plain(name) for name in names)


def _written(freq: Any) -> str | int | None:
    """Write a step as pandas reads it; there is no text for an offset of several units."""
    if isinstance(freq, int | np.integer):
        return int(freq)
    text = str(freq.freqstr)
    return None if text.startswith("<") else text


def served_module(model: FittedState) -> ServedForecast:
    """
    Put all that forecasts into one module.

    Parameters
    ----------
    model : InformerRegressor
        Fitted.

    Returns
    -------
    ServedForecast
        A copy on the CPU, in evaluation mode.

    Raises
    ------
    ValueError
        If the forecasts are those of others, too, if they are several quantiles, or if targets are
        transformed by a transformer.
    """
    _check(model)
    scaler, ensemble, panel = model.scaler_, model.ensemble_, model.series_ is not None
    weights = {name: ensemble.weights_of(name) for name in ensemble.members}
    # Ridges of each series forecast short windows alone, whatever they count in others.
    weights = {n: w if panel else w[:1] for n, w in weights.items() if w.any() or n == OWN_RIDGES}
    fitted: Any = module_of(ensemble)
    if NETWORK not in weights and RIDGES in weights:
        fitted = fitted.path
    members: Any = ensemble.members
    module = ServedForecast(
        copy.deepcopy(fitted).cpu(),
        Units(scaler.with_unseen() if panel else scaler),
        weights=weights,
        static=_static(model),
        sizes=model.sizes_,
        look_back=model._forecaster.look_back,
        trees=ServedTrees(members[TREES].fit, model.timeline_.clock) if TREES in weights else None,
        own=ServedOwnRidges(members[OWN_RIDGES]) if OWN_RIDGES in weights else None,
    ).eval()
    return module.requires_grad_(False)


def _check(model: FittedState) -> None:
    held = RIDGES, OWN_RIDGES, TREES, NETWORK
    others = [name for name in model.ensemble_.members if name not in held]
    check_exportable(model, model.head_, others, model.scaler_.targets)


def _static(model: FittedState) -> Float32Array:
    """Give the static values of the fitted series, and of a new one, which says them itself."""
    n_static, timeline = model.sizes_.n_static, model.timeline_
    first = timeline.values[timeline.first_row[:-1]]
    fitted = first[:, first.shape[1] - n_static :]
    return np.vstack([fitted, np.full((1, n_static), np.nan, dtype=np.float32)])


def _example(sizes: ModelSizes, look_back: int) -> dict[str, Tensor]:
    """Make inputs that the graph is traced on, by the names of `ServedForecast.forward`."""
    n_columns = sizes.n_targets + sizes.n_past + sizes.n_known
    length = look_back + sizes.pred_len
    steps = torch.arange(length).expand(_BATCH, length).contiguous()
    return {
        "past": torch.zeros(_BATCH, look_back, n_columns, dtype=torch.float64),
        "future": torch.zeros(_BATCH, sizes.pred_len, sizes.n_known, dtype=torch.float64),
        "series": torch.zeros(_BATCH, dtype=torch.int64),
        "time": steps,
        "instant": steps.clone(),
    }


def _cast_plainly(graph: Any) -> None:
    """Name the types of casts that are like others', of which onnxruntime warns in constants."""
    values = (*graph.value_info, *graph.input)
    types = {each.name: each.type.tensor_type.elem_type for each in values}
    types |= {each.name: each.data_type for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            types[node.output[0]] = node.attribute[0].t.data_type
        if node.op_type == "CastLike" and node.input[1] in types:
            node.op_type = "Cast"
            node.attribute.add(name="to", type=2, i=types[node.input.pop()])


def _strip(graph: Any) -> None:
    """Name the batch, and leave out source paths and stack traces, two thirds of a small file."""
    del graph.metadata_props[:], graph.value_info[:]
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    for part in (*graph.input, *graph.output):
        part.type.tensor_type.shape.dim[0].dim_param = "batch"
