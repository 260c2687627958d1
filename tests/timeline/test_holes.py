"""Holes are counted and filled within a series, from its past."""

import numpy as np
import pytest

from skinformer.timeline.holes import ENDLESS, fill_holes, find_holes, longest_hole

NAN = np.nan


@pytest.mark.parametrize("dtype", [bool, int, float, np.float32])
def test_a_whole_column_has_no_holes(dtype):
    """Nothing is copied for it."""
    assert find_holes(np.ones(3, dtype=dtype)) is None


@pytest.mark.parametrize(
    ("values", "first_row", "expected"),
    [
        ([1, 1], [0, 2], 0),
        ([NAN, NAN, 1], [0, 3], 2),
        ([1, NAN, NAN], [0, 3], 2),
        ([1, NAN, NAN, 1], [0, 2, 4], 1),
        ([NAN, NAN, NAN, NAN], [0, 1, 4], ENDLESS),
        ([NAN, NAN], [0, 0, 2], ENDLESS),
    ],
)
def test_the_longest_hole_lies_in_one_series(values, first_row, expected):
    """Two series that lack rows side by side have two holes; of no value at all there is no end."""
    missing = np.isnan(np.array(values, dtype=float))
    assert longest_hole(missing, np.array(first_row)) == expected


def test_nothing_is_filled_from_behind_or_from_another_series():
    """Only before its first value a series has its median."""
    values = np.array([1, NAN, 5, NAN, 2, NAN])
    filled = fill_holes(values, np.array([0, 3, 6]))
    assert filled.tolist() == [1, 1, 5, 2, 2, 2]
    values[2] = 50
    assert fill_holes(values, np.array([0, 3, 6])).tolist() == [1, 1, 50, 2, 2, 2]
