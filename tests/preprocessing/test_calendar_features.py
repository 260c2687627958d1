import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skinformer import CalendarFeatures

SIZES = {"minute": 60, "hour": 24, "weekday": 7, "day": 31, "week": 53, "month": 12}


def frame(index):
    return pd.DataFrame({"load": np.arange(float(len(index)))}, index=index)


def field(stamp, name):
    """Read one field off one date by the standard library."""
    d = stamp.to_pydatetime()
    return {
        "minute": d.minute,
        "hour": d.hour,
        "weekday": d.weekday(),
        "day": d.day - 1,
        "week": (d.timetuple().tm_yday - 1) // 7,
        "month": d.month - 1,
    }[name]


@pytest.mark.parametrize("tz", [None, "Europe/Berlin", "Pacific/Auckland"])
def test_each_field_is_a_point_on_the_circle_at_its_local_time(tz):
    """Sine first, then cosine, by the wall clock of the place, summer and winter."""
    X = frame(pd.date_range("2024-01-01", periods=5000, freq="103min", tz=tz))
    out = CalendarFeatures(list(SIZES)).fit_transform(X)
    names = [f"calendar__{name}_{part}" for name in SIZES for part in ("sin", "cos")]
    assert list(out.columns) == ["load", *names]
    np.testing.assert_array_equal(out["load"], X["load"])
    for name, size in SIZES.items():
        angle = np.array([2 * np.pi * field(stamp, name) / size for stamp in X.index])
        np.testing.assert_allclose(
            out[f"calendar__{name}_sin"], np.sin(angle), atol=1e-12
        )
        np.testing.assert_allclose(
            out[f"calendar__{name}_cos"], np.cos(angle), atol=1e-12
        )


def test_the_last_hour_lies_beside_the_first():
    """That is what the circle is for: 23 and 0 are neighbours."""
    X = frame(pd.date_range("2024-01-01", periods=48, freq="h"))
    circle = CalendarFeatures(["hour"]).fit_transform(X).iloc[:, 1:].to_numpy()
    apart = np.linalg.norm(np.diff(circle, axis=0), axis=1)
    np.testing.assert_allclose(apart, apart[0])


@pytest.mark.parametrize(
    ("freq", "n", "fields"),
    [
        ("15min", 5000, ("minute", "hour", "weekday")),
        ("h", 2000, ("hour", "weekday")),
        ("h", 20, ("hour",)),
        ("D", 400, ("weekday", "day")),
        ("D", 1100, ("weekday", "day", "month")),
        ("W", 160, ("week", "month")),
        ("MS", 36, ("month",)),
        ("YS", 9, ()),
    ],
)
def test_auto_takes_the_fields_that_the_step_calls_for_and_that_vary(freq, n, fields):
    """A constant column is noise for every regressor after it."""
    X = frame(pd.date_range("2024-01-01", periods=n, freq=freq))
    fitted = CalendarFeatures().fit(X)
    assert fitted.fields_ == fields
    assert fitted.transform(X).shape == (n, 1 + 2 * len(fields))


def test_fields_are_chosen_in_training_only():
    """One row to transform must get the same columns as a year."""
    X = frame(pd.date_range("2024-01-01", periods=200, freq="h"))
    fitted = CalendarFeatures().fit(X)
    one = frame(pd.DatetimeIndex(["2025-07-01 05:00"]))
    assert list(fitted.transform(one).columns) == list(fitted.get_feature_names_out())


def test_the_order_of_rows_does_not_matter():
    """The time is in the label, not in the place."""
    X = frame(pd.date_range("2024-01-01", periods=2000, freq="h"))
    fitted = CalendarFeatures().fit(X)
    shuffled = X.sample(frac=0.3, random_state=0)
    pd.testing.assert_frame_equal(
        fitted.transform(shuffled),
        fitted.transform(X).loc[shuffled.index],
        check_freq=False,
    )
    assert (
        CalendarFeatures().fit(X.sample(frac=1, random_state=0)).fields_
        == fitted.fields_
    )


