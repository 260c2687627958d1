"""Smoothing of many windows at once equals the textbooks' recursions, written row by row."""

import numpy as np
import pytest

from skinformer.classical.smoothing import Grid, States, continue_states, line, smooth

CONSTANTS = [(0.3, 0.0, 0.0, 0.0), (0.5, 0.2, 1.0, 0.0), (0.7, 0.4, 0.8, 0.0), (1.0, 0.0, 0.0, 0.0)]
SEASONAL = [(0.3, 0.0, 0.0, 0.4), (0.2, 0.1, 0.9, 0.2), (0.6, 0.3, 1.0, 0.0)]


def component_form(y, constants, level, trend, season, horizon):
    """Additive damped Holt-Winters in component form; `season` begins at the next row's phase."""
    alpha, beta, phi, gamma = constants
    m = len(season)
    effects = {row: season[(row - len(y)) % m] for row in range(m)}
    for row, value in enumerate(y):
        one_ahead = level + phi * trend
        new_level = alpha * (value - effects[row]) + (1 - alpha) * one_ahead
        trend = beta * (new_level - level) + (1 - beta) * phi * trend
        effects[row + m] = (
            gamma * (1 - alpha) * (value - one_ahead) + (1 - gamma * (1 - alpha)) * effects[row]
        )
        level = new_level
    reach = np.cumsum(phi ** np.arange(1, horizon + 1))
    ahead = [effects[len(y) + h % m] for h in range(horizon)]
    return level + reach * trend + ahead


@pytest.mark.parametrize("constants", CONSTANTS + SEASONAL)
def test_forecasts_equal_the_component_form(constants):
    # Error form and component form are the same map; a slip in one constant shows here.
    rng = np.random.default_rng(0)
    past = rng.normal(size=(3, 20)).cumsum(axis=1)
    level, trend = rng.normal(size=3), rng.normal(size=3) * (constants[2] > 0)
    season = rng.normal(size=(3, 4)) if constants in SEASONAL else np.zeros((3, 4))
    grid = Grid.of(constants)
    length = np.array([20, 13, 5])
    states = smooth(past, length, grid, States(level[:, None], trend, season, np.zeros(1)))
    ours = continue_states(states, grid, 9)[:, 0]
    for i, n in enumerate(length):
        expected = component_form(past[i, -n:], constants, level[i], trend[i], season[i], 9)
        np.testing.assert_allclose(ours[i], expected, rtol=1e-12)


def test_what_stands_before_a_window_does_not_matter():
    past = np.random.default_rng(0).normal(size=(2, 12))
    other = past.copy()
    other[1, :5] = 1e9
    grid, start = Grid.of(*CONSTANTS), States(np.ones((2, 4)), np.ones(2), None, np.zeros(1))
    length = np.array([12, 7])
    one, two = (smooth(p, length, grid, start) for p in (past, other))
    np.testing.assert_array_equal(one.level, two.level)
    np.testing.assert_array_equal(one.trend, two.trend)


def test_a_line_is_continued_by_every_trend_that_is_not_damped():
    # Smoothing that starts on the line must stay on it.
    past = 3 + 2 * np.arange(15.0)[None]
    grid = Grid.of((0.5, 0.2, 1.0, 0.0), (0.1, 0.9, 1.0, 0.0))
    level, trend = line(past, np.array([15]), 10)
    states = smooth(past, np.array([15]), grid, States(level[:, None], trend, None, np.zeros(1)))
    expected = np.broadcast_to(3 + 2 * np.arange(15.0, 18), (1, 2, 3))
    np.testing.assert_allclose(continue_states(states, grid, 3), expected)


def test_the_line_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    past = rng.normal(size=(2, 30))
    before, slope = line(past, np.array([30, 6]), 10)
    for i, rows in enumerate((past[0, :10], past[1, -6:])):
        expected = np.polyfit(np.arange(1, len(rows) + 1), rows, 1)
        np.testing.assert_allclose([slope[i], before[i]], expected)


def test_the_line_of_one_row_is_level():
    assert [float(a[0]) for a in line(np.array([[1.0, 5.0]]), np.array([1]), 10)] == [5.0, 0.0]
