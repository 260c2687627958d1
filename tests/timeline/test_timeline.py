import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinformer.timeline import timeline as module
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.scaling import Scaler, fit_scaler
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Table, Timeline, fill_forward, runs

HOURS = clock_for(
    pd.date_range("2024-01-01", periods=3, freq="h", name="when"), pd.offsets.Hour()
)


def table(lengths, first_steps, n_columns=2, weight=None, seed=0):
    """Random rows of several series, sorted by series and step."""
    n = sum(lengths)
    columns = list(np.random.default_rng(seed).normal(size=(n_columns, n)))
    steps = [s + np.arange(k) for s, k in zip(first_steps, lengths, strict=True)]
    return Table(
        columns=columns,
        n_targets=1,
        series=np.repeat(np.arange(len(lengths)), lengths),
        steps=np.concatenate(steps),
        clock=HOURS,
        weight=weight,
    )


def build_timeline(rows, scaler, *, fill_covariates=True):
    return module.build_timeline(rows, scaler, fill_covariates=fill_covariates)


def plain(n_series, n_columns):
    ones = np.ones((n_series, n_columns))
    return Scaler(0 * ones, ones, TargetScale.unbounded(n_series, n_columns))


# --- fill_forward -------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=5),
    share=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    seed=st.integers(0, 999),
)
def test_holes_are_filled_as_pandas_fills_each_series(lengths, share, seed):
    """Never from another series, and with the mean (0) where nothing came before."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(sum(lengths), 3)).astype(np.float32)
    values[rng.random(values.shape) < share] = np.nan
    series = np.repeat(np.arange(len(lengths)), lengths)
    expected = pd.DataFrame(values).groupby(series).ffill().fillna(0).to_numpy()
    fill_forward(values, np.cumsum([0, *lengths]))
    np.testing.assert_array_equal(values, expected)


def test_filling_never_looks_ahead():
    """A gap filled from a later row would show the model the value it must forecast."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2)).astype(np.float32)
    values[rng.random(values.shape) < 0.4] = np.nan
    first_row = np.array([0, 25, 60])
    filled = values.copy()
    fill_forward(filled, first_row)
    for row in range(60):
        later = values.copy()
        later[row + 1 :] = rng.normal(size=(59 - row, 2))
        fill_forward(later, first_row)
        np.testing.assert_array_equal(later[: row + 1], filled[: row + 1])


# --- runs and tables ----------------------------------------------------------------------------


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_runs_are_where_each_series_lies(lengths):
    """Some series have no row in X, the first and the last one among them."""
    series = np.repeat(np.arange(len(lengths)), lengths)
    found = runs(series, len(lengths))
    assert found.dtype == np.int64
    assert found.tolist() == [0, *np.cumsum(lengths).tolist()]


@pytest.mark.parametrize(
    "rows",
    [slice(2, 5), np.array([4, 0, 4]), np.arange(6) % 2 == 0],
    ids=["slice", "int", "bool"],
)
def test_taking_rows_takes_all_that_belongs_to_them(rows):
    """A weight that stays behind would weigh another row."""
    full = table([4, 2], [0, 5], weight=np.arange(6.0)[:, None])
    full.columns[1] = None
    part = full.take(rows)
    np.testing.assert_array_equal(part.columns[0], full.columns[0][rows])
    assert part.columns[1] is None
    np.testing.assert_array_equal(part.series, full.series[rows])
    np.testing.assert_array_equal(part.steps, full.steps[rows])
    np.testing.assert_array_equal(part.weight, full.weight[rows])
    assert part.clock is full.clock
    assert full.take(rows).take(slice(None)).n_targets == 1
    assert table([3], [0]).take(rows if isinstance(rows, slice) else [0]).weight is None


def test_rows_are_numbered_by_series():
    """The table's own borders are those of its series."""
    assert table([3, 0, 2], [0, 0, 0]).first_row.tolist() == [0, 3, 3, 5]
    assert table([4], [7]).first_row.tolist() == [0, 4]


def test_static_columns_are_the_covariates_that_never_change_within_a_series():
    """A target is never one, and with one series nothing can be compared."""
    rows = table([3, 2, 4], [0, 0, 0], n_columns=4)
    rows.columns[0] = np.repeat([1.0, 2.0, 3.0], [3, 2, 4])  # the target
    rows.columns[2] = np.repeat([5.0, 9.0, 5.0], [3, 2, 4])
    # Changes in the second series.
    rows.columns[3] = np.repeat([5.0, 9.0, 5.0], [3, 3, 3])
    assert rows.static_columns() == [2]
    alone = table([5], [0], n_columns=2)
    alone.columns[1] = np.ones(5)
    assert alone.static_columns() == []


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_static_columns_may_hold_any_kind_of_number(dtype):
    """Whether a shop has a car park is a flag; unsigned differences must not wrap."""
    rows = table([3, 2], [0, 0], n_columns=3)
    rows.columns[1] = np.array([1, 1, 1, 0, 0], dtype=dtype)
    rows.columns[2] = np.array([1, 0, 1, 0, 0], dtype=dtype)
    assert rows.static_columns() == [1]


