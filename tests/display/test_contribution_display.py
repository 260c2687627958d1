"""What columns give, as bars to one forecast and as colours over time."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

from skinformer.display import ContributionDisplay
from skinformer.evaluation import explain


@pytest.fixture(scope="module")
def reasons():
    """Three hours: a holiday takes 20, and twelve other columns give little."""
    hours = pd.date_range("2024-01-01 12:00", periods=3, freq="h")
    rows = [("baseline", 100.0), ("holiday", -20.0), ("load", 6.0)]
    rows += [(f"c{i}", 0.1 * i) for i in range(1, 13)] + [("dust", 1e-6)]
    table = pd.DataFrame(rows, columns=["source", "contribution"])
    parts = [
        table.assign(time=hour, ahead=i, target="load")
        for i, hour in enumerate(hours, 1)
    ]
    return pd.concat(parts)


def test_bars_lead_from_the_baseline_to_the_forecast(reasons):
    """The largest first; what is small is together."""
    display = ContributionDisplay.from_frame(
        reasons, time="2024-01-01 13:00", unit="people"
    )
    ax = display.ax_
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[:3] == ["baseline: usual past", "holiday", "load"]
    assert names[-1] == "forecast"
    assert "6 others together" in names
    assert len(names) == 12
    bars = ax.patches[
        1:-1
    ]  # without the baseline and the forecast, which have no width
    widths = [bar.get_width() for bar in bars]
    assert widths[0] == -20
    assert list(np.abs(widths)) == sorted(np.abs(widths), reverse=True)
    begins = [bar.get_x() for bar in bars]
    np.testing.assert_allclose(begins, 100 + np.cumsum([0, *widths])[:-1])
    texts = [text.get_text() for text in ax.texts]
    assert texts[:3] == ["100", "−20", "+6"]
    assert texts[-1] == "93.8"
    assert ax.get_xlabel() == "load (people), 2024-01-01 13:00"
    assert display.figure_ is ax.figure


def test_a_day_is_a_mean(reasons):
    """One hour is chance; a day is what a manager asks about."""
    display = ContributionDisplay.from_frame(reasons, time="2024-01-01")
    assert display.ax_.get_xlabel() == "load, mean of 3 forecasts"
    assert len(display.drawn_) == 3


def test_colours_over_time_are_what_each_gives(reasons, pyplot):
    """Zero has the ground's colour, in any style."""
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            display = ContributionDisplay.from_frame(
                reasons, kind="heatmap", unit="people"
            )
        ax, bar = display.figure_.axes
        assert "baseline" not in [text.get_text() for text in ax.get_yticklabels()]
        mesh = ax.collections[0]
        np.testing.assert_array_equal(
            mesh.get_array(), display.drawn_.iloc[:, 1:].to_numpy().T
        )
        assert mesh.get_clim() == (-mesh.get_clim()[1], mesh.get_clim()[1])
        np.testing.assert_allclose(mesh.cmap(0.5)[:3], ax.get_facecolor()[:3], atol=0.1)
        assert bar.get_ylabel().replace("\n", " ") == "contribution to load (people)"


def test_a_fit_is_explained_and_drawn(fitted, hours, pyplot):
    """In one line, on the axes that are given."""
    axes = pyplot.subplots(2)[1]
    display = ContributionDisplay.from_estimator(fitted, ax=axes[0])
    assert display.ax_ is axes[0]
    expected = explain(fitted).groupby("time")["contribution"].sum()
    np.testing.assert_allclose(display.contributions.sum(axis=1), expected)
    rows = hours[300:312]
    later = ContributionDisplay.from_estimator(fitted, rows, kind="heatmap")
    np.testing.assert_allclose(
        later.contributions.sum(axis=1), fitted.predict(rows), rtol=1e-6
    )
    later.plot(kind="waterfall", time=rows.index[0], ax=axes[1])


def test_what_cannot_be_drawn_is_refused(reasons):
    """In words that say what to pass."""
    with pytest.raises(
        ValueError, match=r"^kind='pie' must be one of \['heatmap', 'waterfall'\]"
    ):
        ContributionDisplay.from_frame(reasons, kind="pie")
    two = pd.concat([reasons.assign(series="a"), reasons.assign(series="b")])
    with pytest.raises(
        ValueError, match=r"^reasons are of several series: pass those of one"
    ):
        ContributionDisplay.from_frame(two)
    text = (
        "time='2025-01-01' has no forecast: the forecasts are from 2024-01-01 "
        "12:00:00 to 2024-01-01 14:00:00. Pass one of these, or a day."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        ContributionDisplay.from_frame(reasons, time="2025-01-01")


def test_without_matplotlib_it_says_what_to_install(reasons, monkeypatch):
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'skinformer\[plot\]'"):
        ContributionDisplay.from_frame(reasons)
