"""Columns of names, such as text, as columns of numbers: levels that a fit saw, and their numbers.

A record is plain data, so that a file can hold it: levels are texts, numbers are an array.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import Float32Array, IntArray


@dataclass(frozen=True)
class LevelEncoding:
    """How one column of names becomes columns of numbers.

    name: of the column.
    levels: the names that `fit` saw, as texts; of ordered categories all of them, in their order.
    columns: names of the columns of numbers.
    numbers: (n_levels + 2, n_columns), float32: of each level, then what stands for a level that
    `fit` did not see, then for a missing one.
    has_missing: whether the last ones stand for anything; else numbers are missing.

    >>> numbers = np.array([[1, 0], [0, 1], [0.5, 0.5], [0, 0]], dtype=np.float32)
    >>> columns = ("weather=rain", "weather=sun")
    >>> weather = LevelEncoding("weather", ("rain", "sun"), columns, numbers, False)
    >>> weather.encode(weather.codes(pd.Series(["sun", "hail", None])))
    array([[0. , 0.5, nan],
           [1. , 0.5, nan]], dtype=float32)
    >>> weather.codes(pd.Series(["sun", "hail", None]))
    array([1, 2, 3])
    """

    name: Hashable
    levels: tuple[str, ...]
    columns: tuple[Hashable, ...]
    numbers: Float32Array
    has_missing: bool

    @property
    def unseen(self) -> int:
        """Place of what stands for levels that `fit` did not see."""
        return len(self.levels)

    def codes(self, values: pd.Series) -> IntArray:
        """Return the place of each level; behind them that of unseen ones, then of missing ones."""
        found, uniques = pd.factorize(values, use_na_sentinel=True)
        places = {level: place for place, level in enumerate(self.levels)}
        of_uniques = [places.get(text, self.unseen) for text in as_texts(uniques)]
        return np.array([*of_uniques, self.unseen + 1], dtype=np.int64)[found]

    def encode(self, codes: IntArray) -> Float32Array:
        """Return the columns of numbers of codes, (n_columns, n)."""
        numbers = self.numbers.copy()
        if not self.has_missing:
            numbers[self.unseen + 1] = np.nan
        return numbers.T[:, codes]


def as_texts(levels: Iterable[Any]) -> list[str]:
    """Write levels as texts; a whole number is the same one whatever its type.

    >>> as_texts(["a", 1, 2.0, True])
    ['a', '1', '2', 'True']
    """
    texts = []
    for level in levels:
        is_whole = isinstance(level, float | np.floating) and float(level).is_integer()
        texts.append(str(int(level) if is_whole else level))
    return texts
