"""A rolling origin sees nothing after the origin, and forgets nothing before it."""

import re
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from flat_parameters import with_parts
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from versions import TEXT

from skinformer import (
    CalendarFeatures,
    InformerClassifier,
    InformerRegressor,
    Network,
    SlidingWindow,
    Training,
)
from skinformer.evaluation import SeasonalNaive, backtest

TRAIN, ROWS = 120, 160

# Panels here hold series that are shorter than a window on purpose.
NO_COUNT = "must be a whole number from 1 to 1,000,000: it counts rows."

pytestmark = pytest.mark.filterwarnings("ignore:series .* take no part in:UserWarning")


NO_COUNT = "must be a whole number from 1 to 1,000,000: it counts rows."

pytestmark = pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")


@pytest.fixture(scope="module")
def frame():
    hours = pd.date_range(
        "2024-01-01", periods=ROWS, freq="h", tz="Pacific/Auckland", name="hour"
    )
    rng = np.random.default_rng(0)
    wave = 50 + 10 * np.sin(hours.hour * 2 * np.pi / 24)
    columns = {"temp": rng.normal(size=ROWS), "load": wave + rng.normal(size=ROWS)}
    return pd.DataFrame(columns, index=hours)


def informer(**params):
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    return InformerRegressor(
        **with_parts(**{"target": "load", **sizes, "random_state": 0, **params})
    )


@pytest.fixture(scope="module")
def fitted(frame):
    return informer().fit(frame[:TRAIN])


def ragged_panel(*, n=(40, 35, 38), start=(0, 7, 3)):
    """Make series of different start and length under (site, when)."""
    hours = pd.date_range("2024-10-26", periods=60, freq="h", tz="Europe/Berlin")
    parts = {}
    for j, (rows, first) in enumerate(zip(n, start, strict=True)):
        rng = np.random.default_rng(j)
        wave = 10 * j + np.sin(np.arange(rows) / 3)
        columns = {
            "temp": rng.normal(size=rows),
            "load": wave + rng.normal(size=rows) / 9,
        }
        parts["abcdefgh"[j]] = pd.DataFrame(columns, index=hours[first : first + rows])
    return pd.concat(parts, names=["site", "when"])


def split_panel(panel, rows):
    before = panel.groupby(level=0).head(rows)
    return before, panel.drop(before.index)


def naive_loop(model, later, *, horizon, step):
    """Forecast series after series and origin after origin, one call each."""
    known = model.known_future or []
    out = []
    for site in later.index.unique(0):
        one = later.loc[[site]]
        for origin in range(0, len(one), step):
            seen = one.iloc[: origin + horizon].copy()
            ahead = seen.index[origin:]
            seen.loc[ahead, [name for name in one if name not in known]] = np.nan
            out.append(model.forecast(seen).loc[ahead, "load"])
    return pd.concat(out)


class Spy(LinearRegression):
    """Remembers the frames it is asked about."""

    def fit(self, X, y=None):
        self.asked_ = []
        return self

    def predict(self, X):
        self.asked_.append(X)
        return np.zeros(len(X))


@pytest.mark.slow
def test_informer_in_blocks_equals_predict(frame, fitted):
    """Predict already is a rolling origin; the backtest must not be another protocol."""
    test = frame[TRAIN:]
    table = backtest(fitted, test)
    np.testing.assert_allclose(table["forecast"], fitted.predict(test), rtol=1e-6)
    np.testing.assert_array_equal(table["actual"], test["load"])
    assert list(table["time"]) == list(test.index)


@pytest.mark.slow
def test_several_targets_and_a_pipeline_equal_predict(frame):
    """Units and the order of targets survive a scaler before the Informer."""
    targets = ["load", "temp"]
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, informer(target=targets, members=["ridges"]))
    model.fit(frame[:TRAIN], frame[targets][:TRAIN])
    table = backtest(model, frame[TRAIN:], frame[targets][TRAIN:])
    wide = table.pivot_table("forecast", index="time", columns="target")[targets]
    np.testing.assert_allclose(wide, model.predict(frame[TRAIN:]), rtol=1e-5)


