"""Steps: rows before one are moved to the level behind it, and nothing else is."""

import numpy as np
import pytest

from skinformer.classical.past import Past
from skinformer.classical.steps import Step, returns, without_step

WEEK = np.array([3.0, -1, 0, 2, -4, 1, -1])


def moved(rows, season=7):
    """Take the step off one window."""
    rows = np.asarray(rows, dtype=float)
    return without_step(
        Past(rows[None], np.arange(len(rows) + 1)[None]), season
    ).values[0]


def weeks(n_rows, *, seed=0, noise=0.5):
    return np.resize(WEEK, n_rows) + noise * np.random.default_rng(seed).normal(
        size=n_rows
    )


@pytest.mark.parametrize("height", [40, -40])
@pytest.mark.parametrize("ago", [3, 7, 10, 30])
def test_rows_before_a_step_are_moved_to_the_level_behind_it(ago, height):
    plain = weeks(60)
    stepped = plain + height * (np.arange(60) >= 60 - ago)
    np.testing.assert_allclose(moved(stepped), plain + height, atol=1)


def test_a_step_need_not_tower_over_noise():
    """Six standard deviations of the seasonal differences are enough."""
    plain = weeks(100, noise=3)
    stepped = plain + 26 * (np.arange(100) >= 85)
    np.testing.assert_allclose(moved(stepped), plain + 26, atol=4)


def test_a_step_long_ago_is_moved_as_well():
    plain = weeks(200)
    stepped = plain + 40 * (np.arange(200) >= 50)
    np.testing.assert_allclose(moved(stepped), plain + 40, atol=1)


@pytest.mark.parametrize("ago", [5, 12])
@pytest.mark.parametrize("slope", [-1.0, 1.0])
@pytest.mark.parametrize("height", [40, -40])
def test_growth_neither_undoes_nor_makes_a_step(height, slope, ago):
    plain = weeks(60) + slope * np.arange(60)
    stepped = plain + height * (np.arange(60) >= 60 - ago)
    np.testing.assert_allclose(moved(stepped), plain + height, atol=1.5)


def test_a_step_against_growth_without_a_season_shows_as_well():
    plain = 3.0 * np.arange(30) + np.random.default_rng(0).normal(size=30)
    stepped = plain - 40 * (np.arange(30) >= 25)
    np.testing.assert_allclose(moved(stepped, 1), plain - 40, atol=3)


def test_without_a_season_a_step_shows_as_well():
    plain = np.random.default_rng(0).normal(size=30)
    stepped = plain + 40 * (np.arange(30) >= 22)
    np.testing.assert_allclose(moved(stepped, 1), plain + 40, atol=3)


@pytest.mark.parametrize(
    "rows",
    [
        weeks(60),
        weeks(60) + np.arange(60),
        np.exp(0.05 * np.arange(60)) * (10 + np.resize(WEEK, 60)),
        np.full(60, 7.0),
        np.zeros(60),
        weeks(10) + 40 * (np.arange(10) > 6),
        np.resize([0.0] * 6 + [40.0], 60),
    ],
    ids=["season", "line", "growth", "constant", "zero", "few rows", "peaks"],
)
def test_nothing_else_is_a_step(rows):
    np.testing.assert_array_equal(moved(rows), rows)


@pytest.mark.parametrize("n_last", [1, 2])
def test_one_or_two_last_rows_are_no_step_yet(n_last):
    rows = weeks(60) + 40 * (np.arange(60) >= 60 - n_last)
    np.testing.assert_array_equal(moved(rows), rows)


def test_walks_seldom_hold_a_step():
    """What wanders is at its level at once, too, but not so far."""
    walks = np.random.default_rng(0).normal(size=(200, 100)).cumsum(axis=1)
    found = without_step(Past(walks, np.tile(np.arange(101), (200, 1))), 7).values
    assert ((found != walks).any(axis=1)).mean() < 0.05


def test_gaps_stay_and_hide_no_step():
    plain = weeks(60)
    stepped = plain + 40 * (np.arange(60) >= 50)
    gone = np.random.default_rng(1).random(60) < 0.2
    stepped[gone] = np.nan
    found = moved(stepped)
    assert (np.isnan(found) == gone).all()
    np.testing.assert_allclose(found[~gone], plain[~gone] + 40, atol=1)


@pytest.mark.parametrize("n_unknown", [1, 3, 8, 20])
def test_rows_that_are_not_known_yet_hide_no_step(n_unknown):
    """They lie between the history and the steps that are forecast from forecasts."""
    plain = weeks(80)
    stepped = plain + 40 * (np.arange(80) >= 70 - n_unknown)
    stepped[80 - n_unknown :] = np.nan
    found = moved(stepped)[: 80 - n_unknown]
    np.testing.assert_allclose(found, plain[: 80 - n_unknown] + 40, atol=1)


def test_each_window_has_its_own_step():
    plain = weeks(60)
    stepped = plain + 40 * (np.arange(60) >= 50)
    both = np.stack([plain, stepped])
    found = without_step(Past(both, np.tile(np.arange(61), (2, 1))), 7).values
    np.testing.assert_array_equal(found[0], plain)
    np.testing.assert_array_equal(found[1], moved(stepped))


