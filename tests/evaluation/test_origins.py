"""A backtest from all origins at once, with quantiles, refits, functions and processes."""

import copy
import os
import re
import sys

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor
from skinformer.evaluation import SeasonalNaive, backtest, interval_coverage

TRAIN = 200

pytestmark = pytest.mark.filterwarnings(
    "ignore:parameters of the network:UserWarning",
    "ignore:series .* take no part:UserWarning",
    "ignore:past covariates:UserWarning",
)


def make_frame(n=300, *, seed=0):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    rng = np.random.default_rng(seed)
    price = rng.normal(size=n)
    load = 50 + 10 * np.sin(hours.hour * np.pi / 12) + 3 * price + rng.normal(size=n)
    columns = {"temp": rng.normal(size=n), "price": price, "load": load}
    return pd.DataFrame(columns, index=hours)


def informer(**params):
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    return InformerRegressor(
        **with_parts(**{"target": "load", **sizes, "random_state": 0, **params})
    )


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def fitted(df):
    return informer(known_future=["price"]).fit(df[:TRAIN])


def by_updates(model, later, origins, *, horizon, hidden, levels=None):
    """Give what update up to each origin and forecast after it say."""
    parts = []
    for origin in origins:
        one = copy.deepcopy(model)
        if origin:
            one.update(later[:origin])
        ahead = later[origin : origin + horizon].copy()
        ahead[hidden] = np.nan
        parts.append(one.forecast(ahead, horizon=len(ahead), levels=levels).to_numpy())
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [4, 6, 15])
def test_all_origins_at_once_equal_update_and_forecast_exactly(df, fitted, horizon):
    """Bit by bit, also where forecasts are fed back: it must be no other protocol."""
    later = df[TRAIN : TRAIN + 60]
    expected = by_updates(
        fitted, later, range(0, 60, 7), horizon=horizon, hidden=["temp", "load"]
    )
    table = backtest(fitted, later, horizon=horizon, step=7)
    np.testing.assert_array_equal(table["forecast"], expected[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [6, 15])
def test_quantiles_equal_update_and_forecast_exactly(df, fitted, horizon):
    """Ranges look at errors before each origin, and at no later ones."""
    later, levels = df[TRAIN : TRAIN + 60], [0.9, 0.1]
    expected = by_updates(
        fitted,
        later,
        range(0, 60, 20),
        horizon=horizon,
        hidden=["temp", "load"],
        levels=levels,
    )
    table = backtest(fitted, later, horizon=horizon, step=20, levels=levels)
    assert list(table.columns[-3:]) == ["forecast", "q0.9", "q0.1"]
    np.testing.assert_array_equal(table[["forecast", "q0.9", "q0.1"]], expected)


def test_a_pipeline_gives_the_same_quantiles_origin_by_origin(df, fitted):
    """Behind transformers each origin is shown its own rows."""
    later = df[TRAIN : TRAIN + 30]
    table = backtest(make_pipeline("passthrough", fitted), later, coverage=0.8)
    expected = backtest(fitted, later, coverage=0.8)
    pd.testing.assert_frame_equal(table, expected, rtol=1e-5)


def test_intervals_of_a_backtest_cover(df, fitted):
    """The columns are in the truth's units."""
    table = backtest(fitted, df[TRAIN:], step=1, coverage=0.8)
    reached = interval_coverage(table["actual"], table[["q0.1", "q0.9"]])
    assert reached == pytest.approx(0.8, abs=0.12)


@pytest.fixture(scope="module")
def fitted_to_load(df):
    return informer(pred_len=12).fit(df[["load"]][:TRAIN])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:there are no rows for:UserWarning")
@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.drop(X.index[5]),
        lambda X: X[12:],
        lambda X: X.assign(load=X["load"] - 100 * (np.arange(len(X)) > 9)),
    ],
    ids=["a row is missing", "rows begin later", "the floor ends"],
)
def test_rows_that_update_could_not_take_alike_go_the_slow_way(
    df, fitted_to_load, change, monkeypatch
):
    """The results are those of forecast(X) at each origin, as ever."""
    model = fitted_to_load
    later = change(df[["load"]][TRAIN : TRAIN + 60])
    seen = []
    module = sys.modules["skinformer.evaluation.backtest"]
    found = module.after_updates
    monkeypatch.setattr(
        module, "after_updates", lambda *args: seen.append(found(*args)) or seen[-1]
    )
    table = backtest(model, later, step=12)
    assert seen == [None]
    expected = later.assign(load=later["load"].where(np.arange(len(later)) < 24))
    forecast = model.forecast(expected)["load"]
    rows = table[table["origin"] == later.index[24]].set_index("time")["forecast"]
    np.testing.assert_allclose(rows, forecast[rows.index], rtol=1e-6)


