"""Wrong input gets one clear sentence, and what to type instead: word for word."""

import math
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from flat_parameters import full_name
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from versions import TEXT

from skinformer import MaskFuture, TimeIndex, load
from skinformer.evaluation import SeasonalNaive, backtest
from skinformer.timeline.clock import clock_for
from skinformer.validation.index import check_no_missing_steps
from skinformer.validation.labels import IN_INDEX


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: what is refused is no matter of who forecasts."""
    return partial(small, members=["network"])


@pytest.fixture(scope="module")
def df(frame):
    return frame(60)


def raises(error, sentence):
    return pytest.raises(error, match=f"^{re.escape(sentence)}$")


# --- the time index at fit -------------------------------------------------------------------

TWICE = (
    "X.index holds 2 duplicated timestamps, the first 2024-01-01 05:00:00: keep one row a step, "
    "X[~X.index.duplicated()], or label several series by a MultiIndex (series, time). Naive "
    "local time repeats an hour in autumn: X.index.tz_localize(zone, ambiguous='infer')."
)


def test_duplicated_timestamps_are_counted_and_the_first_is_named(small, df):
    """Two rows of one step have no order; both fit and predict refuse them."""
    rows = [*range(6), 5, *range(6, 31), 30, *range(31, 60)]
    with raises(ValueError, TWICE):
        small().fit(df.iloc[rows])
    estimator = small().fit(df)
    with raises(ValueError, TWICE):
        estimator.predict(df.iloc[rows])
    with raises(ValueError, TWICE):
        estimator.forecast(df.iloc[rows])
    with raises(ValueError, TWICE):
        estimator.update(df.iloc[rows])


def test_the_advice_for_naive_local_time_works(small, frame):
    """The sentence names tz_localize(ambiguous='infer'): it must lead to a fit."""
    index = pd.date_range("2024-10-26", periods=60, freq="h", tz="Europe/Berlin")
    naive = frame(index.tz_localize(None))
    with pytest.raises(
        ValueError, match="holds 1 duplicated timestamp, the first 2024-10-27 02"
    ):
        small().fit(naive)
    fixed = naive.set_axis(naive.index.tz_localize("Europe/Berlin", ambiguous="infer"))
    assert small().fit(fixed).forecast().index[0] == index[-1] + pd.Timedelta(hours=1)


ORDER = (
    "X.index is not in time order: call X.sort_index() before fit; in cross-validation use "
    "TimeSeriesSplit, which keeps the order."
)


def test_rows_out_of_time_order_are_refused_at_fit(small, df):
    """Sorting silently would hide a shuffled split."""
    with raises(ValueError, ORDER):
        small().fit(df.iloc[::-1])
    with raises(ValueError, ORDER):
        small().fit(df.sample(frac=1, random_state=0))


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
def test_shuffled_cross_validation_is_refused(small, df):
    """KFold would train on the future of its test rows."""
    with pytest.raises(ValueError, match=r"X\.index lacks .* timestamps"):
        cross_val_score(
            small(target="load"), df, df["load"], cv=KFold(3), error_score="raise"
        ).mean()


NUMBER = "number the rows, X.reset_index(drop=True)"
NUMBER_EACH = "number the rows of each series, X.groupby(level=0).cumcount()"
HINTS = (
    " adds them with NaN, which the target may hold; fill the other columns. Naive local time "
    "skips an hour in spring, so name its zone, tz_localize(zone). If closed days or hours are no "
    "steps, pass freq, such as 'B', or {}. In cross-validation use TimeSeriesSplit, whose folds "
    "have no gaps."
)


def test_missing_timestamps_are_counted_and_the_first_is_named(small, df):
    """A gap shifts every later step; asfreq makes it a row with a missing target."""
    with raises(
        ValueError,
        "X.index lacks 9 timestamps, the first 2024-01-01 07:00:00: X.asfreq('h')"
        + HINTS.format(NUMBER),
    ):
        small().fit(df.drop(df.index[7:16]))


def test_the_advice_for_missing_timestamps_works(small, df):
    """asfreq, fill the other columns, fit."""
    runs = df.drop(df.index[[7, 20, 21]]).asfreq("h")
    runs[["flow", "price"]] = runs[["flow", "price"]].ffill()
    assert np.isfinite(small().fit(runs).predict(df)).all()


ADDS = (
    " adds them with NaN, which the target may hold; fill the other columns. In cross-validation "
    "use TimeSeriesSplit, whose folds have no gaps."
)


@pytest.mark.parametrize(
    ("index", "first"),
    [
        (pd.RangeIndex(60), "7"),
        (pd.Index(1000 + 10 * np.arange(60)), "1070"),
        (pd.period_range("2024-01-01", periods=60, freq="h"), "2024-01-01 07:00"),
    ],
    ids=["numbers", "tens", "periods"],
)
def test_holes_of_other_labels_are_counted_too(small, frame, index, first):
    """Only gaps of dates are filled by asfreq."""
    X = frame(index).drop(index[7:16])
    with raises(
        ValueError,
        f"X.index lacks 9 timestamps, the first {first}: X.reindex to all steps{ADDS}",
    ):
        small().fit(X)
    filled = X.reindex(index).ffill()
    small().fit(filled)


def test_holes_in_a_panel_name_the_series(small, frame):
    """A panel has no asfreq, and which of a thousand series has the gap is the question."""
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    X = pd.concat({"a": frame(hours), "b": frame(hours[:50]).drop(hours[7:13])})
    call = "X.groupby(level=0).apply(lambda x: x.droplevel(0).asfreq('h'))"
    with raises(
        ValueError,
        f"X.index of series 'b' lacks 6 timestamps, the first 2024-01-01 07:00:00: {call}"
        + HINTS.format(NUMBER_EACH),
    ):
        small().fit(X)
    filled = eval(call, {"X": X})
    small().fit(filled.groupby(level=0).ffill())


@pytest.mark.parametrize(
    ("step", "shown"),
    [("2B", "'2D'"), ("SMS-15", None), (pd.offsets.LastWeekOfMonth(weekday=2), None)],
    ids=str,
)
def test_steps_that_pandas_does_not_infer_are_named_by_the_user(
    small, frame, step, shown
):
    """Every second working day is regular, and so is what a calendar of one's own says."""
    X = frame(pd.date_range("2024-01-01", periods=60, freq=step)._with_freq(None))
    with pytest.raises(ValueError, match=r"^X\.index (lacks|has irregular)") as caught:
        small().fit(X)
    assert shown is None or f"X.asfreq({shown})" in str(caught.value)
    small(freq=step).fit(X)


