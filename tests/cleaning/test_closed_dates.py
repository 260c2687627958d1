"""Dates at which a series is closed every year, such as the holidays of a company."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import skinformer
from skinformer import InformerRegressor
from skinformer.cleaning.closed_dates import ClosedDates
from skinformer.timeline.clock import clock_for
from skinformer.timeline.timeline import Table

CHRISTMAS = {*range(1224, 1232), 101}  # months and days
AUGUST = set(range(801, 832))


def dates_of(index):
    return np.asarray(100 * index.month + index.day)


def sold(start, end, closed, freq="D", seed=0):
    """Draw sales of a strong week, and none at some dates."""
    index = pd.date_range(start, end, freq=freq)
    noise = np.random.default_rng(seed).normal(0, 6, len(index))
    week = 12 * np.sin(2 * np.pi * np.asarray(index.day_of_week) / 7)
    y = np.where(np.isin(dates_of(index), list(closed)), 0.0, 60 + week + noise)
    return pd.DataFrame({"y": y}, index)


def found(*each):
    """Return the dates that are found for each of some series of one clock."""
    index = each[0].index
    table = Table(
        [np.concatenate([rows["y"] for rows in each])],
        1,
        np.repeat(np.arange(len(each)), [len(rows) for rows in each]),
        np.concatenate([np.arange(len(rows)) for rows in each]),
        clock_for(index, index.freq),
    )
    closed = ClosedDates.of(table)
    if closed is None:
        return [set()] * len(each)
    of_year = dates_of(pd.date_range("2024-01-01", "2024-12-31"))
    return [set(of_year[dates[0]].tolist()) for dates in closed.dates[:-1]]


@pytest.mark.parametrize("closed", [CHRISTMAS, AUGUST], ids=["Christmas", "August"])
@pytest.mark.parametrize("freq", ["D", "6h", "B"])
def test_what_is_closed_in_two_years_is_found(closed, freq):
    [dates] = found(sold("2021-06-01", "2023-07-20", closed, freq))
    missed = closed - dates
    # Of business days, dates at the ends of a closure that no year had.
    assert dates <= closed
    assert len(missed) <= (2 if freq == "B" else 0)


def test_each_series_has_its_own():
    rows = [sold("2021-06-01", "2023-07-20", each) for each in (AUGUST, CHRISTMAS)]
    assert found(*rows) == [AUGUST, CHRISTMAS]


@pytest.mark.parametrize(
    ("start", "end", "closed"),
    [
        ("2022-06-01", "2023-07-20", AUGUST),  # seen once
        ("2021-06-01", "2023-07-20", {1225, 1226}),  # a feast
        ("2020-06-01", "2022-07-20", set()),
    ],
)
def test_other_zeros_are_none(start, end, closed):
    assert found(sold(start, end, closed)) == [set()]


@pytest.mark.parametrize("first_open", ["2023-08-01", "2020-08-01"])
def test_a_year_that_was_open_says_that_it_is_no_rule(first_open):
    """Open this year, in part, or in one before."""
    rows = sold("2020-06-01", "2023-08-15", AUGUST)
    rows.loc[first_open : pd.Timestamp(first_open) + pd.Timedelta(days=30), "y"] = 50.0
    assert found(rows) == [set()]


def test_a_closure_that_moves_by_days_has_the_dates_of_all_years():
    rows = sold("2021-06-01", "2023-08-03", set())
    for begin, end in (("2021-08-02", "2021-08-22"), ("2022-08-01", "2022-08-21")):
        rows.loc[begin:end, "y"] = 0.0
    # Two of its days were open this year, and it may begin yet.
    assert found(rows) == [set(range(802, 822))]


def test_a_closure_that_moves_by_a_week_has_none():
    rows = sold("2020-06-01", "2023-07-20", set())
    for begin in ("2020-07-27", "2021-08-02", "2022-08-01"):
        rows.loc[begin : pd.Timestamp(begin) + pd.Timedelta(days=20), "y"] = 0.0
    assert found(rows) == [set()]


@pytest.mark.parametrize("share", [0.3, 0.97])
def test_rare_sales_have_none(share):
    rows = sold("2020-06-01", "2023-07-20", AUGUST)
    rows.loc[np.random.default_rng(0).random(len(rows)) < share] = 0.0
    assert found(rows) == [set()]


def test_a_closure_that_has_begun_as_last_year_goes_on_as_it_did():
    assert found(sold("2022-06-01", "2023-08-08", AUGUST)) == [AUGUST]


@pytest.mark.parametrize("n_open", [1, 2, 5])
def test_a_weekly_rest_is_no_closure(n_open):
    rows = sold("2021-06-01", "2023-07-20", set())
    rows.loc[np.asarray(rows.index.day_of_week) >= n_open] = 0.0
    assert found(rows) == [set()]


def test_weeks_have_no_dates():
    rows = sold("2020-06-01", "2023-07-20", set(), freq="W-SUN")
    rows.loc[np.asarray(rows.index.month) == 8] = 0.0
    assert found(rows) == [set()]


FAST = {"members": ["classical"], "random_state": 0}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["2023-12-20", "2023-12-28"])
def test_a_company_is_closed_at_christmas_and_opens_as_usual(end, tmp_path):
    """Before it, it was forecast half open; amid it, it opened at once."""
    rows = sold("2021-11-01", "2024-01-20", CHRISTMAS)
    model = InformerRegressor(pred_len=14, **FAST).fit(rows[:end])
    forecast = model.forecast(coverage=0.8)
    truth = rows["y"][forecast.index]
    is_closed = truth == 0
    assert (forecast[is_closed] == 0).all(axis=None)
    assert np.abs(forecast["y"] - truth)[~is_closed].mean() < 12
    model.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model").forecast(coverage=0.8)
    pd.testing.assert_frame_equal(loaded, forecast)


@pytest.mark.parametrize("transform", [StandardScaler(), "log"], ids=str)
def test_transformed_targets_are_closed_as_well(transform):
    """Zero is wherever the transformation takes it, and next to it by logarithms."""
    rows = sold("2021-11-01", "2024-01-20", CHRISTMAS)
    model = InformerRegressor(pred_len=14, target_transform=transform, **FAST)
    forecast = model.fit(rows[:"2023-12-20"]).forecast()["y"]
    is_closed = rows["y"][forecast.index] == 0
    assert forecast[is_closed].abs().max() < 0.5
    assert forecast[~is_closed].min() > 30


def test_rows_after_the_fit_may_be_closed():
    rows = sold("2021-11-01", "2024-01-20", CHRISTMAS)
    model = InformerRegressor(pred_len=7, **FAST).fit(rows[:"2023-12-20"])
    later = model.forecast(rows["2023-12-21":"2024-01-01"])["y"]
    truth = rows["y"][later.index]
    assert np.abs(later - truth).mean() < 12


@pytest.mark.slow
def test_a_season_of_goods_begins_at_its_level():
    """Its first weeks were forecast at half of it."""
    index = pd.date_range("2020-10-01", "2023-05-20")
    day = np.asarray(index.day_of_year)
    y = np.random.default_rng(0).poisson(np.where((day >= 120) & (day <= 270), 80, 0))
    rows = pd.DataFrame({"y": y.astype(float)}, index)
    model = InformerRegressor(pred_len=28, **FAST).fit(rows[:"2023-04-20"])
    forecast = model.forecast()["y"]
    assert np.abs(forecast - rows["y"][forecast.index]).mean() < 12
