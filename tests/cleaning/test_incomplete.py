"""An incomplete last period is told from a drop that was there before."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.cleaning.incomplete import find_incomplete
from skinformer.timeline.clock import clock_for
from skinformer.timeline.timeline import Table

SEASONS = {"h": 24, "D": 7, "W-SUN": 52, "MS": 12}


def sales(freq, n_rows, seed=0, last=1.0):
    rng = np.random.default_rng(seed)
    season = np.sin(2 * np.pi * np.arange(n_rows) / SEASONS[freq])
    y = 200 + 40 * season + 5 * rng.normal(size=n_rows)
    y[-1] *= last
    return pd.Series(y, pd.date_range("2022-01-03", periods=n_rows, freq=freq))


def rows_of(*series, explained=()):
    """Return the rows of incomplete periods among series that end together."""
    length = [len(values) for values in series]
    time = series[0].index
    table = Table(
        [np.concatenate(series)],
        1,
        np.repeat(np.arange(len(series)), length),
        np.concatenate([np.arange(max(length) - n, max(length)) for n in length]),
        clock_for(time, time.freq),
    )
    known = np.isin(np.arange(len(table.series)), explained)
    return [incomplete.row for incomplete in find_incomplete(table, known)]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize(
    ("freq", "n_rows"),
    [("h", 340), ("D", 60), ("D", 400), ("W-SUN", 60), ("W-SUN", 160), ("MS", 48)],
)
def test_a_part_of_a_period_is_found(freq, n_rows, share):
    assert rows_of(sales(freq, n_rows, last=share)) == [n_rows - 1]
    assert rows_of(sales(freq, n_rows)) == []


def test_what_was_as_low_before_or_has_a_reason_is_complete():
    low_before = sales("D", 100, last=0.3)
    low_before.iloc[40] *= 0.3
    assert rows_of(low_before) == []
    assert rows_of(sales("D", 100, last=0.3), explained=[99]) == []
    assert rows_of(sales("D", 100, last=0.3) - 100) == []


def test_all_series_of_a_panel_are_incomplete_together():
    """Noise hides it in each; one that ended earlier is complete."""
    rng = np.random.default_rng(0)
    noise = [np.exp(0.3 * rng.normal(size=80)) for _ in range(20)]
    parts = [sales("D", 80, seed) * noise[seed] for seed in range(20)]
    assert rows_of(*parts) == []
    for part in parts:
        part.iloc[-1] *= 0.4
    assert len(rows_of(*parts)) >= 17


@pytest.mark.parametrize("freq", ["D", "W-SUN", "MS"])
def test_an_incomplete_end_moves_no_forecast_and_is_warned_of(freq):
    """Each forecast was dragged down by a half of what was missing."""
    y = sales(freq, 80)
    df = y.to_frame("y")
    params = {"seq_len": 24, "pred_len": 6, "random_state": 0}
    whole = InformerRegressor("y", **params).fit(df[:-1]).forecast(horizon=7)
    with pytest.warns(UserWarning, match=r"seems to be incomplete.*df\[:-1\]"):
        model = InformerRegressor("y", **params).fit(
            df.assign(y=sales(freq, 80, last=0.3))
        )
    forecast = model.forecast()
    assert (forecast.index == whole.index[1:]).all()
    assert np.abs(forecast["y"] - whole["y"][1:]).max() < 10
