"""A level that has changed at once, some rows ago, is the level that goes on."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor


def shifted(n_rows, horizon, season, n_new, freq, change=60.0):
    """Return a season on a level that changed so many rows before the end of the fit."""
    rng = np.random.default_rng(3)
    steps = np.arange(n_rows + horizon)
    y = 150 + rng.normal(0, 15, season)[steps % season] + rng.normal(0, 4, len(steps))
    y += change * (steps >= n_rows - n_new)
    index = pd.date_range("2020-01-06", periods=len(y), freq=freq)
    return pd.DataFrame({"y": y}, index=index)


def last_season(df, n_rows, season):
    """Return the mean absolute error of the last season, repeated."""
    y = df["y"].to_numpy()
    truth = y[n_rows:]
    repeated = np.resize(y[n_rows - season : n_rows], len(truth))
    return np.abs(repeated - truth).mean()


@pytest.mark.parametrize(
    ("n_rows", "seq_len", "season", "n_new", "freq"),
    [(300, 96, 7, 10, "D"), (400, 28, 5, 8, "B"), (900, 28, 7, 9, "D")],
)
def test_a_level_of_a_week_is_believed(n_rows, seq_len, season, n_new, freq):
    """Ridges and network would go on between the levels; ranges hold what comes."""
    df = shifted(n_rows, 14, season, n_new, freq)
    model = InformerRegressor(
        "y", seq_len=seq_len, pred_len=14, members=["classical", "ridges"]
    )
    model.fit(df[:n_rows])
    truth = df["y"].to_numpy()[n_rows:]
    error = np.abs(model.forecast()["y"].to_numpy() - truth).mean()
    assert error < 1.2 * last_season(df, n_rows, season)
    low, high = model.forecast(coverage=0.8).to_numpy()[:, -2:].T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.6


@pytest.mark.parametrize("n_new", [5, 30, 60])
@pytest.mark.parametrize("change", [80.0, -140.0])
def test_a_level_goes_on_beyond_one_forecast(n_new, change):
    """The rows before are forecasts there, and do not say that it has gone back."""
    df = shifted(200, 28, 7, n_new, "D", change=change)
    truth = df["y"].to_numpy()[200:]
    model = InformerRegressor("y", pred_len=7, random_state=0).fit(df[:200])
    errors = np.abs(model.forecast(horizon=28)["y"].to_numpy() - truth)
    assert errors.mean() < 8


@pytest.mark.filterwarnings("ignore:X ends with")
@pytest.mark.parametrize("n_missing", [1, 3, 5, 9])
def test_a_level_goes_on_where_the_last_rows_are_missing(n_missing):
    df = shifted(200, 7, 7, 30, "D", change=80.0)
    rows = df[:200].copy()
    rows.iloc[-n_missing:] = np.nan
    forecast = InformerRegressor("y", pred_len=7, random_state=0).fit(rows).forecast()
    error = np.abs(forecast["y"] - df["y"]).dropna()
    assert len(error) == 7
    assert error.mean() < 8


def test_what_is_sold_no_longer_stays_so_beyond_one_forecast():
    """Forty days without a sale were taken for a closure that had ended."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2021-01-01", periods=400, freq="D")
    sales = pd.DataFrame({"y": rng.poisson(100.0, 400)}, index=days)
    sales.iloc[-40:] = 0
    model = InformerRegressor("y", pred_len=7, random_state=0).fit(sales)
    assert model.forecast(horizon=28)["y"].max() < 5


@pytest.mark.filterwarnings("ignore:.*taken as missing")
def test_a_change_after_the_fit_is_believed():
    """The fit knew one level alone, and later rows have another one."""
    df = shifted(415, 14, 7, 10, "D", change=-40.0)
    model = InformerRegressor(
        "y", seq_len=28, pred_len=14, members=["classical", "ridges"]
    )
    model.fit(df[:400])
    forecast = model.forecast(df[400:415])["y"].to_numpy()
    assert np.abs(forecast - df["y"].to_numpy()[415:]).mean() < 6


def test_one_target_of_two_has_changed():
    """The other one is forecast as it would be without."""
    df = shifted(300, 14, 7, 10, "D")
    df["other"] = shifted(300, 14, 7, 0, "D", change=0.0)["y"] + np.sin(np.arange(314))
    settings = {"seq_len": 48, "pred_len": 14, "members": ["classical", "ridges"]}
    both = InformerRegressor(["y", "other"], **settings).fit(df[:300])
    truth = df.to_numpy()[300:]
    forecast = both.forecast().to_numpy()
    assert np.abs(forecast - truth).mean(axis=0).max() < 9
    weights = both.ensemble_.weights_of("ridges")
    assert weights[0, 0, 1] > 0