@pytest.mark.parametrize("late", [False, True], ids=["in training", "and after it"])
def test_covariates_that_may_miss_are_missing_from_every_origin(late):
    """A mean in place of a gap was another forecast than that of update, and changed by later rows.

    Of two series the second is shorter than a context.
    """
    rows = make_frame(90)
    parts = {"a": rows, "b": make_frame(90, seed=1)[48:]}
    df = pd.concat(parts, names=["street"])
    time, hole = (
        df.index.get_level_values(1),
        np.random.default_rng(0).random((len(df), 2)) < 0.2,
    )
    hole[time >= rows.index[60]] &= late
    df[["temp", "price"]] = df[["temp", "price"]].mask(hole)
    sizes = {"embeddings": ["missing"], "known_future": ["price"], "seq_len": 24}
    model = informer(members=["network"], **sizes).fit(df[time < rows.index[60]])
    later = df[time >= rows.index[60]]
    table = backtest(model, later, step=5).set_index(["origin", "series", "time"])[
        "forecast"
    ]
    for origin in rows.index[[60, 65, 75]]:
        one, hours = copy.deepcopy(model), later.index.get_level_values(1)
        if origin > rows.index[60]:
            one.update(later[hours < origin])
        ahead = later[(hours >= origin) & (hours < origin + pd.Timedelta("6h"))].copy()
        ahead[["temp", "load"]] = np.nan
        expected = one.forecast(ahead)["load"]
        np.testing.assert_array_equal(table[origin][expected.index], expected)


def drawn_case(seed):
    """Draw sizes, roles, series, and missing truths, at the end of the fit, too."""
    rng = np.random.default_rng(seed)
    n, later = int(rng.choice([30, 70, 120])), int(rng.integers(8, 30))
    targets = ["load", "more"][: rng.integers(1, 3)]
    columns, parts = [*targets, *["price", "temp"][: rng.integers(0, 3)]], {}
    for name in "abc"[: rng.choice([1, 3])]:
        part = make_frame(n + later, seed=seed).assign(
            more=rng.normal(size=n + later).cumsum()
        )
        part[targets] += rng.normal(size=(len(part), len(targets)))
        missing = rng.random((len(part), len(targets))) < rng.choice([0, 0.2])
        part[targets] = part[targets].mask(missing)
        part.loc[part.index[n - rng.integers(0, 4) : n], "load"] = np.nan
        parts[name] = part[columns]
    frames = [
        pd.concat({name: part[rows] for name, part in parts.items()})
        if len(parts) > 1
        else parts["a"][rows]
        for rows in (slice(n), slice(n, None))
    ]
    sizes = {
        "seq_len": int(rng.choice([6, 12, 24])),
        "pred_len": int(rng.choice([1, 2, 6])),
    }
    known = ["price"] if "price" in columns else []
    members = [
        ["network"],
        ["ridges", "network"],
        ["ridges", LinearRegression(), "network"],
    ][rng.integers(3)]
    model = informer(target=targets, known_future=known, members=members, **sizes).fit(
        frames[0]
    )
    options = {"horizon": int(rng.integers(1, 14)), "step": int(rng.integers(1, 6))}
    return model, frames[1], options


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "seed", range(int(os.environ.get("SKINFORMER_FUZZ_CASES", "8")))
)
def test_all_origins_at_once_equal_one_by_one_wherever_truths_are_missing(
    seed, monkeypatch
):
    """What was filled in is no truth: by it quantiles knew how far later forecasts would be off."""
    model, later, options = drawn_case(seed)
    module = sys.modules["skinformer.evaluation.backtest"]
    assert module.after_updates(model, later) is not None
    at_once = backtest(model, later, **options, levels=[0.1, 0.5, 0.9])
    monkeypatch.setattr(module, "after_updates", lambda *_: None)
    one_by_one = backtest(model, later, **options, levels=[0.1, 0.5, 0.9])
    pd.testing.assert_frame_equal(at_once, one_by_one, check_exact=True)


