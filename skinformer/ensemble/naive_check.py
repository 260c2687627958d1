"""Whether a fit is worth its forecasts: they are compared with a repeated season.

The season is chosen by the rows before the validation split, as a user would choose it; then it and
what was fitted forecast the same windows of the split.
"""

from typing import NamedTuple

import numpy as np

from skinformer.ensemble.fitting import FitRows
from skinformer.selection import FARTHEST, SMALL, mean_errors, shrinkage
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.seasons import likely_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, window_rows
from skinformer.validation.parameters import warn_of_better_naive

#: Windows of a split that are forecast once more for the comparison at most. PERF: two passes
#: through the network; 1024 windows before the split choose the season, in a few milliseconds.
_WINDOWS, _WINDOWS_BEFORE = 64, 1024
#: What is said to be worse has so much more error, on the mean of the logs, which is believed as
#: far as there are more than so many forecasts that do not overlap.
_MARGIN, _PRIOR = np.log(1.05), 4


class _Windows(NamedTuple):
    """Windows of a timeline, and what came in them.

    weight: shape (n_windows, pred_len, n_targets); 0 where the truth is missing.
    """

    timeline: Timeline
    origins: IntArray
    series: IntArray
    truth: Float32Array
    weight: Float64Array


def some_of_split(held_out: Origins) -> IntArray:
    """Choose at most 64 windows, spread over the validation splits, for the comparison."""
    return held_out.thinned(_WINDOWS)


def compare_with_naive(forecast: Float32Array, origins: IntArray, rows: FitRows) -> None:
    """Warn if repeating a season forecasts the validation split, which there is, clearly better.

    forecast: (n_windows, pred_len, n_targets), standardised, of all that will forecast, fitted
    before the split.
    origins: windows of the split.

    It warns if the mean absolute error is more than 5 % greater, on the mean of series and targets,
    or 16 % where two forecasts fill the split, and greater in either half of it, too: one bad day
    proves nothing.
    """
    timeline, split = rows.timeline, rows.split
    assert split is not None
    pred_len, n_targets = forecast.shape[1:]
    tested = _windows(timeline, origins, pred_len, n_targets)
    season = _season(timeline, split, pred_len, n_targets)
    naive, known = _repeat(tested, season)
    middle = (split + timeline.first_row[1:] - pred_len + 1) // 2
    late = origins >= middle[tested.series]
    halves = (np.ones(len(late), dtype=bool), ~late, late)
    weights = (known * half[:, None, None] for half in halves)
    excess = [_log_ratio(forecast, naive, tested._replace(weight=each)) for each in weights]
    length = (timeline.first_row[1:] - split)[np.unique(tested.series)]
    n_forecasts = (length // pred_len).sum()
    if excess[0] * shrinkage(n_forecasts, _PRIOR) > _MARGIN and min(excess) > 0:
        n_rows = int(np.median(np.diff(timeline.first_row)))
        worse = float(np.expm1(excess[0]))
        warn_of_better_naive(worse, season, seq_len=rows.sizes.seq_len, n_rows=n_rows)


def _windows(timeline: Timeline, origins: IntArray, pred_len: int, n_targets: int) -> _Windows:
    ahead = window_rows(origins, pred_len)
    weight = np.ones((*ahead.shape, n_targets))
    if timeline.weight is not None:
        weight *= timeline.weight[ahead]
    truth = timeline.values[ahead, :n_targets]
    return _Windows(timeline, origins, timeline.series_of(origins), truth, weight)


def _season(timeline: Timeline, split: IntArray, pred_len: int, n_targets: int) -> int:
    """Find the season whose repetition forecasts the rows before the split best."""
    before = Origins(timeline.first_row[:-1] + 1, split - pred_len).thinned(_WINDOWS_BEFORE)
    windows = _windows(timeline, before, pred_len, n_targets)
    last, seen = _repeat(windows, 1)
    scores = {1: 0.0}
    for season in likely_seasons(timeline.clock):
        naive, known = _repeat(windows, season)
        if (known > 0).mean() > 0.5:  # a season of fewer rows could not be seen by anyone
            both = windows._replace(weight=known * (seen > 0))
            scores[season] = _log_ratio(naive, last, both)
    return min(scores, key=lambda season: scores[season])


def _repeat(windows: _Windows, season: int) -> tuple[Float32Array, Float64Array]:
    """Forecast windows by the last season before each; weights are 0 where nothing is known."""
    timeline, pred_len = windows.timeline, windows.truth.shape[1]
    rows = windows.origins[:, None] - season + np.arange(pred_len) % season
    begin = timeline.first_row[windows.series][:, None]
    weight = windows.weight * (rows >= begin)[:, :, None]
    rows = np.maximum(rows, begin)
    if timeline.weight is not None:
        weight = weight * (timeline.weight[rows] > 0)
    return timeline.values[rows, : windows.truth.shape[2]], weight


def _log_ratio(forecast: Float32Array, other: Float32Array, windows: _Windows) -> float:
    """Compare mean absolute errors: the mean over series and targets of the logs of ratios."""
    truths = windows.truth, windows.weight, windows.series, windows.timeline.n_series
    mine, others = (mean_errors(guess, *truths) for guess in (forecast, other))
    judged = np.isfinite(mine) & (np.maximum(mine, others) > SMALL)
    if not judged.any():
        return 0.0
    ratio = np.maximum(mine[judged], SMALL) / np.maximum(others[judged], SMALL)
    return float(np.clip(np.log(ratio), -FARTHEST, FARTHEST).mean())
