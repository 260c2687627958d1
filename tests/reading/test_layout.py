"""Frames as they come from files and other libraries: labels in columns, and back again."""

import datetime
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from versions import HAS_CALLBACKS

import skinformer
from skinformer import (
    InformerClassifier,
    InformerRegressor,
    PanelTimeSeriesSplit,
    TimeIndex,
)
from skinformer.evaluation import SeasonalNaive, backtest, compare, explain, summary

P = {"seq_len": 12, "pred_len": 4, "members": ["ridges"]}
#: What frames of a library are made by, from those of pandas.
KINDS = ["pandas", "polars", "pyarrow", "stream", "collected", "interchange"]

pytestmark = pytest.mark.filterwarnings("ignore:the times of rows are:UserWarning")


def hours(n=80, **options):
    times = pd.date_range("2024-03-01", periods=n, freq="h", **options)
    temp = np.cos(np.arange(n))
    load = 5 + np.sin(np.arange(n) * np.pi / 6) + temp / 9
    return pd.DataFrame({"when": times, "temp": temp, "load": load})


def shops(n=80):
    frame = hours(n).rename(columns={"when": "ds", "load": "y"})
    parts = [
        frame.assign(unique_id=name, y=frame["y"] + i) for i, name in enumerate("ab")
    ]
    return pd.concat(parts, ignore_index=True)[["unique_id", "ds", "y", "temp"]]


class Stream:
    """A frame that is known by Arrow's interface alone."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Collected(Stream):
    """A frame of batches that are collected in a way of its own, as those of datafusion are."""

    def collect(self):
        return self._table.to_batches()


class Interchange:
    """A frame that is known by the interchange protocol alone."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def to_kind(frame, kind):
    if kind == "pandas":
        return frame
    pa = pytest.importorskip("pyarrow")
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    kinds = {"stream": Stream, "collected": Collected, "interchange": Interchange}
    return kinds[kind](table) if kind in kinds else table


def as_pandas(frame, kind):
    """Convert what came back; it has to be of the library that was given."""
    libraries = {"pandas": "pandas", "polars": "polars"}
    assert type(frame).__module__.split(".")[0] == libraries.get(kind, "pyarrow")
    return frame if kind == "pandas" else frame.to_pandas()


def regressor(target="load", **params):
    return InformerRegressor(target, **P | params)


@pytest.mark.parametrize("kind", KINDS)
def test_one_column_of_dates_is_the_time(kind):
    """What is forecast is what an index of these dates gives, in columns as they came."""
    frame = hours()
    indexed = regressor().fit(frame[:70].set_index("when"))
    given = to_kind(frame[:70], kind)
    with pytest.warns(UserWarning, match=r"those of column 'when'\. Pass time='when'"):
        model = regressor().fit(given)
    expected = indexed.forecast(coverage=0.8).reset_index()
    found = as_pandas(model.forecast(coverage=0.8), kind)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_freq=False)
    later = to_kind(frame[70:], kind)
    np.testing.assert_array_equal(
        model.predict(later), indexed.predict(frame[70:].set_index("when"))
    )
    assert model.score(given) == indexed.score(frame[:70].set_index("when"))
    assert list(model.feature_names_in_) == ["temp", "load"]
    ahead = as_pandas(model.make_future_frame(2), kind)
    assert list(ahead) == ["when", "temp", "load"]
    paths = as_pandas(model.sample(2, horizon=3, random_state=0), kind)
    assert list(paths.columns.astype(str)) == ["when", "0", "1"]
    model.update(later)
    assert as_pandas(model.forecast(), kind)["when"].iloc[0] == frame["when"].iloc[
        -1
    ] + pd.Timedelta("1h")


