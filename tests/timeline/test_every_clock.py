"""Every clock: future timestamps, causality of placement, and its way back from labels."""

import copy
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

N = 60


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: labels are no matter of who forecasts."""
    return partial(small, members=["network"])


def target_only(frame, labels, n):
    return frame(labels(n))[["load"]]


@pytest.fixture(scope="module")
def dated(small, frame, labels):
    """Give rows of a clock and what was fitted to the first N, to ask, not to change."""
    df = target_only(frame, labels, N + 15)
    return df, small().fit(df[:N])


def without_freq(index):
    """Drop what pandas knows of the step, as a CSV does."""
    if isinstance(index, pd.DatetimeIndex):
        return pd.DatetimeIndex(index, freq=None)
    return index


@pytest.mark.slow
def test_the_future_has_the_next_labels_of_the_clock(dated, labels):
    """A shifted timestamp is a wrong forecast, however good its value."""
    df, estimator = dated
    forecast = estimator.forecast(horizon=9)
    found, wanted = without_freq(forecast.index), without_freq(df.index[N : N + 9])
    pd.testing.assert_index_equal(found, wanted, exact="equiv")
    frequency = getattr(labels(N), "freq", None)
    if frequency is not None:
        assert forecast.index.freq == frequency


@pytest.mark.slow
def test_the_step_is_found_without_a_stored_frequency(small, frame, labels):
    """Rows read from a file have no freq; the step is in the labels."""
    df = target_only(frame, labels, N + 9)
    df.index = without_freq(df.index)
    forecast = small().fit(df[:N]).forecast(horizon=9)
    assert list(forecast.index) == list(df.index[N:])


def test_the_future_frame_has_the_same_labels(dated):
    """make_future_frame and forecast speak of the same steps."""
    _, estimator = dated
    future = estimator.make_future_frame(6)
    forecast = estimator.forecast(horizon=6)
    pd.testing.assert_index_equal(future.index, forecast.index)
    np.testing.assert_array_equal(estimator.predict(future), forecast["load"])


def test_a_subset_in_any_order_gets_the_same_forecasts(dated):
    """Rows are found by label on every clock, before and after the end of training."""
    df, estimator = dated
    whole = estimator.predict(df)
    rows = np.random.default_rng(0).permutation(N)[:31]
    np.testing.assert_array_equal(estimator.predict(df.iloc[rows]), whole[rows])
    order = np.random.default_rng(1).permutation(N + 15)
    np.testing.assert_array_equal(estimator.predict(df.iloc[order]), whole[order])


def values_on(index, small, frame, members):
    df = frame(index)[["load"]]
    # A network that normalises windows starts from the day of its clock.
    alone = {"window_norm": False} if members == ["network"] else {}
    return small(members=members, calendar=None, **alone).fit(df[:N]).predict(df)


@pytest.fixture(scope="module")
def numbered(small, frame):
    """Forecast by the network alone where rows are counted."""
    return values_on(pd.RangeIndex(N + 10), small, frame, ["network"])


def test_the_values_do_not_depend_on_the_clock_without_a_calendar(
    small, frame, labels, numbered
):
    """Steps are steps: only the calendar may tell one clock from another."""
    np.testing.assert_array_equal(
        values_on(labels(N + 10), small, frame, ["network"]), numbered
    )


FEW = [
    "hours through spring",
    "days through autumn",
    "month ends",
    "monthly periods",
    "row numbers",
]


@pytest.mark.parametrize("labels", FEW, indirect=True)
def test_no_forecaster_knows_the_clock_without_a_calendar(small, frame, labels):
    """Ridges and trees count steps, too; classical forecasters look back for their clock's year."""
    one, tens = labels(N + 10), pd.Index(10 * np.arange(N + 10))
    names = ["ridges", "trees", "network"]
    np.testing.assert_array_equal(
        *[values_on(x, small, frame, names) for x in (one, tens)]
    )


def test_update_goes_on_where_the_history_ended(dated):
    """The row after the last one is known on every clock; any other is refused."""
    df, estimator = dated[0], copy.deepcopy(dated[1]).update(dated[0][N : N + 6])
    assert list(estimator.forecast().index) == list(df.index[N + 6 : N + 10])
    with pytest.raises(ValueError, match="must follow the history directly"):
        estimator.update(df[N + 7 :])


def test_a_missing_label_is_named(small, frame, labels):
    """On every clock a gap is counted and its first label given; dated rows are fitted."""
    df = target_only(frame, labels, N)
    df.index = without_freq(df.index)
    message = _fit_with_gaps(small(), df)
    if (
        "irregular" in message
    ):  # of no other step than months gaps are told from calendars
        assert "X.index has irregular steps" in message
    else:
        assert f"the first {df.index[20]}: " in message