def test_series_of_a_panel_have_the_calendar_of_their_rows():
    """The time is the second level; as many rows per step as series are no finer step."""
    X = frame(pd.date_range("2024-01-01", periods=2000, freq="h"))
    both = pd.concat({"a": X, "b": X.iloc[500:] + 1})
    fitted = CalendarFeatures().fit(both)
    assert fitted.fields_ == CalendarFeatures().fit(X).fields_
    single = CalendarFeatures().fit(X).transform(X)
    pd.testing.assert_frame_equal(
        fitted.transform(both).loc["a"], single, check_freq=False
    )


def test_periods_are_dates_too():
    """Monthly figures come as periods."""
    dates = frame(pd.date_range("2024-01-01", periods=30, freq="MS"))
    periods = dates.set_axis(dates.index.to_period("M"))
    expected = CalendarFeatures().fit_transform(dates).to_numpy()
    np.testing.assert_array_equal(
        CalendarFeatures().fit_transform(periods).to_numpy(), expected
    )


@pytest.mark.parametrize("fields", ["auto", ["hour"]])
def test_rows_without_dates_pass_unchanged(fields):
    """A Pipeline made for frames runs on arrays; that it adds nothing is said once."""
    X = np.arange(6).reshape(3, 2)
    message = (
        "X has no dates, so no calendar columns are added. Set an index of dates, "
        "X.index = pd.date_range(...), and keep it in a Pipeline with "
        "set_output(transform='pandas')."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$") as caught:
        out = CalendarFeatures(fields).fit_transform(X)
    assert len(caught) == 1
    np.testing.assert_array_equal(out, X)
    assert out.dtype == X.dtype
    numbered = pd.DataFrame({"a": [1.0, 2, 3]}, index=[4, 5, 9])
    with pytest.warns(
        UserWarning, match="^X has no dates, so no calendar columns are added"
    ):
        out = CalendarFeatures(fields).fit_transform(numbered)
    pd.testing.assert_frame_equal(out, numbered)


def test_no_fields_are_no_columns():
    """An empty list is a choice."""
    X = frame(pd.date_range("2024-01-01", periods=48, freq="h"))
    pd.testing.assert_frame_equal(
        CalendarFeatures([]).fit_transform(X), X, check_freq=False
    )


def test_missing_values_pass():
    """The calendar of a row does not depend on what was measured."""
    X = frame(pd.date_range("2024-01-01", periods=48, freq="h"))
    expected = CalendarFeatures().fit_transform(X)
    X.iloc[3:9] = np.nan
    out = CalendarFeatures().fit_transform(X)
    pd.testing.assert_frame_equal(out.iloc[:, 1:], expected.iloc[:, 1:])
    assert out["load"].isna().sum() == 6


def test_a_line_on_the_circle_learns_a_daily_curve():
    """What it is made for: a regressor that knows no time."""
    index = pd.date_range("2024-01-01", periods=500, freq="h", tz="Europe/Berlin")
    X = pd.DataFrame({"one": np.ones(500)}, index=index)
    y = 3 + np.sin(2 * np.pi * (index.hour - 7) / 24)
    assert (
        make_pipeline(CalendarFeatures(), LinearRegression()).fit(X, y).score(X, y)
        > 0.999
    )


@pytest.mark.parametrize("now", ["array", "numbers"])
def test_rows_that_have_lost_their_dates_are_refused(now):
    """A scaler in between has dropped the index; a made-up calendar would be worse."""
    index = pd.date_range("2024-01-01", periods=48, freq="h")
    X = frame(index).set_axis([0], axis=1)  # no names, of which scikit-learn would warn
    fitted = CalendarFeatures().fit(X)
    message = (
        "X has no dates, but the training rows had them, so the calendar cannot be "
        "computed. Keep the index, for example by set_output(transform='pandas') in a "
        "Pipeline."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        fitted.transform(X.to_numpy() if now == "array" else X.reset_index(drop=True))


def test_an_unknown_field_is_named_with_the_known_ones():
    """A field misspelt would be left out in silence."""
    X = frame(pd.date_range("2024-01-01", periods=48, freq="h"))
    message = (
        "fields=['hour', 'dayofweek'] holds the unknown 'dayofweek': choose from ['minute', "
        "'hour', 'weekday', 'day', 'week', 'month']."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        CalendarFeatures(["hour", "dayofweek"]).fit(X)
