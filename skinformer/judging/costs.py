"""What each part of a fit costs, known from rows, columns, series and horizon before it is paid.

Constants are seconds of one quiet core, measured on tables of 300 to 60,000 rows. They need be
right within a factor of three: `Budget.pace` and the end of each share do the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from skinformer.budget import Budget, Cost
from skinformer.classical.fit import ends_of_ridges
from skinformer.classical.judging import origin_distances
from skinformer.classical.ridges import MOST_WINDOWS
from skinformer.ensemble.classes import Classes
from skinformer.ensemble.classical import MOST_ROWS
from skinformer.ensemble.names import CLASSICAL, NETWORK, RIDGES, TREES
from skinformer.ensemble.own import OwnRidges
from skinformer.ensemble.settings import FitSettings
from skinformer.judging.cutoffs import cut_offs_of_each
from skinformer.model.patches import n_patches
from skinformer.tabular.fit import (
    MOST_PAIRS,
    MOST_PAIRS_OF_SMALL,
    PAIRS_PER_ROW,
    sees_past_alone,
)
from skinformer.timeline.timeline import Table

#: The fits to all rows of members that were judged by fits to the rows before a cut-off.
REFITS = "refits"
#: Forecasts of what is missing.
FILLING = "filling"
#: Members in the order of what the ensemble loses without each: of panels, and of one long table.
_OF_PANELS = (RIDGES, OwnRidges.name, CLASSICAL, TREES)
_OF_TABLES = (RIDGES, TREES, CLASSICAL)
#: How many times as long classical forecasters take where rows are missing.
_OF_GAPS = 8.0
#: Gaps that are filled one after the other, see `rolling/missing_runs.py`.
_TURNS_OF_GAPS = 25

#: What effort is a share of, by member.
_CUT = {
    RIDGES: "windows",
    OwnRidges.name: "windows",
    CLASSICAL: "origins",
    TREES: "rows and trees",
    Classes.name: "rows",
    NETWORK: "windows and epochs",
}


class _Workload(NamedTuple):
    """What costs depend on.

    rows: of the median series.
    n_windows: of all series.
    """

    n_rows: int
    n_series: int
    rows: int
    n_targets: int
    n_columns: int
    n_known: int
    seq_len: int
    pred_len: int
    n_windows: int

    @classmethod
    def of(cls, settings: FitSettings, table: Table, n_known: int) -> Self:
        """Read them off a table."""
        lengths = np.diff(table.first_row)
        window_len = settings.seq_len + settings.pred_len
        return cls(
            n_rows=int(lengths.sum()),
            n_series=len(lengths),
            rows=int(np.median(lengths)),
            n_targets=table.n_targets,
            n_columns=len(table.columns),
            n_known=n_known,
            seq_len=settings.seq_len,
            pred_len=settings.pred_len,
            n_windows=int(np.maximum(lengths - window_len + 1, 1).sum()),
        )


def fit_costs(settings: FitSettings, table: Table, n_known: int) -> dict[str, Cost]:
    """Return what the parts of a fit cost, the most important one first.

    n_known: columns known ahead.
    """
    sizes = _Workload.of(settings, table, n_known)
    missing = table.missing
    costs = _members(settings, sizes)
    if missing is not None and CLASSICAL in costs:
        costs[CLASSICAL] = costs[CLASSICAL].scaled(_OF_GAPS)
    refitted = [cost for name, cost in costs.items() if name != RIDGES]
    if settings.refits_on_all and not _is_alone(settings):
        costs[REFITS] = _total(refitted)
    if NETWORK in settings.members:
        costs[NETWORK] = _network(sizes, settings)
    if missing is not None and not settings.classifies:
        costs[FILLING] = _filling(sizes, float(missing.any(axis=1).mean()))
    if not settings.classifies:
        for name, seconds in _interval_seconds(sizes).items():
            if name in costs:
                costs[name] = costs[name]._replace(later=seconds)
    return costs


def _members(settings: FitSettings, sizes: _Workload) -> dict[str, Cost]:
    """Return what members but the network cost, in the order of what the ensemble owes them."""
    members = settings.members
    if settings.classifies:  # trees are among the forecasters of classes
        return {Classes.name: _classes(sizes)} if Classes.name in members else {}
    if _is_alone(settings):
        return {CLASSICAL: _classical(sizes)} if CLASSICAL in members else {}
    costs = {
        RIDGES: _ridges(sizes),
        OwnRidges.name: _own_ridges(sizes),
        CLASSICAL: _classical(sizes),
        TREES: _trees(sizes),
    }
    order = _OF_TABLES if sizes.n_series == 1 else _OF_PANELS
    return {name: costs[name] for name in order if name in members}


def _is_alone(settings: FitSettings) -> bool:
    """Return whether classical forecasters or a network forecast alone, without cut-offs."""
    return RIDGES not in settings.members and not settings.classifies


def _total(costs: list[Cost]) -> Cost:
    return Cost(sum(cost.fixed for cost in costs), sum(cost.variable for cost in costs))


def _ridges(sizes: _Workload) -> Cost:
    """Multiply windows several times over, decompose their sums, and compare candidates."""
    n_windows = min(sizes.n_windows, 100_000)
    window_len = sizes.seq_len + sizes.pred_len
    own = sizes.n_targets * sizes.seq_len * window_len
    if sizes.n_known:  # their effects are looked for, too
        own *= 4
    n_rows = min(sizes.seq_len, 48)
    n_mixed = min(n_rows * sizes.n_columns, 1024) if sizes.n_columns > 1 else 0
    mixed = n_mixed * (n_mixed + sizes.n_targets * sizes.pred_len)
    n_decomposed = (1 + sizes.n_targets) * sizes.seq_len**3 + n_mixed**3
    n_outputs = sizes.n_targets * sizes.pred_len
    n_compared = min(256 * n_outputs, max(1_000_000, 32 * n_outputs))
    seconds = (
        0.4
        + 1.5e-10 * n_windows * (own + mixed)
        + 1.5e-9 * n_decomposed
        + 2e-8 * n_compared * (sizes.seq_len + 100)
    )
    # A third is left where no period is left out in turn.
    return Cost(seconds / 3, seconds * 2 / 3)


def _trees(sizes: _Workload) -> Cost:
    """Fit two kinds of trees to pairs of an origin and a step, and forecast the cut-offs."""
    simple = sees_past_alone(sizes.n_known, sizes.n_series)
    n_most = MOST_PAIRS_OF_SMALL if simple else MOST_PAIRS
    n_pairs = min(n_most, PAIRS_PER_ROW * sizes.n_rows * sizes.n_targets)
    n_features = 50 + 8 * sizes.n_known
    n_trees = 240 if simple else 450  # 500 small ones take as long as 240
    # Features are made and binned, and columns known ahead are asked whether they help.
    made = 1.5e-7 * n_pairs * n_features
    return Cost(
        0.1 + 0.05 * sizes.n_known + 0.3 * made,
        0.7 * made
        + 0.1 * sizes.n_known
        + (2.2e-9 * n_pairs * n_features + 5e-4) * n_trees,
    )


def _classical(sizes: _Workload) -> Cost:
    """Forecast each target of each series by all candidates, at origins and at cut-offs."""
    n_single = sizes.n_series * sizes.n_targets
    distances = origin_distances(sizes.pred_len, n_single)
    n_cutoffs = cut_offs_of_each(sizes.n_series)
    rows = min(sizes.rows, MOST_ROWS)
    of_window = 1e-4 + 1.2e-6 * rows + 4e-6 * sizes.pred_len
    of_origin = 0.005 + of_window * n_single
    of_last_fit = of_origin
    if n_single > 1:  # ridges that series share are fitted before some
        n_windows = sizes.n_windows * sizes.n_targets
        of_ridges = 2.5e-7 * min(n_windows, MOST_WINDOWS) * sizes.seq_len
        n_missed = sizes.rows // 20 if n_windows > MOST_WINDOWS else 0
        ends = ends_of_ridges(distances, n_missed)
        of_last_fit += of_ridges
        of_origin += of_ridges * len({*ends.values()}) / len(distances)
    n_least = 3  # origins, and the fit behind them
    return Cost(
        0.05 + n_least * of_origin + of_last_fit,
        (len(distances) - n_least) * of_origin + n_cutoffs * of_window * n_single,
    )


def _own_ridges(sizes: _Workload) -> Cost:
    """Cross-validate maps of several look-backs on two scales for each series."""
    n_single = sizes.n_series * sizes.n_targets
    n_taken = min(max(250_000 // n_single, 128), 256)
    products = sizes.seq_len * 32 + 32 * (32 + 7 * sizes.pred_len)
    return Cost(0.1, 10 * 5 * 4e-10 * n_single * n_taken * products)


def _network(sizes: _Workload, settings: FitSettings) -> Cost:
    """Take the steps of training, and a third of that for the validation of each epoch."""
    network = settings.network
    n_drawn = min(sizes.n_windows, settings.max_windows or sizes.n_windows)
    n_steps = settings.trainer.max_iter * math.ceil(n_drawn / settings.batch_size)
    n_tokens = n_patches(sizes.seq_len, settings.patch_len)
    n_ahead = (sizes.seq_len // 2 + sizes.pred_len) // (
        1 if sizes.n_known else settings.patch_len
    )
    layers = network.n_encoder_layers * n_tokens + network.n_decoder_layers * n_ahead
    products = settings.batch_size * layers * (4 + 8) * network.d_model**2
    of_step = 0.012 + 1e-10 * products
    if settings.device.type != "cpu":
        of_step = 0.004
    # Of one series a trial, or the first epoch, ends most trainings.
    share = 0.3 if sizes.n_series == 1 and RIDGES in settings.members else 1.0
    # Each validation window is forecast once for the network's weight.
    n_judged = settings.validation_fraction * sizes.n_windows / settings.batch_size
    return Cost(0.1 + of_step * n_judged, 1.3 * share * of_step * n_steps)


def _classes(sizes: _Workload) -> Cost:
    """Fit frequencies, a logistic map and trees for each target."""
    n_pairs = min(MOST_PAIRS, PAIRS_PER_ROW * sizes.n_rows)
    return Cost(0.1, sizes.n_targets * 8e-5 * n_pairs)


def _filling(sizes: _Workload, share_missing: float) -> Cost:
    """Forecast gaps, some of them one after the other."""
    n_gaps = share_missing * sizes.n_rows
    n_turns = min(n_gaps / sizes.n_series, _TURNS_OF_GAPS)
    return Cost(0.05, 0.03 * n_turns + 1e-3 * n_gaps)


def _interval_seconds(sizes: _Workload) -> dict[str, float]:
    """Return what members cost that forecast the history for prediction intervals."""
    n_forecasts = 512 * sizes.n_targets
    return {
        RIDGES: 1e-4 * n_forecasts,
        TREES: 1e-5 * sizes.pred_len * n_forecasts,
        CLASSICAL: 1.5e-6 * min(sizes.rows, MOST_ROWS) * n_forecasts,
    }


def words_of_cuts(budget: Budget) -> dict[str, str]:
    """Return what a budget took from the members that were fitted, in words."""
    cuts = {}
    limit = f"max_seconds={budget.max_seconds:g}"
    for name, effort in budget.efforts.items():
        if name in budget.stopped:
            cuts[name] = f"stopped when its part of {limit} was over"
        elif effort < 1:
            cuts[name] = f"{limit} left it {effort:.0%} of its {_CUT.get(name, 'rows')}"
    return cuts
