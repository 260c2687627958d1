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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_level_of_months_is_made_periods(small, frame):
    """In a panel the level is rewritten."""
    part = frame(MONTHS.strftime("%Y%m").astype(int))
    X = pd.concat({"a": part, "b": part[:40]}, names=["site", "month"])
    call = "X.index.set_levels(pd.PeriodIndex(X.index.levels[1].astype(str), freq='M'), level=1)"
    with pytest.raises(ValueError, match="Its numbers are months: make them dates") as caught:
        small().fit(X)
    assert f"X.index = {call}." in str(caught.value)
    small().fit(type_in(f"X.index = {call}", X))


UNIX = pd.date_range("2024-01-01", periods=60, freq="h")


@pytest.mark.parametrize(
    ("numbers", "call", "dates"),
    [
        (UNIX.as_unit("s").asi8, "pd.to_datetime(X.index, unit='s')", UNIX),
        (UNIX.as_unit("ms").asi8, "pd.to_datetime(X.index, unit='ms')", UNIX),
        (
            np.arange(20240101, 20240129),
            "pd.to_datetime(X.index.astype(str), format='%Y%m%d')",
            pd.date_range("2024-01-01", periods=28),
        ),
    ],
    ids=["seconds", "milliseconds", "days of a month"],
)
def test_whole_numbers_that_are_dates_are_warned_of(small, frame, numbers, call, dates):
    """As row numbers they are regular, and lose the hour of the day without a word."""
    X = frame(pd.Index(numbers))
    with pytest.warns(
        UserWarning, match=r"so forecasts know of no hour, day or season\."
    ) as caught:
        small().fit(X)
    assert f"make them dates, X.index = {call}. If they are numbers of steps" in str(caught[0])
    read = type_in(f"X.index = {call}", X)
    assert list(read.index) == list(dates)
    small().fit(read)
    small(freq=int(np.diff(numbers)[0])).fit(X)  # as that warning says: they are counted


def test_unix_seconds_with_gaps_are_made_dates(small, frame):
    """What is missing has a date."""
    X = frame(pd.Index(UNIX.as_unit("s").asi8)).drop(index=1704067200 + 3600 * 7)
    with pytest.raises(ValueError, match=r"Its numbers are seconds since 1970: make them dates, X"):
        small().fit(X)


@pytest.mark.parametrize(
    ("labels", "line", "dates"),
    [
        (
            UNIX.as_unit("s").asi8.astype(float),
            "X.index = pd.to_datetime(X.index.astype(int), unit='s')",
            UNIX,
        ),
        (np.arange(60) / 2, "X = X.reset_index(drop=True)", range(60)),
        (np.arange(60) / 4 + 1990, "X = X.reset_index(drop=True)", range(60)),
    ],
    ids=["seconds", "halves", "quarters of years"],
)
def test_decimal_numbers_become_what_they_are(small, frame, labels, line, dates):
    """Cut to whole numbers four quarters are one year, four times."""
    X = frame(pd.Index(labels))
    with pytest.raises(TypeError, match=r"^X\.index holds float64 labels") as caught:
        small().fit(X)
    assert line.removeprefix("X = ") in str(caught.value)
    assert "X.index.astype(int), or" not in str(caught.value)
    read = type_in(line, X)
    assert list(read.index) == list(dates)
    small().fit(read)


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


@pytest.mark.slow
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


def in_zone(walls, zone="Europe/Berlin"):
    return pd.DatetimeIndex(walls.tz_localize(zone, nonexistent="shift_forward", ambiguous=True))


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
@pytest.mark.parametrize("step", ["6h", "8h", "12h"])
def test_rows_by_the_clock_on_the_wall_keep_it(small, frame, step, panel):
    """On a day of 23 hours no step of six is whole, so that no freq fits."""
    X = frame(in_zone(pd.date_range("2024-03-20", periods=60, freq=step)))
    X = pd.concat({"a": X, "b": X[:50]}, names=["site", "time"]) if panel else X
    call = "X.tz_localize(None, level=1)" if panel else "X.tz_localize(None)"
    with pytest.raises(ValueError, match="the clock on the wall of Europe/Berlin") as caught:
        small().fit(X)
    assert str(caught.value).endswith(f": take what the wall shows, {call}.")
    assert "freq=" not in str(caught.value)
    assert small().fit(type_in(f"X = {call}", X)).timeline_.clock.step_name == step


