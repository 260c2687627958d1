"""Seasonal effects by classical decomposition."""

import numpy as np
import pytest

from skinformer.classical.seasons import adjusted, effects, last_seasons, repeated


def decomposition(y, m):
    """Give the effects of the next rows by the textbook's steps, one row at a time."""
    half = m // 2
    distances = [[] for _ in range(m)]
    for row in range(half, len(y) - half):
        if m % 2:
            average = y[row - half : row + half + 1].mean()
        else:
            inner = y[row - half + 1 : row + half].sum()
            average = (y[row - half] / 2 + inner + y[row + half] / 2) / m
        distances[(row - len(y)) % m].append(y[row] - average)
    means = np.array([np.mean(d) for d in distances])
    return means - means.mean()


@pytest.mark.parametrize("period", [4, 5, 12])
def test_effects_equal_the_textbooks_steps(period):
    past = np.random.default_rng(0).normal(size=(3, 40)).cumsum(axis=1)
    length = np.array([40, 2 * period + 3, 2 * period])
    ours = effects(past, length, period)
    for i, n in enumerate(length):
        np.testing.assert_allclose(ours[i], decomposition(past[i, -n:], period), atol=1e-12)


def test_fewer_than_two_seasons_have_no_effects():
    past = np.random.default_rng(0).normal(size=(1, 40))
    assert not effects(past, np.array([23]), 12).any()
    assert not effects(past[:, :20], np.array([20]), 12).any()


def test_a_pure_season_is_taken_out_and_put_back():
    season = np.array([3.0, -1.0, -2.0])
    past = np.tile(season, 5)[None] + 7
    found = effects(past, np.array([15]), 3)
    np.testing.assert_allclose(adjusted(past, found), 7)
    np.testing.assert_allclose(7 + repeated(found, 4), 7 + season[[0, 1, 2, 0]][None])


def test_last_seasons_are_means_of_the_rows_that_exist():
    past = np.arange(8.0)[None]
    np.testing.assert_array_equal(last_seasons(past, np.array([8]), 3, 1), [[5, 6, 7]])
    np.testing.assert_array_equal(last_seasons(past, np.array([8]), 3, 2), [[3.5, 4.5, 5.5]])
    # Row 1 is not the window's own: the first phase has one row.
    np.testing.assert_array_equal(last_seasons(past, np.array([5]), 3, 2), [[5, 4.5, 5.5]])
    # A phase that was never seen has the last value.
    np.testing.assert_array_equal(last_seasons(past, np.array([2]), 3, 2), [[7, 6, 7]])
