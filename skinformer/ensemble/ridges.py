"""Ridges: the linear path of an estimator, fitted before the network."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.budget import LEAST, Share, current_share
from skinformer.ensemble.building import ModelSizes, build_module
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import RIDGES
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.linear_fit import LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.roots import Roots, find_roots
from skinformer.ridge.sums import Problem
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.calendar import calendar_at
from skinformer.timeline.cycle import Cycle, find_cycle
from skinformer.timeline.windows import Origins
from skinformer.validation.parameters import check_same_weights

#: Effort from which on periods are left out in turn; all candidates compete above the least one.
_ENOUGH_FOR_FOLDS = 0.5


@timed(RIDGES)
def linear_fit(
    rows: FitRows, training: Origins, *, refit: bool, of_mean: bool = False
) -> LinearFits:
    """Fit the linear path: the blend that the network is trained beside, and the final one.

    training: the windows to train on.
    refit: whether the maps are fitted again with the validation windows.
    of_mean: whether forecasts are to be means, which squares of forecast roots are not.
    """
    problem = _pose(rows)
    limit = current_share()
    origins = _thin(rows, training, limit)
    fit = partial(
        fit_linear_path,
        origins=origins,
        steps=rows.times_of(origins),
        split=None if rows.split is None else 0,
        refit=refit,
        n_folds=3 if limit.effort >= _ENOUGH_FOR_FOLDS else 0,
        alone=limit.effort <= LEAST,
    )
    fits = fit(problem)
    if not fits.folds or limit.must_stop():
        return fits
    roots = _find_roots(rows, of_mean=of_mean)
    if roots is None:
        return fits
    # Columns known ahead may explain what multiplies: ridges themselves have the last word.
    of_roots = fit(problem.in_roots(roots)).of_roots(roots)
    if not of_roots.folds:  # its seconds were over, and nothing compares it
        return fits
    windows = training.thinned(600)
    is_near = fits.is_near_border(rows.times_of(windows), problem.pred_len)
    windows = windows[~is_near]
    errors = [_error(each, rows, windows, of_mean=of_mean) for each in (fits, of_roots)]
    return of_roots if errors[1] < errors[0] else fits


def _pose(rows: FitRows) -> Problem:
    """Put together what ridges are fitted to: rows, sizes and the cycle of the calendar."""
    timeline = rows.timeline
    sizes = rows.sizes
    longest = 2048  # rows of a window: what it costs grows by their square and cube
    return Problem(
        timeline.values,
        timeline.weight,
        rows.missing,
        sizes.n_targets,
        min(sizes.seq_len, longest),
        sizes.pred_len,
        effect=np.zeros((sizes.n_known, sizes.n_targets)),
        cycle=_find_cycle(rows),
    )


def _thin(rows: FitRows, training: Origins, limit: Share) -> IntArray:
    """Choose windows of training and validation, as many as say all that a linear map can take."""
    validation = rows.validation_origins
    n_windows = training.count + validation.count
    n_most = 100_000
    if limit.is_limited:
        n_most = limit.of(min(n_most, n_windows), least=1000)
    share = min(1.0, n_most / max(n_windows, 1))
    parts = [
        part.thinned(math.ceil(share * part.count)) for part in (training, validation)
    ]
    return np.concatenate(parts)


def _error(
    fits: LinearFits, rows: FitRows, origins: IntArray, *, of_mean: bool
) -> float:
    """Add up squared or absolute errors of windows, each by the fold that has not learnt it.

    They are in units of each target's deviation, and count by the weights of their rows.
    """
    n_targets = rows.sizes.n_targets
    device = torch.device("cpu")
    source = rows.as_buffer(device).source
    path = OutOfFoldPath(fits, rows.times_of, device)
    at = torch.from_numpy(origins)
    with torch.inference_mode():
        forecast = path.forecast(source.path_inputs(at), origins)
    distance = forecast - source.future(source.values[:, :n_targets], at)
    error = distance.square() if of_mean else distance.abs()
    weight = source.future(torch.from_numpy(rows.timeline.weights(n_targets)), at)
    return float((weight * error).nansum())


def _find_roots(rows: FitRows, *, of_mean: bool) -> Roots | None:
    """Find targets of one series, in rows before the split, that ridges see by their roots."""
    zero = rows.zero_of_targets
    if zero is None:
        return None
    end = None if rows.split is None else rows.split[0]
    values = rows.timeline.values[:end, : rows.sizes.n_targets]
    least = np.fmin.reduce(values, axis=0)
    return find_roots(
        values,
        zero,
        least >= zero - 1e-4,  # but for rounding
        pred_len=rows.sizes.pred_len,
        of_mean=of_mean,
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