@pytest.mark.parametrize("n_recovered", [3, 4, 5])
def test_a_collapse_and_its_recovery_are_no_steps(n_recovered):
    """The level is what it was before: rows are moved neither down nor up."""
    n_rows, season = 300, 7
    n_moved = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        profile = rng.normal(0, 50, season)
        values = 300 + profile[np.arange(n_rows) % season] + rng.normal(0, 10, n_rows)
        since = np.arange(n_rows) - (n_rows - n_recovered - 8)
        level = 0.05 + 0.95 * np.clip(since / 8, 0, 1)
        values *= np.where(since < 0, 1.0, level)
        past = Past(values[None], np.arange(n_rows + 1)[None])
        n_moved += (without_step(past, season).values != past.values).any()
    assert n_moved == 0


def test_a_lockdown_of_seventeen_days_is_a_step():
    """It has not been undone, and goes on."""
    rng = np.random.default_rng(0)
    n_rows, season = 120, 7
    values = 300 + 60 * np.sin(2 * np.pi * np.arange(n_rows) / season)
    values += rng.normal(0, 8, n_rows)
    values[-17:] -= 200
    past = Past(values[None], np.arange(n_rows + 1)[None])
    moved = without_step(past, season).values[0]
    assert abs(moved[:-17].mean() - moved[-14:].mean()) < 10


@pytest.mark.parametrize("factor", [0.3, 2.5])
@pytest.mark.parametrize("ago", [10, 17, 40])
def test_a_level_that_was_multiplied_keeps_its_pattern(factor, ago):
    """The amplitude of the season is multiplied, too."""
    plain = 100 + 5 * weeks(120)
    stepped = plain * np.where(np.arange(120) < 120 - ago, 1.0, factor)
    np.testing.assert_allclose(moved(stepped), factor * plain, rtol=0.05)


def test_rows_below_zero_are_moved_by_addition():
    plain = 20 + 10 * weeks(120)
    stepped = plain * np.where(np.arange(120) < 103, 1.0, 3.0)
    before = moved(stepped)[:103] - plain[:103]
    np.testing.assert_allclose(before, before[0])


@pytest.mark.parametrize("drift", [0.1, 0.2])
def test_another_step_before_is_no_pattern_that_is_multiplied(drift):
    """Months without a season: the mean of four years rises where one year's level did."""
    levels = np.repeat([1.0, 2.4, 7.0], [105, 20, 6])
    plain = 150 + np.random.default_rng(1).normal(0, 8, 131)
    # Behind the step it happens to rise, too.
    rises = np.where(np.arange(131) >= 125, drift * (np.arange(131) - 127.5), 0)
    stepped = levels * plain * (1 + rises)
    past = Past(stepped[None], np.arange(132)[None])
    before = without_step(past, 12).values[0][:125] - stepped[:125]
    assert before[0] > 0
    np.testing.assert_allclose(before, before[0])


# --- steps that return in a longer season -------------------------------------------------------

YEAR = 52 * 7


def returning(rows, n_behind, height=40.0):
    """Return whether a step so many rows before the end returns."""
    past = Past(rows[None], np.arange(len(rows) + 1)[None])
    step = Step(np.array([height]), np.array([len(rows) - n_behind]))
    return bool(returns(past, step, 7, YEAR)[0])


def december(n_rows, *, n_behind, height=40.0, n_days=31):
    """Return days of which so many last ones belong to a season of so many days a year."""
    place = (np.arange(n_rows) - (n_rows - n_behind)) % YEAR
    return weeks(n_rows) + height * (place < n_days)


@pytest.mark.parametrize("height", [40.0, -40.0])
@pytest.mark.parametrize("n_behind", [3, 10, 28, 34, 100, 250])
def test_the_trade_of_december_is_no_step_nor_is_its_end(height, n_behind):
    """Neither of this year nor of years before."""
    rows = december(800, n_behind=n_behind, height=height)
    np.testing.assert_array_equal(
        without_step(Past(rows[None], np.arange(801)[None]), 7, YEAR).values[0], rows
    )


def test_what_may_be_the_trade_of_december_is_a_step_where_no_other_year_is_known():
    rows = december(800, n_behind=10)[-120:]
    assert not np.array_equal(moved(rows), rows)


def test_a_season_that_begins_some_days_later_is_the_same():
    rows = december(800, n_behind=14)
    rows[800 - 14 - YEAR - 3 : 800 - 14 - YEAR] += 40
    assert returning(rows, 14)


def test_levels_that_rise_every_year_and_stay_are_steps():
    rows = weeks(800) + 40.0 * (np.arange(800) >= 790) + 40.0 * (np.arange(800) >= 426)
    assert not returning(rows, 10)


def test_a_step_of_which_the_year_before_is_not_known_does_not_return():
    rows = december(800, n_behind=10)
    assert returning(rows, 10)
    rows[:480] = np.nan
    assert not returning(rows, 10)


def test_a_step_beside_last_years_season_does_not_return():
    rows = december(800, n_behind=160) + 60.0 * (np.arange(800) >= 790)
    assert not returning(rows, 10, height=60.0)
