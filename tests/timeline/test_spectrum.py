"""A season of any number of rows is found where rows show one, and nowhere else."""

import numpy as np
import pytest

from skinformer.timeline.spectrum import search_period


def wave(n_rows, season, seed=0, noise=3.0):
    """Return a wave with noise, whose phase is random."""
    rng = np.random.default_rng(seed)
    turns = np.arange(n_rows) / season + rng.random()
    return 100 + 20 * np.sin(2 * np.pi * turns) + rng.normal(0, noise, n_rows)


@pytest.mark.parametrize(
    ("season", "n_rows"), [(9, 22), (9, 45), (20, 50), (20, 100), (37, 120), (168, 800)]
)
def test_a_wave_is_found_in_few_seasons(season, n_rows):
    """Two and a half seasons show it."""
    assert search_period([wave(n_rows, season)]) == season


def test_a_wave_on_a_trend_or_a_walk_is_found():
    """Neither is a season, nor hides one."""
    rng = np.random.default_rng(0)
    rows = np.arange(100)
    assert search_period([wave(100, 20) + rows]) == 20
    assert search_period([wave(100, 9) + 3 * rng.normal(size=100).cumsum()]) == 9


@pytest.mark.parametrize("season", [9, 20])
def test_a_profile_that_is_no_wave_is_found(season):
    """Any profile consists of waves."""
    rng = np.random.default_rng(1)
    profile = rng.normal(100, 20, season)
    values = np.resize(profile, 5 * season) + rng.normal(0, 5, 5 * season)
    assert search_period([values]) == season


@pytest.mark.parametrize(
    "kind", ["noise", "walk", "trend", "intermittent", "constant", "line"]
)
def test_chance_has_no_season(kind):
    """Of twenty draws one may look like a season."""
    n_rows = 60
    n_found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=n_rows)
        values = {
            "noise": noise,
            "walk": noise.cumsum(),
            "trend": noise + np.arange(n_rows),
            "intermittent": rng.poisson(5, n_rows) * (rng.random(n_rows) < 0.15),
            "constant": np.full(n_rows, 5.0 + seed / 7),
            "line": 5.0 + seed / 7 * np.arange(n_rows),
        }[kind]
        n_found += search_period([values]) > 1
    assert n_found <= 1


def test_series_of_a_panel_say_together_what_each_hides():
    """Noise of thirty series is not the same, and their season is."""
    panel = [wave(40, 9, seed, noise=20.0) for seed in range(30)]
    assert search_period(panel[:1]) == 1
    assert search_period(panel) == 9


def test_rows_too_few_show_nothing():
    """No row, one, or less than two seasons of the shortest wave."""
    assert search_period([]) == 1
    assert search_period([np.ones(1), np.arange(4.0)]) == 1
