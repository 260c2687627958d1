"""How many rows a season has: a test on the data, among what the index suggests."""

from collections.abc import Collection, Sequence

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import pasts, real_rows

_MOST_SEASONS = 8  # that a series is tested on, the newest ones
_PARTS = 13  # of a long season


def find_period(
    values: Float64Array, first_row: IntArray, candidates: Sequence[int]
) -> int:
    """Find the period, in rows, whose seasons say most about rows that they were not taken from.

    It is 1 where no candidate saves 2 % of the error. Each row's change since the row before it is
    compared with the mean change of the same phase in the series' other seasons. Where there are no
    seasons that mean is worse than no change at all, so chance alone chooses none. The gain is
    averaged over the series; for whether there are seasons, one in which they explain nothing
    counts as 0: candidates without them compete anyway. Rows are given as to `fit_classical`.

    Where single changes tell of no period, those of the means of a thirteenth of one are asked:
    of weeks, noise hides what a year does.
    """
    found = _find(values, first_row, set(candidates) - {0, 1}, n_parts=None)
    long = {period for period in candidates if period >= 2 * _PARTS}
    if found > 1 or not long:
        return found
    return _find(values, first_row, long, _PARTS)


def _find(
    values: Float64Array,
    first_row: IntArray,
    candidates: Collection[int],
    n_parts: int | None,
) -> int:
    """Find the period by changes of single rows, or of the means of so many parts of a season."""
    least_gain = 0.02  # share of the error, on the mean of the series
    n_series = len(first_row) - 1
    scores = {1: -np.inf}
    for period in candidates:
        long_enough = np.flatnonzero(np.diff(first_row) > 2 * period)
        n_joined = period // n_parts if n_parts else 1
        n_in_memory = max(1, 4_000_000 // (_MOST_SEASONS * period))
        gain = np.zeros(n_series)
        for start in range(0, len(long_enough), n_in_memory):
            some = long_enough[start : start + n_in_memory]
            changes = _changes(
                values, first_row[some], first_row[some + 1], period, n_joined
            )
            gain[some] = _gains(changes)
        if np.maximum(gain, 0).sum() > least_gain * n_series:
            # Losses count, too: what chance gives to a period of few seasons it takes elsewhere.
            # So do series that are too short.
            n_short = n_series - len(long_enough)
            scores[period] = gain.sum() - n_short
    return max(sorted(scores), key=scores.__getitem__)


def _gains(changes: Float64Array) -> Float64Array:
    """Return the share of series' absolute changes that their other seasons explain, (n,)."""
    is_real = ~np.isnan(changes)
    trend = np.nanmean(changes, axis=(1, 2), keepdims=True)
    changes = np.nan_to_num(changes - trend)
    others = changes.sum(axis=1, keepdims=True) - changes
    n_others = is_real.sum(axis=1, keepdims=True) - 1
    unexplained = np.abs(changes - others / n_others)
    unexplained = unexplained.mean(axis=(1, 2), where=is_real)
    total = np.abs(changes).mean(axis=(1, 2), where=is_real)
    explained = total - unexplained
    gain = explained / np.where(total > 0, total, np.inf)
    return np.maximum(gain, -1)


def _changes(
    values: Float64Array, begin: IntArray, end: IntArray, period: int, n_joined: int
) -> Float64Array:
    """Return changes between means of so many rows, (n, n_seasons, n_changes).

    They are NaN in seasons that are not whole.
    """
    n = len(begin)
    n_seasons = (end - begin - 1) // period
    n_seasons = np.minimum(n_seasons, _MOST_SEASONS)
    n_rows = n_seasons.max() * period + 1
    window, _ = pasts(values, begin, end, n_rows)
    seasons = window[:, 1:].reshape(n, -1, period)
    whole_parts = seasons[:, :, period % n_joined :]
    parts = whole_parts.reshape(n, -1, n_joined).mean(axis=2)
    changes = np.diff(parts, axis=1, prepend=window[:, :1])
    changes = changes.reshape(*seasons.shape[:2], -1)
    is_whole = real_rows(n_seasons, seasons.shape[1])
    changes[~is_whole] = np.nan
    return changes
