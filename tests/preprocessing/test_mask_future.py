import re

import numpy as np
import pandas as pd
import pytest

from skinformer import CalendarFeatures, MaskFuture


def frame(n=8, start="2024-01-01"):
    rng = np.random.default_rng(0)
    index = pd.date_range(start, periods=n, freq="h")
    return pd.DataFrame(
        rng.normal(size=(n, 3)), index=index, columns=["temp", "price", "load"]
    )


def hidden_cells(masked, X):
    """Give the cells that became NaN, as (row, column) numbers; no other may have changed."""
    same = masked.to_numpy() == X.to_numpy()
    assert (same | masked.isna().to_numpy()).all()
    return {(int(i), masked.columns[j]) for i, j in np.argwhere(~same)}


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ({}, ["temp", "price", "load"]),
        ({"known_future": ["temp"]}, ["price", "load"]),
        ({"target": "price", "known_future": ["temp", "load"]}, ["price"]),
        ({"target": ["price", "load"], "known_future": ["temp"]}, ["price", "load"]),
        ({"target": [], "known_future": ["temp"]}, ["price", "load"]),
    ],
)
def test_all_but_known_columns_are_hidden_in_the_last_rows(options, hidden):
    """What stays is what a forecaster may see; the target is the last column unless named."""
    X = frame()
    masked = MaskFuture(pred_len=2, **options).fit_transform(X)
    assert hidden_cells(masked, X) == {(row, name) for row in (6, 7) for name in hidden}
    fitted = MaskFuture(pred_len=2, **options).fit(X)
    assert [X.columns[j] for j in fitted.hidden_] == hidden


def test_columns_of_an_array_are_given_by_position():
    """Without names there is nothing else to say."""
    X = np.arange(12.0).reshape(4, 3)
    masked = MaskFuture(target=1, pred_len=1, known_future=[0]).fit_transform(X)
    np.testing.assert_array_equal(masked[:3], X[:3])
    np.testing.assert_array_equal(masked[3], [9, np.nan, np.nan])


def test_calendar_columns_are_known_ahead_unasked():
    """Tomorrow's date is no secret."""
    X = CalendarFeatures(["hour"]).fit_transform(frame())
    masked = MaskFuture("load", pred_len=3).fit_transform(X)
    assert masked.filter(like="calendar__").notna().all(axis=None)
    assert masked[["temp", "price", "load"]].iloc[-3:].isna().all(axis=None)
    # But a target is a target.
    target = MaskFuture("calendar__hour_sin", pred_len=3).fit(X)
    assert target.transform(X)["calendar__hour_sin"].isna().sum() == 3


@pytest.mark.parametrize("fill", [0, -1.5, np.nan])
def test_the_fill_value_stands_for_unknown(fill):
    """Regressors that refuse NaN need another mark."""
    X = frame()
    masked = MaskFuture(
        pred_len=2, fill_value=fill, known_future=["temp"]
    ).fit_transform(X)
    expected = X.copy()
    expected.iloc[6:, 1:] = fill
    pd.testing.assert_frame_equal(masked, expected)


@pytest.mark.parametrize("pred_len", [1, 8, 50])
def test_as_many_rows_are_hidden_as_there_are(pred_len):
    """A short series may lie in the future altogether."""
    masked = MaskFuture(pred_len=pred_len).fit_transform(frame())
    assert masked["load"].isna().sum() == min(pred_len, 8)


@pytest.mark.parametrize("dtype", [np.int64, bool, np.uint8])
def test_whole_numbers_become_floating_point(dtype):
    """An integer cannot be missing."""
    X = np.ones((3, 2), dtype=dtype)
    masked = MaskFuture(pred_len=1).fit_transform(X)
    assert masked.dtype == np.float64
    np.testing.assert_array_equal(masked, [[1, 1], [1, 1], [np.nan, np.nan]])
    single = MaskFuture(pred_len=1).fit_transform(np.ones((3, 2), dtype=np.float32))
    assert single.dtype == np.float32


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-10-26 20:00", periods=12, freq="h", tz="Europe/Berlin"),
        pd.period_range("2024-01", periods=12, freq="M"),
        pd.RangeIndex(5, 17),
        pd.DatetimeIndex(
            pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(12) ** 2, "D")
        ),
    ],
    ids=["dates", "periods", "numbers", "irregular"],
)
def test_the_last_rows_are_the_latest_ones_in_any_order(index):
    """A shuffled frame has the same future; it need not be a regular clock."""
    X = frame(12).set_axis(index)
    fitted = MaskFuture(pred_len=4).fit(X)
    shuffled = X.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(
        fitted.transform(shuffled),
        fitted.transform(X).loc[shuffled.index],
        check_freq=False,
    )
    assert hidden_cells(fitted.transform(X)[["load"]], X[["load"]]) == {
        (row, "load") for row in range(8, 12)
    }


