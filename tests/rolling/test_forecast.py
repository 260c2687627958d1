"""forecast: the steps after the history, with their timestamps and in their units."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture(scope="module")
def alone(small, frame):
    """Fit the target without covariates on 60 hours."""
    return small(target="load").fit(frame(60)[["flow", "load"]])


def test_without_arguments_pred_len_steps_follow_the_history(alone):
    """The commonest call asks what comes next."""
    forecast = alone.forecast()
    pd.testing.assert_index_equal(
        forecast.index, pd.date_range("2024-01-03 12:00", periods=4, freq="h")
    )
    assert forecast.index.freq == "h"
    assert list(forecast.columns) == ["load"]
    assert forecast["load"].dtype == np.float64
    assert abs(forecast["load"].mean() - 1000) < 200


@pytest.mark.parametrize("horizon", [1, 3, 4, np.int64(2)])
def test_a_shorter_horizon_gives_the_first_steps(alone, horizon):
    """How many steps are asked for must not change them."""
    pd.testing.assert_frame_equal(
        alone.forecast(horizon=horizon), alone.forecast()[:horizon], check_freq=False
    )


@pytest.mark.parametrize("horizon", [5, 8, 13])
def test_a_longer_horizon_feeds_forecasts_back_and_says_what_it_held(alone, horizon):
    """Past-only columns end with the history; their last value is held, and not silently."""
    with pytest.warns(
        UserWarning, match=r"past covariates \['flow'\] have no values at"
    ):
        longer = alone.forecast(horizon=horizon)
    assert longer.shape == (horizon, 1)
    assert longer.notna().all(axis=None)
    pd.testing.assert_frame_equal(longer[:4], alone.forecast(), check_freq=False)


@pytest.mark.parametrize("horizon", [1, 4, 9])
def test_predicting_the_future_frame_is_forecasting(small, frame, horizon):
    """Two ways to the same steps must give the same numbers."""
    df = frame(60)[["load"]]
    estimator = small().fit(df)
    future = estimator.make_future_frame(horizon)
    forecast = estimator.forecast(horizon=horizon)
    pd.testing.assert_index_equal(future.index, forecast.index)
    np.testing.assert_array_equal(estimator.predict(future), forecast["load"])
    pd.testing.assert_frame_equal(estimator.forecast(future), forecast)


def test_the_future_frame_has_the_columns_of_x_and_no_values(small, frame):
    """What is known ahead is filled in by the user, nothing by us."""
    estimator = small().fit(frame(60))
    future = estimator.make_future_frame()
    assert list(future.columns) == ["flow", "price", "load"]
    assert future.shape == (4, 3)
    assert future.isna().all(axis=None)


@pytest.mark.parametrize("given", ["frame", "both"])
def test_the_future_frame_works_through_a_pipeline(small, frame, given):
    """The frame is made by the last step, but the whole pipeline predicts it."""
    df = frame(60)[["flow", "load"]]
    pipe = make_pipeline(StandardScaler(), small(target="load")).set_output(
        transform="pandas"
    )
    pipe.fit(df, df["load"] if given == "both" else None)
    future = pipe[-1].make_future_frame(3)
    np.testing.assert_array_equal(
        pipe.predict(future), pipe[-1].forecast(horizon=3)["load"]
    )


def test_the_horizon_defaults_to_the_rows_after_the_history(small, frame, modes, mode):
    """X holds what is known of the future: as many steps as it has rows."""
    df = frame(67)
    estimator = modes.fit(mode, df[:60], seq_len=12, pred_len=8)
    X = df[60:].copy()
    X["load"] = np.nan
    forecast = estimator.forecast(modes.X(mode, X))
    pd.testing.assert_index_equal(forecast.index, df.index[60:])
    np.testing.assert_array_equal(forecast["load"], estimator.predict(modes.X(mode, X)))


def test_rows_of_history_and_future_are_told_apart_by_the_target(fitted, frame):
    """One frame may hold both: the target is observed up to now and missing after."""
    df = frame(76)
    df.loc[df.index[70:], ["load", "flow"]] = np.nan
    estimator = fitted("frame")
    with pytest.warns(UserWarning, match="past covariates"):
        forecast = estimator.forecast(df)
    pd.testing.assert_index_equal(forecast.index, df.index[70:])
    # The later rows alone say as much: the stored history is what the others repeat.
    with pytest.warns(UserWarning, match="past covariates"):
        pd.testing.assert_frame_equal(estimator.forecast(df[60:]), forecast)


def test_past_only_values_from_the_origin_on_are_not_read(fitted, frame):
    """A later block would see them in its context: they come with the truth, not before."""
    df = frame(76)
    df.loc[df.index[70:], "load"] = np.nan
    hidden = df.copy()
    hidden.loc[hidden.index[70:], "flow"] = np.nan
    with pytest.warns(UserWarning, match="past covariates"):
        forecasts = [fitted("frame").forecast(rows) for rows in (df, hidden)]
    assert len(forecasts[0]) > fitted("frame").pred_len
    pd.testing.assert_frame_equal(*forecasts)


def test_later_history_moves_the_origin_and_leaves_the_state(small, frame):
    """A forecast is a question; it must not change the next answer."""
    df = frame(80)[["load"]]
    estimator = small().fit(df[:60])
    before = estimator.forecast()
    later = estimator.forecast(df[60:70])
    pd.testing.assert_index_equal(later.index, df.index[70:74])
    pd.testing.assert_frame_equal(estimator.forecast(), before)
    updated = small().fit(df[:60]).update(df[60:70]).forecast()
    pd.testing.assert_frame_equal(later, updated, check_freq=False)


def test_the_training_rows_again_change_nothing(alone, frame):
    """History that is stored already is no later history."""
    pd.testing.assert_frame_equal(
        alone.forecast(frame(60)[["flow", "load"]]), alone.forecast()
    )


def test_the_rows_of_x_may_come_in_any_order(fitted, frame):
    """X is sliced by timestamp, not by place."""
    df = frame(64)
    df.loc[df.index[60:], ["load", "flow"]] = np.nan
    shuffled = df.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        fitted("frame").forecast(shuffled), fitted("frame").forecast(df)
    )


def test_a_missing_known_value_is_an_error_that_says_which(fitted, frame):
    """Held silently, a price of yesterday would pass for tomorrow's."""
    sentence = (
        "future covariate 'price' has no value at 4 of the steps to forecast, the first "
        "2024-01-03 12:00:00: pass X with a row for each step; make_future_frame() makes such "
        "rows to fill in."
    )
    for mode in ("frame", "both"):
        with pytest.raises(ValueError, match="future covariate") as caught:
            fitted(mode).forecast()
        assert str(caught.value) == sentence
    df = frame(64)
    df.loc[df.index[60:], ["load", "flow"]] = np.nan
    with pytest.raises(
        ValueError, match=r"at 1 of the steps .* first 2024-01-03 14:00:00"
    ):
        fitted("frame").forecast(df.drop(df.index[62]))


