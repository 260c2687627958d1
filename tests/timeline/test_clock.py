import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinformer.compatibility.dates import WALL_TIME_ERRORS
from skinformer.timeline.clock import (
    OFF_GRID,
    ElapsedClock,
    IntegerClock,
    PeriodClock,
    RowClock,
    WallClock,
    clock_for,
    infer_step,
    is_dated,
    join_series,
    timestamps,
    wall_times,
)

ELAPSED = {"h": 400, "2h": 200, "12h": 80, "15min": 1600, "7min": 2500, "30s": 500}
WALL = {
    "D": 40,
    "2D": 40,
    "B": 40,
    "W-TUE": 60,
    "2W": 40,
    "MS": 40,
    "2MS": 20,
    "ME": 40,
    "BME": 40,
    "QS": 30,
    "QE-FEB": 30,
    "YS": 12,
    "bh": 60,
}
#: A few days before each change of daylight saving, and one zone without any.
STARTS = [
    (None, "2024-02-25"),
    ("UTC", "2024-02-25"),
    ("Europe/Berlin", "2024-03-25"),
    ("Europe/Berlin", "2024-10-21"),
    ("Pacific/Auckland", "2024-04-01"),
    ("Pacific/Auckland", "2024-09-23"),
    ("America/Sao_Paulo", "2018-10-30"),
    ("America/Sao_Paulo", "2018-02-12"),
]


def dates(start, n, freq, tz, **options):
    """Pandas' own dates; it refuses wall times that do not exist, which are moved here."""
    try:
        return pd.date_range(start, periods=n, freq=freq, tz=tz, **options)
    except WALL_TIME_ERRORS:
        wall = pd.date_range(start, periods=n, freq=freq, **options)
        return wall.tz_localize(
            tz, nonexistent="shift_forward", ambiguous=np.ones(n, dtype=bool)
        )


def clock_of(index, freq=None):
    return clock_for(index, infer_step(index, freq))


def assert_same(labels, expected):
    """Values, unit, time zone, name; the freq, which pandas may or may not know, has its test."""
    assert labels.tolist() == expected.tolist()
    assert labels.dtype == expected.dtype
    assert labels.name == expected.name


def assert_counts(clock, index, n_train):
    """Labels ↔ steps over all rows, the first n_train of which made the clock."""
    n = len(index)
    np.testing.assert_array_equal(clock.steps(index), np.arange(n))
    np.testing.assert_array_equal(clock.steps(index[::-1]), np.arange(n)[::-1])
    assert_same(clock.labels(np.arange(n_train, n)), index[n_train:])
    shuffled = np.random.default_rng(0).permutation(n)
    assert_same(clock.labels(shuffled), index[shuffled])


# --- steps and labels ------------------------------------------------------------------------


