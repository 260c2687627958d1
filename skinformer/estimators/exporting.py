"""Fitted estimators to graphs, `torch.export` and ONNX: windows in units to forecasts in units."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from skinformer.bounds.closed import Closed
from skinformer.ensemble.building import ModelSizes
from skinformer.estimators.state import FittedState
from skinformer.export.bounds import ExportedBounds
from skinformer.export.forecast import ExportedForecast
from skinformer.export.units import MonthFactors, OwnSize, Units
from skinformer.persistence.atomic import replacing
from skinformer.serving.signature import METADATA_KEY, Signature, plain
from skinformer.validation.arguments import check_fitted
from skinformer.validation.files import (
    check_exportable,
    check_exported_clock,
    check_exporter,
)

if TYPE_CHECKING:
    from torch.export import ExportedProgram


class ExportMixin(FittedState):
    """Graphs of a fitted estimator: windows in units in, forecasts in units out."""

    @property
    def signature_(self) -> Signature:
        """What an exported graph takes; `skinformer.serving.window_inputs` makes it of rows."""
        check_fitted(self)
        roles = self.roles_
        sizes = self.sizes_
        clock = self.timeline_.clock
        inputs = ["past"]
        if sizes.n_known:
            inputs.append("future")
        if self.series_ is not None:
            inputs.append("series")
        if sizes.calendar_fields:
            inputs.append("calendar")
        reads_steps = _exported_bounds(self).reads_steps
        if reads_steps:
            inputs.append("steps")
        if self._months_.logs is not None:
            inputs.append("months")
        closed = _written_phases(self._forecaster.bounds.closed)
        zone = getattr(clock.origin, "tz", None)
        return Signature(
            targets=_plain(roles.targets),
            past=_plain(roles.past),
            known=_plain(roles.known),
            calendar=sizes.calendar_fields,
            seq_len=sizes.seq_len,
            pred_len=sizes.pred_len,
            inputs=tuple(inputs),
            series=None if self.series_ is None else _plain(self.series_),
            freq=_written(clock.freq),
            tz=None if zone is None else str(zone),
            may_miss=sizes.may_miss,
            origin=_written_origin(clock.origin) if reads_steps or closed else None,
            closed=closed,
        )

    def export_program(self) -> ExportedProgram:
        """
        Export the fitted model with `torch.export`: scaling, ridges and network as one program.

        Returns
        -------
        torch.export.ExportedProgram
            The program. Its first dimension, "batch", is any number of windows, and its keyword
            arguments are named in `signature_`. It returns "forecast" and "fed_back", see
            `export_onnx`.

        Raises
        ------
        ValueError
            If other members than ridges and network forecast, see `export_onnx`.

        See Also
        --------
        export_onnx : The same in a file that onnxruntime reads.

        Examples
        --------
        >>> import numpy as np, pandas as pd, torch
        >>> from skinformer import InformerRegressor, Network, Training
        >>> from skinformer.serving import window_inputs
        >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
        >>> sizes = {"seq_len": 8, "pred_len": 2, "training": Training(max_iter=1)}
        >>> sizes["network"] = Network(d_model=8, n_heads=2)
        >>> model = InformerRegressor("load", members=["network"], **sizes, random_state=0).fit(df)
        >>> inputs, labels = window_inputs(df, model.signature_)
        >>> tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        >>> forecast, _ = model.export_program().module()(**tensors)
        >>> np.allclose(forecast[0], model.forecast(), rtol=0, atol=1e-5)
        True
        """
        check_fitted(self)
        module = exported_module(self)
        batch = torch.export.Dim("batch", min=1)
        example = _example(self.sizes_)
        inputs = {name: example[name] for name in self.signature_.inputs}
        shapes = {name: {0: batch} for name in inputs}
        with torch.no_grad():
            return torch.export.export(module, (), inputs, dynamic_shapes=shapes)

    def export_onnx(self: Any, path: str | os.PathLike[str]) -> None:
        """
        Write the fitted model to an ONNX file, which forecasts without torch and scikit-learn.

        Parameters
        ----------
        path : str or path-like
            The file to write; its folder must exist. If writing fails, an existing file stays as it
            was.

        Raises
        ------
        ValueError
            If other members than ridges and the network have a weight: fit with
            ``members=["ridges", "network"]``. Also for quantiles of several levels, classes,
            ``position="continuous"`` and a transformer as `target_transform`.
        ImportError
            If the packages of the extra "onnx" are not installed.
        OSError
            If the file cannot be written.

        See Also
        --------
        skinformer.serving.window_inputs : The arrays that the graph takes, from rows.
        save : A file that this package reads, with everything in it.

        Notes
        -----
        A graph has those of the following inputs that its model needs: "past" (batch, seq_len,
        n_columns) and "future" (batch, pred_len, n_known), float64, in the units of the columns,
        NaN for missing; "series" (batch,), "calendar" (batch, seq_len + pred_len, n_fields), and
        "steps" and "months" (batch, seq_len + pred_len), int64. Its outputs are "forecast" (batch,
        pred_len, n_targets), float64, in the units of the targets, and "fed_back", the values to
        put in place of missing targets in a later window. The signature is in the metadata.
        Tracing takes about 10 s.
        """
        check_fitted(self)
        _check(self)  # before what can be installed: that would not help
        check_exporter()
        program = torch.onnx.export(
            self.export_program(),
            dynamo=True,
            verbose=False,
            output_names=["forecast", "fed_back"],
        )
        assert program is not None  # where no file is named, torch gives the program
        content = program.model_proto
        _strip(content.graph)
        entry = content.metadata_props.add()
        entry.key = METADATA_KEY
        entry.value = self.signature_.to_json()
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


def _written_origin(label: Any) -> str | int:
    """Write a label of time: dates, and the begin of periods, as ISO 8601 has them."""
    if isinstance(label, pd.Period):
        label = label.start_time
    return label.isoformat() if isinstance(label, pd.Timestamp) else int(label)


def _written_phases(closed: Closed | None) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Write seasons and their phases that are never observed."""
    seasons = () if closed is None else closed.phases
    return tuple((len(each), tuple(np.flatnonzero(each).tolist())) for each in seasons)


