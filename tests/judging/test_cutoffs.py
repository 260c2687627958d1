"""At which rows members are compared."""

from types import SimpleNamespace

import numpy as np
import pytest

from skinformer.judging.cutoffs import cut_last_rows, cut_windows, series_origins
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins


def timeline_of(*lengths):
    first_row = np.cumsum([0, *lengths])
    values = np.arange(first_row[-1], dtype=np.float32)[:, None]
    first_step = np.zeros(len(lengths), dtype=np.int64)
    return Timeline(values, None, first_row, first_step, RowClock())


def test_the_last_rows_are_a_quarter_one_to_four_forecasts_long():
    """A series without three forecasts is judged by none."""
    split, origins = cut_last_rows(timeline_of(40, 100, 12, 11), pred_len=4)
    assert split.tolist() == [30, 124, 148, 163]
    assert origins.counts.tolist() == [7, 13, 1, 0]
    assert origins.low.tolist() == split.tolist()
    assert origins.high.tolist()[:3] == [36, 136, 148]


@pytest.mark.parametrize("n", [1, 5, 64, 500])
def test_each_series_has_at_most_64_cut_offs_its_first_and_last_among_them(n):
    low = np.array([100, 1000])
    origins = series_origins(Origins(low, low + n - 1))
    for first in low:
        own = origins[(origins >= first) & (origins < first + n)]
        assert len(own) == min(n, 64)
        assert (own[0], own[-1]) == (first, first + n - 1)


def test_of_many_series_each_has_two_cut_offs_at_least():
    low = np.arange(15_000) * 100
    origins = series_origins(Origins(low, low + 50))
    assert len(origins) == 2 * len(low)


def test_hundreds_of_series_have_few_cut_offs_each():
    """Of 414 series of hours 43 cut-offs each took a quarter of the fit, and said no more."""
    low = np.arange(414) * 100
    origins = series_origins(Origins(low, low + 42))
    assert len(origins) == 16 * len(low)
    own = origins[:16]
    assert (own[0], own[-1]) == (0, 42)
    assert np.diff(own).max() <= 3


def test_series_without_a_window_have_no_cut_off():
    origins = series_origins(Origins(np.array([10, 30]), np.array([9, 31])))
    assert origins.tolist() == [30, 31]


def test_training_windows_end_where_validation_windows_begin():
    timeline = timeline_of(50, 60)
    sizes = SimpleNamespace(seq_len=8, pred_len=4)
    split = np.array([40, 110])  # the second series has none
    training, validation = cut_windows(timeline, sizes, split)
    assert (training.low.tolist(), training.high.tolist()) == ([8, 58], [36, 106])
    assert (validation.low.tolist(), validation.high.tolist()) == ([40, 110], [46, 106])
    assert validation.counts.tolist() == [7, 0]