def test_a_season_without_a_change_keeps_its_members():
    """Weights of windows are those of the ensemble."""
    df = shifted(300, 14, 7, 0, "D", change=0.0)
    model = InformerRegressor(
        "y", seq_len=48, pred_len=14, members=["classical", "ridges"]
    ).fit(df[:300])
    together = model.forecast()["y"].to_numpy()
    alone = InformerRegressor("y", seq_len=48, pred_len=14, members=["classical"]).fit(
        df[:300]
    )
    assert np.abs(together - alone.forecast()["y"].to_numpy()).max() > 0.01


# --- a level that changes every year ------------------------------------------------------------


def year_ago(y, end, horizon):
    """Return the mean absolute error of the same weekdays of the year before."""
    return np.abs(y[end : end + horizon] - y[end - 364 : end - 364 + horizon]).mean()


@pytest.mark.parametrize("end", ["2022-12-08", "2022-12-24", "2022-12-28"])
def test_the_trade_of_december_begins_and_ends(end):
    """The rise was taken for a step: sales of January were forecast as those of December."""
    index = pd.date_range("2019-01-01", "2023-01-20", name="day")
    rng = np.random.default_rng(0)
    week = np.array([1, 0.95, 0.95, 1, 1.2, 1.4, 0.5])[index.day_of_week]
    y = 100 * week * np.where(index.month == 12, 2.5, 1.0)
    y *= rng.lognormal(0, 0.1, len(index))
    n_rows = index.get_loc(end) + 1
    df = pd.DataFrame({"sales": y}, index=index)
    model = InformerRegressor("sales", seq_len=56, pred_len=14, random_state=0)
    forecast = model.fit(df[:n_rows]).forecast()["sales"].to_numpy()
    error = np.abs(forecast - y[n_rows : n_rows + 14]).mean()
    assert error < 1.4 * year_ago(y, n_rows, 14)


# --- a level that is multiplied, and peaks of weeks ----------------------------------------------


def shop_days(factor, n_new, seed=0, n_rows=246, horizon=14):
    """Draw days of a strong week whose level was multiplied so many days before the end."""
    rng = np.random.default_rng(seed)
    index = pd.date_range("2023-01-02", periods=n_rows + horizon, freq="D")
    week = np.array([0.8, 0.85, 0.9, 1, 1.3, 1.6, 0.55])[index.day_of_week]
    y = 1000 * week * np.exp(0.1 * rng.normal(size=len(index)))
    y[n_rows - n_new :] *= factor
    return pd.DataFrame({"y": y}, index=index), n_rows


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
@pytest.mark.parametrize("n_new", [8, 16])
def test_a_level_that_halves_or_doubles_goes_on(factor, n_new):
    """Differences of a strong season are unlike each other behind it; ratios are alike."""
    errors, of_last_week = [], []
    for seed in (0, 1, 3):
        df, n_rows = shop_days(factor, n_new, seed)
        model = InformerRegressor(
            "y", seq_len=28, pred_len=14, members=["classical", "ridges"]
        )
        forecast = model.fit(df[:n_rows]).forecast()["y"].to_numpy()
        errors.append(np.abs(forecast - df["y"].to_numpy()[n_rows:]).mean())
        of_last_week.append(last_season(df, n_rows, 7))
    assert np.mean(errors) < 1.2 * np.mean(of_last_week)


@pytest.mark.parametrize("n_new", [8, 12, 16])
def test_a_shop_that_has_closed_sells_nothing(n_new):
    df, n_rows = shop_days(0.0, n_new)
    model = InformerRegressor(
        "y", seq_len=28, pred_len=14, members=["classical", "ridges"]
    )
    forecast = model.fit(df[:n_rows]).forecast()["y"].to_numpy()
    np.testing.assert_allclose(forecast, 0, atol=1)


@pytest.mark.parametrize("n_rows", [153, 205, 209, 261])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_weeks_at_the_edge_of_a_yearly_peak_are_no_step(seed, n_rows):
    """Rows of other years that were put at their dates looked like one."""
    rng = np.random.default_rng(seed)
    index = pd.date_range("2019-01-06", periods=340, freq="W-SUN")
    y = 200 + 40 * np.sin(2 * np.pi * (index.day_of_year - 100) / 365)
    y += rng.normal(0, 10, 340)
    y += 150 * ((index.month == 12) & (index.day <= 27))
    df = pd.DataFrame({"y": y}, index=index)
    model = InformerRegressor("y", seq_len=52, pred_len=13, random_state=0)
    forecast = model.fit(df[:n_rows]).forecast()["y"].to_numpy()
    assert np.abs(forecast - df["y"].to_numpy()[n_rows : n_rows + 13]).mean() < 25
