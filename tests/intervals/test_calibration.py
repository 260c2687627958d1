"""What calibration takes from the clock."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skinformer.intervals.calibration import _at_same_steps, _seasons
from skinformer.timeline.clock import clock_for


@pytest.mark.parametrize(
    ("freq", "seasons"),
    [
        ("h", (24, 168)),
        ("30min", (2, 48, 336)),
        ("15min", (4, 96, 672)),
        ("D", (7,)),
        ("MS", (12,)),
    ],
)
def test_sizes_of_errors_follow_the_hour_of_the_day_and_of_the_week(freq, seasons):
    """Half-hours had a profile of two phases: full and half hours."""
    rows = pd.date_range("2024-01-01", periods=3, freq=freq)
    assert _seasons(SimpleNamespace(clock=clock_for(rows, rows.freq))) == seasons


def test_windows_of_all_series_begin_at_the_same_steps():
    """What happened to all of them on one day is seen on one day; a last window is kept."""
    timeline = SimpleNamespace(first_row=np.array([0, 40, 78, 86]), first_step=np.array([0, 0, 20]))
    low, last = np.array([10, 50, 83]), np.array([34, 72, 83])
    found = _at_same_steps(timeline, low, last, 7)
    assert found.tolist() == [34, 67, 83]  # steps 34, 27 and 25, which has no other
