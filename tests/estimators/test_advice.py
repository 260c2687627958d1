"""What the messages of the index say to type is typed here, and it works."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: what is advised is no matter of who forecasts."""
    return partial(small, members=["network"])


def raises(error, sentence):
    return pytest.raises(error, match=f"^{re.escape(sentence)}$")


def type_in(line, X, **names):
    """Run the line that a message gave."""
    scope = {"X": X.copy(), "pd": pd, **names}
    exec(line, scope)
    return scope["X"]


MONTHS = pd.date_range("1990-01-01", periods=60, freq="MS")


# --- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "call"),
    [
        ("%d/%m/%Y", "pd.to_datetime(X.index, dayfirst=True)"),
        ("%d.%m.%Y", "pd.to_datetime(X.index, dayfirst=True)"),
        ("%d.%m.%y", "pd.to_datetime(X.index, format='%d.%m.%y')"),
        ("%d/%m/%Y %H:%M", "pd.to_datetime(X.index, dayfirst=True)"),
    ],
)
@pytest.mark.parametrize("step", ["D", "MS"])
def test_text_whose_day_comes_first_is_read_so(small, frame, shown, call, step):
    """Read the American way, 13/02 fails and the first days of months are all in January."""
    days = pd.date_range("1990-01-01", periods=60, freq=step)
    X = frame(days.strftime(shown))
    with raises(
        TypeError,
        f"X.index holds str labels, which have no order in time: convert them, X.index = {call} "
        "(the day comes first), or number the rows, X.reset_index(drop=True).",
    ):
        small().fit(X)
    read = type_in(f"X.index = {call}", X)
    assert list(read.index) == list(days)
    small().fit(read)


@pytest.mark.parametrize("shown", ["%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d"])
def test_other_text_is_left_to_pandas(small, frame, shown):
    """What it reads without help needs no parameter."""
    X = frame(MONTHS.strftime(shown))
    with pytest.raises(TypeError, match=r"X\.index = pd\.to_datetime\(X\.index\), or number"):
        small().fit(X)
    assert list(type_in("X.index = pd.to_datetime(X.index)", X).index) == list(MONTHS)


@pytest.mark.parametrize("step", ["h", "D"])
def test_text_with_two_offsets_needs_a_zone(small, frame, step):
    """Summer and winter have two, which are no one clock before the zone is named."""
    times = pd.date_range("2024-03-30", periods=60, freq=step, tz="Europe/Berlin")
    X = frame(pd.Index([time.isoformat() for time in times]))
    call = "pd.to_datetime(X.index, utc=True).tz_convert(zone)"
    with raises(
        TypeError,
        f"X.index holds str labels, which have no order in time: convert them, X.index = {call} "
        "(their UTC offsets differ, so name the zone, such as 'Europe/Berlin'), or number the "
        "rows, X.reset_index(drop=True).",
    ):
        small().fit(X)
    read = type_in(f"X.index = {call}", X, zone="Europe/Berlin")
    assert list(read.index) == list(times)
    small().fit(read)


# --- dates read wrongly ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "shown"), [("1990-01-01", "%Y-%d-%m"), ("1990-01-05 06:00", "%Y-%d-%m %H:%M:%S")]
)
@pytest.mark.parametrize("months", [1, 3])
def test_months_that_were_read_as_days_are_swapped_back(small, frame, start, shown, months):
    """To fill the eleven months between would make thousands of empty rows."""
    right = pd.date_range(start, periods=60, freq=pd.DateOffset(months=months))
    X = frame(pd.to_datetime(right.strftime("%d/%m/%Y %H:%M"), format="%m/%d/%Y %H:%M"))
    call = f"X.index = pd.to_datetime(X.index.strftime({shown!r}))"
    with pytest.raises(ValueError, match=r"^X\.index ") as caught:
        small().fit(X)
    assert str(caught.value).endswith(
        ". All dates lie in the first twelve days of one month, so day and month were swapped "
        f"when they were read: {call} swaps them back, dayfirst=True reads them rightly."
    )
    assert "asfreq" not in str(caught.value)
    read = type_in(call, X)
    assert list(read.index) == list(right)
    small().fit(read)


@pytest.mark.parametrize(
    ("shown", "kind", "call"),
    [
        ("%Y%m", "months", "pd.PeriodIndex(X.index.astype(str), freq='M')"),
        ("%Y%m%d", "days", "pd.to_datetime(X.index.astype(str), format='%Y%m%d')"),
    ],
)
def test_dates_written_as_numbers_are_made_dates(small, frame, shown, kind, call):
    """From 200012 to 200101 no 88 months are missing."""
    dates = pd.date_range("2000-01-01", periods=70, freq="MS" if kind == "months" else "D")
    X = frame(dates.strftime(shown).astype(int))
    with pytest.raises(ValueError, match=r"^X\.index ") as caught:
        small().fit(X)
    assert str(caught.value).endswith(
        f". Its numbers are {kind}: make them dates, X.index = {call}."
    )
    read = type_in(f"X.index = {call}", X)
    forecast = small().fit(read).forecast()
    expected = dates[-1] + (pd.DateOffset(months=1) if kind == "months" else pd.Timedelta(days=1))
    assert str(forecast.index[0]) == str(expected.to_period("M") if kind == "months" else expected)


def test_a_level_of_months_is_made_periods(small, frame):
    """In a panel the level is rewritten."""
    part = frame(MONTHS.strftime("%Y%m").astype(int))
    X = pd.concat({"a": part, "b": part[:40]}, names=["site", "month"])
    call = "X.index.set_levels(pd.PeriodIndex(X.index.levels[1].astype(str), freq='M'), level=1)"
    with pytest.raises(ValueError, match="Its numbers are months: make them dates") as caught:
        small().fit(X)
    assert f"X.index = {call}." in str(caught.value)
    small().fit(type_in(f"X.index = {call}", X))


