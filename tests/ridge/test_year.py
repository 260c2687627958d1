"""The time of the year: found where it is, left where it is not, and never from later rows."""

import numpy as np
import pandas as pd
import pytest

from skinformer.ridge import calendar
from skinformer.ridge import fit as fitting
from skinformer.ridge.fit import fit_linear_path
from skinformer.ridge.sums import Problem
from skinformer.ridge.year import year_effect
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.cycle import find_cycle

SEQ, PRED = 14, 7


def cells_of(index, *, years=True):
    fields = (
        ("hour", "month", "day")
        if index[1] - index[0] < pd.Timedelta("1D")
        else ("weekday",)
    )
    fields = fields if "month" in fields else (*fields, "month", "day")
    return find_cycle(fields, calendar_values(index, fields), years=years)


def wave(index):
    return np.sin(2 * np.pi * (np.asarray(index.day_of_year) - 1) / 366)


def make_problem(values, index, *, missing=None, weight=None, n_known=0, years=True):
    values = np.asarray(values, dtype=float).reshape(len(index), -1)
    k = values.shape[1] - n_known
    effect = np.zeros((n_known, k))
    cycle = cells_of(index, years=years)
    return Problem(values, weight, missing, k, SEQ, PRED, effect, cycle)


def days(n, start="2015-01-01"):
    return pd.date_range(start, periods=n)


def origins_of(problem):
    return np.arange(SEQ, len(problem.values) - PRED + 1)


