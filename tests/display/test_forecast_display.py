"""The picture says what is drawn, when, and in which units."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.exceptions import NotFittedError

from skinformer import InformerRegressor, Network, Training
from skinformer.display import ForecastDisplay
from skinformer.evaluation import SeasonalNaive, backtest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def actual():
    days = pd.date_range("2024-01-01", periods=30, freq="D", name="day")
    return pd.Series(np.arange(30.0), index=days, name="load")


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_hold_the_numbers_and_are_named(actual):
    """A reader must know which line is the forecast."""
    display = ForecastDisplay.from_predictions(actual, actual + 1, name="model")
    np.testing.assert_array_equal(display.actual_line_.get_ydata(), actual)
    np.testing.assert_array_equal(display.line_.get_ydata(), actual + 1)
    assert texts(display.ax_) == ["actual", "model"]
    assert display.ax_.get_xlabel() == "day"
    assert display.ax_.get_ylabel() == "load"
    assert display.figure_ is display.ax_.figure


def test_plain_array_takes_the_time_of_the_truth(actual):
    """What predict gives."""
    display = ForecastDisplay.from_predictions(actual, actual.to_numpy())
    assert list(display.forecast.index) == list(actual.index)


def test_forecast_has_its_own_time(actual):
    """A forecast of the days to come is drawn behind the truth, not on its first days.

    It begins where the truth ends: between the two lines there is no gap.
    """
    forecast = actual[:5].set_axis(pd.date_range("2024-01-31", periods=5, freq="D"))
    bounds = pd.DataFrame({0.1: forecast - 1, 0.9: forecast + 1})
    display = ForecastDisplay.from_predictions(actual, forecast, bounds)
    end, *ahead = display.line_.get_xydata()
    np.testing.assert_array_equal(end, display.actual_line_.get_xydata()[-1])
    x, y = end
    assert min(later for later, _ in ahead) > x
    assert [value for _, value in ahead] == list(forecast)
    (band,) = display.bands_
    first = band.get_paths()[0].vertices
    assert set(first[first[:, 0] == x, 1]) == {y}


def test_a_forecast_is_not_joined_to_a_truth_that_is_missing(actual):
    """What lies between is unknown."""
    later = pd.date_range("2024-01-31", periods=5, freq="D")
    forecast = actual[:5].set_axis(later)
    cut = actual.copy()
    cut.iloc[-1] = np.nan
    assert len(ForecastDisplay.from_predictions(cut, forecast).line_.get_xdata()) == 5


def test_draws_on_the_axes_it_is_given(actual, pyplot):
    """Several forecasts in one figure."""
    _, axes = pyplot.subplots(2)
    assert ForecastDisplay.from_predictions(actual, actual, ax=axes[1]).ax_ is axes[1]
    assert len(pyplot.get_fignums()) == 1


def test_ticks_show_local_time(pyplot):
    """Midnight in Auckland is noon in UTC, which is what matplotlib shows by default."""
    hours = pd.date_range("2024-06-01", periods=72, freq="h", tz="Pacific/Auckland")
    display = ForecastDisplay.from_predictions(pd.Series(1.0, index=hours), np.ones(72))
    display.figure_.canvas.draw()
    locator = display.ax_.xaxis.get_major_locator()
    ticks = [matplotlib.dates.num2date(tick, tz=hours.tz) for tick in locator()]
    assert {tick.hour for tick in ticks} <= {0, 6, 12, 18}
    assert display.ax_.get_xlabel() == "time (Pacific/Auckland), 2024"


def test_the_year_is_in_the_label_of_the_times(pyplot):
    """At the end of a short axis it stood over the label."""
    days = pd.date_range("2024-03-01", periods=30, freq="D", tz="Pacific/Auckland")
    figure = pyplot.figure(figsize=(2.5, 2), layout="constrained")
    actual = pd.Series(1.0, index=days)
    ax = figure.subplots()
    ForecastDisplay.from_predictions(actual, np.ones(30), ax=ax)
    figure.canvas.draw()
    assert ax.get_xlabel() == "time (Pacific/Auckland), 2024"
    assert ax.xaxis.get_offset_text().get_text() == ""


def test_a_label_of_the_user_stays(pyplot):
    """The year then stands where matplotlib writes it."""
    days = pd.date_range("2024-03-01", periods=30, freq="D")
    display = ForecastDisplay.from_predictions(pd.Series(1.0, index=days), np.ones(30))
    display.ax_.set_xlabel("day of delivery")
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == "day of delivery"
    assert display.ax_.xaxis.get_offset_text().get_text() == "2024"


@pytest.mark.parametrize(
    ("index", "label"),
    [
        (pd.RangeIndex(3), "time"),
        (pd.period_range("2024-01", periods=3, freq="M"), "time, 2024"),
    ],
    ids=["integers", "periods"],
)
def test_other_indexes_are_drawn(index, label):
    """Whatever an estimator takes as time."""
    display = ForecastDisplay.from_predictions(
        pd.Series([1.0, 2.0, 3.0], index=index), np.ones(3)
    )
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == label
    assert display.ax_.get_ylabel() == "value"


def test_from_estimator_draws_the_backtest(actual):
    """The picture and the table must come from the same forecasts."""
    frame = actual.to_frame()
    model = InformerRegressor(
        seq_len=6,
        pred_len=2,
        random_state=0,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    )
    model.fit(frame[:20])
    display = ForecastDisplay.from_estimator(model, frame[20:])
    expected = backtest(model, frame[20:])
    np.testing.assert_array_equal(display.line_.get_ydata(), expected["forecast"])
    assert texts(display.ax_) == ["actual", "forecast"]
    assert display.ax_.get_ylabel() == "load"


def test_from_estimator_draws_the_target_asked_for(actual):
    """One line a target would be unreadable; the first is the default."""
    frame = pd.DataFrame({"a": actual, "b": actual + 100})
    model = SeasonalNaive(target=["a", "b"]).fit(frame[:20])
    display = ForecastDisplay.from_estimator(
        model, frame[20:], frame[20:], target="b", horizon=5
    )
    np.testing.assert_array_equal(display.actual_line_.get_ydata(), frame["b"][20:])


def test_without_matplotlib_the_error_says_what_to_install(actual, monkeypatch):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skinformer\[plot\]'"):
        ForecastDisplay(actual, actual).plot()


def test_a_target_that_is_not_forecast_is_refused():
    """An empty picture says nothing."""
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(60.0))}, index=hours)
    model = InformerRegressor(
        seq_len=8,
        pred_len=2,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    ).fit(df[:50])
    with pytest.raises(ValueError, match=r"^target='nope' must be one of \['load'\]"):
        ForecastDisplay.from_estimator(model, df[50:], target="nope")


def test_a_panel_is_drawn_one_series_at_a_time():
    """Two series on one line would be read as one."""
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(60.0))}, index=hours)
    panel = pd.concat({"a": df, "b": df + 9})
    before = panel.groupby(level=0).head(50)
    model = InformerRegressor(
        seq_len=8,
        pred_len=2,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    ).fit(before)
    later = panel.drop(before.index)
    with pytest.raises(
        ValueError, match=r"^actual of shape \(20, 1\) is not a single line"
    ):
        ForecastDisplay.from_estimator(model, later)
    display = ForecastDisplay.from_estimator(model, later.loc[["b"]])
    assert len(display.ax_.lines) == 2


def test_rows_are_drawn_in_time_order(actual):
    """Rows out of order made a zigzag over the whole picture."""
    mixed = actual.sample(frac=1, random_state=0)
    display = ForecastDisplay.from_predictions(mixed, mixed.to_numpy() + 1)
    np.testing.assert_array_equal(display.actual_line_.get_ydata(), actual)
    np.testing.assert_array_equal(display.line_.get_ydata(), actual + 1)


def test_missing_rows_leave_a_gap(actual):
    """A straight line over a month looks like measurements."""
    display = ForecastDisplay.from_predictions(actual.drop(actual.index[10:20]), actual)
    drawn = display.actual_line_.get_ydata()
    assert np.flatnonzero(np.isnan(drawn)).tolist() == [10]
    assert len(drawn) == 21
    assert not np.isnan(display.line_.get_ydata()).any()


def test_weekends_leave_no_gap():
    """Business days are consecutive."""
    days = pd.bdate_range("2024-01-01", periods=30)
    display = ForecastDisplay.from_predictions(pd.Series(1.0, index=days), np.ones(30))
    assert len(display.actual_line_.get_ydata()) == 30


def test_a_point_alone_is_marked(actual):
    """A line of one point shows nothing."""
    display = ForecastDisplay.from_predictions(actual, actual[-1:])
    assert display.line_.get_marker() == "."
    assert display.actual_line_.get_marker() == ""


@pytest.mark.parametrize(
    "kind", ["frame", "column", "list", "NA", "read-only", "polars"]
)
def test_what_holds_one_column_is_a_line(actual, kind):
    """Whatever predict and forecast give, or a file holds."""
    pl = pytest.importorskip("polars")
    forecast = {
        "frame": actual.to_frame(),
        "column": actual.to_numpy()[:, None],
        "list": actual.tolist(),
        "NA": actual.astype(object).mask(actual > 28, pd.NA),
        "read-only": np.broadcast_to(actual.to_numpy(), 30),
        "polars": pl.Series(actual.to_numpy()),
    }[kind]
    for truth in (actual, actual.to_frame(), pd.concat({"a": actual})):
        if kind == "frame" and truth.index.nlevels == 2:
            continue
        display = ForecastDisplay.from_predictions(truth, forecast)
        np.testing.assert_array_equal(display.line_.get_ydata()[:29], actual[:29])
        assert list(display.actual.index) == list(actual.index)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda a: (pd.concat([a, a[:2]]), a), ValueError,
     "actual of shape (32, 1) is not a single line over time. Pass one column of one "
     "series; of a backtest pass the forecasts of one step ahead, table[table['ahead'] == "
     "1]."),
        (lambda a: (a, a.to_numpy()[:5]), ValueError, "Shape of passed values is (5, 1), indices "
         "imply (30, 1)"),
        (lambda a: (a, np.ones((30, 2))), ValueError, "forecast of shape (30, 2) is no"),
        (lambda a: (pd.DataFrame({"a": a, "b": a}), a), ValueError, "actual of shape (30, 2)"),
        (lambda a: (pd.concat({"a": a, "b": a}), a), ValueError, "actual of shape (60, 1) is no"),
        (lambda a: (pd.concat({"a": a[:9], "b": a[9:]}), a), ValueError, "actual of shape "
         "(30, 1) is no"),
        (lambda a: (a, a[:0]), ValueError, "forecast of shape (0, 1) is no"),
        (lambda a: (a.tz_localize("UTC"), a), TypeError, "Cannot compare tz-naive and tz-aware "
         "timestamps"),
        (lambda a: (a.reset_index(drop=True), a), TypeError, "'<' not supported"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_drawn_say_why(actual, change, error, message):
    """Two series on one line, or hours beside others, would be believed."""
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        ForecastDisplay(*change(actual))


def test_overlapping_forecasts_are_refused(actual):
    """They were drawn as one line that goes back in time."""
    model = SeasonalNaive().fit(actual.to_frame())
    message = (
        "is not a single line over time. Pass one column of one series; of a backtest"
    )
    with pytest.raises(ValueError, match=message):
        ForecastDisplay.from_estimator(
            model, actual.to_frame(), actual, horizon=4, step=1
        )


@pytest.fixture(scope="module")
def two_by_two():
    """Two series of two targets, each at a level of its own."""
    days = pd.date_range("2024-01-01", periods=90, freq="D", name="day")
    wave = np.sin(np.arange(90) * 2 * np.pi / 7) + np.random.default_rng(0).normal(
        0, 0.1, 90
    )
    south = pd.DataFrame({"sold": 10 + wave, "returned": 100 + wave}, index=days)
    panel = pd.concat({"south": south, "north": 1000 + south}, names=["shop", "day"])
    sizes = {"seq_len": 14, "pred_len": 7, "members": ["ridges"], "random_state": 0}
    return panel, InformerRegressor(["sold", "returned"], **with_parts(**sizes)).fit(
        panel
    )


@pytest.mark.parametrize("shop", [None, "north", "south"])
@pytest.mark.parametrize("target", [None, "sold", "returned"])
def test_the_history_and_what_follows_are_of_the_one_that_was_asked_for(
    two_by_two, shop, target
):
    panel, model = two_by_two
    display = model.plot(series=shop, target=target, history=20)
    shop, target = shop or model.series_[0], target or "sold"
    np.testing.assert_allclose(display.actual, panel.loc[shop, target].iloc[-20:])
    expected = model.forecast(coverage=0.8).loc[shop]
    np.testing.assert_allclose(display.forecast, expected[target])
    bounds = expected[[f"{target}_0.1", f"{target}_0.9"]]
    np.testing.assert_allclose(display.quantiles, bounds)
    assert display.actual.index[-1] + pd.Timedelta(days=1) == display.forecast.index[0]
    assert display.ax_.get_ylabel() == f"{target} of {shop}"
    assert len(display.bands_) == 1


@pytest.mark.parametrize(
    "names", [[("a", 1), ("b", 2)], [False, True]], ids=["tuples", "booleans"]
)
def test_series_are_drawn_whatever_names_them(names):
    """To pandas' loc a tuple names two levels, and booleans are a mask."""
    days, wave = pd.date_range("2024-01-01", periods=60), np.sin(np.arange(60.0))
    labels = pd.Index(
        np.array([*names, None], dtype=object)[:-1].repeat(60), tupleize_cols=False
    )
    index = pd.MultiIndex.from_arrays([labels, days.append(days)])
    panel = pd.DataFrame({"sold": np.append(wave, 100 + wave)}, index=index)
    model = InformerRegressor(seq_len=14, pred_len=7, members=["ridges"]).fit(panel)
    for i, name in enumerate(names):
        display = model.plot(series=name, coverage=None)
        np.testing.assert_allclose(
            display.forecast, model.forecast()["sold"][7 * i :][:7]
        )
        assert display.ax_.get_ylabel() == f"sold of {name}"


