"""Features of forecast steps say what was known at the origin, and nothing else."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinformer.tabular.features import Columns, FeatureMaker, Pairs, View, find_seasons
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.cycle import CalendarEffect


def maker_of(columns, seasons):
    n_columns = columns.n_targets + columns.n_past + columns.n_known
    wide = np.full(n_columns, np.inf)
    return FeatureMaker(columns, seasons, -wide, wide)


def hourly(tz=None, start="2024-01-01"):
    hours = pd.date_range(start, periods=3, freq="h", tz=tz)
    return clock_for(hours, hours.freq).starting_at(hours[0])


def pairs_of(origin, ahead, *, begin=0):
    origin, ahead = np.atleast_1d(origin), np.atleast_1d(ahead)
    nothing = np.zeros_like(origin)
    return Pairs(origin, ahead, nothing, np.full(len(origin), begin), origin)


def test_anchors_are_the_last_value_and_the_means_of_the_same_phase():
    """Computed by hand: rows are their own numbers, so a feature shows which row it read."""
    maker = maker_of(Columns(1, 0, 0, 0, 6), (4,))
    values = np.arange(40.0)[:, None]
    got = maker.make(values, pairs_of([20, 20], [0, 5]), RowClock())
    # Step 20 has phase 0: 16, 12, 8, 4. Step 25 has phase 1, last before the origin: 17, 13, 9, 5.
    np.testing.assert_array_equal(got[:, 0], [19, 19])
    np.testing.assert_array_equal(got[:, 1], [11.5, 11.5])  # four seasons
    np.testing.assert_array_equal(got[:, 2], [10, 11])
    # Rows before the last one.
    np.testing.assert_array_equal(got[:, 3:5], [[18, 17]] * 2)
    np.testing.assert_array_equal(got[:, 5:9], [[16, 12, 8, 4], [17, 13, 9, 5]])
    # Beside the last phase.
    np.testing.assert_array_equal(got[:, 9:11], [[15, 17], [16, 18]])
    np.testing.assert_array_equal(got[:, 11], [10, 11])  # median
    # Last season, and before it.
    np.testing.assert_array_equal(got[:, 12:14], [[17.5, 13.5]] * 2)
    np.testing.assert_array_equal(got[:, 14], [18, 18])  # the last three rows


def test_a_row_beside_the_phase_that_is_not_past_is_unknown():
    maker = maker_of(Columns(1, 0, 0, 0, 6), (4,))
    got = maker.make(np.arange(40.0)[:, None], pairs_of(20, 3), RowClock())
    assert got[0, 5] == 19  # the phase of step 23
    assert np.isnan(got[0, 10])  # row 20 would be beside it


def test_columns_known_ahead_are_read_up_to_the_step():
    maker = maker_of(Columns(1, 0, 1, 0, 6), (4,))
    values = np.column_stack([np.zeros(40), np.arange(40.0) ** 2])
    first = maker.make(values, pairs_of([20], [0]), RowClock())[0, -8:]
    np.testing.assert_array_equal(first[0], 20**2)
    np.testing.assert_array_equal(first[1], 20**2 - 16**2)
    np.testing.assert_array_equal(first[2], 20**2 - np.mean([16**2, 12**2, 8**2, 4**2]))
    np.testing.assert_array_equal(first[3:6], np.array([17, 18, 19]) ** 2)
    # Means of a season, and of three.
    for count, got in zip((4, 12), first[6:], strict=True):
        assert got == pytest.approx(np.mean(np.arange(21 - count, 21) ** 2))


def test_rows_before_the_series_are_unknown():
    """The rows before `begin` belong to another series, or hold nothing."""
    maker = maker_of(Columns(1, 0, 1, 0, 6), (4,))
    values = np.column_stack([np.arange(40.0), np.arange(40.0)])
    got = maker.make(values, pairs_of(20, 0, begin=14), RowClock())[0]
    np.testing.assert_array_equal(got[[0, 2]], [19, 16])
    np.testing.assert_array_equal(got[5:9], [16, np.nan, np.nan, np.nan])
    nothing = maker.make(values, pairs_of(20, 0, begin=20), RowClock())[0]
    assert np.isnan(nothing[:15]).all()


def test_static_columns_are_read_once():
    maker = maker_of(Columns(1, 0, 2, 1, 6), (4,))
    values = np.column_stack([np.zeros(40), np.arange(40.0), np.full(40, 7.0)])
    got = maker.make(values, pairs_of(20, 3), RowClock())[0]
    assert got[-1] == 7
    assert (got == 7).sum() == 1


def test_the_calendar_is_read_off_the_wall_in_daylight_saving():
    """In Auckland 02:00 does not exist on 29 September 2024; a day later it is hour 2 again."""
    clock = hourly(tz="Pacific/Auckland", start="2024-09-28")
    maker = maker_of(Columns(1, 0, 0, 0, 30), ())
    pairs = pairs_of([26, 26, 26], [0, 1, 24])  # the 26 hours are two short of 28th
    got = maker.make(np.zeros((60, 1)), pairs, clock)
    minute = got[:, -5]
    np.testing.assert_array_equal(minute, [180, 240, 180])
    np.testing.assert_array_equal(got[:, -4], [6, 6, 0])  # Sunday, Monday
    np.testing.assert_array_equal(got[:, -1], [273, 273, 274])


@pytest.mark.parametrize("freq", ["15min", "D", "W", "MS", "B", "YS"])
def test_every_clock_has_features(freq):
    times = pd.date_range("1950-01-01", periods=300, freq=freq)
    clock = clock_for(times, times.freq).starting_at(times[0])
    maker = maker_of(Columns(1, 0, 0, 0, 6), find_seasons(clock, np.array([300])))
    got = maker.make(np.arange(300.0)[:, None], pairs_of([200], [3]), clock)
    assert np.isfinite(got[0, :5]).all()


def test_periods_have_a_calendar():
    times = pd.period_range("2020-01-01", periods=3, freq="D")
    clock = clock_for(times, times.freq).starting_at(times[0])
    maker = maker_of(Columns(1, 0, 0, 0, 6), ())
    got = maker.make(np.zeros((60, 1)), pairs_of([31], [0]), clock)
    np.testing.assert_array_equal(got[0, -2:], [1, 32])  # 1 February


def test_many_columns_known_ahead_have_fewer_features():
    """Features must not grow without bound: fifty columns would cost minutes."""

    def count(n_known):
        maker = maker_of(Columns(1, 0, n_known, 0, 6), (4,))
        return maker.make(
            np.zeros((40, 1 + n_known)), pairs_of(20, 0), RowClock()
        ).shape[1]

    bare = count(0)
    assert count(12) - bare == 12 * 8
    assert count(13) - bare == 13 * 3
    assert count(50) - bare == 40 * 3 + 10


def test_a_year_of_days_keeps_the_weekday():
    days = pd.date_range("2020-01-01", periods=3, freq="D")
    assert find_seasons(clock_for(days, days.freq), np.array([2000])) == (7, 364)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 99),
    origin=st.integers(0, 59),
    ahead=st.integers(0, 5),
    n_past=st.integers(0, 2),
    n_known=st.integers(0, 2),
)
def test_nothing_from_the_origin_on_is_read_but_what_is_known_ahead(
    seed, origin, ahead, n_past, n_known
):
    """The leak that makes every number in a paper too good."""
    columns = Columns(2, n_past, n_known, 0, 6)
    maker = maker_of(columns, (4, 12))
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(66, 2 + n_past + n_known))
    other = values.copy()
    other[origin:, : 2 + n_past] = generator.normal(size=(66 - origin, 2 + n_past))
    other[origin + 6 :] = np.nan
    other[:5] = np.nan  # another series
    pairs = pairs_of(origin, ahead, begin=5)
    first, second = (maker.make(rows, pairs, hourly()) for rows in (values, other))
    np.testing.assert_array_equal(first, second)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 99),
    row=st.integers(50, 200),
    seasons=st.sampled_from([(), (4, 12)]),
)
def test_look_back_names_the_rows_that_are_read(seed, row, seasons):
    """Whoever lays out rows for a forecast lays out so many of them."""
    maker = maker_of(Columns(1, 0, 1, 0, 6), seasons)
    values = np.random.default_rng(seed).normal(size=(220, 2))
    short = values.copy()
    short[: row - maker.look_back] = np.nan
    ahead = np.arange(6)
    pairs = pairs_of(np.full(6, row), ahead)
    first, second = (maker.make(rows, pairs, RowClock()) for rows in (values, short))
    np.testing.assert_array_equal(first, second)


def test_what_goes_by_the_origin_alone_is_read_once_for_all_steps(monkeypatch):
    """Of 48 steps ahead, means of the last weeks took most of a forecast of trees."""
    maker = maker_of(Columns(2, 1, 0, 0, 48), (24, 168))
    values = np.random.default_rng(0).normal(size=(2000, 3))
    origins = np.arange(800, 1800, 100)
    windows = Pairs.of_windows(origins, np.zeros(10, int), origins, 48, 2)
    n_read = []
    read = View._read

    def spy(self, column, rows, pairs, stop):
        n_read.append(rows.size)
        return read(self, column, rows, pairs, stop)

    monkeypatch.setattr(View, "_read", spy)
    together = maker.make(values, windows, RowClock())
    # Four rows of each step, and 168 of the last ones of each origin and target.
    assert max(n_read) == max(10 * 48 * 2 * 4, 10 * 2 * 168)
    assert sum(n_read) < 40 * len(windows.origin)
    monkeypatch.undo()
    one_by_one = [
        maker.make(values, windows.take(slice(i, i + 1)), RowClock())
        for i in range(0, len(windows.origin), 97)
    ]
    np.testing.assert_array_equal(together[::97], np.concatenate(one_by_one))


def test_wild_values_of_covariates_count_as_unknown():
    """A mean over three days must not carry one wild hour through all of them."""
    columns = Columns(1, 0, 1, 0, 6)
    values = np.random.default_rng(0).normal(size=(500, 2))
    values[100] = 9831.0
    low, high = find_bounds(values, 1)
    got = FeatureMaker(columns, (4,), low, high).make(
        values, pairs_of(98, 3), RowClock()
    )[0, -8:]
    assert np.isnan(got[5])  # row 100, before the step
    assert np.nanmax(np.abs(got)) < 5
    spike = FeatureMaker(columns, (4,), low, high).make(
        values, pairs_of(101, 0), RowClock()
    )
    assert spike[0, 0] == 9831  # a target may rise for ever


def test_features_of_columns_known_ahead_are_where_they_are_said_to_be():
    """Screening a column must not judge another one's features."""
    columns = Columns(2, 1, 4, 1, 6)
    wide = np.full(7, np.inf)
    maker = FeatureMaker(columns, (4, 8), -wide, wide, plain=(1,))
    values = np.random.default_rng(0).normal(size=(60, 7))
    base = maker.make(values, pairs_of(40, 2), RowClock())
    groups = maker.known_positions(base.shape[1])
    assert [len(group) for group in groups] == [9, 1, 9]
    for i, group in enumerate(groups):
        other = values.copy()
        other[:, 3 + i] += 1.0 + np.arange(60) ** 2
        changed = maker.make(other, pairs_of(40, 2), RowClock()) != base
        np.testing.assert_array_equal(np.flatnonzero(changed[0]), group)
    other = values.copy()
    other[:, 0] += 1.0 + np.arange(60) ** 2
    changed = np.flatnonzero(
        (maker.make(other, pairs_of(40, 2), RowClock()) != base)[0]
    )
    assert set(range(maker.n_own)) <= set(changed)
    assert maker.n_own not in changed  # the step ahead