def test_a_missing_label_is_named_when_the_step_is_given(small, frame, labels):
    """With freq= there is no margin about the step, so no clock may call it irregular."""
    df = target_only(frame, labels, N)
    step = getattr(df.index, "freqstr", None)
    df.index = without_freq(df.index)
    message = _fit_with_gaps(small(freq=step), df)
    assert f"the first {df.index[20]}: " in message


def _fit_with_gaps(model, df):
    """Fit to rows of which three are missing, and return what it says of them."""
    gaps = df.drop(df.index[[20, 21, 40]])
    if not isinstance(df.index, pd.DatetimeIndex | pd.PeriodIndex):
        with pytest.raises(ValueError, match=r"^X\.index lacks 3 timestamps") as caught:
            model.fit(gaps)
        return str(caught.value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(gaps)
        except ValueError as error:
            return str(error)
    return "; ".join(str(each.message) for each in caught)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_unit_of_the_timestamps_is_kept(small, frame, unit):
    """Pandas 3 stores microseconds; whoever has another unit gets it back."""
    df = frame(pd.date_range("2024-01-01", periods=N, freq="h").as_unit(unit))[["load"]]
    forecast = small().fit(df).forecast()
    assert forecast.index.dtype == f"datetime64[{unit}]"
    assert forecast.index[0] == pd.Timestamp("2024-01-03 12:00")


def test_rows_in_another_time_zone_are_the_same_instants(small, frame):
    """10:00 in Berlin is 09:00 in London: one row."""
    df = frame(
        pd.date_range("2024-10-26", periods=N + 10, freq="h", tz="Europe/Berlin")
    )
    estimator = small(target="load").fit(df[:N])
    whole = estimator.predict(df)
    np.testing.assert_array_equal(estimator.predict(df.tz_convert("UTC")), whole)
    np.testing.assert_array_equal(
        estimator.predict(df.tz_convert("Asia/Kolkata")), whole
    )
    forecast = estimator.forecast(df.tz_convert("UTC")[N : N + 3])
    assert str(forecast.index.tz) == "Europe/Berlin"


def test_days_in_another_time_zone_are_the_same_days(small, frame):
    """Midnight in New York is 05:00 in UTC, and after the change 04:00."""
    df = frame(pd.date_range("2024-02-01", periods=N, freq="D", tz="America/New_York"))
    estimator = small(target="load").fit(df[:40])
    np.testing.assert_array_equal(
        estimator.predict(df.tz_convert("UTC")), estimator.predict(df)
    )


@pytest.mark.parametrize(
    ("start", "first", "hours"),
    [
        ("2024-03-29 12:00", "2024-03-31 00:00", [0, 1, 3, 4, 5]),
        ("2024-10-25 12:00", "2024-10-27 00:00", [0, 1, 2, 2, 3]),
    ],
)
def test_hours_ahead_cross_the_change_of_the_clocks(small, frame, start, first, hours):
    """In spring an hour is missing on the wall, in autumn one comes twice."""
    index = pd.date_range(start, first, freq="h", tz="Europe/Berlin", inclusive="left")
    forecast = small().fit(frame(index)[["load"]]).forecast(horizon=5)
    assert list(forecast.index.hour) == hours
    assert (np.diff(forecast.index.tz_convert("UTC")) == np.timedelta64(1, "h")).all()


@pytest.mark.parametrize("start", ["2024-02-01", "2024-09-15"])
def test_days_ahead_stay_at_midnight_across_the_change_of_the_clocks(
    small, frame, start
):
    """A day is a day on the calendar, of 23, 24 or 25 hours."""
    index = pd.date_range(start, periods=35, freq="D", tz="Europe/Berlin")
    forecast = small().fit(frame(index)[["load"]]).forecast(horizon=40)
    assert (forecast.index.hour == 0).all()
    assert (np.diff(forecast.index.tz_localize(None)) == np.timedelta64(1, "D")).all()


@pytest.mark.parametrize(
    ("start", "tz"),
    [("2024-03-10", "America/New_York"), ("2024-10-01", "America/New_York")],
)
def test_the_calendar_of_days_does_not_depend_on_the_change_of_the_clocks(
    small, frame, start, tz
):
    """The mean step is 23/24 of an hour off in spring; the days are the same days."""
    naive = frame(pd.date_range(start, periods=40, freq="D"))
    early = frame(pd.date_range("2024-02-05", periods=40, freq="D", tz=tz))
    fields = small().fit(naive).sizes_.calendar_fields
    assert small().fit(naive.tz_localize(tz)).sizes_.calendar_fields == fields
    assert "day" in small().fit(early).sizes_.calendar_fields


@pytest.mark.parametrize(
    ("freq", "step"),
    [
        ("h", "h"),
        ("60min", "h"),
        (pd.Timedelta(hours=1), "h"),
        (pd.offsets.Hour(), "h"),
    ],
)
def test_freq_may_be_given_in_any_form(small, frame, freq, step):
    """A name, a span of time and an offset mean the same."""
    forecast = small(freq=freq).fit(frame(N)[["load"]]).forecast()
    assert forecast.index.freq == step


@pytest.mark.parametrize("freq", ["D", "1D", pd.Timedelta(days=1), pd.offsets.Day()])
def test_a_given_day_is_a_day_of_the_calendar(small, frame, freq):
    """Whichever way a day is written, it ends at midnight."""
    index = pd.date_range("2024-02-10", periods=40, freq="D", tz="Europe/Berlin")
    forecast = small(freq=freq).fit(frame(index)[["load"]]).forecast(horizon=30)
    assert (forecast.index.hour == 0).all()


def test_an_integer_freq_is_the_step_of_integers(small, frame):
    """Tick numbers by tens."""
    df = frame(pd.Index(10 * np.arange(N)))[["load"]]
    assert list(small(freq=10).fit(df).forecast().index) == [600, 610, 620, 630]


def test_business_days_skip_the_weekend_and_refuse_it(small, frame):
    """Saturday lies between two steps."""
    df = frame(pd.date_range("2024-01-01", periods=N, freq="B"))[["load"]]
    estimator = small().fit(df)
    assert set(estimator.forecast(horizon=10).index.day_of_week) == {0, 1, 2, 3, 4}
    with pytest.raises(ValueError, match="2024-03-23 00:00:00 is between two steps"):
        estimator.predict(df[-1:].set_axis(pd.DatetimeIndex(["2024-03-23"])))


@pytest.mark.parametrize(
    "freq", ["2h", "3D", "2W", "2MS", "BME", "YS", "YE-MAR", "QE-JAN", "12h"]
)
def test_rarer_steps_go_on_as_pandas_does(small, frame, freq):
    """Every other hour, fiscal years, last business days."""
    index = pd.date_range("1960-01-01", periods=N + 9, freq=freq)
    df = frame(index)[["load"]]
    df.index = without_freq(index)
    forecast = small(freq=freq).fit(df[:N]).forecast(horizon=9)
    pd.testing.assert_index_equal(forecast.index, index[N:])
    found = small().fit(df[:N]).forecast(horizon=9)
    assert list(found.index) == list(index[N:])


def test_a_clock_of_holidays_is_kept(small, frame):
    """A custom business day knows which days are closed."""
    freq = pd.offsets.CustomBusinessDay(holidays=["2024-03-26", "2024-03-29"])
    index = pd.date_range("2024-01-01", periods=N + 9, freq=freq)
    forecast = small().fit(frame(index[:N])[["load"]]).forecast(horizon=9)
    pd.testing.assert_index_equal(forecast.index, index[N:])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "Int64"])
