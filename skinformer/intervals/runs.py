"""Windows that calibrate intervals: runs of forecasts, each from where the last one ended."""

import math

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import origins_between, spread_places

#: Earlier forecasts whose errors are averaged.
N_TRAILING = 24
#: Forecasts of the usual size that are averaged with them.
_PRIOR = 1.0
#: Independent windows that quantiles are taken to come from, at least. A panel has no more of them
#: than its longest series does: what happens to one happens to others at the same time.
FEWEST = 6
#: Rows before a window whose error is representative, at least; fewer if the context is shorter.
_FEWEST_BEFORE = 3


def run_distance(pred_len: int, season: int) -> int:
    """Choose the distance of windows, so that none holds a row of another and all hours occur.

    It is at least `pred_len`, without a common divisor with the season.
    >>> run_distance(24, 24), run_distance(18, 12), run_distance(6, 1)
    (25, 19, 6)
    """
    distance = pred_len
    while math.gcd(distance, season) > 1:
        distance += 1
    return distance


def earliest_origins(
    begin: IntArray,
    end: IntArray,
    *,
    seq_len: int,
    pred_len: int,
    fewest: int = 0,
    spare: int = 0,
) -> IntArray:
    """Return the first rows of series, from begin to end, from which errors are representative.

    A whole context lies before them, or half of the rows where these are few. Members forecast
    otherwise from less than two seasons than from more: where it can be, two seasons lie before
    them, else one.

    fewest: rows of two seasons.
    spare: rows left before the last origin, where two seasons are asked for; for one it is half a
    season.
    >>> ends = np.array([900, 50])
    >>> earliest_origins(np.array([0, 0]), ends, seq_len=96, pred_len=10)
    array([96, 20])
    >>> earliest_origins(np.array([0, 0]), ends, seq_len=96, pred_len=10, fewest=24)
    array([96, 24])
    >>> ends = np.array([24, 23])
    >>> earliest_origins(np.array([0, 0]), ends, seq_len=96, pred_len=6, fewest=24, spare=35)
    array([12,  8])
    """
    last = end - begin - pred_len
    half = np.maximum(last // 2, _FEWEST_BEFORE)
    context = np.minimum(seq_len, half)
    season = fewest // 2
    one = np.where(last >= 1.5 * season, season, 0)
    two = np.minimum(fewest, last - spare)
    return begin + np.maximum.reduce([context, one, two])


def fewest_rows(seq_len: int) -> int:
    """Return how many rows a series needs for one of them to have a representative error.

    >>> fewest_rows(96), fewest_rows(1)
    (4, 2)
    """
    return min(seq_len, _FEWEST_BEFORE) + 1


def spare_rows(n_series: int, distance: int) -> int:
    """Return the rows between the first and the last window of a series, where it needs several.

    All series together have as many as quantiles are taken from, at least.
    >>> spare_rows(1, 7), spare_rows(4, 7), spare_rows(40, 7)
    (35, 7, 0)
    """
    windows_each = -(-FEWEST // n_series)
    return (windows_each - 1) * distance


def choose_runs(
    low: IntArray, high: IntArray, *, distance: int, n_most: int
) -> tuple[IntArray, IntArray, int]:
    """Choose windows that are spread over series and time, and count how many do not overlap.

    They are given by their first forecast rows, ascending within a run, and the run of each.

    low, high: first and last origin of each series; none where ``high < low``.
    distance: rows between the windows of a run.
    n_most: windows wanted; where there are more, runs are left out, where there are fewer, later
    runs begin between the windows of others.
    """
    n_apart = int(count_windows(low, high, distance).sum())
    # 1. Runs of all series; where windows are few, several runs of each, shifted.
    n_shifts = int(np.clip(n_most // max(n_apart, 1), 1, distance))
    shift = np.arange(n_shifts) * distance // n_shifts
    first = np.repeat(low, n_shifts)
    last = (high[:, None] - shift).ravel()
    # 2. Parts of these, of which as many are kept as windows are wanted.
    last, length = _cut_runs(last, count_windows(first, last, distance), distance)
    if not len(last):
        return last, last, 0
    n_kept = max(1, n_most * len(length) // int(length.sum()))
    kept = spread_places(len(last), n_kept)
    # 3. The windows of each.
    origins, run = _list_windows(last[kept], length[kept], distance)
    return origins, run, min(n_apart, len(origins))


def _list_windows(
    last: IntArray, length: IntArray, distance: int
) -> tuple[IntArray, IntArray]:
    """List the windows of runs, ascending, and the run of each.

    last, length: last origin of each run, and its windows.
    """
    first = last - distance * (length - 1)
    run = np.repeat(np.arange(len(last)), length)
    place = origins_between(np.zeros_like(length), length - 1)
    return first[run] + distance * place, run


def count_windows(low: IntArray, high: IntArray, distance: int) -> IntArray:
    """Count windows so many rows apart from low to high, both included."""
    return np.maximum((high - low) // distance + 1, 0)


def _cut_runs(
    last: IntArray, length: IntArray, distance: int
) -> tuple[IntArray, IntArray]:
    """Cut runs from their ends, so that the latest part is whole: last origin and length of each.

    last, length: last origin of each run, and its windows.
    """
    longest = 120
    n_parts = -(-length // longest)
    run = np.repeat(np.arange(len(last)), n_parts)
    part = origins_between(np.zeros_like(n_parts), n_parts - 1)
    n_behind = part * longest
    part_last = last[run] - n_behind * distance
    return part_last, np.minimum(length[run] - n_behind, longest)


def trailing_origins(origins: IntArray, earliest: IntArray, distance: int) -> IntArray:
    """Return the origins of the forecasts that ended before some origins: (n, N_TRAILING).

    The latest come first, `distance` rows apart; -1 stands for none. None is before `earliest`.
    """
    earlier = origins[:, None] - distance * np.arange(1, N_TRAILING + 1)
    return np.where(earlier >= earliest[:, None], earlier, -1)


def trailing_sizes(sizes: Float64Array) -> Float64Array:
    """Average the sizes of earlier errors, (n, n_earlier, n_targets), the latest first.

    The usual size is 1, NaN stands for none; later ones count more. It is 1 where there are none.
    """
    decay = 0.9
    # In usual ones: a product that was not sold so far had no errors at all, and its first sale
    # would be a million times what was to be expected.
    least = 0.1
    # Times the median: one level shift is no lasting storm.
    most_log = np.log(2.5)
    age = np.arange(sizes.shape[1])[:, None]
    known = ~np.isnan(sizes)
    weight = known * decay**age
    logs = np.log(np.maximum(np.where(known, sizes, 1.0), least))
    median = _weighted_median(logs, weight)
    near = np.clip(logs, median - most_log, median + most_log)
    total_weight = weight.sum(axis=1) + _PRIOR
    return np.exp((weight * near).sum(axis=1) / total_weight)


def _weighted_median(logs: Float64Array, weight: Float64Array) -> Float64Array:
    """Compute the median of the forecasts of each window, and of usual ones: (n, 1, n_targets)."""
    logs = np.insert(logs, 0, 0.0, axis=1)
    weight = np.insert(weight, 0, _PRIOR, axis=1)
    return np.quantile(
        logs, 0.5, axis=1, weights=weight, method="inverted_cdf", keepdims=True
    )