def make_calendar(n_known):
    """Make the effect of an hour its own number, and of a column its value times the hour."""
    places = np.zeros((1, 60), dtype=np.int64)
    places[0, :24] = np.arange(24)
    by_time = np.broadcast_to(np.arange(24.0)[:, None, None], (24, n_known, 2)) * [
        1,
        10,
    ]
    bounds = np.tile([[-5.0], [5.0]], (1, n_known))
    return CalendarEffect(
        np.arange(24.0)[:, None] * [1, 10], by_time, bounds, places, ("hour",)
    )


@pytest.mark.parametrize("n_known", [0, 1])
def test_what_is_usual_is_read_at_the_step_and_at_its_phase(n_known):
    """By the wall of the step; of a value that never was, what the greatest did."""
    columns = Columns(2, 0, n_known, 0, 6)
    bare = maker_of(columns, (24,))
    maker = replace(bare, calendar=make_calendar(n_known))
    values = np.random.default_rng(0).normal(size=(100, 2 + n_known))
    if n_known:
        values[53, 2], values[29, 2] = 9.0, np.nan
    # 53 is 5 o'clock.
    pairs = pairs_of([50, 50], [3, 3])._replace(target=np.array([0, 1]))
    got = maker.make(values, pairs, hourly())
    np.testing.assert_array_equal(got[:, :-2], bare.make(values, pairs, hourly()))
    ahead = 5 + 5 * 5 * n_known
    np.testing.assert_allclose(got[:, -2:], np.array([[1], [10]]) * [ahead, ahead - 5])
    assert [list(g) for g in maker.known_positions(got.shape[1])] == [
        list(g) for g in bare.known_positions(got.shape[1] - 2)
    ]


def test_without_seasons_the_step_alone_is_usual():
    maker = replace(maker_of(Columns(2, 0, 0, 0, 6), ()), calendar=make_calendar(0))
    pairs = pairs_of(50, 3)
    assert maker.make(np.zeros((100, 2)), pairs, hourly())[0, -1] == 5


def test_before_a_series_began_its_first_row_is_usual():
    """A phase before the first row belongs to nobody, or to the series before it."""
    maker = replace(maker_of(Columns(2, 0, 1, 0, 6), (24,)), calendar=make_calendar(1))
    values = np.zeros((100, 3))
    values[:40, 2] = 3.0
    values[40, 2] = 1.0
    got = maker.make(values, pairs_of(50, 3, begin=40), hourly())
    first = 16 + 16 * 1  # row 40 is 16 o'clock
    np.testing.assert_allclose(got[0, -2:], [5, 5 - first])