@pytest.mark.parametrize(
    ("step", "typed"),
    [
        (pd.DateOffset(months=1), "pd.DateOffset(months=1)"),
        (pd.offsets.CustomBusinessDay(weekmask="Mon Wed Fri"), "freq"),
        (pd.offsets.Easter(), "freq"),
        ("MS", "'MS'"),
    ],
    ids=str,
)
def test_a_step_is_written_as_it_is_typed(small, frame, step, typed):
    """A step of pandas prints as 'C', whatever its days are."""
    index = pd.date_range("2024-01-01", periods=60, freq=step)
    clock = clock_for(index, index.freq)
    steps = np.delete(np.arange(60), 20)
    with pytest.raises(ValueError, match=re.escape(f": X.asfreq({typed}) adds them")):
        check_no_missing_steps(index[steps], 0 * steps, steps, clock, None, IN_INDEX)


def test_a_guess_of_pandas_that_does_not_hold_is_not_taken(small, frame):
    """Fridays of some weeks pass for every fourth of the month there."""
    fridays = pd.date_range("2024-01-05", periods=90, freq="W-FRI")
    kept = fridays[(fridays.day > 21)]
    with pytest.raises(ValueError, match=r"^X\.index (lacks|has irr)") as caught:
        small().fit(frame(kept))
    assert "WOM" not in str(caught.value)


@pytest.mark.parametrize(
    "freq",
    [
        *(
            "-1h",
            "0h",
            pd.Timedelta(0),
            pd.Timedelta("-1D"),
            "-2B",
            pd.DateOffset(months=-1),
        ),
        *("", "moon", 3),
    ],
)
def test_a_step_of_dates_must_be_one_of_pandas_and_go_forward(small, df, freq):
    """Pandas' "Invalid frequency: ." shows neither the value nor what to type."""
    with raises(
        ValueError,
        f"freq={freq!r} must be an offset of pandas that goes forward, such as 'h', '15min', 'D', "
        "'MS' or '2W': it is the step from one row to the next. Leave it None to read it off the "
        "index.",
    ):
        small(freq=freq).fit(df)


@pytest.mark.parametrize("freq", [0, -1, 10**30, "h"])
def test_a_step_of_numbers_must_be_positive_and_fit_64_bits(small, df, freq):
    """Nor do row numbers go back."""
    with raises(
        ValueError,
        f"freq={freq!r} must be a positive whole number less than 2**63: it is the step from one "
        "row to the next. Leave it None to read it off the index.",
    ):
        small(freq=freq).fit(df.reset_index(drop=True))


@pytest.mark.parametrize("freq", ["D", "2h", pd.Timedelta("1D")])
def test_periods_have_their_own_step(small, df, freq):
    """Another freq would be silently ignored."""
    with raises(
        ValueError,
        f"freq={freq!r} must be the length of X.index's periods, period[h]: it is the step from "
        "one row to the next. Leave it None to read it off the index.",
    ):
        small(freq=freq).fit(df.to_period("h"))
    for same in ("h", pd.Timedelta("1h"), pd.offsets.Hour()):
        small(freq=same).fit(df.to_period("h"))


def test_months_as_periods_may_be_named(small, frame):
    """Of periods the name is "M", of dates "ME"."""
    small(freq="M").fit(frame(pd.period_range("2020-01", periods=60, freq="M")))


def test_irregular_numbers_and_panels_are_told_what_suits_them(small, frame):
    """Resample needs dates; a panel resamples by its second level."""
    with raises(
        ValueError,
        "X.index has irregular steps, from 2 to 3: pass freq= that divides them all, or number "
        "the rows, X.reset_index(drop=True).",
    ):
        small().fit(frame(pd.Index([0, *range(3, 120, 2)])))
    jitter = pd.to_timedelta(np.arange(60) % 7, unit="s")
    part = frame(pd.date_range("2024-01-01", periods=60, freq="h") + jitter)
    X = pd.concat({"a": part, "b": part[:40]}, names=["site", "time"])
    call = "X.groupby(level=0).resample(freq, level=1).mean()"
    sentence = (
        f"{IRREGULAR} resample, {call}, or, where each row is one step, {NUMBER_EACH}."
    )
    with raises(ValueError, sentence):
        small().fit(X)
    small().fit(eval(call, {"X": X, "freq": "h"}))


IRREGULAR = (
    "X.index has irregular steps, from 0 days 00:59:54 to 0 days 01:00:01: pass freq= if they "
    "follow a calendar, name the zone whose clock they follow, tz_convert(zone),"
)


def test_irregular_steps_are_named_as_time_spans(small, frame):
    """From … to … tells at once whether it is seconds of jitter or lost days."""
    jitter = pd.to_timedelta(np.arange(60) % 7, unit="s")
    index = pd.date_range("2024-01-01", periods=60, freq="h") + jitter
    resample = "resample, X.resample(freq).mean()"
    sentence = f"{IRREGULAR} {resample}, or, where each row is one step, {NUMBER}."
    with raises(ValueError, sentence):
        small().fit(frame(index))


@pytest.mark.parametrize("panel", [False, True])
@pytest.mark.parametrize("numbers", [range(60), range(20240101, 20240161)])
def test_numbers_that_became_nanoseconds_are_told_to_be_dates(
    small, frame, numbers, panel
):
    """Of `pd.to_datetime` without a unit or format; a day has no whole number of such steps."""
    part = frame(pd.to_datetime(np.array(numbers)))
    X = pd.concat({"a": part, "b": part}, names=["site", "time"]) if panel else part
    sentence = (
        f"X.index has rows less than a microsecond apart, from {part.index[0]} on, as "
        "pd.to_datetime makes of numbers: tell it what the numbers are, unit='D' or "
        f"format='%Y%m%d', or, where they count rows, {NUMBER_EACH if panel else NUMBER}."
    )
    with raises(ValueError, sentence):
        small().fit(X)


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_short_steps_fill_no_memory(small, frame, unit):
    """An hour of microseconds has 3.6e9 rows, and what it lasts cannot be looked back at."""
    X = frame(pd.to_datetime(np.arange(60), unit=unit))
    model = small().fit(X)
    assert model._outlier_bounds_.recent.nbytes < 1e5
    assert model.forecast(horizon=2).index[-1] == pd.Timestamp(61, unit=unit)


def last_days(n, day):
    """Choose one day of each month, or the last one where there is no such day."""
    return pd.DatetimeIndex(
        [
            min(first + pd.Timedelta(days=day - 1), first + pd.offsets.MonthEnd())
            for first in pd.date_range("2019-01-01", periods=n, freq="MS")
        ]
    )


def quarters(n):
    """Make the last day of 13 weeks, and of 14 now and then."""
    weeks = np.where(np.arange(n) % 22 == 7, 14, 13)
    return pd.Timestamp("2001-12-22") + pd.to_timedelta(7 * weeks.cumsum(), "D")


def by_hand(n):
    """Make times once a day, whenever somebody came by."""
    minutes = np.random.default_rng(0).integers(420, 500, n)
    days = pd.date_range("2024-01-01", periods=n)
    return days + pd.to_timedelta(minutes, unit="m")