def test_lag_features_equal_predict(frame):
    """With lag=horizon nothing that predict reads lies after the origin."""
    model = make_pipeline(SlidingWindow(seq_len=24, lag=6), LinearRegression())
    model.fit(frame[:TRAIN], frame["load"][:TRAIN])
    table = backtest(model, frame[TRAIN:], frame["load"][TRAIN:], horizon=6)
    np.testing.assert_allclose(table["forecast"], model.predict(frame[TRAIN:]))


def test_lags_shorter_than_the_horizon_are_an_error(frame):
    """They would read what happens after the origin."""
    model = make_pipeline(SlidingWindow(seq_len=24, lag=5), LinearRegression())
    model.fit(frame[:TRAIN], frame["load"][:TRAIN])
    with pytest.raises(ValueError, match="contains NaN"):
        backtest(model, frame[TRAIN:], frame["load"][TRAIN:], horizon=6)


def test_the_future_is_hidden_but_for_what_is_known_ahead(frame):
    """Honest whatever the estimator does with the frame it gets."""
    spy = Spy().fit(frame)
    backtest(spy, frame, frame["load"], horizon=10, step=40, known_future=["temp"])
    assert [len(seen) for seen in spy.asked_] == [10, 50, 90, 130]
    for seen in spy.asked_:
        assert seen["load"].iloc[-10:].isna().all()
        pd.testing.assert_frame_equal(seen[:-10], frame[: len(seen) - 10])
        pd.testing.assert_series_equal(seen["temp"], frame["temp"][: len(seen)])


@pytest.mark.slow
def test_informers_known_future_is_not_hidden(frame):
    """The estimator's own parameter needs no repetition."""
    model = informer(known_future=["temp"]).fit(frame[:TRAIN])
    expected = model.predict(frame[TRAIN:])
    table = backtest(model, frame[TRAIN:])
    np.testing.assert_allclose(table["forecast"], expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
@pytest.mark.parametrize("step", [1, 4, 9])
def test_changing_the_future_changes_no_forecast(frame, fitted, step):
    """The property that makes a backtest worth its name; origins off the block grid, too."""
    test = frame[TRAIN : TRAIN + 20]
    changed = test.copy()
    changed.loc[changed.index[12:], :] += 1000.0
    before, after = (backtest(fitted, X, step=step) for X in (test, changed))
    early = before["origin"] <= test.index[12]
    assert early.any()
    pd.testing.assert_series_equal(before["forecast"][early], after["forecast"][early])


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 4])
def test_each_origin_forecasts_from_its_own_history(frame, fitted, step):
    """Off the block grid predict would start too early; forecast on the rows seen is exact."""
    test = frame[TRAIN : TRAIN + 15]
    for origin, rows in backtest(fitted, test, step=step).groupby("origin"):
        seen = test[test.index < origin]
        expected = fitted.forecast(seen if len(seen) else None, horizon=6)["load"]
        np.testing.assert_allclose(rows["forecast"], expected[: len(rows)], rtol=1e-5)


def test_table_names_origin_time_and_distance(frame, fitted):
    """The columns that a user groups by."""
    table = backtest(fitted, frame[TRAIN : TRAIN + 10], step=4)
    assert table.columns.tolist() == [
        "origin",
        "time",
        "ahead",
        "target",
        "actual",
        "forecast",
    ]
    expected = table["origin"] + (table["ahead"] - 1) * pd.Timedelta(hours=1)
    pd.testing.assert_series_equal(table["time"], expected, check_names=False)
    assert table["ahead"].tolist() == [*range(1, 7), *range(1, 7), 1, 2]
    assert table["target"].unique().tolist() == ["load"]


def test_start_leaves_rows_before_it_as_history(frame, fitted):
    """A later start must not forget the rows between the training and it."""
    test = frame[TRAIN:]
    whole = backtest(fitted, test)
    late = backtest(fitted, test, start=test.index[12])
    expected = whole[whole["time"] >= test.index[12]].reset_index(drop=True)
    pd.testing.assert_frame_equal(late, expected, rtol=1e-6)


