"""What is known of windows, where it begins and ends, and from which row on a series is alive."""

import numpy as np
import pytest

from skinformer.classical.past import Past, begun

NAN = np.nan
PAST = Past(
    np.array([[NAN, NAN, 4.0, NAN, 8.0, NAN], [NAN, 3.0, 1.0, 2.0, 5.0, 7.0]]),
    np.array([np.arange(8), np.arange(5, 13)]),
)


def first_alive(*values):
    values = np.array(values, dtype=float)
    return begun(np.nan_to_num(values), ~np.isnan(values))


def test_ends_are_the_first_and_the_last_known_row():
    assert [PAST.first.tolist(), PAST.last.tolist()] == [[2, 1], [4, 5]]
    assert PAST.last_value.tolist() == [8, 7]


def test_the_drift_counts_the_rows_between_the_ends():
    assert PAST.drift.tolist() == [2, 1]


def test_two_neighbours_have_the_drift_of_their_difference():
    past = Past(np.array([[5.0, 8.0]]), np.arange(3)[None])
    assert past.drift.tolist() == [3]


def test_a_single_row_has_no_drift():
    past = Past(np.array([[NAN, 5.0, NAN]]), np.arange(4)[None])
    assert past.drift.tolist() == [0]


def test_places_are_those_on_the_wall():
    assert PAST.places(3).tolist() == [[0, 1, 2, 0, 1, 2], [2, 0, 1, 2, 0, 1]]


def test_profiles_are_repeated_at_each_windows_places():
    now, ahead = PAST.repeat(np.array([[10.0, 11, 12], [20, 21, 22]]))
    assert now.tolist() == [[10, 11, 12, 10, 11, 12], [22, 20, 21, 22, 20, 21]]
    assert ahead.tolist() == [[10, 11], [22, 20]]


def test_columns_in_which_nothing_is_known_are_trimmed_with_their_wall():
    trimmed = PAST.trimmed()
    np.testing.assert_array_equal(trimmed.values, PAST.values[:, 1:])
    np.testing.assert_array_equal(trimmed.wall, PAST.wall[:, 1:])
    assert trimmed.horizon == PAST.horizon == 2


def test_windows_are_taken_with_their_wall():
    one = PAST.take(np.array([False, True]))
    np.testing.assert_array_equal(one.values, PAST.values[1:])
    np.testing.assert_array_equal(one.wall, PAST.wall[1:])


def test_a_series_is_alive_from_its_first_known_row():
    assert first_alive(NAN, NAN, 3.0, 4.0, 3.0) == 2


def test_a_series_is_not_alive_while_it_stands_still_at_first():
    assert first_alive(0, 0, 0, 0, 0, 5, 7, 7, 6, 8) == 5


def test_rows_that_were_not_observed_are_no_change_and_no_standstill():
    assert first_alive(NAN, 0, 0, NAN, NAN, 0, NAN, 5, 7, 6, 8) == 7
    assert first_alive(0, NAN, NAN, NAN, NAN, 5, 7, 6, 8) == 0


@pytest.mark.parametrize(("n_zeros", "wanted"), [(2, 0), (3, 3)])
def test_two_equal_rows_are_chance_and_three_a_beginning(n_zeros, wanted):
    assert first_alive(*[0] * n_zeros, 5, 7, 6, 8) == wanted


@pytest.mark.parametrize(("n_zeros", "wanted"), [(4, 0), (5, 5)])
def test_a_series_that_stands_still_again_was_alive_at_first(n_zeros, wanted):
    assert first_alive(*[0] * n_zeros, 5, 7, 7, 6) == wanted


def test_a_standstill_at_the_end_counts():
    assert first_alive(0, 0, 0, 0, 5, 7, 7) == 0
    assert first_alive(0, 0, 0, 0, 0, 0, 0, 5, 7, 7) == 7


def test_a_constant_is_alive_from_its_first_known_row():
    assert first_alive(NAN, 3.0, 3.0, 3.0, 3.0) == 1


