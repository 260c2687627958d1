"""Pictures of a report: forecasts against what came, errors, calibration, residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from skinformer.display.axes import with_unit
from skinformer.display.coverage import CoverageDisplay
from skinformer.display.errors import ErrorDisplay
from skinformer.display.forecast import ForecastDisplay
from skinformer.display.groups import group_label
from skinformer.display.report.facts import TargetFacts, origin_errors
from skinformer.display.report.markup import Markup, tag
from skinformer.display.report.numbers import as_number, as_percent
from skinformer.display.report.vector import Palette, draw_vector
from skinformer.display.residuals import ResidualDisplay
from skinformer.timeline.clock import short_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of the picture of latest forecasts: seven horizons, within these bounds.
_LEAST, _MOST = 100, 400
#: Rows of residuals at most, and series that are drawn at most.
_RESIDUALS, _SERIES = 1500, 6
#: Letters of a name at most: longer ones leave a picture no room.
_LETTERS = 24
_SIZE = (5.4, 3.2)


@dataclass(frozen=True)
class Picture:
    """What is drawn on an empty figure (size in inches), and a sentence that says what is seen."""

    draw: Callable[[Figure], Any]
    title: str
    text: str
    size: tuple[float, float] = _SIZE


def show(picture: Picture, prefix: str, palette: Palette) -> Markup:
    """Put a picture, whose ids have a prefix and whose colours the palette takes, into a page."""
    label = f"{picture.title}: {picture.text}"
    vector = draw_vector(picture.draw, picture.size, prefix=prefix, label=label, palette=palette)
    caption = tag("figcaption", tag("b", f"{picture.title}."), f" {picture.text}")
    return tag("figure", vector, caption)


def pictures(facts: TargetFacts) -> Iterator[Picture]:
    """Tell what is drawn of a target."""
    facts = _with_short_names(facts)
    yield _latest(facts)
    yield from _origins(facts)
    for group in ("ahead", facts.cycle):
        if group is not None and facts.main[["ahead"]].nunique().item() > (group == "ahead"):
            yield _errors(facts, group)
    if facts.has_series:
        yield _series(facts)
    if facts.levels:
        yield _calibration(facts)
    yield _residuals(facts)


def _latest(facts: TargetFacts) -> Picture:
    rows, name = _usual_series(facts)
    wanted = min(max(7 * int(rows["ahead"].max()), _LEAST), _MOST)
    start, kept = None, []
    for _, part in reversed(list(rows.groupby("origin", sort=True))):
        if start is not None and part["time"].max() >= start:
            continue  # its times are forecast from a later origin, too
        kept.append(part)
        start = part["time"].min()
        if sum(map(len, kept)) >= wanted:
            break
    shown = pd.concat(kept).sort_values("time")
    text = f"{_of_series(name)}The truth and what was forecast from {len(kept)} origins."
    return Picture(
        lambda figure: _draw_forecast(figure, facts, shown), "The latest forecasts", text
    )


def _origins(facts: TargetFacts) -> Iterator[Picture]:
    """Draw the forecast from an origin whose error is the median, and the worst."""
    errors = origin_errors(facts.main).sort_values(kind="stable")
    horizon = int(facts.main["ahead"].max())
    if horizon < 3 or len(errors) < 3:
        return
    for place, title, what in (
        ((len(errors) - 1) // 2, "A usual forecast", "half of all origins have larger errors"),
        (len(errors) - 1, "The worst forecast", "no origin has larger ones"),
    ):
        key = errors.index[place]
        origin, name = key if facts.main.get("series") is not None else (key, None)
        rows = facts.main if name is None else facts.main[facts.main["series"] == name]
        error = as_number(errors.iloc[place])
        text = f"{_of_series(name)}Origin {short_label(origin)}, mean error {error}; {what}."
        yield Picture(_from_origin(facts, rows, origin, 2 * horizon), title, text)


def _from_origin(
    facts: TargetFacts, rows: pd.DataFrame, origin: Any, n_before: int
) -> Callable[[Figure], Any]:
    shown = rows[rows["origin"] == origin]
    past = rows[rows["time"] < origin].drop_duplicates("time").sort_values("time")[-n_before:]
    return lambda figure: _draw_forecast(figure, facts, shown, past)


def _draw_forecast(
    figure: Figure, facts: TargetFacts, shown: pd.DataFrame, past: pd.DataFrame | None = None
) -> None:
    table = shown.set_index("time")
    actual = (
        table["actual"]
        if past is None
        else pd.concat([past.set_index("time")["actual"], table["actual"]])
    )
    actual = actual.rename(str(facts.target))
    quantiles = table[list(facts.levels.values())] if facts.levels else None
    ax = figure.subplots()
    display = ForecastDisplay(actual, table["forecast"], quantiles, unit=facts.unit)
    display.plot(ax=ax, name=facts.name)


def _errors(facts: TargetFacts, group: str) -> Picture:
    label = group_label(group)
    text = f"Mean absolute error by {label}" + (
        ", of all forecasters." if len(facts.tables) > 1 else "."
    )

    def draw(figure: Figure) -> None:
        tables: Any = facts.tables if len(facts.tables) > 1 else facts.main
        ErrorDisplay.from_predictions(tables, by=group, unit=facts.unit, ax=figure.subplots())

    return Picture(draw, f"Errors by {label}", text)


def _series(facts: TargetFacts) -> Picture:
    worst = facts.series[: 3 * _SERIES]
    text = "Mean absolute error as a share of the truth's average size"
    text += (
        f", the worst {len(worst)} of {len(facts.series):,}."
        if len(worst) < len(facts.series)
        else "."
    )

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = figure.subplots()
        shares = worst[["wape"]].set_axis([str(name) for name in worst.index])
        shares.index.name = "series"
        ErrorDisplay(shares, label="mean absolute error, share of the truth").plot(ax=ax)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(lambda share, _: as_percent(share))

    return Picture(draw, "Errors by series", text, (5.4, max(3.4, 1.2 + 0.26 * len(worst))))


def _calibration(facts: TargetFacts) -> Picture:
    levels = list(facts.levels)
    paired = any(abs(low + high - 1) < 1e-9 for low in levels for high in levels if low < high)
    kind = "coverage" if paired else "levels"
    inside = "lay inside ranges" if paired else "lay at or below quantiles"
    text = f"Which share of the truth {inside}, against what was requested; below the dashed line "
    text += "ranges are too narrow." if paired else "quantiles are too low."

    def draw(figure: Figure) -> None:
        CoverageDisplay.from_predictions(facts.main, kind=kind, ax=figure.subplots())

    return Picture(draw, "Calibration", text, (5.4, 4.2))


def _residuals(facts: TargetFacts) -> Picture:
    rows = facts.main.sort_values("ahead", kind="stable")
    keys = [key for key in ("series", "time") if key in rows]
    once = rows.drop_duplicates(keys).sort_values("time", kind="stable")
    notes = []
    if len(once) < len(rows):
        notes.append("of several forecasts of a time the nearest")
    if facts.has_series and len(facts.series) > _SERIES:
        once = once[once["series"].isin(facts.series.index[:_SERIES])]
        notes.append(f"the worst {_SERIES} series")
    if len(once) > _RESIDUALS:
        once = once[-_RESIDUALS:]
        notes.append(f"the latest {_RESIDUALS:,} rows")
    text = "Actual less forecast over time, their distribution, and how far one tells of later ones"
    text += f" ({'; '.join(notes)})." if notes else "."

    def draw(figure: Figure) -> None:
        axes = list(figure.subplot_mosaic("tt;ha").values())
        ResidualDisplay.from_predictions(once, unit=facts.unit, ax=axes)
        axes[1].set_xlabel(with_unit("actual less forecast", facts.unit))  # half as wide

    return Picture(draw, "What forecasts left over", text, (5.4, 5.8))


def _usual_series(facts: TargetFacts) -> tuple[pd.DataFrame, Any]:
    """Choose the series whose share of errors is the median."""
    if not facts.has_series:
        return facts.main, None
    name = facts.series.index[len(facts.series) // 2]
    return facts.main[facts.main["series"] == name], name


def _of_series(name: Any) -> str:
    return "" if name is None else f"Series {name}. "


def _with_short_names(facts: TargetFacts) -> TargetFacts:
    """Cut names of targets, series and forecasters that are too long to be drawn."""
    names = _shortened(facts.tables)
    target = _shortened([facts.target])[facts.target]
    tables = {names[name]: table.assign(target=target) for name, table in facts.tables.items()}
    if "series" in facts.main:
        series = _shortened(facts.main["series"].unique())
        tables = {
            name: table.assign(series=table["series"].map(series)) for name, table in tables.items()
        }
    reference = None if facts.reference is None else names[facts.reference]
    return TargetFacts(target, facts.unit, tables, reference)


def _shortened(names: Iterable[Any]) -> dict[Any, str]:
    """Cut names, and number those that would be alike."""
    cut = {name: _shorten(name) for name in names}
    if len(set(cut.values())) == len(cut):
        return cut
    return {name: f"{i}: {short}" for i, (name, short) in enumerate(cut.items(), 1)}


def _shorten(name: Any) -> str:
    text = str(name)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
