"""Steps that are never observed."""

import numpy as np
import pandas as pd

from skinformer.bounds.closed import Closed
from skinformer.timeline.clock import clock_for
from skinformer.timeline.timeline import Timeline


def closed(known, freq="h"):
    index = pd.date_range("2024-01-01", periods=len(known), freq=freq)
    values = np.zeros((len(known), 1), dtype=np.float32)
    weight = known[:, None].astype(np.float32)
    first_row, first_step = np.array([0, len(known)]), np.array([0])
    clock = clock_for(index, index.freq)
    return Closed.of(Timeline(values, weight, first_row, first_step, clock))


def test_an_hour_that_passed_five_times_unobserved_is_closed():
    known = np.ones(24 * 5)
    known[3::24] = 0
    found = closed(known)
    np.testing.assert_array_equal(np.flatnonzero(found.at(np.arange(48))), [3, 27])
    assert not closed(known[:-24]).phases
    known[3] = 1
    assert not closed(known).phases


def test_a_weekend_is_closed_in_the_week_alone():
    known = np.ones(7 * 6)
    known[5::7] = known[6::7] = 0
    found = closed(known, "D")
    np.testing.assert_array_equal(np.flatnonzero(found.at(np.arange(7))), [5, 6])