@pytest.mark.parametrize("kind", KINDS)
def test_long_frames_of_nixtla_are_taken_as_they_are(kind):
    """Series, time and target go by their names, wherever they stand."""
    frame = shops()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the times of rows are")
        model = InformerRegressor(**P).fit(to_kind(frame, kind))
    indexed = InformerRegressor("y", **P).fit(frame.set_index(["unique_id", "ds"]))
    expected = indexed.forecast(horizon=3).reset_index()
    found = as_pandas(model.forecast(horizon=3), kind)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_freq=False)
    assert list(found) == ["unique_id", "ds", "y"]


def test_a_wide_frame_has_several_targets():
    """A column a series, beside `ds`."""
    frame = hours().rename(columns={"when": "ds"})
    model = InformerRegressor(["temp", "load"], **P).fit(frame)
    assert list(model.forecast()) == ["ds", "temp", "load"]


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.dt.strftime("%Y-%m-%d %H:%M"),
        lambda t: t.dt.strftime("%d.%m.%Y %H:%M"),
        lambda t: t.dt.strftime("%m/%d/%Y %H:%M:%S"),
        lambda t: t.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        lambda t: t.astype(object),
        lambda t: t.astype("datetime64[us]"),
        lambda t: t.dt.tz_localize("Europe/Berlin"),
        lambda t: t.dt.to_period("h"),
    ],
    ids=["iso", "dotted", "slashed", "utc", "object", "us", "zone", "periods"],
)
def test_times_of_many_kinds(write):
    """Text is read as dates where all rows are dates."""
    frame = hours(400).assign(when=lambda f: write(f["when"]))
    model = regressor().fit(frame)
    labels = model.timeline_.clock.labels(np.array([0, 399]))
    walls = pd.PeriodIndex(labels.astype("period[h]").astype(str), freq="h")
    assert walls[0] == pd.Period("2024-03-01 00:00", "h")
    assert walls[1] == pd.Period("2024-03-01 00:00", "h") + 399
    assert "when" in model.forecast()


def test_days_of_python_come_back_as_days():
    """A date of polars has no hour, and neither has that of its forecast."""
    polars = pytest.importorskip("polars")
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(60)]
    frame = polars.DataFrame({"day": days, "load": np.arange(60) % 7 + 1.0})
    forecast = regressor().fit(frame).forecast()
    assert forecast["day"].dtype == polars.Date
    assert forecast["day"][0] == datetime.date(2024, 3, 1)
    objects = pd.DataFrame({"day": days, "load": np.arange(60) % 7 + 1.0})
    assert regressor().fit(objects).forecast()["day"][0] == pd.Timestamp("2024-03-01")


