"""Last rows that repeat one value are those of a sensor that hangs, if hardly a row ever did."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.cleaning.hung import find_hung
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Table


def sensor(n_rows, n_hung=0, digits=8):
    rng = np.random.default_rng(1)
    day = np.sin(2 * np.pi * np.arange(n_rows) / 24)
    values = np.round(15 + 6 * day + 0.7 * rng.normal(size=n_rows), digits)
    first = n_rows - n_hung - 1
    values[first - 1] = values[first] + 0.5  # unlike it, however they are rounded
    values[first:] = values[first]
    return values


def hung_rows(*series):
    """Return the first row and the end of each series that hangs."""
    length = [len(values) for values in series]
    table = Table(
        [np.concatenate(series)],
        1,
        np.repeat(np.arange(len(series)), length),
        np.concatenate([np.arange(n) for n in length]),
        RowClock(),
    )
    return [(hung.row, hung.stop) for hung in find_hung(table)]


@pytest.mark.parametrize("digits", [8, 1])
@pytest.mark.parametrize("n_hung", [8, 30, 200])
def test_repeated_values_are_found_behind_the_first_of_them(n_hung, digits):
    assert hung_rows(sensor(800, n_hung, digits)) == [(800 - n_hung, 800)]
    both = sensor(100), sensor(100, n_hung=20)
    assert hung_rows(*both) == [(180, 200)]


@pytest.mark.parametrize("name", ["two", "zeros", "prices", "coarse", "short"])
def test_what_may_stand_still_does_not_hang(name):
    values = {
        "two": sensor(400, 2),
        "zeros": np.where(np.arange(400) < 380, sensor(400), 0.0),
        "prices": np.repeat(sensor(20), 20),
        "coarse": sensor(400, 4, digits=0),
        "short": sensor(20, 10),
    }[name]
    assert hung_rows(values) == []


@pytest.mark.parametrize(("freq", "n_hung"), [("h", 30), ("h", 8), ("D", 20)])
def test_forecasts_do_not_start_from_a_sensor_that_hangs(freq, n_hung):
    """The level was the repeated value, six errors away, without a warning."""
    truth = sensor(424)
    df = pd.DataFrame(
        {"y": sensor(400)}, pd.date_range("2024-01-01", periods=400, freq=freq)
    )
    df.iloc[400 - n_hung :] = df.iloc[400 - n_hung - 1]
    model = InformerRegressor("y", seq_len=48, pred_len=24, random_state=0)
    with pytest.warns(UserWarning, match=rf"repeat .* fit the rows.*\[:-{n_hung}\]"):
        model.fit(df)
    assert np.abs(model.forecast()["y"].to_numpy() - truth[400:]).mean() < 1.2
