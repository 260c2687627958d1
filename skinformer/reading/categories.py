"""Columns of names at `fit`: found by dtype, and turned into columns of numbers.

Up to ten levels have a column each (two have one for both), 1 where the level is; more of them
share one column, the mean of the target at each level; ordered ones are numbered in their order.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.categories import LevelEncoding, as_texts
from skinformer.timeline.roles import Roles
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Table
from skinformer.validation import categories as checks


@dataclass(frozen=True)
class NameColumn:
    """A column of names as `fit` sees it.

    levels: texts; sorted, or in the order of the categories.
    codes: (n,), places of the levels; ``n_levels + 1`` is a missing one.
    ordered: whether the order of the levels means something.
    """

    levels: tuple[str, ...]
    codes: IntArray
    ordered: bool

    @property
    def has_missing(self) -> bool:
        """Whether some rows hold no name."""
        return bool((self.codes > len(self.levels)).any())


def find_names(name: Hashable, column: pd.Series) -> NameColumn | None:
    """Return a column as names; None if it holds none, to be read as numbers.

    It is a ValueError if there are too many of them.

    >>> find_names("weather", pd.Series(["sun", "rain", None])).codes
    array([1, 0, 3])
    """
    if not checks.holds_names(column):
        return None
    dtype = column.dtype
    found, uniques = pd.factorize(column, use_na_sentinel=True)
    texts = as_texts(uniques)
    ordered = False
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        ordered = True
        levels = as_texts(dtype.categories)
    else:
        levels = sorted(set(texts))
        checks.check_levels(name, len(levels), len(column))
    places = [levels.index(text) for text in texts]
    codes = np.array([*places, len(levels) + 1], dtype=np.int64)[found]
    return NameColumn(tuple(levels), codes, ordered)


def encode_names(
    table: Table, roles: Roles, names: Mapping[Hashable, NameColumn], pred_len: int
) -> tuple[Table, Roles]:
    """Put columns of numbers in the place of codes, and their names among those of the roles.

    table: of a fit, which holds the codes of names as columns.
    pred_len: steps within which a level counts as seen once.
    """
    if not names:
        return table, roles
    columns = table.targets
    new_names: dict[Hashable, tuple[Hashable, ...]] = {}
    categories = []
    for name, column in zip((*roles.past, *roles.known), table.covariates, strict=True):
        if name not in names:
            columns.append(column)
            new_names[name] = (name,)
            continue
        of_name = replace(table, columns=[*table.targets, column])
        encoded = _one_level_each(of_name, names[name])
        encoding = _make_categories(name, encoded, of_name, pred_len)
        columns += list(encoding.encode(encoded.codes))
        new_names[name] = encoding.columns
        categories.append(encoding)
    _check_new_names(categories, roles)
    past = _replaced(roles.past, new_names)
    known = _replaced(roles.known, new_names)
    roles = replace(roles, past=past, known=known, categories=tuple(categories))
    return replace(table, columns=columns), roles


def _one_level_each(table: Table, names: NameColumn) -> NameColumn:
    """Return names whose missing ones have the level of their series if it has one alone.

    table: whose last column holds the codes.
    """
    codes = table.columns[-1]
    is_missing = codes > len(names.levels)
    n_series = len(table.first_row) - 1
    if n_series == 1 or not is_missing.any():
        return replace(names, codes=codes)
    highest = np.full(n_series, -1)
    np.maximum.at(highest, table.series[~is_missing], codes[~is_missing])
    level = highest[table.series]
    if not (codes == level)[~is_missing].all():
        return replace(names, codes=codes)
    return replace(names, codes=np.where(is_missing & (level >= 0), level, codes))


def _replaced(
    names: tuple[Hashable, ...], new_names: Mapping[Hashable, tuple[Hashable, ...]]
) -> tuple[Hashable, ...]:
    """Put the names of columns of numbers in the place of those of columns of names."""
    return tuple(new for name in names for new in new_names[name])


def _check_new_names(categories: list[LevelEncoding], roles: Roles) -> None:
    """Raise if a level's column would have the name of another column."""
    for encoding in categories:
        new = [name for name in encoding.columns if name != encoding.name]
        checks.check_new_names(new, (*roles.columns, *roles.targets))


def _make_categories(
    name: Hashable, names: NameColumn, table: Table, pred_len: int
) -> LevelEncoding:
    """Find the numbers of each level.

    table: whose last column holds the codes.
    """
    most_columns = 10  # of one column of names
    columns: tuple[Hashable, ...] = (name,)
    if names.ordered:
        numbers = _ranks(names)
    elif len(names.levels) + names.has_missing <= most_columns:
        columns, numbers = _indicators(name, names)
    else:
        numbers = _target_means(names, table, pred_len)
    return LevelEncoding(
        name,
        names.levels,
        columns,
        numbers,
        has_missing=names.has_missing and not names.ordered,
    )


