"""Seasonal profiles of windows with gaps, by hand."""

import numpy as np
import pytest

from skinformer.classical.past import Past
from skinformer.classical.profiles import (
    around_level,
    last_values,
    moving_mean,
    nearest,
    place_means,
)

NAN = np.nan


def past_of(values, wall=None, horizon=2):
    values = np.atleast_2d(np.array(values, dtype=float))
    n_rows = values.shape[1] + horizon
    wall = np.arange(n_rows) if wall is None else np.array(wall)
    return Past(values, np.broadcast_to(wall, (len(values), n_rows)))


def test_places_are_averaged_over_the_rows_that_are_known():
    past = past_of([[1, 5, NAN, 3, NAN, NAN, 8], [0, 2, 4, 6, 8, 10, 12]])
    np.testing.assert_array_equal(place_means(past, 3), [[4, 5, NAN], [6, 5, 7]])


def test_an_older_season_counts_less():
    past = past_of([4, 0, 4, 6, 16, 6])
    np.testing.assert_allclose(
        place_means(past, 2, 0.5), [[(1 + 2 + 16) / 1.75, (3 + 6) / 1.75]]
    )


def test_places_follow_the_wall_where_it_jumps():
    past = past_of([1, 2, 3, 2, 3, 1], wall=[0, 1, 2, 4, 5, 6, 7, 8])
    np.testing.assert_array_equal(place_means(past, 3), [[1, 2, 3]])


def test_the_last_value_of_each_place_stays():
    past = past_of([[1, 5, NAN, 3, NAN, NAN, NAN], [0, 2, 4, 6, 8, 10, 12]])
    np.testing.assert_array_equal(last_values(past, 3), [[3, 5, NAN], [12, 8, 10]])


def test_a_place_never_observed_has_the_value_of_the_nearest_one():
    profile = np.array(
        [[1, NAN, 3, NAN, NAN, NAN, 7], [NAN, NAN, NAN, NAN, 6, NAN, NAN]]
    )
    np.testing.assert_array_equal(nearest(profile), [[1, 2, 3, 3, 5, 7, 7], [6] * 7])


def test_the_last_place_lies_beside_the_first():
    np.testing.assert_array_equal(
        nearest(np.array([[NAN, 2, NAN, NAN, NAN, 9.0]]))[0, 0], 5.5
    )
    np.testing.assert_array_equal(
        nearest(np.array([[NAN, NAN, 2, NAN, NAN, 9.0]]))[0, 0], 9
    )


def test_a_whole_profile_stays():
    np.testing.assert_array_equal(nearest(np.array([[3.0, 1.0, 2.0]])), [[3, 1, 2]])


def decomposed(values, season):
    """Average what stands off the moving mean of a whole season, as the textbook says."""
    half, distances = season // 2, [[] for _ in range(season)]
    for row in range(half, len(values) - half):
        part = values[row - half : row + half + 1].copy()
        if season % 2 == 0:
            part[[0, -1]] /= 2
        distances[row % season].append(values[row] - part.sum() / season)
    means = np.array([np.mean(some) for some in distances])
    return means - means.mean()


@pytest.mark.parametrize("season", [4, 5, 12])
def test_of_a_long_window_the_profile_is_next_to_the_textbooks(season):
    """Which leaves out half a season at both ends."""
    rng = np.random.default_rng(0)
    wave = rng.normal(size=season)
    values = wave[np.arange(100 * season) % season] + rng.normal(size=100 * season)
    ours = around_level(past_of(values), season, 1.0)[0]
    np.testing.assert_allclose(ours, decomposed(values, season), atol=0.03)


def test_a_profile_around_a_level_has_no_level_of_its_own():
    values = np.random.default_rng(0).normal(50, 9, size=(3, 30)).cumsum(axis=1)
    values[1, 4:9] = NAN
    np.testing.assert_allclose(
        around_level(past_of(values), 7, 0.8).mean(axis=1), 0, atol=1e-12
    )


def test_a_level_that_moves_slowly_is_no_profile():
    slow = past_of([100 + 3 * np.arange(80.0), 100 + 9 * np.sin(np.arange(80) / 30)])
    assert np.abs(around_level(slow, 4, 0.8)).max() < 1  # 12 and more a season


def test_late_seasons_count_more_around_a_level():
    wave = np.array([2.0, -1.0, -3.0, 2.0])
    turned = past_of(np.concatenate([np.tile(wave, 10), np.tile(-wave, 10)]))
    even, late = (
        around_level(turned, 4, decay)[0] @ -wave / (wave @ wave) for decay in (1, 0.8)
    )
    assert abs(even) < 0.1
    assert late > 0.7


def test_a_place_never_observed_stands_on_the_level():
    wave = np.tile([5.0, 1.0, NAN, 1.0, 1.0], 8)
    profile = around_level(past_of(wave), 5, 0.8)[0]
    assert profile[2] == pytest.approx(-(profile[[0, 1, 3, 4]]).sum())
    assert profile[1] < profile[2] < profile[0]


def test_a_season_seen_once_is_the_profile():
    """Means of half a season at its ends would take it for a level."""
    wave = 20 * np.sin(2 * np.pi * np.arange(12) / 12)
    np.testing.assert_allclose(around_level(past_of(wave), 12, 0.8)[0], wave, atol=1.3)


def test_what_stands_alone_in_a_hole_is_compared_with_the_level_around_it():
    rows = np.arange(72)
    values = 50 + np.array([3.0, -3.0, 0.0, 0.0])[rows % 4]
    values[(rows % 4 == 2) | ((rows > 23) & (rows < 48))] = NAN
    seen = np.where(rows == 34, 62.0, values)
    without, profile = (around_level(past_of(row), 4, 1.0)[0] for row in (values, seen))
    assert profile[2] - profile[3] == pytest.approx(12 + without[2] - without[3], abs=1)


def test_moving_means_are_interpolated_at_unknown_rows_alone(monkeypatch):
    """Only half a season at either end has none; the rows between are not computed again."""
    asked = []
    interp = np.interp

    def counted(rows, *knots):
        asked.append(len(rows))
        return interp(rows, *knots)

    monkeypatch.setattr(np, "interp", counted)
    means = moving_mean(np.arange(200.0)[None], 7)
    np.testing.assert_allclose(means[0, 3:-3], np.arange(3.0, 197.0))
    assert asked == [6]
