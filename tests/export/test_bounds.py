"""A graph keeps to what no forecast may be, as `predict` does: nights, closures, what was seen."""

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer import InformerRegressor
from skinformer.estimators.exporting import exported_module
from skinformer.serving import Signature, window_inputs

SIZES = {"seq_len": 48, "pred_len": 24}
MEMBERS = {"members": ["ridges", "network"], "random_state": 0}


def fit(rows, **parameters):
    return InformerRegressor("y", **{**SIZES, **MEMBERS, **parameters}).fit(rows)


def served(model, rows, origins=None):
    """Forecast by what is exported, with a signature that has been a file's."""
    signature = Signature.from_json(model.signature_.to_json())
    assert signature == model.signature_
    inputs, labels = window_inputs(rows, signature, origins)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    with torch.inference_mode():
        outputs = exported_module(model)(**tensors)
    return tuple(pd.Series(part.numpy().ravel(), labels) for part in outputs)


def assert_agrees(model, rows, n):
    """Compare windows of the last rows, one behind the other, with `predict`."""
    last = rows[-n:]
    forecast, _ = served(model, rows, last.index[:: model.pred_len])
    expected = pd.Series(model.predict(last), last.index)
    spread = rows["y"].std()
    np.testing.assert_allclose(forecast, expected, rtol=0, atol=1e-5 * spread)
    return forecast


def hours(n, **options):
    return pd.date_range("2024-03-01", periods=n, freq="h", **options)


def sunlight(index, seed=0):
    """Make clouds by day, and zeros by night."""
    hour = getattr(index, "hour", None)
    clouds = np.random.default_rng(seed).uniform(0.2, 1.0, len(index))
    height = np.sin((hour - 6) / 12 * np.pi)
    return pd.DataFrame({"y": np.where(height > 0.01, 400 * height * clouds, 0)}, index)


@pytest.mark.parametrize(
    "index",
    [
        hours(840),
        # Summer time begins between the fit and the forecasts.
        hours(840, tz="Europe/Berlin"),
        pd.period_range("2024-03-01", periods=840, freq="h"),
    ],
    ids=["naive", "summer time", "periods"],
)
def test_nights_are_dark(index):
    rows = sunlight(index)
    model = fit(rows[:-240])
    forecast = assert_agrees(model, rows, 240)
    is_night = (index[-240:].hour < 6) | (index[-240:].hour > 18)
    assert (forecast[is_night] == 0).all()
    assert (forecast[~is_night] > 0).any()
    # Rows need not begin where those of the fit do.
    later, _ = served(model, rows[-75:], index[[-24]])
    np.testing.assert_array_equal(later == 0, forecast[-24:] == 0)


def test_each_series_of_a_panel_has_its_own_nights():
    """And a series that the fit did not hold has none."""
    index = hours(700)
    parts = {"roof": sunlight(index), "mill": sunlight(index, seed=1) + 30.0}
    rows = pd.concat(parts, names=["site", "time"])
    model = fit(rows.groupby(level=0).head(652))
    last = rows.groupby(level=0).tail(48)
    forecast, _ = served(model, rows, last.index[::24])
    expected = pd.Series(model.predict(last), last.index)
    np.testing.assert_allclose(forecast, expected[forecast.index], atol=1e-3)
    assert (forecast["roof"] == 0).sum() > 16
    assert (forecast["mill"] > 1).all()
    new = rows.loc[["roof"]].rename(index={"roof": "barn"})
    assert (served(model, new)[0] != 0).sum() > 12


def test_what_is_fed_back_is_no_night():
    """As in a recursion of `forecast`."""
    rows = sunlight(hours(600))
    model = fit(rows)
    first, fed_back = served(model, rows)
    second, _ = served(model, pd.concat([rows, fed_back.to_frame("y")]))
    expected = model.forecast(horizon=48)["y"]
    np.testing.assert_allclose(pd.concat([first, second]), expected, atol=1e-3)


@pytest.mark.filterwarnings(
    "ignore:some steps of a season are never observed:UserWarning"
)
@pytest.mark.parametrize("opens", [0, 8])
def test_hours_that_are_never_observed_are_no_gap(opens):
    """A shop without rows at night: they hold the last value, as in a fit."""
    index = hours(700)
    noise = 3 * np.random.default_rng(0).normal(size=len(index))
    y = 50 + 20 * np.sin(index.hour / 24 * 2 * np.pi) + noise
    is_closed = (index.hour < opens) | (index.hour >= opens + 12)
    rows = pd.DataFrame({"y": np.where(is_closed, np.nan, y)}, index)
    model = fit(rows[:-96])
    assert not assert_agrees(model, rows, 96).isna().any()
    # What is missing at an open hour is a gap as ever.
    rows.loc[rows.index[-40:-24], "y"] = np.nan
    forecast, _ = served(model, rows, index[[-24]])
    assert forecast.isna().all()


