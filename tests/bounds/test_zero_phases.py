"""Phases of a day or a week at which a series was never other than zero."""

import numpy as np
import pandas as pd
import pytest

from skinformer.bounds.zero_phases import ZeroPhases, standardised_zeros
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Timeline

N = 24 * 21


def find(y, *, dated=True, known=None):
    """Find the phases of targets that are not standardised, (N, n_targets)."""
    hours = pd.date_range("2024-01-01", periods=len(y), freq="h")
    clock = clock_for(hours, hours.freq) if dated else RowClock()
    weight = None if known is None else known.astype(np.float32)
    rows = np.array([0, len(y)])
    timeline = Timeline(y.astype(np.float32), weight, rows, np.array([0]), clock)
    ones = np.ones((1, y.shape[1]))
    scaler = Scaler(0 * ones, ones, TargetScale.unbounded(*ones.shape))
    zero = standardised_zeros(scaler, 1, y.shape[1])
    return ZeroPhases.of(timeline, zero)


def by_day():
    """Make a target that is 0 at night, and one that never is."""
    y = np.ones((N, 2))
    y[np.arange(N) % 24 < 6, 0] = 0
    return y


def at(found, steps, series=0):
    return found.at(np.full(len(steps), series), np.array(steps))


def test_a_night_is_zero_for_its_own_target_and_no_new_series():
    found = find(by_day())
    steps = [N, N + 5, N + 6]
    assert at(found, steps).tolist() == [[True, False], [True, False], [False, False]]
    assert not at(found, steps, series=1).any()


def test_a_night_that_was_once_loud_is_none():
    y = by_day()
    y[24 * 10 + 2, 0] = 3
    assert at(find(y), [N + 1, N + 2])[:, 0].tolist() == [True, False]


def test_a_series_that_was_never_anything_else_has_no_nights():
    found = find(np.stack([np.zeros(N), by_day()[:, 0]], axis=1))
    assert at(found, [N, N + 6]).tolist() == [[False, True], [False, False]]


def test_truths_that_are_missing_say_nothing():
    """Whatever was filled in; an hour that was never seen may be anything."""
    y, known = by_day(), np.ones((N, 2), dtype=bool)
    known[np.arange(N) % 24 == 3] = False
    known[[24 * 9 + 2, 24 * 10 + 2]] = False
    y[24 * 10 + 2, 0] = 7
    assert at(find(y, known=known), [N + 2, N + 3])[:, 0].tolist() == [True, False]


@pytest.mark.parametrize("share", [0.03, 0.5])
def test_zeros_that_come_by_chance_are_no_night(share):
    """Twenty-one days in a row one in two times happen: once in a million."""
    y = (np.random.default_rng(0).random((N, 1)) > share).astype(float)
    assert find(y) is None


def test_where_most_values_are_zero_an_hour_that_always_was_says_nothing():
    """A rare sale may come at any time."""
    y = np.zeros((N, 1))
    y[np.arange(N) % 24 == 12] = 1
    y[np.random.default_rng(0).random(N) < 0.1] = 2
    hours = np.arange(N) % 24
    quiet = [hour for hour in range(24) if not y[hours == hour].any()]
    assert quiet
    assert find(y) is None


def test_without_dates_there_is_no_night():
    assert find(by_day(), dated=False) is None


def test_three_zeros_are_a_night_where_days_have_none():
    """Weekends are told after three weeks, nights after three days."""
    y = by_day()[:, :1]
    assert at(find(y[: 24 * 3]), [24 * 3, 24 * 3 + 6])[:, 0].tolist() == [True, False]
    assert find(y[: 24 * 2]) is None
    y[np.arange(N) % 168 >= 120] = 0
    assert at(find(y), [N + 10, N + 120 + 10])[:, 0].tolist() == [False, True]
