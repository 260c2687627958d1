"""The linear path of an estimator: fitted before the network, then trusted with its share."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.building import ModelSizes, build_module
from skinformer.ensemble.settings import FitSettings
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.linear_fit import LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.proof import MOST_STRETCHES, SHARES, cut_stretches, surest_share
from skinformer.ridge.sums import Problem
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.cycle import RowCells, row_cells
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins
from skinformer.training.batch import Batch
from skinformer.training.losses import Loss
from skinformer.validation.parameters import check_same_weights

__all__ = [
    "choose_trust",
    "linear_fit",
    "start_module",
    "times_of",
]

#: Windows that the linear path learns from at most, spread over the series: they say all that a
#: linear map can take in.
_MAX_WINDOWS = 100_000
#: Rows that it looks back at most: its cost grows by their square and cube.
_LONGEST = 2048


def linear_fit(
    timeline: Timeline,
    sizes: ModelSizes,
    windows: tuple[Origins, Origins],
    *,
    missing: BoolArray | None,
    tail: IntArray | None,
    refit: bool,
    n_most: int | None = None,
    n_apart: int = 0,
) -> LinearFits:
    """Fit the linear path: the blend that the network is trained beside, and the final one.

    windows: those to train on and those of the validation tail.
    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    tail: the row at which each series' validation tail begins.
    refit: whether the maps are fitted again with the validation windows.
    n_most: windows to learn from at most; None is 100,000.
    n_apart: see `fit_linear_path`.
    """
    problem = Problem(
        timeline.values,
        timeline.weight,
        missing,
        sizes.n_targets,
        min(sizes.seq_len, _LONGEST),
        sizes.pred_len,
        effect=np.zeros((sizes.n_known, sizes.n_targets)),
        # Series of a panel have weeks of their own, a new one has nobody's.
        cycle=_cycle(timeline, sizes),
    )
    share = min(1.0, (n_most or _MAX_WINDOWS) / max(sum(part.count for part in windows), 1))
    parts = [part.thinned(math.ceil(share * part.count)) for part in windows]
    origins = np.concatenate(parts)
    steps, start = times_of(timeline, tail, origins), None if tail is None else 0
    fits = fit_linear_path(problem, origins, steps, tail=start, refit=refit, n_apart=n_apart)
    return fits.rounded()


def _cycle(timeline: Timeline, sizes: ModelSizes) -> RowCells | None:
    """Find where in the calendar's cycle rows lie; series of a panel have cycles of their own."""
    if timeline.n_series > 1:
        return None
    years = sizes.n_network_fields is not None
    return row_cells(timeline, sizes.calendar_fields, years=years)


def times_of(timeline: Timeline, tail: IntArray | None, rows: IntArray) -> IntArray:
    """Tell rows' times: 0 is where their series' tail begins; without one, steps on the clock."""
    if tail is None:
        return timeline.steps_of(rows)
    return rows - tail[timeline.series_of(rows)]


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
        # The path and what of the network is trusted are found anew.
        weights, own = (
            {name: x for name, x in each.state_dict().items() if not name.startswith("path.")}
            for each in (earlier, module)
        )
        check_same_weights(weights, own)
        module.load_state_dict(module.state_dict() | weights)
        if isinstance(module, Corrected):
            module.trust.fill_(1.0)
    return module


def choose_trust(
    module: Corrected,
    held_out: WindowBatches,
    *,
    steps: IntArray,
    error: Loss,
) -> float:
    """Find the share of the network's correction that is sure to help on later rows.

    module: trained, in evaluation mode, with trust 1.
    steps: the time of each validation window.

    See `surest_share`, with losses relative to those of the linear path alone on stretches of time;
    0 if the rows are too few for two stretches that hold a forecast each.
    """
    cut = cut_stretches(steps, held_out.source.pred_len, n_most=MOST_STRETCHES)
    if cut is None:
        return 0.0
    stretches = torch.from_numpy(cut)
    total = torch.zeros(MOST_STRETCHES, len(SHARES), dtype=torch.float64)
    parts = torch.split(stretches, held_out.batch_size)
    with threads_for(held_out.batch_size * module.largest_product):
        for stretch, forecasts in zip(parts, _forecasts(module, held_out), strict=True):
            batch, alone, together = forecasts
            weight = 1.0 if batch.weight is None else batch.weight
            for j, share in enumerate(SHARES):
                losses = error(torch.lerp(alone, together, share), batch.target) * weight
                total[:, j].index_add_(0, stretch, losses.sum(dim=(1, 2)).cpu().double())
    return SHARES[surest_share(total.numpy())]


def _forecasts(
    module: Corrected, held_out: WindowBatches
) -> Iterator[tuple[Batch, Tensor, Tensor]]:
    """Forecast each batch without the network and with it."""
    with torch.inference_mode():
        for batch in held_out:
            together = module(*batch.inputs)
            if module.middle is not None:
                together = together[..., module.middle]
            yield batch, module.path(*batch.inputs[:4]), together
