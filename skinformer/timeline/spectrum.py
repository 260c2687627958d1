"""A season of any number of rows: found by waves that say what the row before does not.

Each row is regressed on the one before it and on a line; a season has to say more, as the Bayesian
information criterion asks. So neither noise nor a walk has one. Slow seasons are looked for in
means of neighbouring rows, whose noise is less.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import Float64Array

#: Numbers of waves that a profile may consist of; short seasons may have all.
_N_WAVES = (1, 2, 3, 5, 8, 12)
#: Rows, or means of rows, of the shortest and the longest season that are looked for among means.
_FEWEST_PARTS = 6
_MOST_PARTS = 24
#: Rows that are looked at, of one series and of all.
_MOST_ROWS = 1000
_MOST_ROWS_OF_ALL = 4000


class _Changes(NamedTuple):
    """What rows of one series have that the row before and a line do not tell.

    explained: an orthonormal basis of what these tell, (n_rows, 3).
    unexplained: the rest of each row, (n_rows,).
    """

    explained: Float64Array
    unexplained: Float64Array

    @classmethod
    def of(cls, values: Float64Array) -> "_Changes":
        """Regress rows on the one before; what is left is clipped, as no outlier is a season."""
        # Squares of the largest numbers would be infinite.
        values = values / max(np.abs(values).max(), 1e-300)
        now = values[1:]
        line = np.linspace(-1.0, 1.0, len(now))
        known_before = np.column_stack([values[:-1], np.ones_like(line), line])
        basis, _ = np.linalg.qr(known_before)
        rest = _without(basis, now)
        rest[np.abs(rest) < 1e-12] = 0.0  # rounding of a constant or a line
        usual = 1.4826 * np.median(np.abs(rest - np.median(rest)))
        if usual > 0:
            rest = _without(basis, np.clip(rest, -5 * usual, 5 * usual))
        return cls(basis, rest)

    def gain(self, season: float, n_waves: int) -> float:
        """Return by how much the log likelihood with waves is above that without, less its price.

        season: in rows, which need not be whole.
        """
        n_rows = len(self.unexplained)
        waves = _waves(n_rows, season, n_waves)
        n_free = waves.shape[1]
        waves = _without(self.explained, waves)
        gram = waves.T @ waves + 1e-9 * n_rows * np.eye(n_free)
        cross = waves.T @ self.unexplained
        total = self.unexplained @ self.unexplained
        part = cross @ np.linalg.solve(gram, cross) / max(total, 1e-300)
        part = np.clip(part, 0.0, 1 - 1e-12)
        n_left = n_rows - n_free - self.explained.shape[1]
        return float(-0.5 * n_left * np.log1p(-part) - 0.5 * n_free * np.log(n_rows))


def search_period(
    series: Sequence[Float64Array], *, least_seasons: float = 2.25
) -> int:
    """
    Find the season of series among all numbers of rows; 1 where they show none.

    Parameters
    ----------
    series : sequence of ndarray
        Rows of each series, without NaN. Of many rows the last are looked at, of many series some.

    least_seasons : float, default=2.25
        How often the longest series holds a season, at least.

    Returns
    -------
    int
        The rows of a season. Cost: some thousand regressions on at most 1,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(100)
    >>> noise = np.random.default_rng(0).normal(size=100)
    >>> search_period([np.sin(2 * np.pi * rows / 20) + noise / 3]), search_period([noise])
    (20, 1)
    """
    some = _longest(series)
    longest = max((len(values) for values in some), default=0)
    most = int(longest / least_seasons)
    n_joined = 1
    while _FEWEST_PARTS * n_joined <= most:
        search = _Search.of(some, n_joined)
        low = 2 if n_joined == 1 else _FEWEST_PARTS * n_joined
        gains = search.gains(range(low, min(_MOST_PARTS * n_joined, most) + 1))
        # Chance has as many attempts as there are seasons and numbers of waves.
        price_of_search = np.log(4 * len(gains)) + 4.0
        best = max(gains, key=gains.__getitem__)
        if gains[best] > price_of_search:
            near = range(max(int(0.85 * best), 2), min(int(1.15 * best) + 1, most) + 1)
            return _shortest(search.gains(near) | gains)
        n_joined += max(1, n_joined // 3)
    return 1


def _longest(series: Sequence[Float64Array]) -> list[Float64Array]:
    """Choose series that have the most rows, and their last rows."""
    found: list[Float64Array] = []
    n_left = _MOST_ROWS_OF_ALL
    for values in sorted(series, key=len, reverse=True):
        recent = values[-_MOST_ROWS:]
        if len(recent) > n_left:
            break
        found.append(recent)
        n_left -= len(recent)
    return found


def _shortest(gains: dict[int, float]) -> int:
    """Return the season that gains most, or its half or third where this gains nearly as much."""
    best = max(gains, key=gains.__getitem__)
    for n_parts in (3, 2):
        part, rest = divmod(best, n_parts)
        if rest == 0 and gains.get(part, -np.inf) > gains[best] - 5.0:
            return part
    return best


class _Search(NamedTuple):
    """Series whose rows have been joined to means.

    n_joined: rows of a mean.
    changes: of each series that is long enough.
    """

    n_joined: int
    changes: list[_Changes]

    @classmethod
    def of(cls, series: Iterable[Float64Array], n_joined: int) -> "_Search":
        """Join the rows of series; the first that make no whole mean are left out."""
        fewest = 8
        changes = []
        for values in series:
            n_parts = len(values) // n_joined
            if n_parts >= fewest:
                whole = values[len(values) - n_parts * n_joined :]
                parts = whole.reshape(n_parts, n_joined).mean(axis=1)
                changes.append(_Changes.of(parts))
        return cls(n_joined, changes)

    def gains(self, seasons: Iterable[int]) -> dict[int, float]:
        """Return the gain of each season by the number of waves that gains most."""
        return {season: self._gain(season) for season in seasons}

    def _gain(self, season: int) -> float:
        """Add up the gain over series that hold the season often enough."""
        length = season / self.n_joined
        waves = {n_waves for n_waves in _N_WAVES if n_waves < length / 2}
        if self.n_joined == 1:
            waves.add(season // 2)
        best = -np.inf
        for n_waves in waves:
            gains = [
                one.gain(length, n_waves)
                for one in self.changes
                if len(one.unexplained) >= max(2 * length, 4.4 * n_waves)
            ]
            if gains:
                best = max(best, sum(gains))
        return best


def _waves(n_rows: int, season: float, n_waves: int) -> Float64Array:
    """Return cosines and sines of the season and of its parts, (n_rows, n_free)."""
    frequency = np.arange(1, n_waves + 1) / season
    angle = 2 * np.pi * np.arange(n_rows)[:, None] * frequency
    sines = np.sin(angle)
    if 2 * n_waves == season:
        # The sine of every other row is 0.
        sines = sines[:, :-1]
    return np.hstack([np.cos(angle), sines])


def _without(basis: Float64Array, values: Float64Array) -> Float64Array:
    """Subtract what an orthonormal basis says of values."""
    rest: Float64Array = values - basis @ (basis.T @ values)
    return rest
