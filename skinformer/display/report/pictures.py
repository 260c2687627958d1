"""Pictures of a report: forecasts against what came, errors, calibration, residuals."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pandas as pd

from skinformer.display.forecast import ForecastDisplay
from skinformer.display.groups import CoverageDisplay, ErrorDisplay, central_pairs, group_label
from skinformer.display.report.facts import TargetFacts, as_number
from skinformer.display.residuals import ResidualDisplay
from skinformer.timeline.clock import short_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Series at most of which residuals are drawn.
_N_WORST = 6
#: Dollar signs are dollars; ids are the same in each run.
_STYLE = {
    "font.size": 11,
    "legend.fontsize": 10,
    "text.parse_math": False,
    "svg.hashsalt": "report",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Picture:
    """What is drawn on an empty figure (size in inches), and a sentence that describes it."""

    title: str
    text: str
    draw: Callable[[Figure], Any]
    size: tuple[float, float] = (5.4, 3.4)


def embed(picture: Picture) -> str:
    """Write a picture as an element that holds its SVG.

    matplotlib's settings are its own defaults while this draws, whatever the user's are, and are
    put back.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    file = BytesIO()
    with style.context(["default", _STYLE], after_reset=True):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = b64encode(file.getvalue()).decode()
    title, text = escape(picture.title), escape(picture.text)
    return (
        f'<figure><img alt="{title}: {text}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption><b>{title}.</b> {text}</figcaption></figure>"
    )


def pictures(facts: TargetFacts) -> Iterator[Picture]:
    """Make the pictures of a target."""
    facts = _with_short_names(facts)
    yield _latest(facts)
    if facts.main["ahead"].max() > 2:
        yield _worst(facts)
    for group in facts.groups:
        yield _errors(facts, group)
    if central_pairs(facts.levels):
        yield _calibration(facts)
    yield _residuals(facts)


def _latest(facts: TargetFacts) -> Picture:
    """Draw the last rows, of several series those of the median one."""
    most_rows = 168
    rows = facts.nearest
    text = "The truth and what was forecast."
    if facts.series is not None:
        median = facts.series.index[len(facts.series) // 2]
        rows = rows[rows["series"] == median]
        text = f"{median}, the series whose WAPE is the median of all."
    return Picture("The latest forecasts", text, _forecast(facts, rows.tail(most_rows)))


def _worst(facts: TargetFacts) -> Picture:
    """Draw the forecast from the origin, of one series, whose mean error is the largest."""
    rows = facts.main
    if facts.series is None:
        rows = rows.assign(series="")
    error = (rows["forecast"] - rows["actual"]).abs()
    groups = rows.assign(error=error).groupby(["origin", "series"])
    mean: Any = groups["error"].mean()
    origin, series = mean.idxmax()
    shown = groups.get_group((origin, series))
    text = f"Mean error {as_number(mean.max())} from {short_label(origin)} on"
    if series:
        text += f", of {series}"
    return Picture("The worst forecast", f"{text}.", _forecast(facts, shown))


def _forecast(facts: TargetFacts, shown: pd.DataFrame) -> Callable[[Figure], Any]:
    """Draw forecasts, one a time, beside the truth."""
    table = shown.set_index("time")
    actual = table["actual"].rename(facts.target)
    quantiles = table[list(facts.levels.values())] if facts.levels else None
    display = ForecastDisplay(actual, table["forecast"], quantiles, unit=facts.unit)
    return lambda figure: display.plot(ax=figure.subplots(), name=facts.name)


def _errors(facts: TargetFacts, group: str) -> Picture:
    label = group_label(group)
    return Picture(
        f"Errors by {label}",
        f"Mean absolute error by {label}.",
        lambda figure: ErrorDisplay.from_predictions(
            facts.tables, by=group, unit=facts.unit, ax=figure.subplots()
        ),
    )


def _calibration(facts: TargetFacts) -> Picture:
    return Picture(
        "Calibration",
        "Share of the truth in ranges, against what was requested; below the dashed line ranges "
        "are too narrow.",
        lambda figure: CoverageDisplay.from_predictions(facts.main, ax=figure.subplots()),
        (5.4, 4.2),
    )


def _residuals(facts: TargetFacts) -> Picture:
    """Draw the residuals of the last rows, of many series those of the worst ones."""
    most_rows = 1500
    rows = facts.nearest
    if facts.series is not None:
        worst = facts.series.index[:_N_WORST]
        rows = rows[rows["series"].isin(worst)]
    shown = rows.tail(most_rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplot_mosaic("tt;ha")
        ResidualDisplay.from_predictions(shown, ax=list(axes.values()))

    text = "Actual less forecast: over time, their distribution, and how alike neighbours are; of "
    text += f"many series the worst {_N_WORST}."
    return Picture("Residuals", text, draw, (11.0, 5.0))


def _with_short_names(facts: TargetFacts) -> TargetFacts:
    """Cut names of targets, series and forecasters that are too long to be drawn."""
    names = _shortened(facts.tables)
    target = _shortened([facts.target])[facts.target]
    series = None
    if "series" in facts.main:
        series = _shortened(facts.main["series"].unique())
    tables = {}
    for name, table in facts.tables.items():
        table = table.assign(target=target)
        if series is not None:
            table["series"] = table["series"].map(series)
        tables[names[name]] = table
    return replace(facts, target=target, tables=tables)


def _shortened(names: Iterable[Any]) -> dict[Any, str]:
    """Cut names that would leave a picture no room, and number them."""
    most_letters = 24
    short = {}
    for number, name in enumerate(names, 1):
        text = str(name)
        if len(text) > most_letters:
            text = f"{text[:most_letters]}… ({number})"
        short[name] = text
    return short