def test_the_history_is_three_times_as_long_as_the_forecast(two_by_two):
    model = two_by_two[1]
    assert len(model.plot().actual) == 21
    longer = model.plot(horizon=10, coverage=[0.5, 0.9], unit="pieces")
    assert (len(longer.actual), len(longer.forecast)) == (30, 10)
    assert [round(level, 2) for level in longer.quantiles] == [0.05, 0.25, 0.75, 0.95]
    assert longer.ax_.get_ylabel() == "sold of north (pieces)"
    assert model.plot(coverage=None).bands_ == []


def test_without_a_band_no_intervals_are_looked_for(hours):
    """Finding them forecasts the held-out rows, which a slow member takes long for."""
    model = InformerRegressor(
        "load", seq_len=24, pred_len=6, members=["ridges"], random_state=0
    ).fit(hours[["load"]])
    before = set(vars(model))
    model.plot(coverage=None)
    assert set(vars(model)) == before
    model.plot()
    assert set(vars(model)) > before


def test_what_is_known_of_the_future_is_passed_on(two_by_two):
    panel, _ = two_by_two
    one = panel.loc["south"].assign(price=np.arange(90) % 5.0)
    settings = {
        "seq_len": 14,
        "pred_len": 7,
        "members": ["ridges"],
        "known_future": ["price"],
    }
    model = InformerRegressor("sold", **with_parts(**settings)).fit(one)
    ahead = model.make_future_frame(3).assign(price=2.0)
    drawn = model.plot(ahead, coverage=None)
    np.testing.assert_allclose(drawn.forecast, model.forecast(ahead)["sold"])


