"""`RecursiveForecaster` against a naive loop of rows and values, with a fake forecaster."""

from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.head import PointHead
from skinformer.rolling.blocks import Observed, RecursiveForecaster, RequestedSteps
from skinformer.rolling.placement import Placement
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Timeline

SEQ, PRED, N_TARGETS, N_PAST, N_COLUMNS = 5, 3, 2, 1, 4

# The first counterexample is shown as it is: shrinking it would take minutes of forecasts.
QUICK = settings(
    deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)


def fake_window(context, known, step):
    """Forecast a window by numbers that tell every place of its inputs apart."""
    weights = np.sin(1 + np.arange(context.size)).reshape(context.shape)
    level = float((weights * context).sum()) / 10
    out = np.empty((PRED, N_TARGETS), dtype=np.float32)
    for k in range(PRED):
        for j in range(N_TARGETS):
            out[k, j] = np.tanh(
                level * (j + 1) + 0.3 * k + known[: k + 1].sum() + step / 50
            )
    return out


def fake_forecaster(rows, origins):
    """Forecast windows of rows, and check that they are complete and of one series."""
    values, row_series, row_steps = rows[:3]
    out = []
    for origin in origins:
        context = values[origin - SEQ : origin]
        known = values[origin : origin + PRED, N_TARGETS + N_PAST :]
        assert not np.isnan(context).any()
        assert not np.isnan(known).any()
        steps = row_steps[origin - SEQ : origin + PRED]
        np.testing.assert_array_equal(np.diff(steps), 1)
        assert len(set(row_series[origin - SEQ : origin + PRED])) == 1
        out.append(fake_window(context, known, row_steps[origin]))
    return np.stack(out) if out else np.empty((0, PRED, N_TARGETS), dtype=np.float32)