# --- build_timeline -----------------------------------------------------------------------------


def test_a_timeline_is_standardised_and_without_holes():
    """Context must be a number; the loss learns from the weight what was missing."""
    rows = table([30, 20], [0, 4], weight=np.ones((50, 1)))
    rows.columns[0][[0, 3, 30, 49]] = np.nan
    rows.weight[[0, 3, 30, 49]] = 0
    scaler = fit_scaler(rows.columns, np.array([0, 30]), np.array([30, 50]), static=[])
    timeline = build_timeline(rows, scaler)
    assert timeline.values.dtype == np.float32
    assert timeline.weight.dtype == np.float32
    assert np.isfinite(timeline.values).all()
    # Nothing before: the mean.
    assert timeline.values[0, 0] == timeline.values[30, 0] == 0
    assert timeline.values[3, 0] == timeline.values[2, 0]
    standard = scaler.transform(rows.columns, rows.series)
    seen = ~np.isnan(standard)
    np.testing.assert_array_equal(timeline.values[seen], standard[seen])
    np.testing.assert_array_equal(timeline.weight[:, 0] == 0, np.isnan(standard[:, 0]))


@pytest.mark.parametrize("fill", [True, False])
def test_missing_covariates_are_filled_only_if_asked(fill):
    """A model with an embedding for "missing" must see what is missing; another must not."""
    rows = table([6, 5], [0, 0], n_columns=3)
    for column in rows.columns:
        column[[0, 4, 7]] = np.nan
    values = build_timeline(rows, plain(2, 3), fill_covariates=fill).values
    assert np.isfinite(values[:, 0]).all()
    assert np.isnan(values[:, 1:]).sum() == (0 if fill else 6)


def test_a_timeline_knows_where_each_series_lies():
    """Windows are row numbers, so a wrong border mixes two series."""
    timeline = build_timeline(table([3, 5, 1], [2, 0, 7]), plain(3, 2))
    assert timeline.n_series == 3
    assert timeline.weight is None
    assert timeline.first_row.tolist() == [0, 3, 8, 9]
    assert timeline.first_step.tolist() == [2, 0, 7]
    assert timeline.end_step.tolist() == [5, 5, 8]
    expected = pd.date_range("2024-01-01", periods=8, freq="h", name="when")
    assert timeline.labels.equals(expected)
    assert timeline.labels.freq == expected.freq


@pytest.mark.parametrize("lengths", [[0, 3, 2], [3, 0, 2], [3, 2, 0]])
def test_series_without_rows_have_no_rows(lengths):
    """An update may bring rows of some series only."""
    rows = table(lengths, [4, 4, 4])
    timeline = build_timeline(rows, plain(3, 2))
    assert np.diff(timeline.first_row).tolist() == lengths
    for i in range(3):
        if lengths[i]:
            assert timeline.first_step[i] == 4


@pytest.mark.parametrize(
    ("old", "new"), [([3, 2], [1, 4]), ([3, 2], [0, 4]), ([3, 2], [4, 0]), ([1], [1])]
)
def test_appended_rows_continue_their_own_series(old, new):
    """Rows are kept series after series, so those of all but the last one go between."""
    a = table(old, [0, 3][: len(old)], seed=1)
    b = table(new, [x + y for x, y in zip([0, 3], old, strict=False)], seed=2)
    first = build_timeline(a, plain(len(old), 2))
    second = build_timeline(b, plain(len(old), 2))
    both = first.appended(second)
    assert both.n_series == len(old)
    assert both.weight is None
    assert both.end_step.tolist() == [
        s + x + y for s, x, y in zip([0, 3], old, new, strict=False)
    ]
    frames = [
        pd.DataFrame(np.column_stack(t.columns)).assign(series=t.series, step=t.steps)
        for t in (a, b)
    ]
    expected = (
        pd.concat(frames).sort_values(["series", "step"])[[0, 1]].to_numpy(np.float32)
    )
    np.testing.assert_array_equal(both.values, expected)
    assert first.values.shape == (sum(old), 2)


def test_rows_without_an_index_have_their_numbers_as_labels():
    """So that forecasts of plain arrays are labelled too."""
    rows = Table(
        [np.arange(4.0)], 1, np.zeros(4, dtype=np.int64), np.arange(4), RowClock()
    )
    assert build_timeline(rows, plain(1, 1)).labels.tolist() == [0, 1, 2, 3]


def test_rows_are_found_by_series_and_step():
    """Before, behind and of new series there are none, and series without rows hold none."""
    values = np.zeros((5, 1), dtype=np.float32)
    timeline = Timeline(
        values, None, np.array([0, 2, 2, 5]), np.array([7, 0, -1]), RowClock()
    )
    series = np.array([0, 0, 0, 0, 1, 2, 2, 2, 3])
    steps = np.array([6, 7, 8, 9, 0, -1, 1, 2, 7])
    assert timeline.find(series, steps).tolist() == [-1, 0, 1, -1, -1, 2, 4, -1, -1]