@pytest.mark.parametrize("factor", [6.0, -6.0])
def test_what_rises_out_of_what_was_seen_is_held(factor):
    """One and a half widths beyond what the fit and the window have seen."""
    index = hours(600)
    wave = np.sin(np.arange(600) / 24 * 2 * np.pi)
    rows = pd.DataFrame(
        {"y": wave + 0.1 * np.random.default_rng(0).normal(size=600)}, index
    )
    model = fit(rows[:-120])
    model.module_.path.own.mul_(factor)
    rows.loc[index[-120:], "y"] += np.linspace(0, 8, 120)
    forecast = assert_agrees(model, rows, 120)
    low, high = rows["y"].min(), rows["y"].max()
    assert forecast.between(2.5 * low - 1.5 * high, 2.5 * high - 1.5 * low).all()
    first = forecast[:24] - np.where(factor > 0, wave.max(), wave.min())
    assert first.abs().max() > 2.5


def shop_with_a_flag(closed):
    """Make days of a shop that is closed now and then, and on one of the last days."""
    n = 400
    index = pd.date_range("2020-01-01", periods=n, freq="D")
    random = np.random.default_rng(0)
    is_open = (random.random(n) > 0.04) * 1.0
    is_open[-24:] = 1.0
    is_open[closed] = 0.0
    y = 100 + 10 * np.sin(np.arange(n) / 7 * 2 * np.pi) + 3 * random.normal(size=n)
    return pd.DataFrame({"y": y * is_open, "open": is_open}, index)


FLAGGED = {"seq_len": 14, "pred_len": 7, "known_future": ["open"]}


def test_a_column_known_ahead_closes_a_graph_too():
    rows = shop_with_a_flag(closed=-3)
    forecast = assert_agrees(fit(rows[:-7], **FLAGGED), rows, 7)
    assert (forecast == 0).tolist() == [False] * 4 + [True] + [False] * 2


def test_a_closure_within_a_window_is_a_gap():
    """Its zero says nothing of the level: what is fed back stands there."""
    rows = shop_with_a_flag(closed=-10)
    model = fit(rows[:-10], **FLAGGED)
    closed, origin = rows.index[[-10]], rows.index[[-7]]
    assert served(model, rows, origin)[0].isna().all()
    filled = rows.copy()
    filled.loc[closed, "y"] = served(model, rows, closed)[1].iloc[0]
    forecast, _ = served(model, filled, origin)
    expected = model.update(rows[-10:-7]).forecast(rows[["open"]][-7:])["y"]
    np.testing.assert_allclose(forecast, expected, atol=1e-3)


@pytest.mark.parametrize("freq", ["D", "12h"])
def test_dates_at_which_it_is_closed_every_year_close_a_graph_too(freq):
    """Ahead at zero; in a window its zeros are a gap."""
    index = pd.date_range("2021-11-01", "2024-01-13 12:00", freq=freq)
    noise = np.random.default_rng(0).normal(100, 5, len(index))
    date = np.asarray(100 * index.month + index.day)
    rows = pd.DataFrame({"y": np.where(date >= 1224, 0.0, noise)}, index)
    n_ahead = len(rows["2023-12-21":"2024-01-03"])
    model = fit(rows[:"2023-12-20"], seq_len=28, pred_len=n_ahead)
    ahead = rows["2023-12-21":].index[[0, n_ahead]]
    forecast = served(model, rows, ahead)[0]
    expected = model.forecast()["y"]
    assert (expected["2023-12-24":"2023-12-31"] == 0).all()
    np.testing.assert_allclose(forecast[:n_ahead], expected, atol=1e-3)
    assert forecast[n_ahead:].isna().all()


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_one_sale_is_no_level(loss):
    index = pd.date_range("2020-01-01", periods=153, freq="D")
    rows = pd.DataFrame({"y": [0.0] * 150 + [7.0, 0.0, 0.0]}, index)
    model = fit(rows, seq_len=42, pred_len=7, loss=loss)
    forecast, _ = served(model, rows)
    np.testing.assert_allclose(forecast, model.forecast()["y"], atol=1e-5)
    assert forecast.max() < 0.2


def test_a_rate_near_its_ceiling_is_what_predict_says():
    index = hours(600)
    noise = 4 * np.random.default_rng(0).normal(size=600)
    wave = 8 * np.sin(np.arange(600) / 24 * 2 * np.pi)
    rows = pd.DataFrame({"y": np.clip(95 + wave + noise, 0, 100)}, index)
    model = fit(rows[:-120])
    model.module_.path.own.mul_(1.5)
    forecast = assert_agrees(model, rows, 120)
    assert forecast.max() == 100


def test_rows_between_the_steps_of_the_fit_are_told():
    """Nights would be others."""
    rows = sunlight(hours(600))
    model = fit(rows)
    moved = rows.set_axis(rows.index + pd.Timedelta(minutes=30))
    with pytest.raises(
        ValueError, match="between two steps of 'h' as they were counted"
    ):
        window_inputs(moved, model.signature_)


def test_a_graph_without_nights_reads_no_steps():
    rows = sunlight(hours(600)) + 5.0
    signature = fit(rows).signature_
    assert "steps" not in signature.inputs
    assert signature.origin is None
    assert signature.closed == ()
