"""Which columns hold names, and what numbers these become."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from skinformer.reading.categories import encode_names, find_names
from skinformer.timeline.clock import clock_for
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import Table
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
        (["12%", "7 %"], False),
        (["$1.50", "3 €"], False),
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


def encoding_of(names, y, series=None):
    """Encode a column of many names beside a target."""
    column = find_names("event", pd.Series(names))
    n = len(names)
    series = np.zeros(n, dtype=int) if series is None else series
    steps = np.arange(n) - np.searchsorted(series, series)
    days = pd.date_range("2024", periods=n)
    table = Table([y, column.codes], 1, series, steps, clock_for(days, days.freq))
    roles = Roles("frame", ("y",), ("event",), (), True, ("event", "y"))
    table, roles = encode_names(table, roles, {"event": column}, pred_len=2)
    assert len(table.columns) == 2
    return roles.categories[0].numbers[:, 0]


def test_names_that_say_nothing_have_no_number():
    """Means of noise would be learnt by heart."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, 30, 600)
    names = [f"{place:02}" for place in places]
    names = [f"e{name}" for name in names]
    noise = rng.normal(size=600)
    assert (encoding_of(names, noise) == 0).all()
    numbers = encoding_of(names, noise + places / 3)
    assert np.corrcoef(numbers[:30], np.arange(30))[0, 1] > 0.98


def test_names_that_came_once_have_no_number():
    """Nothing tells them from luck."""
    names = [f"e{place // 10}" for place in range(600)]
    y = np.repeat(np.random.default_rng(0).normal(size=60), 10)
    once = [name if int(name[1:]) < 12 else None for name in names]
    blocks = [name if i % 10 < 2 else None for i, name in enumerate(once)]
    assert np.isfinite(encoding_of(blocks, y)).all()


def test_many_names_of_series_are_the_means_of_these():
    """Each series has one: sizes of towns, by their names."""
    series = np.repeat(np.arange(24), 20)
    names = [f"town {number % 12:02}" for number in series]
    numbers = encoding_of(names, 10.0 * (series % 12) + 1, series)
    assert (np.diff(numbers[:12]) > 0).all()
