"""Errors and coverage by groups: the lines hold the numbers of the tables, and say which."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from skinformer.display import CoverageDisplay, ErrorDisplay, ForecastDisplay
from skinformer.evaluation import SeasonalNaive, backtest, interval_coverage, summary


def legend_is_inside(display):
    """Say whether all texts of the legend lie on the figure."""
    display.figure_.canvas.draw()
    box, page = display.ax_.get_legend().get_window_extent(), display.figure_.bbox
    return (
        box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.width and box.y1 <= page.height
    )


@pytest.mark.parametrize("score", ["mae", "rmse", "bias", "pinball", "width"])
@pytest.mark.parametrize("by", ["ahead", "hour"])
def test_errors_are_those_of_the_summary(result, by, score):
    """A picture with numbers of its own would contradict the table."""
    display = ErrorDisplay.from_predictions(result, by=by, score=score)
    expected = summary(result, by)[score]
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), expected.index)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), expected)
    assert display.ax_.get_legend() is None


def test_axes_say_what_is_measured_in_what(result):
    """A number without a unit is a rumour."""
    display = ErrorDisplay.from_predictions(result, unit="MW")
    assert display.ax_.get_xlabel() == "steps ahead"
    assert (
        " ".join(display.ax_.get_ylabel().split()) == "mean absolute error of load (MW)"
    )
    assert display.ax_.get_ylim()[0] <= 0


def test_results_are_drawn_beside_each_other(result, texts):
    """Which model is better where is what one looks for."""
    worse = result.assign(forecast=result["forecast"] + 1)
    display = ErrorDisplay.from_predictions({"good": result, "worse": worse})
    good, bad = (line.get_ydata() for line in display.lines_)
    np.testing.assert_array_equal(bad - good, 1)
    assert texts(display.ax_) == ["good", "worse"]
    assert display.lines_[0].get_color() != display.lines_[1].get_color()
    assert display.lines_[0].get_marker() != display.lines_[1].get_marker()


def test_eight_series_have_a_line_and_a_name_each(result, texts):
    """Legible: no two lines are alike, and the legend is neither cut off nor over the lines."""
    names = [f"{number} Long Street Name" for number in range(8)]
    panel = pd.concat([result.assign(series=name) for name in names])
    display = ErrorDisplay.from_predictions(
        dict(list(panel.groupby("series"))), by="hour"
    )
    assert texts(display.ax_) == names
    looks = {(line.get_color(), line.get_marker()) for line in display.lines_}
    assert len(looks) == 8
    assert legend_is_inside(display)
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1


def test_names_are_below_one_another(result):
    """Streets on a horizontal axis overlap."""
    panel = pd.concat(
        [result.assign(series="b"), result.assign(series="a", forecast=1.0)]
    )
    display = ErrorDisplay.from_predictions(panel, by="series", unit="MW")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b"]
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [1, 6.5])
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_xlabel() == "mean absolute error of load (MW)"


def test_days_of_the_week_have_names(result):
    """A 0 may be a Sunday or a Monday."""
    display = ErrorDisplay.from_predictions(result, by="day_of_week")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["Monday"]


def test_negative_bias_shows_where_zero_is(result):
    """The sign is what it is about."""
    display = ErrorDisplay.from_predictions(result.assign(forecast=-1.0), score="bias")
    low, high = display.ax_.get_ylim()
    assert low < -1
    assert high >= 0
    assert any(set(line.get_ydata()) == {0} for line in display.ax_.lines)


def test_errors_of_an_estimator_are_those_of_its_backtest(hours, pyplot):
    """One call for both, on the axes that are given."""
    naive = SeasonalNaive(24, target=["load"]).fit(hours[:300])
    _, ax = pyplot.subplots()
    display = ErrorDisplay.from_estimator(
        naive, hours[300:], hours[300:], horizon=6, ax=ax
    )
    expected = summary(backtest(naive, hours[300:], hours[300:], horizon=6))["mae"]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), expected)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_coverage_is_counted(result):
    """Half of the truth lies between -1 and 2, none between 1 and 2."""
    display = CoverageDisplay.from_predictions(result)
    assert display.lines_[0].get_xdata().tolist() == [0.8]
    assert display.lines_[0].get_ydata().tolist() == [0.5]


def test_unknown_truths_are_not_counted(result):
    """A sensor that is broken is no forecast that failed."""
    result.loc[result["ahead"] > 6, "actual"] = np.nan
    assert CoverageDisplay.from_predictions(result).lines_[0].get_ydata().tolist() == [
        1.0
    ]


def test_coverage_by_step_is_drawn_beside_what_was_requested(result):
    """80% on average may be 100% at first and 60% later."""
    display = CoverageDisplay.from_predictions(result, by="ahead")
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), np.arange(1, 13))
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), [1.0] * 6 + [0.0] * 6)
    assert display.lines_[0].get_label() == "80% nominal"
    requested = display.ax_.lines[1]
    assert set(requested.get_ydata()) == {0.8}
    assert requested.get_linestyle() == "--"
    label = " ".join(display.ax_.get_ylabel().split())
    assert label == "coverage: share of actual values inside (dashed: nominal)"


def test_several_results_are_drawn_by_their_widest_interval(result, texts):
    """Two results by three shares were a thicket."""
    result = result.assign(**{"q0.05": -9.0, "q0.95": 9.0})
    both = {"one": result, "other": result.assign(actual=99.0)}
    display = CoverageDisplay.from_predictions(both, by="ahead")
    assert [set(line.get_ydata()) for line in display.lines_] == [{1.0}, {0.0}]
    assert texts(display.ax_) == ["one", "other"]
    assert set(display.ax_.lines[-1].get_ydata()) == {0.9}
    beside = CoverageDisplay.from_predictions(both)
    assert texts(beside.ax_) == ["one", "other"]
    assert beside.lines_[0].get_ydata().tolist() == [0.5, 1.0]
    assert beside.lines_[0].get_xdata().tolist() == [0.8, 0.9]


def test_coverage_of_an_estimator_is_that_of_its_intervals(fitted, hours):
    display = CoverageDisplay.from_estimator(
        fitted, hours[300:], coverage=[0.5, 0.8, 0.9]
    )
    assert display.lines_[0].get_xdata().tolist() == [0.5, 0.8, 0.9]
    interval = fitted.predict_interval(hours[300:], coverage=0.8)
    expected = interval_coverage(hours["load"][300:], interval)
    assert display.lines_[0].get_ydata()[1] == pytest.approx(expected)


def test_legends_of_narrow_axes_are_not_cut_off(result):
    """Eight series requested against reached, in a square picture."""
    results = {f"{number} Long Street Name": result for number in range(8)}
    assert legend_is_inside(CoverageDisplay.from_predictions(results))
    assert legend_is_inside(CoverageDisplay.from_predictions(results, by="hour"))


def test_a_legend_for_which_there_is_no_room_above_stands_beside(result, pyplot):
    """Above axes that are as narrow as one name, eight rows were higher than the axes."""
    _, ax = pyplot.subplots(figsize=(4, 4), layout="constrained")
    results = {
        f"{number} A Very Long Name of a Street Indeed": result for number in range(8)
    }
    display = ErrorDisplay.from_predictions(results, ax=ax)
    display.figure_.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


BAD = [
    (ErrorDisplay, lambda r: r.drop(columns="forecast"), {},
     "results lack the column 'forecast': pass a frame that `backtest` returns, or several "
     "of them by name, {'model': frame}."),
    (ErrorDisplay, lambda r: {"a": r, "b": 3}, {},
     "results of 'b' lack the column 'time': pass a frame that `backtest` returns, or "
     "several of them by name, {'model': frame}."),
    (ErrorDisplay, lambda r: {}, {},
     "results={} contains no backtest. Pass backtests by name, {'model': frame}."),
    (ErrorDisplay, lambda r: r.assign(actual=np.nan), {},
     "results have no actual values, so there is nothing to compare with. Pass backtests of "
     "observed rows."),
    (ErrorDisplay, lambda r: r, {"score": "mape"}, "score='mape' must be one of ['bias', 'mae', "
     "'pinball', 'rmse', 'width']."),
    (ErrorDisplay, lambda r: r.drop(columns=["q0.1", "q0.5", "q0.9"]), {"score": "width"},
     "score='width' must be one of ['bias', 'mae', 'rmse']."),
    (CoverageDisplay, lambda r: r.drop(columns=["q0.1", "q0.5", "q0.9"]), {},
     "results have the levels [], but no two of them form an interval around 0.5. Make "
     "results by backtest(..., coverage=[0.5, 0.8])."),
    (CoverageDisplay, lambda r: r.drop(columns="q0.1"), {},
     "results have the levels [0.5, 0.9], but no two of them form an interval around 0.5. "
     "Make results by backtest(..., coverage=[0.5, 0.8])."),
]  # fmt: skip


@pytest.mark.parametrize(("display", "change", "options", "message"), BAD)
def test_results_that_cannot_be_drawn_say_why(
    result, display, change, options, message
):
    """An empty picture, or one of nothing, says nothing."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        display.from_predictions(change(result), **options)


@pytest.mark.parametrize("bound", ["q0.1", "q0.9"])
def test_a_truth_on_a_bound_is_covered(result, bound):
    """As `interval_coverage` counts it: counts of people lie on bounds often."""
    result = result.assign(**{"q0.1": -1.0}).assign(**{bound: 0.0})
    assert CoverageDisplay.from_predictions(result).lines_[0].get_ydata().tolist() == [
        1.0
    ]


def test_a_forecast_has_one_colour_in_all_pictures():
    """A reader of a report takes another colour for another forecaster."""
    days = pd.date_range("2024-01-01", periods=4, freq="D")
    actual = pd.Series(np.arange(4.0), index=days, name="load")
    line = ForecastDisplay.from_predictions(actual, actual + 1).line_
    errors = pd.DataFrame({"ours": [1.0, 2.0], "naive": [2.0, 3.0]}, index=[1, 2])
    first, second = ErrorDisplay(errors).plot().lines_
    ours, theirs, own = (to_rgb(each.get_color()) for each in (first, second, line))
    assert own == ours != theirs
