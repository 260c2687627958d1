"""The period is found by a test on the data."""

import numpy as np
import pytest

from skinformer.timeline.periods import find_period


def panel(n_series, n_rows, period, *, strength, seed=0):
    rng = np.random.default_rng(seed)
    walks = rng.normal(size=(n_series, n_rows)).cumsum(axis=1)
    season = rng.normal(size=(n_series, period)) * strength
    values = walks + season[:, np.arange(n_rows) % period]
    return values.ravel(), np.arange(n_series + 1) * n_rows


@pytest.mark.parametrize(("period", "n_rows"), [(4, 24), (7, 60), (12, 40), (12, 130)])
def test_a_season_is_found_among_others(period, n_rows):
    assert find_period(*panel(20, n_rows, period, strength=3), [4, 7, 12]) == period


@pytest.mark.parametrize("n_rows", [20, 60, 400])
def test_walks_have_no_season(n_rows):
    # A guess by name would give monthly walks a season of 12.
    for candidate in (4, 7, 12):
        assert find_period(*panel(50, n_rows, 4, strength=0), [candidate]) == 1


def test_a_season_of_some_series_is_enough():
    # The others are not harmed: candidates without seasons compete for each of them.
    seasonal, _ = panel(10, 60, 12, strength=3)
    walks, _ = panel(30, 60, 12, strength=0, seed=1)
    values = np.concatenate([seasonal, walks])
    assert find_period(values, np.arange(41) * 60, [12]) == 12


def test_the_shortest_of_equal_periods_is_taken():
    assert find_period(*panel(20, 120, 6, strength=3), [6, 12, 24]) == 6


def test_scale_shift_and_series_too_short_change_nothing():
    values, first_row = panel(20, 60, 7, strength=3)
    assert find_period(1e6 * values - 1e7, first_row, [5, 7]) == 7
    short = np.concatenate([values, np.arange(9.0)])
    assert find_period(short, np.append(first_row, len(short)), [5, 7]) == 7


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_series_have_no_season(value):
    assert find_period(np.full(60, value), np.array([0, 60]), [12]) == 1


def test_what_a_year_does_is_found_in_noisy_weeks():
    """From week to week noise is ten times as large."""
    rng, t = np.random.default_rng(0), np.arange(160)
    year = 2 * np.sin(2 * np.pi * t / 52) + rng.normal(size=(20, 160))
    walks = rng.normal(size=(20, 160)).cumsum(axis=1)
    found = [find_period(y.ravel(), np.arange(21) * 160, [52]) for y in (year, walks)]
    assert found == [52, 1]
