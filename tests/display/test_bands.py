"""Bands say what share of the truth they are to hold, and hold what they say."""

import re

import numpy as np
import pandas as pd
import pytest

from skinformer.display import ForecastDisplay
from skinformer.evaluation import backtest


@pytest.fixture
def actual():
    days = pd.date_range("2024-01-01", periods=30, freq="D", name="day")
    return pd.Series(np.arange(30.0), index=days, name="load")


def bounds(band):
    """Read the lower and the upper bound at the first time."""
    first = band.get_paths()[0].vertices
    at_first = first[first[:, 0] == first[:, 0].min(), 1]
    return at_first.min(), at_first.max()


def test_bands_are_nested_and_named_by_their_share(actual, texts):
    """The widest is behind, and the legend says in how many cases the truth lies inside."""
    offsets = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    display = ForecastDisplay.from_predictions(
        actual, actual, actual.to_numpy()[:, None] + offsets, coverage=[0.5, 0.8, 0.95]
    )
    shares = [f"{share}% prediction interval" for share in (95, 80, 50)]
    assert texts(display.ax_) == ["actual", "forecast", *shares]
    assert [bounds(band) for band in display.bands_] == [(-3, 3), (-2, 2), (-1, 1)]
    order = [band.get_zorder() for band in display.bands_]
    assert order == sorted(order)
    assert order[-1] < display.line_.get_zorder()


def test_the_order_of_levels_does_not_matter(actual):
    """`predict_quantiles` gives them as they were asked for."""
    offsets = np.array([2.0, 0.0, -1.0])
    display = ForecastDisplay.from_predictions(
        actual, actual, actual.to_numpy()[:, None] + offsets, levels=[0.9, 0.5, 0.1]
    )
    assert list(display.quantiles.columns) == [0.1, 0.5, 0.9]
    np.testing.assert_array_equal(display.quantiles[0.9], actual + 2)
    assert bounds(display.bands_[0]) == (-1, 2)


def test_a_level_between_is_a_line_with_its_name(actual, texts):
    """Nobody takes the 90% quantile for a median."""
    quantiles = np.stack([actual - 1, actual, actual + 1], axis=1)
    display = ForecastDisplay.from_predictions(
        actual, actual, quantiles, levels=[0.1, 0.5, 0.9], name="model"
    )
    assert texts(display.ax_) == [
        "actual",
        "model",
        "80% prediction interval",
        "median",
    ]
    one = ForecastDisplay.from_predictions(
        actual, actual, quantiles[:, 2:], levels=[0.9]
    )
    assert texts(one.ax_)[-1] == "0.9 quantile"
    np.testing.assert_array_equal(one.ax_.lines[-1].get_ydata(), actual + 1)


@pytest.mark.parametrize(
    "names", [[0.1, 0.9], ["q0.1", "q0.9"], ["load_0.1", "load_0.9"]]
)
def test_a_frame_tells_its_levels_by_its_columns(actual, names):
    """What `backtest` and `forecast` give is drawn as it is, at its own times."""
    later = actual[:5].set_axis(pd.date_range("2024-01-31", periods=5, freq="D"))
    frame = pd.DataFrame({names[0]: later - 1, names[1]: later + 1})
    display = ForecastDisplay.from_predictions(actual, later, frame)
    assert list(display.quantiles.columns) == [0.1, 0.9]
    assert list(display.quantiles.index) == list(later.index)


def test_bands_have_the_holes_of_their_times(actual):
    """A band over a month without forecasts looks like one."""
    kept = actual.drop(actual.index[10:20])
    frame = pd.DataFrame({0.1: kept - 1, 0.9: kept + 1})
    display = ForecastDisplay.from_predictions(actual, kept, frame)
    assert len(display.bands_[0].get_paths()) == 2


def test_from_estimator_draws_the_quantiles_of_the_backtest(fitted, hours):
    """The picture and the table must come from the same forecasts."""
    display = ForecastDisplay.from_estimator(
        fitted, hours[300:], coverage=[0.5, 0.9], unit="MW"
    )
    table = backtest(fitted, hours[300:], levels=[0.05, 0.25, 0.75, 0.95])
    np.testing.assert_allclose(display.quantiles[0.05], table["q0.05"])
    np.testing.assert_allclose(display.quantiles[0.75], table["q0.75"])
    assert len(display.bands_) == 2
    assert display.ax_.get_ylabel() == "load (MW)"


def test_dark_styles_have_light_lines_and_bands_of_their_ground(actual, pyplot):
    """A truth in dark grey on black is not seen."""
    from matplotlib.colors import to_rgb

    brightness = {}
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            display = ForecastDisplay(
                actual, actual, pd.DataFrame({0.1: actual, 0.9: actual})
            )
            display.plot()
        line = display.actual_line_.get_color()
        legend = display.ax_.get_legend().get_texts()[0].get_color()
        brightness[style] = [np.mean(to_rgb(colour)) for colour in (line, legend)]
        alpha = display.bands_[0].get_alpha()
        assert alpha < 0.3  # the ground shines through
    assert brightness == {"default": [0, 0], "dark_background": [1, 1]}


def test_long_labels_take_several_lines(actual, pyplot):
    """The start of a label that is higher than its axes was cut off."""
    figure, ax = pyplot.subplots(figsize=(6, 2), layout="constrained")
    named = actual.rename("pedestrians who pass the northern sensor of 45 Queen Street")
    display = ForecastDisplay(named, named, unit="people per hour").plot(ax=ax)
    figure.canvas.draw()
    label = display.ax_.yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= figure.bbox.height


@pytest.mark.parametrize(
    ("quantiles", "options", "message"),
    [
        (pd.DataFrame({"load_a": [1.0]}), {}, "quantiles.columns=['a'] must be a list of numbers "
         "between 0 and 1, each once, such as"),
        (np.ones((30, 2)), {}, "quantiles.columns=['0', '1'] must be a list of numbers between 0 "
         "and 1"),
        (np.ones((30, 3)), {"coverage": 0.8}, "Length mismatch"),
        (pd.DataFrame({"a": [1.0]}), {"coverage": 0.8}, "Length mismatch"),
        (np.ones((30, 2)), {"coverage": [0.5, 2.0]}, "coverage=2.0 must be a number between 0 and "
         "1: the share of actual values that should lie inside, such as 0.9."),
        (np.ones((30, 2)), {"coverage": [0.5], "levels": [0.1]}, "coverage=[0.5] and levels=[0.1] "
         "ask for quantiles twice: pass one of them; a coverage of 0.9 is levels=[0.05, 0.95]."),
    ],
)  # fmt: skip
def test_bands_that_cannot_be_drawn_say_why(actual, quantiles, options, message):
    """A band of the wrong level would be believed."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        ForecastDisplay.from_predictions(actual, actual, quantiles, **options)


def test_axes_keep_their_style_when_it_has_ended(actual, pyplot):
    """Black names on a black figure are not read."""
    from matplotlib.colors import same_color

    with pyplot.style.context("dark_background"):
        _, ax = pyplot.subplots()
    display = ForecastDisplay(actual, actual).plot(ax=ax)
    assert same_color(display.actual_line_.get_color(), "white")
    for text in display.ax_.get_legend().get_texts():
        assert same_color(text.get_color(), "white")
