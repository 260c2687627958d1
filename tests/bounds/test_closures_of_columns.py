"""Closures that a column tells: zeros of closed steps are no level, in the fit and after it."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, load

OF_WEEKDAY = np.array([1, 0.8, 0.8, 0.95, 1.2, 1.6, 1.0])


def shop(n_rows, closed, freq="D"):
    """Return sales of a shop that is closed in some rows, as `open` says."""
    rng = np.random.default_rng(1)
    time = pd.date_range("2023-01-02", periods=n_rows, freq=freq)
    sales = 210 * OF_WEEKDAY[time.day_of_week] + rng.normal(0, 8, n_rows)
    is_open = np.ones(n_rows)
    is_open[closed] = 0.0
    return pd.DataFrame({"y": sales * is_open, "open": is_open}, time)


def forecast_after(df, horizon, **params):
    """Fit all rows but the last ones, and forecast these; return errors and forecasts."""
    model = InformerRegressor("y", known_future=["open"], random_state=0, **params)
    forecast = model.fit(df[:-horizon]).forecast(df[-horizon:][["open"]], coverage=0.8)
    return np.abs(forecast["y"] - df["y"][-horizon:]).mean(), forecast


@pytest.mark.parametrize(
    "params", [{}, {"seq_len": 28, "pred_len": 7}, {"members": ["ridges"]}]
)
@pytest.mark.parametrize("ago", [0, 3])
def test_a_closure_before_the_origin_is_no_level(params, ago):
    """Weekdays were gone, and the level half of what is sold."""
    df = shop(300, slice(293 - ago - 21, 293 - ago))
    error, _ = forecast_after(df, 7, **{"seq_len": 28, **params})
    assert error < 16


@pytest.mark.parametrize("column", ["open", "closed"])
def test_steps_that_are_closed_ahead_are_forecast_at_zero(column):
    df = shop(207, [*range(150, 157), *range(185, 200), 203, 204])
    if column == "closed":
        df["open"] = 1 - df["open"]
    error, forecast = forecast_after(df, 7, seq_len=21)
    assert error < 16
    assert (forecast.iloc[3:5] == 0).all(axis=None)


def test_every_series_of_a_panel_has_its_own_closure():
    parts = {f"shop {i}": shop(127, slice(120 - 14 * i, 120)) for i in range(4)}
    df = pd.concat(parts, names=["shop", "day"])
    last = df.groupby("shop").tail(7)
    model = InformerRegressor(
        "y", known_future=["open"], random_state=0, seq_len=14, pred_len=7
    )
    model.fit(df.drop(last.index))
    forecast = model.forecast(last[["open"]])
    assert np.abs(forecast["y"] - last["y"]).groupby("shop").mean().max() < 20


def test_rows_after_the_fit_may_be_closed(tmp_path):
    """By `update`, by X, and by a model that was saved, forecasts are the same."""
    df = shop(320, [*range(100, 107), *range(292, 313)])
    fitted = InformerRegressor(
        "y", known_future=["open"], random_state=0, seq_len=28, pred_len=7
    ).fit(df[:290])
    fitted.save(tmp_path / "shop.model")
    ahead = df[313:].assign(y=np.nan)
    by_rows = fitted.forecast(pd.concat([df[290:313], ahead]))
    loaded = load(tmp_path / "shop.model").update(df[290:313])
    by_update = loaded.forecast(ahead[["open"]])
    np.testing.assert_allclose(by_rows, by_update, rtol=1e-5)
    assert np.abs(by_update["y"] - df["y"][313:]).mean() < 16


def test_a_day_that_is_closed_every_week_is_a_part_of_the_season():
    df = shop(207, np.arange(207) % 7 == 6)
    model = InformerRegressor("y", known_future=["open"], seq_len=21, random_state=0)
    assert model.fit(df).timeline_.weight is None


@pytest.mark.parametrize(
    ("freq", "n_rows", "pred_len"), [("h", 340, 24), ("h", 500, 24), ("30min", 675, 48)]
)
def test_a_weekend_before_the_origin_judges_nobody(freq, n_rows, pred_len):
    """The last value was right in the whole weekend: zero was forecast for Monday."""
    time = pd.date_range("2024-01-01", periods=n_rows + 3 * pred_len, freq=freq)
    if n_rows == 500:
        time = time + pd.Timedelta(hours=9)
    is_open = (time.hour >= 8) & (time.hour < 18) & (time.day_of_week < 5)
    calls = np.random.default_rng(0).normal(60, 8, len(time))
    df = pd.DataFrame({"y": np.where(is_open, calls, 0.0)}, time)
    model = InformerRegressor("y", pred_len=pred_len, random_state=0).fit(df[:n_rows])
    forecast = model.forecast(horizon=3 * pred_len)["y"]
    error = np.abs(forecast - df["y"][n_rows:])[is_open[n_rows:]].mean()
    assert error < 15


def test_a_weekend_longer_than_what_is_judged_judges_no_classical_forecaster():
    """Of six steps ahead 48 rows are judged, all of them on the weekend."""
    n_rows = 56 * 24 - 2
    time = pd.date_range("2024-01-01", periods=n_rows + 18, freq="h")
    is_open = (time.hour >= 8) & (time.hour < 18) & (time.day_of_week < 5)
    calls = 60 + 15 * np.sin(time.hour * np.pi / 12)
    noise = np.random.default_rng(0).normal(0, 8, len(time))
    df = pd.DataFrame({"y": np.where(is_open, calls + noise, 0.0)}, time)
    model = InformerRegressor("y", pred_len=6, members=["classical"], random_state=0)
    forecast = model.fit(df[:n_rows]).forecast(horizon=18)["y"]
    error = np.abs(forecast - df["y"][n_rows:])[is_open[n_rows:]].mean()
    assert error < 20
