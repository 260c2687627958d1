import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.classical.panel_profile import find_panel_profile
from skinformer.classical.windows import SeriesRows
from skinformer.timeline.clock import RowClock

pytestmark = pytest.mark.filterwarnings("ignore:.* take no part in training")


def panel(freq, season, n_rows, *, n_series=12, n_ahead=7, strength=0.4, seed=1):
    rng = np.random.default_rng(seed)
    time = pd.date_range("2023-01-02", periods=n_rows + n_ahead, freq=freq)
    profile = np.exp(rng.normal(0, strength, season))[np.arange(len(time)) % season]
    return {
        f"item {i}": pd.DataFrame(
            {
                "y": np.exp(rng.normal(3, 1))
                * profile
                * np.exp(rng.normal(0, 0.1, len(time)))
            },
            time,
        )
        for i in range(n_series)
    }


def joined(parts):
    return pd.concat(parts, names=["item", "time"])


@pytest.mark.parametrize(
    ("freq", "season", "n_rows", "n_few", "seq_len"),
    [
        ("D", 7, 100, 1, 14),
        ("D", 7, 100, 3, 14),
        ("D", 7, 100, 5, 28),
        ("MS", 12, 60, 4, 24),
    ],
)
def test_few_rows_of_a_series_get_the_season_of_their_panel(
    freq, season, n_rows, n_few, seq_len
):
    parts = panel(freq, season, n_rows, n_ahead=season)
    new = [f"item {i}" for i in range(4)]
    past = {name: part.iloc[:n_rows] for name, part in parts.items()}
    few = {name: past.pop(name).iloc[-n_few:] for name in new}
    truth = joined({name: parts[name].iloc[n_rows:] for name in new})["y"]
    model = InformerRegressor(
        "y",
        seq_len=seq_len,
        pred_len=season,
        loss="mae",
        members=["classical"],
        random_state=0,
    )

    outside = model.fit(joined(past)).forecast(joined(few))["y"]
    inside = model.fit(joined(past | few)).forecast()["y"].loc[new]

    # One noisy row makes .14; what is flat errs by .3 or more.
    # What one row showed of its series bounds forecasts of the fit.
    for forecast in (outside, inside) if n_few > 1 else (outside,):
        share = (forecast - truth).abs().groupby("item").sum() / truth.groupby(
            "item"
        ).sum()
        assert share.mean() < 0.18


@pytest.mark.parametrize("kind", ["noise", "unlike", "negative"])
def test_series_without_a_common_season_lend_none(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 0.2, (10, 70))
    if kind == "unlike":
        rows += np.tile(rng.normal(0, 0.5, (10, 7)), 10)
    values = rows if kind == "negative" else np.exp(rows)
    profile = find_panel_profile(
        SeriesRows(
            values.ravel(),
            np.ones(700, dtype=bool),
            np.tile(np.arange(70), 10),
            np.arange(0, 701, 70),
            RowClock(),
        ),
        (7,),
    )
    assert len(profile.factors) == 1