def test_no_forecast_knows_a_ceiling_that_later_rows_reach():
    index = pd.date_range("2024-01-01", periods=200, freq="D")
    share = 60 + 0.19 * np.arange(200) + 4 * np.sin(np.arange(200) * 2 * np.pi / 7)
    rows = pd.DataFrame({"y": share.clip(max=100)}, index)
    model = InformerRegressor(
        "y", seq_len=28, pred_len=14, members=["ridges"], random_state=0
    ).fit(rows[:186])
    assert model.forecast()["y"].max() > 100
    table = backtest(model, rows[186:], horizon=14)
    np.testing.assert_allclose(table["forecast"], model.forecast()["y"], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_no_quantile_knows_that_the_bounds_will_end(df):
    """Last rows below zero send the whole backtest another way; it must be the same way."""
    rows = df[["load"]].copy()
    rows.iloc[TRAIN - 1] = np.nan
    model = informer().fit(rows[:TRAIN])
    changed = rows.copy()
    changed.iloc[-3:] = -1.0  # the third of them is believed
    first, second = (
        backtest(model, part[TRAIN:], horizon=6, step=20, levels=[0.1, 0.9]).drop(
            columns="actual"
        )
        for part in (rows, changed)
    )
    pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_a_truth_that_is_missing_before_an_origin_is_forecast_from_farther_back(
    df, fitted
):
    """The steps after it belong to the forecast that fills it."""
    later = df[TRAIN : TRAIN + 30].copy()
    later.loc[later.index[11], "load"] = np.nan
    table = backtest(fitted, later, step=4).set_index(["origin", "ahead"])
    for origin in (4, 8, 12, 16):
        seen = later[: origin + 6].copy()
        seen.loc[seen.index[origin:], ["temp", "load"]] = np.nan
        expected = fitted.forecast(seen)["load"][later.index[origin : origin + 6]]
        found = table.loc[later.index[origin], "forecast"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_model_stays_as_it_was(df, fitted):
    """A backtest may not move the history of what it measures."""
    end = fitted.timeline_.end_step.copy()
    scale = fitted.scaler_
    backtest(fitted, df[TRAIN:])
    np.testing.assert_array_equal(fitted.timeline_.end_step, end)
    assert fitted.scaler_ is scale


def test_many_origins_are_forecast_together(df, fitted, count_calls):
    """A copy from the first row for each of two thousand took minutes."""
    few, many = df[TRAIN : TRAIN + 10], df[TRAIN : TRAIN + 60]
    calls = [
        count_calls(lambda rows=rows: backtest(fitted, rows, step=1))
        for rows in (few, many)
    ]
    assert calls[1] < 2 * calls[0]
    assert backtest(fitted, many, step=1)["origin"].nunique() == 60


@pytest.mark.slow
def test_refits_equal_fits_by_hand(df):
    """Each origin's model saw the rows before it, and no others."""
    options = {"known_future": ["price"], "members": ["ridges"]}
    model = informer(**options)
    table = backtest(model, df, start=df.index[260], refit=True, step=20)
    assert table["origin"].nunique() == 2
    for origin, rows in table.groupby("origin"):
        fit = informer(**options).fit(df[df.index < origin])
        ahead = df.loc[rows["time"]].assign(load=np.nan, temp=np.nan)
        np.testing.assert_array_equal(rows["forecast"], fit.forecast(ahead)["load"])


def test_a_refit_serves_as_many_origins_as_asked(df):
    """refit=3 fits at every third origin; in between the history grows."""
    fits = []

    class Counting(SeasonalNaive):
        def fit(self, X, y=None):
            fits.append(len(X))
            return super().fit(X, y)

    options = {"horizon": 5, "step": 10, "start": df.index[200]}
    table = backtest(Counting(24, target="load"), df, df["load"], refit=3, **options)
    assert fits == [200, 230, 260, 290]
    once = backtest(
        SeasonalNaive(24, target="load").fit(df[:200]), df[200:], df["load"][200:],
        horizon=5, step=10,
    )  # fmt: skip
    pd.testing.assert_frame_equal(table, once)


def test_refits_of_a_panel_cut_all_series_at_the_same_time(df):
    """A series that ends late must not tell the others of their future."""
    hours = df.index
    panel = pd.concat({"a": df, "b": df[40:260] * 2}, names=["site", "hour"])
    table = backtest(
        SeasonalNaive(24, target="load"), panel, panel["load"],
        horizon=5, step=10, start=hours[200], refit=True,
    )  # fmt: skip
    assert table.groupby("series")["origin"].nunique().to_dict() == {"a": 10, "b": 6}
    by_hand = panel.groupby(level=0)["load"].shift(24)
    found = table.set_index(["series", "time"])["forecast"]
    np.testing.assert_allclose(found, by_hand[found.index])


def zoned(zone, *, start="2024-03-20", n_days=24, freq="h"):
    """Rows from one local midnight on, over the change of the clocks."""
    end = pd.Timestamp(start) + pd.Timedelta(days=n_days)
    time = pd.date_range(start, end, freq=freq, tz=zone, inclusive="left")
    return pd.DataFrame({"load": np.arange(len(time)) % 24.0}, index=time)


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("Europe/Berlin", "2024-03-20"),
        ("America/New_York", "2024-10-25"),
        # At midnight the clocks go forward, so that a day begins at one.
        ("America/Santiago", "2024-08-30"),
        ("America/Santiago", "2024-03-30"),
    ],
)
@pytest.mark.parametrize("freq", ["h", "30min"])
def test_steps_of_days_keep_local_midnight_over_summer_time(zone, start, freq):
    """By rows most origins of half a year lay an hour off."""
    rows = zoned(zone, start=start, freq=freq)
    model = SeasonalNaive(24, target="load").fit(rows[:96])
    table = backtest(model, rows[96:], horizon=24, step="D")
    origins = pd.DatetimeIndex(table["origin"].unique())
    later = rows.index[96:]
    is_first = ~later.tz_localize(None).normalize().duplicated()
    assert list(origins) == list(later[is_first])
    assert (table.groupby("origin").size()[:-1] == 24).all()


