"""Members beside the ridges of one long table, and by how much each has to gain on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from skinformer.budget import current_budget
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import TREES
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.user_forecaster import UserForecaster
from skinformer.judging.plan import MARGIN, MARGIN_ON_WALKS, WALK, Plan, plan_trees
from skinformer.judging.proof import Proof
from skinformer.selection import MOST_STRETCHES, time_stretches
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import IntArray

#: What fits a member to rows, as `Member.from_rows` does.
MemberFit: TypeAlias = Callable[[FitRows, FitSettings], Member]


@dataclass
class Challengers:
    """Members beside the ridges, in the order in which they are weighed.

    members: fitted before the split; their forecasts stand behind the ridges' in the proof.
    margins: standard errors by which each has to gain on the joint forecast before it, by name.
    """

    members: list[Member] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)

    def prove(self, member: Member, proof: Proof, margin: float) -> None:
        """Let a member forecast the cut-offs."""
        member.check_seconds(proof.windows)
        proof.add(member)
        self.members.append(member)
        self.margins[member.name] = margin


def prove_challengers(
    ridges: Ridges,
    kinds: Mapping[str, type[Member]],
    proof: Proof,
    rows: FitRows,
    plan: Plan,
) -> tuple[Challengers, Plan]:
    """Fit members beside the ridges, and let them forecast the cut-offs.

    kinds: built-in members, by name; forecasters of the user's come behind them.
    proof: of the ridges alone, at cut-offs of the split.
    rows: before the split.

    There are none where the split is too short for two stretches: the plan says so. ValueError
    where a forecaster of the user's is too slow.
    """
    settings = plan.settings
    challengers = Challengers()
    stretches = stretches_of(proof)
    if stretches is None:
        reason = "the validation split holds no two forecasts"
        return challengers, plan.without(reason, *kinds)
    last_value = ridges.blend.get("last", 0.0)
    if TREES in kinds:
        is_complete = stretches.max() + 1 == MOST_STRETCHES
        plan = plan_trees(
            plan,
            has_known=rows.sizes.n_known > 0,
            last_value=last_value,
            is_complete=is_complete,
        )
    budget = current_budget()
    for name, kind in kinds.items():
        if name not in plan.settings.members:
            continue
        if not budget.takes(name):
            plan = plan.without(budget.left_out[name], name)
            continue
        with timed(name), budget.part(name):
            member = kind.from_rows(rows, settings)
            challengers.prove(member, proof, _margin(member, rows, last_value))
    for source in settings.forecasters:
        with budget.part(source.name):
            forecaster = UserForecaster.from_source(source, rows, settings)
            challengers.prove(forecaster, proof, MARGIN)
    return challengers, plan


def stretches_of(proof: Proof) -> IntArray | None:
    """Return the stretch of each window; None where there are no two that hold a forecast."""
    pred_len = proof.y.shape[1]
    return time_stretches(proof.windows.steps, pred_len, n_most=MOST_STRETCHES)


def _margin(member: Member, rows: FitRows, last_value: float) -> float:
    """Return by how many standard errors a built-in member has to gain on those before it.

    last_value: how much the last value counts among the ridges.
    """
    if last_value > WALK:
        return MARGIN_ON_WALKS
    sizes = rows.sizes
    n_known = sizes.n_known - sizes.n_static
    # Columns known ahead that tell something are what it sees more than ridges do.
    sees_more = len(member.plain_columns) < n_known
    return 0.0 if sees_more else MARGIN