def test_integers_of_any_width_count_rows(small, frame, dtype):
    """A difference of unsigned numbers must not wrap."""
    df = frame(70)[["load"]].set_axis(pd.Index(np.arange(70), dtype=dtype))
    estimator = small().fit(df[:60])
    numbered = df.reset_index(drop=True)
    np.testing.assert_array_equal(
        estimator.predict(df), small().fit(numbered[:60]).predict(numbered)
    )


@pytest.mark.parametrize(
    "kind", ["timestamp[us]", "timestamp[ns, Europe/Berlin]", "date32"]
)
def test_dates_of_arrow_are_dates(small, frame, kind):
    """They come from parquet files and databases."""
    pa = pytest.importorskip("pyarrow")
    types = {
        "timestamp[us]": pa.timestamp("us"),
        "timestamp[ns, Europe/Berlin]": pa.timestamp("ns", tz="Europe/Berlin"),
        "date32": pa.date32(),
    }
    tz = "Europe/Berlin" if "Berlin" in kind else None
    days = frame(pd.date_range("2024-03-01", periods=70, freq="D", tz=tz))[["load"]]
    df = days.set_axis(days.index.astype(pd.ArrowDtype(types[kind])))
    estimator = small().fit(df[:60])
    assert list(estimator.forecast().index) == list(days.index[60:64])
    np.testing.assert_array_equal(
        estimator.predict(df), small().fit(days[:60]).predict(days)
    )
    panel = pd.concat({"a": df, "b": df[:50]}, names=["site", "day"])
    assert list(small().fit(panel).forecast().loc["b"].index) == list(days.index[50:54])


def test_the_15th_of_each_month_needs_no_freq(small, frame):
    """Meters are read so, and pandas names no such step."""
    index = pd.date_range("2000-01-15", periods=N, freq=pd.DateOffset(months=1))
    df = frame(without_freq(index))[["load"]]
    assert list(small().fit(df).forecast().index[:2]) == [
        pd.Timestamp("2005-01-15"),
        pd.Timestamp("2005-02-15"),
    ]
    with pytest.warns(
        UserWarning, match=r"^there are no rows for .*, the first 2000-06-15 00:00:00"
    ):
        small().fit(df.drop(index[5]))
    assert len(df.drop(index[5]).asfreq(pd.DateOffset(months=1))) == N
