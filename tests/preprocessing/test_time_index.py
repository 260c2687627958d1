"""TimeIndex: rows whose time is a column reach estimators that read the index."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerRegressor, TimeIndex

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def rows(n=200, tz=None):
    times = pd.date_range("2024-03-01", periods=n, freq="h", tz=tz)
    load = 5 + np.sin(np.arange(n) * np.pi / 12)
    return pd.DataFrame({"time": times, "load": load})


def sites(n=120):
    parts = [
        rows(n).assign(site=site, load=lambda f, i=i: f["load"] + i)
        for i, site in ((1, "a"), (2, "b"))
    ]
    return pd.concat(parts, ignore_index=True)[["site", "load", "time"]]


def raises(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# --- what comes out ------------------------------------------------------------------------------


def test_time_becomes_the_index_and_rows_stay_where_they_are():
    """A forecast belongs to its row, so no row may move."""
    frame = rows().sample(frac=1, random_state=0)
    out = TimeIndex("time").fit_transform(frame)
    assert out.index.equals(pd.DatetimeIndex(frame["time"]))
    assert out.index.name == "time"
    assert out.columns.tolist() == ["load"]
    np.testing.assert_array_equal(out["load"], frame["load"])
    assert frame.columns.tolist() == ["time", "load"]  # the user's frame is left alone


def test_series_and_time_become_two_levels_in_this_order():
    """(series, time) is what estimators read as a panel."""
    out = TimeIndex("time", series="site").fit_transform(sites())
    assert out.index.names == ["site", "time"]
    assert out.index[0] == ("a", pd.Timestamp("2024-03-01"))
    assert out.columns.tolist() == ["load"]
    expected = sites().set_index(["site", "time"])
    pd.testing.assert_frame_equal(out, expected)


def test_names_of_the_columns_that_are_left():
    """Pipelines ask for them."""
    transformer = TimeIndex("time", series="site").fit(sites())
    assert transformer.get_feature_names_out().tolist() == ["load"]
    assert transformer.feature_names_in_.tolist() == ["site", "load", "time"]
    assert (
        transformer.set_output(transform="pandas").transform(sites()).index.nlevels == 2
    )


# --- how times are written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("2024-03-31 01:00", {}, pd.Timestamp("2024-03-31 01:00")),
        ("2024-03-31", {}, pd.Timestamp("2024-03-31")),
        ("2024-03-31T01:00Z", {}, pd.Timestamp("2024-03-31 01:00", tz="UTC")),
        (
            "2024-03-31T01:00:00.5+00:00",
            {},
            pd.Timestamp("2024-03-31 01:00:00.5", tz="UTC"),
        ),
        (
            "2024-07-01T12:00+02:00",
            {"tz": "Europe/Berlin"},
            pd.Timestamp("2024-07-01 12:00", tz="Europe/Berlin"),
        ),
        (
            "2024-07-01T12:00-0400",
            {"tz": "Europe/Berlin"},
            pd.Timestamp("2024-07-01 18:00", tz="Europe/Berlin"),
        ),
        (
            "2024-07-01 12:00",
            {"tz": "Europe/Berlin"},
            pd.Timestamp("2024-07-01 12:00", tz="Europe/Berlin"),
        ),
        (
            "01.02.2024 03:00",
            {"format": "%d.%m.%Y %H:%M"},
            pd.Timestamp("2024-02-01 03:00"),
        ),
    ],
)
def test_text_is_read_as_it_says(text, parameters, expected):
    """To the offset from UTC, and the day before the month."""
    out = TimeIndex(**parameters).fit_transform([{"time": text, "load": 1.0}])
    assert out.index[0] == expected
    assert str(out.index.tz) == str(expected.tz)


def test_dates_of_a_zone_are_converted_and_others_are_its_wall_clock():
    """The hour of the day is that of the people who were measured."""
    in_utc = TimeIndex(tz="Pacific/Auckland").fit_transform(rows(tz="UTC"))
    assert in_utc.index[0].hour == 13
    assert in_utc.index[0] == pd.Timestamp("2024-03-01", tz="UTC")
    naive = TimeIndex(tz="Pacific/Auckland").fit_transform(rows())
    assert naive.index[0] == pd.Timestamp("2024-03-01", tz="Pacific/Auckland")


@pytest.mark.parametrize("freq", ["whole numbers", "periods"])
def test_times_need_not_be_dates(freq):
    """Whole numbers and periods are clocks as well."""
    frame = rows(5)
    frame["time"] = (
        np.arange(5) if freq == "whole numbers" else frame["time"].dt.to_period("h")
    )
    out = TimeIndex(tz="UTC").fit_transform(frame)
    assert out.index.tolist() == frame["time"].tolist()


def test_columns_of_arrow_are_dates():
    """Parquet is read so, where pandas is asked to."""
    pa = pytest.importorskip("pyarrow")
    frame = rows()
    frame["time"] = frame["time"].astype(pd.ArrowDtype(pa.timestamp("us")))
    out = TimeIndex().fit_transform(frame)
    assert out.index.tolist() == rows()["time"].tolist()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries(library):
    """With their dates, zones and missing numbers."""
    pytest.importorskip("pyarrow")
    module = pytest.importorskip(library)
    frame = rows(30, tz="Europe/Berlin")
    frame.loc[3, "load"] = np.nan
    other = (
        module.from_pandas(frame)
        if library == "polars"
        else module.Table.from_pandas(frame)
    )
    out = TimeIndex().fit_transform(other)
    pd.testing.assert_frame_equal(
        out, TimeIndex().fit_transform(frame), check_index_type=False
    )


# --- in a Pipeline -------------------------------------------------------------------------------


def test_served_json_is_forecast_as_the_frame_was():
    """What a server gets has no index; the forecast is that of the rows with one."""
    frame = rows()
    frame["time"] = frame["time"].dt.strftime("%Y-%m-%dT%H:%M:%S")
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(
        TimeIndex(), scaler, InformerRegressor("load", **with_parts(**P))
    )
    pipeline.fit(frame[:180])
    served = json.loads(frame[180:186].to_json(orient="records"))
    by_hand = TimeIndex().fit_transform(frame)
    expected = pipeline[1:].predict(by_hand[180:186])
    np.testing.assert_array_equal(pipeline.predict(served), expected)


def test_it_is_cloned_with_what_it_was_told():
    """Searches clone."""
    told = {"time": "t", "series": "s", "format": "%Y", "tz": "UTC"}
    assert clone(TimeIndex(**told)).get_params() == told


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "change", "error", "message"),
    [
        (
            {"time": "when"},
            {},
            ValueError,
            "time='when' is no column of X, which has ['time', 'load'].",
        ),
        (
            {"time": None},
            {},
            ValueError,
            "time=None is no column of X, which has ['time', 'load'].",
        ),
        (
            {"series": "site"},
            {},
            ValueError,
            "series='site' is no column of X, which has ['time', 'load'].",
        ),
        (
            {"series": "time"},
            {},
            ValueError,
            "time='time' and series='time' are the same column. Pass series=None for one series.",
        ),
        (
            {},
            {"load": None},
            ValueError,
            "X has no columns but ['time']: add what was measured, or, to forecast, the target "
            "with NaN.",
        ),
        (
            {},
            {"time": ["2024-01-01", None]},
            ValueError,
            "column 'time' has no time in row 1: every row needs its time. Fill it, or drop those "
            "rows.",
        ),
        (
            {},
            {"time": [1.5, 2.5]},
            ValueError,
            "column 'time' holds 1.5, which is no time: pass dates, text that says them, or whole "
            "numbers.",
        ),
        (
            {"tz": "UTC"},
            {"time": ["2024-01-01 00:00", "2024-01-01 01:00Z"]},
            ValueError,
            "column 'time' holds '2024-01-01 00:00' without an offset from UTC and "
            "'2024-01-01 01:00Z' with one: write all times alike.",
        ),
        (
            {},
            {"time": ["2024-01-01 00:00+01:00", "2024-01-01 01:00+01:00"]},
            ValueError,
            "column 'time' holds '2024-01-01 00:00+01:00', whose offset from UTC may change with "
            "the seasons: pass the zone whose wall clock counts to TimeIndex, such as "
            "tz='Europe/Berlin', or make dates of it, "
            "pd.to_datetime(X['time'], utc=True).dt.tz_convert('Europe/Berlin').",
        ),
        (
            {"series": "site"},
            {"site": ["a", None]},
            ValueError,
            "column 'site' has no series in row 1: every row needs its series. Fill it, or drop "
            "those rows.",
        ),
    ],
    ids=str,
)
def test_what_is_no_time_is_refused(parameters, change, error, message):
    """Word for word: what is wrong, and what to type instead."""
    columns = {"time": ["2024-01-01", "2024-01-02"], "load": [1.0, 2.0]} | change
    frame = pd.DataFrame(
        {name: values for name, values in columns.items() if values is not None}
    )
    with raises(error, message):
        TimeIndex(**parameters).fit_transform(frame)


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        (["2024-01-01", "01.02.2024"], "01.02.2024"),
        (["02.01.2024", "03.01.2024", "Total"], "Total"),
        (["30.01.2024", "31.02.2024"], "31.02.2024"),
        (["2024-02-28", "2024-02-30"], "2024-02-30"),
        (["first", "second"], "first"),
    ],
)
def test_text_of_another_format_is_refused(times, wrong):
    """The one that is no date is named, not those that are."""
    rows = [{"time": time, "load": 1.0} for time in times]
    message = f"^column 'time' holds '{wrong}', which is no time, or not written as"
    with pytest.raises(ValueError, match=message):
        TimeIndex("time").fit_transform(rows)


def test_arrays_have_no_names():
    with raises(ValueError, "time='time' is no column of X, which has [0, 1]."):
        TimeIndex().fit(np.ones((2, 2)))


def test_one_row_is_a_dict_in_a_list():
    row = {"time": "2024-01-01", "load": 3.0}
    with pytest.raises(ValueError, match="scalar values"):
        TimeIndex().fit(row)
    assert len(TimeIndex().fit_transform([row])) == 1
