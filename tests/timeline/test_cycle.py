"""Each step has its place in the week or the year, by the clock on the wall."""

import numpy as np
import pandas as pd
import pytest

from skinformer.timeline.calendar import (
    FIELDS,
    calendar_at,
    calendar_values,
    choose_fields,
)
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.cycle import find_cycle, number_cells

ZONES = [None, "Europe/Berlin", "Pacific/Auckland", "Asia/Kolkata"]


def cells_of(index, fields):
    """Give the cycle and each label's cell."""
    values = calendar_values(index, fields)
    cells = find_cycle(fields, values)
    return cells, None if cells is None else cells.of_row


@pytest.mark.parametrize("tz", ZONES)
def test_hours_have_the_cells_of_their_wall(tz):
    """People get up by it, on either side of daylight saving."""
    index = pd.date_range("2024-01-01", "2024-12-31", freq="h", tz=tz)
    fields = choose_fields(index)
    cells, found = cells_of(index, fields)
    assert (cells.n_times, cells.n_cells) == (24, 168)
    np.testing.assert_array_equal(found, 24 * index.day_of_week + index.hour)
    np.testing.assert_array_equal(found % cells.n_times, index.hour)


@pytest.mark.parametrize("step", [10, 15, 20, 30])
@pytest.mark.parametrize("start", ["2024-03-25 00:00", "2024-03-25 00:07"])
def test_minutes_are_numbered_by_those_that_there_are(step, start):
    """A quarter of an hour is one of four; at seven past, too."""
    index = pd.date_range(start, periods=4000, freq=f"{step}min", tz="Europe/Berlin")
    cells, found = cells_of(index, ("minute", "hour", "weekday"))
    each = 60 // step
    assert (cells.n_times, cells.n_cells) == (24 * each, 168 * each)
    wall = (index.day_of_week * 24 + index.hour) * each + index.minute // step
    np.testing.assert_array_equal(found, wall)
    np.testing.assert_array_equal(np.unique(found), np.arange(cells.n_cells))


def test_a_minute_that_was_never_there_counts_as_the_one_before():
    """A row that came late belongs to its own hour."""
    index = pd.date_range("2024-01-01", periods=3000, freq="15min")
    values = calendar_values(index, ("minute", "hour"))
    cells = find_cycle(("minute", "hour"), values)
    late = calendar_values(index + pd.Timedelta("7min"), ("minute", "hour"))
    found = number_cells(cells.places, late)
    np.testing.assert_array_equal(found, cells.of_row)
    shifted = find_cycle(("minute", "hour"), values + np.array([7, 0]))
    before = number_cells(shifted.places, np.array([[0, 5]]))
    assert before.tolist() == [4 * 5]  # before the first one


@pytest.mark.parametrize(
    "order",
    [
        ("hour", "weekday"),
        ("weekday", "hour"),
        ("day", "hour"),
        ("hour", "hour", "weekday"),
    ],
)
def test_fields_stand_in_any_order_and_others_add_nothing(order):
    """The user names them; a day of the month says nothing of the hour."""
    index = pd.date_range("2024-01-01", periods=2000, freq="h")
    cells, found = cells_of(index, order)
    days = index.day_of_week if "weekday" in order else 0
    np.testing.assert_array_equal(found, 24 * days + index.hour)
    assert cells.n_cells == (168 if "weekday" in order else 24)


def test_of_hours_alone_the_cycle_is_the_day():
    """A user who leaves the weekday out has said that it means nothing."""
    index = pd.date_range("2024-01-01", periods=500, freq="h", tz="Europe/Berlin")
    cells, found = cells_of(index, ("hour",))
    assert (cells.n_times, cells.n_cells) == (24, 24)
    np.testing.assert_array_equal(found, index.hour)


