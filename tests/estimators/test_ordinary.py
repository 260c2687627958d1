"""Ordinary data, by the defaults: never absurd, and about as good as the right simple forecast."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skinformer import InformerRegressor, Training

# It has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*never observed:UserWarning")


def waves(n, season, size=20.0, noise=2.0, seed=0):
    """Return a clear season with noise."""
    t = 2 * np.pi * np.arange(n) / season
    rough = noise * np.random.default_rng(seed).normal(size=n)
    return 100 + size * np.sin(t) + size / 2 * np.cos(2 * t) + rough


def errors(values, freq, n, **parameters):
    """Give mean absolute errors of what follows n rows: by the estimator, and of each forecast."""
    index = pd.date_range("2020-01-01", periods=len(values), freq=freq)
    model = InformerRegressor("y", **with_parts(random_state=0, **parameters))
    model.fit(pd.DataFrame({"y": values[:n]}, index[:n]))
    forecast = model.forecast(horizon=len(values) - n)["y"].to_numpy()
    return np.abs(forecast - values[n:]).mean()


@pytest.mark.parametrize(
    ("freq", "season", "rows", "sizes"),
    [
        ("MS", 12, (23, 24, 25, 36), {"seq_len": 24, "pred_len": 12}),
        ("MS", 12, (24, 25), {"pred_len": 12}),
        ("h", 24, (120, 143), {"seq_len": 96, "pred_len": 24}),
        ("D", 7, (15, 21, 27), {"seq_len": 14, "pred_len": 7}),
        ("QS", 4, (12, 15), {"seq_len": 8, "pred_len": 4}),
    ],
)
def test_no_number_of_rows_is_a_cliff(freq, season, rows, sizes):
    """Not where windows begin to fit, nor at exactly two seasons."""
    for n in rows:
        values = waves(n + sizes["pred_len"], season)
        assert errors(values, freq, n, **sizes) < 4.5  # noise alone makes 1.6


def test_a_season_that_was_seen_once_is_believed():
    """Twelve months are all that a young shop has."""
    assert errors(waves(24, 12), "MS", 12, pred_len=12) < 6


@pytest.mark.parametrize("ago", [7, 10, 14])
def test_a_step_is_believed_from_one_season_on(ago):
    """A price that rose: what came before says nothing of the level, but all of the season."""
    values = waves(207, 7, 5, 1) + 40 * (np.arange(207) >= 200 - ago)
    # Ridges, judged on rows before the step, believe it from ten days on.
    members = {"members": ["classical"]} if ago == 7 else {}
    assert errors(values, "D", 200, seq_len=28, pred_len=7, max_iter=1, **members) < 4


@pytest.mark.parametrize("seed", range(3))
def test_a_step_of_months_is_believed(seed):
    """A quarter of four years ago."""
    values = waves(54, 12, 10, 2, seed=seed) + 40 * (np.arange(54) >= 36)
    assert errors(values, "MS", 48, pred_len=6) < 4  # the season: 2.7


def test_a_line_of_one_year_is_no_season():
    """52 weeks say nothing of a year; but it would begin with a leap back."""
    values = 100 + np.arange(60.0) + 2 * np.random.default_rng(0).normal(size=60)
    assert errors(values, "W", 52, pred_len=8) < 8  # the season: 52


@pytest.mark.parametrize("seed", range(3))
def test_a_line_of_twelve_months_is_no_season(seed):
    """Its season would begin with a leap back, but not move farther on the mean than it did."""
    values = 100 + 5 * np.arange(18.0) + 3 * np.random.default_rng(seed).normal(size=18)
    assert errors(values, "MS", 12, pred_len=6) < 25  # the season: 60


@pytest.mark.parametrize(
    "missing", [slice(100, 300), slice(0, 280)], ids=["hole", "front"]
)
def test_a_long_hole_leaves_the_season(missing):
    """What was observed counts, wherever it lies."""
    values = waves(414, 7, 5, 0.5)
    values[missing] = np.nan
    assert errors(values, "D", 400, pred_len=14) < 0.7


@pytest.mark.parametrize("open_", [(8, 18), (9, 15)])
def test_closed_hours_are_no_rows_to_build_on(open_):
    """Nights and weekends of an office are never observed, and no forecast feeds on itself."""
    days = pd.bdate_range("2024-01-01", periods=60)
    index = pd.DatetimeIndex(
        [d + pd.Timedelta(hours=h) for d in days for h in range(*open_)]
    )
    noise = 2 * np.random.default_rng(0).normal(size=len(index))
    calls = 30 + 8 * (index.day_of_week == 0) - 1.5 * (index.hour - 9) + noise
    frame = pd.DataFrame({"calls": calls}, index)
    train, truth = frame[index < days[-2]], frame[index >= days[-2]]
    model = InformerRegressor(
        "calls", random_state=0, training=Training(max_iter=1)
    ).fit(train.asfreq("h"))
    forecast = model.forecast(horizon=72)
    low, high = calls.min(), calls.max()
    assert forecast["calls"].between(2 * low - high, 2 * high - low).all()
    off = (forecast["calls"] - truth["calls"]).dropna()
    assert len(off) > 5
    assert off.abs().mean() < 2.5


def test_steps_that_are_never_observed_are_told():
    """Once a fit, with what else one can do."""
    index = pd.date_range("2024-01-01", periods=24 * 30, freq="h")
    values = np.where((index.hour > 8) & (index.hour < 18), 10.0 + index.hour, np.nan)
    model = InformerRegressor("y", random_state=0, members=["classical"])
    with pytest.warns(
        UserWarning, match=r"never observed \(15 of 24.*leave out these rows"
    ):
        model.fit(pd.DataFrame({"y": values}, index))


@pytest.mark.parametrize("days", [20, 60])
def test_the_sun_does_not_shine_at_night(days):
    """What was never other than zero at its hour stays zero, its range as well."""
    index = pd.date_range("2024-05-01", periods=24 * days, freq="h")
    clouds = np.repeat(np.random.default_rng(0).uniform(0.3, 1.1, days), 24)
    height = np.sin(np.pi * (index.hour.to_numpy() - 5.5) / 15)
    power = np.where((index.hour >= 6) & (index.hour < 20), 4000 * height * clouds, 0.0)
    model = InformerRegressor(
        "y", pred_len=24, random_state=0, training=Training(max_iter=1)
    )
    model.fit(pd.DataFrame({"y": power.clip(0)}, index))
    forecast = model.forecast(horizon=72, coverage=0.8)
    night = (forecast.index.hour < 6) | (forecast.index.hour >= 20)
    assert (forecast[night] == 0).all(axis=None)
    assert (
        forecast[(forecast.index.hour > 8) & (forecast.index.hour < 17)]["y"] > 500
    ).all()


def test_a_year_is_seen_beyond_the_look_back():
    """Two years of days, as long as a look-back of eight weeks cannot know."""
    t = np.arange(730 + 350)
    noise = 4 * np.random.default_rng(0).normal(size=len(t))
    values = (
        100
        + 40 * np.sin(2 * np.pi * t / 365.25)
        + 5 * np.sin(2 * np.pi * t / 7)
        + noise
    )
    assert errors(values, "D", 730, seq_len=56, pred_len=28, max_iter=1) < 12


def test_a_winters_business_is_forecast_in_winter():
    """Decembers and Januaries alone are known of each year."""
    index = pd.date_range("2015-01-01", periods=108, freq="MS")
    level = np.select([index.month == 12, index.month == 1], [100.0, 140.0], np.nan)
    values = level + 3 * np.random.default_rng(0).normal(size=108)
    model = InformerRegressor("y", pred_len=12, random_state=0)
    model.fit(pd.DataFrame({"y": values[:96]}, index[:96]))
    assert np.nanmean(np.abs(model.forecast()["y"] - values[96:])) < 4


@pytest.mark.parametrize(
    ("freq", "season", "rows", "n_zeros", "sizes"),
    [
        ("MS", 12, 60, 9, {"pred_len": 6}),
        ("MS", 12, 30, 7, {"pred_len": 6}),
        ("D", 7, 120, 20, {"pred_len": 14}),
        ("QS", 4, 24, 6, {"pred_len": 4}),
    ],
)
def test_what_is_sold_no_longer_is_forecast_at_zero(freq, season, rows, n_zeros, sizes):
    """It was sold steadily; months were forecast at up to half of that."""
    values = waves(rows + sizes["pred_len"], season)
    values[rows - n_zeros :] = 0
    assert errors(values, freq, rows, **sizes) < 1e-6


def test_hours_go_by_the_clock_on_the_wall():
    """The days after summer time begins, of a history that holds no change of the clock."""
    index = pd.date_range("2025-03-08", periods=24 * 24, freq="h", tz="Europe/Paris")
    hour = index.hour.to_numpy()
    values = (
        100
        + 30 * np.sin(2 * np.pi * hour / 24)
        + np.random.default_rng(0).normal(size=576)
    )
    n = int((index < pd.Timestamp("2025-03-29", tz="Europe/Paris")).sum())
    model = InformerRegressor("y", random_state=0, pred_len=24, members=["classical"])
    model.fit(pd.DataFrame({"y": values[:n]}, index[:n]))
    forecast = model.forecast(horizon=72)["y"].to_numpy()
    assert np.abs(forecast - values[n : n + 72]).mean() < 2  # an hour off makes 5


@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 1000),
    share=st.floats(0.0, 0.7),
    places=st.sets(st.integers(0, 23), max_size=18),
    members=st.sampled_from([["ridges"], ["classical"], ["classical", "ridges"]]),
    horizon=st.integers(1, 200),
)
def test_nothing_feeds_on_itself(seed, share, places, members, horizon):
    """Whatever is missing, no forecast leaves what was seen by more than one and a half of it."""
    random = np.random.default_rng(seed)
    values = waves(400, 24, noise=5, seed=seed)
    index = pd.date_range("2024-01-01", periods=400, freq="h")
    values[index.hour.isin(places)] = np.nan
    values[random.random(400) < share] = np.nan
    values[200:203] = 100.0, 90.0, 110.0  # some are known
    model = InformerRegressor(
        "y", seq_len=24, pred_len=12, members=members, random_state=0
    )
    forecast = model.fit(pd.DataFrame({"y": values}, index)).forecast(horizon=horizon)[
        "y"
    ]
    low, high = np.nanmin(values), np.nanmax(values)
    room = 1.5 * (high - low) + 1e-3
    assert forecast.between(low - room, high + room).all()


def test_wild_ridges_do_not_run_away():
    """Forecast upon forecast, maps of six times their size stay near what was seen."""
    values = waves(400, 24)
    rows = pd.DataFrame(
        {"y": values}, pd.date_range("2024-01-01", periods=400, freq="h")
    )
    model = InformerRegressor(
        "y", seq_len=24, pred_len=12, members=["ridges"], random_state=0
    )
    model.fit(rows)
    model.module_.path.own.mul_(6.0)
    forecast = model.forecast(horizon=240)["y"]
    room = 1.5 * np.ptp(values) + 1e-3
    assert forecast.between(values.min() - room, values.max() + room).all()
    assert forecast.max() > values.max() + 0.9 * room  # there it was held


@pytest.mark.parametrize("members", [["ridges"], ["ridges", "network"]], ids=str)
def test_a_closed_step_holds_what_was_before_it(members):
    """In the history, and in what forecasts are built on, whoever forecasts."""
    index = pd.date_range("2024-01-01", periods=24 * 20, freq="h")
    open_ = (index.hour > 8) & (index.hour < 18)
    values = np.where(open_, waves(480, 24), np.nan)
    model = InformerRegressor(
        "y", seq_len=24, pred_len=12, members=members, random_state=0
    )
    model.fit(pd.DataFrame({"y": values}, index))
    held = pd.Series(model.timeline_.values[:, 0], index)
    nights = held[(index.hour >= 18) & (index < index[-24])]
    evenings = held[index.hour == 17].reindex(
        nights.index.floor("D") + pd.Timedelta(hours=17)
    )
    np.testing.assert_array_equal(nights, evenings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("freq", "season", "n", "horizon", "sizes"),
    [
        ("D", 365.25, 1461, 730, {"seq_len": 56, "pred_len": 28}),
        ("W", 52.18, 300, 520, {"seq_len": 26, "pred_len": 13}),
        ("15min", 96, 700, 960, {"seq_len": 96, "pred_len": 96}),
    ],
)
def test_a_long_recursion_keeps_level_and_season(freq, season, n, horizon, sizes):
    """Where the last hundreds of rows are forecasts all candidates still know what was before."""
    values = waves(n + horizon, season)
    members = {"members": ["classical", "ridges"]}
    assert errors(values, freq, n, **sizes, **members) < 4  # noise alone makes 1.6
