import numpy as np
import pytest

from skinformer.timeline.clock import RowClock
from skinformer.timeline.split import split_rows
from skinformer.timeline.stillness import find_moves, resting_rows
from skinformer.timeline.timeline import Table


def weeks_of_an_office(n_rows, *, seed=0):
    """Return hours from a Monday on, which are zero at night and on weekends."""
    hours = np.arange(n_rows)
    is_open = (hours % 24 >= 8) & (hours % 24 < 18) & (hours // 24 % 7 < 5)
    calls = np.random.default_rng(seed).normal(60, 8, n_rows)
    return np.where(is_open, calls, 0.0)


def split_of(*series):
    """Return at which row of its series each split of 48 rows begins."""
    y = np.concatenate(series)
    codes = np.repeat(np.arange(len(series)), [len(each) for each in series])
    steps = np.concatenate([np.arange(len(each)) for each in series])
    table = Table([y], 1, codes, steps, RowClock())
    split = split_rows(table, seq_len=48, pred_len=24, fraction=0.01, n_forecasts=2)
    return (split - table.first_row[:-1]).tolist()


@pytest.mark.parametrize("n_rows", [330, 340, 1345])
def test_a_split_in_a_weekend_begins_before_it(n_rows):
    y = weeks_of_an_office(n_rows)
    n_still = n_rows - 1 - np.flatnonzero(np.diff(y))[-1] - 1
    assert split_of(y) == [n_rows - 48 - n_still]


def test_a_split_that_moves_is_left_where_it_is():
    assert split_of(weeks_of_an_office(14 * 24 - 60)) == [14 * 24 - 60 - 48]


def test_what_stands_still_for_longer_than_before_may_last():
    y = weeks_of_an_office(300)
    y[-100:] = 0
    assert split_of(y) == [252]


def test_rare_moves_are_no_closures():
    y = np.zeros(300)
    y[5:-60:50] = 1
    assert split_of(y) == [252]


def test_one_series_that_moves_keeps_the_split_of_a_panel():
    resting = weeks_of_an_office(340)
    assert split_of(resting, resting) == [340 - 48 - 57] * 2
    moving = np.random.default_rng(0).normal(size=340)
    assert split_of(resting, moving) == [340 - 48] * 2


def test_between_series_nothing_moves():
    y = weeks_of_an_office(340)
    moves = find_moves(np.concatenate([y, y + 1]))
    start = np.array([0, 340])
    assert resting_rows(moves, start, start + 340).tolist() == [57, 57]


def test_a_series_of_no_rows_does_not_rest():
    moves = find_moves(weeks_of_an_office(340))
    resting = resting_rows(moves, np.array([0, 340]), np.array([340, 340]))
    assert resting.tolist() == [57, 0]