@pytest.mark.parametrize(("tz", "start"), STARTS)
@pytest.mark.parametrize("freq", [*ELAPSED, *WALL])
def test_future_labels_are_those_of_pandas_across_daylight_saving(freq, tz, start):
    """A forecast stamped an hour or a month off is worth nothing, however good its value."""
    n = (ELAPSED | WALL)[freq]
    index = dates(start, n, freq, tz, name="when")
    known = index[: n // 2]
    assert_counts(
        clock_for(known, pd.tseries.frequencies.to_offset(freq)), index, n // 2
    )


@pytest.mark.parametrize(("tz", "start"), STARTS[:-2])
@pytest.mark.parametrize("freq", [*ELAPSED, *WALL])
def test_the_step_is_found_without_being_named(freq, tz, start):
    """Frames read from a file have lost their freq."""
    n = (ELAPSED | WALL)[freq]
    index = pd.DatetimeIndex(dates(start, n, freq, tz), freq=None)
    assert_counts(clock_of(index[: n // 2]), index, n // 2)


@pytest.mark.parametrize(("tz", "start"), STARTS)
@pytest.mark.parametrize("freq", ["h", "D", "W-TUE", "MS", "QE-FEB"])
def test_consecutive_labels_carry_the_frequency(freq, tz, start):
    """So that the forecast frame can be shifted and resampled like the training frame."""
    index = dates(start, 12, freq, tz, name="when")
    labels = clock_for(index, pd.tseries.frequencies.to_offset(freq)).labels(
        np.arange(20, 30)
    )
    assert labels.freq == pd.tseries.frequencies.to_offset(freq)
    assert labels.name == "when"
    assert labels.dtype == index.dtype


def test_labels_that_are_not_consecutive_carry_no_frequency():
    """A freq that does not hold would break every resampling after it."""
    for freq in ("h", "D"):
        clock = clock_of(pd.date_range("2024-01-01", periods=9, freq=freq, name="when"))
        labels = clock.labels(np.array([5, 3, 3]))
        assert labels.freq is None
        assert labels.name == "when"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
@pytest.mark.parametrize("freq", ["30s", "h", "D", "B", "ME"])
def test_the_unit_of_the_dates_is_kept(freq, tz, unit):
    """A frame of forecasts in another unit does not join the frame of the truth."""
    index = pd.date_range("2024-03-28", periods=9, freq=freq, tz=tz, unit=unit)
    clock = clock_of(index)
    for steps in ([3, 4], [7, 2], [5], [-3, -2], []):
        labels = clock.labels(np.array(steps, dtype=np.int64))
        assert labels.dtype == index.dtype
        np.testing.assert_array_equal(clock.steps(labels), steps)
    assert clock.starting_at(index.min()).labels(np.arange(2)).dtype == index.dtype


@pytest.mark.parametrize("freq", ["h", "D", "B", "MS", "QE-FEB"])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_labels_in_another_unit_give_the_same_steps(freq, unit):
    """Microseconds at fit and nanoseconds from a file at predict are the same instants."""
    index = pd.date_range("2024-01-31", periods=9, freq=freq)
    np.testing.assert_array_equal(
        clock_of(index).steps(index.as_unit(unit)), np.arange(9)
    )


@pytest.mark.parametrize("own", ["Europe/Berlin", "Pacific/Honolulu"])
@pytest.mark.parametrize("other", ["UTC", "Pacific/Auckland", "Pacific/Kiritimati"])
@pytest.mark.parametrize("freq", ["h", "D", "B", "MS"])
def test_labels_in_another_zone_give_the_same_steps(freq, own, other):
    """The instant counts, not the zone it is written in, even 24 hours to the east."""
    clock = clock_of(pd.date_range("2024-01-01", periods=30, freq=freq, tz=own))
    steps = np.arange(-5, 40)
    np.testing.assert_array_equal(
        clock.steps(clock.labels(steps).tz_convert(other)), steps
    )


@settings(max_examples=60, deadline=None)
@given(
    freq=st.sampled_from(
        ["h", "30s", "D", "2D", "B", "W-TUE", "MS", "ME", "QE-FEB", "BME"]
    ),
    tz=st.sampled_from([None, "Europe/Berlin", "Pacific/Auckland"]),
    steps=st.lists(st.integers(-500, 500), max_size=12),
)
def test_steps_undo_labels(freq, tz, steps):
    """One map and its inverse: else a stored row and a row of X that are one count as two."""
    clock = clock_for(
        pd.date_range("2024-03-01", periods=4, freq=freq, tz=tz),
        pd.tseries.frequencies.to_offset(freq),
    )
    steps = np.array(steps, dtype=np.int64)
    labels = clock.labels(steps)
    assert len(labels) == len(steps)
    np.testing.assert_array_equal(clock.steps(labels), steps)


@settings(max_examples=40, deadline=None)
@given(
    freq=st.sampled_from(["h", "D", "B", "W-TUE", "MS", "QE-FEB"]),
    shift=st.integers(1, 59),
    steps=st.lists(st.integers(-50, 50), min_size=1, max_size=12),
)
def test_labels_between_two_steps_are_off_the_grid(freq, shift, steps):
    """A row at half past must not silently become the row of the full hour."""
    clock = clock_of(pd.date_range("2024-03-01", periods=9, freq=freq))
    labels = clock.labels(np.array(steps)) + pd.Timedelta(minutes=shift)
    assert (clock.steps(labels) == OFF_GRID).all()


def test_off_grid_labels_leave_their_neighbours_alone():
    """One stray row says nothing about the others."""
    months = clock_of(pd.date_range("2024-01-01", periods=9, freq="MS"))
    index = pd.DatetimeIndex(
        ["2024-02-01", "2024-02-15", "2023-12-01", "2024-02-01 01:00"]
    )
    np.testing.assert_array_equal(months.steps(index), [1, OFF_GRID, -1, OFF_GRID])
    days = clock_of(pd.date_range("2024-01-01", periods=9, freq="B"))
    index = pd.DatetimeIndex(["2024-01-06", "2024-01-08", "2023-12-31", "2023-12-29"])
    np.testing.assert_array_equal(days.steps(index), [OFF_GRID, 5, OFF_GRID, -1])


# --- daylight saving, where the wall clock skips or repeats -----------------------------------


def skipped_midnight(start, n):
    wall = pd.date_range(start, periods=n, freq="D")
    return wall.tz_localize("America/Sao_Paulo", nonexistent="shift_forward")


def test_days_pass_a_skipped_midnight():
    """On 4 November 2018 São Paulo had no midnight: that day begins at one."""
    index = skipped_midnight("2018-10-30", 20)
    labels = clock_for(index[:3], pd.offsets.Day()).labels(np.arange(20))
    assert str(labels[5]) == "2018-11-04 01:00:00-02:00"
    assert str(labels[6]) == "2018-11-05 00:00:00-02:00"
    assert_same(labels, index)


def test_days_may_begin_on_a_skipped_midnight():
    """Training rows that begin that day must not put every other day off the grid."""
    index = skipped_midnight("2018-11-04", 20)
    clock = clock_for(index, pd.offsets.Day())
    np.testing.assert_array_equal(clock.steps(index), np.arange(20))
    assert_same(clock.labels(np.arange(20)), index)


def test_days_are_found_across_a_skipped_midnight():
    """Transformers take no freq: what cannot be inferred cannot be used at all."""
    assert infer_step(skipped_midnight("2018-10-30", 60), None) == pd.offsets.Day()


def test_a_repeated_wall_time_means_the_first():
    """Daily at half past two: the night of 27 October 2024 has it twice in Berlin."""
    wall = pd.date_range("2024-10-20 02:30", periods=14, freq="D")
    index = wall.tz_localize("Europe/Berlin", ambiguous=np.ones(14, dtype=bool))
    labels = clock_for(index[:3], pd.offsets.Day()).labels(np.arange(14))
    assert str(labels[7]) == "2024-10-27 02:30:00+02:00"
    assert_same(labels, index)


def test_both_of_the_repeated_hours_are_steps():
    """An hour is elapsed time: in autumn the wall shows two o'clock twice, one step apart."""
    index = pd.date_range("2024-10-27", periods=26, freq="h", tz="Europe/Berlin")
    assert (index.hour == 2).sum() == 2
    np.testing.assert_array_equal(clock_of(index[:2], "h").steps(index), np.arange(26))


def test_twelve_hours_are_elapsed_and_a_day_is_a_calendar_day():
    """After the change of March 2h-steps lie on odd hours; days stay at midnight."""
    index = pd.date_range("2024-03-30", periods=3, freq="12h", tz="Europe/Berlin")
    assert list(clock_of(index).labels(np.arange(2, 5)).hour) == [0, 13, 1]
    index = pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin")
    assert set(clock_of(index).labels(np.arange(2, 200)).hour) == {0}


def test_the_wall_is_an_hour_ahead_from_the_change_on():
    """On 30 March 2025 two o'clock did not exist in Paris."""
    index = pd.date_range("2025-03-29", periods=72, freq="h", tz="Europe/Paris")
    walls = clock_of(index).wall_steps(np.arange(72))
    np.testing.assert_array_equal(walls, np.arange(72) + (np.arange(72) >= 26))
    np.testing.assert_array_equal(walls % 24, index.hour)
    assert walls.dtype == np.int64


def test_the_wall_shows_an_hour_twice_in_autumn():
    index = pd.date_range("2025-10-25", periods=72, freq="h", tz="Europe/Paris")
    walls = clock_of(index).wall_steps(np.arange(72))
    np.testing.assert_array_equal(walls, np.arange(72) - (np.arange(72) >= 27))


def test_the_wall_is_told_of_any_steps():
    """In any order and shape, also those before the origin."""
    clock = clock_of(
        pd.date_range("2025-03-31", periods=9, freq="h", tz="Europe/Paris")
    )
    steps = np.array([[5, -21], [-22, 0]])
    assert clock.wall_steps(steps).tolist() == [[5, -21], [-23, 0]]
    assert clock.wall_steps(np.empty((0, 4), dtype=int)).shape == (0, 4)


def test_quarters_of_an_hour_are_four_steps_ahead():
    index = pd.date_range("2025-03-30", periods=24, freq="15min", tz="Europe/Paris")
    walls = clock_of(index).wall_steps(np.arange(24))
    np.testing.assert_array_equal(walls, np.arange(24) + 4 * (np.arange(24) >= 8))


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2025-03-29", periods=72, freq="h"),
        pd.date_range("2025-03-29", periods=72, freq="h", tz="UTC"),
        pd.date_range("2025-03-01", periods=72, freq="D", tz="Europe/Paris"),
        pd.date_range("2025-01-01", periods=72, freq="MS", tz="Europe/Paris"),
        pd.period_range("2025-03-29", periods=72, freq="h"),
        pd.RangeIndex(72),
    ],
)
def test_what_no_change_moves_is_the_same_on_the_wall(index):
    np.testing.assert_array_equal(
        clock_of(index).wall_steps(np.arange(72)), np.arange(72)
    )


# --- periods, integers, rows ------------------------------------------------------------------


@pytest.mark.parametrize("freq", ["M", "2M", "D", "h", "W", "Q-FEB", "Y"])
def test_periods_count_as_pandas_counts_them(freq):
    """Monthly figures come as periods; the future ones must join them."""
    index = pd.period_range("2023-11", periods=30, freq=freq, name="month")
    clock = clock_of(index[:10])
    assert isinstance(clock, PeriodClock)
    assert_counts(clock, index, 10)
    assert clock.labels(np.arange(3)).freq == index.freq
    np.testing.assert_array_equal(
        clock.steps(clock.labels(np.array([-7, 40]))), [-7, 40]
    )


def test_a_period_between_two_steps_is_off_the_grid():
    """Every second month: the one between belongs to no step."""
    index = pd.period_range("2024-01", periods=6, freq="2M")
    between = pd.period_range("2024-02", periods=2, freq="2M")
    assert (clock_of(index).steps(between) == OFF_GRID).all()


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("start", [0, -7, 10**12])
def test_integers_count_by_their_step(start, step):
    """Row numbers may begin anywhere and go in fives."""
    index = pd.RangeIndex(start, start + 20 * step, step, name="row")
    clock = clock_of(index[:10])
    assert isinstance(clock, IntegerClock)
    assert_counts(clock, pd.Index(index.to_numpy(), name="row"), 10)
    if step > 1:
        assert (clock.steps(index + 1) == OFF_GRID).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "Int64"])
