"""Ridges: the linear path of an estimator, fitted before the network."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.ensemble.building import ModelSizes, build_module
from skinformer.ensemble.member import RIDGES, Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.linear_fit import LinearFit, LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.sums import Problem
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.cycle import RowCells, row_cells
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins
from skinformer.validation.parameters import check_same_weights


def linear_fit(
    timeline: Timeline,
    sizes: ModelSizes,
    windows: tuple[Origins, Origins],
    *,
    missing: BoolArray | None,
    split: IntArray | None,
    refit: bool,
    n_folds: int = 0,
) -> LinearFits:
    """Fit the linear path: the blend that the network is trained beside, and the final one.

    windows: those to train on and those of the validation split.
    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    split: the row at which each series' validation split begins.
    refit: whether the maps are fitted again with the validation windows.
    n_folds: see `fit_linear_path`.
    """
    longest = 2048  # rows of a window: what it costs grows by their square and cube
    problem = Problem(
        timeline.values,
        timeline.weight,
        missing,
        sizes.n_targets,
        min(sizes.seq_len, longest),
        sizes.pred_len,
        effect=np.zeros((sizes.n_known, sizes.n_targets)),
        cycle=_cycle(timeline, sizes),
    )
    # Spread over the series, so many windows say all that a linear map can take in.
    n_most = 100_000
    training, validation = windows
    share = min(1.0, n_most / max(training.count + validation.count, 1))
    n_training = math.ceil(share * training.count)
    n_validation = math.ceil(share * validation.count)
    origins = np.concatenate(
        [training.thinned(n_training), validation.thinned(n_validation)]
    )
    steps = times_of(timeline, split, origins)
    start = None if split is None else 0
    return fit_linear_path(
        problem,
        origins,
        steps,
        split=start,
        refit=refit,
        n_folds=n_folds,
    )


def _cycle(timeline: Timeline, sizes: ModelSizes) -> RowCells | None:
    """Find where in the calendar's cycle rows lie; series of a panel have cycles of their own."""
    if timeline.n_series > 1:
        return None
    return row_cells(
        timeline, sizes.calendar_fields, years=sizes.n_network_fields is not None
    )


def times_of(
    timeline: Timeline,
    split: IntArray | None,
    rows: IntArray,
) -> IntArray:
    """Return times of rows: 0 is where their series' split begins; without one, clock steps."""
    if split is None:
        return timeline.steps_of(rows)
    return rows - split[timeline.series_of(rows)]


def start_module(
    settings: FitSettings,
    sizes: ModelSizes,
    linear: LinearFits | None,
    earlier: nn.Module | None,
    *,
    seed: int,
) -> Informer | Corrected:
    """Build the module that training starts from, on the CPU.

    linear: from `linear_fit`; None for a network alone.
    earlier: a module whose weights a warm start goes on from; a ValueError if it is another one.
    seed: of weights, dropout and key sampling.
    """
    path = None if linear is None else LinearPath(linear.before)
    module = build_module(settings, sizes, path=path, seed=seed)
    if earlier is not None:
        weights = _network_weights(earlier)
        check_same_weights(weights, _network_weights(module))
        module.load_state_dict(module.state_dict() | weights)
    return module


def _network_weights(module: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a module, without those of the path, which is found anew."""
    state = module.state_dict()
    return {name: x for name, x in state.items() if not name.startswith("path.")}


@dataclass(frozen=True)
class Ridges(Member):
    """The blend of ridges, as one linear map."""

    path: LinearPath

    name = RIDGES
    linear = True

    @classmethod
    def of(cls, fit: LinearFit, device: torch.device | str) -> Ridges:
        """Put a fit on a device."""
        return cls(LinearPath(fit).to(device).eval())

    @property
    def blend(self) -> dict[str, float]:
        """Weights of the ridges."""
        return self.path.fit.blend

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`."""
        return windows.predict(self.path)

    def export(self) -> LinearPath:
        """Return the map."""
        return self.path

    def on_device(self, device: torch.device | str) -> Ridges:
        """Copy the map."""
        return replace(self, path=copy.deepcopy(self.path).to(device))
