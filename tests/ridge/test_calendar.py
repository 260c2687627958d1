"""What the calendar and columns known ahead do is found beside each other, and beside the level."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer.ridge import calendar, sums
from skinformer.ridge.calendar import calendar_effect
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.sums import Problem, gather
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.cycle import CalendarEffect, find_cycle

SEQ, PRED, WEEK = 24, 6, 168


def cycle_of(n, *, first=0, fields=("hour", "weekday")):
    """Give the cells of consecutive hours."""
    t = np.arange(first, first + n)
    values = {"hour": t % 24, "weekday": t // 24 % 7}
    return find_cycle(fields, np.stack([values[name] for name in fields], axis=1))


def make_problem(
    values, *, n_targets=1, n_known=0, cycle=None, weight=None, missing=None
):
    values = values[:, None] if values.ndim == 1 else values
    effect = np.zeros((n_known, n_targets))
    cycle = cycle_of(len(values)) if cycle is None else cycle
    return Problem(values, weight, missing, n_targets, SEQ, PRED, effect, cycle=cycle)


def origins_of(problem, begin=0, end=None):
    end = len(problem.values) if end is None else end
    return np.arange(begin + SEQ, end - PRED + 1)


def find(problem, origins=None, *, with_known=None):
    origins = origins_of(problem) if origins is None else origins
    with_known = bool(len(problem.effect)) if with_known is None else with_known
    return calendar_effect(problem, origins, with_known=with_known)


def week(seed=0, n_targets=1):
    """Draw what each hour of a week does; 0 on average."""
    made = np.random.default_rng(seed).normal(size=(WEEK, n_targets))
    return made - made.mean(axis=0)


def moving_level(n, seed=1):
    rng = np.random.default_rng(seed)
    return (
        0.05 * rng.normal(size=(n, 1)).cumsum(axis=0) + np.linspace(-3, 3, n)[:, None]
    )


def noise(n, seed=2):
    return 0.2 * np.random.default_rng(seed).normal(size=(n, 1))


def apart(level):
    """Give levels without what cannot be told from that of the series."""
    return level - level.mean(axis=0)


def error(found, truth):
    return float(np.sqrt(((apart(found) - apart(truth)) ** 2).mean()))


# --- what is found ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_targets", [1, 3])
def test_a_week_is_found_below_a_level_that_moves(n_targets):
    """A trend over the years is no effect of any hour."""
    n, truth = 20 * WEEK, week(n_targets=n_targets)
    values = np.tile(truth, (20, 1)) + moving_level(n) + noise(n)
    found = find(make_problem(values, n_targets=n_targets))
    assert found.level.shape == (WEEK, n_targets)
    assert found.known.shape[1] == 0
    assert error(found.level, truth) < 0.15  # the noise of 20 weeks is a third of it
    slope = (apart(found.level) * truth).sum() / (truth**2).sum()
    assert slope == pytest.approx(1, abs=0.05)


def test_of_few_weeks_an_hour_is_drawn_to_its_time_of_the_day():
    """168 numbers of five weeks are mostly noise; their 24 are not."""
    n, day = 5 * WEEK, np.sin(np.arange(WEEK) * np.pi / 12)[:, None]
    values = np.tile(day, (5, 1)) + 5 * noise(n)
    found = find(make_problem(values))
    each = np.stack([values[c::WEEK].mean(axis=0) for c in range(WEEK)])
    assert error(found.level, day) < 0.6 * error(each, day)


def holidays(n, rng):
    """Draw whole days."""
    return np.repeat(rng.random(n // 24) < 0.1, 24).astype(float)[:, None]


def test_what_a_holiday_does_differs_by_the_hour():
    """No rush in the morning, and a night like any other."""
    n, truth, rng = 60 * WEEK, week(), np.random.default_rng(5)
    by_hour = 3 * np.exp(-((np.arange(24.0) - 8) ** 2) / 18)
    known = holidays(n, rng)
    hour = np.arange(n) % 24
    values = (
        np.tile(truth, (60, 1))
        - by_hour[hour, None] * known
        + moving_level(n)
        + noise(n)
    )
    found = find(make_problem(np.column_stack([values, known]), n_known=1))
    assert found.known.shape == (24, 1, 1)
    assert np.abs(found.known[:, 0, 0] + by_hour).max() < 0.3
    assert error(found.level, truth) < 0.15


def test_a_column_with_the_cycle_of_the_day_is_judged_beside_the_hour():
    """Temperature explains when people are in the street, as long as nobody asks for the hour."""
    n, rng, truth = 40 * WEEK, np.random.default_rng(5), week()
    day = np.sin(np.arange(n) * np.pi / 12)[:, None]
    weather = np.repeat(rng.normal(size=n // 24), 24)[:, None]
    values = np.tile(truth, (40, 1)) + 2 * day + noise(n) + 0.5 * weather
    found = find(make_problem(np.column_stack([values, 3 * day + weather]), n_known=1))
    np.testing.assert_allclose(found.known.ravel(), 0.5, atol=0.08)


def test_columns_known_ahead_have_a_strength_of_their_own(monkeypatch):
    """A week that never changes is believed, and a column of noise is not."""
    chosen, choose = [], calendar._choose_penalty

    def spy(*args):
        chosen.append(choose(*args))
        return chosen[-1]

    monkeypatch.setattr(calendar, "_choose_penalty", spy)
    n = 20 * WEEK
    known = np.random.default_rng(0).normal(size=(n, 1))
    values = np.tile(week(), (20, 1)) + noise(n)
    find(make_problem(np.column_stack([values, known]), n_known=1))
    of_cells, of_columns = np.split(chosen[0], [24 + WEEK])
    assert np.unique(of_cells).tolist() == [1e-5]
    assert np.unique(of_columns).tolist() == [1e-2]


@pytest.mark.parametrize("way", ["missing", "weight"])
@pytest.mark.parametrize("by", ["chance", "clock"])
def test_truths_that_are_not_there_are_not_learnt(by, way):
    """Nor do those that are there count for them: a shop that sleeps has no louder days."""
    n, truth = 30 * WEEK, week()
    values = np.tile(truth, (30, 1)) + noise(n)
    gone = (
        (np.arange(n) % 24 >= 16)
        if by == "clock"
        else np.random.default_rng(3).random(n) < 0.3
    )
    gone = gone[:, None]
    wrong = np.where(gone, 50.0 + noise(n, 8) * 99, values)
    given = {"missing": gone} if way == "missing" else {"weight": (~gone).astype(float)}
    found = find(make_problem(wrong, **given))
    seen = ~gone[:WEEK, 0] if by == "clock" else np.ones(WEEK, dtype=bool)
    assert error(found.level[seen], truth[seen]) < 0.12
    slope = (apart(found.level[seen]) * apart(truth[seen])).sum() / (
        apart(truth[seen]) ** 2
    ).sum()
    assert slope == pytest.approx(1, abs=0.05)
    other = find(make_problem(np.where(gone, -7.0, values), **given))
    np.testing.assert_array_equal(found.level, other.level)


def test_a_target_that_is_missing_does_not_take_the_others_with_it():
    """Two products, of which one was sold in the second year alone."""
    n, truth = 30 * WEEK, week(n_targets=2)
    values = np.tile(truth, (30, 1)) + noise(n)
    missing = np.zeros((n, 2), dtype=bool)
    missing[: n // 2, 1] = True
    found = find(make_problem(values, n_targets=2, missing=missing))
    for j in range(2):
        assert error(found.level[:, j], truth[:, j]) < 0.25


@pytest.mark.xfail(
    reason="one gram for all targets, whose truths are missing at other times"
)
def test_a_target_that_is_missing_by_the_clock_beside_another_is_found_as_it_is():
    """A shop that sleeps beside a pump that does not."""
    n, truth = 30 * WEEK, week(n_targets=2)
    missing = np.zeros((n, 2), dtype=bool)
    missing[np.arange(n) % 24 >= 12, 1] = True
    values = np.tile(truth, (30, 1)) + noise(n)
    found = find(make_problem(values, n_targets=2, missing=missing))
    there = ~missing[:WEEK, 1]
    assert error(found.level[there, 1], truth[there, 1]) < 0.12


def test_nothing_is_learnt_where_no_truth_is_known():
    """A division by no truth is no effect."""
    values = np.tile(week(), (8, 1))
    found = find(make_problem(values, weight=np.zeros_like(values)))
    assert found is None or not found.level.any()


def test_missing_covariates_count_as_the_mean():
    """NaN must not spread into every cell."""
    n = 10 * WEEK
    known = np.random.default_rng(0).normal(size=(n, 1))
    runs = known.copy()
    runs[::7] = np.nan
    values = np.tile(week(), (10, 1)) + known
    one, two = (
        find(make_problem(np.column_stack([values, k]), n_known=1))
        for k in (runs, np.nan_to_num(runs))
    )
    for a, b in zip(one[:4], two[:4], strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


def test_rows_that_no_window_holds_are_not_read():
    """Those of the split above all; weeks are learnt from windows up to the last truth."""
    n = 20 * WEEK
    values = np.tile(week(), (20, 1)) + noise(n)
    known = np.random.default_rng(0).normal(size=(n, 1))
    rows = np.column_stack([values, known])
    end = 15 * WEEK
    changed = rows.copy()
    changed[end:] = 1e3
    one, two = (
        find(
            make_problem(r, n_known=1), origins_of(make_problem(r, n_known=1), end=end)
        )
        for r in (rows, changed)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.bounds.max() < 10


def test_series_whose_levels_lie_apart_have_the_effect_of_one():
    """Short ones above all, which are shorter than a block."""
    truth = week()
    lengths = [100] * 30
    first = np.cumsum([0, *lengths[:-1]])
    parts, cells = [], []
    for i, n in enumerate(lengths):
        begin = 37 * i
        parts.append(truth[(begin + np.arange(n)) % WEEK] + 100.0 * (i % 3))
        cells.append(cycle_of(n + WEEK, first=begin).of_row[:n])
    cycle = cycle_of(WEEK)._replace(of_row=np.concatenate(cells))
    problem = make_problem(np.concatenate(parts), cycle=cycle)
    origins = np.concatenate(
        [origins_of(problem, a, a + n) for a, n in zip(first, lengths, strict=True)]
    )
    found = find(problem, origins)
    slope = (apart(found.level) * truth).sum() / (truth**2).sum()
    assert slope > 0.9
    assert error(found.level, truth) < 0.3


def test_less_than_four_cycles_say_nothing():
    """Of three weeks one is the holidays."""
    for n, there in ((4 * WEEK - 1, False), (4 * WEEK, True)):
        assert (find(make_problem(np.zeros(n))) is not None) == there
    for n, there in ((4 * 24 - 1, False), (4 * 24, True)):
        problem = make_problem(np.zeros(n), cycle=cycle_of(n, fields=("hour",)))
        assert (find(problem) is not None) == there


def test_short_series_together_have_to_hold_four_cycles():
    """However many blocks they are."""
    for length, there in ((290, False), (340, True)):
        problem = make_problem(np.zeros(2 * length))
        spans = [origins_of(problem, a, a + length) for a in (0, length)]
        assert (find(problem, np.concatenate(spans)) is not None) == there


def test_without_cells_or_windows_there_is_no_effect():
    """Undated rows, and a fit before the first stretch."""
    problem = make_problem(np.zeros(10 * WEEK))
    assert find(problem._replace(cycle=None)) is None
    assert find(problem, np.arange(0)) is None


# --- cost -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_known", "n_targets", "n_times"), [(2, 256, 24), (3, 171, 1)]
)
def test_of_many_columns_and_targets_an_effect_is_one_for_all_times(
    n_known, n_targets, n_times
):
    """512 of a time: a table of more would be larger than all that it was learnt from."""
    values = np.zeros((5 * WEEK, n_known + n_targets))
    found = find(make_problem(values, n_targets=n_targets, n_known=n_known))
    assert found.known.shape == (n_times, n_known, n_targets)


def test_many_columns_cost_no_gigabytes():
    """Each at each time of the day would be solved for as one of thousands."""
    rows = np.random.default_rng(0).normal(size=(5 * WEEK, 151)).astype(np.float32)
    tracemalloc.start()
    try:
        found = find(make_problem(rows, n_known=150))
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.known.shape == (1, 150, 1)
    assert used < 60e6


def test_of_many_rows_some_are_read(monkeypatch):
    """Millions of rows say no more of a week than some hundred weeks of them do."""
    costs = []

    def count(a, b):
        costs.append(len(a) * len(b) * b.shape[1])
        return np.zeros((len(a), b.shape[1]))

    monkeypatch.setattr(sums, "product", count)
    rows = np.zeros((400 * WEEK, 31), dtype=np.float32)
    assert find(make_problem(rows, n_known=30)) is not None
    assert 2e10 < sum(costs) < 4.2e10


# --- the same in NumPy and in torch -----------------------------------------------------------


def make_effect(cycle, *, n_known, n_targets, n_times, seed=0):
    rng = np.random.default_rng(seed)
    return CalendarEffect(
        rng.normal(size=(cycle.n_cells, n_targets)),
        rng.normal(size=(n_times, n_known, n_targets)),
        np.stack([-rng.random(n_known), rng.random(n_known)]),
        cycle.places,
    )


def by_loop(effect, known, cell, n_times):
    """Give the effect of a row, number by number."""
    out = effect.level[cell].copy()
    for k, value in enumerate(known):
        out += value * effect.known[cell % 24 % n_times, k]
    return out


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize(("n_known", "n_times"), [(0, 1), (1, 24), (2, 24), (2, 1)])
def test_numpy_and_torch_say_the_same(n_known, n_times, n_targets):
    """Fitted by one, forecast by the other: and cells are numbered in both."""
    n = 300
    cycle, rng = cycle_of(n), np.random.default_rng(1)
    effect = make_effect(cycle, n_known=n_known, n_targets=n_targets, n_times=n_times)
    known = rng.normal(size=(n, n_known))
    found = effect.of_rows(known, cycle.of_row)
    expected = [
        by_loop(effect, k, int(c), n_times)
        for k, c in zip(known, cycle.of_row, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    own = np.zeros((1, SEQ, PRED))
    nothing = np.zeros((0, PRED * n_targets))
    path = LinearPath(
        LinearFit(own, nothing, 0, np.zeros((n_known, n_targets)), {}, effect)
    )
    hours = np.arange(n)
    fields = torch.from_numpy(np.stack([hours % 24, hours // 24 % 7], axis=1))[None]
    in_torch = path.calendar(torch.from_numpy(known).float()[None], fields)[0]
    assert in_torch.dtype == torch.float32
    np.testing.assert_allclose(in_torch, found, atol=1e-5)


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2023-11-20", periods=2000, freq="h"),
        pd.date_range("2022-11-20", periods=700),
    ],
    ids=["hours", "days"],
)
def test_numpy_and_torch_say_the_same_of_a_day_of_the_year(index):
    """The last day of February and of December, too, also in a leap year."""
    fields = (
        ("hour", "weekday", "month", "day")
        if index.hour.any()
        else ("weekday", "month", "day")
    )
    values = calendar_values(index, fields)
    cells = find_cycle(fields, values, years=True)
    of_row, rng = cells.of_row, np.random.default_rng(0)
    level, year = (
        rng.normal(size=(cells.n_cells, 2)),
        rng.normal(size=(372, cells.n_times, 2)),
    )
    none = {"known": np.zeros((1, 0, 2)), "bounds": np.zeros((2, 0))}
    effect = CalendarEffect(
        level, **none, places=cells.places, fields=fields, year=year
    )
    found = effect.of_rows(np.zeros((len(index), 0)), of_row)
    time = index.hour if cells.n_times > 1 else 0 * index.hour
    cell = cells.n_times * index.day_of_week + time
    np.testing.assert_array_equal(
        found, level[cell] + year[31 * index.month - 32 + index.day, time]
    )
    own, nothing = np.zeros((1, SEQ, PRED)), np.zeros((0, 2 * PRED))
    path = LinearPath(LinearFit(own, nothing, 0, np.zeros((0, 2)), {}, effect))
    inputs = (
        torch.zeros(1, len(index), 0),
        torch.from_numpy(values.astype(np.int64))[None],
    )
    np.testing.assert_allclose(path.calendar(*inputs)[0], found, atol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (3, 4)])
@pytest.mark.parametrize("n_times", [1, 24])
def test_rows_of_any_shape_are_added_up(shape, n_times):
    """Windows are rows of rows; and the table stays as it was."""
    cycle = cycle_of(200)
    effect = make_effect(cycle, n_known=2, n_targets=3, n_times=n_times)
    before = [part.copy() for part in effect[:4]]
    known = np.random.default_rng(0).normal(size=(*shape, 2))
    cell = np.random.default_rng(1).integers(0, WEEK, size=shape)
    found = effect.of_rows(known, cell)
    assert found.shape == (*shape, 3)
    for place in np.ndindex(shape):
        expected = by_loop(effect, known[place], int(cell[place]), n_times)
        np.testing.assert_allclose(found[place], expected)
    for part, old in zip(effect[:4], before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("n_known", [0, 1])
def test_windows_are_gathered_without_it_and_within_what_was_seen(n_known):
    """The maps see what remains; of a heat that never was, what the hottest hour did."""
    n = 200
    rng, cycle = np.random.default_rng(0), cycle_of(n)
    rows = rng.normal(size=(n, 2))
    effect = make_effect(
        cycle, n_known=n_known, n_targets=1, n_times=24 if n_known else 1
    )
    problem = make_problem(rows.copy(), n_known=1, cycle=cycle)._replace(
        calendar=effect
    )
    origins = np.array([30, 100, 194])
    [windows] = gather(problem, origins)
    known = rows[:, 1:].clip(*effect.bounds) if n_known else rows[:, 1:]
    remain = rows[:, :1] - effect.of_rows(known[:, :n_known], cycle.of_row)
    whole = np.column_stack([remain, known])
    for i, o in enumerate(origins):
        np.testing.assert_allclose(windows.last[i], whole[o - 1])
        np.testing.assert_allclose(windows.past[i], whole[o - SEQ : o] - whole[o - 1])
        np.testing.assert_allclose(
            windows.future[i], remain[o : o + PRED] - remain[o - 1]
        )
    np.testing.assert_array_equal(problem.values, rows)


def test_columns_have_a_strength_of_their_own():
    """Forty columns, most of them noise, are no reason to believe less in the week."""
    n, rng = 12 * WEEK, np.random.default_rng(3)
    columns = rng.normal(size=(n, 40))
    values = np.tile(week(), (12, 1)) + columns[:, :2] @ [[2.0], [-1.0]] + noise(n)
    found = find(make_problem(np.column_stack([values, columns]), n_known=40))
    assert found.known.shape == (1, 40, 1)  # so many have one effect at all times
    assert error(found.level, week()) < 0.1
    np.testing.assert_allclose(found.known[0, :2, 0], [2.0, -1.0], atol=0.1)
    assert np.abs(found.known[0, 2:]).mean() < 0.03
