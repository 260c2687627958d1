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

#: Columns, classes first, of which phases, means and neighbours are seen; of others the last
#: values.
_MOST_RICH = 8
_CHUNK = 8192  # pairs whose features are made at a time


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
        first = [self.rich[0], *self.other, *self.known]
        columns = values[:, first], *(values[:, [j]] for j in self.rich[1:])
        own = Columns(1, 0, 0, 0, self.maker.columns.pred_len)
        alone = FeatureMaker(own, self.maker.seasons, np.array([-np.inf]), np.array([np.inf]))
        parts = []
        for start in range(0, max(len(pairs.origin), 1), _CHUNK):
            some = pairs.take(slice(start, start + _CHUNK))
            made = [self.maker.make(columns[0], some, clock)]
            made += [alone.make(one, some, clock)[:, : alone.n_own] for one in columns[1:]]
            parts.append(np.hstack(made))
        return np.concatenate(parts)


def make_features(timeline: Timeline, columns: Columns, group: slice) -> ClassFeatures:
    """Choose what is seen of each column for the target whose classes are in ``group``."""
    n_before = columns.n_targets + columns.n_past
    own = list(range(group.start, group.stop))
    if len(own) == 2:
        own = own[1:]  # the other one says the same
    past = list(range(columns.n_targets, n_before))
    rest = [j for j in range(columns.n_targets) if not group.start <= j < group.stop]
    rich = (own + past + rest)[:_MOST_RICH]
    other = [j for j in own + past + rest if j not in rich]
    known = list(range(n_before, n_before + columns.n_known))
    seen = [rich[0], *other, *known]
    low, high = (ends[seen] for ends in find_bounds(timeline.values, columns.n_targets))
    sizes = Columns(1, len(other), columns.n_known, columns.n_static, columns.pred_len)
    seasons = find_seasons(timeline.clock, np.diff(timeline.first_row))
    maker = FeatureMaker(sizes, seasons, low, high)
    return ClassFeatures(tuple(rich), tuple(other), tuple(known), maker)
