"""A target that was not named, or came in a scaler's units, is not forecast without a word."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler

from skinformer import CalendarFeatures
from skinformer.evaluation import SeasonalNaive

SCALERS = [StandardScaler(), MinMaxScaler(), PowerTransformer()]
#: How each message begins, beside that of the tests' short fits.
OURS = "target=None|the target "


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: which target was meant is no matter of who forecasts."""
    return partial(small, members=["network"])


def messages_of(estimator, X, y=None):
    """Fit, and give the messages of this page."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    return [str(w.message) for w in caught if re.match(OURS, str(w.message))]


def test_the_last_of_several_columns_is_named_when_it_is_forecast(small, frame):
    """Whoever has the target in front would read forecasts of something else."""
    assert messages_of(small(), frame(80)) == [
        "target=None forecasts the last column of X, 'load'; the others that are not known ahead, "
        "['flow', 'price'], only help. Say which is meant: target='load', or several in a list, "
        "target=['load', 'flow']."
    ]


def test_the_last_column_of_an_array_is_numbered(small, frame):
    """It has no name, and target takes its place."""
    assert messages_of(small(), frame(80).to_numpy()) == [
        "target=None forecasts the last column of X, number 2; the others that are not known "
        "ahead, [0, 1], only help. Say which is meant: target=2, or several in a list, "
        "target=[2, 0]."
    ]


def test_panels_with_holes_are_told_as_frames_are(small, panel):
    """Missing targets and several series change nothing of what was meant."""
    rows = panel(n=(60, 60, 60))
    rows.iloc[::7, rows.columns.get_loc("load")] = np.nan
    assert len(messages_of(small(), rows)) == 1


def test_the_first_of_many_columns_are_listed(small, frame):
    """A thousand names help nobody."""
    wide = frame(80)[["flow"] * 8 + ["load"]].set_axis([*"abcdefg", "flow", "load"], axis=1)
    assert "['a', 'b', 'c', 'd', 'e'] and 3 more, only help" in messages_of(small(), wide)[0]


def test_what_is_clear_gets_no_warning(small, frame, panel):
    """A warning that comes always is read never."""
    df = frame(80)
    assert messages_of(small(), df[["load"]]) == []
    assert messages_of(small(), df["load"]) == []
    assert messages_of(small(target="flow"), df) == []
    assert messages_of(small(target=["flow", "load"]), df) == []
    assert messages_of(small(), df, df["load"]) == []
    assert messages_of(small(), df[["flow", "price"]], df["load"]) == []
    assert messages_of(small(known_future=["flow", "price"]), df) == []
    static = panel(n=(60, 60, 60))[["load"]]
    static.insert(0, "area", static.index.get_level_values(0).map({"a": 1.0, "b": 2.0, "c": 3.0}))
    assert messages_of(small(), static) == []
    assert messages_of(SeasonalNaive(), df[["load"]]) == []
    assert messages_of(SeasonalNaive(target="flow"), df) == []


def test_columns_of_the_calendar_are_not_forecast_silently(small, frame):
    """CalendarFeatures puts its columns behind the target."""
    calendar = CalendarFeatures().set_output(transform="pandas")
    message = messages_of(make_pipeline(calendar, small()), frame(80)[["load"]])
    assert message[0].startswith("target=None forecasts the last column of X, 'calendar__")


def test_the_naive_forecast_names_the_last_column_too(frame):
    """The yardstick would be that of another series."""
    naive = messages_of(SeasonalNaive(), frame(80))
    assert len(naive) == 1
    assert naive[0].startswith("target=None forecasts the last column of X, 'load'; the others")
    assert messages_of(SeasonalNaive(), frame(80).to_numpy())[0].count("[0, 1]") == 1


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda scaler: type(scaler).__name__)
@pytest.mark.parametrize("frames", [True, False], ids=["frame", "array"])
def test_a_scaler_without_y_is_told(small, frame, scaler, frames):
    """Forecasts around 0 are not what the next user of the pipeline expects."""
    scaler = scaler.set_output(transform="pandas" if frames else "default")
    df = frame(80)
    df.iloc[10:13, 2] = np.nan
    target = "load" if frames else 2
    what = (
        "runs from 0 to 1, as behind a MinMaxScaler"
        if isinstance(scaler, MinMaxScaler)
        else "has mean 0 and deviation 1, as behind a StandardScaler"
    )
    y = "y=df['load']" if frames else "target=2 and y, what stood there,"
    assert messages_of(make_pipeline(scaler, small(target=target)), df) == [
        f"the target {target!r} {what}: forecasts come in these units. If X was scaled, pass {y} "
        "as it was before that, or leave the scaler out, as the estimator standardises by itself."
    ]
    pipeline = make_pipeline(scaler, small(target=target))
    if not isinstance(scaler, PowerTransformer):  # whose map is not affine
        assert messages_of(pipeline, df, df["load"]) == []
        assert 800 < pipeline.predict(df).mean() < 1200


def test_one_warning_tells_of_all_scaled_targets(small, frame):
    """Seven targets are one mistake."""
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, small(target=["load", "flow"]))
    messages = messages_of(pipeline, frame(80))
    assert [message.count("pass y=df[['load', 'flow']] as") for message in messages] == [1]


def test_a_scaled_target_is_told_beside_columns_that_are_not_scaled(small, frame, panel):
    """The units of forecasts are the target's, whatever the others are in; of panels, too."""
    for rows in (frame(80), panel(n=(60, 60, 60)), frame(80).astype(np.float32)):
        scaler = make_column_transformer(
            (StandardScaler(), ["load"]), remainder="passthrough", verbose_feature_names_out=False
        )
        pipeline = make_pipeline(scaler.set_output(transform="pandas"), small(target="load"))
        assert len(messages_of(pipeline, rows)) == 1


def test_raw_columns_are_not_taken_for_scaled_ones(small):
    """Yes and no, shares that are often whole, small counts and noise are as they were measured."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=400, freq="h")
    raw = {
        "switch": rng.integers(0, 2, size=400).astype(float),
        "rare": (np.arange(400) == 77).astype(float),
        "sign": np.where(np.arange(400) % 2, 1.0, -1.0),
        "cloud": rng.integers(0, 9, size=400) / 8,
        "counts": rng.integers(0, 2, size=400),
        "noise": rng.normal(size=400),
        "constant": np.zeros(400),
        "huge": 1e200 * rng.normal(size=400),
    }
    for name, values in raw.items():
        assert messages_of(small(), pd.DataFrame({name: values}, hours)) == [], name
