"""
Levels that changed at once: rows before the step are moved to the level behind it.

A step shows in seasonal differences, which it raises for one season and no longer. What it raises
has to be far from the other differences, and most of it has to be there at once: what grows or
wanders does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.classical.past import Past
from skinformer.timeline.arrays import Float64Array, IntArray

#: Standard deviations of seasonal differences that a step is high.
_HEIGHT = 4.0
#: Part of a step that rows before and behind it, of which there are so many, may differ from it.
_ROUGH, _FEWEST = 0.4, 3
#: Rows, or seasons, from the end in which a step is looked for.
_MOST_ROWS, _MOST_SEASONS = 100, 3
_TINY = 1e-300


def without_step(past: Past, season: int) -> Past:
    """
    Move the rows before the highest step of each window to the level behind it.

    Parameters
    ----------
    past : Past
        Windows.
    season : int
        Rows of their season, 1 for none. A step needs a season of rows before it, another one of
        differences to be told from, and three rows, or the last season, behind it.

    Returns
    -------
    Past
        The same windows where nothing changed at once.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[1.0, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 11, 13, 12]])
    >>> without_step(Past(values, np.arange(16)[None]), 3).values[0]
    array([11., 13., 12., 11., 13., 12., 11., 13., 12., 11., 13., 12., 11., 13., 12.])
    """
    n_rows = past.n_rows
    n_differences = n_rows - season
    if n_differences < season + 2 * _FEWEST:
        return past
    differences = _seasonal_differences(past, season, n_rows)
    unit = np.nan_to_num(np.abs(differences)).max(axis=1, keepdims=True) + _TINY
    sums = _Sums.of(differences / unit)
    begin = np.arange(_FEWEST, n_differences - min(_FEWEST, season) + 1)
    raised = sums.between(begin, np.minimum(begin + season, n_differences))
    others = sums.whole.less(raised)
    height = raised.mean - others.mean
    squares = raised.squares_around_mean + others.squares_around_mean
    spread = np.sqrt(squares / np.maximum(sums.whole.number, 1))

    before = sums.between(begin - _FEWEST, begin)
    behind = sums.between(
        begin, np.minimum(begin + min(_FEWEST, season), n_differences)
    )
    at_once = behind.mean - before.mean
    first = sums.between(begin, begin + 1)
    is_sudden = np.abs(at_once - height) <= _ROUGH * np.abs(height)
    is_sudden &= np.abs(first.mean - raised.mean) <= _ROUGH * np.abs(height)
    is_known = (before.number > 0) & (raised.number >= min(_FEWEST, season))
    is_known &= others.number >= max(season, 2 * _FEWEST)
    relative = np.where(
        is_sudden & is_known, np.abs(height) / np.maximum(spread, _TINY), 0.0
    )

    window = np.arange(len(differences))
    highest = relative.argmax(axis=1)
    is_step = relative[window, highest] > _HEIGHT
    move = np.where(is_step, height[window, highest] * unit[:, 0], 0.0)
    first_behind = past.n_rows - n_differences + begin[highest]
    is_before = np.arange(past.n_rows) < first_behind[:, None]
    return past.replaced(past.values + move[:, None] * is_before)


def _seasonal_differences(past: Past, season: int, n_rows: int) -> Float64Array:
    """Subtract from each of the last rows the one a season before, by the clock on the wall."""
    values, wall = past.values[:, -n_rows:], past.wall[:, : past.n_rows][:, -n_rows:]
    ahead_of_rows = wall - np.arange(n_rows)
    changed = ahead_of_rows[:, season:] - ahead_of_rows[:, :-season]
    before = np.clip(np.arange(n_rows - season) + changed, 0, n_rows - 1)
    return np.asarray(values[:, season:] - np.take_along_axis(values, before, axis=1))


class _Part(NamedTuple):
    """How many rows are known in parts of windows, their sums, and the sums of their squares."""

    number: Float64Array
    total: Float64Array
    squares: Float64Array

    @property
    def mean(self) -> Float64Array:
        """Return their means, 0 where none is known."""
        return np.asarray(self.total / np.maximum(self.number, 1))

    @property
    def squares_around_mean(self) -> Float64Array:
        """Return the sums of squared distances from these."""
        return np.maximum(self.squares - self.total * self.mean, 0.0)

    def less(self, other: _Part) -> _Part:
        """Return what is left without another part."""
        return _Part(
            self.number - other.number,
            self.total - other.total,
            self.squares - other.squares,
        )


class _Sums(NamedTuple):
    """Rows before each one: how many are known, their sums, and the sums of their squares."""

    number: Float64Array
    total: Float64Array
    squares: Float64Array

    @classmethod
    def of(cls, values: Float64Array) -> _Sums:
        """Sum up values, (n, n_rows), NaN where nothing is known."""
        known = np.nan_to_num(values)
        columns = (~np.isnan(values), known, known**2)
        front = np.zeros((len(values), 1))
        summed = (np.cumsum(column, axis=1, dtype=np.float64) for column in columns)
        return cls(*(np.concatenate([front, column], axis=1) for column in summed))

    @property
    def whole(self) -> _Part:
        """Return the sums of all rows, (n, 1)."""
        return _Part(*(column[:, -1:] for column in self))

    def between(self, begin: IntArray, end: IntArray) -> _Part:
        """Return the sums from rows on to others, (n, n_parts)."""
        return _Part(*(column[:, end] - column[:, begin] for column in self))