@pytest.mark.parametrize("shop", ["north", "south"])
def test_later_history_is_drawn_up_to_the_forecast(two_by_two, shop):
    """The forecast begins after it: else days were missing between the two lines."""
    panel, _ = two_by_two
    fitted = panel.groupby(level=0).head(70)
    sizes = {"seq_len": 14, "pred_len": 7, "members": ["ridges"], "random_state": 0}
    model = InformerRegressor(["sold", "returned"], **with_parts(**sizes)).fit(fitted)
    later = panel.drop(fitted.index).groupby(level=0).head(10)
    ahead = model.make_future_frame(15).loc[[shop]].tail(5)
    for X in (later, pd.concat([later, ahead]), panel.groupby(level=0).head(80)[::-1]):
        drawn = model.plot(X, series=shop, target="returned", history=20, coverage=None)
        np.testing.assert_allclose(
            drawn.actual, panel.loc[shop, "returned"].iloc[60:80]
        )
        assert drawn.actual.index[-1] + pd.Timedelta(days=1) == drawn.forecast.index[0]


def test_rows_far_after_the_history_are_drawn_too(two_by_two):
    panel, _ = two_by_two
    one = panel.loc["south", ["sold"]]
    sizes = {"seq_len": 14, "pred_len": 7, "members": ["ridges"], "random_state": 0}
    model = InformerRegressor("sold", **with_parts(**sizes)).fit(one[:50])
    with pytest.warns(UserWarning, match="update"):
        drawn = model.plot(one[70:], coverage=None, history=30)
    assert drawn.actual.index[-1] == one.index[-1]
    with pytest.raises(ValueError, match=r"^series='south' must be one of \[None\]"):
        model.plot(series="south")