def test_each_series_of_a_panel_has_its_own_future():
    """Series end at different times and their rows may be interleaved."""
    parts = {"b": frame(9), "a": frame(5, "2024-03-01"), "c": frame(2)}
    X = pd.concat(parts)
    fitted = MaskFuture(pred_len=3, known_future=["temp"]).fit(X)
    masked = fitted.transform(X)
    for name, part in parts.items():
        expected = MaskFuture(pred_len=3, known_future=["temp"]).fit_transform(part)
        pd.testing.assert_frame_equal(masked.loc[name], expected, check_freq=False)
    shuffled = X.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        fitted.transform(shuffled), masked.loc[shuffled.index]
    )


def test_a_panel_of_many_series_takes_one_pass(count_calls):
    """A loop over series that looks at all rows each time takes 3 s for a thousand of them."""
    n_series, n_rows = 3000, 20
    index = pd.MultiIndex.from_product(
        [range(n_series), pd.date_range("2024-01-01", periods=n_rows, freq="h")]
    )
    X = pd.DataFrame({"load": np.arange(len(index), dtype=float)}, index=index)
    assert count_calls(lambda: MaskFuture(pred_len=3).fit_transform(X)) < 2 * n_series
    masked = MaskFuture(pred_len=3).fit_transform(X)
    hidden = masked["load"].isna().to_numpy().reshape(n_series, n_rows)
    assert hidden[:, -3:].all()
    assert not hidden[:, :-3].any()


def test_the_future_depends_on_the_rows_given_and_not_on_the_fitted_ones():
    """It learns which columns to hide, nothing of their values."""
    fitted = MaskFuture(pred_len=2).fit(frame())
    later = frame(5, "2025-01-01")
    pd.testing.assert_frame_equal(
        fitted.transform(later), MaskFuture(pred_len=2).fit_transform(later)
    )


def test_nothing_hidden_can_be_told_from_what_is_left():
    """Rows that differ only in what is hidden look alike afterwards."""
    X, other = frame(), frame()
    other.iloc[-3:, 1:] += 1e6
    fitted = MaskFuture(pred_len=3, known_future=["temp"]).fit(X)
    pd.testing.assert_frame_equal(fitted.transform(X), fitted.transform(other))


def test_names_are_those_of_the_input():
    """The frame goes on to a forecaster that looks its columns up."""
    assert list(MaskFuture(pred_len=2).fit(frame()).get_feature_names_out()) == [
        "temp",
        "price",
        "load",
    ]


# --- messages -----------------------------------------------------------------------------------

COLUMNS = (
    "['temp', 'price', 'load']. Name one of them; verbose_feature_names_out=False keeps a "
    "ColumnTransformer from prefixing names."
)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (
            frame(),
            {"target": "lod"},
            f"target='lod' is not a column of X: the columns are {COLUMNS}",
        ),
        (
            frame(),
            {"target": ["load", "x"]},
            f"target='x' is not a column of X: the columns are {COLUMNS}",
        ),
        (
            frame().to_numpy(),
            {"target": "load"},
            "target='load' is not a column of X: X is an array without column names. In a "
            "Pipeline call set_output(transform='pandas') on it, or give the target's position.",
        ),
        (
            frame(),
            {"known_future": ["temp", "load"]},
            "known_future=['temp', 'load'] contains the target 'load', which is not known in "
            "advance. Remove it.",
        ),
        (
            frame(),
            {"known_future": ["wind"]},
            "known_future=['wind'] holds 'wind', which is not a column of X: the columns are "
            "['temp', 'price', 'load'].",
        ),
    ],
    ids=["unknown", "unknown in list", "array", "known target", "unknown known"],
)
def test_columns_that_do_not_fit_are_named(X, options, message):
    """The message says what to type instead."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MaskFuture(**options).fit(X)


def test_a_missing_series_name_is_refused():
    """It belongs to no series, and so has no future."""
    X = frame(4).set_axis(
        pd.MultiIndex.from_arrays(
            [["a", "a", None, "b"], pd.date_range("2024", periods=4)]
        )
    )
    fitted = MaskFuture(pred_len=1).fit(frame(4))
    message = "X.index holds a missing series name: every row needs its series."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fitted.transform(X)
