"""Ranges of series that are always zero at some hours, or on some days."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor

#: Width of 80 % of a normal law, in deviations.
NORMAL = 2.56


def shop(n=2000, freq="h", deviation=15.0):
    """Return rows of a shop that is open for ten hours a day, and which of them are open."""
    index = pd.date_range("2024-01-01", periods=n, freq=freq)
    sales = np.random.default_rng(1).normal(200, deviation, n)
    is_open = (index.hour >= 8) & (index.hour < 18)
    return pd.DataFrame({"y": np.where(is_open, sales, 0.0)}, index), is_open


def days(n, open_days, deviation=30.0):
    """Return days of which some of the week are open, and which."""
    index = pd.date_range("2024-01-01", periods=n, freq="D")
    sales = np.random.default_rng(1).normal(900, deviation, n)
    is_open = np.isin(index.day_of_week, open_days)
    return pd.DataFrame({"y": np.where(is_open, sales, 0.0)}, index), is_open


def widths(rows, is_open, n, **parameters):
    """Fit n rows; return widths of ranges of open and of closed steps behind them, and hits."""
    parameters = {"members": ["ridges"], "random_state": 0, **parameters}
    model = InformerRegressor("y", **parameters).fit(rows[:n])
    low, high = model.predict_interval(rows[n:], coverage=0.8).T
    y = rows["y"].to_numpy()[n:]
    is_open = is_open[n:]
    hits = (low <= y) & (y <= high)
    width = high - low
    return width[is_open], width[~is_open], hits[is_open].mean()


def check(found, deviation, *, coverage=(0.7, 0.9)):
    """Assert that open steps have ranges as wide as they should be, and closed ones none."""
    of_open, of_closed, hits = found
    assert np.median(of_open) == pytest.approx(NORMAL * deviation, rel=0.35)
    assert of_open.max() < 2 * NORMAL * deviation
    assert of_closed.max() == 0
    assert coverage[0] <= hits <= coverage[1]


@pytest.mark.parametrize("n", [144, 1500])
def test_nights_of_a_shop_have_no_say_in_its_days(n):
    rows, is_open = shop(n + 240)
    check(widths(rows, is_open, n, seq_len=48), 15.0)


def test_quarters_of_an_hour_likewise():
    rows, is_open = shop(2880 + 384, freq="15min")
    check(widths(rows, is_open, 2880, seq_len=96, pred_len=96), 15.0)


@pytest.mark.parametrize("open_days", [[4], [0, 1, 2, 3, 4]])
def test_days_of_the_week_likewise(open_days):
    """A market on Fridays had ranges without any width."""
    rows, is_open = days(420 + 140, open_days)
    found = widths(rows, is_open, 420, seq_len=28, pred_len=14)
    check(found, 30.0, coverage=(0.65, 0.95))


def test_series_of_a_panel_have_hours_of_their_own():
    parts = {}
    for name, first in (("early", 6), ("late", 12)):
        index = pd.date_range("2024-01-01", periods=1000, freq="h")
        sales = np.random.default_rng(first).normal(200, 15, 1000)
        is_open = (index.hour >= first) & (index.hour < first + 8)
        parts[name] = pd.DataFrame({"y": np.where(is_open, sales, 0.0)}, index)
    model = InformerRegressor("y", members=["ridges"], seq_len=48, random_state=0)
    found = model.fit(pd.concat(parts)).forecast(coverage=0.8)
    width = found["y_0.9"] - found["y_0.1"]
    assert (width > 0).sum() == 16
    assert width[width > 0].between(0.5 * NORMAL * 15, 2 * NORMAL * 15).all()


def test_ranges_go_on_beyond_the_horizon_of_a_market():
    """No window of far steps need hold a Friday at each of them."""
    rows, _ = days(200, [4])
    model = InformerRegressor("y", members=["ridges"], seq_len=28, pred_len=7)
    found = (
        model.set_params(random_state=0).fit(rows).forecast(horizon=56, coverage=0.8)
    )
    width = (found["y_0.9"] - found["y_0.1"])[found.index.day_of_week == 4]
    assert len(width) == 8
    assert (width > 30).all()
    assert (width < 6 * NORMAL * 30).all()


def test_sunlight_stays_near_what_the_sun_gives():
    index = pd.date_range("2024-03-01", periods=1500, freq="h")
    half_day = 6 - 1.5 * np.cos(2 * np.pi * index.day_of_year / 365.25)
    height = np.cos(np.pi / 2 * np.minimum(abs(index.hour - 12) / half_day, 1))
    clouds = np.random.default_rng(1).uniform(0.6, 1, len(index))
    rows = pd.DataFrame({"y": 5 * height * clouds}, index).round(9)
    model = InformerRegressor("y", members=["ridges"], seq_len=48, random_state=0)
    found = model.fit(rows).forecast(coverage=0.8)
    assert found["y_0.9"].max() < 6


def test_a_series_of_zeros_has_a_range():
    index = pd.date_range("2024-01-01", periods=150, freq="D")
    model = InformerRegressor("y", seq_len=28, pred_len=14, random_state=0)
    model.fit(pd.DataFrame({"y": np.zeros(150)}, index))
    found = model.forecast(coverage=0.8)
    np.testing.assert_array_equal(found, np.zeros((14, 3)))
