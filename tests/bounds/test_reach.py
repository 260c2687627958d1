"""Forecasts reach one and a half widths beyond what was observed."""

import numpy as np

from skinformer.bounds.limits import Limits
from skinformer.bounds.reach import Reach, observed_range
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Timeline


def history(*series, weight=None):
    lengths = [len(rows) for rows in series]
    values = np.concatenate(series).astype(np.float32)[:, None]
    first = np.zeros(len(series), dtype=np.int64)
    given = None if weight is None else np.asarray(weight, dtype=np.float32)[:, None]
    return Timeline(values, given, np.cumsum([0, *lengths]), first, RowClock())


def reach_of(timeline, limits=None):
    return Reach.of(*observed_range(timeline, 1), limits)


def clipped(reach, forecast, series, least=0.0, greatest=0.0):
    forecast = np.asarray(forecast, dtype=np.float32)[:, None, None]

    def seen(some):
        shape = (len(some), 1)
        return np.full(shape, least, np.float32), np.full(shape, greatest, np.float32)

    return reach.apply(forecast, np.asarray(series), seen)[:, 0, 0].tolist()


def test_a_forecast_is_held_one_and_a_half_widths_beyond_what_was_seen():
    reach = reach_of(history([0.0, 2.0], [10.0, 14.0]))
    assert clipped(reach, [99.0, -99.0, 4.5], [0, 0, 0]) == [5.0, -3.0, 4.5]
    assert clipped(reach, [99.0, -99.0], [1, 1], np.nan, np.nan) == [20.0, 4.0]


def test_what_hardly_moved_has_a_width_of_one():
    reach = reach_of(history([3.0, 3.0]))
    assert clipped(reach, [99.0, -99.0], [0, 0], 3.0, 3.0) == [4.5, 1.5]


def test_a_window_that_lies_outside_of_the_history_widens_it():
    reach = reach_of(history([0.0, 2.0]))
    assert clipped(reach, [99.0], [0], 0.0, 4.0) == [10.0]


def test_rows_of_weight_zero_were_not_seen():
    reach = reach_of(history([0.0, 2.0, 50.0], weight=[1, 1, 0]))
    assert clipped(reach, [99.0], [0]) == [5.0]


def test_series_that_nothing_is_known_of_are_left_alone():
    """New ones, those without a row, those without a truth, and those that limits hold."""
    reach = reach_of(history([], [1.0, 2.0], weight=[0, 0]))
    assert clipped(reach, [99.0, -99.0, 99.0], [0, 1, 2]) == [99.0, -99.0, 99.0]
    top = np.array([[5.0]], dtype=np.float32)
    held = reach_of(history([0.0, 2.0]), Limits(top, top, top))
    assert clipped(held, [99.0], [0]) == [99.0]
