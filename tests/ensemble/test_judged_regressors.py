"""Whether a regressor on features may prove itself, by how many forecasts the split holds."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerRegressor
from skinformer.ensemble import tabular
from skinformer.evaluation import backtest

SIZES = {"seq_len": 24, "d_model": 8, "n_heads": 2, "max_iter": 1, "max_windows": 64}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pred_len", "options"),
    [
        (12, {}),  # 159 origins in the split: 13 forecasts
        (24, {}),  # 147: 6
        (24, {"known_future": ["plan"]}),
        (
            24,
            {
                "members": [
                    "classical",
                    "ridges",
                    DecisionTreeRegressor(max_depth=3),
                    "network",
                ]
            },
        ),
    ],
    ids=["thirteen", "six", "drivers", "own"],
)
def test_trees_are_judged_by_few_forecasts_too(
    few_trees, monkeypatch, pred_len, options
):
    """They get a part of the best share."""
    requested, fit = [], tabular.fit_tabular
    monkeypatch.setattr(
        tabular, "fit_tabular", lambda *a, **k: requested.append(1) or fit(*a, **k)
    )
    n, rng = 1700, np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    df = pd.DataFrame(
        {"load": np.sin(np.arange(n) / 4) + rng.normal(size=n)}, index=hours
    )
    if "known_future" in options:
        df["plan"] = rng.normal(size=n)
    InformerRegressor(
        "load", **with_parts(**SIZES, pred_len=pred_len, random_state=0, **options)
    ).fit(df)
    assert requested


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [("price", 4), ("walk", 1)])
@pytest.mark.parametrize("known", [[], ["plan", "first"]], ids=["alone", "drivers"])
def test_luck_on_a_walk_is_not_believed(kind, seed, known):
    """Columns that say nothing, and trees that say what a price is, had up to 2.5 of the error."""
    n, rng = 1500, np.random.default_rng(seed)
    rng.normal(size=n + 300)
    if kind == "price":
        values = 50 * np.exp(0.015 * rng.standard_t(4, size=n + 300).cumsum())
    else:
        values = 50 + rng.normal(size=n + 300).cumsum()
    days = pd.date_range("2018-01-01", periods=n + 300, freq="B")
    df = pd.DataFrame(
        {"y": values, "plan": rng.normal(size=n + 300).cumsum()}, index=days
    )
    df["first"] = np.arange(n + 300) % 5 < 1.0
    df = df[["y", *known]]
    model = InformerRegressor(
        "y", seq_len=56, pred_len=7, known_future=known, random_state=0
    )
    model.set_params(members=["ridges", "own_ridges", "trees"]).fit(df[:n])
    found = backtest(model, df[n:], step=7)
    last = df["y"].shift().reindex(found["origin"]).to_numpy()
    error, naive = (
        np.abs(x - found["actual"]).mean() for x in (found["forecast"], last)
    )
    assert error < 1.03 * naive