CALENDARS = {
    "D": (7, lambda index: index.day_of_week),
    "B": (7, lambda index: index.day_of_week),
    "MS": (12, lambda index: index.month - 1),
    "ME": (12, lambda index: index.month - 1),
    "QS": (12, lambda index: index.month - 1),
    "W-WED": (53, lambda index: (index.day_of_year - 1) // 7),
}


@pytest.mark.parametrize("tz", [None, "America/New_York"])
@pytest.mark.parametrize("freq", CALENDARS)
def test_days_have_the_week_and_longer_steps_the_year(freq, tz):
    """Of the fields that the index calls for; all of one time, as a day has no hours here."""
    index = pd.date_range("2000-01-01", "2020-12-31", freq=freq, tz=tz)
    n_cells, place = CALENDARS[freq]
    cells, found = cells_of(index, choose_fields(index))
    assert (cells.n_times, cells.n_cells) == (1, n_cells)
    np.testing.assert_array_equal(found, place(index))


def test_weeks_and_months_of_periods():
    """A period has the place of its date."""
    months = pd.period_range("2000-01", periods=240, freq="M")
    cells, found = cells_of(months, ("month",))
    assert cells.n_cells == 12
    np.testing.assert_array_equal(found, months.month - 1)


@pytest.mark.parametrize(
    ("freq", "fields"),
    [
        ("5min", ("minute", "hour", "weekday")),  # 2016
        ("7min", ("minute", "hour", "weekday")),
        ("1min", ("minute", "hour")),  # 1440
        ("15min", ("minute",)),
        ("D", ("day",)),
        ("h", ()),
    ],
)
def test_there_is_none_where_a_cell_would_be_seen_too_seldom_or_nothing_is_known(
    freq, fields
):
    """Each of 2016 cells would be a week apart from all that it could learn from."""
    index = pd.date_range("2024-01-01", periods=20_000, freq=freq)
    assert cells_of(index, fields)[0] is None


def test_ten_minutes_are_the_finest_step_of_a_week():
    """1008 cells; five minutes without a weekday are 288."""
    index = pd.date_range("2024-01-01", periods=2000, freq="10min")
    assert cells_of(index, ("minute", "hour", "weekday"))[0].n_cells == 1008
    index = pd.date_range("2024-01-01", periods=2000, freq="5min")
    assert cells_of(index, ("minute", "hour"))[0].n_cells == 288


@pytest.mark.parametrize("freq", ["15min", "h", "D", "W-WED", "MS"])
def test_every_place_of_a_calendar_is_a_cell(freq):
    """A table that is too short would be read beyond its end, or anew from its begin."""
    index = pd.date_range("2000-01-01", periods=3000, freq=freq)
    for fields in (choose_fields(index), tuple(FIELDS)):
        cells, found = cells_of(index, fields)
        assert cells.places.shape == (len(fields), 60)
        assert found.min() >= 0
        assert found.max() < cells.n_cells
        assert cells.n_cells % cells.n_times == 0


# --- rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tz", ZONES)
def test_rows_in_any_order_have_the_cells_of_their_steps(tz):
    """A series that began later is elsewhere in the week; one may have begun before the clock."""
    index = pd.date_range("2024-03-25", periods=700, freq="h", tz=tz)
    steps = np.array([*range(-100, 200), *range(450, 650), 7])
    fields = ("hour", "weekday")
    values = calendar_at(clock_for(index, index.freq), steps, fields)
    found = find_cycle(fields, values)
    early = pd.date_range(end=index[0], periods=101, freq="h")[:-1]
    labels = [*early, *index[:200], *index[450:650], index[7]]
    expected = [24 * label.day_of_week + label.hour for label in labels]
    np.testing.assert_array_equal(found.of_row, expected)
    assert found.of_row.dtype == np.int16


def test_rows_without_a_calendar_have_no_cells():
    """Undated rows, and dated ones of which nothing of a cycle is asked."""
    hours = pd.date_range("2024-01-01", periods=50, freq="h")
    steps = np.arange(50)
    for clock, fields in (
        (clock_for(hours, hours.freq), ()),
        (clock_for(hours, hours.freq), ("day",)),
        (RowClock(), ()),
    ):
        assert find_cycle(fields, calendar_at(clock, steps, fields)) is None


def test_what_trees_and_classes_read_has_the_shape_of_the_steps():
    """Minutes of the day, days of the year and weekends, counted from 0."""
    times = pd.date_range("2024-12-27 23:45", periods=3, freq="15min")
    fields = ("minute of day", "day of year", "weekend")
    read = calendar_at(clock_for(times, times.freq), np.array([[0, 1], [1, 0]]), fields)
    friday, saturday = [1425, 361, 0], [0, 362, 1]
    assert read.tolist() == [[friday, saturday], [saturday, friday]]


@pytest.mark.parametrize(
    "fields", [("weekday",), ("hour",), ("month",), ("week", "month")]
)
def test_days_of_the_year_are_told_apart_beside_any_cycle(fields):
    """Also beside the months of a year, which are days of it as well."""
    index = pd.date_range("2023-01-01", "2024-12-31")
    every = fields + tuple(name for name in ("month", "day") if name not in fields)
    values = calendar_values(index, every)
    plain = find_cycle(fields, calendar_values(index, fields))
    cells = find_cycle(every, values, years=True)
    number = cells.of_row
    assert (cells.n_cells, cells.n_times) == (plain.n_cells, plain.n_times)
    np.testing.assert_array_equal(number % cells.n_cells, plain.of_row)
    np.testing.assert_array_equal(
        number // cells.n_cells, 31 * index.month - 32 + index.day
    )