@pytest.mark.parametrize(
    ("index", "unit", "naive"),
    [
        (last_days(60, 29), "M", ""),
        (last_days(60, 30), "M", ""),
        (last_days(60, 30).tz_localize("Europe/Berlin"), "M", ".tz_localize(None)"),
        (quarters(60), "Q", ""),
        (by_hand(60), "D", ""),
        (by_hand(60).delete(9), "D", ""),
    ],
    ids=["29th", "30th", "zone", "weeks of a quarter", "by hand", "a day is missing"],
)
def test_rows_of_a_month_each_are_told_to_be_months(small, frame, index, unit, naive):
    """Resampling them was all that was advised."""
    X, call = frame(index), f"X.index = X.index{naive}.to_period('{unit}')"
    with pytest.raises(ValueError, match=r"^X\.index has irregular steps") as caught:
        small().fit(X)
    assert str(caught.value).endswith(
        f", but each row is of a period of its own: take these as labels, {call}, or {NUMBER}."
    )
    exec(call, {"X": X})
    small().fit(X.reindex(pd.period_range(X.index[0], X.index[-1])).ffill())


def test_months_of_a_panel_are_told_how_to_be_months(small, frame):
    """Series have days of their own."""
    parts = {"a": frame(last_days(60, 30)), "b": frame(last_days(50, 29))}
    X = pd.concat(parts)
    call = (
        "X.index = pd.MultiIndex.from_arrays([X.index.get_level_values(0), "
        "X.index.get_level_values(1).to_period('M')])"
    )
    with pytest.raises(
        ValueError, match=re.escape(f"labels, {call}, or {NUMBER_EACH}.")
    ):
        small().fit(X)
    exec(call, {"X": X, "pd": pd})
    small().fit(X)


def test_rows_of_no_period_are_told_to_be_numbered(small, frame):
    """Months of four, four and five weeks."""
    weeks = 7 * np.tile([4, 4, 5], 20).cumsum()
    months = pd.Timestamp("2019-01-05") + pd.to_timedelta(weeks, unit="D")
    with pytest.raises(ValueError, match=re.escape(f" {NUMBER}.")):
        small().fit(frame(months))


MONTHS_AND_WEEKS = {
    "%Y%m": (
        pd.date_range("2019-01-01", periods=60, freq="MS"),
        "pd.PeriodIndex({}.astype(str), freq='M')",
    ),
    "%Y%m%d": (
        pd.date_range("2019-01-20", periods=60),
        "pd.to_datetime({}.astype(str))",
    ),
    "%G%V": (
        pd.date_range("2019-06-03", periods=60, freq="W-MON"),
        "pd.to_datetime({}.astype(str) + '1', format='%G%V%u')",
    ),
}


@pytest.mark.parametrize("panel", [False, True])
@pytest.mark.parametrize("format", MONTHS_AND_WEEKS)
def test_dates_as_whole_numbers_are_told_to_be_dates(small, frame, format, panel):
    """Adding the missing numbers made months 13 to 100."""
    dates, make = MONTHS_AND_WEEKS[format]
    X = frame(dates.strftime(format).astype(np.int64))
    call = make.format("X.index")
    if panel:
        X = pd.concat({1: X, 2: X})
        times = make.format("X.index.get_level_values(1)")
        call = f"pd.MultiIndex.from_arrays([X.index.get_level_values(0), {times}])"
    sentence = (
        "X.index holds dates that are written as whole numbers, such as "
        f"{dates[0]:{format}}, and numbers of no date would lie between them: make them dates, "
        f"X.index = {call}."
    )
    with raises(ValueError, sentence):
        small().fit(X)
    X.index = eval(call, {"X": X, "pd": pd})
    small().fit(X)


@pytest.mark.parametrize("number", [np.int32, np.int64, np.int16])
def test_messages_show_numbers_as_they_are_typed(small, frame, number):
    """Not as numpy writes its own."""
    X = frame(range(60))
    series = pd.Index(np.array([1, 2], dtype=number))
    levels = [series, pd.RangeIndex(60)]
    panel = pd.concat([X, X]).set_axis(pd.MultiIndex.from_product(levels))
    for call in (
        lambda: small(freq=number(-1)).fit(X),
        lambda: small().fit(panel.drop(panel.index[7])),
        lambda: small().fit(panel.iloc[[0, *range(120)]]),
        lambda: small().fit(X).forecast(horizon=number(-1)),
        lambda: backtest(SeasonalNaive().fit(X), X, X["load"], start=number(99), horizon=2),
        lambda: backtest(
            SeasonalNaive().fit(X), X.set_axis(X.index.astype(number)), X["load"].to_numpy(),
            start="a", horizon=2,
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"X\.index|=-1 must") as caught:
            call()
        assert "np." not in str(caught.value)


def test_a_step_without_a_name_is_not_called_freq(small, frame):
    """The text said freq=freq."""
    days = pd.offsets.CustomBusinessDay(weekmask="Mon Wed Fri")
    X = frame(pd.date_range("2024-01-01", periods=60, freq="D"))
    with pytest.raises(ValueError, match=r"^X\.index does not lie on freq=<CustomB"):
        small(freq=days).fit(X)


def test_rows_between_the_steps_of_freq_are_named(small, df):
    """A wrong freq must not be silently rounded to."""
    with raises(
        ValueError,
        "X.index does not lie on freq='2h': 2024-01-01 01:00:00 is between two steps. Pass the "
        "freq that fits, or resample, X.resample(freq).mean().",
    ):
        small(freq="2h").fit(df)


def test_text_labels_are_refused(small, df):
    """Text sorts by letters, not by time."""
    with raises(
        TypeError,
        f"X.index holds {TEXT} labels, which have no order in time: convert them, X.index = "
        "pd.to_datetime(X.index), or number the rows, X.reset_index(drop=True).",
    ):
        small().fit(df.set_axis(df.index.astype(str)))


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("%d.%m.%Y", ", dayfirst=True"),
        ("%d/%m/%Y", ", dayfirst=True"),
        ("%m/%d/%Y", ""),
    ],
)
def test_text_labels_are_converted_with_the_order_of_day_and_month(small, form, order):
    """Without dayfirst, pandas takes 02.01.2024 for the first of February."""
    days = pd.date_range("2024-01-02", periods=60)
    X = pd.DataFrame({"load": np.arange(60.0)}, index=days.strftime(form))
    convert = f"pd.to_datetime(X.index{order})"
    with pytest.raises(TypeError, match=re.escape(f"X.index = {convert}, or number")):
        small().fit(X)
    assert list(eval(convert, {"X": X, "pd": pd})) == list(days)


def test_text_labels_of_which_no_order_is_known_ask_for_it(small):
    """Both orders read the days up to the 12th."""
    days = pd.date_range("2024-01-01", periods=12).strftime("%d/%m/%Y")
    X = pd.DataFrame({"load": np.arange(12.0)}, index=days)
    with pytest.raises(TypeError, match=r"X\.index, dayfirst=True or False\)"):
        small().fit(X)


