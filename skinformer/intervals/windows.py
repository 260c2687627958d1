"""Windows of the history by whose errors intervals are found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.intervals.runs import (
    FEWEST,
    choose_runs,
    count_windows,
    earliest_origins,
    spare_rows,
)
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.timeline import Timeline


class CalibrationWindows(NamedTuple):
    """Windows of the history by which intervals are found.

    origins, run: (n,), their first forecast rows, and the run of windows that each is in.
    n_apart: how many of them share no row.
    n_moments: the same of the series that has most, since series of a panel are alike.
    """

    origins: IntArray
    run: IntArray
    n_apart: int
    n_moments: int


def choose_windows(
    forecaster: StepForecaster, distance: int, split: IntArray | None
) -> CalibrationWindows:
    """Choose windows in runs, whole ones if there are any, else those that the history cuts off.

    distance: rows between the windows of a run.
    split: rows before these have no window; None for all rows.
    """
    # Half as many where members are costly: from a quarter, steps ahead cover 5 points more or less
    # than asked.
    n_most = 1024 if forecaster.ensemble.cost == 1 else 512
    timeline = forecaster.history
    pred_len = forecaster.sizes.pred_len
    low, end = _range_of_origins(forecaster, pred_len, distance, split)
    for n_rows_after in (pred_len, 1):
        windows = _choose_until(timeline, low, end - n_rows_after, distance, n_most)
        if windows.n_apart:
            break
    return windows


def _choose_until(
    timeline: Timeline, low: IntArray, high: IntArray, distance: int, n_most: int
) -> CalibrationWindows:
    """Choose at most so many windows between two origins of each series."""
    overlap = 4  # windows that share a row, at most, where they are few
    high = _at_same_steps(timeline, low, high, distance)
    n_each = count_windows(low, high, distance)
    n_wanted = min(n_most, overlap * int(n_each.sum()))
    origins, run, n_apart = choose_runs(low, high, distance=distance, n_most=n_wanted)
    n_moments = max(int(n_each.max()), FEWEST)
    return CalibrationWindows(origins, run, n_apart, min(n_apart, n_moments))


def _at_same_steps(
    timeline: Timeline, low: IntArray, last: IntArray, distance: int
) -> IntArray:
    """Return last origins such that windows of all series begin at the same steps of the clock.

    What happens to all series at one time is seen by windows of one time. A series that ends
    earlier than others loses rows for it, but never its only window.
    """
    step = timeline.first_step + last - timeline.first_row[:-1]
    n_rows_after = (step - step.max()) % distance
    earlier = last - n_rows_after
    return np.where(earlier >= low, earlier, last)


def _range_of_origins(
    forecaster: StepForecaster, horizon: int, distance: int, split: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the first representative origin of each series, and the row after its last one."""
    begin = forecaster.history.first_row[:-1]
    end = forecaster.history.first_row[1:]
    low = earliest_origins(
        begin,
        end,
        seq_len=forecaster.sizes.seq_len,
        pred_len=horizon,
        fewest=forecaster.ensemble.fewest_rows,
        spare=spare_rows(len(begin), distance),
    )
    if split is not None:
        low = np.maximum(low, split)
    return low, end


def choose_far_windows(
    forecaster: StepForecaster, distance: int, split: IntArray | None
) -> tuple[IntArray, int]:
    """Choose windows of several times `pred_len` steps: their origins, and how long they are.

    They are as long as there are six of this length that begin apart, at most four times; there may
    be none.
    """
    n_most = 96 // forecaster.ensemble.cost
    for n_blocks in (4, 3, 2):
        horizon = n_blocks * forecaster.sizes.pred_len
        low, end = _range_of_origins(forecaster, horizon, distance, split)
        high = end - horizon
        # As many begin apart; others between them cost much, and say hardly more.
        n_wanted = min(n_most, int(count_windows(low, high, distance).sum()))
        origins, _, n_apart = choose_runs(low, high, distance=distance, n_most=n_wanted)
        if n_apart >= FEWEST:
            return origins, horizon
    return origins[:0], horizon


def count_apart(origins: IntArray, distance: int) -> int:
    """Count windows that share no row, at most."""
    count = 0
    last = -distance
    for origin in np.sort(origins):
        if origin >= last + distance:
            count += 1
            last = origin
    return count
