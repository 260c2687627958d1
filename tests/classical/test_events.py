"""Days and weeks after a date such as Christmas are forecast as if nothing had been there."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.classical.dates import find_events
from skinformer.classical.past import Past
from skinformer.timeline.dates import number_of_date


def days_with_peaks(start, end, *, size=200, date=(12, 24), seed=0):
    """Draw days around 100 with a peak at a date."""
    days = pd.date_range(start, end)
    is_date = (days.month == date[0]) & (days.day == date[1])
    noise = np.random.default_rng(seed).normal(0, 5, len(days))
    return pd.DataFrame({"v": 100 + noise + size * is_date}, index=days)


def weeks_with_peaks(end):
    """Draw weeks around 200 with a peak at Christmas."""
    weeks = pd.date_range("2020-01-05", end, freq="W-SUN")
    days_since = (weeks.day_of_year - 359 - weeks.is_leap_year) % 366
    noise = np.random.default_rng(0).normal(0, 8, len(weeks))
    return pd.DataFrame({"v": 200 + noise + 250 * (days_since < 7)}, index=weeks)


def fitted(df, **settings):
    model = InformerRegressor("v", seq_len=28, pred_len=14, random_state=0, **settings)
    return model.fit(df)


@pytest.mark.parametrize("size", [200, 60, -100])
@pytest.mark.parametrize("settings", [{}, {"members": ["classical"]}])
def test_a_peak_that_returns_lifts_no_days_behind_it(size, settings):
    df = days_with_peaks("2022-01-01", "2023-12-26", size=size)
    forecast = fitted(df, **settings).forecast()["v"]
    assert forecast.mean() == pytest.approx(100, abs=2.5)


def test_a_peak_in_weeks_lifts_no_weeks_behind_it():
    forecast = fitted(weeks_with_peaks("2024-01-07")).forecast(horizon=8)["v"]
    assert forecast.mean() == pytest.approx(200, abs=4)


@pytest.mark.parametrize("sign", [-1, 1])
def test_days_beside_a_week_that_is_closed_are_no_events(sign):
    """Inside of it the level of a week is the closure, and days beside it stick out."""
    days = pd.date_range("2021-01-01", "2023-01-07")
    is_closed = (days.month == 12) & (days.day >= 22) & (days.day <= 28)
    noise = np.random.default_rng(0).normal(0, 3, len(days))
    weekly = 20 * np.sin(2 * np.pi * np.arange(len(days)) / 7)
    past = Past(
        (100 + weekly + noise + sign * 70 * is_closed)[None],
        np.arange(len(days) + 14)[None],
    )
    beside = number_of_date(np.array(["2022-12-21", "2022-12-29"], "datetime64[D]"))
    last_day = np.array(["2023-01-08"], "datetime64[D]")
    assert not find_events(past, last_day, 1)[0, beside].any()


def test_a_later_peak_lifts_no_days_behind_it():
    df = days_with_peaks("2021-01-01", "2023-12-26")
    model = fitted(df[:"2023-12-01"]).update(df["2023-12-02":])
    assert model.forecast()["v"].mean() == pytest.approx(100, abs=2.5)


def test_a_peak_that_is_forecast_lifts_no_days_behind_it():
    df = days_with_peaks("2020-01-01", "2023-12-15")
    forecast = fitted(df).forecast(horizon=42)["v"]
    assert forecast["2023-12-24"] > 250
    assert forecast["2023-12-29":].mean() == pytest.approx(100, abs=2.5)


def test_each_series_and_target_has_its_own_peaks():
    parts = []
    for name, date in (("a", (12, 24)), ("b", (6, 1))):
        df = days_with_peaks("2022-01-01", "2023-12-26", date=date)
        df["w"] = days_with_peaks("2022-01-01", "2023-12-26", date=(12, 20), seed=1)
        parts.append(pd.concat({name: df}, names=["series"]))
    model = InformerRegressor(["v", "w"], seq_len=28, pred_len=14, random_state=0)
    means = model.fit(pd.concat(parts)).forecast().groupby(level=0).mean()
    assert means.to_numpy() == pytest.approx(100, abs=2.5)


def test_a_known_column_keeps_its_effect_beside_peaks():
    df = days_with_peaks("2022-01-01", "2023-12-26")
    df["price"] = np.random.default_rng(2).normal(size=len(df))
    df["v"] += 30 * df["price"]
    future = pd.DataFrame({"price": 0.0}, index=pd.date_range("2023-12-27", periods=14))
    model = fitted(df, known_future=["price"])
    assert model.forecast(future)["v"].mean() == pytest.approx(100, abs=3)


def found(values, last_day, step_days=1):
    """Return the numbers of dates found in one series before a day."""
    wall = np.arange(len(values) + 14)
    last_day = np.array([last_day], "datetime64[D]")
    events = find_events(Past(values[None], wall[None]), last_day, step_days)
    return np.flatnonzero(events[0]).tolist()


@pytest.mark.parametrize(
    "end", ["2023-12-24", "2023-12-26", "2024-02-29", "2024-12-24"]
)
@pytest.mark.parametrize("start", ["2020-01-01", "2022-03-01"])
def test_dates_are_found_in_two_years(start, end):
    df = days_with_peaks(start, end)
    next_day = df.index[-1] + pd.Timedelta(days=1)
    number = number_of_date(np.array(["2023-12-24"], "datetime64[D]")).item()
    assert found(df["v"].to_numpy(), next_day) == [number]


def test_a_week_is_found_by_its_date():
    df = weeks_with_peaks("2024-03-03")
    [number] = found(df["v"].to_numpy(), "2024-03-10", 7)
    assert abs(number - 359) <= 3  # the 25th of December


def test_one_year_alone_proves_no_date():
    df = days_with_peaks("2023-01-01", "2023-12-26")
    assert not found(df["v"].to_numpy(), "2023-12-27")


@pytest.mark.parametrize("draw", ["normal", "lognormal", "poisson"])
def test_chance_makes_few_dates(draw):
    rng = np.random.default_rng(0)
    values = getattr(rng, draw)(size=(100, 1000)).astype(float)
    wall = np.tile(np.arange(1014), (100, 1))
    last_day = np.full(100, "2024-06-01", "datetime64[D]")
    assert find_events(Past(values, wall), last_day, 1).sum() < 50
