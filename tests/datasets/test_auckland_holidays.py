"""The holidays of Auckland, against the dates that the government published."""

import pandas as pd
import pytest

from skinformer.datasets import load_auckland_holidays, load_auckland_pedestrians

OBSERVED = {  # employment.govt.nz, "Public holidays and anniversary dates", Auckland
    2023: "01-02 01-03 01-30 02-06 04-07 04-10 04-25 06-05 07-14 10-23 12-25 12-26",
    2024: "01-01 01-02 01-29 02-06 03-29 04-01 04-25 06-03 06-28 10-28 12-25 12-26",
    2025: "01-01 01-02 01-27 02-06 04-18 04-21 04-25 06-02 06-20 10-27 12-25 12-26",
}


@pytest.fixture(scope="module")
def hours():
    return load_auckland_holidays()


def days_of(hours: pd.DataFrame, year: int) -> pd.DataFrame:
    midnights = hours[(hours.index.hour == 0) & (hours.index.year == year)]
    return midnights.tz_localize(None)


def marked(column: pd.Series) -> list[str]:
    return list(column.index[column == 1].strftime("%m-%d"))


@pytest.mark.parametrize("year", OBSERVED)
def test_public_holidays_are_those_that_were_published(hours, year):
    """2023 moves New Year's Day."""
    assert marked(days_of(hours, year)["holiday"]) == OBSERVED[year].split()


@pytest.mark.parametrize(
    ("year", "closed"),
    [(2023, "04-07 04-09 04-25 12-25"), (2024, "03-29 03-31 04-25 12-25")],
)
def test_shops_are_closed_on_three_days_and_a_morning(hours, year, closed):
    """Christmas without its crowd is what a plain flag of holidays does not tell."""
    assert marked(days_of(hours, year)["shops_closed"]) == closed.split()
    anzac = hours.loc[f"{year}-04-25", "shops_closed"]
    assert list(anzac) == [1] * 13 + [0] * 11


def test_neighbours_of_free_days_are_marked(hours):
    """Thursday 25 April 2024: Wednesday is an eve, Friday lies between free days."""
    days = days_of(hours, 2024).loc["2024-04-22":"2024-04-29"]
    assert list(days["free_tomorrow"]) == [0, 0, 1, 0, 1, 1, 0, 0]
    assert list(days["free_yesterday"]) == [1, 0, 0, 0, 1, 0, 1, 1]


def test_days_are_counted_to_and_from_christmas(hours):
    """The weeks of Christmas and New Year are one season, which no date marks alone."""
    days = days_of(hours, 2023)
    assert list(days.loc["2023-12-23":"2023-12-26", "days_to_christmas"]) == [
        2,
        1,
        0,
        28,
    ]
    assert list(days.loc["2023-12-24":"2023-12-27", "days_since_christmas"]) == [
        28,
        0,
        1,
        2,
    ]
    assert days.loc["2023-01-06", "days_since_christmas"] == 12
    assert (days.loc["2023-02":"2023-10", days.columns[-2:]] == 28).all(axis=None)


def test_rows_are_those_of_the_counts_and_of_a_year_to_come(hours):
    """Known ahead means: the year after the counts has rows, too."""
    counts = load_auckland_pedestrians()
    assert hours.shape == (26304, 6)
    assert (hours.dtypes == "int64").all()
    assert hours.index.freq == counts.index.freq
    pd.testing.assert_index_equal(hours.index[: len(counts)], counts.index)
    # A holiday is a whole day of the clock on the wall, also those of 23 and 25 hours.
    of_day = hours["holiday"].groupby(hours.index.date)
    assert (of_day.min() == of_day.max()).all()