def at(table, index, problem):
    of_row, cycle = cells_of(index).of_row, problem.cycle
    return table[of_row // cycle.n_cells, of_row % cycle.n_times]


@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_a_wave_of_the_year_is_found_beside_a_trend(slope):
    """A trend is no season, and goes on."""
    index = days(3 * 365)
    line = np.arange(len(index)) / 365
    problem = make_problem(3 * wave(index) + slope * line, index)
    later = days(365, "2020-01-01")
    found = at(year_effect(problem, origins_of(problem)), later, problem)[:, 0]
    np.testing.assert_allclose(found, 3 * wave(later), atol=0.1)


def test_the_course_of_the_day_changes_with_the_year():
    """The sun warms by day, more so in summer."""
    index = pd.date_range("2015-01-01", periods=2 * 366 * 24, freq="h")
    sun = np.cos(2 * np.pi * (index.hour - 14) / 24) * (1 + wave(index))
    problem = make_problem(sun, index)
    found = at(year_effect(problem, origins_of(problem)), index, problem)[:, 0]
    np.testing.assert_allclose(found, sun, atol=0.1)


def test_each_target_has_a_year_of_its_own_and_what_is_known_otherwise_is_taken_off_first():
    index = days(900)
    known = np.random.default_rng(0).normal(size=900)
    values = np.column_stack([wave(index) + 5 * known, -2 * wave(index), known])
    problem = make_problem(values, index, n_known=1)._replace(
        effect=np.array([[5.0, 0.0]])
    )
    found = at(year_effect(problem, origins_of(problem)), index, problem)
    np.testing.assert_allclose(found, wave(index)[:, None] * [1, -2], atol=0.1)


@pytest.mark.parametrize("how", ["missing", "weight"])
def test_rows_without_truth_say_nothing(how):
    index = days(900)
    values = wave(index)
    gone = np.random.default_rng(0).random((900, 1)) < 0.2
    values[gone[:, 0]] = 0.9
    given = {"missing": gone} if how == "missing" else {"weight": (~gone).astype(float)}
    problem = make_problem(values, index, **given)
    found = at(year_effect(problem, origins_of(problem)), index, problem)[:, 0]
    np.testing.assert_allclose(found, wave(index), atol=0.1)


def test_a_typing_error_bends_no_year():
    index = days(3 * 365)
    values = wave(index)
    values[500] = 9831.0
    problem = make_problem(values, index)
    found = at(year_effect(problem, origins_of(problem)), index, problem)[:, 0]
    np.testing.assert_allclose(found, wave(index), atol=0.1)


@pytest.mark.parametrize(("n", "years"), [(340, True), (900, False)])
def test_nothing_is_said_of_days_that_were_not_seen(n, years):
    problem = make_problem(wave(days(n)), days(n), years=years)
    assert year_effect(problem, origins_of(problem)) is None


def test_rows_after_the_last_window_are_not_read():
    index = days(1200)
    values = wave(index)
    changed = values.copy()
    changed[900:] = 77.0
    one, other = (
        year_effect(problem, origins_of(problem)[: 900 - SEQ - PRED + 1])
        for problem in (make_problem(v, index) for v in (values, changed))
    )
    np.testing.assert_array_equal(one, other)


# --- single days ------------------------------------------------------------------------------


def trade(index, seed=0, noise=0.3):
    """Six more in December, on a level that wanders."""
    rng = np.random.default_rng(seed)
    wandering = np.cumsum(rng.normal(0, 0.05, len(index)))
    return 6.0 * (index.month == 12) + wandering + rng.normal(0, noise, len(index))


@pytest.mark.parametrize("freq", ["D", "12h", "B"])
def test_a_month_that_begins_and_ends_at_once_is_found_to_the_day(freq):
    index = pd.date_range("2015-01-01", "2018-12-31", freq=freq)
    problem = make_problem(trade(index), index)
    year = year_effect(problem, origins_of(problem)).mean(axis=1)[:, 0]
    november, december, january = 10 * 31, 11 * 31, 0
    rise = year[december + 1 : december + 4] - year[november + 26 : november + 29]
    fall = year[december + 27 : december + 30] - year[january + 1 : january + 4]
    assert rise.mean() > 4
    assert fall.mean() > 4


@pytest.mark.parametrize("n_years", [2, 4])
def test_what_came_in_one_year_alone_is_no_season(n_years):
    """Nor is noise, nor a walk."""
    index = days(n_years * 365)
    rng = np.random.default_rng(1)
    level = 6.0 * ((np.arange(len(index)) - 150) % 10_000 < 30)
    for values in (
        level + rng.normal(0, 0.3, len(index)),
        rng.normal(size=len(index)),
        rng.normal(size=len(index)).cumsum(),
    ):
        problem = make_problem(values, index)
        year = year_effect(problem, origins_of(problem))[:, 0, 0]
        # Waves of half a year change slowly from day to day.
        assert np.abs(np.diff(year[62:90])).max() < 0.06 * values.std()


def test_less_than_a_year_and_a_half_shows_no_single_days():
    """Two Decembers alone are none: 500 days and 560 of the same level."""
    rises = []
    for n_rows in (500, 560):
        index = days(n_rows, "2015-11-01")
        problem = make_problem(trade(index), index)
        year = year_effect(problem, origins_of(problem))[:, 0, 0]
        rises.append(year[11 * 31 + 2] - year[10 * 31 + 27])
    assert rises[0] < 1 < 3 < rises[1]


def test_ridges_forecast_the_day_on_which_trade_begins():
    index = days(4 * 365 + 334, "2015-01-01")
    problem = make_problem(trade(index), index)
    found = fit(problem)[0].calendar
    assert found.year[11 * 31 + 3, 0, 0] - found.year[10 * 31 + 27, 0, 0] > 4


# --- where ridges are fitted beside it ---------------------------------------------------------


def walk(index, size, seed=0):
    noise = np.random.default_rng(seed).normal(size=len(index))
    return size * wave(index) + noise


def fit(problem, split=None, refit=False):
    origins = origins_of(problem)
    return fit_linear_path(problem, origins, origins, split=split, refit=refit)[:2]


@pytest.mark.parametrize(("size", "taken"), [(4.0, True), (0.0, False)])
def test_the_year_is_taken_where_it_helps_on_later_rows(size, taken):
    index = days(3 * 365)
    found = fit(make_problem(walk(index, size), index))[0].calendar
    assert (found is not None and found.year.size > 0) == taken


@pytest.mark.parametrize(
    ("gains", "taken"),
    [
        ([0.009, 0.009], False),
        ([0.011, 0.011], True),
        ([0.1, 0.0], False),  # by chance: a mean of .05 and an error of .05
        ([0.1, 0.05], True),
    ],
)
def test_a_gain_of_a_hundredth_has_to_be_sure(gains, taken, monkeypatch):
    index = days(3 * 365)
    errors, logs = fitting.mixed_errors, iter([np.zeros(2), -np.array(gains)])

    def given(stretches, weights, *args):
        # Of a map beside the last value: whether there is a calendar at all.
        if len(weights) == 2:
            return errors(stretches, weights, *args)
        return np.exp(next(logs))

    monkeypatch.setattr(fitting, "mixed_errors", given)
    found = fit(make_problem(walk(index, 4.0), index))[0].calendar
    assert (found is not None and found.year.size > 0) == taken


def test_columns_known_ahead_keep_their_effect_beside_the_year():
    index, rng = days(3 * 365), np.random.default_rng(1)
    known = rng.normal(size=len(index))
    values = np.column_stack([walk(index, 4.0) + 3 * known, known])
    found = fit(make_problem(values, index, n_known=1))[0].calendar
    assert found.year.size
    np.testing.assert_allclose(found.known[..., 0, 0], 3.0, atol=0.3)
    assert found.bounds[0] < 0 < found.bounds[1]


def test_the_tail_reaches_the_year_of_forecasts_alone():
    """The network is judged on the split, beside a year that must not have seen it."""
    index = days(3 * 365)
    values = walk(index, 4.0)
    changed = values.copy()
    changed[950:] += 3
    (one, new), (two, other) = (
        fit(make_problem(v, index), split=950, refit=True) for v in (values, changed)
    )
    assert one.calendar is not None
    np.testing.assert_array_equal(one.calendar.year, two.calendar.year)
    assert not np.array_equal(one.calendar.year, new.calendar.year)
    assert not np.array_equal(new.calendar.year, other.calendar.year)


def test_what_was_judged_had_not_seen_the_stretches(monkeypatch):
    """A wave that has seen the answers wins without being good."""
    seen, find = [], calendar.year_effect

    def spy(problem, origins):
        seen.append(origins)
        return find(problem, origins)

    monkeypatch.setattr(calendar, "year_effect", spy)
    index = days(3 * 365)
    problem = make_problem(walk(index, 4.0), index)
    fit(problem, split=950)
    n_training = 950 - PRED
    assert seen[0].max() + PRED <= SEQ + (n_training - SEQ) // 2 + 1
    assert seen[1].max() == n_training