@pytest.mark.parametrize(
    ("step", "hours"), [("12h", {6, 18}), (pd.Timedelta("1D"), {6}), ("2D", {6})]
)
def test_other_steps_of_time_keep_the_local_time_of_the_start(step, hours):
    """Every row from the start on belongs to one step."""
    # The clocks go forward a day after the start.
    rows = zoned("Europe/Berlin", start="2024-03-27", n_days=9)
    model = SeasonalNaive(24, target="load").fit(rows[:48])
    options = {"horizon": 6, "start": rows.index[78]}
    table = backtest(model, rows[48:], step=step, **options)
    assert set(table["origin"].dt.hour) == hours
    by_rows, by_time = (
        backtest(model, rows[48:], step=step, **options) for step in (1, "h")
    )
    pd.testing.assert_frame_equal(by_rows, by_time)


def test_months_begin_at_the_first_row_of_each():
    """Behind the first origin, which is the start."""
    rows = zoned("Europe/Berlin", n_days=60, freq="D")
    model = SeasonalNaive(7, target="load").fit(rows[:3])
    origins = backtest(model, rows[3:], step="MS")["origin"].unique()
    assert [str(day.date()) for day in origins] == [
        "2024-03-23",
        "2024-04-01",
        "2024-05-01",
    ]


def test_periods_take_steps_of_dates():
    """They have no zone, but a calendar."""
    rows = zoned(None).to_period("h")
    model = SeasonalNaive(24, target="load").fit(rows[:48])
    origins = backtest(model, rows[48:], step="7D")["origin"].unique()
    assert [str(hour) for hour in origins[:2]] == [
        "2024-03-22 00:00",
        "2024-03-29 00:00",
    ]