@pytest.mark.parametrize(
    "kind", ["object", "float64", "bool", "timedelta64[us]", "category"]
)
def test_labels_without_an_order_in_time_are_refused(small, df, kind):
    """Anything but dates, periods and integers is named with its dtype."""
    if kind == "timedelta64[us]":
        index = pd.Index(np.arange(60)).astype("timedelta64[s]").as_unit("us")
    elif kind == "bool":
        index = pd.Index(np.arange(60) % 2 == 0)
    else:
        index = pd.Index(np.arange(60)).astype(kind)
    with pytest.raises(
        TypeError, match=f"X.index holds {re.escape(kind)} labels, which have no"
    ):
        small().fit(df.set_axis(index))


@pytest.mark.parametrize(
    "index",
    [
        pd.timedelta_range("0h", periods=60, freq="h").as_unit("us"),
        pd.Index(np.arange(60.0)),
        pd.Index(np.ones(60, dtype=bool)),
    ],
    ids=["spans", "floats", "bools"],
)
def test_labels_that_are_no_text_are_to_be_numbered(small, frame, index):
    """to_datetime of numbers means nanoseconds since 1970, and of spans nothing."""
    X = frame(index)
    with raises(
        TypeError,
        f"X.index holds {index.dtype} labels, which have no order in time: number the rows, "
        "X.reset_index(drop=True).",
    ):
        small().fit(X)
    small().fit(X.reset_index(drop=True))


def test_the_advice_for_labels_of_a_panel_works(small, panel):
    """The level is converted, not the index."""
    right = panel()
    X = right.copy()
    X.index = X.index.set_levels(X.index.levels[1].astype(str), level=1)
    convert = "X.index.set_levels(pd.to_datetime(X.index.levels[1]), level=1)"
    with raises(
        TypeError,
        f"X.index holds {TEXT} labels, which have no order in time: convert them, X.index = "
        f"{convert}, or number the rows of each series, X.groupby(level=0).cumcount().",
    ):
        small().fit(X)
    X.index = eval(convert, {"X": X, "pd": pd})
    pd.testing.assert_index_equal(X.index, right.index, exact="equiv")


@pytest.mark.parametrize("names", [("a", "b"), (7, 8)], ids=["text", "numbers"])
def test_levels_the_wrong_way_round_are_told_how_to_swap(small, frame, names):
    """(time, series) is what pivoting leaves behind."""
    right = pd.concat({name: frame(40) for name in names}, names=["site", "time"])
    swapped = right.swaplevel().sort_index()
    with raises(
        TypeError,
        "X.index has the levels (time, series), but (series, time) are needed: call "
        "X.swaplevel().sort_index().",
    ):
        small().fit(swapped)
    pd.testing.assert_frame_equal(swapped.swaplevel().sort_index(), right)


def test_a_missing_timestamp_label_is_refused(small, df):
    """NaT has no place in time."""
    index = df.index.to_series()
    index.iloc[3] = pd.NaT
    with raises(
        ValueError, "X.index holds NaT: every row needs its time. Drop those rows."
    ):
        small().fit(df.set_axis(pd.DatetimeIndex(index)))


def test_three_levels_are_refused(small, df):
    """Which two of them name a series cannot be guessed."""
    index = pd.MultiIndex.from_product([["a"], ["b"], df.index])
    with raises(
        TypeError,
        "X.index has 3 levels: two are needed, (series, time). Join the levels that name a "
        "series into one.",
    ):
        small().fit(df.set_axis(index))


def test_x_and_y_with_different_indexes_are_refused(small, df):
    """The same length is not the same rows."""
    y = df["load"]
    for other in (
        y[::-1],
        y.set_axis(df.index + pd.Timedelta(hours=1)),
        y.reset_index(drop=True),
    ):
        with raises(
            ValueError,
            "X and y have different indexes: rows belong together by their labels. Pass "
            "y.loc[X.index], or y.to_numpy() if its rows are in X's order.",
        ):
            small().fit(df[["price"]], other)


@pytest.mark.parametrize(
    ("n", "early_stopping", "sizes"),
    [
        (15, "auto", "seq_len=12 + pred_len=4"),
        (15, False, "seq_len=12 + pred_len=4"),
        (19, True, "seq_len=12 + pred_len=4 + pred_len=4 for early_stopping=True"),
    ],
)
def test_too_few_rows_are_told_how_many_are_needed(
    small, frame, n, early_stopping, sizes
):
    """The number is what the user can act on; one row more is enough."""
    estimator = small(early_stopping=early_stopping, members=["network"])
    with raises(
        ValueError,
        f"n_samples={n} is too few: {n + 1} consecutive rows are needed, {sizes}. Lower seq_len "
        "or pred_len, or pass more rows.",
    ):
        estimator.fit(frame(n))
    estimator.fit(frame(n + 1))


# --- values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["flow", "price", "load"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_at_fit_and_predict(small, df, column, value):
    """scikit-learn's own wording, with the column's name."""
    wrong = df.copy()
    wrong.loc[wrong.index[9], column] = value
    sentence = (
        f"Input X (column '{column}') contains infinity "
        "or a value too large for dtype('float64')."
    )
    with raises(ValueError, sentence):
        small().fit(wrong)
    with raises(ValueError, sentence):
        small().fit(df).predict(wrong)


@pytest.mark.parametrize("mode_", ["frame", "features"])
def test_a_target_without_any_value_is_refused(small, df, mode_):
    """There is nothing to learn from."""
    nothing = df.assign(load=np.nan)
    inputs = (nothing, None) if mode_ == "frame" else (df[["price"]], nothing["load"])
    with raises(
        ValueError,
        "Input y contains NaN only: a target without any value cannot be learnt. Pass "
        "its observed values; missing ones may stay NaN.",
    ):
        small().fit(*inputs)


def no_number(name, dtype, example, column):
    fault = f"could not convert column {name!r} of dtype {dtype} to float: it holds {example!r}. "
    if "," in str(example):
        return (
            f"{fault}Decimals stand behind a comma: read the file with "
            "pd.read_csv(path, decimal=',')."
        )
    return (
        f"{fault}Correct it, or make such values missing, {column} = pd.to_numeric({column}, "
        "errors='coerce'), or columns of 0 and 1, pd.get_dummies. Times and names of series "
        "belong in the index, X.set_index([series, time]), in a Pipeline by TimeIndex."
    )


@pytest.mark.parametrize(
    ("column", "example"),
    [
        (["1,5", "2"], "1,5"),
        (["1.5", "2"], "1.5"),
        (pd.to_timedelta([1, 2], unit="h"), pd.Timedelta("1h")),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), pd.Timestamp("2024-01-01")),
        (["2024-01-01", "2024-01-02"], "2024-01-01"),
    ],
    ids=["comma", "strings", "spans", "dates", "text of dates"],
)
def test_columns_without_numbers_are_named_with_a_value(small, df, column, example):
    """A sample shows at once what is wrong."""
    X = df.assign(kind=pd.Series(column).repeat(30).set_axis(df.index))
    if example == "1.5" and TEXT == "object":
        small(target="load").fit(X)  # objects that say numbers are numbers
        return
    with raises(ValueError, no_number("kind", X["kind"].dtype, example, "X['kind']")):
        small(target="load").fit(X)


