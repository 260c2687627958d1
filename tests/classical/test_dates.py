"""What returns at a date is found in rows of weeks and days, in years of any length."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.classical.dates import find_date_effects
from skinformer.classical.past import Past

HORIZON = 8


def weekly_sales(end, n_rows, *, date=(12, 25), is_start=False, growth=0.0):
    """Draw sales of weeks with 250 more where the date lies, named by their last or first day."""
    weekday = pd.Timestamp(end).strftime("%a").upper()
    weeks = pd.date_range(end=end, periods=n_rows + HORIZON, freq=f"W-{weekday}")
    first = weeks if is_start else weeks - pd.Timedelta(days=6)
    month, day = date
    days_since = [
        (pd.Timestamp(week.year + later, month, day) - week).days
        for week in first
        for later in (0, 1)
    ]
    is_date = (np.reshape(days_since, (-1, 2)) // 7 == 0).any(axis=1)
    rng = np.random.default_rng(n_rows)
    wave = 20 * np.sin(2 * np.pi * weeks.day_of_year / 365.25)
    sales = 200 + wave + rng.normal(0, 8, len(weeks)) + 250 * is_date
    sales = sales * np.exp(growth * np.arange(len(weeks)) / len(weeks))
    return pd.DataFrame({"sales": sales}, weeks), is_date


def daily_sales(end, n_rows, date):
    """Draw sales of days with 120 more at a date."""
    days = pd.date_range(end=end, periods=n_rows)
    is_date = (days.month == date[0]) & (days.day == date[1])
    rng = np.random.default_rng(days[-1].year)
    wave = 10 * np.sin(2 * np.pi * days.day_of_week / 7)
    sales = 100 + wave + rng.normal(0, 4, len(days)) + 120 * is_date
    return pd.DataFrame({"sales": sales}, days)


def error_at_dates(df, is_date, **settings):
    model = InformerRegressor("sales", pred_len=HORIZON, random_state=0, **settings)
    forecast = model.fit(df[:-HORIZON]).forecast()["sales"]
    error = (forecast - df["sales"][-HORIZON:]).abs()
    assert is_date[-HORIZON:].sum() == 1
    return error[is_date[-HORIZON:]].item(), error[~is_date[-HORIZON:]].mean()


@pytest.mark.parametrize(
    ("end", "n_rows", "options"),
    [
        ("2025-02-08", 257, {}),
        ("2024-12-28", 180, {}),
        ("2025-01-19", 160, {"is_start": True}),
        ("2024-08-01", 260, {"date": (7, 4)}),
        # 53 weeks behind the one before: 52 rows ago is the week after.
        ("2023-01-28", 160, {}),
        ("2024-01-28", 260, {}),
        # Two of them are no typing errors.
        ("2023-01-28", 110, {}),
    ],
)
def test_a_date_is_forecast_in_its_week(end, n_rows, options):
    df, is_date = weekly_sales(end, n_rows, **options)
    at_date, elsewhere = error_at_dates(df, is_date)
    assert at_date < 40
    assert elsewhere < 20


@pytest.mark.parametrize(("end", "n_rows"), [("2025-02-08", 257), ("2025-01-12", 420)])
def test_a_date_is_forecast_beside_members_that_know_none(end, n_rows):
    df, is_date = weekly_sales(end, n_rows)
    at_date, elsewhere = error_at_dates(df, is_date, seq_len=52)
    assert at_date < 30
    assert elsewhere < 20


@pytest.mark.parametrize("seq_len", [96, 365])
def test_a_date_of_days_is_forecast_beside_members_that_know_none(seq_len):
    df = daily_sales("2024-12-30", 1214, (12, 24))
    model = InformerRegressor("sales", seq_len=seq_len, pred_len=14, random_state=0)
    forecast = model.fit(df[:-14]).forecast(coverage=0.8)
    error = (forecast["sales"] - df["sales"][-14:]).abs()
    assert error.max() < 20  # of 120
    weights = model.ensemble_.weights_of("classical")
    assert weights.max() < 0.9
    # Few years have shown what happens at a date.
    width = forecast.iloc[:, -1] - forecast.iloc[:, -2]
    at_date = width.pop(pd.Timestamp("2024-12-24"))
    assert 1.1 * width.median() < at_date < 2 * width.median()


def test_a_week_is_misled_by_a_date_a_season_ago():
    # Christmas of 2022 is the last day of a week, 53 weeks before that of 2023.
    df, is_date = weekly_sales("2024-01-28", 260)
    past, last_day = window(df["sales"].to_numpy()[:-HORIZON], "2023-12-10")
    effects = find_date_effects(past, last_day, 7)
    at = np.flatnonzero(is_date[-HORIZON:]).item()
    assert np.flatnonzero(effects.ahead[0]).tolist() == [at]
    assert np.flatnonzero(effects.misled[0]).tolist() == [at - 1]
    assert np.flatnonzero(effects.steps[0]).tolist() == [at - 1, at]


def test_the_week_before_a_date_is_found_where_its_number_is_mixed():
    weeks = pd.date_range(end="2025-02-08", periods=168, freq="W-SAT")
    is_date = (weeks.month == 12) & (weeks.day >= 25)
    is_before = np.append(is_date[1:], False)
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(0, 8, 168)
        wave = 40 * np.sin(2 * np.pi * np.arange(168) / 52)
        values = 200 + wave + noise + 250 * is_date + 100 * is_before
        effects = find_date_effects(*window(values[:-HORIZON], "2024-12-21"), 7)
        assert np.count_nonzero(effects.ahead[0, :2]) == 2


@pytest.mark.parametrize("differing", [False, True])
def test_errors_are_larger_where_few_years_show_a_date_or_differ(differing):
    weeks = pd.date_range(end="2025-02-09", periods=268, freq="W-SUN")
    is_date = (weeks.month == 12) & (weeks.day >= 25)
    effect = 250 + differing * 20 * (weeks.year.to_numpy() % 3)
    factors = []
    for seed in range(10):
        values = 200 + np.random.default_rng(seed).normal(0, 4, 268) + effect * is_date
        effects = find_date_effects(*window(values[:-HORIZON], "2024-12-22"), 7)
        is_there = effects.ahead[0] != 0
        assert np.count_nonzero(is_there) == 1
        assert (effects.widening[0, ~is_there] == 1).all()
        factors.append(effects.widening[0, is_there].item())
    # Of four years.
    assert np.mean(factors) > (2 if differing else np.sqrt(1 + 1 / 4) - 1e-9)
    assert differing or np.mean(factors) < 1.4


@pytest.mark.parametrize("noise", [1, 8])
def test_what_sticks_out_is_no_part_of_the_level_around(noise):
    added = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        days = pd.date_range("2021-09-01", periods=1206)
        is_date = (days.month == 12) & (days.day == 14)
        week = 10 * np.sin(2 * np.pi * np.arange(1206) / 7)
        values = 100 + week + rng.normal(0, noise, 1206) + 110 * is_date
        past = Past(values[None, :1200], np.arange(1228)[None])
        last_day = days[[1200]].to_numpy().astype("datetime64[D]")
        effects = find_date_effects(past, last_day, 1)
        added.append(effects.ahead.sum())
    assert np.mean(added) == pytest.approx(110, abs=8)


def test_weeks_as_periods_are_those_of_their_last_days():
    df, is_date = weekly_sales("2024-01-28", 160)
    at_date, elsewhere = error_at_dates(df.to_period("W-SUN"), is_date)
    assert at_date < 40
    assert elsewhere < 20


def test_what_happens_at_a_date_grows_with_sales():
    df, is_date = weekly_sales("2025-01-19", 160, growth=1.0)
    at_date, _ = error_at_dates(df, is_date)
    assert at_date < 200  # of 680


@pytest.mark.parametrize("year", [2024, 2025])
def test_a_leap_day_moves_no_date(year):
    df = daily_sales(f"{year}-03-12", 1214, (3, 8))
    model = InformerRegressor("sales", pred_len=14, members=["classical"])
    forecast = model.fit(df[:-14]).forecast()["sales"]
    assert (forecast - df["sales"][-14:]).abs().max() < 30


def window(values, last_day):
    """Return one window whose first week ahead ends at a day."""
    wall = np.arange(len(values) + HORIZON)
    return Past(values[None], wall[None]), np.array([last_day], "datetime64[D]")


def test_rows_of_a_season_of_52_rows_stay():
    rng = np.random.default_rng(0)
    season = np.tile(100 + rng.normal(0, 10, 52), 5) + rng.normal(0, 3, 260)
    effects = find_date_effects(*window(season, "2024-12-22"), 7)
    assert effects.rows[0].tolist() == list(range(260))


@pytest.mark.parametrize("n_rows", [30, 51])
def test_less_than_a_year_has_no_dates(n_rows):
    assert find_date_effects(*window(np.ones(n_rows), "2024-12-22"), 7) is None


def test_one_year_alone_proves_nothing():
    values = np.full(60, 100.0)
    values[8] = 400.0
    effects = find_date_effects(*window(values, "2024-12-22"), 7)
    assert not effects.past.any()
    assert not effects.ahead.any()


def test_what_is_missing_has_no_effect():
    values = np.full(160, 100.0) + np.random.default_rng(1).normal(size=160)
    values[30:100] = np.nan
    effects = find_date_effects(*window(values, "2024-12-22"), 7)
    assert np.isfinite(effects.past).all()
    assert not effects.ahead.any()