def test_row_numbers_with_holes_stay_numbers(small, frame):
    """17 hundred thousand and some rows are no months."""
    X = frame(pd.Index(200001 + 13 * np.arange(60))).drop(200014)
    with pytest.raises(ValueError, match=r"lacks 1 timestamps, the first 200014: X\.reindex"):
        small().fit(X)


# --- the clocks of summer --------------------------------------------------------------------


def naive_hours(frame, start, zone, *, panel):
    """Give 60 hours of local time that has lost its zone."""
    hours = pd.date_range(start, periods=60, freq="h", tz=zone)
    df = frame(hours.tz_localize(None))
    return pd.concat({"a": df, "b": df}, names=["site", "time"]) if panel else df


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
@pytest.mark.parametrize(
    ("start", "zone"),
    [
        ("2024-10-26", "Europe/Berlin"),
        ("2024-11-02", "America/New_York"),
        ("2024-04-06", "Australia/Sydney"),
    ],
)
def test_an_hour_that_comes_twice_is_kept(small, frame, start, zone, panel):
    """The zone comes first: to drop one of two rows would lose an hour of measurements."""
    X = naive_hours(frame, start, zone, panel=panel)
    call = "X.tz_localize(zone, ambiguous='infer')"
    if panel:
        call = f"X.groupby(level=0).apply(lambda x: x.droplevel(0).{call[2:]})"
    with pytest.raises(ValueError, match=r"^X\.index holds . duplicated timestamps") as caught:
        small().fit(X)
    assert (
        f": naive local time repeats an hour in autumn, so name its zone, {call}. Otherwise keep "
        "one row a step, X[~X.index.duplicated()], or label several series by a MultiIndex "
        "(series, time)."
    ) in str(caught.value)
    named = type_in(f"X = {call}", X, zone=zone)
    assert len(named) == len(X)
    small().fit(named)


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
@pytest.mark.parametrize(
    ("start", "zone"), [("2024-03-30", "Europe/Berlin"), ("2024-10-05", "Australia/Sydney")]
)
def test_an_hour_that_never_was_is_not_missing(small, frame, start, zone, panel):
    """A row with NaN in it would be an hour that nobody could have measured."""
    X = naive_hours(frame, start, zone, panel=panel)
    call = "X.tz_localize(zone)"
    if panel:
        call = f"X.groupby(level=0).apply(lambda x: x.droplevel(0).{call[2:]})"
    with pytest.raises(ValueError, match=r"^X\.index .*lacks . timestamps") as caught:
        small().fit(X)
    assert (
        f": naive local time skips an hour in spring, so name its zone, {call}. Otherwise X."
    ) in str(caught.value)
    small().fit(type_in(f"X = {call}", X, zone=zone))


def test_two_missing_hours_of_a_sunday_are_missing(small, frame):
    """The clocks skip one."""
    X = frame(60).shift(freq="2158h")  # from Saturday, 30 March 2024
    with pytest.raises(
        ValueError, match=r"lacks 2 timestamps, the first 2024-03-31 01:00:00: X\.a"
    ):
        small().fit(X.drop(pd.DatetimeIndex(["2024-03-31 01:00", "2024-03-31 02:00"])))


# --- panels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "shift", "freq", "call"),
    [
        ("W-MON", "2D", None, "time.to_period('W').start_time"),
        ("W-MON", "2D", "7D", "time.to_period('W').start_time"),
        ("MS", "14D", None, "time.to_period('M').start_time"),
        ("QS", "31D", None, "time.to_period('Q').start_time"),
        ("YS", "9D", None, "time.to_period('Y').start_time"),
        ("D", "6h", None, "time.floor('D')"),
        ("15min", "2min", None, "time.floor('15min')"),
    ],
)
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_series_that_begin_at_other_times_go_onto_one_grid(
    small, frame, step, shift, freq, call, tz
):
    """One on Mondays, one on Wednesdays: no freq fits both, as the message used to ask."""
    index = pd.date_range("1990-01-01", periods=40, freq=step, tz=tz)
    parts = {"a": frame(index), "b": frame(index + pd.Timedelta(shift))}
    X = pd.concat(parts, names=["site", "time"])
    if tz is not None:
        zone = "tz_convert('UTC')" if step == "15min" else "tz_localize(None)"
        call = call.replace("time.", f"time.{zone}.", 1)
    call = f"X.rename(index=lambda time: {call}, level=1)"
    with pytest.raises(ValueError, match=r"^X\.index does not lie on freq=.* Al") as caught:
        small(freq=freq).fit(X)
    assert (
        f"All series share one grid: where theirs begin at other times, {call} puts them onto it. "
        "Otherwise resample, X.groupby(level=0).resample(freq, level=1).mean()."
    ) in str(caught.value)
    moved = type_in(f"X = {call}", X)
    estimator = small().fit(moved)
    assert list(moved.loc["a"].index) == list(moved.loc["b"].index)
    assert set(estimator.forecast().index.get_level_values(0)) == {"a", "b"}


def test_two_rows_of_a_series_are_not_put_onto_one_step(small, frame):
    """Hourly rows do not share a grid with daily ones."""
    parts = {
        "a": frame(pd.date_range("2024-01-01", periods=40, freq="D")),
        "b": frame(pd.date_range("2024-01-01 01:00", periods=30, freq="h")),
    }
    with pytest.raises(ValueError, match=r"Pass the freq that fits, or resample, X\.groupby"):
        small().fit(pd.concat(parts, names=["site", "time"]))
