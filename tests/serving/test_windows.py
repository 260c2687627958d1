"""Rows become the arrays of a graph by numpy and pandas alone; what is wrong is said."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skinformer.serving import Signature, window_inputs

SIGNATURE = Signature(
    targets=("load",),
    past=("flow",),
    known=("price", "area"),
    calendar=("hour", "weekday"),
    seq_len=3,
    pred_len=2,
    inputs=("past", "future", "series", "calendar"),
    series=("north", "south"),
    freq="h",
    tz=None,
    may_miss=False,
)
ONE = replace(SIGNATURE, series=None, inputs=("past", "future", "calendar"))


def make_rows(n=6):
    """Make rows of which the last two are to forecast."""
    hours = pd.date_range("2024-03-01", periods=n, freq="h")
    rows = pd.DataFrame(
        {"price": np.arange(n), "load": 10.0 + np.arange(n), "flow": 1, "area": 7},
        index=hours,
    )
    rows["load"] = rows["load"].where(np.arange(n) < n - 2)
    return rows


def test_a_server_needs_numpy_and_pandas_alone():
    """Torch is hundreds of megabytes, and seconds of each start."""
    code = (
        "import sys; import skinformer.serving; "
        "print({name.split('.')[0] for name in sys.modules} & {'torch', 'sklearn', 'scipy'})"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert run.stdout == "set()\n"


def test_windows_hold_what_rows_say():
    """By hand: order of columns, NaN for what is not there, dates on the wall, labels to come."""
    inputs, labels = window_inputs(make_rows().iloc[::-1], ONE)
    assert inputs["past"][0].tolist() == [[11, 1, 1, 7], [12, 1, 2, 7], [13, 1, 3, 7]]
    assert inputs["future"][0].tolist() == [[4, 7], [5, 7]]
    assert inputs["calendar"][0].tolist() == [
        [1, 4],
        [2, 4],
        [3, 4],
        [4, 4],
        [5, 4],
    ]  # a Friday
    assert labels.equals(make_rows().index[-2:])
    assert inputs["past"].dtype == inputs["future"].dtype == np.float64
    assert inputs["calendar"].dtype == np.int64


def test_a_missing_name_of_a_series_is_refused():
    """Its rows would be taken for those of another series."""
    rows = make_rows()
    times = rows.index
    rows.index = pd.MultiIndex.from_product([["north"], times])
    lost = rows.set_axis(pd.MultiIndex.from_product([[None], times]))
    with pytest.raises(ValueError, match="missing series name"):
        window_inputs(pd.concat([rows, lost]), SIGNATURE)


def test_a_row_that_is_missing_is_missing_values():
    """A series that begins later, and an hour that nobody recorded."""
    inputs, _ = window_inputs(
        make_rows().iloc[[1, 3, 4, 5]], ONE, make_rows().index[[3]]
    )
    assert np.array_equal(inputs["past"][0, :, 0], [np.nan, 11, np.nan], equal_nan=True)


def test_series_are_numbered_as_in_the_fit():
    """Whatever the order of rows; a new one comes after those of the fit."""
    names = ["new", "south", "north"]
    X = pd.concat({name: make_rows() for name in names}, names=["site", "time"])
    inputs, labels = window_inputs(X, SIGNATURE)
    assert inputs["series"].tolist() == [2, 1, 0]
    assert labels.get_level_values("site").tolist() == [
        name for name in names for _ in range(2)
    ]
    inputs, _ = window_inputs(X, SIGNATURE, X.index[[9, 4]])
    assert inputs["series"].tolist() == [1, 2]
    assert inputs["past"][:, -1, 2].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: X.drop(columns="price"),
            "X has no column 'price', which is a future covariate: add its values, "
            "also those of the steps to forecast.",
        ),
        (
            lambda X: X[:-1],
            "X holds no value of 'price' at 1 step to forecast, the first at "
            "2024-03-01 05:00:00: it is a future covariate. Add rows for these steps, "
            "with a missing target.",
        ),
        (
            lambda X: X.assign(load=np.nan),
            "X holds no row in which all targets are known, but a forecast starts "
            "after such a row. Add the latest history.",
        ),
        (
            lambda X: pd.concat([X, X[2:4]]),
            "X holds 2 rows of a step that another row has, the first at 2024-03-01 02:00:00: a "
            'step has one value. Keep one of them, as by X[~X.index.duplicated(keep="last")].',
        ),
        (
            lambda X: X.set_axis(
                [*X.index[:-1], X.index[-1] + pd.Timedelta(minutes=1)]
            ),
            "X holds 1 row between two steps of 'h', the first at 2024-03-01 05:01:00: an "
            "exported model counts steps as its fit did. Bring X to that step, as by "
            "X.resample(...).",
        ),
        (
            lambda X: pd.concat({"north": X}),
            "X.index has 2 levels and 12 rows, and must have 1 and at least one: as X of the "
            "fit. Set it, as by X.set_index(...).",
        ),
        (
            lambda X: X.tz_localize("UTC"),
            "X.index has the time zone UTC, and that of the fit was None: the "
            "calendar needs local time. Convert X, as by X.tz_localize(None).",
        ),
    ],
)
def test_wrong_rows_are_told(change, message):
    """A server has no other reader of its rows: what is wrong is said here or nowhere."""
    with pytest.raises(ValueError, match=r".") as caught:
        window_inputs(change(make_rows()), ONE)
    assert str(caught.value) == message.replace("12 rows", "6 rows")


def test_an_origin_is_a_step_of_the_rows():
    """A label between two steps has no window."""
    with pytest.raises(ValueError, match=r".") as caught:
        window_inputs(make_rows(), ONE, [pd.Timestamp("2024-03-01 02:30")])
    assert str(caught.value) == (
        "origins holds 2024-03-01 02:30:00, which is no step of X's rows: an origin is the label "
        "of the first step to forecast, of a panel (series, time). Take labels of X."
    )


def test_a_file_of_others_is_told():
    """And one of a later version of this package."""
    with pytest.raises(ValueError, match=r".") as caught:
        Signature.of_metadata({"author": "x"})
    assert str(caught.value) == (
        "the file has no 'skinformer' among its metadata (['author']): pass those of a file that "
        "InformerRegressor.export_onnx wrote."
    )
    with pytest.raises(ValueError, match=r".") as caught:
        Signature.of_metadata(
            {"skinformer": SIGNATURE.to_json().replace('"version": 3', '"version": 4')}
        )
    assert str(caught.value) == (
        "version=4 of an exported model's signature must be 3: another version of skinformer wrote "
        "it. Install that one, or export the model again."
    )
