"""Holes: which forecasts fill them, in which order, and how long a chain may get."""

import numpy as np
import pytest

from skinformer.rolling import missing_runs as module
from skinformer.rolling.missing_runs import count_up, find_missing_runs


def find(rows, n=40, *, seq_len=5, pred_len=3, longest=None):
    unknown = np.zeros(n, dtype=bool)
    unknown[rows] = True
    return find_missing_runs(
        unknown, seq_len=seq_len, pred_len=pred_len, longest=longest
    )


def test_a_hole_is_forecast_from_its_first_step_in_parts():
    """So a filler depends on what lies before its gap, and on no border of blocks."""
    found = find([7, 8, 9, 10, 11, 12, 13, 30])
    assert found.origins.tolist() == [7, 10, 13, 30]
    assert found.lengths.tolist() == [3, 3, 1, 1]
    assert found.turn.tolist() == [0, 1, 2, 0]


def test_holes_out_of_each_others_context_are_filled_together():
    """One pass for thousands of gaps, or a long series would take minutes."""
    assert find([10, 15, 21]).turn.tolist() == [0, 1, 0]
    assert find(np.arange(0, 40, 6)).turn.tolist() == [0] * 7


def test_no_hole_needs_no_forecast():
    """Complete series cost nothing."""
    assert [len(part) for part in find([])] == [0, 0, 0]


def test_a_hole_may_be_limited():
    """A closed shop needs no forecast of ten years."""
    assert find(np.arange(10, 40), longest=2).origins.tolist() == [10, 13]


@pytest.mark.parametrize("limit", [2, 3, 7])
def test_a_chain_of_holes_is_cut(monkeypatch, limit):
    """Every second row missing must not mean half as many passes as rows."""
    monkeypatch.setattr(module, "CHAIN_OF_GAPS", limit)
    found = find(np.arange(1, 40, 2))
    assert found.turn.tolist() == [n % limit for n in range(20)]
    long = find([*range(1, 20), 22, 24])  # parts of one gap are never cut apart
    assert long.turn.tolist()[:7] == [0, 1, 2, 3, 4, 5, 6]


def test_gaps_all_over_a_long_series_take_few_turns():
    """Each turn asks all members, and takes as long for one window as for ten."""
    found = find(np.arange(8, 6000, 8), 6000, seq_len=168, pred_len=24)
    assert len(found.origins) == 749
    assert found.turn.max() < 25


def test_one_long_gap_takes_as_many_turns_as_forecasts():
    """Its forecasts build on each other, and nothing is observed between them."""
    found = find(np.arange(10, 610), 700, seq_len=20, pred_len=10)
    assert found.turn.tolist() == [*range(60)]


def test_only_what_is_built_on_is_kept():
    """A chain is needed up to the last context that reaches into it."""
    found = find([2, 4, 6, 20, 22, 35])
    assert found.needed(np.array([7]), seq_len=5).origins.tolist() == [2, 4, 6]
    assert found.needed(np.array([5, 36]), seq_len=5).origins.tolist() == [2, 4, 35]
    assert found.needed(np.array([15]), seq_len=5).origins.tolist() == []
    assert find([]).needed(np.array([3]), seq_len=5).origins.tolist() == []


def test_the_rows_of_a_forecast_and_those_it_fills():
    """What is observed again after the gap stays."""
    number, step = count_up(find([7, 8, 9, 10, 20]).lengths)
    assert number.tolist() == [0, 0, 0, 1, 2]
    assert step.tolist() == [0, 1, 2, 0, 0]