def test_missing_truth_stays_missing(frame, fitted):
    """Filled truth would be scored as if it had been observed."""
    test = frame[TRAIN:].copy()
    test.iloc[7, test.columns.get_loc("load")] = np.nan
    table = backtest(fitted, test)
    assert np.flatnonzero(table["actual"].isna()).tolist() == [7]
    assert table["forecast"].notna().all()


def test_whole_numbers_can_be_hidden():
    """An integer column has no NaN; the caller's frame stays as it is."""
    counts = pd.DataFrame({"n": range(20)}, index=pd.RangeIndex(20))
    model = SeasonalNaive().fit(counts[:10])
    table = backtest(model, counts[10:], counts["n"][10:], horizon=5)
    assert table["forecast"].tolist() == [9.0] * 5 + [14.0] * 5
    assert counts["n"].dtype == np.int64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": None}, "y=None needs an estimator that knows its target, such as"),
        ({"horizon": None}, "horizon=None needs an estimator with pred_len."),
        ({"horizon": 0}, f"horizon=0 {NO_COUNT}"),
        ({"step": 1.5}, f"step=1.5 {NO_COUNT}"),
        ({"start": pd.Timestamp("2020-01-01", tz="UTC")}, "is not a label of X.index."),
        (
            {"y": pd.Series(range(ROWS))},
            "X and y have different indexes: rows belong together by their labels. Pass",
        ),
    ],
)
def test_wrong_input_says_what_to_pass(frame, change, message):
    """One sentence each; the options that are not changed are right."""
    options = {"y": frame["load"], "horizon": 4, **change}
    with pytest.raises(ValueError, match=message):
        backtest(Spy().fit(frame), frame, **options)


@pytest.mark.parametrize("target", ["load", ["load"], ["load", "temp"], 1])
def test_a_seasonal_naive_knows_its_target_and_its_season(frame, target):
    """Its truth is in X, as an Informer's is, and a season is what it forecasts at once."""
    values = frame.set_axis([0, 1], axis=1) if target == 1 else frame
    model = SeasonalNaive(season=24, target=target).fit(values[:TRAIN])
    table = backtest(model, values[TRAIN:])
    names = target if isinstance(target, list) else [target]
    pd.testing.assert_frame_equal(
        table, backtest(model, values[TRAIN:], values[names][TRAIN:], horizon=24)
    )
    assert set(table["target"]) == set(names)


@pytest.mark.slow
def test_the_truth_may_be_a_frame_that_holds_other_columns(frame, fitted):
    """X itself, say: whose forecasts are compared with which column is known."""
    naive = SeasonalNaive(24, target="load").fit(frame[:TRAIN])
    later = frame[TRAIN:]
    for model in (naive, fitted):
        expected = backtest(model, later, horizon=6)
        pd.testing.assert_frame_equal(
            backtest(model, later, later, horizon=6), expected
        )
    two = informer(
        target=["load", "temp"], members=["classical", "ridges", "network"]
    ).fit(frame[:TRAIN])
    pd.testing.assert_frame_equal(backtest(two, later, later), backtest(two, later))


def test_origins_in_the_training_rows_are_an_error(frame, fitted):
    """Their forecasts would be in-sample and look better than they are."""
    with pytest.raises(ValueError, match="lies in the training rows"):
        backtest(fitted, frame)


def test_features_mode_is_an_error(frame):
    """The truth before the origin does not reach such an estimator."""
    model = informer(target=None).fit(frame[["temp"]], frame["load"].rename("y"))
    with pytest.raises(ValueError, match="estimator was fitted on features only"):
        backtest(model, frame[["temp"]], frame["load"])


def test_empty_frames_are_errors(frame):
    """Said at once instead of by an error of pandas."""
    model = SeasonalNaive(target="load").fit(frame)
    with pytest.raises(ValueError, match="X has no rows"):
        backtest(model, frame[:0], frame["load"][:0], horizon=2)


