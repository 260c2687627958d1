"""What counts as a closure: zeros that a column known ahead explains."""

import numpy as np
import pandas as pd
import pytest

from skinformer.cleaning.closures import Closures
from skinformer.timeline.clock import clock_for
from skinformer.timeline.timeline import Table


def table(y, known, freq="D", n_series=1):
    """Return a table of a target and a column known ahead, cut into series alike."""
    n = len(y) // n_series
    time = pd.date_range("2024-01-01", periods=n, freq=freq)
    return Table(
        [np.asarray(y, dtype=float), np.asarray(known, dtype=float)],
        1,
        np.repeat(np.arange(n_series), n),
        np.tile(np.arange(n), n_series),
        clock_for(time, time.freq),
    )


def closed_rows(rows):
    closed = Closures.of(rows, n_past=0).in_rows(rows)
    return [] if closed is None else np.flatnonzero(closed[:, 0]).tolist()


@pytest.mark.parametrize("value", [0.0, 1.0, 5.0])
def test_zeros_at_an_end_of_a_column_are_a_closure(value):
    y = np.arange(1.0, 61.0)
    y[20:23] = 0.0
    assert closed_rows(table(y, np.where(y == 0, value, 3.0))) == [20, 21, 22]


@pytest.mark.parametrize("name", ["rare sales", "half", "once", "unchanged"])
def test_zeros_that_a_column_does_not_explain_are_none(name):
    rng = np.random.default_rng(0)
    y = np.arange(1.0, 201.0)
    known = np.ones(200)
    known[[50, 51, 52]] = 0.0
    y[[50, 51, 52]] = 0.0
    if name == "rare sales":
        y[rng.random(200) < 0.9] = 0.0
    elif name == "half":
        y[51] = 70.0
    elif name == "once":
        known[[51, 52]] = 1.0
    else:
        known[:] = 0.0
    assert closed_rows(table(y, known)) == []


def test_what_is_closed_every_week_is_left_to_the_season():
    """Also in the weeks of a longer closure; holidays beside it are closures."""
    steps = np.arange(140)
    is_open = steps % 7 != 6
    is_open[70:84] = False
    is_open[30] = False
    closed = closed_rows(table(np.where(is_open, 50.0 + steps, 0.0), is_open))
    assert closed == [30, *[i for i in range(70, 84) if i % 7 != 6]]


def test_each_series_has_a_week_of_its_own():
    steps = np.arange(140)
    closed_on_mondays = np.where(steps % 7 == 0, 0.0, 1.0)
    always_open = np.ones(140)
    always_open[35] = 0.0
    known = np.concatenate([closed_on_mondays, always_open])
    y = known * (100 + np.arange(280))
    assert closed_rows(table(y, known, n_series=2)) == [140 + 35]