def test_integers_of_any_type_give_whole_steps(dtype):
    """Steps index arrays: a float step is an IndexError far from its cause."""
    index = pd.Index([5, 7, 9], dtype=dtype)
    clock = clock_of(index)
    assert clock.steps(index).dtype == np.int64
    np.testing.assert_array_equal(clock.steps(index), [0, 1, 2])
    np.testing.assert_array_equal(clock.labels(np.array([-2, 200])), [1, 405])


def test_rows_without_an_index_are_their_numbers():
    """A plain array has no clock but its order."""
    clock = RowClock()
    assert_counts(clock, pd.Index(np.arange(9)), 4)
    assert not clock.dated


def test_only_dates_and_periods_have_a_calendar():
    """The calendar embedding is built where there is one."""
    assert not clock_of(pd.RangeIndex(9)).dated
    assert clock_of(pd.date_range("2024", periods=9, freq="h")).dated
    assert clock_of(pd.date_range("2024", periods=9, freq="D")).dated
    assert clock_of(pd.period_range("2024", periods=9, freq="D")).dated


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (pd.date_range("2024", periods=9, freq="h"), ElapsedClock),
        (pd.date_range("2024", periods=9, freq="D"), WallClock),
        (pd.date_range("2024", periods=9, freq="MS"), WallClock),
        (pd.period_range("2024", periods=9, freq="h"), PeriodClock),
        (pd.RangeIndex(9), IntegerClock),
    ],
)
def test_a_clock_counts_from_any_of_its_labels(index, kind):
    """A panel counts from its earliest row, whichever series that row is in."""
    clock = clock_of(index)
    moved = clock.starting_at(index[4])
    assert isinstance(moved, kind)
    np.testing.assert_array_equal(moved.steps(index), np.arange(9) - 4)
    np.testing.assert_array_equal(clock.steps(index), np.arange(9))
    assert moved.freq == clock.freq
    assert moved.step_name == clock.step_name


