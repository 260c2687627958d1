import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def shops(freq, n_rows, *, n_series=6, n_ahead=8, share_zero=0.0, seed=0):
    """Sales whose every price cut multiplies them: small and large series, one elasticity."""
    rng = np.random.default_rng(seed)
    time = pd.date_range("2022-01-03", periods=n_rows + n_ahead, freq=freq)
    parts = {}
    for i in range(n_series):
        is_cut = rng.random(len(time)) < 0.3
        cut = np.where(is_cut, rng.uniform(0.6, 0.9, len(time)), 1.0)
        price = rng.uniform(1, 9) * cut
        noise = np.exp(rng.normal(0, 0.1, len(time)))
        sales = np.exp(rng.normal(3, 1)) * cut**-3.0 * noise
        sales *= rng.random(len(time)) >= share_zero
        parts[f"shop {i}"] = pd.DataFrame({"price": price, "sales": sales}, time)
    table = pd.concat(parts, names=["shop", "time"])
    is_past = table.index.get_level_values("time") < time[n_rows]
    return table[is_past], table[~is_past]


def relative_error(table, ahead, **params):
    model = InformerRegressor("sales", pred_len=8, random_state=0, **params).fit(table)
    known = ahead[list(params.get("known_future", []))]
    forecast = model.forecast(known if known.size else None)["sales"]
    truth = ahead["sales"]
    return (forecast - truth).abs().sum() / truth.sum()


@pytest.mark.parametrize(
    ("freq", "n_rows", "seq_len", "n_series", "loss"),
    [
        ("W", 110, 52, 6, "mae"),
        ("W", 110, 52, 6, "mse"),
        ("MS", 40, 24, 12, "mae"),
        ("D", 60, 28, 6, "mse"),
        ("W", 90, 52, 1, "mae"),
    ],
)
def test_a_price_cut_multiplies_sales_of_short_series(
    freq, n_rows, seq_len, n_series, loss
):
    table, ahead = shops(freq, n_rows, n_series=n_series)
    given = {"seq_len": seq_len, "loss": loss}
    without = relative_error(table[["sales"]], ahead[["sales"]], **given)
    error = relative_error(table, ahead, known_future=["price"], **given)
    # A tenth of noise makes .08.
    assert error < 0.12 < 0.2 < without


def test_days_without_a_sale_are_none_of_the_elasticity():
    table, _ = shops("D", 100, share_zero=0.15)
    model = InformerRegressor(
        "sales", seq_len=56, pred_len=8, known_future=["price"], random_state=0
    ).fit(table)
    effect = model.ensemble_.members["classical"].effect
    assert effect.bounds is not None
    assert effect.table[0, 0] == pytest.approx(-3.0, abs=0.2)


def test_what_is_added_stays_added():
    rng = np.random.default_rng(0)
    time = pd.date_range("2022-01-03", periods=100, freq="W")
    warmth = rng.normal(10, 5, 100).clip(1)
    load = 300.0 - 4.0 * warmth + rng.normal(0, 2, 100)
    table = pd.DataFrame({"warmth": warmth, "load": load}, time)
    model = InformerRegressor(
        "load", seq_len=52, pred_len=8, known_future=["warmth"], random_state=0
    ).fit(table)
    effect = model.ensemble_.members["classical"].effect
    assert effect.bounds is None
    assert not effect.low.any()


def test_what_no_row_showed_multiplies_no_more_than_what_rows_did():
    table, ahead = shops("W", 110)
    model = InformerRegressor(
        "sales", seq_len=52, pred_len=8, known_future=["price"], random_state=0
    ).fit(table)
    given_away = ahead[["price"]] / 100
    forecast = model.forecast(given_away)["sales"]
    greatest = table["sales"].groupby("shop").max()
    assert (forecast.groupby("shop").max() < 2 * greatest).all()
