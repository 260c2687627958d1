"""The time of the year beside the ridges of an estimator: the same for everyone who forecasts."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts

import skinformer
from skinformer import InformerRegressor, ModelFileError
from skinformer.estimators.exporting import exported_module
from skinformer.serving import window_inputs

TRAIN, PRED = 3 * 365, 30
SIZES = {
    "target": "temp",
    "seq_len": 28,
    "pred_len": PRED,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "max_windows": 64,
    "members": ["ridges", "network"],
    "device": "cpu",
    "random_state": 0,
}

pytestmark = pytest.mark.usefixtures("long_tables")


def make_frame(n=TRAIN + 400, *, seed=0, swing=10.0, start="2017-02-01"):
    days = pd.date_range(start, periods=n, name="day")
    noise = np.random.default_rng(seed).normal(size=n)
    year = np.sin(2 * np.pi * (days.day_of_year - 100) / 365.25)
    return pd.DataFrame({"temp": 15 + swing * year + noise}, index=days)


def fit(df, **changes):
    return InformerRegressor(**with_parts(**{**SIZES, **changes})).fit(df)


def year(model):
    calendar = model.module_.path.calendar
    return None if calendar is None or not len(calendar.year) else calendar.year


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def model(df, long_tables):
    return fit(df[:TRAIN])


@pytest.mark.slow
def test_a_month_ahead_is_forecast_by_the_season(df, model):
    """By who looks four weeks back: the error is little more than the noise."""
    assert year(model).shape == (372, 1, 1)
    later = df[TRAIN:]
    known = np.abs(model.predict(later) - later["temp"].to_numpy()).mean()
    plain = fit(df[:TRAIN], calendar=None)
    assert year(plain) is None
    unknown = np.abs(plain.predict(later) - later["temp"].to_numpy()).mean()
    assert known < 1.0
    assert unknown > 1.25 * known


@pytest.mark.slow
def test_the_network_embeds_the_fields_that_it_had_before(model):
    """Three years make no vector for a month; the ridges' waves need less."""
    sizes = model.sizes_
    assert sizes.calendar_fields[: sizes.n_network_fields] == (
        "weekday",
        "day",
        "month",
    )
    short = fit(make_frame(800))
    assert short.sizes_.calendar_fields == ("weekday", "day", "month")
    assert short.sizes_.n_network_fields == 2
    assert short.module_.network.built_from["calendar_sizes"] == (7, 31)


@pytest.mark.slow
@pytest.mark.parametrize("n", [700, 3 * 365])
def test_years_that_are_too_few_and_seasons_that_are_none_are_left(n):
    """In a year and eleven months there is nothing to judge a year by."""
    model = fit(make_frame(n, swing=10.0 if n == 700 else 0.0))
    assert year(model) is None
    assert model.sizes_.n_network_fields == (None if n == 700 else 3)


def test_a_panel_has_no_year_in_common(df):
    panel = pd.concat({"one": df[:TRAIN], "two": df[:TRAIN] + 3})
    model = fit(panel)
    assert model.sizes_.n_network_fields is None
    assert year(model) is None


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_copies_forecast_the_same_bit_for_bit(df, model, way, tmp_path):
    if way == "file":
        model.save(tmp_path / "model")
        again = skinformer.load(tmp_path / "model")
    else:
        again = pickle.loads(pickle.dumps(model))
    assert torch.equal(year(again), year(model))
    later = df[TRAIN:]
    np.testing.assert_array_equal(again.predict(later), model.predict(later))
    pd.testing.assert_frame_equal(
        again.forecast(horizon=90), model.forecast(horizon=90)
    )


def test_the_end_of_a_forecast_is_what_a_later_origin_would_say_of_the_season(model):
    """Half a year on, steps fed back follow the year."""
    ahead = model.forecast(horizon=200)["temp"]
    expected = 15 + 10 * np.sin(2 * np.pi * (ahead.index.day_of_year - 100) / 365.25)
    assert np.abs(ahead - expected).max() < 3.0


def test_what_is_exported_knows_the_day_of_the_year(df, model):
    model.ensemble_ = model.ensemble_.with_network_share(0.5)
    inputs, _ = window_inputs(df[:TRAIN], model.signature_)
    with torch.inference_mode():
        forecast, _ = exported_module(model)(
            **{k: torch.from_numpy(v) for k, v in inputs.items()}
        )
    expected = model.forecast()["temp"]
    np.testing.assert_allclose(forecast.numpy().ravel(), expected, atol=1e-3)
    model.ensemble_ = model.ensemble_.with_network_share(0.0)


@pytest.mark.parametrize(
    "forge",
    [lambda year: year[:, :, :0], lambda year: year * np.nan, lambda year: year[0]],
    ids=["no target", "no number", "no days"],
)
def test_a_forged_year_is_refused(model, forge, save_forged):
    """A day that is not in the table would end a forecast, long after the file was opened."""
    path = save_forged(model, model.module_.path.fit.calendar.year, forge)
    with pytest.raises(ModelFileError):
        skinformer.load(path)
