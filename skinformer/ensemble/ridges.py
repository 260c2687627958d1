"""Ridges: the linear path of an estimator, fitted before the network."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor, nn

from skinformer.budget import current_share
from skinformer.ensemble.building import ModelSizes, build_module
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import RIDGES
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.linear_fit import LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.sums import Problem
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array
from skinformer.timeline.calendar import calendar_at
from skinformer.timeline.cycle import Cycle, find_cycle
from skinformer.timeline.windows import Origins
from skinformer.validation.parameters import check_same_weights

#: Efforts from which on periods are left out in turn, and from which on all candidates compete.
_ENOUGH_FOR_FOLDS = 0.5
_ENOUGH_FOR_ALL = 0.15


@timed(RIDGES)
def linear_fit(rows: FitRows, training: Origins, *, refit: bool) -> LinearFits:
    """Fit the linear path: the blend that the network is trained beside, and the final one.

    training: the windows to train on.
    refit: whether the maps are fitted again with the validation windows.
    """
    timeline = rows.timeline
    sizes = rows.sizes
    longest = 2048  # rows of a window: what it costs grows by their square and cube
    problem = Problem(
        timeline.values,
        timeline.weight,
        rows.missing,
        sizes.n_targets,
        min(sizes.seq_len, longest),
        sizes.pred_len,
        effect=np.zeros((sizes.n_known, sizes.n_targets)),
        cycle=_find_cycle(rows),
    )
    validation = rows.validation_origins
    n_windows = training.count + validation.count
    # Spread over the series, so many windows say all that a linear map can take in.
    n_most = 100_000
    limit = current_share()
    if limit.is_limited:
        n_most = limit.of(min(n_most, n_windows), least=1000)
    share = min(1.0, n_most / max(n_windows, 1))
    n_training = math.ceil(share * training.count)
    n_validation = math.ceil(share * validation.count)
    origins = np.concatenate(
        [training.thinned(n_training), validation.thinned(n_validation)]
    )
    return fit_linear_path(
        problem,
        origins,
        rows.times_of(origins),
        split=None if rows.split is None else 0,
        refit=refit,
        n_folds=3 if limit.effort >= _ENOUGH_FOR_FOLDS else 0,
        alone=limit.effort < _ENOUGH_FOR_ALL,
    )


def _find_cycle(rows: FitRows) -> Cycle | None:
    """Find the cycle of the calendar that one series goes through."""
    timeline = rows.timeline
    # Series of a panel have cycles of their own.
    if timeline.n_series > 1:
        return None
    fields = rows.sizes.calendar_fields
    return find_cycle(
        fields,
        calendar_at(timeline.clock, timeline.steps, fields),
        years=rows.sizes.n_network_fields is not None,
    )


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
    module = build_module(
        settings,
        sizes,
        path=None if linear is None else LinearPath(linear.before),
        seed=seed,
    )
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
        return predict_windows(self.path, windows.buffer.source, windows.origins)

    def export(self) -> LinearPath:
        """Return the map."""
        return self.path

    def on_device(self, device: str) -> Ridges:
        """Copy the map."""
        return replace(self, path=copy.deepcopy(self.path).to(device))
