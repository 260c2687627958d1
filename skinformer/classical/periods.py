"""How many rows a season has: a test on the data, among what the index suggests."""

from collections.abc import Collection, Sequence

import numpy as np

from skinformer.classical.windows import padded
from skinformer.timeline.arrays import Float64Array, IntArray

_MOST_SEASONS = 8  # that a series is tested on, the newest ones
_LEAST_GAIN = (
    0.02  # share of the error that seasons have to save, on the mean of the series
)
_PARTS = 13  # of a long season
_VALUES_PER_BATCH = 4_000_000


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
    found = _find(values, first_row, set(candidates) - {0, 1}, 1)
    long = {period for period in candidates if period >= 2 * _PARTS}
    return _find(values, first_row, long, _PARTS) if found == 1 and long else found


def _find(
    values: Float64Array, first_row: IntArray, candidates: Collection[int], n_parts: int
) -> int:
    """Find the period by changes of single rows, or of the means of so many parts of a season."""
    length = np.diff(first_row)
    scores = {1: -np.inf}
    for period in candidates:
        n_joined = period // n_parts if n_parts > 1 else 1
        able = np.flatnonzero(length > 2 * period)
        size = max(
            1, _VALUES_PER_BATCH // (_MOST_SEASONS * period)
        )  # windows fit in memory
        parts = [able[i : i + size] for i in range(0, len(able), size)]
        if parts:
            gain = np.concatenate(
                [_gains(values, first_row, p, period, n_joined) for p in parts]
            )
            if np.maximum(gain, 0).sum() > _LEAST_GAIN * len(length):
                # Losses count, too: what chance gives to a period of few seasons it takes
                # elsewhere. So do series that are too short.
                scores[period] = gain.sum() - (len(length) - len(able))
    return max(sorted(scores), key=lambda period: scores[period])


def _gains(
    values: Float64Array,
    first_row: IntArray,
    series: IntArray,
    period: int,
    n_joined: int,
) -> Float64Array:
    """Return the share of some series' absolute changes that their other seasons explain.

    n_joined: rows whose mean changes to the next ones'.
    """
    begin, end = first_row[series], first_row[series + 1]
    n_seasons = int(np.minimum((end - begin - 1) // period, _MOST_SEASONS).max())
    n_rows = n_seasons * period + 1
    rows = end[:, None] + np.arange(-n_rows, 0)
    window = padded(
        values[np.maximum(rows, begin[:, None])], np.minimum(end - begin, n_rows)
    )
    parts = window[:, 1:].reshape(len(begin), n_seasons, period)[
        :, :, period % n_joined :
    ]
    parts = parts.reshape(len(begin), -1, n_joined).mean(axis=2)
    change = np.diff(parts, axis=1, prepend=window[:, :1]).reshape(
        len(begin), n_seasons, -1
    )
    whole = (end - begin - 1) // period
    real = (np.arange(n_seasons)[::-1] < whole[:, None])[:, :, None]
    n_changes = np.maximum(real.sum(axis=(1, 2)) * change.shape[2], 1)
    trend = (change * real).sum(axis=(1, 2)) / n_changes
    change = (change - trend[:, None, None]) * real
    count = real.sum(axis=1, keepdims=True)
    others = (change.sum(axis=1, keepdims=True) - change) / np.maximum(count - 1, 1)
    left = (np.abs(change - others) * real).sum(axis=(1, 2))
    all_of_it = np.abs(change).sum(axis=(1, 2))
    gain: Float64Array = 1 - left / np.where(all_of_it > 0, all_of_it, np.inf)
    return np.where(all_of_it > 0, np.maximum(gain, -1), 0)
