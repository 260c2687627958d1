"""One reader of places: series, order and steps of rows, as a loop would count them."""

import numpy as np
import pandas as pd
import pytest

from skinformer.reading.places import RowPlaces, group_rows, sort_rows

START = pd.Timestamp("2024-01-01")


def panel(**lengths):
    days = [START + pd.Timedelta(days=i) for n in lengths.values() for i in range(n)]
    return pd.DatetimeIndex(days), pd.Index(
        [name for name, n in lengths.items() for _ in range(n)]
    )


def fitted(time, labels):
    rows = group_rows(time, labels, len(time))
    return rows, rows.places(None, *rows.count_steps(None))


@pytest.mark.parametrize("mixed", [[0, 3, 1, 4, 2], [3, 4, 0, 1, 2], [0, 1, 2, 3, 4]])
def test_training_rows_are_grouped_by_the_names_of_series(mixed):
    """Rows of several series may take turns; which of them came first must not be learnt from."""
    time, labels = panel(a=3, b=2)
    mixed = np.array(mixed)
    rows, places = fitted(time[mixed], labels[mixed])
    assert list(mixed[rows.order]) == [0, 1, 2, 3, 4]
    assert (list(rows.names), list(rows.series)) == (["a", "b"], [0, 0, 0, 1, 1])
    assert list(rows.count_steps(None)[1]) == [0, 1, 2, 0, 1]
    assert places.n_series == 2


def test_sorted_training_rows_are_not_copied():
    """An order that is an array would copy every column of a large frame."""
    rows, _ = fitted(*panel(a=3, b=2))
    assert rows.order == slice(None)


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_any_order_are_found(seed):
    """Each by its own labels; new series are numbered after the fitted."""
    _, places = fitted(*panel(b=3, c=2))
    time, labels = panel(c=6, new=2, b=5, a=3)
    mixed = np.random.default_rng(seed).permutation(len(time))
    time, labels = time[mixed], labels[mixed]
    found = places.find(None, time, labels, len(time))
    numbers = {"b": 0, "c": 1}
    for name, day, series, step in zip(
        labels, time, found.series, found.steps, strict=True
    ):
        assert series == numbers.setdefault(name, len(numbers))
        assert step == (day - START).days
    assert list(found.names) == list(numbers)
    assert (found.clock, found.own, found.assumed) == (places.clock, False, False)


def test_rows_between_the_steps_are_their_own_timeline():
    """Counted from the first of them, on a clock of the same step."""
    time, _ = panel(b=5)
    places = RowPlaces(group_rows(time, None, 5).count_steps(None)[0], None, 5, b"")
    found = places.find(None, time[[3, 1]] + pd.Timedelta(hours=6), None, 2)
    assert (found.own, list(found.steps)) == (True, [2, 0])
    assert found.clock.labels(np.array([0]))[0] == time[1] + pd.Timedelta(hours=6)


def test_an_array_follows_unless_it_is_the_training_array():
    """Recognised by its values; what follows is only assumed."""
    X = np.arange(4.0)[:, None]
    rows = group_rows(None, None, 4)
    places = rows.places(X, *rows.count_steps(None))
    for given, steps, assumed in (
        (X.copy(), [0, 1, 2, 3], False),
        (X[:2], [4, 5], True),
    ):
        found = places.find(given, None, None, len(given))
        assert (list(found.steps), found.assumed) == (steps, assumed)


def test_rows_to_sort_go_by_series_and_time():
    """Without labels of time they keep their order."""
    time, labels = panel(b=3, a=2)
    mixed = np.array([4, 2, 0, 3, 1])
    rows = sort_rows(time[mixed], labels[mixed], 5)
    assert list(mixed[rows.order]) == [3, 4, 0, 1, 2]  # "a" appears first
    assert list(sort_rows(None, labels[mixed], 5).order) == [0, 3, 1, 2, 4]