@pytest.mark.parametrize("dtype", ["object", "str"])
def test_text_among_numbers_is_refused_by_name(small, df, dtype):
    """The dash is in one of forty columns, and the sentence says in which."""
    mixed = df["flow"].astype(dtype)
    mixed.iloc[5] = "-"
    X = df.assign(kind=mixed)
    with raises(ValueError, no_number("kind", mixed.dtype, "-", "X['kind']")):
        small(target="load").fit(X)
    X["kind"] = pd.to_numeric(X["kind"], errors="coerce")
    small(target="kind").fit(X)


def test_text_in_y_is_refused_likewise(small, df):
    """There the column is y itself."""
    y = df["load"].round(1).astype(str).str.replace(".", ",")
    with raises(ValueError, no_number("load", TEXT, y.iloc[0], "y")):
        small().fit(df[["price"]], y)
    with raises(ValueError, no_number("load", TEXT, y.iloc[0], "y['load']")):
        small().fit(df[["price"]], y.to_frame())


DAYS = list(pd.date_range("2024", periods=60).to_pydatetime())


@pytest.mark.parametrize(
    "column",
    [DAYS, [f"{day:%Y-%m-%d}" for day in DAYS], [day.date() for day in DAYS]],
    ids=["dates and hours", "dates as text", "dates"],
)
def test_polars_columns_of_dates_are_no_numbers(small, df, column):
    """A date swallowed as a number would be a measurement of 10^15; it is where rows lie."""
    polars = pytest.importorskip("polars")
    numbers = {name: df[name].to_numpy() for name in df}
    X = polars.DataFrame({"when": column, **numbers})
    with pytest.raises(
        ValueError, match=r"convert column 'when' of dtype .* by TimeIndex"
    ):
        MaskFuture(target="load").fit(X)
    with pytest.warns(UserWarning, match="the times of rows are those of column 'wh"):
        model = small(target="load").fit(X)
    assert model.roles_.columns == tuple(df.columns)


def test_times_of_polars_go_into_the_index(small, df):
    """What the message says to use is used."""
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"when": DAYS, "load": df["load"].to_numpy()})
    model = make_pipeline(TimeIndex("when"), small(target="load")).fit(X)
    expected = pd.Series(
        df["load"].to_numpy(), pd.DatetimeIndex(DAYS), name="load"
    ).to_frame()
    forecast = small(target="load").fit(expected).forecast()
    found = model[-1].forecast()
    assert found.index.tolist() == forecast.index.tolist()
    np.testing.assert_array_equal(found, forecast)


@pytest.mark.filterwarnings("ignore:a frame of polars has no index:UserWarning")
def test_missing_numbers_of_polars_are_nan(small, df):
    """A null of polars is a step whose truth is unknown."""
    polars = pytest.importorskip("polars")
    whole = df.round().astype(int)
    X = polars.DataFrame({name: whole[name].to_list() for name in whole})
    runs = X.with_columns(polars.Series("load", [None, *whole["load"][1:]]))
    expected = whole.astype({"load": float})
    expected.iloc[0, 2] = np.nan
    forecast = small().fit(expected.to_numpy()).predict(expected.to_numpy())
    np.testing.assert_array_equal(small().fit(runs).predict(runs), forecast)
    with raises(
        ValueError, "Found array with 0 sample(s) while a minimum of 1 is required."
    ):
        small().fit(X).predict(X[:0])


def test_an_array_of_dates_is_refused(small):
    """Numbers they are for numpy alone."""
    dates = np.arange(60).astype("datetime64[h]")[:, None]
    with raises(
        ValueError, "could not convert X of dtype datetime64[h] to float: pass numbers."
    ):
        small().fit(dates)
    with raises(
        ValueError, "could not convert y of dtype datetime64[h] to float: pass numbers."
    ):
        small().fit(np.arange(60.0)[:, None], dates[:, 0])


def test_frames_without_columns_are_refused(small, df):
    """A selection that matched nothing."""
    sentence = (
        "{} has no columns: there is nothing to learn from. Pass the target, with the columns "
        "that help to forecast it."
    )
    with raises(ValueError, sentence.format("X")):
        small().fit(df[[]])
    with raises(ValueError, sentence.format("X")):
        small().fit(df[[]], df["load"])
    with raises(ValueError, sentence.format("y")):
        small().fit(df, df[[]])


def test_weights_must_not_be_negative(small, df):
    """Such a row would be learnt to be missed."""
    weight = np.ones(60)
    weight[3] = -1
    estimator = small()
    with raises(ValueError, "Negative values in data passed to `sample_weight`."):
        estimator.fit(df, sample_weight=weight)
    estimator.fit(df)
    with raises(ValueError, "Negative values in data passed to `sample_weight`."):
        estimator.score(df, sample_weight=weight)


def test_weights_with_another_index_are_refused(small, df):
    """Taken by position, each row would get another row's weight."""
    weight = pd.Series(1.0, index=df.index)
    with raises(
        ValueError,
        "X and sample_weight have different indexes: rows belong together by their labels. Pass "
        "sample_weight.loc[X.index], or sample_weight.to_numpy() if its rows are in X's order.",
    ):
        small().fit(df, sample_weight=weight[::-1])
    estimator = small().fit(df, sample_weight=weight[::-1].loc[df.index])
    with pytest.raises(
        ValueError, match=r"^X and sample_weight have different indexes"
    ):
        estimator.score(df, sample_weight=weight[::-1])


@pytest.mark.parametrize("shape", [(59,), (60, 1), ()])
def test_weights_must_fit_the_rows(small, df, shape):
    """One weight too few would be another row's; scikit-learn says so."""
    estimator = small().fit(df)
    for call in (estimator.fit, estimator.score):
        with pytest.raises((TypeError, ValueError), match=r"60|dimension|1D"):
            call(df, sample_weight=np.ones(shape))


def test_columns_with_one_name_are_refused(small, df):
    """Which one is meant cannot be guessed."""
    with raises(
        ValueError, "X has several columns named 'load': give each its own name."
    ):
        small().fit(pd.concat([df, df[["load"]]], axis=1))


def test_no_rows_are_refused(small, df):
    """An empty selection is a mistake before it is a forecast."""
    with raises(
        ValueError, "Found array with 0 sample(s) while a minimum of 1 is required."
    ):
        small().fit(df).predict(df[:0])


def test_a_target_that_is_no_scaling_of_y_is_refused(small, df):
    """Forecasts could not be put into y's units."""
    with raises(
        ValueError,
        "y is not the column 'load' of X up to scale and shift, so forecasts cannot "
        "be returned in the units of y. Transform both in the same way, or only scale "
        "X; in place of a TransformedTargetRegressor pass y as it is and "
        "target_transform='log', or a transformer of scikit-learn, to the estimator.",
    ):
        small(target="load").fit(df, df["load"] ** 2)


