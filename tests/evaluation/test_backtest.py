"""A rolling origin sees nothing after the origin, and forgets nothing before it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerRegressor, SlidingWindow
from skinformer.evaluation import SeasonalNaive, backtest

TRAIN, ROWS = 120, 160


@pytest.fixture(scope="module")
def frame():
    hours = pd.date_range("2024-01-01", periods=ROWS, freq="h", tz="Pacific/Auckland", name="hour")
    rng = np.random.default_rng(0)
    wave = 50 + 10 * np.sin(hours.hour * 2 * np.pi / 24)
    columns = {"temp": rng.normal(size=ROWS), "load": wave + rng.normal(size=ROWS)}
    return pd.DataFrame(columns, index=hours)


def informer(**params):
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    return InformerRegressor(**{"target": "load", **sizes, "random_state": 0, **params})


@pytest.fixture(scope="module")
def fitted(frame):
    return informer().fit(frame[:TRAIN])


class Spy(LinearRegression):
    """Remembers the frames it is asked about."""

    def fit(self, X, y=None):
        self.asked_ = []
        return self

    def predict(self, X):
        self.asked_.append(X)
        return np.zeros(len(X))


def test_informer_in_blocks_equals_predict(frame, fitted):
    """Predict already is a rolling origin; the backtest must not be another protocol."""
    test = frame[TRAIN:]
    table = backtest(fitted, test)
    np.testing.assert_allclose(table["forecast"], fitted.predict(test), rtol=1e-6)
    np.testing.assert_array_equal(table["actual"], test["load"])
    assert list(table["time"]) == list(test.index)


def test_several_targets_and_a_pipeline_equal_predict(frame):
    """Units and the order of targets survive a scaler before the Informer."""
    targets = ["load", "temp"]
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, informer(target=targets))
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


def test_informers_known_future_is_not_hidden(frame):
    """The estimator's own parameter needs no repetition."""
    model = informer(known_future=["temp"]).fit(frame[:TRAIN])
    expected = model.predict(frame[TRAIN:])
    table = backtest(model, frame[TRAIN:])
    np.testing.assert_allclose(table["forecast"], expected, rtol=1e-6)


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
    assert table.columns.tolist() == ["origin", "time", "ahead", "target", "actual", "forecast"]
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
        ({"y": None}, "y=None needs an InformerRegressor, which knows its target."),
        ({"horizon": None}, "horizon=None needs an estimator with pred_len."),
        ({"horizon": 0}, "horizon=0 must be a whole number of rows, at least 1."),
        ({"step": 1.5}, "step=1.5 must be a whole number of rows, at least 1."),
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
        backtest(SeasonalNaive(target="load").fit(frame), frame, **options)


def test_origins_in_the_training_rows_are_an_error(frame, fitted):
    """Their forecasts would be in-sample and look better than they are."""
    with pytest.raises(ValueError, match="lies in the training rows"):
        backtest(fitted, frame)


def test_features_mode_is_an_error(frame):
    """The truth before the origin does not reach such an estimator."""
    model = informer(target=None).fit(frame[["temp"]], frame["load"].rename("y"))
    with pytest.raises(ValueError, match="estimator was fitted on features alone"):
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
        seq_len=12, pred_len=4, d_model=8, n_heads=2, max_iter=1, random_state=0
    ).fit(before)
    table = backtest(model, later)
    assert table["series"].value_counts().to_dict() == {"a": 20, "b": 10}
    np.testing.assert_allclose(table["forecast"], model.predict(later), rtol=1e-5)
    np.testing.assert_array_equal(table["actual"], later["load"])
    one = backtest(model, later.loc[["b"]])
    np.testing.assert_array_equal(one["forecast"], table["forecast"][table["series"] == "b"])
    with pytest.raises(ValueError, match="lies in the training rows"):
        backtest(model, panel)