def _ranks(names: NameColumn) -> Float32Array:
    """Return the places of ordered levels as their numbers; an unseen one is in the middle."""
    n_levels = len(names.levels)
    ranks = np.arange(n_levels + 2, dtype=np.float32)
    is_name = names.codes < n_levels
    if is_name.any():
        ranks[n_levels] = names.codes[is_name].mean()
    return ranks[:, None]


def _indicators(
    name: Hashable, names: NameColumn
) -> tuple[tuple[Hashable, ...], Float32Array]:
    """Make a column for each level, or one for two of them; and the names of these columns.

    That names are missing is a level like others where `fit` saw it. A level that `fit` did not
    see is in the middle of all others, by the rows that hold them.
    """
    n_levels = len(names.levels)
    columns: list[Hashable] = [f"{name}={level}" for level in names.levels]
    numbers = np.eye(n_levels + 2, dtype=np.float32)
    numbers = np.delete(numbers, n_levels, axis=1)
    if names.has_missing:
        columns.append(f"{name} is missing")
    else:
        numbers = numbers[:, :-1]
    if len(columns) == 2:
        columns = columns[1:]
        numbers = numbers[:, 1:]
    n_rows = np.bincount(names.codes, minlength=n_levels + 2)
    seen = n_rows > 0
    numbers[n_levels] = np.average(numbers[seen], axis=0, weights=n_rows[seen])
    return tuple(columns), numbers


def _target_means(names: NameColumn, table: Table, pred_len: int) -> Float32Array:
    """Compute the mean of the targets at each level, shrunk to that of all rows.

    Targets are what they are beyond the usual of their season, standardised series by series; as
    they are, standardised as a whole, where each series has one level.
    """
    codes = names.codes
    n_codes = len(names.levels) + 2
    # 1. What is averaged, and what counts as one occasion: rows beside each other are alike.
    first_of_series = table.first_row[table.series]
    is_static = bool((codes == codes[first_of_series]).all())
    if is_static:
        group = np.zeros_like(table.series)
        occasion = table.series
    else:
        group = table.series
        occasion = table.steps // pred_len
    deviations = []
    for y in table.targets:
        usual = 0.0 if is_static else _usual(y, table)
        deviations.append(_standardised(y - usual, group))
    # 2. The mean of each occasion, and those of levels.
    deviation = pd.DataFrame(deviations).mean()
    of_occasions = deviation.groupby([codes, occasion]).mean().dropna()
    by_level = of_occasions.groupby(level=0)
    mean = by_level.mean()
    n_seen = by_level.size()
    # 3. Shrink them by how much they differ beyond their occasions.
    if not is_static:
        mean *= _reliability(of_occasions, mean, n_seen)
    numbers = np.zeros((n_codes, 1), dtype=np.float32)
    numbers[mean.index, 0] = mean
    return numbers


def _reliability(
    of_occasions: pd.Series, mean: pd.Series, n_seen: pd.Series
) -> pd.Series:
    """Compute which part of each level's mean is its own, and no luck of its occasions.

    The variance between levels is estimated by moments, as in an analysis of variance with random
    effects: Searle, Casella and McCulloch (1992), Variance components, section 3.6.
    """
    n_levels = len(mean)
    n_all = n_seen.sum()
    if n_all == n_levels:
        return 0.0 * mean  # no level came twice: nothing tells it from luck
    level = of_occasions.index.get_level_values(0)
    within = ((of_occasions - mean[level].to_numpy()) ** 2).sum() / (n_all - n_levels)
    total_mean = of_occasions.mean()
    between = (n_seen * (mean - total_mean) ** 2).sum()
    n_typical = n_all - (n_seen**2).sum() / n_all
    # Two standard errors beyond luck: names that say nothing would be learnt by heart.
    luck = (n_levels - 1 + 2 * np.sqrt(2 * (n_levels - 1))) * within
    own = max(between - luck, 0.0) / n_typical
    return n_seen * own / (n_seen * own + within + 1e-12)


def _usual(y: Float64Array, table: Table) -> Float64Array:
    """Return the median of a target at the phase of the longest season that comes four times."""
    n_rows = np.median(np.diff(table.first_row))
    seasons = [
        season for season in calendar_seasons(table.clock) if 4 * season <= n_rows
    ]
    phase = table.steps % max(seasons, default=1)
    rows = pd.Series(np.asarray(y, dtype=np.float64))
    return rows.groupby([table.series, phase]).transform("median").to_numpy()


def _standardised(y: Float64Array, group: IntArray) -> Float64Array:
    """Standardise a target within groups of rows."""
    rows = pd.Series(np.asarray(y, dtype=np.float64)).groupby(group)
    scale = rows.transform("std", ddof=0)
    deviation = y - rows.transform("mean")
    return (deviation / scale.where(scale > 0, 1.0)).to_numpy()
