"""Rates and percentages stay below what they reach and never leave."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def rates(ceiling, freq="D", n=300):
    """Return rates near their ceiling, which a quarter of the rows reaches."""
    random = np.random.default_rng(1)
    index = pd.date_range("2020-01-01", periods=n, freq=freq)
    y = np.clip(0.95 + random.normal(0, 0.06, n), 0, 1)
    return pd.DataFrame({"y": ceiling * y}, index)


def fit(rows, **parameters):
    model = InformerRegressor("y", members=["classical"], pred_len=6, random_state=0)
    return model.set_params(seq_len=28, **parameters).fit(rows)


@pytest.mark.parametrize("loss", ["mae", "mse"])
@pytest.mark.parametrize(("ceiling", "freq"), [(1, "D"), (100, "D"), (1, "MS")])
def test_rates_stay_below_their_ceiling(ceiling, freq, loss):
    model = fit(rates(ceiling, freq), loss=loss)
    bounds = model.forecast(coverage=0.9)
    assert bounds.to_numpy().max() <= ceiling
    assert model.sample(50, random_state=0).to_numpy().max() <= ceiling
    assert (bounds["y_0.05"] < bounds["y"]).all()


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
