"""Bounds of forecasts, and steps that are never observed."""

import numpy as np
import pandas as pd

from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.closed import Closed
from skinformer.timeline.forecast_bounds import ForecastBounds
from skinformer.timeline.scaling import Limits
from skinformer.timeline.timeline import Timeline


def history(*series, weight=None, clock=None):
    lengths = [len(rows) for rows in series]
    values = np.concatenate(series).astype(np.float32)[:, None]
    first = np.zeros(len(series), dtype=np.int64)
    given = None if weight is None else np.asarray(weight, dtype=np.float32)[:, None]
    return Timeline(values, given, np.cumsum([0, *lengths]), first, clock or RowClock())


def clipped(bounds, forecast, series, least=0.0, greatest=0.0):
    forecast = np.asarray(forecast, dtype=np.float32)[:, None, None]

    def seen(some):
        shape = (len(some), 1)
        return np.full(shape, least, np.float32), np.full(shape, greatest, np.float32)

    return bounds.apply(forecast, np.asarray(series), seen)[:, 0, 0].tolist()


def test_a_forecast_is_held_one_and_a_half_widths_beyond_what_was_seen():
    bounds = ForecastBounds.of(history([0.0, 2.0], [10.0, 14.0]), 1)
    assert clipped(bounds, [99.0, -99.0, 4.5], [0, 0, 0]) == [5.0, -3.0, 4.5]
    assert clipped(bounds, [99.0, -99.0], [1, 1], np.nan, np.nan) == [20.0, 4.0]


def test_what_hardly_moved_has_a_width_of_one():
    bounds = ForecastBounds.of(history([3.0, 3.0]), 1)
    assert clipped(bounds, [99.0, -99.0], [0, 0], 3.0, 3.0) == [4.5, 1.5]


def test_a_window_that_lies_outside_of_the_history_widens_it():
    bounds = ForecastBounds.of(history([0.0, 2.0]), 1)
    assert clipped(bounds, [99.0], [0], 0.0, 4.0) == [10.0]


def test_rows_of_weight_zero_were_not_seen():
    bounds = ForecastBounds.of(history([0.0, 2.0, 50.0], weight=[1, 1, 0]), 1)
    assert clipped(bounds, [99.0], [0]) == [5.0]


def test_series_that_nothing_is_known_of_are_left_alone():
    """New ones, those without a row, those without a truth, and those that limits hold."""
    bounds = ForecastBounds.of(history([], [1.0, 2.0], weight=[0, 0]), 1)
    assert clipped(bounds, [99.0, -99.0, 99.0], [0, 1, 2]) == [99.0, -99.0, 99.0]
    top = np.array([[5.0]], dtype=np.float32)
    held = ForecastBounds.of(history([0.0, 2.0]), 1, Limits(top, top, top))
    assert clipped(held, [99.0], [0]) == [99.0]


def closed(known, freq="h"):
    index = pd.date_range("2024-01-01", periods=len(known), freq=freq)
    rows = np.zeros(len(known))
    return Closed.of(history(rows, weight=known, clock=clock_for(index, index.freq)))


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
