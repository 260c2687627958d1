import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skinformer.timeline.clock import RowClock
from skinformer.timeline.split import series_with_truth, split_rows
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