def test_rows_that_end_before_the_history_are_refused(two_by_two):
    """Silently it drew a forecast of other rows."""
    panel, model = two_by_two
    with pytest.raises(
        ValueError, match=r"^X ends at 2024-02-19 .*, before the end of the history"
    ):
        model.plot(panel.groupby(level=0).head(50), coverage=None)
    model.plot(panel, coverage=None)


def test_without_ranges_there_is_no_band(monkeypatch):
    """Rows too few to tell how far forecasts are off."""
    days = pd.date_range("2024-01-01", periods=24, freq="D")
    df = pd.DataFrame({"load": np.arange(24) % 7.0}, index=days)
    settings = {"seq_len": 14, "pred_len": 7, "members": ["ridges"]}
    model = InformerRegressor(**with_parts(**settings)).fit(df)
    # As of windows without a truth.
    monkeypatch.setattr(InformerRegressor, "intervals_", None)
    assert model.plot().bands_ == []


@pytest.mark.parametrize("what", ["series", "target"])
def test_what_was_not_fitted_cannot_be_drawn(two_by_two, what):
    with pytest.raises(ValueError, match=f"{what}='west' must be one of"):
        two_by_two[1].plot(**{what: "west"})


def test_a_missing_truth_leaves_a_gap_in_the_history(two_by_two):
    """What was filled was not measured."""
    one = two_by_two[0].loc["south", ["sold"]]
    one.iloc[-5:-3] = np.nan
    settings = {"seq_len": 14, "pred_len": 7, "members": ["ridges"]}
    drawn = (
        InformerRegressor("sold", **with_parts(**settings)).fit(one).plot(coverage=None)
    )
    np.testing.assert_array_equal(drawn.actual.isna(), one["sold"].iloc[-21:].isna())


def test_a_column_of_two_levels_is_drawn():
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    df = pd.DataFrame({("shop", "sold"): np.arange(60) % 7.0}, index=days)
    settings = {"seq_len": 14, "pred_len": 7, "members": ["ridges"]}
    assert len(InformerRegressor(**with_parts(**settings)).fit(df).plot().bands_) == 1


@pytest.mark.parametrize("history", [0, -5, 2.5, "7D"])
def test_a_history_is_a_number_of_rows(two_by_two, history):
    with pytest.raises(
        ValueError, match=re.escape(f"history={history!r} must be a whole number")
    ):
        two_by_two[1].plot(history=history)


def test_what_is_not_fitted_has_no_picture():
    with pytest.raises(NotFittedError, match="is not fitted"):
        InformerRegressor().plot()
