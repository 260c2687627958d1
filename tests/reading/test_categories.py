"""Which columns hold names, and what numbers these become."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from skinformer.reading.categories import find_names
from skinformer.validation.categories import holds_names


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["rain", "sun"], True),
        (["rain", None], True),
        (["A1", "B2", "3"], True),
        (["Mon", "Tue"], True),
        (["may", "june"], True),
        (pd.Categorical([1, 2]), True),
        (["1", "2"], False),
        (["1,5", "-"], False),
        ([1, 2, "x"], False),
        (["2024-01-01", "2024-01-02"], False),
        (["1.2.2024", "2.2.2024"], False),
        ([Decimal(1), None], False),
        ([True, False, None], False),
        ([[1], [2]], False),
        ([None, None], False),
        ([1.5, 2.5], False),
        (pd.to_datetime(["2024-01-01"]), False),
    ],
)
def test_names_are_told_from_numbers_and_dates(values, expected):
    """A number that is written as text, or a date, is no category."""
    assert holds_names(pd.Series(values)) is expected


def test_levels_are_sorted_or_in_their_order():
    """What came first in a table must not matter."""
    values = ["m", "s", None, "l"]
    found = find_names("size", pd.Series(values))
    assert found.levels == ("l", "m", "s")
    assert found.codes.tolist() == [1, 2, 4, 0]
    order = pd.CategoricalDtype(["s", "m", "l", "xl"], ordered=True)
    found = find_names("size", pd.Series(values, dtype=order))
    assert found.levels == ("s", "m", "l", "xl")
    assert found.codes.tolist() == [1, 0, 5, 2]


def test_levels_that_no_row_holds_are_none():
    """A categorical may declare more than a table holds."""
    values = pd.Series(pd.Categorical(["a", "b"], ["a", "b", "c"]))
    assert find_names("kind", values).levels == ("a", "b")


def test_one_level_whatever_its_type():
    """Whole numbers become floats where one is missing."""
    from skinformer.timeline.categories import as_texts

    assert as_texts([1, 1.0, np.float32(1), "1"]) == ["1"] * 4
