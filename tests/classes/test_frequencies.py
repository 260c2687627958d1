"""Frequencies of phases, and transitions."""

import numpy as np
import pandas as pd

from skinformer.classes.frequencies import (
    fit_frequencies,
    fit_transitions,
    last_rows,
    phases,
)
from skinformer.classes.truths import read_truths
from skinformer.tabular.features import Pairs
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.timeline import Timeline


def read(number, clock, lengths=None, weight=None, known=None):
    """Read the truths of series one after the other, each from step 0 on."""
    lengths = [len(number)] if lengths is None else lengths
    timeline = Timeline(
        values=np.eye(int(number.max()) + 1, dtype=np.float32)[number],
        weight=None if weight is None else weight[:, None],
        first_row=np.cumsum([0, *lengths]),
        first_step=np.zeros(len(lengths), dtype=int),
        clock=clock,
    )
    missing = None if known is None else ~known[:, None]
    return read_truths(timeline, slice(0, int(number.max()) + 1), missing)


def fit(number, clock, seasons=(), lengths=None):
    return fit_frequencies(read(number, clock, lengths), seasons)


def hours(n):
    labels = pd.date_range("2024-01-01", periods=n, freq="h")
    return clock_for(labels, labels.freq), labels


def test_the_phase_that_tells_most_is_chosen():
    """Busy at noon of working days is not what hour or weekday alone can say."""
    clock, labels = hours(24 * 7 * 12)
    busy = ((labels.hour == 12) & (labels.day_of_week < 5)).astype(int)
    found = fit(busy, clock)
    assert found.name in ("hour and weekend", "hour and weekday")
    noon = np.array([12, 5 * 24 + 12, 11])  # of Monday, of Saturday; eleven of Monday
    called = found.probabilities(noon, np.zeros(3, dtype=int), clock)[:, 1]
    assert called[0] > 0.8 > 0.2 > max(called[1:])


def test_what_comes_by_chance_has_no_phase():
    """Hours of a coin explain some of it, and none of what it does next."""
    n = 24 * 7 * 12
    found = fit(np.random.default_rng(7).integers(2, size=n), hours(n)[0])
    assert found.name == "all rows"


def test_a_week_has_the_month_of_its_first_day():
    """One that ends in February is a week of January."""
    weeks = pd.period_range("2024-01-01", periods=10, freq="W")
    found = phases("month", np.array([4, 3, 5, 4]), clock_for(weeks, weeks.freq))
    assert found.tolist() == [0, 0, 1, 0]


def test_neighbours_of_a_truth_do_not_tell_its_month():
    """A state that lasts for weeks makes months look known to a count that leaves one row out."""
    n = 24 * 720
    clock, _ = hours(2 * n)
    state = np.cumsum(np.random.default_rng(0).random(2 * n) < 1 / 300) % 2
    found = fit(state[:n], clock)
    called = found.probabilities(np.arange(n, 2 * n), np.zeros(n, dtype=int), clock)
    later = -np.log(called[np.arange(n), state[n:]]).mean()
    assert later < 1.02 * np.log(2)


def test_probabilities_without_a_block_do_not_know_it():
    """The map that learns from them would believe them too much."""
    truth = np.arange(60) % 4 // 2
    changed = truth.copy()
    changed[read(truth, RowClock()).blocks == 2] = 0
    for own in (fit(truth, RowClock(), (4,)), fit(changed, RowClock(), (4,))):
        without = own.probabilities(np.arange(4), np.zeros(4, dtype=int), RowClock(), 2)
        np.testing.assert_allclose(without, without_third_block(truth), rtol=1e-12)


def without_third_block(truth):
    own = fit(truth, RowClock(), (4,))
    return own.probabilities(
        np.arange(4), np.zeros(4, dtype=int), RowClock(), np.full(4, 2)
    )


def test_a_series_has_a_level_of_its_own():
    """A new one has that of all."""
    truth = np.concatenate([np.zeros(100, dtype=int), np.ones(100, dtype=int)])
    found = fit(truth, RowClock(), lengths=[100, 100])
    called = found.probabilities(np.zeros(3, dtype=int), np.arange(3), RowClock())[:, 1]
    assert called[0] < 0.1 < 0.4 < called[2] < 0.6 < 0.9 < called[1]


def test_transitions_are_those_of_a_loop():
    """Weights count, unknown classes and borders between series do not."""
    rng = np.random.default_rng(0)
    number, weight = rng.integers(3, size=40), rng.random(40)
    known, begin = rng.random(40) < 0.8, np.repeat([0, 25], [25, 15])
    truths = read(number, RowClock(), [25, 15], weight, known)
    weight = np.where(known, weight, 0.0)
    table = fit_transitions(truths, 5).table
    start = np.array([weight[number == k].sum() + 1 for k in range(3)])
    start /= start.sum()
    for ahead in range(5):
        counts = np.zeros((3, 3))
        for row in range(40):
            before = row - ahead - 1
            if before >= begin[row] and known[before]:
                counts[number[before], number[row]] += weight[row]
        expected = (counts + 4 * start) / (counts.sum(axis=1, keepdims=True) + 4)
        np.testing.assert_allclose(table[ahead, :3], expected)
        np.testing.assert_allclose(table[ahead, 3], start)


def test_a_probability_before_the_origin_is_an_expectation():
    """Forecasts that were fed back are no classes."""
    found = fit_transitions(read(np.arange(60) // 7 % 2, RowClock()), 2)
    one, other, mixed, none = found.probabilities(
        np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7], [np.nan, np.nan]]),
        np.ones(4, dtype=int),
    )
    np.testing.assert_allclose(mixed, 0.3 * one + 0.7 * other)
    np.testing.assert_allclose(none, found.table[1, -1])


def test_the_row_before_a_series_is_not_its_last():
    """It is another series'."""
    zero = np.zeros(2, dtype=int)
    pairs = Pairs(np.array([3, 4]), zero, zero, np.array([3, 3]), zero)
    read = last_rows(np.arange(10.0).reshape(5, 2), pairs)
    np.testing.assert_array_equal(read, [[np.nan, np.nan], [6.0, 7.0]])
