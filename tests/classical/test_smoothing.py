"""Smoothing of many windows at once equals the textbooks' recursions, written row by row."""

import numpy as np
import pytest

from skinformer.classical.smoothing import Grid, Smoothed, line, smooth

CONSTANTS = [
    (0.3, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (0.5, 0.2, 0.98),
    (0.7, 0.4, 0.8),
    (0.2, 0.9, 1.0),
]
GRID = Grid(*np.transpose(CONSTANTS))
NAN = np.nan


def component_form(values, alpha, beta, phi):
    """Give level, trend and mean error a row ahead of the damped trend in component form."""
    known = values[~np.isnan(values)]
    level, trend, missed = known[: min(max(len(known) // 2, 1), 3)].mean(), 0.0, []
    for value in values[np.flatnonzero(~np.isnan(values))[0] :]:
        ahead = level + phi * trend
        if np.isnan(value):
            level, trend = ahead, phi * trend
            continue
        missed.append(abs(value - ahead))
        new_level = alpha * value + (1 - alpha) * ahead
        trend = beta * (new_level - level) + (1 - beta) * phi * trend
        level = new_level
    return level, trend, np.mean(missed)


@pytest.mark.parametrize("constants", CONSTANTS)
def test_states_equal_the_component_form(constants):
    """Error form and component form are the same map."""
    values = np.random.default_rng(0).normal(size=(6, 20)).cumsum(axis=1)
    values[1, :7] = values[2, 5:9] = values[3, -4:] = values[4, 1:] = values[5, :16] = (
        NAN
    )
    found = smooth(values, GRID)
    g = CONSTANTS.index(constants)
    ours = np.stack([found.level[:, g], found.trend[:, g], found.missed[:, g]], axis=1)
    expected = [component_form(row, *constants) for row in values]
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)
    assert found.n_known.tolist() == [20, 13, 16, 16, 1, 4]


def test_rows_in_front_that_nobody_knows_change_nothing():
    values = np.random.default_rng(0).normal(size=(2, 12))
    alone, behind = (
        smooth(np.pad(values, ((0, 0), (n, 0)), constant_values=NAN), GRID)
        for n in (0, 50)
    )
    for one, two in zip(alone, behind, strict=True):
        np.testing.assert_array_equal(one, two)


def test_what_lies_far_back_is_forgotten():
    values = np.random.default_rng(0).normal(size=(1, 500))
    spoilt = np.where(np.arange(500) < 100, 1e9, values)
    one, two = (
        smooth(rows, Grid(*np.array([[0.05], [0.0], [0.0]])))
        for rows in (values, spoilt)
    )
    np.testing.assert_array_equal(one.level, two.level)


def test_likely_constants_are_those_that_miss_little():
    """Laplace's likelihood: errors to the power of the number of rows, of 60 at most."""
    states = Smoothed(
        np.zeros((2, 2)), np.zeros((2, 2)), np.array([[1, 1.1]] * 2), np.array([5, 9e9])
    )
    share = 1.1 ** np.array([5.0, 60.0])
    expected = (7 * share + 3) / (share + 1)
    np.testing.assert_allclose(
        states.likely(np.array([[7.0, 3.0]] * 2)), expected, rtol=1e-6
    )


def test_constants_that_never_miss_count_alike():
    states = smooth(np.full((1, 20), 4.0), GRID)
    np.testing.assert_allclose(states.likely(np.arange(5.0)[None]), 2)


def test_constants_are_chosen_with_all_that_belongs_to_them():
    states = smooth(np.random.default_rng(0).normal(size=(3, 9)), GRID)
    part = states.some(slice(2, 4))
    np.testing.assert_array_equal(part.level, states.level[:, 2:4])
    np.testing.assert_array_equal(part.trend, states.trend[:, 2:4])
    np.testing.assert_array_equal(part.missed, states.missed[:, 2:4])


def test_the_line_is_that_of_least_squares_through_the_known_rows():
    values = np.random.default_rng(0).normal(1e6, 1, size=(3, 30))
    values[1, :20] = values[2, 3:15] = values[2, -4:] = NAN
    found_end, found_slope = line(values)
    rows = np.arange(-29, 1)
    for i, row in enumerate(values):
        known = ~np.isnan(row)
        slope, end = np.polyfit(rows[known], row[known], 1)
        np.testing.assert_allclose(
            [found_slope[i, 0], found_end[i, 0] - 1e6], [slope, end - 1e6], atol=1e-7
        )


def test_the_line_of_one_row_is_level():
    end, slope = line(np.array([[NAN, 5.0, NAN]]))
    assert [end.tolist(), slope.tolist()] == [[[5]], [[0]]]


@pytest.mark.parametrize("n_behind", [399, 400, 1000])
def test_the_last_known_rows_count_however_many_unknown_ones_follow(n_behind):
    """A long recursion leaves windows of which the last rows are unknown."""
    known = 100 + np.random.default_rng(0).normal(size=(1, 450))
    grid = Grid(*np.transpose([(0.3, 0.0, 0.0), (0.5, 0.2, 0.9)]))
    now = smooth(known, grid)
    later = smooth(np.pad(known, ((0, 0), (0, n_behind)), constant_values=NAN), grid)
    damping = 0.9 ** np.arange(1, n_behind + 1)
    reached = now.level[0, 1] + damping.sum() * now.trend[0, 1]
    assert later.level[0, 0] == now.level[0, 0]
    assert later.level[0, 1] == pytest.approx(reached)
    assert later.trend[0, 1] == pytest.approx(now.trend[0, 1] * damping[-1])
