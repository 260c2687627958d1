"""Pictures of a report: forecasts against what came, errors, calibration, residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from skinformer.display.axes import with_unit
from skinformer.display.forecast import ForecastDisplay
from skinformer.display.groups import CoverageDisplay, ErrorDisplay, central_pairs, group_label
from skinformer.display.report.facts import TargetFacts, origin_errors
from skinformer.display.report.markup import Markup, as_number, as_percent, tag
from skinformer.display.report.page import draw_vector
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


def show(picture: Picture, salt: str) -> Markup:
    """Put a picture, whose ids have a salt of their own, into a page."""
    label = f"{picture.title}: {picture.text}"
    vector = draw_vector(picture.draw, picture.size, salt=salt, label=label)
    caption = tag("figcaption", tag("b", f"{picture.title}."), f" {picture.text}")
    return tag("figure", vector, caption)


def pictures(facts: TargetFacts) -> Iterator[Picture]:
    """Tell what is drawn of a target."""
    facts = _with_short_names(facts)
    yield _latest(facts)
    yield from _origins(facts)
    for group in facts.groups:
        yield _errors(facts, group)
    if facts.has_series:
        yield _series(facts)
    if facts.levels:
        yield _calibration(facts)
    yield _residuals(facts)


def _latest(facts: TargetFacts) -> Picture:
    usual = facts.series.index[len(facts.series) // 2] if facts.has_series else None
    rows, series = _of_series(facts, usual)
    wanted = min(max(7 * int(rows["ahead"].max()), _LEAST), _MOST)
    kept: list[pd.DataFrame] = []
    for _, part in reversed(list(rows.groupby("origin", sort=True))):
        if kept and part["time"].max() >= kept[-1]["time"].min():
            continue  # its times are forecast from a later origin, too
        kept.append(part)
        if sum(map(len, kept)) >= wanted:
            break
    shown = pd.concat(kept).sort_values("time")
    text = f"{series}The truth and what was forecast from {len(kept)} origins."
    return Picture(_forecast(facts, shown, shown), "The latest forecasts", text)


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
        rows, series = _of_series(facts, name)
        error = as_number(errors.iloc[place])
        text = f"{series}Origin {short_label(origin)}, mean error {error}; {what}."
        shown = rows[rows["origin"] == origin]
        past = rows[rows["time"] < origin].drop_duplicates("time").sort_values("time")
        truth = pd.concat([past[-2 * horizon :], shown])
        yield Picture(_forecast(facts, truth, shown), title, text)


def _forecast(
    facts: TargetFacts, truth: pd.DataFrame, shown: pd.DataFrame
) -> Callable[[Figure], Any]:
    """Draw what is shown of the forecasts on the truth."""
    actual = truth.set_index("time")["actual"].rename(str(facts.target))
    table = shown.set_index("time")
    quantiles = table[list(facts.levels.values())] if facts.levels else None
    display = ForecastDisplay(actual, table["forecast"], quantiles, unit=facts.unit)
    return lambda figure: display.plot(ax=figure.subplots(), name=facts.name)


def _errors(facts: TargetFacts, group: str) -> Picture:
    label, several = group_label(group), len(facts.tables) > 1
    text = f"Mean absolute error by {label}{', of all forecasters' * several}."
    return Picture(
        lambda figure: ErrorDisplay.from_predictions(
            facts.tables, by=group, unit=facts.unit, ax=figure.subplots()
        ),
        f"Errors by {label}",
        text,
    )


def _series(facts: TargetFacts) -> Picture:
    worst, n = facts.series[: 3 * _SERIES], len(facts.series)
    those = f", the worst {len(worst)} of {n:,}" * (len(worst) < n)
    text = f"Mean absolute error as a share of the truth's average size{those}."

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = figure.subplots()
        shares = worst[["wape"]].set_axis(worst.index.map(str).rename("series"))
        ErrorDisplay(shares, label="mean absolute error, share of the truth").plot(ax=ax)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(lambda share, _: as_percent(share))

    return Picture(draw, "Errors by series", text, (5.4, max(3.4, 1.2 + 0.26 * len(worst))))


def _calibration(facts: TargetFacts) -> Picture:
    paired = bool(central_pairs(facts.levels))
    kind = "coverage" if paired else "levels"
    inside = "lay inside ranges" if paired else "lay at or below quantiles"
    text = f"Which share of the truth {inside}, against what was requested; below the dashed line "
    text += "ranges are too narrow." if paired else "quantiles are too low."

    return Picture(
        lambda figure: CoverageDisplay.from_predictions(
            facts.main, kind=kind, ax=figure.subplots()
        ),
        "Calibration",
        text,
        (5.4, 4.2),
    )


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
        axes[1].set_xlabel(with_unit("actual less forecast\n", facts.unit))  # half as wide

    return Picture(draw, "What forecasts left over", text, (6.0, 6.0))


def _of_series(facts: TargetFacts, name: Any) -> tuple[pd.DataFrame, str]:
    """Give the rows of a series, and say which one it is; None is the only one."""
    if name is None:
        return facts.main, ""
    return facts.main[facts.main["series"] == name], f"Series {name}. "


def _with_short_names(facts: TargetFacts) -> TargetFacts:
    """Cut names of targets, series and forecasters that are too long to be drawn."""
    names, target = _shortened(facts.tables), _shorten(facts.target)
    series = _shortened(facts.main["series"].unique()) if "series" in facts.main else {}
    tables = {}
    for name, table in facts.tables.items():
        tables[names[name]] = short = table.assign(target=target)
        if series:
            short["series"] = short["series"].map(series)
    return TargetFacts(target, facts.unit, tables, names.get(facts.reference))


def _shortened(names: Iterable[Any]) -> dict[Any, str]:
    """Cut names, and number those that would be alike."""
    cut = {name: _shorten(name) for name in names}
    if len(set(cut.values())) == len(cut):
        return cut
    return {name: f"{i}: {short}" for i, (name, short) in enumerate(cut.items(), 1)}


def _shorten(name: Any) -> str:
    text = str(name)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
