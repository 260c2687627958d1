"""New series of a panel are forecast in their own size."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.evaluation import forecast_parts

N, AHEAD = 106, 14
DAYS = pd.date_range("2024-01-01", periods=N + AHEAD, name="day")


def shop(name, size, *, level=12.0, seed=0):
    """Make sales that a price takes two tenths off, and the weekend adds three to."""
    rng = np.random.default_rng(seed)
    price = rng.uniform(1, 2, len(DAYS))
    sales = level + 3.0 * (DAYS.day_of_week > 4) - 2 * price
    sales += 0.5 * rng.normal(size=len(DAYS))
    frame = {"id": name, "day": DAYS, "v": size * sales, "price": price}
    return pd.DataFrame(frame)


def table_of(series):
    return pd.concat(series)[lambda frame: frame["day"] < DAYS[N]]


def fit(series, **parameters):
    settings = {"seq_len": 28, "pred_len": AHEAD, "random_state": 0} | parameters
    model = InformerRegressor("v", series="id", time="day", **settings)
    return model.fit(table_of(series))


def forecast_of(model, *series):
    """Forecast the days whose prices are known, with quantiles."""
    given = pd.concat(series)
    given.loc[given["day"] >= DAYS[N], "v"] = np.nan
    return model.forecast(given, levels=[0.1, 0.5, 0.9]).set_index(["id", "day"])


PANEL = [shop("a", 1.0, seed=1), shop("b", 100.0, seed=2), shop("c", 1e6, seed=3)]


@pytest.fixture(scope="module", params=[["ridges"], ["classical"], "auto"])
def model(request):
    return fit(PANEL, known_future=["price"], members=request.param)


@pytest.mark.parametrize("size", [7.0, 3e4, 2e8])
def test_a_price_does_to_a_new_series_what_it_does_to_others(model, size):
    """It took as much off as from the largest series, a million times what was sold."""
    new = shop("new", size, seed=4)
    found = forecast_of(model, new)
    y = new["v"].to_numpy()[N:]
    error = np.abs(found["v"].to_numpy() - y).mean()
    assert error < 0.5 * np.abs(y - y.mean()).mean()
    width = (found["v_0.9"] - found["v_0.1"]).mean()
    assert 0.3 * size < width < 6 * size


def test_what_is_ten_times_as_large_has_a_forecast_ten_times_as_large(model):
    small, large = shop("small", 7.0, seed=4), shop("large", 70.0, seed=4)
    found = forecast_of(model, small, large)
    np.testing.assert_allclose(found.loc["large"], 10 * found.loc["small"], rtol=2e-3)


def test_others_are_forecast_as_they_are_without_a_new_series(model):
    both = forecast_of(model, PANEL[1], shop("new", 7.0, seed=4))
    alone = forecast_of(model, PANEL[1])
    np.testing.assert_allclose(both.loc["b"], alone.loc["b"], rtol=1e-5)


def test_its_size_is_not_known_before_it_is_seen(model):
    """Forecasts of earlier rows do not know how large later ones are."""
    n_before = 6 * AHEAD  # a block ends there, and another one of the same size begins
    rows = shop("new", 7.0, seed=4)[:100]
    later = rows.copy()
    later.loc[later.index[n_before:], "v"] *= 50
    found = [model.predict(each)[:n_before] for each in (rows, later)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def without_prices(sizes, levels=(12.0,) * 3):
    """Make three series, and fit ridges to them."""
    panel = [
        shop(name, size, level=level, seed=seed).drop(columns="price")
        for name, size, level, seed in zip("abc", sizes, levels, range(3), strict=True)
    ]
    return panel, fit(panel, members=["ridges"])


def test_amounts_below_zero_have_a_size_too():
    """Costs of a new shop, a hundredth of those of others, had errors as large as theirs."""
    _, model = without_prices([-100.0, -90.0, -110.0])
    found = forecast_of(model, shop("new", -1.0, seed=4).drop(columns="price"))
    assert (found["v_0.9"] - found["v_0.1"]).mean() < 8


def test_a_warmer_city_is_forecast_as_others_are():
    """A level that has no zero is no size."""
    panel, model = without_prices([1.0] * 3, [-6.0, 0.0, 5.0])
    new = shop("new", 1.0, level=12.0, seed=4).drop(columns="price")
    warm, cold = forecast_of(model, new), forecast_of(model, panel[1])
    ratio = (warm["v_0.9"] - warm["v_0.1"]).mean() / (
        cold["v_0.9"] - cold["v_0.1"]
    ).mean()
    assert 0.7 < ratio < 2


def test_a_new_series_of_logarithms_is_moved_to_the_usual_level():
    sizes = {"a": 1.0, "b": 10.0, "c": 1e4}
    panel = [shop(name, size, seed=1) for name, size in sizes.items()]
    model = fit(panel, members=["ridges"], target_transform="log")
    found = forecast_of(model, shop("new", 7.0, seed=4), shop("other", 7e3, seed=4))
    assert found.loc["new", "v"].between(35, 120).all()
    np.testing.assert_allclose(found.loc["other"], 1e3 * found.loc["new"], rtol=2e-3)


def test_a_series_of_zeros_has_no_size(model):
    assert np.isfinite(forecast_of(model, shop("new", 0.0))).all(axis=None)


def test_parts_of_a_forecast_are_in_its_size(model):
    new = shop("new", 7.0, seed=4)
    new.loc[new["day"] >= DAYS[N], "v"] = np.nan
    parts = forecast_parts(model, new)
    joint = (parts["weight"] * parts["forecast"]).groupby(parts["time"]).sum()
    np.testing.assert_allclose(joint, model.predict(new), rtol=1e-3)


def test_far_ahead_it_keeps_its_size(model):
    """Behind more forecasts than a window holds, no row that was observed says it."""
    small, large = shop("small", 0.07, seed=4), shop("large", 70.0, seed=4)
    given = pd.concat([each[:60] for each in (small, large)])
    ahead = pd.concat([each[60:] for each in (small, large)]).assign(v=np.nan)
    found = model.forecast(pd.concat([given, ahead])).set_index(["id", "day"])["v"]
    np.testing.assert_allclose(found["large"], 1e3 * found["small"], rtol=5e-3)


def test_its_forecast_does_not_depend_on_what_else_is_asked_for(model):
    """A shop that opened after weeks of zeros had the size of its first days in `predict`."""
    new = shop("new", 7.0, seed=4)
    new.loc[new.index[:34], "v"] = 0.0
    new.loc[new["day"] >= DAYS[6 * AHEAD], "v"] = np.nan
    new = new[: 7 * AHEAD]
    predicted = model.predict(new)[-AHEAD:]
    np.testing.assert_allclose(predicted, model.forecast(new)["v"], rtol=1e-4)