def test_the_number_of_targets_and_of_columns_of_y_must_agree(small, df):
    """Which column of y belongs to which target cannot be guessed."""
    with raises(
        ValueError,
        "y has 1 column for 2 targets: pass one per target, in the order of `target`.",
    ):
        small(target=["load", "flow"]).fit(df, df["load"])


# --- the target's name -----------------------------------------------------------------------


@pytest.mark.parametrize("with_y", [False, True])
def test_a_target_prefixed_by_a_column_transformer_is_recognised(small, df, with_y):
    """The commonest way to lose a column's name, and the parameter that keeps it."""
    prefixing = make_column_transformer(
        (StandardScaler(), ["price", "load"]), verbose_feature_names_out=True
    )
    pipe = make_pipeline(prefixing, small(target="load")).set_output(transform="pandas")
    with raises(
        ValueError,
        "target='load' is not a column of X: the columns are ['standardscaler__price', "
        "'standardscaler__load']. Name one of them; verbose_feature_names_out=False keeps a "
        "ColumnTransformer from prefixing names.",
    ):
        pipe.fit(df, df["load"] if with_y else None)


@pytest.mark.parametrize("with_y", [False, True])
def test_a_target_by_name_in_a_plain_array_is_refused(small, df, with_y):
    """A scaler turned the frame into an array: one call keeps it."""
    pipe = make_pipeline(StandardScaler(), small(target="load"))
    with raises(
        ValueError,
        "target='load' is not a column of X: X is an array without column names. In a Pipeline "
        "call set_output(transform='pandas') on it, or give the target's position.",
    ):
        pipe.fit(df, df["load"] if with_y else None)


@pytest.mark.parametrize("target", ["laod", ["load", "laod"]])
def test_a_misspelt_target_lists_the_columns(small, df, target):
    """A typing error is seen when the right names stand beside it."""
    with raises(
        ValueError,
        "target='laod' is not a column of X: the columns are ['flow', 'price', 'load']. Name one "
        "of them; verbose_feature_names_out=False keeps a ColumnTransformer from prefixing names.",
    ):
        small(target=target).fit(df)


def test_known_columns_must_exist_and_be_no_target(small, df):
    """What is to be forecast is not known ahead."""
    with raises(
        ValueError,
        "known_future=['load'] contains the target 'load', which is not known in advance. "
        "Remove it.",
    ):
        small(known_future=["load"]).fit(df)
    with raises(
        ValueError,
        "known_future=['prize'] holds 'prize', which is not a column of X: the columns are "
        "['flow', 'price', 'load'].",
    ):
        small(known_future=["prize"]).fit(df)


def test_known_columns_must_exist_among_features_too(small, df):
    """There every column is known ahead, so a typing error would go unseen."""
    with raises(
        ValueError,
        "known_future=['prize'] holds 'prize', which is not a column of X: the columns are "
        "['flow', 'price'].",
    ):
        small(known_future=["prize"]).fit(df[["flow", "price"]], df["load"])
    small(known_future=["price"]).fit(df[["flow", "price"]], df["load"])


# --- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [[], ["load", "flow", "load"]])
def test_targets_must_be_some_and_differ(small, df, target):
    """None at all, and one twice, are slips of a list."""
    with raises(
        ValueError,
        f"target={target!r} must name one column or more, each once. Leave it None for the last "
        "column.",
    ):
        small(target=target).fit(df)


@pytest.mark.parametrize("device", ["foo", "cuda:0"])
def test_a_device_must_be_one_that_torch_finds(small, df, monkeypatch, device):
    """Before the data are prepared for it, and in a sentence."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with raises(
        ValueError,
        f"device={device!r} is no device that torch finds here: pass 'auto', 'cpu', or, of CUDA, "
        "'cuda:0'.",
    ):
        small(device=device).fit(df)


@pytest.mark.parametrize("horizon", [0, -3, 2.5, "4", np.nan, True, 2**63])
def test_a_horizon_must_be_a_positive_whole_number(small, df, horizon):
    """Forecast and make_future_frame count steps."""
    estimator = small().fit(df[["load"]])
    sentence = (
        f"horizon={horizon!r} must be a whole number from 1 to 1,000,000: it counts the steps to "
        "forecast. Leave it None for pred_len steps."
    )
    with raises(ValueError, sentence):
        estimator.forecast(horizon=horizon)
    with raises(ValueError, sentence):
        estimator.make_future_frame(horizon)


def test_parameters_that_do_not_fit_each_other_are_named(small, df):
    """Both names, both values, why, and a value that works."""
    with raises(
        ValueError,
        "label_len=13 must be at most seq_len=12: the guiding window is the end of the encoder "
        "window. Lower label_len or leave it None.",
    ):
        small(label_len=13).fit(df)
    with raises(
        ValueError,
        "d_model=9 must be a multiple of n_heads=2: each head gets d_model / n_heads features. "
        "Try d_model=10.",
    ):
        small(d_model=9).fit(df)
    with raises(
        ValueError,
        "calendar=['hour', 'moon'] holds the unknown 'moon': choose from ['minute', 'hour', "
        "'weekday', 'day', 'week', 'month'].",
    ):
        small(calendar=["hour", "moon"]).fit(df)
    small(label_len=12, d_model=10).fit(df)
    small(label_len=0).fit(df)


@pytest.mark.parametrize(
    "dropout", [0.9999999, 1 - 2**-17, math.nextafter(1 - 2**-16, 1)]
)
def test_a_dropout_that_keeps_nothing_is_refused(small, df, dropout):
    """A CPU rounds it to 1: the scale 1 / (1 - dropout) would divide by zero in training."""
    with pytest.raises(
        ValueError, match=r"The 'dropout' parameter .* range \[0.*, 0\.99998"
    ):
        small(dropout=dropout).fit(df)


def test_the_largest_dropout_allowed_works(small, df):
    """The border of the check is that of the masks."""
    estimator = small(dropout=1 - 2**-16).fit(df)
    assert np.isfinite(estimator.predict(df)).all()


def test_a_loss_that_is_not_finite_stops_the_training_and_says_where(small, frame):
    """Going on would train on nothing; the step and the gradient say what happened."""
    with pytest.raises(FloatingPointError, match=r"step \d+.*gradient"):
        small(learning_rate=1e30, max_iter=50, window_norm=False).fit(frame(100))


# --- rows at prediction ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["predict", "forecast", "score", "update", "make_future_frame"]
)
def test_nothing_works_before_fit(small, df, method):
    """scikit-learn's own error for it."""
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(small(), method)(*(() if method == "make_future_frame" else (df,)))


OTHER_KIND = (
    "X.index holds {}, but that of the training rows held {}: pass labels of the same kind. Of "
    "dates tz_localize(zone) names the zone, and tz_convert(zone).tz_localize(None) drops it."
)