def test_columns_that_are_named_need_no_word():
    """`time` and `series` say which, whatever else the frame holds."""
    frame = shops().rename(columns={"unique_id": "shop", "ds": "day"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor("y", time="day", series="shop").fit(frame)
    assert list(model.forecast()) == ["shop", "day", "y"]
    # The same model takes rows that are labelled by their index.
    indexed = frame.set_index(["shop", "day"])
    np.testing.assert_array_equal(model.predict(frame), model.predict(indexed))
    assert model.forecast(indexed).index.names == ["shop", "day"]
    clone(model).fit(indexed)


def test_a_series_column_goes_with_an_index_of_dates():
    """The time from the index, the series from a column."""
    frame = shops().rename(columns={"unique_id": "shop"}).set_index("ds")
    model = regressor("y", series="shop").fit(frame)
    forecast = model.forecast()
    assert list(forecast) == ["shop", "y"]
    assert isinstance(forecast.index, pd.DatetimeIndex)


def test_y_and_weights_go_with_the_rows():
    """They are labelled as X is, before and after."""
    frame = hours()
    weight = pd.Series(np.arange(80.0) + 1)
    indexed = frame.set_index("when")
    expected = InformerRegressor(**P).fit(
        indexed[["temp"]], indexed["load"], weight.set_axis(indexed.index)
    )
    model = InformerRegressor(**P).fit(frame[["when", "temp"]], frame["load"], weight)
    ahead = hours(84)[80:]
    np.testing.assert_array_equal(
        model.predict(ahead[["when", "temp"]]),
        expected.predict(ahead.set_index("when")[["temp"]]),
    )
    with pytest.raises(ValueError, match="X and y have different indexes"):
        InformerRegressor(**P).fit(frame, frame["load"][::-1])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_backtests_take_the_same_frames(kind):
    """Also behind a Pipeline, with refits, and of a baseline."""
    frame = hours()
    indexed = frame.set_index("when")
    expected = backtest(regressor().fit(indexed[:60]), indexed[60:])
    model = regressor().fit(to_kind(frame[:60], kind))
    found = as_pandas(backtest(model, to_kind(frame[60:], kind)), kind)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    naive = SeasonalNaive(12, target="load").fit(to_kind(frame[:60], kind))
    table = backtest(naive, to_kind(frame[60:], kind), horizon=4)
    assert len(as_pandas(table, kind)) == 20
    table = backtest(
        regressor(), to_kind(frame, kind), start=indexed.index[60], refit=3
    )
    assert len(as_pandas(table, kind)) == 20
    assert len(explain(model, to_kind(frame[60:], kind)))


def test_tables_of_backtests_are_compared_whatever_their_library():
    """Averages, comparisons and pictures take what `backtest` gave."""
    frame = hours()
    expected = backtest(regressor().fit(frame[:60]), frame[60:])
    model = regressor().fit(to_kind(frame[:60], "polars"))
    table = backtest(model, to_kind(frame[60:], "polars"))
    pd.testing.assert_frame_equal(summary(table), summary(expected))
    both = compare({"polars": table, "pandas": expected}, reference="pandas")
    assert len(set(both["mae"])) == 1


def test_a_refit_forecasts_the_target_of_nixtla():
    """Each fold sees the frame as it came."""
    frame = shops()
    table = backtest(InformerRegressor(**P), frame, start=frame["ds"][70], refit=True)
    assert set(table["target"]) == {"y"}


@pytest.mark.skipif(
    not HAS_CALLBACKS, reason="an old ColumnTransformer cannot read the newest polars"
)
def test_pipelines_of_polars_frames():
    """Steps of scikit-learn pass the column of times on, whatever they do to others."""
    pytest.importorskip("polars")
    frame = hours()
    scaled = make_column_transformer(
        (StandardScaler(), ["temp"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    with sklearn.config_context(transform_output="polars"):
        pipeline = make_pipeline(scaled, regressor()).fit(to_kind(frame, "polars"))
        assert pipeline[-1].forecast().columns == ["when", "load"]
        found = pipeline.predict(to_kind(frame, "polars"))
        timed = make_pipeline(TimeIndex("when"), regressor()).fit(frame)
        assert timed.set_output(transform="polars")[-1].timeline_.clock.dated
    indexed = frame.set_index("when")
    indexed["temp"] = StandardScaler().fit_transform(indexed[["temp"]])
    expected = regressor().fit(indexed[["temp", "load"]]).predict(indexed)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_searches_files_and_pickles_go_along(kind, tmp_path):
    """The layout is a part of the fit."""
    frame = to_kind(hours(), kind)
    search = GridSearchCV(
        regressor(), {"seq_len": [6, 12]}, cv=TimeSeriesSplit(2, test_size=8)
    )
    model = search.fit(frame).best_estimator_
    forecast = as_pandas(model.forecast(), kind)
    model.save(tmp_path / "model")
    for again in (
        skinformer.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert again.layout_ == model.layout_
        pd.testing.assert_frame_equal(as_pandas(again.forecast(), kind), forecast)


def test_classes_are_forecast_into_columns():
    """With their labels, and probabilities beside the time."""
    frame = hours().assign(state=lambda f: np.where(f["load"] > 5, "high", "low"))
    model = InformerClassifier("state", seq_len=12, pred_len=4)
    model.set_params(members=["classes"]).fit(frame[["when", "state"]])
    assert list(model.forecast()) == ["when", "state"]
    assert list(model.forecast_proba()) == ["when", "high", "low"]
    assert list(model.make_future_frame(1)) == ["when", "state"]


def test_folds_of_a_panel_in_columns():
    """All series are cut at the same times."""
    frame = shops(20)
    *_, (train, test) = PanelTimeSeriesSplit(2, test_size=4).split(frame)
    assert set(frame["ds"].iloc[test]) == set(frame["ds"].iloc[16:20])
    assert frame["ds"].iloc[train].max() < frame["ds"].iloc[test].min()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.assign(due=f["when"]),
            r"columns ['when', 'due'] hold dates: name the one that is the time of each row, "
            "time='when'",
        ),
        (
            lambda f: pd.concat([f.assign(shop="a"), f.assign(shop="b")]).reset_index(
                drop=True
            ),
            "column 'when' holds 80 times again, the first '2024-03-01 00:00:00': if they are of "
            "several series, name their column, series='shop'",
        ),
        (
            lambda f: f[::-1].reset_index(drop=True),
            "column 'when' is not in time order: call X.sort_values(['when'])",
        ),
        (
            lambda f: f.assign(when=f["when"].where(f.index != 3)),
            "column 'when' has no time in row 3",
        ),
        (
            lambda f: f[:9].assign(when=f["when"].dt.strftime("%d/%m/%Y")),
            "column 'when' holds '01/03/2024', in which day and month may be swapped",
        ),
    ],
    ids=["two", "panel", "order", "missing", "ambiguous"],
)
def test_what_is_unclear_gets_a_sentence(change, message):
    """It names the column and what to type."""
    with pytest.raises(ValueError, match=re.escape(message)):
        regressor().fit(change(hours()))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"time": "date"}, "time='date' is no column of X, which has ['when', "),
        ({"series": "shop"}, "series='shop' is no column of X, which has ['when', "),
    ],
)
def test_names_of_no_columns_are_refused(params, message):
    """The columns that there are stand in the message."""
    with pytest.raises(ValueError, match=re.escape(message)):
        regressor(**params).fit(hours())
    with pytest.raises(ValueError, match="names a column, and X has no names"):
        regressor(0, **params).fit(hours()[["temp", "load"]].to_numpy())


