"""One sale after many zeros is no level: the mean is forecast, and ranges hold zero."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def sold(values, freq="D"):
    index = pd.date_range("2020-01-01", periods=len(values), freq=freq)
    return pd.DataFrame({"y": np.asarray(values, dtype=float)}, index=index)


@pytest.mark.parametrize("sales", [[1], [7, 0, 0]], ids=str)
@pytest.mark.parametrize(
    ("n_zeros", "parameters"),
    [
        (150, {"seq_len": 28, "pred_len": 14}),
        (40, {"seq_len": 28, "pred_len": 7}),
        (150, {"seq_len": 6, "pred_len": 3}),
        (150, {"seq_len": 42, "pred_len": 7, "members": ["ridges"]}),
    ],
    ids=str,
)
def test_one_sale_after_many_zeros_is_no_level(sales, n_zeros, parameters):
    rows = sold([0] * n_zeros + sales)
    model = InformerRegressor("y", random_state=0, **parameters).fit(rows)
    y_pred, low, high = model.forecast(coverage=0.8).to_numpy().T
    assert (y_pred >= 0).all()
    assert (y_pred < 0.05 * max(sales)).all()
    assert (low == 0).all()
    assert (high > y_pred).all()
    far = model.forecast(horizon=4 * parameters["pred_len"])["y"]
    assert (far < 0.05 * max(sales)).all()


def test_the_median_behind_one_sale_is_zero():
    model = InformerRegressor(
        "y", seq_len=28, pred_len=14, loss="mae", random_state=0
    ).fit(sold([0] * 150 + [7]))
    assert (model.forecast()["y"] == 0).all()


@pytest.mark.parametrize("freq", ["D", "MS"])
def test_one_sale_in_a_panel_is_no_level_either(freq):
    random = np.random.default_rng(0)
    parts = {f"p{i}": sold(random.poisson(5, 61), freq) for i in range(5)}
    rare = sold([0] * 60 + [9], freq)
    model = InformerRegressor("y", seq_len=12, pred_len=6, random_state=0)
    model.fit(pd.concat(parts | {"rare": rare}))
    ahead = model.forecast(coverage=0.8)
    y_pred, low, _ = ahead.loc["rare"].to_numpy().T
    assert (y_pred < 0.5).all()
    assert (low == 0).all()
    assert (ahead.loc["p0", "y"] > 3).all()


@pytest.mark.parametrize(
    ("values", "least"),
    [([0] * 12 + [8], 2), ([0] * 150 + [8, 9], 7)],
    ids=["few", "two"],
)
def test_what_may_be_a_level_is_one(values, least):
    """Few zeros say little of how rare sales are, and two sales in a row are no rare ones."""
    model = InformerRegressor("y", seq_len=8, pred_len=4, random_state=0)
    assert model.fit(sold(values)).forecast()["y"].iloc[0] > least


def test_a_sale_is_lone_whatever_else_is_asked_for():
    """Ranges and later rows are made from more rows, which say no more of the sale."""
    rows = sold([0] * 150 + [7] + [0] * 6)
    parameters = {"seq_len": 42, "pred_len": 7, "members": ["ridges"]}
    model = InformerRegressor("y", random_state=0, **parameters).fit(rows[:151])
    alone = model.forecast()["y"]
    np.testing.assert_allclose(model.forecast(coverage=0.8)["y"], alone)
    np.testing.assert_allclose(model.predict(rows[60:])[91:], alone[:6])
