"""Features of steps ahead for classes: what each class's own past says, and all else that is known.

They are those of `tabular`, which reads one target: the columns of all classes of a target take
its place one after the other, and so do columns that are not known ahead.
"""

from dataclasses import dataclass

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

    @property
    def look_back(self) -> int:
        """Rows before an origin that any feature may read."""
        return self.maker.look_back

    def make(self, values: Floats, pairs: Pairs, clock: Clock) -> Float64Array:
        """Make the features of pairs of target 0, (n, n_features); NaN where none is known."""
        # The first rich column with all else, then the other rich ones.
        with_first = [self.rich[0], *self.other, *self.known]
        features = [self.maker.make(values[:, with_first], pairs, clock)]
        columns = Columns(1, 0, 0, 0, self.maker.columns.pred_len)
        unbounded = np.array([np.inf])
        maker = FeatureMaker(columns, self.maker.seasons, -unbounded, unbounded)
        for column in self.rich[1:]:
            own = maker.make(values[:, [column]], pairs, clock)
            features.append(own[:, : maker.n_own])
        return np.hstack(features)


def make_features(timeline: Timeline, columns: Columns, group: slice) -> ClassFeatures:
    """Choose what is seen of each column for the target whose classes are in ``group``."""
    n_rich = 8  # of others, the last values alone are seen
    n_past = columns.n_targets + columns.n_past
    own = range(group.start, group.stop)
    if len(own) == 2:
        own = own[1:]  # the other one says the same
    past = range(columns.n_targets, n_past)
    other_targets = [*range(group.start), *range(group.stop, columns.n_targets)]
    ordered = (*own, *past, *other_targets)
    rich = ordered[:n_rich]
    other = ordered[n_rich:]
    known = tuple(range(n_past, n_past + columns.n_known))
    low, high = find_bounds(timeline.values, columns.n_targets)
    with_first = [rich[0], *other, *known]
    maker = FeatureMaker(
        columns=columns._replace(n_targets=1, n_past=len(other)),
        seasons=find_seasons(timeline.clock, np.diff(timeline.first_row)),
        low=low[with_first],
        high=high[with_first],
    )
    return ClassFeatures(rich, other, known, maker)