def test_naive_and_time_zone_aware_rows_do_not_mix(small, df):
    """Which zone the naive rows are in cannot be guessed."""
    aware = df.tz_localize("Europe/Berlin")
    with raises(TypeError, OTHER_KIND.format("dates of a time zone", "naive dates")):
        small().fit(df).predict(aware)
    with raises(TypeError, OTHER_KIND.format("naive dates", "dates of a time zone")):
        small().fit(aware).predict(df)


@pytest.mark.parametrize("method", ["predict", "forecast", "update"])
def test_labels_of_another_kind_are_refused(small, df, method):
    """A period is no timestamp, and an integer neither."""
    estimator = small().fit(df)
    with raises(TypeError, OTHER_KIND.format("period[h] labels", "naive dates")):
        getattr(estimator, method)(df.to_period("h"))
    with raises(TypeError, OTHER_KIND.format("whole numbers", "naive dates")):
        getattr(estimator, method)(df.reset_index(drop=True))


def test_rows_that_lost_their_time_are_said_to_follow(small, frame):
    """A Pipeline's array has no dates: where it is placed must be seen."""
    df = frame(64)
    X = df[["price"]]
    estimator = small().fit(X[:60].to_numpy(), df["load"][:60])
    with pytest.warns(UserWarning, match="a time index and X has none") as caught:
        forecasts = estimator.predict(X[60:].to_numpy())
    assert [str(w.message) for w in caught] == [
        "the training rows had a time index and X has none: its rows are assumed to "
        "follow the training data, from 2024-01-03 12:00:00. Keep the index, for "
        "example by set_output(transform='pandas') in a Pipeline."
    ]
    dated = small().fit(X[:60], df["load"][:60])
    np.testing.assert_array_equal(forecasts, dated.predict(X[60:]))


def test_row_numbers_that_were_reset_are_refused(small, frame):
    """The same numbers with other values are other rows."""
    df = frame(80).reset_index(drop=True)
    estimator = small().fit(df[:60])
    sentence = (
        "X.index repeats 20 row numbers of the training rows with other values: the index was "
        "reset. Let new rows count on, X.index = range(60, 60 + len(X)), or keep the time index."
    )
    with raises(ValueError, sentence):
        estimator.predict(df[60:].reset_index(drop=True))
    fixed = df[60:].reset_index(drop=True)
    fixed.index = range(60, 60 + len(fixed))
    assert estimator.predict(fixed).shape == (20,)


def test_the_advice_for_reset_rows_counts_as_the_training_rows_do(small, frame):
    """Rows numbered from 1000 by tens go on at 1600, not at 60."""
    df = frame(pd.Index(1000 + 10 * np.arange(80)))
    estimator = small().fit(df[:60])
    reset = df[60:].set_axis(df.index[:20])
    with pytest.raises(
        ValueError, match=r"X\.index = range\(1600, 1600 \+ 10 \* len\(X\), 10\)"
    ):
        estimator.predict(reset)


def test_a_value_that_came_in_late_is_no_reset_index(small, frame):
    """The training row's target was missing; now it is known, and nothing else differs."""
    df = frame(60).reset_index(drop=True)
    late = df.copy()
    late.loc[30, "load"] = np.nan
    assert np.isfinite(small().fit(late).predict(df)).all()


def test_features_before_the_training_data_are_refused(small, frame):
    """There is no history of y there, neither stored nor in X."""
    df = frame(80)
    estimator = small().fit(df[["price"]][20:], df["load"][20:])
    sentence = (
        "X has rows before the training rows or between their steps, and X does not "
        "contain the history of y: call update(X, y) with it, or pass later rows."
    )
    with raises(ValueError, sentence):
        estimator.predict(df[["price"]][:20])
    with raises(ValueError, sentence):
        estimator.predict(df[["price"]].shift(freq="30min"))


def test_missing_and_unknown_columns_are_named(small, df):
    """scikit-learn's own sentence names them."""
    estimator = small(known_future=["flow"]).fit(df)
    with pytest.raises(
        ValueError, match="Feature names seen at fit time, yet now missing:\n- flow"
    ):
        estimator.predict(df.drop(columns="flow"))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- new"):
        estimator.predict(df.assign(new=1))
    with pytest.raises(
        ValueError, match="has 2 features, but InformerRegressor is expecting 3"
    ):
        small().fit(df.to_numpy()).predict(df.to_numpy()[:, :2])


def test_a_misspelt_column_is_not_accompanied_by_those_that_may_be_left_out(small, df):
    """The target was said to be missing from a future frame."""
    estimator = small(target="load", known_future=["price"]).fit(df)
    future = estimator.make_future_frame()[["price"]].assign(price=1.0)
    sentence = (
        "The feature names should match those that were passed during fit.\nFeature names unseen "
        "at fit time:\n- prize\nFeature names seen at fit time, yet now missing:\n- price\n"
    )
    for rows in (future, future.assign(load=np.nan), future.assign(flow=np.nan)):
        for call in (estimator.forecast, estimator.predict):
            with raises(ValueError, sentence):
                call(rows.rename(columns={"price": "prize"}))
    unseen = sentence[: sentence.index("Feature names seen")].replace("prize", "flwo")
    with raises(ValueError, unseen):
        estimator.forecast(future.assign(flwo=1.0))
    numbered = small(target=3, known_future=[2]).fit(df.set_axis([1, 2, 3], axis=1))
    with raises(
        ValueError,
        "X has columns [7] that fit did not see and lacks the columns [2]: columns "
        "are found by their names. Rename them, or fit on an array, whose columns are "
        "found by position.",
    ):
        numbered.forecast(future.set_axis([7], axis=1))


def test_rows_of_the_past_hold_all_columns(small, df):
    """An update and a score are about what was observed; only the future may leave it out."""
    for y in (None, df["load"]):
        estimator = small(target="load").fit(df[:50], None if y is None else y[:50])
        later = df[50:].drop(columns="load")
        missing = "Feature names seen at fit time, yet now missing:\n- "
        for call, rows, truth, name in (
            (estimator.update, later, None, "load"),
            (estimator.update, later.drop(columns="flow"), df["load"][50:], "flow"),
            (estimator.score, later, None, "load"),
        ):
            with pytest.raises(ValueError, match=f"{missing}{name}"):
                call(rows, truth)
        assert np.isfinite(estimator.score(later, df["load"][50:]))
        assert estimator.update(later, df["load"][50:]).timeline_.end_step == 60


def test_a_known_column_that_is_missing_at_predict_is_refused(small, df):
    """Values known ahead must be there; past-only ones may be missing after the history."""
    estimator = small(target="load", known_future=["price"]).fit(df)
    future = estimator.make_future_frame()
    with raises(
        ValueError,
        "future covariate 'price' has no value at 4 of the steps to forecast, the first "
        "2024-01-03 12:00:00: pass X with a row for each step; make_future_frame() makes such rows "
        "to fill in.",
    ):
        estimator.predict(future)


