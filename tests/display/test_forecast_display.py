"""The picture says what is drawn, when, and in which units."""

import sys

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.display import ForecastDisplay
from skinformer.evaluation import SeasonalNaive, backtest

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def pyplot(monkeypatch):
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


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
    """A forecast of the days to come is drawn behind the truth, not on its first days."""
    forecast = actual[:5].set_axis(pd.date_range("2024-01-31", periods=5, freq="D"))
    display = ForecastDisplay.from_predictions(actual, forecast)
    assert display.line_.get_xdata()[0] > display.actual_line_.get_xdata()[-1]


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
    assert display.ax_.get_xlabel() == "time (Pacific/Auckland)"


@pytest.mark.parametrize(
    "index",
    [pd.RangeIndex(3), pd.period_range("2024-01", periods=3, freq="M")],
    ids=["integers", "periods"],
)
def test_other_indexes_are_drawn(index):
    """Whatever an estimator takes as time."""
    display = ForecastDisplay.from_predictions(pd.Series([1.0, 2.0, 3.0], index=index), np.ones(3))
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == "time"
    assert display.ax_.get_ylabel() == "value"


def test_from_estimator_draws_the_backtest(actual):
    """The picture and the table must come from the same forecasts."""
    frame = actual.to_frame()
    model = InformerRegressor(
        seq_len=6, pred_len=2, d_model=8, n_heads=2, max_iter=1, random_state=0
    )
    model.fit(frame[:20])
    display = ForecastDisplay.from_estimator(model, frame[20:])
    expected = backtest(model, frame[20:])
    np.testing.assert_array_equal(display.line_.get_ydata(), expected["forecast"])
    assert texts(display.ax_) == ["actual", "InformerRegressor"]
    assert display.ax_.get_ylabel() == "load"


def test_from_estimator_draws_the_target_asked_for(actual):
    """One line a target would be unreadable; the first is the default."""
    frame = pd.DataFrame({"a": actual, "b": actual + 100})
    model = SeasonalNaive(target=["a", "b"]).fit(frame[:20])
    display = ForecastDisplay.from_estimator(model, frame[20:], frame[20:], target="b", horizon=5)
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
    model = InformerRegressor(seq_len=8, pred_len=2, d_model=8, n_heads=2, max_iter=1).fit(df[:50])
    with pytest.raises(
        ValueError, match=r"^target='nope' is not forecast; the targets are \['load"
    ):
        ForecastDisplay.from_estimator(model, df[50:], target="nope")


def test_a_panel_is_drawn_one_series_at_a_time():
    """Two series on one line would be read as one."""
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(60.0))}, index=hours)
    panel = pd.concat({"a": df, "b": df + 9})
    before = panel.groupby(level=0).head(50)
    model = InformerRegressor(seq_len=8, pred_len=2, d_model=8, n_heads=2, max_iter=1).fit(before)
    later = panel.drop(before.index)
    with pytest.raises(ValueError, match=r"draw one of them, X\.loc\[\[series\]\]"):
        ForecastDisplay.from_estimator(model, later)
    display = ForecastDisplay.from_estimator(model, later.loc[["b"]])
    assert len(display.ax_.lines) == 2