def test_later_rows_without_their_times_are_refused():
    """Numbers of rows are no times."""
    model = regressor().fit(hours())
    with pytest.raises(ValueError, match="X has no column 'when', which held the tim"):
        model.predict(hours()[["temp", "load"]])


def test_frames_of_numbers_are_not_copied():
    """A frame whose index is its time stays the same object."""
    frame = hours().set_index("when")
    model = regressor().fit(frame)
    assert model.layout_.read_rows(frame) is frame


def weeks_apart(format=None):
    """Return weeks of two series, which end on Sundays and on Mondays."""
    parts = []
    for shop, step in (("a", "W-SUN"), ("b", "W-MON")):
        days = pd.date_range("2024-01-01", periods=40, freq=step)
        parts.append(pd.DataFrame({"shop": shop, "when": days, "load": np.arange(40)}))
    frame = pd.concat(parts, ignore_index=True)
    if format is not None:
        frame["when"] = frame["when"].dt.strftime(format)
    return frame


def near_month_ends(frame):
    """Date months by days of which no frequency tells."""
    days = pd.date_range("2020-01-30", periods=len(frame), freq="ME")
    is_early = np.arange(len(frame)) % 5 == 4
    return frame.assign(when=days - pd.to_timedelta(is_early.astype(int), "D"))


def told_of(frame, **params):
    """Return what `fit` says against rows whose labels stand in columns."""
    with pytest.raises(ValueError, match="column 'when'") as caught:
        regressor(**params).fit(frame)
    return str(caught.value)


