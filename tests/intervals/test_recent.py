"""Quantiles of recent rows count where they say more than errors, and nowhere else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skinformer
from skinformer import InformerRegressor
from skinformer.intervals.recent import (
    N_KEPT,
    n_recent,
    recent_distribution,
    recent_quantiles,
    recent_shares,
)
from skinformer.intervals.residuals import Residuals

LEVELS = np.arange(1, 10) / 10


def test_the_distribution_is_that_of_the_rows_before():
    """Eighteen at least, one and a half times as many as are forecast."""
    assert (n_recent(6), n_recent(12), n_recent(40)) == (18, 18, 60)
    values = np.arange(100.0)[:, None] * [1.0, -1.0]
    begin, until = np.array([0, 0, 60]), np.array([100, 50, 64])
    found = recent_distribution(values, begin, until, 12)
    assert found.shape == (3, 2, N_KEPT)
    assert found[0, 0, [0, -1]].tolist() == [82.0, 99.0]
    assert found[1, 1, [0, -1]].tolist() == [-49.0, -32.0]
    assert found[2, 0, [0, 10, -1]].tolist() == [60.0, 61.5, 63.0]
    median = recent_quantiles(found, np.array([0.5]))[0]
    np.testing.assert_allclose(median[:, 0], [90.5, 40.5, 61.5])


def test_a_series_of_one_row_has_a_distribution():
    found = recent_distribution(np.ones((5, 1)), np.array([4]), np.array([5]), 3)
    assert (found == 1).all()


def judged(drawn, points, recent, *, origins=None, series=None):
    """Find shares of windows, in sizes of 1, of one target."""
    n = len(drawn)
    each = np.arange(n)
    nothing = np.zeros(1)
    residuals = Residuals(
        (drawn - points).astype(np.float32)[..., None],
        float(n),
        each * 0 if series is None else series,
        each if origins is None else origins,
        points.astype(np.float32)[..., None],
        nothing,
        nothing,
    )
    return recent_shares(residuals, np.ones((*drawn.shape, 1)), recent)[0]


def windows(n=400, seed=0):
    """Draw windows of 6 rows, whose level the rows before show, and a forecast that does not."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=(n, 1))
    rows = level + 0.3 * rng.normal(size=(n, 24))
    recent = np.quantile(rows[:, :18], np.linspace(0, 1, N_KEPT), axis=1).T[:, None]
    return rows[:, 18:], level, recent


def test_recent_rows_count_where_forecasts_know_nothing():
    drawn, _, recent = windows()
    assert judged(drawn, np.zeros_like(drawn), recent) > 0.8


def test_recent_rows_do_not_count_where_forecasts_know_the_level():
    drawn, level, recent = windows()
    known = np.broadcast_to(level, drawn.shape)
    assert judged(drawn + 2.0, known + 2.0, recent) == 0


def test_windows_of_one_time_are_judged_series_by_series():
    drawn, _, recent = windows()
    at_once = {"origins": np.zeros(400, dtype=int), "series": np.arange(400)}
    assert judged(drawn, np.zeros_like(drawn), recent, **at_once) > 0.8
    alone = {"origins": np.zeros(400, dtype=int)}
    assert judged(drawn, np.zeros_like(drawn), recent, **alone) == 0


def test_unknown_errors_do_not_count():
    drawn, _, recent = windows()
    drawn[::3] = np.nan
    assert judged(drawn, np.zeros_like(drawn), recent) > 0.8


# ------------------------------------------------------------------------------------ fits
MONTHS = pd.date_range("2020-01-01", periods=48, freq="MS")


N_SERIES = 120
#: In how many months something is sold of each part, and how many pieces at most.
RATES = np.linspace(0.05, 0.45, N_SERIES)
MOST = np.resize([1, 3, 9], N_SERIES)


