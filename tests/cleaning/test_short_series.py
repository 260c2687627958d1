import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def shops(*, n_short, freq, seed=0, n_long=80, n_series=14, n_few=4, n_ahead=8):
    """Sales of shops, some of which opened lately and have not cut a price yet; all will."""
    rng = np.random.default_rng(seed)
    time = pd.date_range("2022-01-03", periods=n_long + n_ahead, freq=freq)
    parts = {}
    for i in range(n_series):
        cut = np.where(rng.random(len(time)) < 0.3, 0.7, 1.0)
        is_few = i < n_few
        if is_few:
            cut[n_long - n_short : n_long] = 1.0
            cut[n_long : n_long + n_ahead // 2] = 0.7
        noise = np.exp(rng.normal(0, 0.1, len(time)))
        price = rng.uniform(1, 9) * cut
        sales = np.exp(rng.normal(3, 1)) * cut**-3.0 * noise
        part = pd.DataFrame({"price": price, "sales": sales}, time)
        parts[f"shop {i}"] = part.iloc[n_long - n_short if is_few else 0 :]
    table = pd.concat(parts, names=["shop", "time"])
    is_past = table.index.get_level_values("time") < time[n_long]
    few = [f"shop {i}" for i in range(n_few)]
    return table[is_past], table[~is_past], few


@pytest.mark.filterwarnings("ignore:.* take no part in training")
@pytest.mark.parametrize(
    ("n_short", "freq", "params"),
    [
        (8, "W", {"target_transform": "log"}),
        (8, "W", {}),
        (3, "D", {"target_transform": "log"}),
    ],
)
def test_a_short_series_of_the_fit_is_forecast_as_under_a_new_name(
    n_short, freq, params
):
    table, ahead, few = shops(n_short=n_short, freq=freq)
    model = InformerRegressor(
        "sales",
        seq_len=16,
        pred_len=8,
        known_future=["price"],
        members=["ridges"],
        random_state=0,
        **params,
    ).fit(table)
    truth = ahead.loc[few, "sales"]

    inside = model.forecast(ahead[["price"]]).loc[few, "sales"]
    rows = pd.concat([table.loc[few], ahead.loc[few].assign(sales=np.nan)])
    new = rows.rename(index=lambda name: f"new {name}", level="shop").sort_index()
    outside = model.forecast(new)["sales"].to_numpy()

    error = (inside - truth).abs().sum()
    assert error < np.abs(outside - truth.to_numpy()).sum()


@pytest.mark.filterwarnings("ignore:.* take no part in training")
def test_a_series_without_a_sale_is_warned_of():
    table, _, few = shops(n_short=8, freq="W", n_few=1)
    table.loc[few, "sales"] = np.nan
    model = InformerRegressor("sales", seq_len=16, pred_len=8, members=["ridges"])
    with pytest.warns(UserWarning, match=r"\['shop 0'\] have no observed target"):
        model.fit(table[["sales"]])
