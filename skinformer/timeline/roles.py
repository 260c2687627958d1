"""What each column is to a forecast: target, known up to the present, or known ahead."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pandas import Index

from skinformer.timeline.categories import LevelEncoding
from skinformer.timeline.holes import ENDLESS

#: Names of columns; numbers for those of an array.
Names = tuple[Hashable, ...]


@dataclass(frozen=True)
class Roles:
    """What each column is, decided once in `fit`.

    mode: "frame", "both", "features": where truth and history come from, see the contract's table.
    targets, past, known: names of the targets (in features mode y's columns), of columns known only
    up to the present, and of those known ahead.
    one_dimensional: whether `predict` returns shape (n,).
    columns: X's columns in their order; numbers for an array.
    static: those of `known` that are constant in each series of a panel.
    unchanged: those that the user named in `known_future` and that never changed in training.
    links: in "both" mode (slope, intercept) from each target's column of X into y's units.
    by_name: whether columns are found by their names; by their place where an array was fitted.
    levels: names of the levels of the targets' labels, and of those of X's columns.
    labels: what the targets are called where X holds copies of them in another scale, whose names
    are other ones; empty elsewhere.
    categories: of columns of names, how they become columns of numbers; these, not those, are
    among `past`, `known`, `static` and `unchanged`.
    longest_holes: of each of `known`, the most rows in a row that lacked it in training; `ENDLESS`
    where all did.
    """

    mode: Literal["frame", "both", "features"]
    targets: Names
    past: Names
    known: Names
    one_dimensional: bool
    columns: Names
    static: Names = ()
    unchanged: Names = ()
    links: tuple[tuple[float, float], ...] = ()
    by_name: bool = True
    levels: tuple[Names, Names] = ((None,), (None,))
    labels: Names = ()
    categories: tuple[LevelEncoding, ...] = ()
    longest_holes: tuple[int, ...] = ()

    def source_of(self, name: Hashable) -> Hashable:
        """Return the column of X that a column of numbers is made of."""
        for categories in self.categories:
            if name in categories.columns:
                return categories.name
        return name

    def sources_of(self, names: Iterable[Hashable]) -> Names:
        """Return the columns of X that columns of numbers are made of, each once."""
        return tuple(dict.fromkeys(self.source_of(name) for name in names))

    @property
    def empty(self) -> Names:
        """Columns known ahead that had no value in training, and so have no effect."""
        holes = zip(self.known, self.longest_holes, strict=False)
        return tuple(name for name, longest in holes if longest == ENDLESS)

    @property
    def target_labels(self) -> Index:
        """The targets as columns of a forecast, in the levels they came in."""
        return _label_columns(self.labels or self.targets, self.levels[0])

    @property
    def column_labels(self) -> Index:
        """X's columns as those of a frame, in the levels they came in."""
        return _label_columns(self.columns, self.levels[1])


def _label_columns(names: Any, levels: Names) -> Index:
    several = len(levels) > 1
    return Index(
        list(names), tupleize_cols=several, name=levels if several else levels[0]
    )