def rare_sales(n_rows=48):
    rng = np.random.default_rng(0)
    shape = n_rows, N_SERIES
    sales = rng.integers(1, MOST + 1, size=shape) * (rng.random(shape) < RATES)
    parts = {
        f"p{i:03}": pd.Series(y * 1.0, MONTHS[:n_rows]) for i, y in enumerate(sales.T)
    }
    return pd.concat(parts, names=["part", "time"]).to_frame("sold")


@pytest.fixture(scope="module")
def rare():
    df = rare_sales()
    past = df[df.index.get_level_values(1) < MONTHS[36]]
    model = InformerRegressor(
        "sold", seq_len=12, pred_len=12, loss="mae", random_state=0
    )
    return model.fit(past), df.loc[(slice(None), MONTHS[36:]), "sold"].sort_index()


def quantile_loss(truth, quantiles):
    excess = truth.to_numpy()[:, None] - quantiles.to_numpy()
    return np.maximum(LEVELS * excess, (LEVELS - 1) * excess).mean()


def test_rare_sales_have_the_quantiles_that_were_sold(rare):
    model, truth = rare
    found = model.forecast(levels=LEVELS).sort_index()
    columns = [f"sold_{level:g}" for level in LEVELS]
    assert model.intervals_.residuals.recent_share[0] > 0.3
    assert (found[columns[:5]] == 0).mean().mean() > 0.5
    # The quantiles of what is drawn.
    above = (LEVELS - (1 - RATES[:, None])) / RATES[:, None]
    ideal = np.maximum(np.ceil(above * MOST[:, None]), 0.0)
    best = quantile_loss(truth, pd.DataFrame(np.repeat(ideal, 12, axis=0)))
    assert quantile_loss(truth, found[columns]) < 1.15 * best


def test_paths_have_the_same_quantiles(rare):
    model, _ = rare
    ahead = model.forecast(levels=[0.9]).sort_index()["sold_0.9"]
    paths = model.sample(400, random_state=0).sort_index()
    assert abs(paths.quantile(0.9, axis=1).mean() / ahead.mean() - 1) < 0.1


def test_later_blocks_have_the_quantiles_of_what_was_sold_too(rare):
    """Not those of forecasts, whose medians are zero."""
    model, _ = rare
    ahead = model.forecast(horizon=24, levels=[0.9])["sold_0.9"]
    first, second = ahead.to_numpy().reshape(N_SERIES, 2, 12).mean(axis=(0, 2))
    assert second > 0.8 * first


def test_a_file_holds_them(rare, tmp_path):
    model, _ = rare
    before = model.forecast(levels=[0.9])
    model.save(tmp_path / "model")
    assert skinformer.load(tmp_path / "model").forecast(levels=[0.9]).equals(before)


def test_quantiles_of_a_row_do_not_depend_on_others(rare):
    model, truth = rare
    rows = truth.rename("sold").to_frame()
    rows["sold"] = np.nan
    both = model.forecast(rows, levels=[0.9])
    near = model.forecast(rows.groupby(level=0).head(3), levels=[0.9])
    pd.testing.assert_frame_equal(both.loc[near.index], near)


def test_what_is_always_zero_stays_zero():
    """Steps at which nothing is ever sold have no errors, however sales vary elsewhere."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=24 * 60, freq="h")
    is_open = (hours.hour >= 8) & (hours.hour < 20)
    sales = np.where(is_open, rng.poisson(0.4, len(hours)), 0.0)
    model = InformerRegressor("sold", seq_len=48, pred_len=24, members=["ridges"])
    model.fit(pd.DataFrame({"sold": sales}, index=hours))
    intervals = model.intervals_
    residuals = replace(intervals.residuals, recent_share=np.ones(1))
    model._intervals_ = replace(intervals, residuals=residuals)
    found = model.forecast(levels=[0.05, 0.95])
    night = found[(found.index.hour < 8) | (found.index.hour >= 20)]
    assert (night.to_numpy() == 0).all()
    assert (found["sold_0.95"] > 0).any()