def test_where_nothing_was_observed_nothing_is_left_out():
    assert first_alive(NAN, NAN) == 0


@pytest.mark.parametrize(
    ("horizon", "level"), [(1, 2.0), (3, 2.0), (6, 2.0), (12, 3.5)]
)
def test_the_recent_level_is_the_mean_of_the_last_third_of_a_horizon(horizon, level):
    """Of known rows, three at least."""
    values = np.array([[12.0, 8, 1, NAN, 3, 2, NAN], [NAN, NAN, NAN, 7, NAN, NAN, NAN]])
    past = Past(values, np.tile(np.arange(7 + horizon), (2, 1)))
    assert past.recent_level.tolist() == pytest.approx([level, 7.0])


def test_changes_are_from_one_known_row_to_the_next():
    values = np.array([[1.0, 3.0, NAN, 9.0, 8.0], [NAN, 5.0, NAN, NAN, 6.0]])
    past = Past(values, np.tile(np.arange(6), (2, 1)))
    np.testing.assert_array_equal(past.square_change, [2.5, NAN])


@pytest.mark.parametrize(
    ("following", "leap"), [(3.0, 0.0), (5.0, 0.0), (11.0, 3.0), (0.0, 1.5), (NAN, 0.0)]
)
def test_a_leap_is_what_lies_outside_of_the_last_three_rows(following, leap):
    """In usual changes, here of 2; a peak, as Christmas, widens what is no leap."""
    past = Past(np.array([[9.0, 7, 5, 3, 5, NAN]]), np.arange(7)[None])
    assert past.leaps_to(np.array([[following]])).tolist() == [[leap]]


@pytest.mark.parametrize("values", [[4.0, 4, 4], [1.0, NAN, 3], [NAN, NAN, 3]])
def test_where_no_row_changed_nothing_is_a_leap(values):
    past = Past(np.array([values]), np.arange(4)[None])
    assert past.leaps_to(np.array([[9.0]])).tolist() == [[0.0]]


SOLD = [5.0, 7.0, 7.0, 6.0, 8.0, 5.0, 9.0, 6.0]  # it stood still for two rows at most


def has_ended(*values, horizon=4, season=4):
    past = Past(np.array([values]), np.arange(len(values) + horizon)[None])
    return past.ended(season).tolist() == [True]


@pytest.mark.parametrize(
    ("n_still", "horizon", "expected"),
    [(8, 4, False), (9, 4, True), (9, 9, True), (9, 10, False)],
)
def test_what_stands_still_as_it_never_did_before_has_ended(n_still, horizon, expected):
    """For as many rows as are forecast, and more than four times as long as before."""
    for value in (0.0, 99.0):
        found = has_ended(*SOLD, *[value] * n_still, horizon=horizon)
        assert found is expected


@pytest.mark.parametrize(("n_still", "expected"), [(5, False), (6, True)])
def test_six_rows_at_least_stand_still(n_still, expected):
    assert has_ended(*range(8), *[3.0] * n_still, horizon=1) is expected


def test_what_may_pause_in_every_season_has_not_ended():
    """Ice cream in its first year: no winter was seen before."""
    values = *range(5), *[0.0] * 7
    assert has_ended(*values, season=5)
    assert not has_ended(*values, season=6)


def test_rows_that_are_missing_do_not_stand_still():
    assert not has_ended(*range(8), *[0.0] * 5, NAN, NAN)
    assert has_ended(*range(8), 0.0, NAN, *[0.0] * 5, NAN)


@pytest.mark.parametrize("values", [[4.0] * 30, [NAN] * 20 + [4.0] * 10])
def test_what_was_always_alike_has_not_ended(values):
    assert not has_ended(*values)


def test_each_window_ends_by_itself():
    values = np.array([[*range(8), *[0.0] * 6], [*range(14)]], dtype=float)
    past = Past(values, np.tile(np.arange(16), (2, 1)))
    assert past.ended(2).tolist() == [True, False]
