"""Sentences of a report: how large errors are, better than what, and where largest."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from skinformer.display.report.facts import TargetFacts
from skinformer.display.report.markup import Markup, as_number, as_percent, join, tag

#: Below it a difference is taken for one.
_CHANCE = 0.05
#: So far from what was requested, a coverage is as requested; and a bias is none.
_CLOSE, _SMALL = 0.02, 0.01


def group_word(field: str, value: Any) -> str:
    """Say which hour, day_of_week or month one is.

    >>> group_word("hour", 7), group_word("day_of_week", 0), group_word("month", 12)
    ('7:00', 'Monday', 'December')
    """
    value = int(value)
    if field == "hour":
        return f"{value}:00"
    if field == "day_of_week":
        return pd.Timestamp(2024, 1, 1 + value).day_name()  # that January begins on a Monday
    return pd.Timestamp(2024, value, 1).month_name()


def say_what(facts: TargetFacts, span: str, *, missing: int) -> Markup:
    """Say what was forecast, over which times, and how many forecasts have no truth."""
    table = facts.main
    ahead, origins = int(table["ahead"].max()), table["origin"].nunique()
    series = f" of {table['series'].nunique():,} series" if facts.has_series else ""
    text = (
        f" forecast {span}{series} from {_count(origins, 'origin')}, {_count(ahead, 'step')} at a "
        "time, each from what was known at its origin alone."
    )
    if missing:
        verb = "has" if missing == 1 else "have"
        text += f" {_count(missing, 'forecast')} {verb} no known truth and no part in what follows."
    return tag("p", tag("b", facts.name), text, class_="lead")


def tiles(facts: TargetFacts) -> Markup:
    """Show the three or four numbers that matter most."""
    row = facts.row
    unit = Markup() if facts.unit is None else tag("small", f" {facts.unit}")
    shown: list[tuple[str, str]] = [
        (join(as_number(row["mae"]), unit), "mean error, to either side"),
        (as_percent(row["wape"]), "of the average size of the truth"),
    ]
    if facts.reference is not None:
        word = "smaller" if row["skill"] >= 0 else "larger"
        shown.append((as_percent(abs(row["skill"])), f"{word} errors than {facts.reference}"))
    if facts.levels:
        text = f"of truths within the range; requested: {as_percent(facts.requested)}"
        shown.append((as_percent(row["coverage"]), text))
    cells = [tag("li", tag("strong", number), tag("span", text)) for number, text in shown]
    return tag("ul", *cells, class_="tiles")


def say_summary(facts: TargetFacts) -> Markup:
    """Say in a list of sentences how good forecasts of a target are."""
    says = (_say_error, _say_skill, _say_range, _say_steps, _say_cycle, _say_series)
    return tag("ul", *(tag("li", *parts) for say in says if (parts := say(facts))))


def _say_error(facts: TargetFacts) -> list[Any]:
    row = facts.row
    size = float(facts.main["actual"].abs().mean())
    of = f", or {as_percent(row['wape'])} of its average size, {_with_unit(size, facts)}"
    bias = row["bias"]
    side = "high" if bias > 0 else "low"
    lean = f"On the whole forecasts are too {side}, by {_with_unit(abs(bias), facts)}."
    if size and abs(bias) < _SMALL * size:
        lean = "Errors to both sides cancel: on the whole forecasts are neither too high nor too "
        lean += "low."
    error = f" is off by {_with_unit(row['mae'], facts)}{of * (size > 0)}. {lean}"
    return ["On average a forecast of ", tag("b", facts.target), error]


def _say_skill(facts: TargetFacts) -> list[Any]:
    if facts.reference is None:
        return [
            "Nothing was given to compare with. Whether that is good shows beside a simple "
            "forecast, such as the last season repeated."
        ]
    row, other = facts.row, facts.comparison.loc[facts.reference]
    if math.isnan(row["skill"]):
        return [tag("b", facts.reference), " makes no errors to compare with."]
    word = "smaller" if row["skill"] >= 0 else "larger"
    beside = f", which is off by {_with_unit(other['mae'], facts)}"
    errors = f"Its errors are {as_percent(abs(row['skill']))} {word} than those of "
    return [errors, tag("b", facts.reference), beside, ". ", _say_chance(row["p_value"])]


def _say_chance(p_value: Any) -> str:
    if math.isnan(p_value):
        return "There are too few origins, or they overlap too much, to tell that from chance."
    likely = p_value >= _CHANCE
    share = "fewer than 0.1 %" if p_value < 0.001 else as_percent(p_value, 0 if likely else 1)
    return (
        f"That {'may be' if likely else 'is more than'} chance: without a true difference, so "
        f"large a one comes in {share} of such backtests."
    )


def _say_range(facts: TargetFacts) -> list[Any]:
    if not facts.levels:
        return []
    row, requested = facts.row, facts.requested
    off = row["coverage"] - requested
    by_origin: Any = facts.by("origin")[facts.name]["coverage"]
    verdict = "too narrow" if off < 0 else "wider than needed"
    if abs(off) <= _CLOSE:
        verdict = "as promised"
    elif not abs(off) > 2 * by_origin.sem():  # truths of one origin fail together
        verdict += ", but by no more than chance may bring"
    return [
        f"The range that is to hold {as_percent(requested)} of the truth held "
        f"{as_percent(row['coverage'])}: it is {verdict}. It is {_with_unit(row['width'], facts)} "
        "wide on average."
    ]


def _say_steps(facts: TargetFacts) -> list[Any]:
    errors = facts.by("ahead")[facts.name]["mae"]
    if len(errors) < 2:
        return []
    ahead = [f"{_count(int(step), 'step')} ahead" for step in errors.index]
    sizes = [_with_unit(error, facts) for error in errors]
    text = f"The mean error is {ahead[0]} {sizes[0]} and {ahead[-1]} {sizes[-1]}"
    worst = int(errors.to_numpy().argmax())
    if errors.iloc[worst] > max(errors.iloc[0], errors.iloc[-1]):
        text += f"; it is largest {ahead[worst]}, {sizes[worst]}"
    return [text, "."]


def _say_cycle(facts: TargetFacts) -> list[Any]:
    if facts.cycle is None:
        return []
    preposition = {"hour": "at", "day_of_week": "on", "month": "in"}[facts.cycle]
    errors: Any = facts.by(facts.cycle)[facts.name]["mae"]
    worst, best = (
        f"{preposition} {group_word(facts.cycle, group)}, {_with_unit(errors[group], facts)}"
        for group in (errors.idxmax(), errors.idxmin())
    )
    return [f"Errors are largest {worst} on average, and smallest {best}."]


def _say_series(facts: TargetFacts) -> list[Any]:
    if not facts.has_series or facts.series["wape"].isna().all():
        return []
    shares = facts.series["wape"].dropna()
    worst, best, usual = map(as_percent, (shares.iloc[0], shares.iloc[-1], shares.median()))
    return [
        f"Of {len(facts.series):,} series, ",
        tag("b", shares.index[0]),
        f" is forecast worst, off by {worst} of its average size, and ",
        tag("b", shares.index[-1]),
        f" best, off by {best}; half of them are off by {usual} or less.",
    ]


def _with_unit(value: Any, facts: TargetFacts) -> str:
    text = as_number(value)
    return text if facts.unit is None else f"{text} {facts.unit}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")