class Naive:
    """What the contract says of one value of one series, looked up one by one."""

    def __init__(self, observed, history, place):
        self.given = {
            (int(s), int(t)): row
            for s, t, row in zip(
                observed.segment, observed.steps, observed.values, strict=True
            )
        }
        self.history, self.place = history, place
        self.block, self.begun = cache(self.block), cache(self.begun)

    def stored(self, series, step):
        if not self.place.stored[series]:
            return None
        offset = step - self.history.first_step[series]
        row = self.history.first_row[series] + offset
        inside = offset >= 0 and row < self.history.first_row[series + 1]
        return self.history.values[row] if inside else None

    def known(self, series, step, column):
        """Give what X or the history says, else None."""
        row = self.given.get((series, step))
        if row is not None and not np.isnan(row[column]):
            return row[column]
        row = self.stored(series, step)
        if row is not None:
            return row[column]
        return np.float32(0) if step < self.place.begin[series] else None

    def begun(self, series, step, column):
        """Tell whether the target was known at an earlier step, the training mean not counted."""
        first = min([t for s, t in self.given if s == series], default=step)
        if self.place.stored[series]:
            first = min(first, int(self.history.first_step[series]))
        for t in range(first, step):
            row = self.given.get((series, t))
            if self.stored(series, t) is not None or (
                row is not None and row[column] == row[column]
            ):
                return True
        return False

    def value(self, series, step, column):
        found = self.known(series, step, column)
        if found is not None:
            return found
        if column < N_TARGETS:
            if not self.begun(series, step, column):
                return np.float32(0)
            origin = self.gap(series, step)
            return self.block(series, origin)[step - origin, column]
        while found is None:  # held at its last value
            step -= 1
            found = self.known(series, step, column)
        return found

    def lacks(self, series, step):
        return any(
            self.known(series, step, c) is None and self.begun(series, step, c)
            for c in range(N_TARGETS)
        )

    def gap(self, series, step):
        """Find the origin that fills a step: whole forecasts from the first step of its gap."""
        first = step
        while self.lacks(series, first - 1):
            first -= 1
        return first + (step - first) // PRED * PRED

    def origin(self, series, step):
        anchor = self.place.anchor[series]
        return int(anchor + (step - anchor) // PRED * PRED)

    def block(self, series, origin):
        context = np.array(
            [
                [self.value(series, t, c) for c in range(N_COLUMNS)]
                for t in range(origin - SEQ, origin)
            ],
            dtype=np.float32,
        )
        known = np.array(
            [
                [self.value(series, t, c) for c in range(N_TARGETS + N_PAST, N_COLUMNS)]
                for t in range(origin, origin + PRED)
            ],
            dtype=np.float32,
        )
        return fake_window(context, known, origin)

    def forecast(self, series, step):
        origin = self.origin(series, step)
        return self.block(series, origin)[step - origin]


def make_history(rng, n_series):
    lengths = rng.integers(1, 14, n_series)
    return Timeline(
        values=rng.normal(size=(lengths.sum(), N_COLUMNS)).astype(np.float32),
        weight=None,
        first_row=np.concatenate([[0], np.cumsum(lengths)]),
        first_step=rng.integers(0, 6, n_series),
        clock=RowClock(),
    )


def make_case(seed):
    """Draw a history, rows of X with gaps, requested steps and where the series lie."""
    rng = np.random.default_rng(seed)
    n_series = int(rng.integers(1, 4))
    history = make_history(rng, n_series)
    end, stored = history.end_step, rng.random(n_series) < 0.7
    first = end + rng.integers(-8, 9, n_series)
    begin = np.where(stored, end, first)
    anchor = np.where(stored | (rng.random(n_series) < 0.5), end, first)
    place = Placement(np.arange(n_series), anchor=anchor, begin=begin, stored=stored)
    series, steps = [], []
    for s in range(n_series):
        low = history.first_step[s] if stored[s] else first[s]
        span = np.arange(low, end[s] + 15)
        chosen = span[rng.random(len(span)) < rng.choice([0.2, 0.8, 1.0])]
        steps.append(chosen)
        series.append(np.full(len(chosen), s))
    series, steps = np.concatenate(series), np.concatenate(steps)
    order = rng.permutation(len(series))
    values = rng.normal(size=(len(series), N_COLUMNS)).astype(np.float32)
    values[rng.random(values.shape) < rng.choice([0.0, 0.3, 0.9])] = np.nan
    observed = Observed(values, series[order], steps[order])
    wanted = rng.random(len(series)) < rng.choice([0.1, 1.0])
    return observed, observed.segment[wanted], observed.steps[wanted], history, place


def recursive(history, *, n_static=0, forecast=fake_forecaster):
    """Make a recursive forecaster of points from a history."""
    n_known = N_COLUMNS - N_TARGETS - N_PAST
    sizes = ModelSizes(N_TARGETS, N_PAST, n_known, n_static, 0, (), SEQ, PRED, 1)
    return RecursiveForecaster(history, sizes, PointHead("mse").point, forecast)


def run(observed, series, steps, history, place, **options):
    requested = RequestedSteps(observed, series, steps, place, RowClock())
    return recursive(history, **options).predict(requested)


def counting(calls):
    """Make a forecaster that notes how many windows each call has."""

    def forecast(rows, origins):
        calls.append(len(origins))
        return fake_forecaster(rows, origins)

    return forecast


@pytest.mark.slow
@settings(QUICK, max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_rolling_is_the_naive_loop(seed):
    """Blocks done together must be what one row at a time would give."""
    observed, series, steps, history, place = make_case(seed)
    naive = Naive(observed, history, place)
    wanted = [
        naive.forecast(int(s), int(t)) for s, t in zip(series, steps, strict=True)
    ]
    got = run(observed, series, steps, history, place)[0]
    np.testing.assert_allclose(
        got, np.reshape(np.array(wanted, dtype=np.float32), (-1, N_TARGETS)), atol=1e-5
    )


@settings(QUICK, max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_rolling_leaves_its_inputs_alone(seed):
    """The stored history is the fitted state; predict must not write it."""
    observed, series, steps, history, place = make_case(seed)
    after = [*observed[:3], series, steps, history.values, *place]
    before = [part.copy() for part in after]
    run(observed, series, steps, history, place)
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, two)


def single(n_history=9):
    rng = np.random.default_rng(0)
    history = Timeline(
        values=rng.normal(size=(n_history, N_COLUMNS)).astype(np.float32),
        weight=None,
        first_row=np.array([0, n_history]),
        first_step=np.array([0]),
        clock=RowClock(),
    )
    end = history.end_step
    return history, Placement(np.array([0]), end, end, np.array([True]))


def nothing():
    empty = np.empty(0, dtype=np.int64)
    return Observed(np.empty((0, N_COLUMNS), dtype=np.float32), empty, empty)


@pytest.mark.parametrize("horizon", [1, 3, 4, 10])
def test_a_recursion_takes_one_pass_a_block(horizon):
    """The forecaster is called once for each block that needs the one before."""
    history, place = single()
    calls, steps = [], 9 + np.arange(horizon)
    run(
        nothing(), np.zeros_like(steps), steps, history, place, forecast=counting(calls)
    )
    assert calls == [1] * (-(-horizon // PRED))


def test_a_rolling_origin_takes_one_pass():
    """With all history known, every block is forecast at once."""
    history, place = single()
    values = np.random.default_rng(1).normal(size=(30, N_COLUMNS)).astype(np.float32)
    steps = np.arange(9, 39)
    observed, calls = Observed(values, np.zeros_like(steps), steps), []
    result = run(
        observed, observed.segment, steps, history, place, forecast=counting(calls)
    )
    assert calls == [10]
    assert result.held[:2] == (0, 0)


def test_static_values_are_held_without_a_count():
    """What never changes within a series is no guess."""
    history, place = single()
    steps = 9 + np.arange(3)
    observed = nothing()
    assert run(observed, np.zeros_like(steps), steps, history, place).held[:2] == (0, 3)
    held = run(observed, np.zeros_like(steps), steps, history, place, n_static=1).held
    assert held[:2] == (0, 0)


def test_held_values_are_counted_once_a_step():
    """Two past-only steps without a value before the last block, one known step without."""
    history, place = single()
    rng = np.random.default_rng(1)
    steps = np.arange(9, 15)
    values = rng.normal(size=(6, N_COLUMNS)).astype(np.float32)
    # The last one lies in the last block: not needed.
    values[[0, 2, 4], N_TARGETS] = np.nan
    values[3, -1] = np.nan
    observed = Observed(values, np.zeros(6, dtype=np.int64), steps)
    assert run(observed, observed.segment, steps, history, place).held[:2] == (2, 1)


def test_no_requested_step_gives_no_forecast():
    """An empty question has an empty answer."""
    history, place = single()
    empty = np.empty(0, dtype=np.int64)
    assert run(nothing(), empty, empty, history, place)[0].shape == (0, N_TARGETS)


@pytest.mark.slow
@settings(QUICK, max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_fillers_are_the_naive_loop(seed):
    """`fit` and `update` fill gaps all at once; the rule speaks of one value."""
    rng = np.random.default_rng(seed)
    history = make_history(rng, int(rng.integers(1, 4)))
    end = history.end_step
    lengths = rng.integers(0, 20, len(end))
    segment = np.repeat(np.arange(len(end)), lengths)
    steps = np.concatenate(
        [e + np.arange(n) for e, n in zip(end, lengths, strict=True)]
    )
    values = rng.normal(size=(len(segment), N_COLUMNS)).astype(np.float32)
    targets = values[:, :N_TARGETS]
    targets[rng.random(targets.shape) < rng.choice([0.0, 0.3, 0.9])] = np.nan
    place = Placement(np.arange(len(end)), end, end, np.ones(len(end), dtype=bool))
    observed = Observed(values, segment, steps)
    got = recursive(history).filled(observed)
    naive = Naive(observed, history, place)
    wanted = [
        [naive.value(int(s), int(t), c) for c in range(N_TARGETS)]
        for s, t in zip(segment, steps, strict=True)
    ]
    wanted = np.reshape(np.array(wanted, dtype=np.float32), (-1, N_TARGETS))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_only_holes_that_a_forecast_builds_on_are_filled():
    """Holes long before the rows asked for cost nothing."""
    history, place = single()
    values = np.random.default_rng(1).normal(size=(60, N_COLUMNS)).astype(np.float32)
    values[[3, 20, 40], 0] = np.nan
    steps, calls = np.arange(9, 69), []
    observed = Observed(values, np.zeros_like(steps), steps)
    run(
        observed,
        np.zeros(1, int),
        np.array([51]),
        history,
        place,
        forecast=counting(calls),
    )
    assert calls == [1, 1]  # the gap at step 49, then the row asked for
