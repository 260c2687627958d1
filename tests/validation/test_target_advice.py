"""A target that was not named is not forecast without a word."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from skinformer import CalendarFeatures
from skinformer.evaluation import SeasonalNaive


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: which target was meant is no matter of who forecasts."""
    return partial(small, members=["network"])


def messages_of(estimator, X, y=None):
    """Fit, and give the messages of this page."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    return [str(w.message) for w in caught if str(w.message).startswith("target=None")]


def test_the_last_of_several_columns_is_named_when_it_is_forecast(small, frame):
    """Whoever has the target in front would read forecasts of something else."""
    assert messages_of(small(), frame(80)) == [
        "target=None forecasts the last column of X, 'load'; the other columns, "
        "['flow', 'price'], are past covariates. Name the target, target='load', or "
        "several in a list, target=['load', 'flow']."
    ]


def test_the_last_column_of_an_array_is_numbered(small, frame):
    """It has no name, and target takes its place."""
    assert messages_of(small(), frame(80).to_numpy()) == [
        "target=None forecasts the last column of X, 2; the other columns, [0, 1], "
        "are past covariates. Name the target, target=2, or several in a list, "
        "target=[2, 0]."
    ]


def test_panels_with_holes_are_told_as_frames_are(small, panel):
    """Missing targets and several series change nothing of what was meant."""
    rows = panel(n=(60, 60, 60))
    rows.iloc[::7, rows.columns.get_loc("load")] = np.nan
    assert len(messages_of(small(), rows)) == 1


def test_the_first_of_many_columns_are_listed(small, frame):
    """A thousand names help nobody."""
    wide = frame(80)[["flow"] * 8 + ["load"]].set_axis(
        [*"abcdefg", "flow", "load"], axis=1
    )
    assert (
        "['a', 'b', 'c', 'd', 'e'] and 3 more, are past covariates"
        in messages_of(small(), wide)[0]
    )


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
    static.insert(
        0, "area", static.index.get_level_values(0).map({"a": 1.0, "b": 2.0, "c": 3.0})
    )
    assert messages_of(small(), static) == []
    assert messages_of(SeasonalNaive(), df[["load"]]) == []
    assert messages_of(SeasonalNaive(target="flow"), df) == []


def test_columns_of_the_calendar_are_not_forecast_silently(small, frame):
    """CalendarFeatures puts its columns behind the target."""
    calendar = CalendarFeatures().set_output(transform="pandas")
    message = messages_of(make_pipeline(calendar, small()), frame(80)[["load"]])
    assert message[0].startswith(
        "target=None forecasts the last column of X, 'calendar__"
    )


def test_the_naive_forecast_names_the_last_column_too(frame):
    """The yardstick would be that of another series."""
    naive = messages_of(SeasonalNaive(), frame(80))
    assert len(naive) == 1
    assert naive[0].startswith(
        "target=None forecasts the last column of X, 'load'; the other columns"
    )
    assert messages_of(SeasonalNaive(), frame(80).to_numpy())[0].count("[0, 1]") == 1
