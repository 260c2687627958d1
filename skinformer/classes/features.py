"""Features of steps ahead for classes: what each class's own past says, and all else that is known.

They are those of `tabular`, which reads one target: the columns of all classes of a target take
its place one after the other, and so do columns that are not known ahead.
"""

from dataclasses import dataclass, replace

import numpy as np

from skinformer.tabular.features import Columns, FeatureMaker, Pairs, find_seasons
from skinformer.timeline.arrays import Float64Array, Floats
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Timeline


@dataclass(frozen=True)
class ClassFeatures:
    """Make the features of pairs for one target.

    rich: columns whose own past is seen closely: the target's classes first.
    other: other columns that are not known ahead.
    known: columns known ahead, the static ones last.
    maker: of one rich column, the others and those known ahead.
    """

    rich: tuple[int, ...]
    other: tuple[int, ...]
    known: tuple[int, ...]
    maker: FeatureMaker

    def make(self, values: Floats, pairs: Pairs, clock: Clock) -> Float64Array:
        """Make the features of pairs of target 0, (n, n_features); NaN where none is known."""
        first, *rest = self.rich
        with_first = [first, *self.other, *self.known]
        made = self.maker.make(values[:, with_first], pairs, clock)
        features = [made]
        unbounded = np.array([np.inf])
        own_maker = replace(
            self.maker,
            columns=Columns(1, 0, 0, 0, self.maker.columns.pred_len),
            low=-unbounded,
            high=unbounded,
        )
        for column in rest:
            made = own_maker.make(values[:, [column]], pairs, clock)
            features.append(made[:, : own_maker.n_own])
        return np.hstack(features)


def make_features(timeline: Timeline, columns: Columns, group: slice) -> ClassFeatures:
    """Choose what is seen of each column for the target whose classes are in ``group``."""
    # 1. Columns: of those beyond the first eight the last values alone are seen.
    n_rich = 8
    not_known = _order_columns(columns, group)
    rich = not_known[:n_rich]
    other = not_known[n_rich:]
    n_past = columns.n_targets + columns.n_past
    known = tuple(range(n_past, n_past + columns.n_known))
    # 2. Seasons and bounds.
    lengths = np.diff(timeline.first_row)
    low, high = find_bounds(timeline.values, columns.n_targets)
    with_first = [rich[0], *other, *known]
    maker = FeatureMaker(
        columns._replace(n_targets=1, n_past=len(other)),
        find_seasons(timeline.clock, lengths),
        low[with_first],
        high[with_first],
    )
    return ClassFeatures(rich, other, known, maker)


def _order_columns(columns: Columns, group: slice) -> tuple[int, ...]:
    """List columns that are not known ahead: the target's classes, past ones, other targets."""
    n_targets = columns.n_targets
    targets = range(n_targets)
    past = range(n_targets, n_targets + columns.n_past)
    own = targets[group]
    if len(own) == 2:
        own = own[1:]  # the other one is 1 less it
    before = targets[: group.start]
    after = targets[group.stop :]
    return (*own, *past, *before, *after)
