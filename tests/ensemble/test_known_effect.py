import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, Training


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


EASTER = pd.to_datetime(["2021-04-04", "2022-04-17", "2023-04-09", "2024-03-31"])


def rows_with_easters(freq, n_rows, effect, *, seed=0):
    """Make rows around Easters, each of which moves one by an effect, and what is right."""
    rng = np.random.default_rng(seed)
    step = pd.Timedelta(days=7 if freq == "W-SAT" else 1)
    last = EASTER[-1] + 6 * step
    time = pd.date_range(end=last, periods=n_rows, freq=freq)
    easter = np.zeros(n_rows)
    for day in EASTER:
        easter[(time >= day) & (time < day + step)] = 1
    season = 52.18 if freq == "W-SAT" else 7
    right = 200 + 20 * np.sin(2 * np.pi * np.arange(n_rows) / season) + effect * easter
    table = pd.DataFrame(
        {"y": right + rng.normal(0, 10, n_rows), "easter": easter}, time
    )
    return table, right


@pytest.mark.parametrize("effect", [300, -150])
@pytest.mark.parametrize(
    ("freq", "n_rows", "seq_len"),
    [
        ("W-SAT", 220, 52),
        ("W-SAT", 165, 52),
        pytest.param("D", 1130, 28, marks=pytest.mark.slow),
    ],
)
def test_easter_is_forecast_by_the_easters_before_it(freq, n_rows, seq_len, effect):
    """It moves by weeks from year to year, and a column known ahead says where it is."""
    table, right = rows_with_easters(freq, n_rows, effect)
    [*_, place] = np.flatnonzero(table["easter"])
    origin = place - 3
    model = InformerRegressor(
        "y",
        known_future=["easter"],
        seq_len=seq_len,
        pred_len=8,
        random_state=0,
        training=Training(max_iter=1),
    ).fit(table[:origin])
    ahead = table["easter"].to_frame()[origin : origin + 8]
    error = model.forecast(ahead)["y"].to_numpy() - right[origin : origin + 8]
    assert abs(error[3]) < 0.1 * abs(effect) + 10
    assert np.abs(np.delete(error, 3)).mean() < 8
