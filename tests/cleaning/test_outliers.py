"""What is usual and what cannot be: by medians and gaps, and by the rows before."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skinformer.cleaning.outliers import find_outliers
from skinformer.cleaning.units import in_last_unit
from skinformer.datasets import load_auckland_pedestrians
from skinformer.timeline.clock import clock_for
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.timeline import Table, build_timeline

PANELS = Path(os.environ.get("SKINFORMER_BENCH_DATA", "shared/data")) / "panels"


def table(*series, first=0, freq="h"):
    length = [len(values) for values in series]
    days = pd.date_range("2024-01-01", periods=3, freq=freq)
    steps = np.concatenate([np.arange(n) for n in length]) + first
    owner = np.repeat(np.arange(len(series)), length)
    return Table([np.concatenate(series)], 1, owner, steps, clock_for(days, days.freq))


def rows_of(found):
    return [outlier.row for outlier in found]


def wave(n, seed=0):
    noise = np.random.default_rng(seed).normal(size=n)
    return 100 + 30 * np.sin(np.arange(n) * 2 * np.pi / 24) + 3 * noise


def fitted(values):
    """Give judges of the rows after some values, and the history."""
    rows, usual, _ = find_outliers(table(values), targets=True)
    scaler = fit_scaler(
        rows.columns, rows.first_row[:-1], rows.first_row[1:], static=[]
    )
    return usual, build_timeline(rows, scaler, fill_covariates=True), scaler


def later(values, first):
    return table(values, first=first)


@pytest.mark.parametrize("factor", [30, 100, 1000, 1e6, 0, -1, 0.001])
@pytest.mark.parametrize("rows", [[150], [150, 151], [7], [298, 299]])
def test_wild_values_are_found(factor, rows):
    """Typing errors, zeros and signs, alone or two in a row."""
    values = wave(300)
    values[rows] *= factor
    assert rows_of(find_outliers(table(values), targets=True)[2]) == rows
    usual, history, _ = fitted(wave(300))
    assert rows_of(usual.clean(later(values, 300), history)[2]) == rows


def kelvins(n, seed=0):
    return (
        280
        + 12 * np.sin(np.arange(n) / 30)
        + 3 * np.random.default_rng(seed).normal(size=n)
    )


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize(
    "rows",
    [[50], range(50, 56), [*range(50, 54), *range(100, 106)], [50, 52, 57, 58, 63]],
)
def test_zeros_of_a_lost_sensor_are_found(rows, n):
    """It says 0 for hours, and no temperature is 0 K: more rows than may be outliers one by one."""
    values = kelvins(n)
    values[rows] = 0
    judged, usual, found = find_outliers(table(values), targets=True)
    assert rows_of(found) == list(rows)
    assert (judged.columns[0] > 200).all()
    assert usual.least(1) > 200


def zeros_at(rows, values):
    values[rows] = 0
    return values


@pytest.mark.parametrize(
    "values",
    [
        zeros_at(np.arange(24, 1000, 168), kelvins(1000)),  # stops of every week
        zeros_at(
            np.flatnonzero(np.arange(120) % 5 > 2), kelvins(120)
        ),  # two days of five
        zeros_at(np.arange(400, 424), kelvins(1000)),  # a day
        zeros_at(np.arange(990, 1000), kelvins(1000)),  # to the end
        zeros_at(np.arange(400, 406), 1 + np.arange(1000.0) % 2),  # counts
        zeros_at(np.arange(400, 406), np.ones(1000)),  # a flag
        zeros_at(
            np.arange(400, 406), 10 * wave(1000) - 600
        ),  # a load that falls by half and more
    ],
    ids=["weekly", "closed", "a day", "to the end", "counts", "flag", "load"],
)
def test_zeros_that_may_be_right_are_believed(values):
    """What comes every week, lasts, or lies near other values."""
    assert not find_outliers(table(values), targets=True)[2]


def test_what_is_usual_is_what_a_value_lies_beyond():
    """A warning that says 1 to 1,731 of a 254, or less than nothing of rain, is not understood."""
    values = quiet_nights(1100)
    usual, history, _ = fitted(values[:1008])
    noon = 1008 + 12
    assert noon % 24 == 12
    for value, is_outlier in (
        (4, True),
        (120, False),
        (1000, True),
        (0, True),
        (-20, True),
    ):
        rows = later(np.append(values[1008:noon], value), 1008)
        for outlier in usual.clean(rows, history)[2]:
            assert not outlier.low <= value <= outlier.high
            assert (
                values[:noon].min() <= outlier.low < outlier.high <= values[:noon].max()
            )
        assert bool(usual.clean(rows, history)[2]) == is_outlier


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_rare_has_the_sign_that_it_had(sign):
    """What is sold comes back, but rain falls down."""
    rng = np.random.default_rng(0)
    rain = sign * np.where(rng.random(1000) < 0.08, rng.gamma(0.5, 4, size=1000), 0.0)
    bounds = sorted([0.0, sign * np.abs(rain[:900]).max()])
    usual, history, _ = fitted(rain[:900])
    (outlier,) = usual.clean(
        later(np.append(rain[900:910], sign * 9831.3), 900), history
    )[2]
    np.testing.assert_allclose([outlier.low, outlier.high], bounds)
    rain[500] = sign * 9831.3
    (outlier,) = find_outliers(table(rain[:900]), targets=True)[2]
    np.testing.assert_allclose([outlier.low, outlier.high], bounds)


def test_nothing_is_next_to_zero_below_it():
    """Of values that are all negative none is more so than others."""
    values = -wave(300)
    _, usual, found = find_outliers(table(values), targets=True)
    assert not found
    assert usual.least(1) == 0


def test_waves_without_noise_have_no_jumps():
    """None of training was larger than rounding."""
    t = np.arange(1200)
    values = 10 * np.sin(t * 2 * np.pi / 24)
    usual, history, _ = fitted(values[:1008])
    assert not usual.clean(later(values[1008:] + 1, 1008), history)[2]


@pytest.mark.parametrize(("n", "n_wild"), [(300, 3), (700, 3), (2000, 4)])
def test_a_few_wild_values_that_differ_are_outliers(n, n_wild):
    """One in 500; more may come again, such as days of a concert."""
    values = wave(n)
    rows = np.linspace(n // 3, n - 20, n_wild).astype(int)
    values[rows] = 1000.0 * (1 + np.arange(n_wild))
    values[rows[-1]] *= -1
    found = find_outliers(table(values), targets=True)[2]
    assert sorted(rows_of(found)) == rows.tolist()
    values[rows[0] + 30] = 2500.0
    found = find_outliers(table(values), targets=True)[2]
    assert len(found) < n_wild


def test_many_wild_values_do_not_hide_one_another():
    """Few may be outliers, of any size; beyond all measure one in five."""
    values = wave(4000)
    values[[100, 2000, 3000]] = 4e3, 1e6, -1e9
    assert rows_of(find_outliers(table(values), targets=True)[2]) == [100, 2000, 3000]
    values = wave(300)
    values[250:280] = 1e8 * np.random.default_rng(1).normal(size=30)
    assert rows_of(find_outliers(table(values), targets=True)[2]) == list(
        range(250, 280)
    )


def test_crowds_are_no_outliers():
    """Of an evening in the bundled counts, in the fit and after it."""
    for name, street in load_auckland_pedestrians().items():
        values = street.to_numpy(float)
        n = int(0.7 * len(values))
        assert not find_outliers(table(values), targets=True)[2], name
        usual, history, _ = fitted(values[:n])
        assert not usual.clean(later(values[n:], n), history)[2], name


@pytest.mark.slow
@pytest.mark.skipif(not PANELS.is_dir(), reason="public panels are not bundled")
@pytest.mark.parametrize(
    ("name", "freq", "n_fit", "n_later"),
    [
        ("car_parts", "MS", 0, 0),
        ("m3_monthly", "MS", 0, 1),
        ("m3_quarterly", "QS", 3, 2),
        ("nn5_daily", "D", 0, 2),
        ("stallion_monthly", "MS", 3, 7),
        ("tourism_monthly", "MS", 0, 1),
    ],
)
def test_public_panels_hold_few(name, freq, n_fit, n_later):
    """As docs/robustness.md counts them: of all rows, and of the last 30 % after the others."""
    rows = pd.read_csv(PANELS / f"{name}.csv.gz")
    series = [
        each.to_numpy(float) for _, each in rows.groupby("series", sort=False)["y"]
    ]
    assert len(find_outliers(table(*series, freq=freq), targets=True)[2]) <= n_fit
    n = np.array([max(int(0.7 * len(values)), 2) for values in series])
    head = table(*(values[:m] for values, m in zip(series, n, strict=True)), freq=freq)
    head, usual, _ = find_outliers(head, targets=True)
    scaler = fit_scaler(
        head.columns, head.first_row[:-1], head.first_row[1:], static=[]
    )
    tail = table(*(values[m:] for values, m in zip(series, n, strict=True)), freq=freq)
    tail = replace(tail, steps=tail.steps + n[tail.series])
    history = build_timeline(head, scaler, fill_covariates=True)
    assert len(usual.clean(tail, history)[2]) <= n_later


def spikes():
    price = 60 * np.exp(0.4 * np.random.default_rng(0).standard_t(4, size=3000))
    price[1800] = 3000
    return price


@pytest.mark.parametrize(
    ("values", "n_later"),
    [
        (spikes(), 1500),  # a price of 3,000 for an hour
        (np.repeat([0.0, 1.0], [2400, 1]), 100),  # a valve that opens once
        (
            np.tile([0.0, 0, 0, 0, 0, 1, 0, 0, 2, 0], 8) + np.eye(1, 80, 67)[0] * 30,
            40,
        ),  # sales
        (np.exp(np.arange(200) / 10), 100),  # growth by a factor of e in ten rows
        (np.append(wave(200), wave(100) * 40), 50),  # a step
        (
            np.append(wave(295), wave(5) * 1000),
            0,
        ),  # another unit for the last five rows
        (np.append(wave(200), wave(7) + 500), 3),  # a week of a first wave
        (np.random.default_rng(0).standard_t(2, size=300), 100),
        (np.arange(9) == 4.0, 4),
    ],
    ids=[
        "price",
        "valve",
        "rare",
        "growth",
        "step",
        "unit",
        "wave",
        "heavy splits",
        "few",
    ],
)
def test_what_may_be_right_is_believed(values, n_later):
    """A forecaster that forgets what it does not like is worse than a typing error."""
    rows = table(values)
    same, _, found = find_outliers(rows, targets=True)
    assert same is rows
    assert not found
    n = len(values) - n_later
    usual, history, _ = fitted(values[:n])
    assert not usual.clean(later(values[n:], n), history)[2]


def test_a_new_level_is_believed_at_its_third_row_however_it_comes():
    """Row by row or at once: what is judged depends on the rows before alone."""
    usual, history, scaler = fitted(wave(300))
    values = wave(60) * 1000
    given = later(values, 300)
    at_once, _, found = usual.clean(given, history)
    assert rows_of(found) == [0, 1]
    np.testing.assert_array_equal(at_once.outliers[:, 0], np.arange(60) < 2)
    for i in range(60):
        row, usual, found = usual.clean(given.take(slice(i, i + 1)), history)
        assert bool(found) == (i < 2), i
        new = build_timeline(row.without_outliers(), scaler, fill_covariates=True)
        history = history.appended(new)


def quiet_nights(n, seed=0):
    """Give counts of 4 at night, and of 200 at noon."""
    rng = np.random.default_rng(seed)
    mean = 100 - 98 * np.cos(np.arange(n) * 2 * np.pi / 24)
    return mean * np.exp(0.1 * rng.normal(size=n)) + 2


@pytest.mark.parametrize(
    ("hour", "value"), [(1, 120.0), (12, 4.0), (12, 0.0), (6, -20.0)]
)
def test_what_is_usual_at_another_hour_is_an_outlier_at_its_own(hour, value):
    """The last row before a forecast counts most."""
    values = quiet_nights(1100)
    n = 1008
    usual, history, _ = fitted(values[:n])
    assert not usual.clean(later(values[n:], n), history)[2]
    last = np.append(values[n : n + hour], value)
    assert rows_of(usual.clean(later(last, n), history)[2]) == [hour]


def test_jumps_are_judged_alike_row_by_row_and_at_once():
    """What follows an outlier is not compared with it."""
    values = quiet_nights(1100)
    n = 1008
    values[[n + 24, n + 25, n + 48, n + 60]] = 150, 160, 140, 2
    usual, history, scaler = fitted(values[:n])
    given, one_by_one = later(values[n:], n), []
    at_once = rows_of(usual.clean(given, history)[2])
    assert {24, 48, 60} <= set(at_once)
    for i in range(len(values) - n):
        row, usual, found = usual.clean(given.take(slice(i, i + 1)), history)
        one_by_one += [i] * bool(found)
        new = build_timeline(row.without_outliers(), scaler, fill_covariates=True)
        history = history.appended(new)
    assert one_by_one == at_once


def test_of_two_alike_values_the_second_is_an_outlier_too():
    """A meter that repeats itself, and prices, whose jumps know no limit."""
    values = quiet_nights(1100)
    values[[1032, 1033]] = 150
    usual, history, _ = fitted(values[:1008])
    assert rows_of(usual.clean(later(values[1008:], 1008), history)[2]) == [24, 25]
    prices = 60 * np.exp(0.4 * np.random.default_rng(0).standard_t(4, size=1600))
    prices[[1510, 1511]] *= 10_000
    usual, history, _ = fitted(prices[:1500])
    assert np.isinf(usual.jump_limits).all()
    assert rows_of(usual.clean(later(prices[1500:], 1500), history)[2]) == [10, 11]


def test_jumps_may_grow_with_their_series():
    """Twice the size, twice the jumps."""
    values = quiet_nights(2200)
    values[1100:] *= np.linspace(1, 6, 1100)
    usual, history, _ = fitted(values[:1008])
    assert not usual.clean(later(values[1008:], 1008), history)[2]


def test_what_follows_a_gap_is_not_compared_with_the_day_before():
    """Nobody knows how far it went meanwhile."""
    values = quiet_nights(1009)
    usual, history, _ = fitted(values[:1009])
    for n, found in ((1009, [0]), (1011, [])):
        assert rows_of(usual.clean(later([120.0], n), history)[2]) == found


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6])
@pytest.mark.parametrize("last", [3, 7, 150])
def test_a_series_is_brought_to_the_unit_of_its_last_rows(factor, last):
    """Of the whole day, at once; one warning says so."""
    values = quiet_nights(400)
    spoilt = values.copy()
    spoilt[-last:] *= factor
    rows, changes = in_last_unit(table(spoilt), targets=True)
    np.testing.assert_allclose(rows.columns[0], values * factor)
    assert changes == [(400 - last, 0, pytest.approx(factor))]


def test_what_grows_or_begins_is_in_one_unit():
    """A hundred times as large at another hour, a launch, a new price, zeros before."""
    launch = np.append(np.random.default_rng(0).poisson(2, 200), quiet_nights(200) * 10)
    growth = np.exp(np.arange(400) / 20)
    sales = np.where(np.arange(400) % 50 == 0, 500.0, 0.0)
    odd = quiet_nights(400) * np.where(np.arange(400) < 200, 1, 3000)  # no power of ten
    prices = np.repeat([1234.0, 1.5], [200, 200])
    for values in (
        quiet_nights(400),
        launch,
        growth,
        sales,
        odd,
        prices,
        quiet_nights(400) - 100,
    ):
        rows = table(values)
        same, changes = in_last_unit(rows, targets=True)
        assert same is rows
        assert not changes


def test_what_crosses_zero_is_in_one_unit():
    """An hour close to zero before a common one, of a sensor that knows steps; signs that turn."""
    day = np.sin(np.arange(96) * 2 * np.pi / 96)
    quarters = np.tile(np.where(np.abs(day) < 0.3, 0.0013, day), 8)
    quarters[388:400] = 1.3 + 0.01 * np.arange(12)
    assert not in_last_unit(table(quarters, freq="15min"), targets=True)[1]
    hours = np.tile(np.repeat([-0.001, 0.001], 12), 10)
    hours[-60:] = 1 + 0.01 * np.arange(60)
    assert not in_last_unit(table(hours), targets=True)[1]


def test_judgements_depend_on_earlier_rows_alone():
    """Rows in any order, with whatever comes later."""
    usual, history, _ = fitted(wave(300))
    values = wave(100, seed=1)
    values[[10, 11, 40, 41, 42, 70]] *= [1e3, 0, 50, 60, 50, -1]
    given = later(values, 300)
    whole = usual.clean(given, history)[0].outliers[:, 0]
    for stop in range(1, 100):
        part = usual.clean(given.take(slice(stop)), history)[0].outliers
        np.testing.assert_array_equal(
            np.zeros(stop) if part is None else part[:, 0], whole[:stop]
        )
    order = np.random.default_rng(0).permutation(100)
    mixed = usual.clean(given.take(order), history)[0].outliers[:, 0]
    np.testing.assert_array_equal(mixed, whole[order])


def test_a_covariate_has_its_value_of_a_day_before():
    """Columns known ahead have to be complete."""
    values = wave(300)
    rows = replace(table(values), n_targets=0)
    spoilt = replace(rows, columns=[np.where(np.arange(300) == 150, 1e5, values)])
    found = find_outliers(spoilt, targets=False)
    assert found[0].columns[0][150] == values[126]
    assert rows_of(found[2]) == [150]


def test_a_flag_in_another_unit_is_the_nearest_usual_value():
    """A season before, a weekend was none: what stands in for it may not be of another day."""
    flag = np.where(np.arange(336) % 168 < 48, 1.0, 0)
    rows = replace(table(flag), n_targets=0)
    fit, usual, _ = find_outliers(rows, targets=False)
    scaler = fit_scaler(fit.columns, fit.first_row[:-1], fit.first_row[1:], static=[])
    history = build_timeline(fit, scaler, fill_covariates=True)
    ahead = replace(later(flag[:72] * 1000, first=336), n_targets=0)
    judged, _, found = usual.clean(ahead, history)
    assert rows_of(found) == list(range(48))
    np.testing.assert_array_equal(judged.columns[0], flag[:72])


def test_what_is_rare_in_a_series_is_usual_in_its_panel():
    """A product that sold once in half a year is no typing error where others sell daily."""
    quiet = np.zeros(100)
    quiet[60] = 200.0
    assert not find_outliers(table(wave(100), quiet, wave(100, 1)), targets=True)[2]
    quiet[60] = 2e6
    assert rows_of(
        find_outliers(table(wave(100), quiet, wave(100, 1)), targets=True)[2]
    ) == [160]


def test_an_outlier_of_the_fit_leaves_no_hole():
    """Ridges would leave out all windows that hold it: a third of error more."""
    values = wave(300)
    spoilt = np.where(np.arange(300) == 150, 1e5, values)
    rows = find_outliers(table(spoilt), targets=True)[0]
    assert rows.missing is None
    assert rows.columns[0][150] == values[126]
    np.testing.assert_array_equal(rows.weight[:, 0], np.arange(300) != 150)


def plausible(kind, rng, n):
    """Draw the sales of a short table."""
    week = 1 + 0.4 * np.sin(np.arange(n) * 2 * np.pi / 7)
    promoted = np.where(rng.random(n) < 0.05, 3, 1)
    if kind in ("counts", "few"):
        return rng.poisson((20.0 if kind == "counts" else 3.0) * week)
    if kind == "lognormal":
        return np.round(20 * week * np.exp(0.5 * rng.normal(size=n)), 2)
    if kind == "promotions":
        return np.round(20 * promoted * np.exp(0.2 * rng.normal(size=n)))
    values = rng.poisson(20, n)  # with a Christmas
    values[rng.integers(n)] *= 3
    return values


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["counts", "few", "lognormal", "promotions", "Christmas"]
)
def test_short_tables_of_sales_are_believed(kind):
    """A peak that was seen once, as at Christmas, and a promotion after the fit are no errors."""
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 61))
        values = plausible(kind, rng, n + 10).astype(float)
        wrong += bool(find_outliers(table(values[:n]), targets=True)[2])
        usual, history, _ = fitted(values[:n])
        wrong += bool(usual.clean(later(values[n:], n), history)[2])
    assert wrong <= 1


@pytest.mark.parametrize("n", [30, 45, 60])
@pytest.mark.parametrize("factor", [10, 100])
def test_lost_decimal_points_of_short_tables_are_found(n, factor):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.poisson(
            60.0 * (1 + 0.2 * np.sin(np.arange(n) * 2 * np.pi / 7))
        ).astype(float)
        at = int(rng.integers(n))
        values[at] *= factor
        assert rows_of(find_outliers(table(values), targets=True)[2]) == [at]


@pytest.mark.parametrize(("n", "found"), [(15, []), (20, [5])])
def test_of_few_values_one_may_be_next_to_zero(n, found):
    """As of numbers between 0 and 1."""
    values = np.linspace(0.4, 0.9, n)
    values[5] = 0.01
    assert rows_of(find_outliers(table(values), targets=True)[2]) == found


def test_what_is_next_to_zero_is_an_outlier_as_zero_is():
    """A decimal point too far to the left; a fall to a tenth is none, nor is what comes often."""
    usual = 300 + 100 * np.sin(np.arange(200) * 2 * np.pi / 7)
    for at, value, found in ((199, 0.3, [199]), (90, 3.0, [90]), (199, 30.0, [])):
        values = usual.copy()
        values[at] = value
        assert rows_of(find_outliers(table(values), targets=True)[2]) == found
    values = np.append(usual, [0.3] * 5)
    assert not find_outliers(table(values), targets=True)[2]


def test_zeros_before_a_launch_tell_nothing_of_what_is_usual():
    """Most values were zero, so ten times the others was taken for a rare sale."""
    values = np.append(np.zeros(200), np.random.default_rng(0).normal(10, 1, 90))
    assert not find_outliers(table(values), targets=True)[2]
    values[-1] *= 10
    assert rows_of(find_outliers(table(values), targets=True)[2]) == [289]


@pytest.mark.parametrize("latitude", [40, 60])
def test_the_first_light_of_a_longer_day_is_believed(latitude):
    """Hours that were dark in the fit, or dim, are lit by the sun in the weeks after it."""
    hours = pd.date_range("2024-03-18", periods=24 * 100, freq="h")
    day = 2 * np.pi * (hours.day_of_year + 10) / 365.25
    declination = np.deg2rad(-23.44 * np.cos(day))
    angle = np.deg2rad(15 * (hours.hour - 12))
    place = np.deg2rad(latitude)
    height = np.sin(place) * np.sin(declination)
    height += np.cos(place) * np.cos(declination) * np.cos(angle)
    clouds = np.random.default_rng(0).uniform(0.6, 1, len(hours))
    light = np.maximum(1000 * height * clouds, 0)
    usual, history, _ = fitted(light[: 24 * 45])
    rows = later(light[24 * 45 :], 24 * 45)
    assert not usual.clean(rows, history)[2]
