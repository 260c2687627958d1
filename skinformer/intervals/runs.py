"""Windows that calibrate intervals: runs of forecasts, each from where the last one ended."""

import math

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import spread_places

#: Earlier forecasts that tell how far the next one will be off; each counts so much of the next.
N_TRAILING, _DECAY = 24, 0.9
#: Forecasts of the usual size that are believed beside them.
_PRIOR = 1.0
#: Factor from their median beyond which sizes say no more: one level shift is no lasting storm.
_MOST = 2.5
#: Size, in usual ones, below which none is believed: a product not sold so far had no errors
#: at all, and its first sale would be a million times what was to be expected.
_LEAST = 0.1
#: Rows before the first window of a series.
_FEWEST_ROWS = 3
#: Windows that quantiles are taken to come from, at least. A panel tells no more of them than its
#: longest series does: what happens to one happens to others at the same time.
FEWEST = 6
#: Windows in a run, where there are more than can be forecast.
_LONGEST_RUN = 120


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
    begin: IntArray, end: IntArray, *, seq_len: int, pred_len: int, fewest: int = 0, spare: int = 0
) -> IntArray:
    """Return the first rows of series, from begin to end, from which forecasts tell of errors.

    A whole context lies before them, or half of the rows where these are few; and `fewest` rows, as
    far as `spare` rows are left before the last origin: who knows less than two seasons forecasts
    otherwise than who knows them.
    >>> ends = np.array([900, 50])
    >>> earliest_origins(np.array([0, 0]), ends, seq_len=96, pred_len=10)
    array([96, 20])
    >>> earliest_origins(np.array([0, 0]), ends, seq_len=96, pred_len=10, fewest=24)
    array([96, 24])
    """
    last = end - begin - pred_len
    half = np.maximum(last // 2, _FEWEST_ROWS)
    whole = np.minimum(fewest, last - spare)
    return np.asarray(begin + np.maximum(np.minimum(seq_len, half), whole))


def spare_rows(n_series: int, distance: int) -> int:
    """Return the rows between the first and the last window of a series, where it needs several.

    All series together have as many as quantiles are taken from, at least.
    >>> spare_rows(1, 7), spare_rows(4, 7), spare_rows(40, 7)
    (35, 7, 0)
    """
    return (-(-FEWEST // n_series) - 1) * distance


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
    count = np.maximum((high - low) // distance + 1, 0)
    some, total = np.flatnonzero(count), int(count.sum())
    n_shifts = int(np.clip(n_most // max(total, 1), 1, distance))
    shift = np.arange(n_shifts) * distance // n_shifts
    last = (high[some][:, None] - shift).ravel()
    length = np.maximum((last - np.repeat(low[some], n_shifts)) // distance + 1, 0)
    n_runs = -(-length // _LONGEST_RUN)
    owner = np.repeat(np.arange(len(last)), n_runs)
    back = np.arange(len(owner)) - np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
    stop = last[owner] - back * _LONGEST_RUN * distance  # from the end: the latest run is whole
    size = np.minimum(length[owner] - back * _LONGEST_RUN, _LONGEST_RUN)
    mean = float(size.mean()) if len(size) else 1.0
    kept = spread_places(len(size), max(1, int(n_most / mean)))
    parts = [stop[i] - distance * np.arange(size[i])[::-1] for i in kept]
    origins = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    run = np.repeat(np.arange(len(kept)), size[kept])
    return origins, run, min(total, len(origins))


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
    known = ~np.isnan(sizes)
    weight = np.where(known, _DECAY ** np.arange(sizes.shape[1])[:, None], 0.0)
    logs = np.log(np.maximum(np.where(known, sizes, 1.0), _LEAST))
    median = _weighted_median(logs, weight)[:, None]
    near = np.clip(logs, median - np.log(_MOST), median + np.log(_MOST))
    return np.asarray(np.exp((weight * near).sum(axis=1) / (weight.sum(axis=1) + _PRIOR)))


def _weighted_median(logs: Float64Array, weight: Float64Array) -> Float64Array:
    """Find the median of the forecasts of each window, and of usual ones beside them."""
    n, _, k = logs.shape
    logs = np.concatenate([logs, np.zeros((n, 1, k))], axis=1)
    weight = np.concatenate([weight, np.full((n, 1, k), _PRIOR)], axis=1)
    order = np.argsort(logs, axis=1)
    share = np.take_along_axis(weight, order, axis=1).cumsum(axis=1)
    middle = np.argmax(share >= share[:, -1:] / 2, axis=1)[:, None]
    median: Float64Array = np.take_along_axis(np.take_along_axis(logs, order, axis=1), middle, 1)
    return median[:, 0]
