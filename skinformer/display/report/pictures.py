"""Pictures of a report: forecasts against what came, errors, calibration, residuals."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pandas as pd

from skinformer.display.axes import Display, as_number
from skinformer.display.forecast import ForecastDisplay
from skinformer.display.groups import (
    GROUPS,
    CoverageDisplay,
    ErrorDisplay,
    central_pairs,
)
from skinformer.display.report.facts import TargetFacts
from skinformer.display.residuals import ResidualDisplay
from skinformer.timeline.clock import short_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_pictures(facts: TargetFacts) -> list[str]:
    """Write the pictures of a target as elements of a page.

    matplotlib's settings are its own defaults while this draws, whatever the user's are.
    """
    from matplotlib import style

    own_style = {
        "font.size": 11,
        "legend.fontsize": 10,
        "text.parse_math": False,  # dollar signs are dollars
        "svg.hashsalt": "report",  # ids are the same in each run
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with style.context(["default", own_style], after_reset=True):
        pictures = [_latest(facts)]
        if facts.main["ahead"].max() > 2:
            pictures.append(_worst(facts))
        pictures += [_errors(facts, group) for group in facts.groups]
        if central_pairs(facts.levels):
            pictures.append(_calibration(facts))
        pictures.append(_residuals(facts))
    return pictures


def _make_figure(width: float = 5.4, height: float = 3.4) -> Figure:
    """Return an empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _embed(title: str, text: str, display: Display) -> str:
    """Write the figure that was drawn, and what describes it, as an element."""
    file = BytesIO()
    display.figure_.savefig(file, format="svg", metadata={"Date": None})
    data = b64encode(file.getvalue()).decode()
    text = escape(text)
    return (
        f'<figure><img alt="{title}: {text}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption><b>{title}.</b> {text}</figcaption></figure>"
    )


def _latest(facts: TargetFacts) -> str:
    """Draw the last rows, of several series those of the median one."""
    most_rows = 168
    rows = facts.nearest
    text = "Actual values and forecasts."
    if facts.series is not None:
        median = facts.series.index[len(facts.series) // 2]
        rows = rows[rows["series"] == median]
        text = f"{median}, the series whose WAPE is the median of all."
    return _embed("The latest forecasts", text, _forecast(facts, rows.tail(most_rows)))


def _worst(facts: TargetFacts) -> str:
    """Draw the forecast from the origin, of one series, whose mean error is the largest."""
    rows = facts.main
    error = (rows["forecast"] - rows["actual"]).abs()
    forecasts = rows.assign(error=error).groupby(["origin", "series"])
    mean: Any = forecasts["error"].mean()
    origin, series = mean.idxmax()
    text = f"Mean error {as_number(mean.max())} from {short_label(origin)} on"
    if facts.series is not None:
        text += f", of {series}"
    shown = forecasts.get_group((origin, series))
    return _embed("The worst forecast", f"{text}.", _forecast(facts, shown))


def _forecast(facts: TargetFacts, shown: pd.DataFrame) -> Display:
    """Draw forecasts, one a time, beside the truth."""
    return ForecastDisplay.from_backtest(
        shown, unit=facts.unit, name=facts.name, ax=_make_figure().subplots()
    )


def _errors(facts: TargetFacts, group: str) -> str:
    label = GROUPS.get(group, group)
    display = ErrorDisplay.from_predictions(
        facts.tables, by=group, unit=facts.unit, ax=_make_figure().subplots()
    )
    return _embed(f"Errors by {label}", f"Mean absolute error by {label}.", display)


def _calibration(facts: TargetFacts) -> str:
    ax = _make_figure(height=4.2).subplots()
    text = (
        "Share of actual values inside the prediction intervals, against the requested coverage; "
        "below the dashed line intervals are too narrow."
    )
    return _embed(
        "Calibration", text, CoverageDisplay.from_predictions(facts.main, ax=ax)
    )


def _residuals(facts: TargetFacts) -> str:
    """Draw the residuals of the last rows, of many series those of the worst ones."""
    most_rows = 1500
    n_worst = 6
    rows = facts.nearest
    if facts.series is not None:
        worst = facts.series.index[:n_worst]
        rows = rows[rows["series"].isin(worst)]
    axes = _make_figure(11.0, 5.0).subplot_mosaic("tt;ha")
    display = ResidualDisplay.from_predictions(
        rows.tail(most_rows), unit=facts.unit, ax=list(axes.values())
    )
    text = (
        "Actual minus forecast: over time, their distribution, and their autocorrelation; of "
        f"many series the worst {n_worst}."
    )
    return _embed("Residuals", text, display)
