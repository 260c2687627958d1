import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit

from skinformer.timeline.clock import RowClock
from skinformer.timeline.split import (
    PanelTimeSeriesSplit,
    series_with_truth,
    split_rows,
)
from skinformer.timeline.timeline import Table


def rows(series):
    """Make a table from (first step, number of steps) of each series."""
    codes = np.repeat(np.arange(len(series)), [n for _, n in series])
    steps = np.concatenate([first + np.arange(n) for first, n in series])
    return Table([steps], 1, codes, steps, RowClock())


@given(
    series=st.lists(
        st.tuples(st.integers(0, 100), st.integers(1, 200)), min_size=1, max_size=5
    ),
    seq_len=st.integers(1, 20),
    pred_len=st.integers(1, 20),
    fraction=st.floats(0.001, 0.999),
    n_forecasts=st.integers(1, 3),
)
def test_both_sides_of_the_split_hold_a_window(
    series, seq_len, pred_len, fraction, n_forecasts
):
    """A share too large or too small must leave something to train on and to validate with."""
    assume(max(length for _, length in series) >= seq_len + 2 * pred_len)
    options = {"seq_len": seq_len, "pred_len": pred_len, "fraction": fraction}
    table = rows(series)
    split = split_rows(table, **options, n_forecasts=n_forecasts)
    for row, start, end in zip(
        split, table.first_row[:-1], table.first_row[1:], strict=True
    ):
        if end - start >= seq_len + 2 * pred_len:
            assert start + seq_len + pred_len <= row <= end - pred_len
        else:
            assert row == end  # all of it is trained on
    trained, watched = series_with_truth(
        table, split, seq_len=seq_len, pred_len=pred_len
    )
    assert trained.any()
    assert watched.any()


@given(st.integers(100, 10_000), st.floats(0.05, 0.5))
def test_the_tail_is_the_asked_share_where_nothing_limits_it(n, fraction):
    """Otherwise validation_fraction would not mean what its name says."""
    (row,) = split_rows(rows([(7, n)]), seq_len=10, pred_len=5, fraction=fraction)
    assert row == n - math.ceil(fraction * n)


def test_the_share_is_of_all_rows_not_of_the_longest_series():
    """One long old series must not take the whole share."""
    series = [(0, 1100), *[(1000, 100)] * 5]
    table = rows(series)
    split = split_rows(table, seq_len=24, pred_len=6, fraction=0.1)
    held_out = (table.first_row[1:] - split).sum()
    assert held_out / len(table.steps) == pytest.approx(0.1, abs=0.01)


def test_each_series_is_judged_by_its_own_last_rows():
    """Series that end apart, years or hours, all take part; those that end together, at a time."""
    apart = split_rows(
        rows([(0, 50), (300, 170), (5, 55)]), seq_len=8, pred_len=4, fraction=0.2
    )
    together = split_rows(
        rows([(120, 50), (0, 170), (115, 55)]), seq_len=8, pred_len=4, fraction=0.2
    )
    ends = np.array([50, 220, 275])
    assert set(ends - apart) == set(ends - together) == {19}


def test_a_longer_tail_is_made_for_several_forecasts():
    """Judging by one forecast is judging by luck."""
    options = {"seq_len": 8, "pred_len": 6, "fraction": 0.1}
    table = rows([(0, 60)])
    assert split_rows(table, **options).tolist() == [54]
    assert split_rows(table, **options, n_forecasts=2).tolist() == [48]


def test_rows_after_the_last_truth_are_no_tail():
    """A shop that closed is judged by its last months, not by the empty ones after them."""
    weight = np.ones((60, 1))
    weight[40:] = 0
    table = replace(rows([(0, 60)]), weight=weight)
    assert split_rows(table, seq_len=8, pred_len=4, fraction=0.1).tolist() == [36]


def test_series_too_short_to_be_parted_give_none():
    """There is nothing to judge by."""
    assert (
        split_rows(rows([(0, 15), (3, 9)]), seq_len=8, pred_len=4, fraction=0.2) is None
    )


