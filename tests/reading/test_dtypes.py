"""Columns of numbers, whatever type they have in a frame."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor

P = {"seq_len": 12, "pred_len": 4, "members": ["ridges"]}
HOURS = pd.date_range("2024-03-01", periods=60, freq="h")
FRAME = pd.DataFrame(
    {
        "flag": (np.arange(60) % 7 == 0).astype(float),
        "load": np.round(50 + 10 * np.sin(np.arange(60) / 2)),
    },
    index=HOURS,
)
KINDS = {
    "Int64": lambda column: column.astype("Int64"),
    "UInt8": lambda column: column.astype("UInt8"),
    "Float64": lambda column: column.astype("Float64"),
    "float32": lambda column: column.astype("float32"),
    "arrow doubles": lambda column: column.astype("double[pyarrow]"),
    "arrow integers": lambda column: column.astype("int64[pyarrow]"),
    "objects": lambda column: column.astype(object),
    "decimals": lambda column: column.map(lambda value: Decimal(str(value))),
    "fractions": lambda column: column.map(Fraction).astype(object),
}


def forecast(frame, y=None):
    return InformerRegressor("load", **P).fit(frame, y).forecast().to_numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_type_are_numbers(kind):
    """In the target, beside it and as y, with and without missing values."""
    if "arrow" in kind:
        pytest.importorskip("pyarrow")
    convert = KINDS[kind]
    frame = FRAME.apply(convert)
    np.testing.assert_array_equal(forecast(frame), forecast(FRAME))
    y = convert(FRAME["load"])
    np.testing.assert_array_equal(forecast(FRAME, y), forecast(FRAME, FRAME["load"]))
    missing = FRAME.assign(load=FRAME["load"].where(np.arange(60) != 30))
    gaps = frame.assign(load=frame["load"].where(np.arange(60) != 30))
    np.testing.assert_array_equal(forecast(gaps), forecast(missing))


@pytest.mark.parametrize("kind", ["bool", "boolean", "bool[pyarrow]", "object"])
def test_a_column_of_yes_and_no_is_one_of_1_and_0(kind):
    """Whichever library's they are."""
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = FRAME.assign(flag=FRAME["flag"].astype(bool).astype(kind))
    np.testing.assert_array_equal(forecast(frame), forecast(FRAME))


@pytest.mark.parametrize(
    "labels",
    [
        HOURS.astype("datetime64[s]"),
        HOURS.astype("datetime64[us]"),
        pd.Index(HOURS.to_pydatetime(), dtype=object),
    ],
    ids=["seconds", "microseconds", "objects"],
)
def test_times_of_any_type_are_times(labels):
    """Those that databases hand out are objects of Python."""
    model = InformerRegressor("load", **P).fit(FRAME.set_axis(labels))
    assert model.forecast().index[0] == HOURS[-1] + pd.Timedelta("1h")


def test_days_of_python_are_days():
    """Not numbers, and not text."""
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(60)]
    frame = FRAME.set_axis(pd.Index(days))
    model = InformerRegressor("load", **P).fit(frame)
    assert model.forecast().index[0] == pd.Timestamp("2024-03-01")
