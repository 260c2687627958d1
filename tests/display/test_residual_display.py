"""What forecasts leave over: over time, its distribution, its memory."""

import re

import numpy as np
import pandas as pd
import pytest

from skinformer.display import ResidualDisplay
from skinformer.evaluation import SeasonalNaive, backtest


def test_residuals_are_actual_less_forecast(result):
    """In this order, that a forecast too low has a residual above zero."""
    display = ResidualDisplay.from_predictions(result, unit="MW")
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), -result["forecast"])
    label = "actual minus forecast, load (MW)"
    assert display.axes_[1].get_xlabel() == label
    assert " ".join(display.ax_.get_ylabel().split()) == label
    assert len(display.axes_) == 3


def test_the_histogram_holds_all_and_the_normal_has_their_mean(result):
    """A histogram of shares, with a curve whose peak is at the mean and whose area is one."""
    _, histogram, _ = ResidualDisplay.from_predictions(result).axes_
    area = sum(bar.get_width() * bar.get_height() for bar in histogram.patches)
    assert area == pytest.approx(1)
    x, density = histogram.lines[0].get_data()
    spread = result["forecast"].std(ddof=0)
    assert x[density.argmax()] == pytest.approx(-6.5, abs=0.1)
    assert density.max() == pytest.approx(1 / (spread * np.sqrt(2 * np.pi)), rel=1e-3)


def test_autocorrelation_is_that_of_a_loop():
    """Of two series together, each less its mean, where both rows are known."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 2)).cumsum(axis=0) + np.array([0, 50])
    values[7, 1] = np.nan
    display = ResidualDisplay(pd.DataFrame(values, columns=["a", "b"])).plot()
    centred = values - np.nanmean(values, axis=0)
    expected = []
    for lag in range(1, 31):
        pairs = [
            centred[t, j] * centred[t - lag, j] for j in (0, 1) for t in range(lag, 60)
        ]
        expected.append(np.nansum(pairs) / np.nansum(centred**2))
    np.testing.assert_allclose(display.autocorrelation_, expected)
    heights = [bar.get_height() for bar in display.axes_[2].patches]
    np.testing.assert_allclose(heights, expected)
    span = display.axes_[2].collections[0].get_datalim(display.axes_[2].transData)
    np.testing.assert_allclose(
        [span.y0, span.y1], np.array([-1.96, 1.96]) / np.sqrt(119)
    )


def test_series_of_a_panel_have_a_colour_each(result, texts):
    """Eight series in one colour are one cloud."""
    names = [f"series {i}" for i in range(8)]
    panel = pd.concat([result.assign(series=name) for name in names])
    display = ResidualDisplay.from_predictions(panel)
    assert texts(display.ax_) == names
    assert len({line.get_color() for line in display.ax_.lines[:8]}) == 8


@pytest.mark.slow
def test_residuals_of_an_estimator_are_those_of_its_backtest(hours, pyplot):
    """On axes that are given."""
    both = hours.assign(other=hours["load"] * 2)
    naive = SeasonalNaive(24, target=["load", "other"]).fit(both[:300])
    _, axes = pyplot.subplots(3)
    options = {"horizon": 6, "ax": axes, "target": "other"}
    display = ResidualDisplay.from_estimator(naive, both[300:], both[300:], **options)
    table = backtest(naive, both[300:], both[300:], horizon=6)
    table = table[table["target"] == "other"]
    rest = table["actual"] - table["forecast"]
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), rest)
    assert list(display.axes_) == list(axes)


def test_overlapping_forecasts_are_no_sequence(result):
    """The autocorrelation of several residuals of one time would be nonsense."""
    message = (
        "results have several forecasts for one time, so their residuals are not a "
        "series over time. Pass the forecasts of one step ahead, "
        "results[results['ahead'] == 1]."
    )
    twice = pd.concat([result, result.assign(ahead=result["ahead"] + 1)])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ResidualDisplay.from_predictions(twice)


@pytest.mark.slow
def test_residuals_of_one_step_are_drawn(hours):
    """The textbook's: what they remember the model has missed."""
    naive = SeasonalNaive(24, target=["load"]).fit(hours[:300])
    display = ResidualDisplay.from_estimator(naive, hours[300:], hours[300:], horizon=1)
    rest = hours["load"][300:].to_numpy() - hours["load"][276:-24].to_numpy()
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), rest)