@pytest.mark.parametrize("naive", [False, True], ids=["aware", "naive"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Sydney"])
@pytest.mark.parametrize("step", ["D", "7D", "MS", "6h"])
def test_local_times_that_were_written_in_utc_get_their_zone(small, frame, step, zone, naive):
    """Gaps of 23 and 25 hours are days, of which no freq of UTC knows."""
    local = in_zone(pd.date_range("2024-03-01", periods=160, freq=step), zone)
    X = frame(local.tz_convert("UTC").tz_localize(None if naive else "UTC") if naive else local)
    X = X if naive else X.tz_convert("UTC")
    call = "X.tz_localize('UTC').tz_convert(zone)" if naive else "X.tz_convert(zone)"
    call += ".tz_localize(None)" if step == "6h" else ""
    with pytest.raises(ValueError, match="They move by an hour with summer time") as caught:
        small().fit(X)
    assert str(caught.value).endswith(f"Name their own, such as zone='Europe/Berlin', {call}.")
    named = type_in(f"X = {call}", X, zone=zone)
    steps = {"7D": {"7D", "W-FRI"}}.get(step, {step})
    assert small().fit(named).timeline_.clock.step_name in steps


def test_rows_that_are_regular_in_utc_go_back_there(small, frame):
    """An index keeps its freq when its zone changes, though its rows no longer lie on it."""
    X = frame(pd.date_range("2020-01-31", periods=60, freq="ME", tz="UTC")).tz_convert(
        "Europe/Berlin"
    )
    with pytest.raises(ValueError, match=r"regular in UTC: X\.tz_convert\('UTC'\)\.$"):
        small().fit(X)
    small().fit(X.tz_convert("UTC"))


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
@pytest.mark.parametrize(
    ("times", "what"),
    [
        (pd.date_range("2024-03-25", periods=150, freq="h", tz="Europe/Berlin"), "skips an hour"),
        (pd.date_range("2024-10-21", periods=150, freq="h", tz="Europe/Berlin"), "repeats an hour"),
    ],
)
def test_an_update_over_a_change_of_the_clocks_asks_for_the_zone(small, frame, times, what, panel):
    """It used to ask for the hour that never was."""
    X = frame(times.tz_localize(None))
    cut = int(np.flatnonzero(np.diff(X.index) != pd.Timedelta("1h"))[0]) + 1
    parts = [
        pd.concat({"a": part}, names=["site", "time"]) if panel else part
        for part in (X[:cut], X[cut : cut + 3])
    ]
    estimator = small().fit(parts[0])
    with pytest.raises(
        ValueError, match=rf"^update got .*{what}.*X\.tz_localize\(zone\)\. Oth"
    ) as c:
        estimator.update(parts[1])
    assert (" of series 'a' on" in str(c.value)) == panel


@pytest.mark.parametrize(
    ("index", "call"),
    [
        (in_zone(pd.date_range("2024-03-20", periods=50, freq="6h")), "X.tz_localize(None)"),
        (in_zone(pd.date_range("2024-02-20", periods=50)).tz_convert("UTC"), "X.tz_convert(zone)"),
    ],
    ids=["6 hours", "nights in UTC"],
)
def test_an_update_in_summer_time_says_by_which_clock(small, frame, index, call):
    """A fit on winter alone cannot see it."""
    X = frame(index)
    gaps = np.diff(index.asi8)
    cut = int(np.flatnonzero(gaps != gaps[0])[0]) + 1
    estimator = small().fit(X[:cut])
    with pytest.raises(ValueError, match=f"and update, on .*{re.escape(call)}.$"):
        estimator.update(X[cut:])


# --- calendars that are none of pandas' ------------------------------------------------------


def days_on(mask, n=90):
    return pd.date_range("2024-01-01", periods=n, freq=pd.offsets.CustomBusinessDay(weekmask=mask))


def hours_between(first, last, mask="Mon Tue Wed Thu Fri"):
    days = days_on(mask, 30)
    return pd.DatetimeIndex(
        [day + pd.Timedelta(hours=h) for day in days for h in range(first, last)]
    )


@pytest.mark.parametrize(
    ("index", "step"),
    [
        (
            days_on("Mon Tue Wed Thu Fri Sat"),
            "pd.offsets.CustomBusinessDay(weekmask='Mon Tue Wed Thu Fri Sat')",
        ),
        (
            days_on("Mon Tue Wed Thu Sun"),
            "pd.offsets.CustomBusinessDay(weekmask='Mon Tue Wed Thu Sun')",
        ),
        (days_on("Mon Wed Fri"), "pd.offsets.CustomBusinessDay(weekmask='Mon Wed Fri')"),
        (hours_between(8, 16), "pd.offsets.BusinessHour(start='08:00', end='16:00')"),
        (
            hours_between(7, 20, "Mon Tue Wed Thu Fri Sat"),
            "pd.offsets.CustomBusinessHour(weekmask='Mon Tue Wed Thu Fri Sat', start='07:00', "
            "end='20:00')",
        ),
        (pd.DatetimeIndex([d + pd.Timedelta(days=k) for d in MONTHS for k in (0, 14)]), "'SMS-15'"),
        (
            pd.DatetimeIndex([d + pd.Timedelta(days=14) for d in MONTHS]).union(
                MONTHS + pd.offsets.MonthEnd(0)
            ),
            "'SME-15'",
        ),
    ],
    ids=["shop", "Gulf", "three days", "8 to 16", "shop hours", "1st and 15th", "15th and last"],
)
@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
def test_open_days_and_hours_are_named(small, frame, index, step, panel):
    """Nobody asked for 'bh', and to fill Sundays with NaN is one way of two."""
    index = pd.DatetimeIndex(index, freq=None)
    X = frame(index[:-4])[["load"]]
    X = pd.concat({"a": X, "b": X[20:]}, names=["site", "time"]) if panel else X
    with pytest.raises(ValueError, match=r"^X\.index .*pass freq=pd|'SM.-15'\.$") as caught:
        small().fit(X)
    assert f" pass freq={step}" in str(caught.value)
    estimator = small(freq=eval(step, {"pd": pd})).fit(X)
    assert list(estimator.forecast().index.unique(-1)) == list(index[-4:])


def test_steps_that_need_more_than_a_line_are_called_by_their_parameter(small, frame):
    """A step of pandas prints as 'C', whatever its days are."""
    index = days_on("Mon Tue Wed Thu Fri Sat", 60).drop(pd.Timestamp("2024-02-01"))
    week = pd.offsets.CustomBusinessDay(weekmask="Mon Tue Wed Thu Fri Sat")
    call = "X.asfreq(pd.offsets.CustomBusinessDay(weekmask='Mon Tue Wed Thu Fri Sat'))"
    with pytest.raises(ValueError, match=re.escape(f"2024-02-01 00:00:00: {call} adds")):
        small(freq=week).fit(frame(index))
    new_year = pd.offsets.CustomBusinessDay(weekmask=week.weekmask, holidays=["2024-02-10"])
    with pytest.raises(ValueError, match=r"2024-02-01 00:00:00: X\.asfreq\(freq\) adds"):
        small(freq=new_year).fit(frame(index.drop(pd.Timestamp("2024-02-10"))))


WEEKS = np.cumsum([0, *([4, 4, 5] * 13)])


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
@pytest.mark.parametrize(
    "index",
    [
        pd.Timestamp("2022-01-01") + pd.to_timedelta(7 * WEEKS, unit="D"),
        pd.DatetimeIndex([day + pd.Timedelta(days=k) for day in MONTHS[:20] for k in (0, 10, 20)]),
    ],
    ids=["4-4-5 weeks", "dekads"],
)
def test_a_calendar_of_its_own_is_numbered(small, frame, index, panel):
    """A mean by months would mix two dekads, and five weeks with four."""
    X = frame(index)
    X = pd.concat({"a": X, "b": X[:30]}, names=["site", "time"]) if panel else X
    call = "X.reset_index(drop=True)"
    if panel:
        call = "X.assign(step=X.groupby(level=0).cumcount()).set_index('step', append=True)"
        call += ".droplevel(1)"
    with pytest.raises(ValueError, match=r"^X\.index has irregular steps") as caught:
        small().fit(X)
    assert f"number them, {call}, as resample(freq).mean() would mix" in str(caught.value)
    numbered = type_in(f"X = {call}", X)
    assert small().fit(numbered).timeline_.clock.freq == 1


def test_a_guess_of_pandas_that_does_not_hold_is_nobodys(small, frame):
    """Fridays of some weeks pass for every fourth of the month there."""
    fridays = pd.date_range("2024-01-05", periods=90, freq="W-FRI")
    kept = fridays[(fridays.day > 21)]
    with pytest.raises(ValueError, match=r"^X\.index (lacks|has irr)") as caught:
        small().fit(frame(kept))
    assert "WOM" not in str(caught.value)


# --- panels ----------------------------------------------------------------------------------


@pytest.mark.slow
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
    with pytest.raises(
        ValueError, match=r"^X\.index does not lie on .* of series '.' is"
    ) as caught:
        small(freq=freq).fit(X)
    assert ("freq='" in str(caught.value)) == (freq is not None)  # nobody asked for one
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
