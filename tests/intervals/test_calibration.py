"""What calibration takes from the clock."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def ranges_of(df, **options):
    sizes = {
        "seq_len": 8,
        "pred_len": 4,
        "members": ["ridges"],
        "random_state": 0,
    } | options
    return InformerRegressor("load", **sizes).fit(df).intervals_


@pytest.mark.parametrize(
    ("freq", "season"),
    [("h", 168), ("30min", 336), ("15min", 672), ("D", 7), ("MS", 12)],
)
def test_sizes_of_errors_follow_the_hour_of_the_day_and_of_the_week(freq, season):
    """Half-hours had a profile of two phases: full and half hours."""
    times = pd.date_range("2020-01-01", periods=200, freq=freq)
    noise = np.random.default_rng(0).normal(size=200)
    assert len(ranges_of(pd.DataFrame({"load": noise}, times)).spread.profile) == season


def test_windows_of_all_series_begin_at_the_same_steps():
    """What happened to all of them on one day is seen on one day."""
    rng = np.random.default_rng(0)
    parts = {
        name: pd.DataFrame({"load": rng.normal(size=n)}, np.arange(begin, begin + n))
        for name, begin, n in (("a", 0, 90), ("b", 3, 80), ("c", 20, 68))
    }
    found = ranges_of(pd.concat(parts))
    begun = [found.residuals.origins[found.residuals.series == i] for i in range(3)]
    phases = [set((steps % found.distance).tolist()) for steps in begun]
    assert phases[0] == phases[1] == phases[2]
    assert 1 < len(phases[0]) < found.distance