@pytest.mark.parametrize(
    ("freq", "name"),
    [("h", "h"), ("15min", "15min"), ("MS", "MS"), ("W-TUE", "W-TUE"), ("B", "B")],
)
def test_the_step_is_named_as_pandas_writes_it(freq, name):
    """Messages say X.asfreq(name): it must be something pandas reads."""
    clock = clock_of(pd.date_range("2024", periods=9, freq=freq))
    assert clock.step_name == name
    assert pd.tseries.frequencies.to_offset(clock.step_name) == clock.freq


def test_an_integer_step_is_named_by_its_number():
    """There is no offset to name."""
    assert clock_of(pd.RangeIndex(0, 20, 5)).step_name == "5"


def test_a_clock_cannot_be_changed():
    """It is shared by the timeline, its tables and its copies."""
    with pytest.raises(AttributeError):
        clock_of(pd.RangeIndex(9)).origin = 3


# --- inference --------------------------------------------------------------------------------


@pytest.mark.parametrize("tz", [None, "Europe/Berlin", "Pacific/Auckland"])
@pytest.mark.parametrize(
    ("freq", "n"),
    [("h", 2000), ("15min", 6000), ("30s", 900), ("D", 400), ("2D", 200), ("B", 300)],
)
def test_the_step_is_found_where_rows_are_missing(freq, n, tz):
    """Pandas infers nothing from an index with one gap, and real ones have many."""
    full = pd.date_range("2024-01-01", periods=n, freq=freq, tz=tz)
    gone = np.random.default_rng(0).choice(
        np.arange(1, n - 1), size=n // 20, replace=False
    )
    kept = np.delete(np.arange(n), gone)
    clock = clock_of(full[kept])
    assert clock.freq == pd.tseries.frequencies.to_offset(freq)
    np.testing.assert_array_equal(clock.steps(full[kept]), kept)


