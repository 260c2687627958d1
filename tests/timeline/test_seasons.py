"""Seasons that no calendar has: found in numbered rows, or named by `season`."""

import numpy as np
import pandas as pd
import pytest

import skinformer
from skinformer import InformerClassifier, InformerRegressor


def cycle(n_rows, season, seed=1):
    """Return a wave of so many rows with noise."""
    noise = np.random.default_rng(seed).normal(0, 3, n_rows)
    return 100 + 20 * np.sin(2 * np.pi * np.arange(n_rows) / season) + noise


def error(model, y, n_rows, index=None):
    """Fit a model to the first rows, and return its mean absolute error on the others."""
    df = pd.DataFrame({"y": y}, index=index)
    forecast = model.fit(df[:n_rows]).forecast(horizon=len(y) - n_rows)
    return np.abs(forecast["y"].to_numpy() - y[n_rows:]).mean()


@pytest.mark.parametrize(
    ("season", "n_rows", "seq_len"),
    [(20, 100, 40), (37, 120, 40), (9, 45, 24), (20, 50, 96)],
)
def test_a_season_of_numbered_rows_is_forecast_from_few_windows(
    season, n_rows, seq_len
):
    """It is no worse than the last season by much, which has the noise of two rows."""
    y = cycle(n_rows + season, season)
    model = InformerRegressor("y", seq_len=seq_len, pred_len=season, random_state=0)
    last_season = np.abs(y[n_rows - season : n_rows] - y[n_rows:]).mean()
    assert error(model, y, n_rows) < 1.1 * last_season


def test_a_season_longer_than_the_window_is_forecast_from_many_windows():
    """Ridges see 14 rows, and classical forecasters the whole season."""
    y = cycle(437, 37)
    model = InformerRegressor(
        "y", seq_len=14, pred_len=37, members=["classical", "ridges"], random_state=0
    )
    assert error(model, y, 400) < 4.0


def test_a_named_season_of_dated_rows_is_forecast():
    """Days of which no week tells anything, and every tenth does."""
    rng = np.random.default_rng(1)
    y = np.resize(rng.normal(100, 20, 10), 80) + rng.normal(0, 3, 80)
    days = pd.date_range("2023-01-02", periods=80, freq="D")
    settings = {"seq_len": 7, "pred_len": 10, "random_state": 0}
    by_calendar = error(InformerRegressor("y", **settings), y, 70, days)
    named = error(InformerRegressor("y", season=10, **settings), y, 70, days)
    assert named < 0.6 * by_calendar
    assert named < 3.5


def test_two_named_seasons_are_forecast():
    """One of 20 rows on one of 90."""
    y = cycle(330, 20) + 15 * np.sin(2 * np.pi * np.arange(330) / 90)
    settings = {"seq_len": 40, "pred_len": 30, "members": ["classical"]}
    both = InformerRegressor("y", season=[90, 20], **settings)
    short = InformerRegressor("y", season=20, **settings)
    assert error(both, y, 300) < 0.7 * error(short, y, 300)
    assert both.timeline_.clock.seasons == (20, 90)


def test_dated_rows_keep_their_calendar():
    """What days show beside a week is not looked for."""
    days = pd.date_range("2023-01-02", periods=100, freq="D")
    df = pd.DataFrame({"y": cycle(100, 10)}, index=days)
    model = InformerRegressor("y", seq_len=14, pred_len=7, members=["ridges"]).fit(df)
    assert model.timeline_.clock.seasons == ()


def test_years_have_no_calendar():
    """A season of eleven years is found."""
    years = pd.period_range("1900", periods=91, freq="Y")
    model = InformerRegressor("y", seq_len=20, pred_len=11, random_state=0)
    assert error(model, cycle(91, 11), 80, years) < 3.5


def test_gaps_and_arrays_show_their_season():
    """Lines across gaps hide no season; arrays have numbered rows."""
    y = cycle(100, 20)
    y[[5, 33, 34, 71]] = np.nan
    model = InformerRegressor(seq_len=40, pred_len=20, members=["classical"]).fit(
        y[:, None]
    )
    assert model.timeline_.clock.seasons == (20,)


def test_a_file_keeps_the_season(tmp_path):
    """Forecasts after loading are the same."""
    y = cycle(100, 20)
    model = InformerRegressor(
        "y", seq_len=40, pred_len=20, season=20, members=["classical"]
    )
    model.fit(pd.DataFrame({"y": y}))
    model.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    assert loaded.get_params()["season"] == 20
    assert loaded.timeline_.clock.seasons == (20,)
    pd.testing.assert_frame_equal(loaded.forecast(), model.forecast())


@pytest.mark.parametrize("season", [1, 0, -3, 2.5, [], [7, 1], ["7"], "week", [7, 2.5]])
def test_a_season_that_is_no_number_of_rows_is_refused(season):
    """The message says what is allowed."""
    df = pd.DataFrame({"y": cycle(60, 20)})
    with pytest.raises(ValueError, match="season"):
        InformerRegressor("y", seq_len=10, pred_len=5, season=season).fit(df)


def test_a_classifier_takes_a_named_season():
    """Its trees look at phases of it."""
    rows = np.arange(300)
    df = pd.DataFrame({"state": np.where(rows % 20 < 5, "on", "off")})
    model = InformerClassifier(
        "state", seq_len=10, pred_len=5, season=20, members=["classes"], random_state=0
    )
    model.fit(df)
    assert model.timeline_.clock.seasons == (20,)