def test_a_panel_is_forecast_series_by_series_as_predict_does():
    """Each series has its own origins and its own past."""
    hours = pd.date_range("2024-01-01", periods=80, freq="h", name="time")
    wave = np.sin(np.arange(80) / 3)
    panel = pd.concat(
        {
            "a": pd.DataFrame({"load": wave}, index=hours),
            "b": pd.DataFrame({"load": 50 + 9 * wave[:70]}, index=hours[:70]),
        },
        names=["sensor", "time"],
    )
    before = panel.groupby(level=0).head(60)
    later = panel.drop(before.index)
    model = InformerRegressor(
        seq_len=12,
        pred_len=4,
        random_state=0,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    ).fit(before)
    table = backtest(model, later)
    assert table["series"].value_counts().to_dict() == {"a": 20, "b": 10}
    np.testing.assert_allclose(table["forecast"], model.predict(later), rtol=1e-5)
    np.testing.assert_array_equal(table["actual"], later["load"])
    one = backtest(model, later.loc[["b"]])
    np.testing.assert_array_equal(
        one["forecast"], table["forecast"][table["series"] == "b"]
    )
    with pytest.raises(ValueError, match="lies in the training rows"):
        backtest(model, panel)


def counted(monkeypatch, cls, name):
    """Count the calls of a method."""
    calls, method = [], getattr(cls, name)

    def call(self, X=None, **options):
        calls.append(X)
        return method(self, X, **options)

    monkeypatch.setattr(cls, name, call)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, ["temp"]], ids=["past only", "known ahead"])
def test_all_series_at_once_equal_one_after_the_other(known):
    """Series that end, begin or miss truths at other times must not meet in one call."""
    before, later = split_panel(ragged_panel(), 20)
    later.loc[later.index[[2, 3, 22]], "load"] = np.nan
    model = informer(seq_len=12, pred_len=4, known_future=known).fit(before)
    for step in (1, 4):
        with (
            pytest.warns(UserWarning, match="forward-filled")
            if known is None
            else nullcontext()
        ):
            table = backtest(model, later, step=step)
            expected = naive_loop(model, later, horizon=4, step=step)
        np.testing.assert_array_equal(
            table["series"], expected.index.get_level_values(0)
        )
        np.testing.assert_array_equal(table["time"], expected.index.get_level_values(1))
        np.testing.assert_allclose(table["forecast"], expected, rtol=1e-6)


def test_the_number_of_calls_does_not_grow_with_the_number_of_series(monkeypatch):
    """5,000 series with one origin took 76 s, a call each."""
    before, later = split_panel(ragged_panel(n=[26] * 8, start=range(8)), 20)
    model = informer(seq_len=12, pred_len=3).fit(before)
    calls = counted(monkeypatch, InformerRegressor, "_forecast_frame")
    assert len(backtest(model, later)) == 8 * 6
    assert calls == []  # from all origins at once
    assert len(backtest(make_pipeline("passthrough", model), later)) == 8 * 6
    assert len(calls) == 2
    naive = SeasonalNaive(target="load").fit(before)
    calls = counted(monkeypatch, SeasonalNaive, "predict")
    assert len(backtest(naive, later, later["load"], horizon=3)) == 8 * 6
    assert len(calls) == 2


@pytest.mark.slow
def test_a_row_far_ahead_changes_its_own_series_alone():
    """All series were forecast through the years up to it."""
    before, later = split_panel(ragged_panel(n=[26] * 8, start=range(8)), 20)
    labels = later.index.to_frame(index=False)
    labels.loc[5, "when"] += pd.Timedelta(days=30)
    later.index = pd.MultiIndex.from_frame(labels)
    model = informer(target=["load"], seq_len=12, pred_len=3).fit(before)
    with pytest.warns(UserWarning, match="forward-filled"):
        table = backtest(model, later, horizon=6)
    with pytest.warns(UserWarning, match="forward-filled"):
        expected = backtest(model, later.drop(later.index[:6]), horizon=6)
    others = table["series"] != later.index[5][0]
    pd.testing.assert_frame_equal(
        table[others].reset_index(drop=True), expected, rtol=1e-6
    )


