"""Rows of a collapse that was recovered from say nothing of what comes."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, Training
from skinformer.classical.collapses import recovered_rows
from skinformer.classical.past import Past


def sales(n_rows, season, seed=0):
    """Return a season with noise."""
    rng = np.random.default_rng(seed)
    place = np.arange(n_rows) % season
    return 300 + rng.normal(0, 50, season)[place] + rng.normal(0, 10, n_rows)


def found(values, season):
    """Find the collapsed rows of one window."""
    past = Past(values[None], np.arange(len(values) + 1)[None])
    return np.flatnonzero(recovered_rows(past, season)[0])


@pytest.mark.parametrize(("n_rows", "season"), [(120, 7), (108, 12), (100, 1)])
def test_a_collapse_that_has_ended_is_found(n_rows, season):
    """Its rows, with those that lead out of it, and no others."""
    values = sales(n_rows, season)
    values[-30:-20] *= np.linspace(0.05, 0.7, 10)
    rows = found(values, season)
    inside = np.arange(n_rows - 30, n_rows - 20)
    assert len(np.setdiff1d(rows, inside)) <= 1
    assert len(rows) >= 8


@pytest.mark.parametrize("kind", ["usual", "lasting", "twice", "walk", "short"])
def test_other_rows_are_believed(kind):
    """What lasts, what returns, what wanders, and what fewer than four seasons show."""
    values = sales(120, 7)
    if kind == "lasting":
        values[-17:] *= 0.2
    if kind == "twice":
        values[40:45] *= 0.2
        values[80:85] *= 0.2
        values[100:105] *= 1.8
    if kind == "walk":
        values = np.random.default_rng(1).normal(size=120).cumsum()
    if kind == "short":
        values = values[:20]
        values[8:12] *= 0.1
    assert not len(found(values, 7))


@pytest.mark.parametrize(
    ("freq", "season", "n_rows", "horizon"), [("D", 7, 200, 14), ("MS", 12, 108, 6)]
)
def test_forecasts_go_on_from_the_recovery(freq, season, n_rows, horizon):
    """By defaults, with ridges beside classical forecasters where there are rows enough."""
    y = sales(n_rows + horizon, season)
    since = np.arange(len(y)) - (n_rows - int(1.75 * season))
    level = 0.05 + 0.95 * np.clip(since / (1.2 * season), 0, 1)
    y *= np.where(since < 0, 1.0, level)
    index = pd.date_range("2015-01-01", periods=len(y), freq=freq)
    df = pd.DataFrame({"y": y}, index=index)
    model = InformerRegressor(
        "y", seq_len=2 * season, pred_len=horizon, training=Training(max_iter=1)
    )
    forecast = model.fit(df[:n_rows]).forecast()["y"].to_numpy()
    assert np.abs(forecast - y[n_rows:]).mean() < 20


@pytest.mark.parametrize(
    ("freq", "season", "n_rows", "n_collapsed", "n_behind"),
    [("MS", 12, 108, 20, 14), ("MS", 12, 144, 18, 6), ("D", 7, 200, 12, 10)],
)
def test_a_collapse_nearly_as_long_as_a_window_is_none_of_what_comes(
    freq, season, n_rows, n_collapsed, n_behind
):
    """Ridges, whose windows hold it, are not asked."""
    y = sales(n_rows + season, season) + 400
    first = n_rows - n_behind - n_collapsed
    y[first : first + n_collapsed] *= np.linspace(0.05, 0.6, n_collapsed)
    index = pd.date_range("2015-01-01", periods=len(y), freq=freq)
    df = pd.DataFrame({"y": y}, index=index)
    model = InformerRegressor(
        "y", seq_len=2 * season, pred_len=season, training=Training(max_iter=1)
    )
    forecast = model.fit(df[:n_rows]).forecast()["y"].to_numpy()
    assert np.abs(forecast - y[n_rows:]).mean() < 20


def test_rows_that_are_not_there_do_not_make_a_collapse_short():
    values = np.full(200, np.nan)
    values[-60:] = sales(60, 7)
    values[-30:-10] *= 0.2
    assert not len(found(values, 7))


def test_rows_that_are_not_there_are_none_behind_a_collapse():
    """A level that has changed has not gone back because nothing is known behind it."""
    values = sales(200, 7)
    values[-30:-6] += 300
    values[-4:] = np.nan
    assert not len(found(values, 7))  # two rows as usual are too few
    values[-6:] = np.nan
    assert not len(found(values, 7))
    recovered = sales(200, 7)
    recovered[-30:-8] *= 0.2
    recovered[-5:] = np.nan
    rows = found(recovered, 7)
    assert np.isin(np.arange(170, 192), rows).all()
    assert rows.max() < 195