def test_irregular_rows_off_the_grid_at_predict_are_refused(small, df):
    """No grid with the fitted step holds them all."""
    index = df.index[:3].append(df.index[3:6] + pd.Timedelta(minutes=7))
    with pytest.raises(
        ValueError, match=r"steps of 'h', as .*: 2024-01-01 03:07:00 is between"
    ):
        small().fit(df).predict(df[:6].set_axis(index))


def test_rows_of_a_panel_and_of_one_series_do_not_mix(small, df, panel):
    """Which series is meant cannot be guessed."""
    several = panel()
    with raises(
        ValueError,
        "X does not name the series of its rows, but several were fitted: label the rows by a "
        "MultiIndex (series, time).",
    ):
        small().fit(several).predict(df)
    with raises(
        ValueError,
        "X labels its rows by (series, time), but one series was fitted: pass the rows of one, "
        "X.loc[series].",
    ):
        small().fit(df).predict(several)


def test_a_series_without_a_name_is_refused(small, panel):
    """A missing series name belongs to no series."""
    df = panel().rename(index={"b": np.nan}, level=0)
    with raises(
        ValueError, "X.index holds a missing series name: every row needs its series."
    ):
        small().fit(df)


# --- arguments of another kind than the one that is taken ------------------------------------


@pytest.mark.parametrize(
    "value",
    [24, None, "load.csv", {"load": [1.0]}, pd.date_range("2024-05-01", periods=3)],
)
def test_what_holds_no_rows_is_refused(small, df, value):
    """A number of steps was to be reshaped."""
    model = small(members=["network"]).fit(df)
    for call in (model.fit, model.predict, model.score, model.update, model.forecast):
        if value is not None or call != model.forecast:
            with raises(
                ValueError,
                f"X={value!r:.200} holds no rows. Pass a frame with a row for each time, X=df, or "
                "for the next 24 steps forecast(horizon=24).",
            ):
                call(value)


def test_one_column_known_ahead_needs_no_list(small, df):
    """A name is a name, and so was `target` all along."""
    one, several = (
        small(target="load", known_future=k).fit(df) for k in ("flow", ["flow"])
    )
    assert one.roles_.known == several.roles_.known == ("flow",)
    assert one.get_params()["known_future"] == "flow"
    masks = [
        MaskFuture("load", known_future=known).fit(df) for known in ("flow", ["flow"])
    ]
    assert masks[0].hidden_ == masks[1].hidden_


@pytest.mark.parametrize(
    "name",
    [
        *(
            "seq_len",
            "pred_len",
            "label_len",
            "patch_len",
            "d_model",
            "n_heads",
            "d_ff",
        ),
        *(
            "n_encoder_layers",
            "n_decoder_layers",
            "batch_size",
            "max_iter",
            "max_windows",
        ),
        "n_iter_no_change",
    ],
)
@pytest.mark.parametrize("value", [10**30, 0.5])
def test_a_size_is_a_number_that_a_machine_can_count_to(small, df, name, value):
    """OverflowError, a million layers one by one, or the weights of one window came before."""
    with pytest.raises(
        ValueError, match=f"The '{name}' parameter .* Got {value} instead"
    ):
        small(**{name: value}).fit(df)


def test_names_of_series_have_an_order(small, df):
    """Tables of backtests sort them; numbers of several types are no matter."""
    X = pd.concat({"a": df, 1: df})
    with raises(
        TypeError,
        "X.index names series by labels of several types, which have no order: name all alike, "
        "X = X.rename(index=str, level=0).",
    ):
        small(target="load").fit(X)
    small(target="load").fit(X.rename(index=str, level=0))
    small(target="load").fit(pd.concat({1.5: df, 2: df}))


def test_a_weight_is_a_finite_number(small, df):
    """The training was said to diverge."""
    with raises(ValueError, "sample_weight=nan must be finite: one number per row."):
        small().fit(df, sample_weight=np.nan)


def test_sizes_may_be_those_of_numpy(small, df):
    """A search over np.arange died in torch."""
    sizes = {
        name: np.int64(value)
        for name, value in (("batch_size", 16), ("max_windows", 40))
    }
    forecasts = [
        small(members=["network"], **each).fit(df).forecast() for each in (sizes, {})
    ]
    assert forecasts[0].shape == forecasts[1].shape


def test_a_quantile_that_the_network_alone_learns_needs_the_network(small, df):
    sentence = (
        "members=['ridges'] lacks 'network', the only member that learns this loss: "
        "add it, or choose another loss, 'mse', 'mae' or 'huber'."
    )
    with raises(ValueError, sentence):
        small(loss=0.9, members=["ridges"]).fit(df)


@pytest.mark.parametrize(
    "weight", [{"a": 1}, "a", pd.Timestamp("2024-01-01"), ["a"] * 60], ids=str
)
def test_weights_that_are_no_numbers_are_refused(small, df, weight):
    """In scikit-learn's words."""
    estimator = small().fit(df)
    for call in (estimator.fit, estimator.score):
        with pytest.raises((TypeError, ValueError), match="float"):
            call(df, sample_weight=weight)


@pytest.mark.parametrize(
    "y", ["load", 3, {"load": [1]}, {1, 2}, pd.Timestamp("2024-01-01"), object(), b"y"]
)
def test_a_truth_that_is_no_list_is_refused(small, df, y):
    """Of a dictionary scikit-learn asks for a dimension; a column's name is for the estimator."""
    said = (
        r"^y=.* holds no actual value\. Pass one value per row of X; to forecast a column of X "
        r"pass its "
        r"name as target to the estimator, and X alone to fit\.$"
    )
    estimator = small(target="load").fit(df)
    for call in (small().fit, estimator.score, estimator.update):
        with pytest.raises(TypeError, match=said):
            call(df, y)


@pytest.mark.parametrize(
    "X", [{1, 2}, pd.Timestamp("2024-01-01"), object(), np.float32(2), int]
)
def test_rows_that_are_none_are_refused(small, df, X):
    """Nor can a single value be reshaped to be rows."""
    estimator = small(target="load").fit(df)
    for call in (small().fit, estimator.predict, estimator.forecast, estimator.update):
        with pytest.raises((TypeError, ValueError), match=r"^X=.* holds no rows\. "):
            call(X)


HALVES = ("weight_decay", "learning_rate", "dropout", "validation_fraction", "loss")


@pytest.mark.parametrize("name", HALVES)
def test_numbers_of_numpy_are_numbers(small, df, tmp_path, name):
    """A search over NumPy's numbers passes these; files hold them."""
    half = np.float16(0.5)
    estimator = small(target="load", **{name: half}).fit(df)
    same = small(target="load", **{name: 0.5}).fit(df)
    np.testing.assert_array_equal(estimator.predict(df), same.predict(df))
    estimator.save(tmp_path / "model.skinformer")
    loaded = load(tmp_path / "model.skinformer")
    value = loaded.get_params()[full_name(name)]
    assert value == half
    assert type(value) is type(half)