@pytest.fixture(scope="module")
def apart(small, panel):
    """Fit series that end at other hours, with a column that is known ahead."""
    return small(target="load", known_future=["price"]).fit(panel()[["price", "load"]])


def to_come(n_rows):
    """Give so many rows of each series after its own end, of `panel()`."""
    parts = {}
    for name, end in {"a": 60, "b": 70, "c": 30}.items():
        hours = pd.date_range("2024-01-01", periods=400, freq="h")[
            end : end + n_rows[name]
        ]
        parts[name] = pd.DataFrame({"price": 1.0}, index=hours)
    return pd.concat(parts, names=["site", "time"])


def test_a_missing_known_value_of_a_panel_names_its_series(apart):
    """A step that nobody asked for was named, of no series: X is of other lengths in each."""
    future = to_come({"a": 3, "b": 5, "c": 1})
    lacking = future.drop(("b", pd.Timestamp("2024-01-03 23:00")))
    with pytest.raises(
        ValueError, match=r"no value at 1 of .* 2024-01-03 23:00:00 of series 'b': p"
    ):
        apart.forecast(lacking)
    with pytest.raises(
        ValueError, match=r"no value at 6 of .* 2024-01-03 15:00:00 of series 'a'"
    ):
        apart.forecast(future, horizon=5)


def test_each_series_is_forecast_as_far_as_its_own_rows(apart):
    """No more is known, and no more was asked for."""
    future = to_come({"a": 3, "b": 5, "c": 1})
    forecast = apart.forecast(future)
    assert list(forecast.index) == list(future.index)
    np.testing.assert_array_equal(forecast["load"], apart.predict(future))
    assert apart.sample(2, future).shape == (9, 2)


def test_filling_the_future_frame_is_all_that_known_columns_need(fitted, frame):
    """The error above names this way out; it must be one."""
    future = fitted("frame").make_future_frame(4)
    future["price"] = frame(64)["price"]
    forecast = fitted("frame").forecast(future)
    np.testing.assert_array_equal(fitted("frame").predict(future), forecast["load"])


