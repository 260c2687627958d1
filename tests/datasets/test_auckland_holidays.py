"""The holidays of Auckland, against the dates that the government published."""

import re

import numpy as np
import pandas as pd
import pytest

from skinformer.datasets import auckland_holidays, load_auckland_pedestrians

OBSERVED = {  # employment.govt.nz, "Public holidays and anniversary dates", Auckland
    2023: "01-02 01-03 01-30 02-06 04-07 04-10 04-25 06-05 07-14 10-23 12-25 12-26",
    2024: "01-01 01-02 01-29 02-06 03-29 04-01 04-25 06-03 06-28 10-28 12-25 12-26",
    2025: "01-01 01-02 01-27 02-06 04-18 04-21 04-25 06-02 06-20 10-27 12-25 12-26",
    2026: "01-01 01-02 01-26 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
    2027: "01-01 01-04 02-01 02-08 03-26 03-29 04-26 06-07 06-25 10-25 12-27 12-28",
}


def days_of(year: int) -> pd.DataFrame:
    return auckland_holidays(pd.date_range(f"{year}-01-01", f"{year}-12-31", freq="D"))


def marked(column: pd.Series) -> list[str]:
    return list(column.index[column == 1].strftime("%m-%d"))


@pytest.mark.parametrize("year", OBSERVED)
def test_public_holidays_are_those_that_were_published(year):
    """2023 moves New Year's Day, 2026 Anzac and Boxing Day, 2027 both days of Christmas."""
    assert marked(days_of(year)["holiday"]) == OBSERVED[year].split()


def test_matariki_is_a_friday_of_june_or_july_in_every_year_of_the_law():
    """Its dates are typed: one wrong digit would not be felt."""
    days = auckland_holidays(pd.date_range("2023-01-01", "2052-12-31", freq="D"))
    days = days.index[(days["holiday"] == 1) & days.index.month.isin([6, 7])]
    fridays = days[days.day_of_week == 4]
    assert list(fridays.year) == list(range(2023, 2053))
    assert fridays[-1] == pd.Timestamp("2052-06-21")


@pytest.mark.parametrize(
    ("year", "closed"), [(2023, "04-07 04-09 04-25 12-25"), (2024, "03-29 03-31 04-25 12-25")]
)
def test_shops_are_closed_on_three_days_and_a_morning(year, closed):
    """Christmas without its crowd is what a plain flag of holidays does not tell."""
    assert marked(days_of(year)["shops_closed"]) == closed.split()
    anzac = pd.date_range(f"{year}-04-25", periods=24, freq="h")
    assert list(auckland_holidays(anzac)["shops_closed"]) == [1] * 13 + [0] * 11


def test_neighbours_of_free_days_are_marked():
    """Thursday 25 April 2024: Wednesday is an eve, Friday lies between free days."""
    days = days_of(2024).loc["2024-04-22":"2024-04-29"]
    assert list(days["free_tomorrow"]) == [0, 0, 1, 0, 1, 1, 0, 0]
    assert list(days["free_yesterday"]) == [1, 0, 0, 0, 1, 0, 1, 1]


def test_days_are_counted_to_and_from_christmas():
    """The weeks of Christmas and New Year are one season, which no date marks alone."""
    days = days_of(2023)
    assert list(days.loc["2023-12-23":"2023-12-26", "days_to_christmas"]) == [2, 1, 0, 28]
    assert list(days.loc["2023-12-24":"2023-12-27", "days_since_christmas"]) == [28, 0, 1, 2]
    assert days.loc["2023-01-06", "days_since_christmas"] == 12
    assert (days.loc["2023-02":"2023-10", days.columns[-2:]] == 28).all(axis=None)


def test_columns_are_known_of_any_hour_by_itself():
    """Known ahead means: no other row, count or order matters."""
    hours = load_auckland_pedestrians().index
    table = auckland_holidays(hours)
    assert table.shape == (17544, 6)
    assert (table.dtypes == "int64").all()
    pd.testing.assert_index_equal(table.index, hours)
    some = np.random.default_rng(0).permutation(len(hours))[:50]
    pd.testing.assert_frame_equal(auckland_holidays(hours[some]), table.iloc[some])
    one = [auckland_holidays(hours[[i]]) for i in some[:5]]
    pd.testing.assert_frame_equal(pd.concat(one), table.iloc[some[:5]])


def test_days_are_those_of_aucklands_clock():
    """In UTC Christmas begins at eleven in the morning of the day before."""
    hours = load_auckland_pedestrians().index
    there = auckland_holidays(hours).to_numpy()
    np.testing.assert_array_equal(auckland_holidays(hours.tz_convert("UTC")), there)
    np.testing.assert_array_equal(auckland_holidays(hours.tz_localize(None)), there)
    periods = hours.tz_localize(None).to_period("h")
    np.testing.assert_array_equal(auckland_holidays(periods), there)


def test_no_times_have_no_holidays():
    """An empty future frame is no error."""
    assert auckland_holidays(pd.DatetimeIndex([])).shape == (0, 6)


def test_times_that_no_law_covers_are_told():
    """Matariki cannot be computed: a year without it would be wrong in silence."""
    message = (
        "index holds the year 2022, must be 2023 to 2052: for these the law names the days of "
        "Matariki. Pass index[(index.year >= 2023) & (index.year <= 2052)]."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        auckland_holidays(pd.date_range("2022-12-31", periods=2, freq="D"))
    message = (
        "index is RangeIndex, but holidays are those of dates. Pass the index of the frame, "
        "X.index, or pd.to_datetime(...) of its labels."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        auckland_holidays(pd.RangeIndex(3))
