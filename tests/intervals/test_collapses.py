"""Ranges behind a collapse that has been recovered from, as of Covid."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, load

#: Width of 80 % of a normal law, in deviations.
NORMAL = 2.56
DEVIATION = 10.0


def sales(n, freq, season, *, first, lasts, factor=0.2, seed=1):
    """Return a season and noise, of which some rows, counted from the end, are a collapse."""
    random = np.random.default_rng(seed)
    step = np.arange(n)
    y = 300 + 60 * np.sin(2 * np.pi * step / season) + random.normal(0, DEVIATION, n)
    is_low = (step >= n - first) & (step < n - first + lasts)
    index = pd.date_range("2015-01-05", periods=n, freq=freq)
    return pd.DataFrame({"y": np.where(is_low, factor * y, y)}, index)


def widths(rows, pred_len):
    """Fit rows; return how wide ranges are behind them."""
    model = InformerRegressor("y", pred_len=pred_len, random_state=0).fit(rows)
    _, low, high = model.forecast(coverage=0.8).to_numpy().T
    return high - low


@pytest.mark.parametrize(
    ("n", "freq", "season", "first", "lasts"),
    [(108, "MS", 12, 24, 12), (84, "MS", 12, 20, 6), (60, "D", 7, 14, 7)],
)
def test_a_collapse_has_no_say_in_how_wide_ranges_are(n, freq, season, first, lasts):
    rows = sales(n, freq, season, first=first, lasts=lasts)
    assert np.median(widths(rows, 6)) < 2 * NORMAL * DEVIATION


def test_ranges_are_about_those_without_it():
    shape = {"n": 120, "freq": "D", "season": 7}
    collapsed = widths(sales(**shape, first=20, lasts=10), 7)
    usual = widths(sales(**shape, first=0, lasts=0), 7)
    assert np.median(collapsed / usual) == pytest.approx(1.0, rel=0.3)


def test_series_of_a_panel_have_collapses_of_their_own():
    panel = pd.concat(
        {
            "shop": sales(84, "MS", 12, first=20, lasts=6, seed=1),
            "other": sales(84, "MS", 12, first=0, lasts=0, seed=2),
        },
        names=["series", "month"],
    )
    model = InformerRegressor("y", pred_len=6, random_state=0).fit(panel)
    _, low, high = model.forecast(coverage=0.8).to_numpy().T
    assert np.median(high - low) < 2 * NORMAL * DEVIATION


def test_a_collapse_that_lasts_makes_ranges_wide():
    lasting = widths(sales(84, "MS", 12, first=6, lasts=6), 6)
    assert np.median(lasting) > 2 * NORMAL * DEVIATION


def test_a_file_has_the_same_ranges(tmp_path):
    rows = sales(84, "MS", 12, first=20, lasts=6)
    model = InformerRegressor("y", pred_len=6, random_state=0).fit(rows)
    expected = model.forecast(coverage=0.8)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.forecast(coverage=0.8), expected)
