"""Whether a regressor on features may prove itself, by how many forecasts the split holds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerRegressor
from skinformer.ensemble import tabular

SIZES = {"seq_len": 24, "d_model": 8, "n_heads": 2, "max_iter": 1, "max_windows": 64}


@pytest.mark.parametrize(
    ("pred_len", "options", "judged"),
    [
        (12, {}, True),  # 159 origins in the split: 13 forecasts
        (14, {}, False),  # 157: 11
        (24, {}, False),
        (24, {"known_future": ["plan"]}, True),
        (
            24,
            {"members": ["classical", "ridges", DecisionTreeRegressor(max_depth=3), "network"]},
            True,
        ),
    ],
    ids=["twelve", "fewer", "six", "drivers", "own"],
)
def test_trees_that_see_no_more_than_ridges_need_twelve_forecasts(
    monkeypatch, pred_len, options, judged
):
    """A few long forecasts are of one season: 26 % were lost on the next one."""
    requested, fit = [], tabular.fit_tabular
    monkeypatch.setattr(tabular, "fit_tabular", lambda *a, **k: requested.append(1) or fit(*a, **k))
    n, rng = 1700, np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(n) / 4) + rng.normal(size=n)}, index=hours)
    if "known_future" in options:
        df["plan"] = rng.normal(size=n)
    model = InformerRegressor("load", **SIZES, pred_len=pred_len, random_state=0, **options).fit(df)
    assert bool(requested) == judged
    if not judged:
        assert list(model.ensemble_.members) == ["ridges", "network"]
        assert "trees" not in model.base_blend_
