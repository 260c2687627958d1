"""What the days of months do to targets is found where it is, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from skinformer.cleaning.months import find_month_effects
from skinformer.timeline.calendar import KIND_OF_MONTH, calendar_values
from skinformer.timeline.clock import clock_for
from skinformer.timeline.months import is_monthly, kinds_of_months
from skinformer.timeline.timeline import Table

WEEK = np.array([1.0, 1.1, 1.2, 1.1, 1.3, 1.6, 0.7])  # sales of a day, Monday first


def months(n, freq="MS"):
    return pd.date_range("2001-03-01", periods=n, freq=freq)


def table(*series, index=None):
    index = months(len(series[0])) if index is None else index
    clock = clock_for(index, index.freq)
    n = len(index)
    return Table(
        [np.concatenate(series)],
        1,
        np.repeat(np.arange(len(series)), n),
        np.tile(clock.steps(index), len(series)),
        clock,
    )


def noise(n, seed=0, size=0.02):
    return np.exp(size * np.random.default_rng(seed).standard_normal(n))


def sums(index, of_weekdays=WEEK):
    """Add up what each day sells."""
    kind = calendar_values(index, [KIND_OF_MONTH])[:, 0]
    return kinds_of_months()[1][kind] @ of_weekdays


def factors(found, index, series=0):
    clock = clock_for(index, index.freq)
    steps = clock.steps(index)
    return found.factors(clock, steps, np.full(len(steps), series))[:, 0]


@pytest.mark.parametrize(
    "index",
    [
        months(150),
        months(150, "ME"),
        months(150, "BMS"),
        months(150, pd.DateOffset(months=1)),
        pd.period_range("2001-03", periods=150, freq="M"),
    ],
    ids=["MS", "ME", "BMS", "offset", "periods"],
)
def test_sums_over_months_become_comparable(index):
    dates = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
    y = sums(dates)
    found = find_month_effects(table(100 * y * noise(150, size=0.005), index=index))
    left = np.log(y / factors(found, index))
    assert np.ptp(np.log(y)) > 0.1
    assert np.ptp(left) < 0.01


def test_sums_of_like_days_are_divided_by_the_days():
    found = find_month_effects(table(7.0 * months(60).days_in_month * noise(60)))
    days = months(60).days_in_month
    np.testing.assert_allclose(factors(found, months(60)), days / 30.4375, rtol=0.02)


def divides(found):
    """Whether months of 31 days are taken to have more than others."""
    return found.logs is not None and found.logs[0, 21:].mean() > 0.01


def no_effect():
    index = months(150)
    means = 20 + 5 * np.sin(2 * np.pi * index.month / 12)
    return {
        "means": table(means * noise(150)),
        "a walk": table(np.exp(0.03 * np.cumsum(noise(150, size=1.0)))),
        "constant": table(np.full(150, 5.0)),
        "the same in all years": table(100.0 + 10.0 * (index.month % 5)),
        "below zero": table(sums(index) - sums(index).mean()),
        "mostly zero": table(sums(index) * (np.arange(150) % 3 == 0)),
        "a share": table(np.minimum(sums(index) / 36, 1.0)),
        "few rows": table(sums(index)[:30], index=index[:30]),
        "days": table(
            sums(index), index=pd.date_range("2001-03-01", periods=150, freq="D")
        ),
        "quarters": table(
            sums(index), index=pd.date_range("1901-01-01", periods=150, freq="QS")
        ),
    }


@pytest.mark.parametrize("name", no_effect())
def test_nothing_is_found_where_nothing_is(name):
    assert find_month_effects(no_effect()[name]).logs is None


def test_means_over_a_year_in_which_weekdays_matter_are_not_divided_by_days():
    index = months(240)
    y = sums(index) / index.days_in_month
    found = find_month_effects(table(y * noise(240, size=0.003)))
    left = np.log(y / factors(found, index))
    assert np.ptp(left) < 0.3 * np.ptp(np.log(y))


def test_series_of_a_panel_share_what_they_have_in_common():
    index = months(96)
    own = sums(index, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 4.0, 0.2]))
    alike = [k * sums(index) * noise(96, k, size=0.05) for k in range(1, 30)]
    found = find_month_effects(table(*alike, own))
    new = np.log(sums(index) / factors(found, index, series=30))
    assert np.ptp(new) < 0.03
    differs = np.log(own / factors(found, index, series=29))
    assert np.ptp(differs) < 0.5 * np.ptp(np.log(own / factors(found, index, 30)))


def test_a_series_that_hardly_changes_does_not_decide_for_all():
    """Such as a price among sales: of all series its errors are the smallest."""
    index = months(96)
    sales = [k * sums(index) * noise(96, k, size=0.05) for k in range(1, 30)]
    found = find_month_effects(table(*sales, 5 * noise(96, size=1e-6)))
    assert np.ptp(np.log(sums(index) / factors(found, index, series=30))) < 0.03


def test_a_series_that_days_do_not_move_is_left_as_it_is():
    """Such as a fee, or a price, beside sums."""
    index = months(96)
    sales = [k * sums(index) * noise(96, k, size=0.05) for k in range(1, 30)]
    price = 5 * noise(96, size=0.005)
    found = find_month_effects(table(*sales, np.full(96, 3.0), price))
    assert (factors(found, index, series=29) == 1).all()
    assert (factors(found, index, series=30) == 1).all()
    assert np.ptp(factors(found, index, series=0)) > 0.1


def test_no_factor_is_wild():
    index = months(72)
    wild = sums(index, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
    found = find_month_effects(table(wild * noise(72)))
    assert np.abs(np.log(factors(found, index))).max() < 0.23


def test_series_of_rare_sales_beside_others_stay_as_they_are():
    index = months(96)
    rare = sums(index) * (np.arange(96) % 4 == 0)
    found = find_month_effects(table(sums(index) * noise(96), rare))
    assert (factors(found, index, series=1) == 1).all()
    assert np.ptp(factors(found, index, series=0)) > 0.1


def test_missing_and_wrong_months_do_not_matter():
    index = months(150)
    y = sums(index) * noise(150, size=0.005)
    y[40:43] = np.nan
    y[90] *= 50
    found = find_month_effects(table(y))
    assert np.ptp(np.log(sums(index) / factors(found, index))) < 0.01


def test_chance_seldom_looks_like_the_days():
    """Where months of the year are alike, errors of a tenth may look like three days of 31."""
    n_found = 0
    for seed in range(60):
        n_found += divides(find_month_effects(table(noise(90, seed, size=0.1))))
    assert n_found < 4


def test_seasons_seldom_look_like_the_days():
    """The more months of the year differ, the less they say of days."""
    index = months(60)
    n_found = 0
    for seed in range(40):
        season = noise(12, seed, size=0.2)[index.month - 1]
        found = find_month_effects(table(season * noise(60, seed, size=0.005)))
        n_found += divides(found)
    assert n_found < 3


def test_weekdays_are_told_apart_beside_the_days():
    """What five Saturdays add is a third of what a day more does."""
    index = months(72)
    y = sums(index, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.3, 1.0]))
    found = find_month_effects(table(y * noise(72, size=0.004)))
    assert np.ptp(np.log(y / factors(found, index))) < 0.005


def test_four_years_show_no_weekdays():
    index = months(48)
    found = find_month_effects(table(sums(index) * noise(48, size=0.001)))
    np.testing.assert_allclose(
        factors(found, index), index.days_in_month / 30.4375, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("freq", "expected"),
    [("MS", True), ("ME", True), ("2MS", False), ("30D", False), ("QS", False)],
)
def test_steps_of_one_month_are_months(freq, expected):
    index = months(9, freq)
    assert is_monthly(clock_for(index, index.freq)) is expected


def test_rows_without_dates_have_no_months():
    index = pd.RangeIndex(100)
    assert not is_monthly(clock_for(index, 1))


def test_kinds_of_months_count_their_weekdays():
    """January 2026 begins on a Thursday: it has five Thursdays, Fridays and Saturdays."""
    [[kind]] = calendar_values(pd.DatetimeIndex(["2026-01-31"]), [KIND_OF_MONTH])
    n_days, weekdays = kinds_of_months()
    assert n_days[kind] == 31
    assert weekdays[kind].tolist() == [4, 4, 4, 5, 5, 5, 4]
