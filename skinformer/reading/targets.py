"""Which columns are the targets, and which are known ahead."""

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.timeline.calendar import is_calendar_column
from skinformer.timeline.roles import Names, Roles
from skinformer.validation.columns import check_target_exists
from skinformer.validation.truth import check_target_count, numeric_truth


@dataclass(frozen=True)
class Targets:
    """Columns of y.

    values: (n, n_targets); NaN is missing.
    names: of the columns, made up where y has none.
    own_names: those that y brings, so that none is made up; empty where it has none.
    index: labels of the rows; None where y brings none.
    one_dimensional: whether y came without a second dimension.
    """

    values: Float64Array
    names: Names
    own_names: Names
    index: pd.Index | None
    one_dimensional: bool


def read_targets(y: Any) -> Targets:
    """Read y as columns of numbers with names: y's own, else "y" or "y0", "y1", …."""
    index = None
    if isinstance(y, pd.Series | pd.DataFrame):
        index = y.index
    values = numeric_truth(y)
    names = own_names(y)
    one_dimensional = values.ndim == 1
    columns = values.reshape(len(values), -1)
    numbers = [""] if one_dimensional else range(columns.shape[1])
    return Targets(
        columns,
        names or tuple(f"y{number}" for number in numbers),
        names,
        index,
        one_dimensional,
    )


def own_names(y: Any) -> Names:
    """Return the names that y brings; none for an array, or a series without a name."""
    if isinstance(y, pd.DataFrame):
        return tuple(y.columns)
    name = getattr(y, "name", None)
    if name is None or getattr(y, "ndim", 1) > 1:
        return ()
    return (name,)


def find_targets(
    wanted: Any, names: Sequence[Hashable], *, named: bool, y_names: Names | None
) -> Names:
    """Return which columns of X are the targets; none if y alone holds them.

    wanted: the parameter ``target``; None is the last column, or y's where X holds it.
    names, named: X's columns, and whether the names are its own; if not, a target that is none of
    them was lost on the way.
    y_names: those that y brings; None without y.

    It is a ValueError if a target is not a column of X, and y does not stand for it.
    """
    targets = tuple(wanted) if isinstance(wanted, list) else (wanted,)
    if y_names is None:
        if wanted is None:
            targets = (names[-1],)
    elif named and y_names and set(y_names) <= set(names):
        if wanted is None:
            targets = y_names
    elif wanted is None or (named and _lack_all(names, targets)):
        return ()
    for target in targets:
        check_target_exists(target, names, named=named)
    return targets


def _lack_all(names: Sequence[Hashable], targets: Names) -> bool:
    """Whether no target is a column of X, not even one with a prefix from the way there."""
    if not set(targets).isdisjoint(names):
        return False
    suffix = f"__{targets[0]}" if targets else ""
    return not any(str(name).endswith(suffix) for name in names)


def find_known(
    names: Sequence[Hashable], given: Container[Hashable], targets: Container[Hashable]
) -> Names:
    """Return which columns are known ahead, in X's order: those given, and the calendar's.

    >>> find_known(["calendar__hour_sin", "price", "load"], ["price"], ["load"])
    ('calendar__hour_sin', 'price')
    """
    return tuple(
        name
        for name in without(names, targets)
        if name in given or is_calendar_column(name)
    )


def without(names: Iterable[Hashable], others: Container[Hashable]) -> Names:
    """Leave out some names."""
    return tuple(name for name in names if name not in others)


def targets_of(columns: Mapping[Hashable, AnyArray], roles: Roles) -> list[AnyArray]:
    """Return what columns of X hold of the targets, in y's units."""
    histories = [columns[name] for name in roles.targets]
    if roles.mode != "both":
        return histories
    in_units = []
    for history, link in zip(histories, roles.links, strict=True):
        slope, intercept = link
        in_units.append(slope * history + intercept)
    return in_units


def prefer_y(y: Float64Array, histories: Sequence[Any]) -> list[AnyArray]:
    """Return y column by column; where it is missing, what X holds of the targets, if anything."""
    check_target_count(len(histories), y.shape[1])
    targets = []
    for column, history in zip(y.T, histories, strict=True):
        if history is not None:
            column = np.where(np.isnan(column), history, column)
        targets.append(column)
    return targets
