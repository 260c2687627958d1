"""Who takes part in a fit, with the reason in words, and how the members are weighed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.classical import MOST_ROWS, ends_behind_step
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import CLASSICAL, NETWORK, RIDGES, TREES
from skinformer.ensemble.own import OwnRidges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.user_forecaster import UserForecaster
from skinformer.judging.weights import Doubt
from skinformer.selection import MOST_STRETCHES
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Table

#: Windows' lengths of a panel's median series below which ridges over whole windows can fail badly:
#: at 1.9 of them (204 rows of a month) these err 2.4 times as much as classical forecasters, at 4.1
#: by 5 % more, at 4.8 by 9 % less (notes/panels.md).
_SHORT = 2.5
#: Forecasts behind the first context of one series for which a network is trained: two or more to
#: learn from, and two to be judged by.
_FORECASTS = 4
#: Windows' lengths from which on ridges have learnt all that there is.
_LONG = 20
#: Standard errors by which a challenger has to gain on ridges where it sees no more than these do:
#: without, trees' errors on ETTh2 were 1.074 of those (notes/drivers.md).
_MARGIN = 1.0
#: The same for trees where the last value counts most among ridges. With one standard error trees
#: got up to half of six random walks beside columns that say nothing, and erred up to 1.12 times as
#: much as the last value; with two 1.01 at most.
_MARGIN_ON_WALKS = 2.0
#: How much the last value counts among the ridges of a random walk: .38 to .75 on walks and prices,
#: 0 to .13 on hours of weather, streets and loads.
_WALK = 1 / 3
#: Rows that built-in trees need.
_ROWS_OF_TREES = 1500
#: Why members are left out that nothing judges.
NO_TWO_FORECASTS = "the validation split holds no two forecasts"


class Scheme(Enum):
    """How the members of a fit are weighed."""

    #: Logs of probabilities of classes are mixed.
    CLASSES = auto()
    #: Members are added to the ridges of a long table one after the other, step by step.
    BY_STEP = auto()
    #: Members of panels and short tables are weighed by the errors of each series.
    BY_SERIES = auto()
    #: Forecasters without ridges are weighed by the last rows of each series.
    BY_LAST_ROWS = auto()
    #: One member forecasts alone, for nothing compares it with others.
    ONE_ALONE = auto()


@dataclass(frozen=True)
class Plan:
    """Who takes part.

    settings: of the fit, with the members that take part.
    reasons: why others do not, by name.
    """

    settings: FitSettings
    reasons: dict[str, str] = field(default_factory=dict)

    def without(self, reason: str, *names: str) -> Plan:
        """Leave members out, those that there are, for a reason."""
        left_out = {name: reason for name in names if name in self.settings.members}
        return Plan(self.settings.without(*left_out), self.reasons | left_out)


def plan_members(settings: FitSettings, table: Table) -> Plan:
    """Decide by the rows which of classical forecasters, trees, ridges and network take part.

    Classical forecasters alone for the shortest series, all of them for longer ones, and for long
    ones those that learn from windows; ridges of each series for panels.
    """
    plan = Plan(settings)
    members = settings.members
    if CLASSICAL in members and RIDGES not in members:
        return plan  # the user wants no others, however long series are
    window_len = settings.seq_len + settings.pred_len
    lengths = np.diff(table.first_row)
    n_rows = int(np.median(lengths))
    is_panel = len(lengths) > 1
    # A regressor of the user's takes part wherever members are compared.
    if isinstance(members.get(TREES), str) and table.first_row[-1] < _ROWS_OF_TREES:
        plan = plan.without(f"fewer than {_ROWS_OF_TREES:,} rows", TREES)
    if not is_panel:
        plan = plan.without(
            "only for panels: a single series has the ridges", OwnRidges.name
        )
    is_long = n_rows >= _LONG * window_len
    if is_long and not _sees_more(table, settings.seq_len, n_rows):
        return plan.without(
            f"only for short series: these have {n_rows:,} rows, at least {_LONG} windows of "
            f"seq_len + pred_len = {window_len}, and no longer season, many gaps or recent "
            "level shift",
            CLASSICAL,
        )
    if CLASSICAL not in members or _fits_windows(settings, n_rows, is_panel=is_panel):
        return plan
    reason = f"series of {n_rows:,} rows are too short for windows of {window_len} rows"
    plan = plan.without(reason, OwnRidges.name, NETWORK)
    has_window = n_rows >= window_len and not is_panel
    return plan if has_window else plan.without(reason, RIDGES)


def _fits_windows(settings: FitSettings, n_rows: int, *, is_panel: bool) -> bool:
    """Return whether a series of so many rows holds windows enough to learn from."""
    if is_panel:
        most_rows = int(n_rows / _SHORT) - settings.pred_len
    else:
        most_rows = n_rows - _FORECASTS * settings.pred_len
    return settings.seq_len <= most_rows


def _sees_more(table: Table, seq_len: int, n_rows: int) -> bool:
    """Return whether classical forecasters see what windows do not: a long season, gaps, a step.

    Ridges read what is filled, and classical forecasters alone know that it is.
    """
    for season in calendar_seasons(table.clock, least_days=365):
        if seq_len < season <= min(n_rows // 2, MOST_ROWS):
            return True
    if len(table.first_row) == 2 and ends_behind_step(table, seq_len):
        return True
    missing = table.missing
    return missing is not None and bool(missing.any(axis=1).mean() > 0.1)


def choose_scheme(settings: FitSettings, *, n_series: int, has_split: bool) -> Scheme:
    """Choose how the members that take part are weighed.

    has_split: whether rows are held out that all members can be weighed by.
    """
    members = settings.members
    has_ridges = RIDGES in members
    if settings.classifies:
        return Scheme.CLASSES
    if has_ridges and has_split and settings.head.allows_ridges:
        is_table = n_series == 1 and CLASSICAL not in members
        return Scheme.BY_STEP if is_table else Scheme.BY_SERIES
    if settings.forecasters and not has_ridges and NETWORK not in members:
        return Scheme.BY_LAST_ROWS
    return Scheme.ONE_ALONE


def plan_trees(
    plan: Plan, *, has_known: bool, n_forecasts: int, last_value: float = 0.0
) -> Plan:
    """Leave trees out that see no more than ridges do, on walks and where nothing judges them.

    has_known: whether there are columns known ahead.
    n_forecasts: by which they would be judged, behind each other or of different series.
    last_value: how much the last value counts among the ridges of a long table.

    A regressor of the user's takes part wherever members are compared.
    """
    is_own = not isinstance(plan.settings.members.get(TREES), str)
    if has_known or is_own:
        return plan
    if n_forecasts < 2:
        return plan.without(NO_TWO_FORECASTS, TREES)
    if last_value > _WALK:
        return plan.without("no future covariates, and a random walk", TREES)
    return plan


def doubt_of(
    member: Member, sizes: ModelSizes, *, last_value: float, n_forecasts: int
) -> Doubt:
    """Return how far a challenger of the ridges of a long table is believed.

    last_value: how much the last value counts among the ridges.
    n_forecasts: that follow each other in the validation split.
    """
    if isinstance(member, UserForecaster):
        return Doubt(_MARGIN)
    part = part_of_trees(member, sizes, n_forecasts=n_forecasts)
    if last_value > _WALK:
        return Doubt(_MARGIN_ON_WALKS, part)
    return Doubt(0.0 if _knows_more(member, sizes) else _MARGIN, part)


def part_of_trees(member: Member, sizes: ModelSizes, *, n_forecasts: int) -> float:
    """Return what trees get of the weight that their errors ask for, from 0 to 1.

    n_forecasts: by which they are judged, behind each other or of different series.

    What few long forecasts say of a level may hold for their season alone. Without this trees erred
    up to 1.16 times as much as ridges in long tables, and up to 2.45 times in shorter ones; with it
    1.02 and 1.04 times (notes/drivers.md).
    """
    if _knows_more(member, sizes):
        return 1.0
    return min(1.0, n_forecasts / MOST_STRETCHES)


def _knows_more(member: Member, sizes: ModelSizes) -> bool:
    """Return whether columns known ahead tell a member something, more than ridges see."""
    return len(member.plain_columns) < sizes.n_known - sizes.n_static