@pytest.mark.slow
def test_large_panels_are_shown_in_parts(monkeypatch):
    """A copy of all rows for each origin would be the most that memory must hold."""
    n, shown = 200_000, []
    index = pd.MultiIndex.from_product([range(3), range(n)])
    rows = pd.DataFrame({"load": np.arange(3.0 * n)}, index=index)

    def naive(before, after):
        shown.append(len(before) + len(after))
        return before["load"].groupby(level=0).last().to_numpy()

    table = backtest(naive, rows, rows["load"], start=n - 1, horizon=1)
    assert shown == [2 * n, n]
    np.testing.assert_array_equal(table["forecast"], table["actual"] - 1)


def test_memory_grows_with_the_rows():
    """Not with the series times the time that they span together."""
    days = pd.date_range("2000-01-01", periods=3000, freq="D")
    parts = {
        j: pd.DataFrame({"load": 1.0}, index=days[5 * j : 5 * j + 10])
        for j in range(500)
    }
    before, later = split_panel(pd.concat(parts), 6)
    model = make_pipeline(SlidingWindow(seq_len=4, lag=2), LinearRegression())
    model.fit(before, before["load"])
    tracemalloc.start()
    backtest(model, later, later["load"], horizon=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6  # 2,000 rows; series times span is 12 MB


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_no_forecast_of_a_panel_sees_the_future():
    """Neither its own series' nor that of another."""
    before, later = split_panel(ragged_panel(), 20)
    model = informer(seq_len=12, pred_len=4).fit(before)
    late = later.groupby(level=0).cumcount().to_numpy() >= 8
    changed = later.copy()
    changed.loc[late] += 1e3
    tables = [backtest(model, X) for X in (later, changed)]
    early = tables[0].groupby("series")["origin"].rank("dense") <= 3  # rows 0, 4 and 8
    assert early.sum() == 36
    pd.testing.assert_series_equal(*(table["forecast"][early] for table in tables))


def test_the_order_of_rows_does_not_matter(frame, fitted):
    """Rows have times; without sorting, the rows ahead were not those latest in time."""
    test = frame[TRAIN:]
    mixed = test.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(backtest(fitted, mixed), backtest(fitted, test))
    before, later = split_panel(ragged_panel(), 20)
    model = SeasonalNaive(target="load").fit(before)
    by_time = later.sort_index(level=1, sort_remaining=False)
    tables = [backtest(model, X, X["load"], horizon=3) for X in (later, by_time)]
    keys = ["series", "time"]
    pd.testing.assert_frame_equal(
        *(t.sort_values(keys, ignore_index=True) for t in tables)
    )


@pytest.mark.slow
def test_names_may_be_tuples(frame):
    """Columns in levels are usual after a pivot."""
    wide = frame.set_axis(
        pd.MultiIndex.from_tuples([("w", "temp"), ("w", "load")]), axis=1
    )
    ridges = {"members": ["ridges"]}
    model = informer(target=[("w", "load")], **ridges).fit(wide[:TRAIN])
    table = backtest(model, wide[TRAIN:])
    assert set(table["target"]) == {("w", "load")}
    expected = backtest(informer(**ridges).fit(frame[:TRAIN]), frame[TRAIN:])
    np.testing.assert_allclose(table["forecast"], expected["forecast"], rtol=1e-6)


def test_pandas_na_is_a_missing_value(frame, fitted):
    """Nullable columns, and what read_json makes of null."""
    test = frame[TRAIN:].copy()
    test.iloc[7, 1] = np.nan
    expected = backtest(fitted, test)
    for dtype in ("Float64", object):
        odd = test.astype(dtype)
        odd.iloc[7, 1] = pd.NA
        pd.testing.assert_frame_equal(backtest(fitted, odd), expected)
        pd.testing.assert_frame_equal(backtest(fitted, test, odd["load"]), expected)


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_a_series_is_a_frame_of_one_column(frame, named):
    """As everywhere else."""
    load = frame["load"].rename("load" if named else None)
    model = informer(target=None).fit(load[:TRAIN])
    expected = backtest(model, load[TRAIN:].to_frame())
    pd.testing.assert_frame_equal(backtest(model, load[TRAIN:]), expected)
    pd.testing.assert_frame_equal(backtest(model, load[TRAIN:], load[TRAIN:]), expected)


@pytest.fixture(scope="module")
def of_numbers(frame):
    values = frame.to_numpy()
    model = informer(target=None, members=["ridges"])
    return backtest(model.fit(values[:TRAIN]), values[TRAIN:])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a frame of polars has no index:UserWarning")
@pytest.mark.parametrize("kind", ["array", "list", "polars", "read-only"])
def test_rows_without_an_index_follow_the_training_rows(frame, of_numbers, kind):
    """An array has no clock; predict takes it so, too."""
    values = frame.to_numpy()
    make = {
        "array": lambda rows: rows,
        "list": lambda rows: rows.tolist(),
        "polars": lambda rows: pl.DataFrame(rows, schema=["temp", "load"]),
        "read-only": lambda rows: np.broadcast_to(rows, rows.shape),
    }[kind]
    model = informer(target=None, members=["ridges"]).fit(make(values[:TRAIN]))
    table = backtest(model, make(values[TRAIN:]))
    assert list(table["time"]) == list(range(TRAIN, ROWS))
    expected = of_numbers["forecast"]
    np.testing.assert_allclose(table["forecast"], expected, rtol=1e-6)
    np.testing.assert_allclose(expected, model.predict(make(values[TRAIN:])), rtol=1e-6)


@pytest.mark.slow
def test_a_model_that_counts_rows_takes_any_labels(frame):
    """As predict does; they were refused as training rows, or not found again."""
    values = frame.to_numpy()
    model = informer(target=None).fit(values[:TRAIN])
    expected = backtest(model, values[TRAIN:])["forecast"]
    for index in (None, frame.index[TRAIN:]):
        later = pd.DataFrame(values[TRAIN:], index=index)
        table = backtest(model, later)
        pd.testing.assert_series_equal(table["forecast"], expected)
        assert table["time"].tolist() == later.index.tolist()


def test_a_truth_without_an_index_goes_row_by_row(frame, fitted):
    """Also where the rows are out of order."""
    mixed = frame[TRAIN:].sample(frac=1, random_state=0)
    for y in (
        mixed["load"].to_numpy(),
        mixed["load"].tolist(),
        pl.Series(mixed["load"].tolist()),
    ):
        pd.testing.assert_frame_equal(
            backtest(fitted, mixed, y), backtest(fitted, mixed)
        )


def test_labels_in_another_time_zone_name_the_same_hours(frame, fitted):
    """Half of an organisation keeps UTC; a panel was not found again."""
    test = frame[TRAIN:]
    table = backtest(fitted, test.tz_convert("UTC"))
    np.testing.assert_array_equal(table["forecast"], backtest(fitted, test)["forecast"])
    before, later = split_panel(ragged_panel(), 20)
    model = informer(seq_len=12, pred_len=4).fit(before)
    moved = later.tz_convert("UTC", level=1)
    table = backtest(model, moved)
    np.testing.assert_array_equal(table["forecast"], backtest(model, later)["forecast"])
    np.testing.assert_array_equal(table["time"], moved.index.get_level_values(1))


@pytest.mark.slow
def test_columns_of_the_calendar_are_known_ahead(frame):
    """They were hidden, and the Informer asked for their values."""
    with_calendar = CalendarFeatures(["hour"]).fit_transform(frame)
    model = informer().fit(with_calendar[:TRAIN])
    expected = model.predict(with_calendar[TRAIN:])
    np.testing.assert_allclose(
        backtest(model, with_calendar[TRAIN:])["forecast"], expected, rtol=1e-6
    )


@pytest.mark.slow
def test_a_search_or_a_nested_pipeline_forecasts_from_the_origin(frame, fitted):
    """Only the last step knows how."""
    expected = backtest(fitted, frame[TRAIN:])
    nested = make_pipeline("passthrough", make_pipeline("passthrough", fitted))
    pd.testing.assert_frame_equal(backtest(nested, frame[TRAIN:]), expected)
    search = GridSearchCV(
        informer(members=["network"]),
        {"network__attention__factor": [5.0]},
        cv=TimeSeriesSplit(2, test_size=20),
    )
    search.fit(frame[:TRAIN], frame["load"][:TRAIN])
    table = backtest(search, frame[TRAIN:], step=3)
    pd.testing.assert_frame_equal(
        table, backtest(search.best_estimator_, frame[TRAIN:], step=3)
    )


def test_start_of_a_panel_is_each_series_first_row_from_then_on():
    """Series that begin later were an error; those that have ended have nothing to forecast."""
    panel = ragged_panel(n=(40, 20, 38), start=(0, 0, 22))
    times = panel.index.get_level_values(1)
    model = SeasonalNaive(target="load").fit(panel)
    table = backtest(model, panel, panel["load"], horizon=6, start=times[20])
    first = table.groupby("series")["origin"].min()
    assert first.to_dict() == {"a": times[20], "c": times[22]}


def test_a_series_that_begins_after_the_fit_is_forecast_once_it_has_a_row():
    """One new shop was an error of the whole backtest."""
    panel = ragged_panel(n=(60, 60, 38), start=(0, 0, 3))
    times = panel.index.get_level_values(1)
    early = (panel.index.get_level_values(0) != "c") & (times < times[48])
    model = informer(members=["ridges"]).fit(panel[early])
    later = panel[~early]
    with pytest.warns(
        UserWarning, match=r"^series \['c'\] are new to the fit: no forecast before"
    ):
        table = backtest(model, later, step=3)
    begin = later.loc["c"].index
    origins = table.loc[table["series"] == "c", "origin"].unique()
    assert list(origins) == list(begin[3::3])
    given = later.loc[["c"]].head(3 + 6)
    given.iloc[3:] = np.nan
    first = table[(table["series"] == "c") & (table["origin"] == begin[3])]
    np.testing.assert_allclose(
        first["forecast"], model.forecast(given)["load"], rtol=1e-6
    )
    alone = later.drop(index="c", level=0)
    old = table[table["series"] != "c"].reset_index(drop=True)
    pd.testing.assert_frame_equal(old, backtest(model, alone, step=3), rtol=1e-5)
    with pytest.raises(
        ValueError, match=r"^series \['c'\] are new .* none has one\. Pass more rows"
    ):
        backtest(model, later.loc[["c"]].head(6))


@pytest.mark.parametrize(
    "write", [str, lambda t: t.to_datetime64(), lambda t: t.to_pydatetime()]
)
def test_start_may_be_written_in_several_ways(write):
    """Whatever pandas takes for the label."""
    days = pd.date_range("2024-01-01", periods=12, freq="D")
    df = pd.DataFrame({"load": np.arange(12.0)}, index=days)
    model = SeasonalNaive().fit(df)
    table = backtest(model, df, df["load"], horizon=2, start=write(days[8]))
    assert table["origin"].min() == days[8]
    months = df.set_axis(pd.period_range("2024-01", periods=12, freq="M"))
    table = backtest(
        SeasonalNaive().fit(months), months, months["load"], horizon=2, start="2024-09"
    )
    assert table["origin"].min() == months.index[8]


@pytest.mark.parametrize(
    "estimator", [informer(), SeasonalNaive(), make_pipeline(informer())]
)
def test_an_estimator_that_is_not_fitted_is_told_so(frame, estimator):
    """It was told to pass the truth."""
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        backtest(estimator, frame, horizon=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": np.nan}, f"horizon=nan {NO_COUNT}"),
        ({"horizon": "6"}, f"horizon='6' {NO_COUNT}"),
        ({"step": [1]}, f"step=[1] {NO_COUNT}"),
        (
            {"start": ["a"]},
            "start=['a'] is not a label of X.index. Pass one, such as "
            "Timestamp('2024-01-06 00:00:00+1300', tz='Pacific/Auckland').",
        ),
        (
            {"known_future": -1},
            "known_future=[-1] holds -1, which is not a column of X: the columns are "
            "['temp', 'load'].",
        ),
        ({"step": 10**30}, f"step={10**30} {NO_COUNT}"),
        (
            {"known_future": ["tmep"]},
            "known_future=['tmep'] holds 'tmep', which is not a column of X: the columns are "
            "['temp', 'load'].",
        ),
        (
            {"known_future": ["load"]},
            "known_future=['load'] contains the target 'load', which is not known in "
            "advance. Remove it.",
        ),
    ],
)
def test_wrong_options_say_what_to_pass(frame, fitted, change, message):
    """Errors of numpy and pandas, or silence, before."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        backtest(fitted, frame[TRAIN:], **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: (X, X["temp"]),
     "y holds ['temp'], but the estimator forecasts ['load']. Pass the actual values of "
     "these, such as y=X[['load']]."),
        (lambda X: (X, X.to_numpy()), "y has 2 columns for 1 target: pass one per target, "
         "in the order of `target`."),
        (lambda X: (X[["temp"]], None), "target='load' is not a column of X: the columns are "
         "['temp']. Name one of them; verbose_feature_names_out=False keeps a ColumnTransformer "
         "from prefixing names."),
        (lambda X: (X.set_axis(["load", "load"], axis=1), None), "X has several columns named "
         "'load': give each its own name."),
        (lambda X: (X.assign(temp="x"), None), f"could not convert column 'temp' of dtype {TEXT} "
         "to float: it holds 'x'. Correct it, or make such values missing, X['temp'] = "
         "pd.to_numeric(X['temp'], errors='coerce'), or columns of 0 and 1, pd.get_dummies. Times "
         "and names of series belong in the index, X.set_index([series, time]), in a Pipeline by "
         "TimeIndex."),
        (lambda X: (X.assign(load=np.inf), None), "Input y contains infinity or a value too large "
         "for dtype('float64')."),
        (lambda X: (pd.concat({"a": X}), None), "X labels its rows by (series, time), but one "
         "series was fitted: pass the rows of one, X.loc[series]."),
    ],
)  # fmt: skip
def test_wrong_rows_say_what_to_pass(frame, fitted, change, message):
    """One sentence each instead of an error of pandas, or a comparison of two quantities."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        backtest(fitted, *change(frame[TRAIN:]))


