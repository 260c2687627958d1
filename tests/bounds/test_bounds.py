"""What no forecast may be, step by step: near what was seen, no lone level, zeros, ceilings."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.bounds.bounds import Bounds
from skinformer.cleaning.closures import Closure, Closures
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.target_scale import observe_targets
from skinformer.timeline.timeline import Timeline

N = 24 * 14


class Windows:
    """Windows of the rows of one series."""

    def __init__(self, y, origins, series=0):
        self.values = np.asarray(y, dtype=np.float32)[:, None]
        self.known = np.ones(self.values.shape, dtype=bool)
        self.origins = np.asarray(origins)
        self.begin = np.zeros(len(self.origins), dtype=int)
        self.series = np.full(len(self.origins), series)
        self.series_of_rows = np.full(len(self.values), series)

    def greatest(self, some):
        return self.observed_range(some)[1]

    def observed_range(self, some):
        ends = self.origins[some]
        seen = [self.values[max(0, end - 3) : end] for end in ends]
        return np.stack([part.min(0) for part in seen]), np.stack(
            [part.max(0) for part in seen]
        )


def bounds_of(*columns, closures=(), logs=False):
    """Find the bounds of hours of one series, whose first column is the target."""
    columns = [np.asarray(column, dtype=np.float64) for column in columns]
    index = pd.date_range("2024-01-01", periods=len(columns[0]), freq="h")
    first_row = np.array([0, len(index)])
    targets, _ = observe_targets(columns, first_row, 1)
    if logs:
        top, rise = np.log([[columns[0].max()]]), np.log([[1.25]])
        targets = replace(targets, logs=targets.floor == 0, top=top, rise=rise)
    scaler = Scaler(np.zeros((1, len(columns))), np.ones((1, len(columns))), targets)
    series = np.zeros(len(index), dtype=int)
    values = scaler.transform(columns, series)
    clock = clock_for(index, index.freq)
    history = Timeline(values, None, first_row, np.array([0]), clock)
    return Bounds.of(history, scaler, Closures(tuple(closures)), 1)


def nights():
    """Make a target that is 0 for six hours of each night, and 3 to 4 else."""
    return np.where(np.arange(N) % 24 < 6, 0.0, 3.0 + np.arange(N) % 7 / 6)


def limited(bounds, forecast, y=(0.0, 4.0, 2.0)):
    windows = Windows(y, [len(y)])
    y_pred = np.full((1, 2, 1), forecast, dtype=np.float32)
    return bounds.limit(y_pred, windows)[0, :, 0].tolist()


def test_a_member_keeps_near_what_was_seen():
    """One and a half widths beyond; a window that rose widens it."""
    bounds = bounds_of(nights())
    assert limited(bounds, 99.0) == [10.0, 10.0]
    assert limited(bounds, 9.0) == [9.0, 9.0]
    assert limited(bounds, 99.0, y=(4.0, 8.0)) == [20.0, 20.0]


def test_a_member_in_logarithms_is_clipped_softly():
    """A quarter more is free, and no more than a tenth beyond."""
    bounds = bounds_of(np.exp(np.arange(N) % 5), logs=True)
    highest = np.exp(limited(bounds, 50.0)[0] - 4.0)
    assert 1.25 < highest < 1.25 * 1.1 + 1e-6
    assert limited(bounds, 4.0) == [4.0, 4.0]


@pytest.mark.parametrize(("of_mean", "level"), [(True, 7.0 / 60), (False, 0.0)])
def test_one_sale_after_many_zeros_is_no_level(of_mean, level):
    y = np.zeros(61)
    y[58] = 7.0
    windows = Windows(y, [60, 50])
    points = np.full((2, 4, 1), 5.0, dtype=np.float32)
    bounds_of(nights()).level(points, windows, of_mean=of_mean, look_back=60)
    assert points[0].ravel().tolist() == pytest.approx([level] * 4)
    assert points[1].ravel().tolist() == [5.0] * 4


def test_a_night_is_zero_on_the_clock_of_the_history_alone():
    bounds = bounds_of(nights())
    steps = np.array([N, N + 6])
    is_zero, zero = bounds.zeros(np.zeros((2, 1)), np.zeros(2, dtype=int), steps)
    assert is_zero.ravel().tolist() == [True, False]
    assert zero.ravel().tolist() == [0.0, 0.0]
    other = bounds.on_clock(RowClock())
    assert other.zeros(np.zeros((2, 1)), np.zeros(2, dtype=int), steps) is None
    assert other.reach is bounds.reach


def test_a_column_known_ahead_tells_what_is_closed():
    """Of new series, too, of which no night is known."""
    open_ = np.ones(N)
    open_[::50] = 0.0
    weekly = np.zeros((2, 168), dtype=bool)
    closure = Closure(column=1, target=0, value=0.0, weekly=weekly)
    bounds = bounds_of(nights() * open_, open_, closures=[closure])
    values = np.array([[9.0, 0.0], [9.0, 1.0], [9.0, 1.0]], dtype=np.float32)
    steps = np.array([N + 6, N + 6, N])
    for series, expected in ((0, [True, False, True]), (1, [True, False, False])):
        is_zero, zero = bounds.zeros(values, np.full(3, series), steps)
        assert is_zero.ravel().tolist() == expected
        assert zero[0] == 0.0


@pytest.mark.parametrize("shape", [(), (5,)], ids=["points", "quantiles"])
def test_a_rate_stays_below_its_ceiling(shape):
    rate = np.clip(80.0 + np.arange(N) % 40, 0, 100)
    bounds = bounds_of(rate)
    values = np.full((2, 1, *shape), 104.0)
    of_new = np.array([0, 1])
    kept = bounds.below_ceilings(values, of_new)
    assert (kept[0] == 100.0).all()
    assert (kept[1] == 104.0).all()
    amounts = bounds_of(rate + 1.0)
    assert (amounts.below_ceilings(values, of_new) == 104.0).all()


def test_without_bounds_nothing_is_bounded():
    bounds = Bounds()
    assert limited(bounds, 1e9) == [1e9, 1e9]
    assert bounds.zeros(np.zeros((1, 1)), np.zeros(1, int), np.zeros(1, int)) is None
    values = np.full((1, 1), 1e9)
    assert bounds.below_ceilings(values, np.zeros(1, dtype=int)) is values


def test_whatever_is_forecast_keeps_to_the_same_bounds():
    """Points of `predict` and `forecast`, ranges and paths: zero at night, and never below."""
    index = pd.date_range("2024-05-01", periods=24 * 30, freq="h")
    clouds = np.random.default_rng(0).uniform(0.1, 1.0, len(index))
    height = np.sin((index.hour - 6) / 12 * np.pi)
    rows = pd.DataFrame({"y": np.where(height > 0.01, 50 * height * clouds, 0)}, index)
    model = InformerRegressor(
        "y", seq_len=48, pred_len=24, members=["ridges"], random_state=0
    ).fit(rows[:-48])
    ahead = index[-48:]
    is_night = (ahead.hour <= 6) | (ahead.hour >= 18)
    found = [
        model.predict(rows[-48:])[:, None],
        model.forecast(horizon=48, coverage=0.8).to_numpy(),
        model.sample(20, horizon=48, random_state=0).to_numpy(),
    ]
    for values in found:
        assert (values[is_night] == 0).all()
        assert (values >= 0).all()
        assert (values[~is_night] > 0).any(axis=1).all()