def test_future_rows_need_only_what_is_known_ahead(fitted, frame):
    """The first thing that a user of other forecasters types."""
    for mode in ("frame", "both"):
        estimator = fitted(mode)
        future = frame(64)[["price"]][60:]
        whole = frame(64)[60:].assign(load=np.nan, flow=np.nan)
        forecast = estimator.forecast(future)
        pd.testing.assert_frame_equal(forecast, estimator.forecast(whole))
        np.testing.assert_array_equal(estimator.predict(future), forecast["load"])
        # A Series is a frame of one column, here as everywhere.
        pd.testing.assert_frame_equal(estimator.forecast(future["price"]), forecast)


def test_future_rows_need_no_column_where_none_is_known_ahead(alone, frame):
    """Timestamps say it all."""
    np.testing.assert_array_equal(
        alone.predict(frame(64)[60:][[]]), alone.forecast()["load"]
    )


def test_past_rows_without_a_target_are_forecast_from_the_stored_one(fitted, frame):
    """Inside the history a missing value never wins over the stored one."""
    df = frame(60)
    estimator = fitted("frame")
    np.testing.assert_array_equal(
        estimator.predict(df[["price"]]), estimator.predict(df)
    )


@pytest.mark.slow
def test_the_future_frame_joins_the_training_frame(small):
    """Levels and names of columns and index are those of X."""
    hours = pd.date_range("2024-01-01", periods=60, freq="h", name="when")
    columns = pd.MultiIndex.from_product(
        [["site"], ["temp", "open", "load"]], names=["at", "what"]
    )
    df = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), hours, columns)
    df = df.astype({("site", "temp"): np.float32, ("site", "open"): bool})
    estimator = small(known_future=[("site", "open")]).fit(df)
    future = estimator.make_future_frame()
    pd.testing.assert_index_equal(future.columns, df.columns)
    assert [str(dtype) for dtype in future.dtypes] == ["float64"] * 3
    assert future.index.name == "when"
    future[("site", "open")] = 1.0
    forecast = estimator.forecast(future)
    pd.testing.assert_index_equal(forecast.columns, df.columns[[2]])
    np.testing.assert_array_equal(forecast.iloc[:, 0], estimator.predict(future))


def test_rows_before_the_history_do_not_reach_a_forecast(alone, frame):
    """The frame that a model was fitted to the end of begins earlier."""
    hours = pd.date_range("2023-12-30", periods=8, freq="h")
    early = frame(hours)[["flow", "load"]]
    X = pd.concat([early, frame(60)[["flow", "load"]]])
    pd.testing.assert_frame_equal(alone.forecast(X), alone.forecast())


@pytest.mark.slow
def test_an_array_forecasts_its_next_rows_by_number(small, frame):
    """Without a clock the row number is the time."""
    estimator = small().fit(frame(60).to_numpy())
    assert list(estimator.forecast().index) == [60, 61, 62, 63]
    assert list(estimator.forecast().columns) == [2]


@pytest.mark.slow
def test_the_name_of_the_index_is_kept(small, frame):
    """A forecast must join the frame it continues."""
    df = frame(60).rename_axis("when")
    assert small().fit(df).forecast().index.name == "when"
    assert small().fit(df).make_future_frame().index.name == "when"


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
def test_forecasts_of_rows_elsewhere_follow_those_rows(alone, frame):
    """X off the training grid is its own timeline: the forecast follows its last row."""
    index = pd.date_range("2023-03-03 00:30", periods=30, freq="h")
    X = frame(index, seed=1)[["flow", "load"]]
    forecast = alone.forecast(X)
    pd.testing.assert_index_equal(
        forecast.index, pd.date_range("2023-03-04 06:30", periods=4, freq="h")
    )
    both = pd.concat([X, X.iloc[:4].set_index(forecast.index) * np.nan])
    np.testing.assert_array_equal(forecast["load"], alone.forecast(both)["load"])


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
def test_a_forecast_of_an_earlier_timeline_is_not_taken_from_the_stored_one(
    alone, frame
):
    """X before the training data is its own timeline, on the same grid."""
    index = pd.date_range("2023-03-03", periods=30, freq="h")
    forecast = alone.forecast(frame(index, seed=1)[["flow", "load"]])
    assert forecast.index[0] == pd.Timestamp("2023-03-04 06:00")


def test_a_number_of_steps_given_as_rows_is_told_apart(small, frame):
    """forecast(48) is what one types first."""
    estimator = small(target="load").fit(frame(60))
    with pytest.raises(
        ValueError, match=r"^X=48 holds no rows\. .* forecast\(horizon=24\)"
    ):
        estimator.forecast(48)
