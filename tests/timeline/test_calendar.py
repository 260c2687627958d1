import numpy as np
import pandas as pd
import pytest

from skinformer.timeline.calendar import FIELDS, calendar_values, choose_fields


def test_december_and_week_53_have_a_place_in_their_tables():
    """Months counted from 1 overrun a table of 12, and every year ends in a 53rd week."""
    index = pd.date_range("2023-01-01", "2025-12-31 23:59", freq="61min")
    values = calendar_values(index, list(FIELDS))
    for j, (name, field) in enumerate(FIELDS.items()):
        assert values[:, j].min() == 0, name
        assert values[:, j].max() == field.size - 1, name
    last = calendar_values(
        pd.DatetimeIndex(["2024-12-30", "2024-12-31"]), ["week", "month"]
    )
    assert last.tolist() == [[52, 11], [52, 11]]


@pytest.mark.parametrize(
    "tz", [None, "Europe/Berlin", "Pacific/Auckland", "Asia/Kolkata"]
)
def test_the_fields_are_those_of_the_local_time(tz):
    """People get up by the clock on their wall, on either side of daylight saving."""
    index = pd.date_range("2024-01-01", periods=9000, freq="61min", tz=tz)
    naive = [stamp.to_pydatetime() for stamp in index]
    expected = [
        (
            d.minute,
            d.hour,
            d.weekday(),
            d.day - 1,
            (d.timetuple().tm_yday - 1) // 7,
            d.month - 1,
        )
        for d in naive
    ]
    np.testing.assert_array_equal(calendar_values(index, list(FIELDS)), expected)


def test_periods_have_the_calendar_of_their_dates():
    """A monthly period is a month as much as its first day is."""
    for freq, fields in (
        ("h", list(FIELDS)),
        ("D", ["weekday", "day", "month"]),
        ("M", ["month"]),
    ):
        periods = pd.period_range("2024-01", periods=400, freq=freq)
        expected = calendar_values(periods.to_timestamp(), fields)
        np.testing.assert_array_equal(calendar_values(periods, fields), expected)


YEARS = {
    "15min": ("minute", "hour", "weekday", "month"),
    "h": ("hour", "weekday", "month"),
    "3h": ("hour", "weekday", "month"),
    "D": ("weekday", "day", "month"),
    "B": ("weekday", "day", "month"),
    "W-MON": ("week", "month"),
    "MS": ("month",),
    "QS": ("month",),
    "YS": (),
}


@pytest.mark.parametrize("tz", [None, "Europe/Berlin", "Pacific/Auckland"])
@pytest.mark.parametrize("freq", YEARS)
def test_the_step_chooses_the_fields(freq, tz):
    """A day of the month says nothing hourly data needs; minutes are constant in hours."""
    index = pd.date_range("2021-01-01", "2024-12-31", freq=freq, tz=tz)
    assert choose_fields(index) == YEARS[freq]


@pytest.mark.parametrize(("start", "n"), [("2024-03-01", 60), ("2024-10-01", 60)])
@pytest.mark.parametrize("freq", ["D", "W-MON"])
def test_a_day_of_23_or_25_hours_is_a_day(freq, start, n):
    """One change of the clock in training must not choose other fields than none."""
    aware = pd.date_range(start, periods=n, freq=freq, tz="Europe/Berlin")
    assert choose_fields(aware[: n // 2 + 10]) == choose_fields(
        aware[: n // 2 + 10].tz_localize(None)
    )


def test_fields_that_are_constant_in_training_are_left_out():
    """An embedding that never saw another month would answer January with noise."""
    index = pd.date_range("2024-01-01", periods=300, freq="h")
    assert choose_fields(index) == ("hour", "weekday")
    assert choose_fields(pd.date_range("2024-01-01", periods=20, freq="h")) == ("hour",)
    assert choose_fields(pd.date_range("2024-01-01", periods=48, freq="24h")) == (
        "weekday",
        "day",
    )


@pytest.mark.parametrize(("freq", "fields"), [("h", ("hour", "weekday")), ("MS", ())])
def test_a_year_that_did_not_come_round_three_times_is_no_cycle(freq, fields):
    """Where each month occurs once or twice, a month's vector is that one month's weather."""
    index = pd.date_range("2021-01-01", "2023-12-31 23:00", freq=freq)
    assert choose_fields(index) == (*fields, "month")
    assert choose_fields(index[: len(index) * 9 // 10]) == fields


@pytest.mark.parametrize("index", [pd.RangeIndex(9), pd.DatetimeIndex(["2024-01-01"])])
def test_without_dates_or_a_step_there_is_no_calendar(index):
    """Numbers have no hour, and one row has no step."""
    assert choose_fields(index) == ()