def _exported_bounds(model: FittedState) -> ExportedBounds:
    """Put the bounds of a fit into a module."""
    n_series = model.timeline_.n_series
    return ExportedBounds(
        model._forecaster.bounds,
        model._closures_,
        n_rows=1 if model.series_ is None else n_series + 1,
        of_mean=model.head_.of_mean,
    )


def _exported_months(model: FittedState) -> MonthFactors | None:
    """Put what months do to targets into a module; None for nothing."""
    if model._months_.logs is None:
        return None
    n_series = model.timeline_.n_series
    return MonthFactors(
        model._months_, n_rows=1 if model.series_ is None else n_series + 1
    )


def exported_module(model: FittedState) -> ExportedForecast:
    """
    Put all that forecasts into one module.

    Parameters
    ----------
    model : InformerRegressor
        The fitted estimator.

    Returns
    -------
    ExportedForecast
        A copy on the CPU, in evaluation mode.

    Raises
    ------
    ValueError
        If a member has no module, if forecasts are several quantiles, or if targets are transformed
        by a transformer.
    """
    _check(model)
    is_panel = model.series_ is not None
    ensemble = model.ensemble_
    scaler = model.scaler_
    n_rows = None if is_panel else 1  # no new series but of a panel
    weights = {}
    exported = set()
    for name, member in ensemble.members.items():
        weight = ensemble.weights_of(name)
        if weight.any():
            weights[name] = weight[:n_rows]
            exported |= {name, member.base}
    modules: dict[str, nn.Module] = {}
    bases = {}
    for name, member in ensemble.members.items():
        module = member.export()
        if module is not None and name in exported:
            modules[name] = copy.deepcopy(module).cpu()
            bases[name] = member.base
    graph = ExportedForecast(
        modules,
        bases=bases,
        weights=weights,
        units=Units(scaler.with_unseen() if is_panel else scaler),
        bounds=_exported_bounds(model),
        sizes=model.sizes_,
        months=_exported_months(model),
        own_size=OwnSize(scaler.with_unseen()) if is_panel else None,
    )
    return graph.eval().requires_grad_(False)


def _check(model: FittedState) -> None:
    check_exported_clock(model.timeline_.clock)
    members = model.ensemble_.members
    check_exportable(
        model,
        model.head_,
        [name for name, member in members.items() if member.export() is None],
        model.scaler_.targets,
        model.sizes_.mean_step,
    )


def _example(sizes: ModelSizes) -> dict[str, Tensor]:
    """Make inputs that the graph is traced on, by the names of `ExportedForecast.forward`."""
    n_windows = 5  # no batch but the least that torch takes for any
    n_columns = sizes.n_targets + sizes.n_past + sizes.n_known
    length = sizes.seq_len + sizes.pred_len
    n_fields = len(sizes.calendar_fields)
    return {
        "past": torch.zeros(n_windows, sizes.seq_len, n_columns).double(),
        "future": torch.zeros(n_windows, sizes.pred_len, sizes.n_known).double(),
        "series": torch.zeros(n_windows).long(),
        "calendar": torch.zeros(n_windows, length, n_fields).long(),
        "steps": torch.zeros(n_windows, length).long(),
        "months": torch.zeros(n_windows, length).long(),
    }


def _strip(graph: Any) -> None:
    """Name the batch, and leave out source paths and stack traces, two thirds of a small file."""
    del graph.metadata_props[:], graph.value_info[:]
    for part in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    for part in (*graph.input, *graph.output):
        part.type.tensor_type.shape.dim[0].dim_param = "batch"
