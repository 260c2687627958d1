"""Rates and percentages stay below what they reach and never leave."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.evaluation import explain, forecast_parts


def rates(ceiling, freq="D", n=300):
    """Return rates near their ceiling, which a quarter of the rows reaches."""
    random = np.random.default_rng(1)
    index = pd.date_range("2020-01-01", periods=n, freq=freq)
    y = np.clip(0.95 + random.normal(0, 0.06, n), 0, 1)
    return pd.DataFrame({"y": ceiling * y}, index)


def fit(rows, **parameters):
    usual = {"members": ["classical"], "seq_len": 28, "pred_len": 6, "random_state": 0}
    return InformerRegressor("y", **{**usual, **parameters}).fit(rows)


@pytest.mark.parametrize("loss", ["mae", "mse"])
@pytest.mark.parametrize(("ceiling", "freq"), [(1, "D"), (100, "D"), (1, "MS")])
def test_rates_stay_below_their_ceiling(ceiling, freq, loss):
    model = fit(rates(ceiling, freq), loss=loss)
    bounds = model.forecast(coverage=0.9)
    assert bounds.to_numpy().max() <= ceiling
    assert model.sample(50, random_state=0).to_numpy().max() <= ceiling
    assert (bounds["y_0.05"] < bounds["y"]).all()


def days_at_ceiling(ceiling):
    """Return rates whose days are at their ceiling, behind nights far below."""
    hours = pd.date_range("2024-01-01", periods=24 * 40, freq="h")
    noise = 4 * np.random.default_rng(4).normal(size=len(hours))
    y = 85 + 25 * np.cos(2 * np.pi * (hours.hour - 5) / 24) + noise
    return pd.DataFrame({"y": ceiling / 100 * np.clip(y, 0, 100)}, hours)


@pytest.mark.parametrize("loss", ["mse", "mae", (0.1, 0.5, 0.9)])
@pytest.mark.parametrize("ceiling", [1, 100])
def test_points_stay_below_the_ceiling_as_their_bounds_do(ceiling, loss):
    rows = days_at_ceiling(ceiling)
    model = fit(rows[:-48], members=["ridges"], loss=loss, seq_len=72, pred_len=48)
    points = model.forecast()
    assert points.to_numpy().max() == ceiling
    np.testing.assert_array_equal(model.predict(rows[-48:]), points["y"])
    with_bounds = model.forecast(coverage=0.9)
    np.testing.assert_array_equal(with_bounds["y"], points["y"])
    assert (with_bounds["y"] <= with_bounds["y_0.95"]).all()


def test_parts_and_contributions_of_a_forecast_keep_to_its_ceiling():
    model = fit(days_at_ceiling(100), members=["ridges"], seq_len=72, pred_len=48)
    assert forecast_parts(model)["forecast"].max() == 100
    total = explain(model).groupby("time")["contribution"].sum()
    np.testing.assert_allclose(total, model.forecast()["y"])


def test_each_series_of_a_panel_has_its_own():
    rows = pd.concat({"rate": rates(1), "sales": rates(50), "share": rates(100)})
    bounds = fit(rows).forecast(coverage=0.9)["y_0.95"].groupby(level=0).max()
    assert bounds["rate"] <= 1
    assert bounds["share"] <= 100
    assert bounds["sales"] > 50


def test_what_grows_past_a_round_number_has_no_ceiling():
    """Its record was reached once."""
    random = np.random.default_rng(1)
    rows = rates(100)
    rows["y"] = np.linspace(50, 100, len(rows)) - np.abs(random.normal(0, 3, len(rows)))
    rows.iloc[-1] = 100.0
    assert fit(rows).forecast(coverage=0.9)["y_0.95"].max() > 100


def test_a_later_value_beyond_it_ends_it():
    model = fit(rates(1))
    later = rates(1.1, n=320)[300:]
    assert model.update(later).forecast(coverage=0.9)["y_0.95"].max() > 1