def test_one_column_known_ahead_is_named_without_a_list(frame, fitted):
    """As everywhere else; a list of letters was no column."""
    X = frame[TRAIN:]
    one, several = (
        backtest(fitted, X, known_future=known) for known in ("temp", ["temp"])
    )
    pd.testing.assert_frame_equal(one, several)


def test_a_classifier_is_sent_to_cross_validation(frame):
    """Its labels were to become columns of 0 and 1; errors of labels are no numbers."""
    rows = frame[["load"]].assign(mood=np.where(frame["load"] > 0, "hot", "cold"))
    sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    model = InformerClassifier(
        "mood", **with_parts(members=["network"], random_state=0, **sizes)
    ).fit(rows[:TRAIN])
    with pytest.raises(
        TypeError, match=r"^InformerClassifier forecasts classes, .* cross_va"
    ):
        backtest(model, rows[TRAIN:])


def test_naive_times_of_an_aware_fit_are_an_error(frame, fitted):
    """Said in the words of predict."""
    with pytest.raises(TypeError, match="pass labels of the same kind"):
        backtest(fitted, frame[TRAIN:].tz_localize(None))


def test_one_forecast_a_target_is_needed(frame):
    """A second column of y has nothing to be compared with."""
    model = Spy().fit(frame)
    with pytest.raises(ValueError, match=r"^y has 2 columns for 1 target"):
        backtest(model, frame, frame, horizon=2)