def test_weeks_and_integers_are_found_where_rows_are_missing():
    """The commonest gap that divides all others is the step."""
    full = pd.date_range("2024-01-02", periods=60, freq="W-TUE", tz="Europe/Berlin")
    kept = np.delete(np.arange(60), [3, 4, 30])
    np.testing.assert_array_equal(clock_of(full[kept]).steps(full[kept]), kept)
    assert infer_step(pd.Index([0, 5, 10, 25, 30]), None) == 5


@pytest.mark.parametrize(
    "index",
    [
        pd.DatetimeIndex(["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:07"]),
        pd.DatetimeIndex(["2024-01-01", "2024-02-03", "2024-02-05"]),
        pd.date_range("2024-01-29", periods=40, freq=pd.DateOffset(months=1)).delete(7),
        pd.Index([0, 2, 4, 7]),
    ],
)
def test_irregular_labels_have_no_step(index):
    """A guessed step would invent rows; the caller is told to name it."""
    assert infer_step(index, None) is None


def test_the_step_is_found_without_an_option_of_pandas(monkeypatch):
    """Pandas 3.0 does not know the option, and options are of the whole process, as threads are."""

    def refuse(*args, **kwargs):
        raise AssertionError("an option of the process was touched")

    for name in ("option_context", "set_option", "infer_freq"):
        monkeypatch.setattr(pd, name, refuse)
    for freq in ("h", "D", "W-TUE", "MS", "BME"):
        index = pd.DatetimeIndex(
            pd.date_range("2024-01-02", periods=30, freq=freq), freq=None
        )
        assert infer_step(index, None) == pd.tseries.frequencies.to_offset(freq)


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
@pytest.mark.parametrize("gap", [[], [3, 20]], ids=["whole", "gaps"])
@pytest.mark.parametrize(
    ("start", "step"),
    [
        ("2024-01-15", pd.DateOffset(months=1)),
        ("2024-01-28 06:00", pd.DateOffset(months=2)),
        ("2024-01-01", pd.offsets.MonthBegin()),
        ("2024-01-31", pd.offsets.MonthEnd()),
    ],
)
def test_a_place_in_the_month_is_a_step(start, step, gap, tz):
    """Meters are read on the 15th; pandas infers no step from that, nor from months with gaps."""
    full = pd.date_range(start, periods=40, freq=step, tz=tz)
    kept = np.delete(np.arange(40), gap)
    clock = clock_of(pd.DatetimeIndex(full[kept], freq=None))
    assert clock.freq == step
    np.testing.assert_array_equal(clock.steps(full[kept]), kept)
    assert list(clock.labels(np.arange(40))) == list(full)


