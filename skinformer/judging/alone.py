"""What forecasters of single series that nothing was compared with prove on the last rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import Head
from skinformer.ensemble.member import Member
from skinformer.ensemble.windows import RowBuffer, Windows
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
    # 2. The member, fitted to the rows before.
    rows = FitRows(
        some, sizes, scaler.of_series(chosen), split, origins, missing=None, seed=0
    )
    before = rows.before_cutoff()
    members: list[Member] = []
    for name, member in ensemble.members.items():
        if ensemble.weights_of(name).any():
            members += member.fitted_before(before)
    if not members:
        return None
    # 3. The forecasts of the better of them.
    buffer = RowBuffer(
        rows.as_segments(), np.arange(len(chosen)), some.clock, sizes, device
    )
    windows = Windows(buffer, origins.thinned(n_most // ensemble.cost))
    proofs = [Proof.at(windows, rows, head) for _ in members]
    errors = [
        proof.error(proof.add(member))
        for proof, member in zip(proofs, members, strict=True)
    ]
    best = int(np.argmin(errors))
    proved = Proved.of(proofs[best], ensemble)
    if proved is None:
        return None
    series = chosen[some.series_of(proved.origins)]
    in_all = timeline.find(series, some.steps_of(proved.origins))
    return replace(proved, origins=in_all)


def _last_rows(timeline: Timeline, pred_len: int) -> IntArray:
    """Return the first of the last `pred_len` rows of each series; of a short one of half of it."""
    first = timeline.first_row[:-1]
    end = timeline.first_row[1:]
    return np.maximum(end - pred_len, (first + end) // 2)