# --- PanelTimeSeriesSplit -----------------------------------------------------------------------

OPTIONS = [
    {"n_splits": 3},
    {"n_splits": 3, "test_size": 2},
    {"n_splits": 3, "test_size": 2, "gap": 2},
    {"n_splits": 3, "max_train_size": 4},
]


def panel():
    """Series of different length, which begin and end at different times."""
    index = pd.date_range("2024-01-01", periods=24, freq="h", tz="Europe/Berlin")
    parts = {"b": index[2:20], "a": index, "c": index[13:]}
    frames = {
        name: pd.DataFrame({"load": np.arange(len(t))}, index=t)
        for name, t in parts.items()
    }
    return pd.concat(frames)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shuffled", [False, True])
def test_every_series_of_a_panel_is_cut_at_the_same_times(options, shuffled):
    """Cut by rows, the score would come from other series in the same hour."""
    X = panel()
    X = X.sample(frac=1, random_state=0) if shuffled else X
    time = X.index.get_level_values(1)
    moments = np.array(sorted(set(time)))
    splits = list(PanelTimeSeriesSplit(**options).split(X))
    expected = list(TimeSeriesSplit(**options).split(moments))
    assert len(splits) == len(expected) == 3
    for (train, test), (train_at, test_at) in zip(splits, expected, strict=True):
        wanted = set(moments[train_at]), set(moments[test_at])
        assert train.tolist() == [i for i, t in enumerate(time) if t in wanted[0]]
        assert test.tolist() == [i for i, t in enumerate(time) if t in wanted[1]]
        assert time[train].max() < time[test].min()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_without_series_it_splits_as_sklearn_does(options, kind):
    """One splitter for both, so that code need not ask which it has."""
    X = panel().loc["a"]
    X = X if kind == "frame" else X.to_numpy()
    ours, theirs = (
        PanelTimeSeriesSplit(**options).split(X),
        TimeSeriesSplit(**options).split(X),
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[1], other[1])


@pytest.mark.parametrize("as_kind", [np.asarray, lambda X: X.to_numpy().tolist()])
def test_the_series_may_be_named_by_y(as_kind):
    """A scaler before has made an array, or a list, of X."""
    X = panel()
    splitter = PanelTimeSeriesSplit(3)
    for mine, other in zip(
        splitter.split(as_kind(X), X["load"]), splitter.split(X), strict=True
    ):
        np.testing.assert_array_equal(mine[0], other[0])
        np.testing.assert_array_equal(mine[1], other[1])


def test_a_splitter_counts_its_splits_and_shows_its_parameters():
    """Searches ask for both."""
    splitter = PanelTimeSeriesSplit(4, gap=2)
    assert splitter.get_n_splits() == 4
    shown = repr(splitter)
    assert shown.startswith("PanelTimeSeriesSplit(")
    assert "gap=2" in shown
    assert clone(splitter, safe=False).gap == 2


def test_too_few_times_are_refused_by_sklearn():
    """Rows are not times: eight series of three hours are three moments."""
    X = pd.concat(dict.fromkeys("abcdefgh", panel().loc["a"].iloc[:3]))
    with pytest.raises(
        ValueError, match=r"^Cannot have number of folds=6 greater than"
    ):
        next(PanelTimeSeriesSplit(5).split(X))


@pytest.mark.parametrize("panel", [False, True], ids=["one", "panel"])
def test_no_test_row_is_trained_on(panel):
    """A gap below zero let scikit-learn do so."""
    index = pd.MultiIndex.from_product([["a", "b"], range(20)]) if panel else range(40)
    with pytest.raises(
        ValueError, match=r"^gap=-1 must be 0 or more: below it test rows would"
    ):
        list(PanelTimeSeriesSplit(2, gap=-1).split(pd.DataFrame({"load": 0.0}, index)))