@pytest.mark.parametrize("freq", ["MS", "ME", "QE-FEB", "h"])
def test_a_step_that_is_named_holds(freq):
    """Whatever could have been inferred."""
    full = pd.date_range("2024-01-01", periods=40, freq=freq)
    kept = np.delete(np.arange(40), [7, 8])
    np.testing.assert_array_equal(clock_of(full[kept], freq).steps(full[kept]), kept)


def test_a_step_may_be_named_in_any_way_pandas_knows():
    """Strings, offsets and Timedeltas all say an hour."""
    index = pd.DatetimeIndex(
        ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 05:00"]
    )
    for freq in ("h", pd.offsets.Hour(), pd.Timedelta(hours=1), "60min"):
        np.testing.assert_array_equal(clock_of(index, freq).steps(index), [0, 1, 5])
    assert infer_step(pd.Index([0, 6]), 3) == 3


@pytest.mark.parametrize("freq", ["h", "D", "W-TUE", "MS", "7min"])
def test_two_rows_have_a_step(freq):
    """Their distance, where pandas wants three rows; one row is taken for a day or a number."""
    index = pd.DatetimeIndex(
        pd.date_range("2024-01-02", periods=2, freq=freq), freq=None
    )
    np.testing.assert_array_equal(clock_of(index).steps(index), [0, 1])
    assert infer_step(index[:1], None) == pd.offsets.Day()
    assert infer_step(pd.Index([7]), None) == 1


def test_week_days_are_business_days_only_once_a_weekend_is_seen():
    """Five rows from Monday to Friday are days; two weeks without a weekend are not."""
    assert infer_step(
        pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=5), freq=None), None
    ) == (pd.offsets.Day())
    assert infer_step(
        pd.DatetimeIndex(pd.bdate_range("2024-01-01", periods=12), freq=None), None
    ) == (pd.offsets.BDay())


def test_dates_and_periods_are_dated():
    """Everything else has no calendar."""
    assert is_dated(pd.DatetimeIndex([]))
    assert is_dated(pd.PeriodIndex([], freq="D"))
    assert not is_dated(pd.RangeIndex(3))
    assert not is_dated(None)


def test_periods_are_drawn_and_read_at_their_start():
    """A month is labelled by its first day; dates keep their zone only as timestamps."""
    months = pd.period_range("2024-01", periods=3, freq="M")
    starts = pd.date_range("2024-01", periods=3, freq="MS")
    pd.testing.assert_index_equal(timestamps(months), starts)
    pd.testing.assert_index_equal(wall_times(months), starts, exact="equiv")
    aware = pd.date_range("2024-10-27", periods=5, freq="h", tz="Europe/Berlin")
    assert timestamps(aware) is aware
    assert wall_times(aware).tolist() == aware.tz_localize(None).tolist()
    numbers = pd.RangeIndex(3)
    assert timestamps(numbers) is numbers


def test_series_and_time_are_joined_with_their_names():
    """A forecast of a panel is labelled as the panel was."""
    panel = pd.MultiIndex.from_product(
        [["b", "a"], pd.date_range("2024", periods=2)], names=["site", "day"]
    )
    names, days = pd.Index(["b", "a"], name="site"), panel.get_level_values(1)
    joined = join_series(names, np.array([0, 0, 1, 1]), days)
    pd.testing.assert_index_equal(joined, panel)
    assert join_series(None, np.zeros(4, dtype=int), days) is days


@pytest.mark.parametrize(
    ("start", "freq"),
    [
        ("2024-01-31 17:00", "bh"),
        ("2024-01-31 09:00", "2bh"),
        ("2024-01-31 13:00", "bh"),
    ],
)
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_business_hours_may_begin_at_closing_time(start, freq, tz):
    """Which no number of business hours leads back to."""
    index = pd.date_range(start, periods=60, freq=freq, tz=tz)
    clock = clock_for(index, index.freq)
    np.testing.assert_array_equal(clock.steps(index), np.arange(60))
    steps = np.arange(-20, 40)
    labels = clock.labels(steps)
    np.testing.assert_array_equal(clock.steps(labels), steps)
    assert labels[20] == index[0]