@pytest.mark.parametrize("refit", [1, 3])
def test_refits_at_steps_of_days_forecast_from_the_same_origins(refit):
    """Also where a midnight is skipped, and where a series begins late."""
    one = zoned("America/Santiago", start="2024-09-01", n_days=12)
    panel = pd.concat({"a": one, "b": one[100:]}, names=["site", "hour"])
    start, model = one.index[72], SeasonalNaive(24, target="load")
    options = {"horizon": 30, "step": "D"}
    table = backtest(model, panel, panel["load"], start=start, refit=refit, **options)
    time = panel.index.get_level_values(1)
    fitted = model.fit(panel[time < start])
    later = panel[time >= start]
    expected = backtest(fitted, later, later["load"], **options)
    keys = ["series", "origin", "time", "ahead", "actual"]
    pd.testing.assert_frame_equal(table[keys], expected[keys])
    assert not table.duplicated(["series", "origin", "time"]).any()


def test_a_series_that_begins_within_a_stretch_is_forecast_once(df):
    """Two fits forecast it from its first row where the horizon is longer than the step."""
    panel = pd.concat({"a": df[:60], "b": df[45:60]})
    table = backtest(
        SeasonalNaive(target="load"), panel, panel["load"],
        horizon=12, step=4, start=df.index[40], refit=True,
    )  # fmt: skip
    assert not table.duplicated(["series", "origin", "time"]).any()


def test_functions_forecast(df):
    """Whatever somebody has in a notebook; it is shown no truth of the future."""

    def last_day(history, future):
        assert future["load"].isna().all()
        return history["load"].to_numpy()[-24:][: len(future)]

    table = backtest(
        last_day, df[100:], df["load"][100:], horizon=6, step=50, start=df.index[150]
    )
    naive = SeasonalNaive(24, target="load").fit(df[:100])
    options = {"horizon": 6, "step": 50, "start": df.index[150]}
    expected = backtest(naive, df[100:], df["load"][100:], **options)
    pd.testing.assert_frame_equal(table, expected)


@pytest.mark.slow
def test_processes_share_the_work(df):
    """The same table whichever process makes it."""
    naive = SeasonalNaive(24, target="load")
    options = {"horizon": 6, "step": 20, "start": df.index[200], "refit": True}
    tables = [
        backtest(naive, df, df["load"], n_jobs=n_jobs, **options)
        for n_jobs in (None, 2)
    ]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda df: backtest(SeasonalNaive(), df, df["load"], horizon=3, refit=True),
            ValueError,
            "refit needs start=, the label of the first origin: X holds the training rows before "
            "it. Pass it, such as start=X.index[1000].",
        ),
        (
            lambda df: backtest(
                SeasonalNaive(),
                df,
                df["load"],
                horizon=3,
                refit=True,
                start=df.index[0],
            ),
            ValueError,
            "start is the first label of X, so there are no rows to fit to. Pass X with the "
            "training rows before it.",
        ),
        (
            lambda df: backtest(SeasonalNaive(), df, df["load"], horizon=3, refit=0),
            ValueError,
            "refit=0 must be a whole number from 1 to 1,000,000: it counts rows.",
        ),
        (
            lambda df: backtest(SeasonalNaive().fit(df), df, df["load"], step="-1D"),
            ValueError,
            "step='-1D' must be a number of rows, or a positive offset of pandas, "
            "such as 'D', '12h' or 'MS': the distance from one origin to the next.",
        ),
        (
            lambda df: backtest(
                SeasonalNaive().fit(df),
                df.reset_index(drop=True),
                range(len(df)),
                step="D",
            ),
            ValueError,
            "step='D' needs rows with dates, and X.index holds int64 labels: pass the number of "
            "rows between two origins.",
        ),
        (
            lambda df: backtest("naive", df, df["load"], horizon=3),
            TypeError,
            "estimator='naive' must be a fitted regressor, or a function of the rows before an "
            "origin and of those to forecast.",
        ),
        (
            lambda df: backtest(
                SeasonalNaive(target="load").fit(df),
                df,
                df["load"],
                horizon=3,
                coverage=0.8,
            ),
            TypeError,
            "SeasonalNaive has no predict_quantiles: it makes point forecasts only. "
            "Pass an InformerRegressor, a Pipeline that ends in one, or a search over "
            "either.",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(df, call, error, message):
    """In one sentence that says what to type."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(df)