@pytest.mark.parametrize("format", [None, "%Y-%m-%d", "%d.%m.%Y"])
def test_series_on_several_grids_are_resampled_by_their_columns(format):
    frame = weeks_apart(format)
    message = told_of(frame, series="shop", time="when")
    assert message.startswith(
        "column 'when' does not lie on one grid, the 'W-SUN' of its longest series: "
        "2024-01-01 00:00:00 of series 'b' is between two steps."
    )
    code = message.split("or resample, ", 1)[1].removesuffix(".")
    mended = eval(code, {"X": frame, "pd": pd, "freq": "W"})
    assert list(mended.columns) == ["shop", "when", "load"]
    regressor(series="shop", time="when").fit(mended)


def test_series_in_a_column_are_resampled_beside_an_index_of_dates():
    frame = weeks_apart().set_index("when").rename_axis(None)
    with pytest.raises(
        ValueError, match=r"^X\.index does not lie on one grid"
    ) as caught:
        regressor(series="shop").fit(frame)
    code = str(caught.value).split("or resample, ", 1)[1].removesuffix(".")
    mended = eval(code, {"X": frame, "freq": "W"})
    regressor(series="shop").fit(mended)


@pytest.mark.parametrize("format", [None, "%d.%m.%Y"])
def test_steps_without_rows_are_added_by_their_columns(format):
    frame = pd.concat(
        [hours().assign(shop="a"), hours().assign(shop="b")], ignore_index=True
    ).drop(index=range(100, 130))
    if format is not None:
        frame["when"] = frame["when"].dt.strftime(f"{format} %H:%M")
    for rows, params in ((frame, {"series": "shop"}), (frame[80:], {})):
        message = told_of(rows.drop(columns=[] if params else "shop"), **params)
        assert "lacks 30 timestamps, the first 2024-03-01 20:00:00: X." in message
        code = message.split("20:00:00: ", 1)[1].split(" adds them", 1)[0]
        given = rows.drop(columns=[] if params else "shop").reset_index(drop=True)
        mended = eval(code, {"X": given, "pd": pd})
        assert sorted(mended.columns) == sorted(given.columns)
        filled = mended.assign(temp=mended["temp"].ffill())
        regressor(**params).fit(filled)


@pytest.mark.parametrize("format", [None, "%d.%m.%Y"])
def test_irregular_days_become_periods_or_numbers_of_their_column(format):
    frame = near_month_ends(hours(60))
    if format is not None:
        frame["when"] = frame["when"].dt.strftime(format)
    message = told_of(frame)
    assert message.startswith("column 'when' has irregular steps, from 28 days")
    _, as_periods, number = re.split(
        ": take these as labels, |, or number the rows, ", message
    )
    for code in (as_periods, number.removesuffix(".")):
        mended = frame.copy()
        exec(code, {"X": mended, "pd": pd})
        regressor(time="when").fit(mended)


def test_numbers_that_are_dates_become_dates_of_their_column():
    months = pd.period_range("2018-01", periods=80, freq="M")
    frame = hours().assign(when=months.strftime("%Y%m").astype(int))
    message = told_of(frame, time="when")
    assert "column 'when' holds dates that are written as whole numbers" in message
    mended = frame.copy()
    exec(
        message.split("make them dates, ")[1].removesuffix("."), {"X": mended, "pd": pd}
    )
    regressor(time="when").fit(mended)


def test_later_rows_between_two_steps_are_those_of_their_column():
    model = regressor().fit(hours())
    later = hours(12).assign(when=pd.date_range("2024-04-01", periods=12, freq="7min"))
    with pytest.raises(
        ValueError, match=r"^column 'when' does not lie on steps of 'h'"
    ):
        model.predict(later)
    with pytest.raises(ValueError, match=r"^X\.index does not lie on steps of 'h'"):
        model.predict(later.set_index("when").rename_axis(None))
    with pytest.raises(
        ValueError, match="column 'when' holds 80 times again"
    ) as caught:
        model.predict(pd.concat([hours(), hours()]))
    assert "X.drop_duplicates(['when'])" in str(caught.value)


def test_a_freq_that_is_none_is_read_off_the_column():
    with pytest.raises(ValueError, match="Leave it None to read it off column 'when'"):
        regressor(freq="parsec").fit(hours())
