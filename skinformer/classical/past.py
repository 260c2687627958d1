"""What is known before forecasts: windows of series, with the gaps that these have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.classical.windows import mean_of_known
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


class Past(NamedTuple):
    """
    Windows of series, each the rows before a forecast.

    Attributes
    ----------
    values : ndarray of shape (n, n_rows)
        Rows, the newest in the last column; NaN where nothing was observed, also before a series
        begins. One row of each window is known at least.
    wall : ndarray of shape (n, n_rows + horizon)
        The step of each row on the clock on the wall, and those of the steps to forecast.
    """

    values: Float64Array
    wall: IntArray

    @property
    def known(self) -> BoolArray:
        """Which rows were observed, (n, n_rows)."""
        return ~np.isnan(self.values)

    @property
    def n_rows(self) -> int:
        """Rows of a window."""
        return self.values.shape[1]

    @property
    def horizon(self) -> int:
        """Steps to forecast."""
        return self.wall.shape[1] - self.n_rows

    @property
    def first(self) -> IntArray:
        """The column of the first known row of each window, (n,)."""
        return self.known.argmax(axis=1)

    @property
    def last(self) -> IntArray:
        """The column of the last known row of each window, (n,)."""
        newest_first = self.known[:, ::-1]
        return self.n_rows - 1 - newest_first.argmax(axis=1)

    @property
    def last_value(self) -> Float64Array:
        """The last known value of each window, (n,)."""
        return self._value_at(self.last)

    @property
    def drift(self) -> Float64Array:
        """The mean change in a row, from the first to the last known one, (n,)."""
        n_changes = np.maximum(self.last - self.first, 1)
        change = self.last_value - self._value_at(self.first)
        return change / n_changes

    @property
    def recent_level(self) -> Float64Array:
        """The mean of the last known rows, a third of a horizon but three at least, (n,)."""
        n_recent = max(3, self.horizon // 3)
        return np.nanmean(self.recent_values(n_recent), axis=1)

    @property
    def square_change(self) -> Float64Array:
        """The mean square of changes from one row to the next, both known, (n,); NaN if none is."""
        changes = np.diff(self.values, axis=1)
        return mean_of_known(changes**2)

    def leaps_to(self, following: Float64Array) -> Float64Array:
        """
        Compute how far what follows lies outside of the range of the last three known rows.

        Parameters
        ----------
        following : ndarray of shape (n, k)
            Values of the step after each window; NaN is unknown.

        Returns
        -------
        ndarray of shape (n, k)
            In root mean squares of changes from row to row; 0 where nothing changed.
        """
        recent = self.recent_values(3)
        low = np.nanmin(recent, axis=1)[:, None]
        high = np.nanmax(recent, axis=1)[:, None]
        outside = np.abs(following - np.clip(following, low, high))
        change = np.sqrt(self.square_change)[:, None]
        return np.nan_to_num(outside / np.where(change > 0, change, np.inf))

    def ended(self, season: int) -> BoolArray:
        """
        Find windows that stand still as they never did before: of what is sold no longer.

        Parameters
        ----------
        season : int
            Rows of the longest season. As many have to lie before: what pauses in every season has
            not ended.

        Returns
        -------
        ndarray of shape (n,)
            Whether as many rows as are forecast, six at least, are alike, and more than four times
            as many as ever before. Cost: a loop over windows that end in so many rows alike.

        Examples
        --------
        >>> import numpy as np
        >>> values = np.array([[5.0, 7, 6, 8, 5, 9, 6, 8, 0, 0, 0, 0, 0, 0]])
        >>> past = Past(values, np.arange(16)[None])
        >>> past.ended(4).tolist(), past.ended(12).tolist()
        ([True], [False])
        """
        recent = self.recent_values(max(6, self.horizon))
        ended = np.nanmin(recent, axis=1) == np.nanmax(recent, axis=1)
        for i in np.flatnonzero(ended):
            seen = self.values[i, self.known[i]]
            *before, now = _lengths_of_standstill(seen)
            longest = max(before, default=0)
            ended[i] = now > 4 * longest and sum(before) >= season
        return ended

    def _value_at(self, columns: IntArray) -> Float64Array:
        """Return the value of each window in a column of its own, (n,)."""
        return self.values[np.arange(len(columns)), columns]

    def places(self, season: int) -> IntArray:
        """Return the place in the season of each row, (n, n_rows)."""
        return self.wall[:, : self.n_rows] % season

    def repeat(self, profile: Float64Array) -> list[Float64Array]:
        """Repeat profiles, (n, season), over the rows and over the steps to forecast."""
        place = self.wall % profile.shape[1]
        repeated = np.take_along_axis(profile, place, axis=1)
        return np.split(repeated, [self.n_rows], axis=1)

    def recent_values(self, n_rows: int) -> Float64Array:
        """Return the last known rows of each window, of so many, and NaN before, (n, n_rows)."""
        newest_first = self.known[:, ::-1]
        number = np.cumsum(newest_first, axis=1)
        is_recent = number[:, ::-1] <= n_rows
        return np.where(is_recent, self.values, np.nan)

    def take(self, some: IntArray | BoolArray) -> Past:
        """Choose windows."""
        return Past(self.values[some], self.wall[some])

    def newest(self, n_rows: int) -> Past:
        """Return the last rows, so many where there are."""
        first = max(self.n_rows - n_rows, 0)
        return Past(self.values[:, first:], self.wall[:, first:])

    def trimmed(self) -> Past:
        """Leave out the first columns, in which nothing is known of any window."""
        first = self.first.min()
        return Past(self.values[:, first:], self.wall[:, first:])


def _lengths_of_standstill(seen: Float64Array) -> list[int]:
    """Count the rows of each stretch of equal values in turn.

    >>> _lengths_of_standstill(np.array([5.0, 5.0, 7.0, 0.0, 0.0, 0.0]))
    [2, 1, 3]
    """
    changes = np.flatnonzero(np.diff(seen) != 0) + 1
    return np.diff(changes, prepend=0, append=len(seen)).tolist()


def begun(values: Float64Array, known: BoolArray) -> int:
    """
    Find the row from which on a series is alive.

    Parameters
    ----------
    values, known : ndarray of shape (n_rows,)
        The rows of one series, and which of them were observed.

    Returns
    -------
    int
        The first row of interest. A series that stands still at first, for three rows at least and
        more than twice as long as it ever does later, had not yet begun: a shop before it opened, a
        product before its launch.

    Examples
    --------
    >>> import numpy as np
    >>> launched = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 7.0, 7.0, 6.0, 8.0])
    >>> begun(launched, np.ones(10, dtype=bool))
    5
    """
    seen = np.flatnonzero(known)
    n_still, *later = _lengths_of_standstill(values[seen])
    if not later:
        return int(known.argmax())
    had_not_begun = n_still >= 3 and n_still > 2 * max(later)
    first = n_still if had_not_begun else 0
    return int(seen[first])
