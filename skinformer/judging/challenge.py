"""Members beside the ridges of one long table: added one after the other, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from skinformer.budget import current_budget
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import RIDGES, TREES
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.user_forecaster import UserForecaster
from skinformer.judging.plan import MARGIN, Plan, margin_of_trees
from skinformer.judging.proof import Proof
from skinformer.judging.weights import weigh_steps
from skinformer.selection import MOST_STRETCHES, time_stretches
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray

#: What fits a member to rows, as `Member.from_rows` does.
MemberFit: TypeAlias = Callable[[FitRows, FitSettings], Member]


@dataclass
class Challenge:
    """The joint forecast of ridges and challengers so far.

    proof: forecasts of all of them.
    stretches: that of each window.
    y_pred: joint forecast of the windows.
    challengers: those that it consists of, beside the ridges.
    weights: of the ridges and of these, (1 or pred_len, 1), by name.
    """

    proof: Proof
    stretches: IntArray
    y_pred: Float32Array
    challengers: list[Member] = field(default_factory=list)
    weights: dict[str, Float64Array] = field(
        default_factory=lambda: {RIDGES: np.ones((1, 1))}
    )

    def add(self, member: Member, margin: float) -> None:
        """Add a member by the weight that it has beside those before it.

        margin: standard errors by which it has to gain on them.
        """
        member.check_seconds(self.proof.windows)
        own = self.proof.add(member)
        weight = weigh_steps(self.proof, self.y_pred, own, self.stretches, margin)
        weight = weight[:, None]
        for name, others in self.weights.items():
            self.weights[name] = (1 - weight) * others
        self.weights[member.name] = weight
        self.y_pred += weight.astype(np.float32) * (own - self.y_pred)
        self.challengers.append(member)


def weigh_challengers(
    ridges: Ridges,
    kinds: Mapping[str, type[Member]],
    proof: Proof,
    rows: FitRows,
    plan: Plan,
) -> tuple[Challenge | None, Plan]:
    """Weigh members beside the ridges, one after the other, by stretches of the validation split.

    kinds: built-in members, by name; forecasters of the user's come behind them.
    proof: of the ridges alone, at cut-offs of the split.
    rows: before the split.

    None is weighed where the split is too short for two stretches: the plan says so. ValueError
    where a forecaster of the user's is too slow.
    """
    settings = plan.settings
    windows = proof.windows
    stretches = time_stretches(
        windows.steps, rows.sizes.pred_len, n_most=MOST_STRETCHES
    )
    if stretches is None:
        return None, plan.without("the validation split holds no two forecasts", *kinds)
    margins, plan = _margins(
        kinds, ridges, rows, plan, is_complete=stretches.max() + 1 == MOST_STRETCHES
    )
    if not margins and not settings.forecasters:
        return None, plan
    challenge = Challenge(proof, stretches, proof.forecasts[RIDGES].copy())
    budget = current_budget()
    for name, margin in margins.items():
        if not budget.takes(name):
            plan = plan.without(budget.left_out[name], name)
            continue
        with timed(name), budget.part(name):
            member = kinds[name].from_rows(rows, settings)
            challenge.add(member, max(margin, _least_margin(member, rows)))
    for source in settings.forecasters:
        fit: MemberFit = partial(UserForecaster.from_source, source)
        with budget.part(source.name):
            challenge.add(fit(rows, settings), MARGIN)
    return challenge, plan


def _margins(
    kinds: Mapping[str, type[Member]],
    ridges: Ridges,
    rows: FitRows,
    plan: Plan,
    *,
    is_complete: bool,
) -> tuple[dict[str, float], Plan]:
    """Return by how many standard errors members have to gain on ridges, trees if they are asked.

    is_complete: whether the split has all stretches.
    """
    margins: dict[str, float] = dict.fromkeys(kinds, MARGIN)
    if TREES not in kinds:
        return margins, plan
    margin = margin_of_trees(
        plan.settings,
        has_known=rows.sizes.n_known > 0,
        last_value=ridges.blend.get("last", 0.0),
        is_complete=is_complete,
    )
    if margin is not None:
        return margins | {TREES: margin}, plan
    del margins[TREES]
    reason = "no future covariates, and a random walk or too few validation forecasts"
    return margins, plan.without(reason, TREES)


def _least_margin(member: Member, rows: FitRows) -> float:
    """Return the margin of one that found no column known ahead that tells anything."""
    sizes = rows.sizes
    is_plain = len(member.plain_columns) == sizes.n_known - sizes.n_static
    return MARGIN if is_plain else 0.0
