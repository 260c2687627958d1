"""What forecasters of single series that nothing was compared with prove on the last rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import Head
from skinformer.ensemble.windows import Windows
from skinformer.judging.proof import Proof, Proved
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, spread_places


def prove_alone(
    ensemble: Ensemble,
    timeline: Timeline,
    sizes: ModelSizes,
    scaler: Scaler,
    *,
    head: Head,
    device: str,
) -> Proved | None:
    """Fit the member that forecasts alone without the last rows of series, and let it forecast.

    Of panels some series are enough. It is None where the member learns nothing from these rows,
    or where no series is long enough.

    timeline, sizes, scaler, head, device: of the fit.
    """
    # 1. The last rows of some series.
    n_most = 256
    chosen = np.unique(spread_places(timeline.n_series, n_most))
    some = timeline.of_series(chosen)
    split = _last_rows(some, sizes.pred_len)
    origins = Origins(split, some.first_row[1:] - sizes.pred_len)
    if not origins.count:
        return None
    rows = FitRows(
        some, sizes, scaler.of_series(chosen), split, origins, missing=None, seed=0
    )
    # 2. What the member forecasts that was fitted to the rows before.
    windows = Windows(rows.as_buffer(device), origins.thinned(n_most // ensemble.cost))
    proved = Proved.of(_prove(ensemble, windows, rows, head), ensemble)
    if proved is None:
        return None
    # 3. The places of these windows among all rows.
    series = chosen[some.series_of(proved.origins)]
    in_all = timeline.find(series, some.steps_of(proved.origins))
    return replace(proved, origins=in_all)


def _prove(ensemble: Ensemble, windows: Windows, rows: FitRows, head: Head) -> Proof:
    """Let members that have learnt the rows before the cut-off forecast windows behind it."""
    proof = Proof.at(windows, rows, head)
    before = rows.before_cutoff()
    for name, member in ensemble.members.items():
        if ensemble.weights_of(name).any():
            earlier = member.fitted_before(before)
            if earlier is not None:
                proof.add(earlier)
    return proof


def _last_rows(timeline: Timeline, pred_len: int) -> IntArray:
    """Return the first of the last `pred_len` rows of each series; of a short one of half of it."""
    first = timeline.first_row[:-1]
    end = timeline.first_row[1:]
    return np.maximum(end - pred_len, (first + end) // 2)
