"""Rows that are not there: closed hours and days are no steps, others steps without a truth."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import skinformer
from skinformer import InformerRegressor
from skinformer.evaluation import backtest
from skinformer.timeline.clock import OFF_GRID, OpenClock, clock_for
from skinformer.timeline.open_hours import find_closed_dates, find_open_week
from skinformer.timeline.seasons import calendar_seasons

P = {"seq_len": 16, "pred_len": 4, "members": ["ridges"]}

pytestmark = pytest.mark.filterwarnings(
    "ignore:rows are of:UserWarning", "ignore:.*there are no rows for:UserWarning"
)


def rows(times):
    """Make a target that goes by the hour of the day and the day of the week."""
    hours = times.hour + times.day_of_week
    load = 50 + 5 * np.sin(hours / 3) + np.random.default_rng(0).normal(size=len(times))
    return pd.DataFrame({"load": load}, index=times)


def office(weeks=8, tz=None, freq="h"):
    """Make the hours of an office, Monday to Friday, and Saturday morning."""
    times = pd.date_range("2024-02-05", periods=weeks * 7 * 24, freq="h", tz=tz)
    if freq != "h":
        times = pd.date_range(times[0], times[-1], freq=freq)
    weekday = (times.day_of_week < 5) & (times.hour >= 9) & (times.hour < 17)
    saturday = (times.day_of_week == 5) & (times.hour >= 9) & (times.hour < 12)
    return times[weekday | saturday]


def regressor(**params):
    return InformerRegressor("load", **P | params)


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
@pytest.mark.parametrize("freq", ["h", "30min", "15min"])
def test_closed_hours_are_no_steps(tz, freq):
    """Forecasts come for open hours alone, over the change to summer time, too."""
    times = office(9, tz=tz, freq=freq)
    before = times[times < pd.Timestamp("2024-03-30 10:00", tz=tz)]
    with pytest.warns(UserWarning, match=r"^rows are of Mon-Fri 09:00-16:[0-9]+, Sat "):
        model = regressor().fit(rows(before))
    ahead = times[len(before) :]
    assert list(model.forecast(horizon=20).index) == list(ahead[:20])
    assert model.timeline_.weight is None  # nothing is missing
    clock = model.timeline_.clock
    assert isinstance(clock, OpenClock)
    many = np.arange(-3000, 3000)
    np.testing.assert_array_equal(clock.steps(clock.labels(many)), many)
    noon = before[0].normalize() + pd.Timedelta("3h")
    assert clock.steps(pd.DatetimeIndex([noon])) == [OFF_GRID]


def test_few_days_of_a_session_are_enough():
    """Half hours of the same hours every day."""
    half_hours = pd.date_range("2024-01-01", periods=6 * 48, freq="30min")
    session = half_hours[(half_hours.hour >= 9) & (half_hours.hour < 15)]
    with pytest.warns(UserWarning, match=r"^rows are of Mon-Sun 09:00-14:30, '30min' "):
        model = regressor().fit(rows(session))
    assert model.forecast().index[0] == pd.Timestamp("2024-01-07 09:00")


def test_folds_that_are_none_of_time_are_refused():
    """A fold between training rows is no hole in them."""
    df = rows(pd.date_range("2024-01-01", periods=300, freq="h"))
    with pytest.raises(ValueError, match=r"lacks 60 timestamps, the first"):
        regressor().fit(df.drop(df.index[100:160]))


def test_hours_of_equal_days_have_seasons_of_days_and_weeks():
    """Ten steps a day, fifty a week."""
    times = pd.date_range("2024-02-05", periods=8 * 168, freq="h")
    times = times[(times.day_of_week < 5) & (times.hour >= 8) & (times.hour < 18)]
    model = regressor().fit(rows(times))
    assert calendar_seasons(model.timeline_.clock)[:2] == (10, 50)


@pytest.mark.parametrize(
    ("closed", "name"),
    [
        ([6], "Mon, Tue, Wed, Thu, Fri, Sat"),
        ([0, 3], "Tue, Wed"),
        ([2, 5, 6], "Mon, Tue, Thu, Fri"),
        ([1, 3, 5, 6], "Mon, Wed, Fri, and others"),
        ([0, 1, 3, 4, 6], "Wed, Sat, and others"),
    ],
)
def test_closed_days_are_no_steps(closed, name):
    """A shop that is closed on Sundays, or a market of two days of the week."""
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    days = days[~days.day_of_week.isin(closed)]
    with pytest.warns(UserWarning, match=f"^rows are of {name}"):
        model = regressor().fit(rows(days[:-4]))
    assert list(model.forecast().index) == list(days[-4:])


def test_weeks_without_a_row_are_no_other_step():
    """A course of three evenings a week, and its holidays."""
    days = pd.date_range("2024-01-01", periods=300, freq="D")
    evenings = days[days.day_of_week.isin([0, 2, 4])]
    kept = evenings[(evenings < "2024-07-01") | (evenings > "2024-07-16")]
    with pytest.warns(UserWarning, match=r"^rows are of Mon, Wed, Fri"):
        model = regressor().fit(rows(kept[:-4]))
    assert list(model.forecast().index) == list(kept[-4:])


def test_days_of_rare_rows_are_no_step():
    """Some of the days of the month, all of which are Mondays or Thursdays."""
    days = pd.date_range("2024-01-01", periods=400, freq="D")
    kept = days[days.day_of_week.isin([0, 3])][[*range(0, 100, 5), *range(3, 100, 5)]]
    with pytest.raises(ValueError, match=r"irregular steps"):
        regressor().fit(rows(kept.sort_values()))


def test_holidays_without_rows_are_steps_without_a_truth():
    """Business days go on behind them, and the fit is that of rows which were added by hand."""
    days = pd.date_range("2024-01-01", periods=120, freq="B")
    df = rows(days)
    closed = days[[20, 64, 65, 90]]
    with pytest.warns(
        UserWarning,
        match=r"^there are no rows for 4 time steps .frequency 'B'., the first 20",
    ):
        model = regressor().fit(df.drop(closed))
    by_hand = regressor().fit(df.drop(closed).asfreq("B"))
    pd.testing.assert_frame_equal(model.forecast(), by_hand.forecast())
    np.testing.assert_array_equal(model.predict(df), by_hand.predict(df))


def test_covariates_keep_their_last_values_where_rows_are_missing():
    """What was known then."""
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    df = rows(hours).assign(temp=np.arange(200) % 9, price=np.arange(200) % 5)
    kept = df.drop(hours[[30, 31, 77]])
    model = regressor(known_future=["price"]).fit(kept)
    by_hand = kept.asfreq("h")
    by_hand[["temp", "price"]] = by_hand[["temp", "price"]].ffill()
    other = regressor(known_future=["price"]).fit(by_hand)
    np.testing.assert_array_equal(model.timeline_.values, other.timeline_.values)
    weights = model.timeline_.weight[:, 0]
    assert list(np.flatnonzero(weights == 0)) == [30, 31, 77]


@pytest.mark.parametrize("freq", ["MS", "W", "D", "15min"])
def test_steps_that_are_skipped_have_no_truth(freq):
    """Of any length, and as periods."""
    times = pd.date_range("2014-01-01", periods=200, freq=freq)
    kept = rows(times).drop(times[[40, 90, 91]])
    model = regressor().fit(kept)
    by_hand = regressor().fit(kept.asfreq(freq))
    pd.testing.assert_frame_equal(
        model.forecast(), by_hand.forecast(), check_freq=False
    )


@pytest.mark.parametrize(
    ("freq", "end"),
    [
        (None, "count as missing. If the frequency is another one, pass it as freq."),
        ("D", "count as missing."),
    ],
)
def test_whoever_named_the_step_is_not_told_to_name_it(freq, end):
    """Advice to do what one has done makes one doubt that it was read."""
    days = pd.date_range("2024-01-01", periods=120, freq="D").delete([50, 51])
    with pytest.warns(
        UserWarning, match="^there are no rows for 2 time steps .frequency 'D'."
    ) as told:
        regressor(freq=freq).fit(rows(days))
    assert str(told[0].message).endswith(end)


def test_a_panel_is_closed_when_all_are():
    """A row that one series lacks is missing."""
    times = office()
    frames = {"a": rows(times), "b": rows(times[30:]).drop(times[[50, 51]])}
    panel = pd.concat(frames, names=["shop", "hour"])
    with pytest.warns(
        UserWarning,
        match="; there are no rows for 2 time steps .frequency 'h'., the first .*",
    ):
        model = regressor().fit(panel)
    ahead = model.forecast().loc["b"].index
    assert list(ahead) == list(office(9)[len(times) : len(times) + 4])


def test_freq_overrules_what_was_found():
    """All hours are steps then."""
    df = rows(office())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = regressor(freq="h").fit(df)
        by_hand = regressor().fit(df.asfreq("h"))
    pd.testing.assert_frame_equal(
        model.forecast(), by_hand.forecast(), check_freq=False
    )


@pytest.mark.parametrize("share", [0.05, 0.12])
def test_a_sensor_that_skips_has_no_opening_hours(share):
    """Hours that were never seen by chance are steps all the same."""
    hours = pd.date_range("2024-01-01", periods=21 * 24, freq="h")
    kept = hours[np.random.default_rng(1).random(len(hours)) > share]
    model = regressor().fit(rows(kept))
    assert model.timeline_.clock.labels(np.arange(2))[1] - kept[0] == pd.Timedelta("1h")
    assert not isinstance(model.timeline_.clock, OpenClock)


def test_a_long_hole_is_no_closure():
    """Ten days without rows, in seventeen."""
    hours = pd.date_range("2024-01-01", periods=20 * 24, freq="h")
    kept = hours[(hours.day < 4) | (hours.day > 13)]
    assert find_open_week(kept, pd.offsets.Hour()) is None


def test_a_closed_month_hides_no_opening_hours():
    """It says nothing of the hours of other weeks."""
    times = office(8)
    weeks = (times - times[0]).days // 7
    kept = times[(weeks < 3) | (weeks > 5)]
    whole = find_open_week(times, pd.offsets.Hour())
    assert find_open_week(kept, pd.offsets.Hour()) == whole


def test_drawn_rows_and_wrong_numbers_are_refused():
    """Gaps after every few rows are those of a sample."""
    df = rows(pd.date_range("2024-01-01", periods=300, freq="h"))
    with pytest.raises(ValueError, match=r"lacks [0-9]+ timestamps, the first"):
        regressor().fit(df.sample(frac=0.7, random_state=0).sort_index())
    numbered = df.reset_index(drop=True).drop(index=[20])
    with pytest.raises(ValueError, match="lacks 1 timestamp, the first 20"):
        regressor().fit(numbered)


def test_rows_at_closed_hours_are_refused_later():
    """The message says which hours are open, and what to do."""
    model = regressor().fit(rows(office()))
    night = pd.DataFrame({"load": 1.0}, pd.DatetimeIndex(["2024-04-02 03:00"]))
    message = "1 row at closed hours or days, the first 2024-04-02 03:00:00: the rows"
    with pytest.raises(ValueError, match=message):
        model.predict(night)


def test_an_update_may_skip_what_the_fit_did():
    """A holiday between is a step without a truth."""
    times = office(9)
    df = rows(times)
    model = regressor().fit(df[:-60])
    day_off = times[-40].normalize()
    later = df[-60:]
    later = later[later.index.normalize() != day_off]
    model.update(later)
    assert model.forecast().index[0] > times[-1]
    assert int(model.timeline_.end_step[0]) == len(times)
    whole = regressor().fit(rows(pd.date_range("2024-01-01", periods=90, freq="h")))
    with pytest.raises(ValueError, match="must follow the history directly"):
        whole.update(rows(pd.date_range("2024-01-04 20:00", periods=9, freq="h")))


def test_files_pickles_and_backtests_go_along(tmp_path):
    """The open week is a part of the clock."""
    times = office(9)
    df = rows(times)
    model = regressor().fit(df[:-60])
    model.save(tmp_path / "model")
    for again in (
        skinformer.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
    ):
        pd.testing.assert_frame_equal(again.forecast(), model.forecast())
    table = backtest(model, df[-60:])
    assert list(table["time"]) == list(times[-60:])
    assert (table["ahead"] == 1).sum() == 15


def test_opening_hours_are_forecast_better_than_rows_added_by_hand():
    """Ridges see two weeks of open hours in place of nights without a truth."""
    times = office(20)
    df = rows(times)
    train, test = df[:-43], df[-43:]
    sizes = {"seq_len": 86, "pred_len": 43}
    model = regressor(**sizes).fit(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_hand = regressor(seq_len=336, pred_len=168).fit(train.asfreq("h"))
    errors = [
        (each.forecast()["load"].reindex(test.index) - test["load"]).abs().mean()
        for each in (model, by_hand)
    ]
    assert errors[0] <= errors[1]


@pytest.mark.filterwarnings("ignore:future covariates .* have no values:UserWarning")
def test_rows_to_come_say_which_days_are_open():
    """A holiday ahead has no row, so that nothing is known of it, nor forecast."""
    times = office(9)
    df = rows(times).assign(price=np.arange(len(times)) % 5)
    day_off = times[-40].normalize()
    model = regressor(known_future=["price"]).fit(df[:-60])
    ahead = df[-60:].drop(columns="load")
    model._may_skip_ = False
    with pytest.raises(ValueError, match="'price' has no value"):
        model.forecast(ahead[ahead.index.normalize() != day_off])
    model._may_skip_ = True
    open_days = ahead[ahead.index.normalize() != day_off]
    forecast = model.forecast(open_days)
    assert list(forecast.index) == list(open_days.index)
    np.testing.assert_array_equal(forecast["load"], model.predict(open_days))


def test_names_stay_names_where_rows_are_missing():
    """A column of text beside a holiday, and holes of its own."""
    times = office(9)
    sky = np.array(["sun", "rain"], dtype=object)[np.arange(len(times)) % 2]
    df = rows(times).assign(sky=sky)
    df = df[df.index.normalize() != times[-80].normalize()]
    model = regressor().fit(df[["sky", "load"]])
    assert np.isfinite(model.forecast()["load"]).all()


def test_a_graph_of_opening_hours_is_refused():
    """Whoever serves it would count closed hours."""
    model = regressor().fit(rows(office()))
    with pytest.raises(
        ValueError, match=r"opening hours cannot be exported: .*freq='h'"
    ):
        model.export_program()


def holidays(days):
    """Find fixed holidays, and one that moves."""
    fixed = [(1, 1), (5, 1), (12, 25), (12, 26)]
    moving = pd.to_datetime(["2018-04-02", "2019-04-22", "2022-04-18", "2023-04-10"])
    is_fixed = np.isin(days.month * 100 + days.day, [100 * m + d for m, d in fixed])
    return is_fixed | days.isin(moving)


@pytest.mark.parametrize("freq", ["B", "D"])
def test_dates_that_are_closed_every_year_have_no_forecast(freq):
    """Others stay open, for nobody knows."""
    days = pd.date_range("2017-12-11", "2024-12-20", freq=freq)
    model = regressor().fit(rows(days[~holidays(days)]))
    ahead = pd.date_range("2024-12-21", "2025-01-10", freq=freq)
    expected = ahead[~holidays(ahead)][:10]
    forecast = model.forecast(horizon=10)
    assert list(forecast.index) == list(expected)
    future = model.make_future_frame(10)
    np.testing.assert_array_equal(model.predict(future), forecast["load"])
    # Rows that are given are forecast, whatever their date.
    christmas = pd.DataFrame({"load": np.nan}, ahead[:5])
    assert list(model.forecast(christmas).index) == list(ahead[:5])


def test_dates_that_are_skipped_by_chance_are_open():
    """Some are missing in both of two years."""
    days = pd.date_range("2021-01-01", periods=730)
    kept = days[np.random.default_rng(3).random(730) > 0.1]
    twice = pd.Index(days.difference(kept).strftime("%m-%d")).value_counts() == 2
    assert twice.any()
    clock = clock_for(kept, pd.offsets.Day())
    assert find_closed_dates(clock, clock.steps(kept)) == ()


def test_hours_that_are_skipped_by_chance_are_open():
    """Two weeks in which each second hour is missing never saw a third of the week."""
    hours = pd.date_range("2024-01-01", periods=2 * 168, freq="h")
    kept = hours[np.random.default_rng(3).random(2 * 168) > 0.5]
    seen = set(zip(kept.day_of_week, kept.hour, strict=True))
    assert len(seen) < 0.8 * 168
    assert find_open_week(kept, pd.offsets.Hour()) is None
