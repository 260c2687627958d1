"""Sentences of a report: how large errors are, better than what, and where largest."""

from __future__ import annotations

import math
from typing import Any

from skinformer.display.report.facts import TargetFacts
from skinformer.display.report.markup import Markup, join, tag
from skinformer.display.report.numbers import as_number, as_percent

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
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
    return _DAYS[value] if field == "day_of_week" else _MONTHS[value - 1]


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
    row = facts.comparison.loc[facts.name]
    unit = Markup() if facts.unit is None else tag("small", f" {facts.unit}")
    shown: list[tuple[str, str]] = [
        (join(as_number(row["mae"]), unit), "mean error, to either side"),
        (as_percent(row["wape"]), "of the average size of the truth"),
    ]
    if facts.reference is not None:
        word = "smaller" if row["skill"] >= 0 else "larger"
        shown.append((as_percent(abs(row["skill"])), f"{word} errors than {facts.reference}"))
    if facts.levels:
        requested = as_percent(facts.requested)
        shown.append(
            (as_percent(row["coverage"]), f"of truths within the range; requested: {requested}")
        )
    cells = [tag("li", tag("strong", number), tag("span", text)) for number, text in shown]
    return tag("ul", *cells, class_="tiles")


def say_summary(facts: TargetFacts) -> Markup:
    """Say in a list of sentences how good forecasts of a target are."""
    sentences = [
        _say_error(facts),
        _say_skill(facts),
        _say_range(facts),
        _say_steps(facts),
        _say_cycle(facts),
        _say_series(facts),
    ]
    return tag("ul", *(tag("li", *parts) for parts in sentences if parts))


def _say_error(facts: TargetFacts) -> list[Any]:
    row = facts.comparison.loc[facts.name]
    size = float(facts.main["actual"].abs().mean())
    of = f", or {as_percent(row['wape'])} of its average size, {_with_unit(size, facts)}"
    bias = row["bias"]
    if size and abs(bias) < _SMALL * size:
        lean = (
            "Errors to both sides cancel: on the whole forecasts are neither too high nor too low."
        )
    else:
        side = "high" if bias > 0 else "low"
        lean = f"On the whole forecasts are too {side}, by {_with_unit(abs(bias), facts)}."
    error = _with_unit(row["mae"], facts)
    return [
        "On average a forecast of ",
        tag("b", facts.target),
        f" is off by {error}",
        of * (size > 0),
        f". {lean}",
    ]


def _say_skill(facts: TargetFacts) -> list[Any]:
    if facts.reference is None:
        return [
            "Nothing was given to compare with. Whether that is good shows beside a simple "
            "forecast, such as the last season repeated."
        ]
    row: Any = facts.comparison.loc[facts.name]
    other = facts.comparison.loc[facts.reference]
    if math.isnan(row["skill"]):
        return [tag("b", facts.reference), " makes no errors to compare with."]
    word = "smaller" if row["skill"] >= 0 else "larger"
    beside = f", which is off by {_with_unit(other['mae'], facts)}"
    errors = f"Its errors are {as_percent(abs(row['skill']))} {word} than those of "
    return [errors, tag("b", facts.reference), beside, ". ", _say_chance(row["p_value"])]


def _say_chance(p_value: Any) -> str:
    if math.isnan(p_value):
        return "There are too few origins, or they overlap too much, to tell that from chance."
    if p_value >= _CHANCE:
        return (
            f"That may be chance: without a true difference, so large a one comes in "
            f"{as_percent(p_value, 0)} of such backtests."
        )
    rare = "fewer than 0.1 %" if p_value < 0.001 else as_percent(p_value)
    return (
        f"That is more than chance: without a true difference, so large a one comes in {rare} of "
        "such backtests."
    )


def _say_range(facts: TargetFacts) -> list[Any]:
    if not facts.levels:
        return []
    row, requested = facts.comparison.loc[facts.name], facts.requested
    off = row["coverage"] - requested
    verdict = (
        "as promised" if abs(off) <= _CLOSE else "too narrow" if off < 0 else "wider than needed"
    )
    return [
        f"The range that is to hold {as_percent(requested)} of the truth held "
        f"{as_percent(row['coverage'])}: it is {verdict}. It is {_with_unit(row['width'], facts)} "
        "wide on average."
    ]


def _say_steps(facts: TargetFacts) -> list[Any]:
    errors = facts.by("ahead")[facts.name]["mae"]
    if len(errors) < 2:
        return []
    last = len(errors) - 1
    said = [
        f"{_count(int(errors.index[i]), 'step')} ahead {_with_unit(errors.iloc[i], facts)}"
        for i in (0, last)
    ]
    text = f"The mean error is {said[0]} and {said[1]}"
    worst = int(errors.to_numpy().argmax())
    if errors.iloc[worst] > max(errors.iloc[0], errors.iloc[last]):
        text += f"; it is largest {_count(int(errors.index[worst]), 'step')} ahead, "
        text += _with_unit(errors.iloc[worst], facts)
    return [text, "."]


def _say_cycle(facts: TargetFacts) -> list[Any]:
    if facts.cycle is None:
        return []
    preposition = {"hour": "at", "day_of_week": "on", "month": "in"}[facts.cycle]
    errors = facts.by(facts.cycle)[facts.name]["mae"]
    said = [
        f"{preposition} {group_word(facts.cycle, errors.index[i])}, "
        f"{_with_unit(errors.iloc[i], facts)}"
        for i in (int(errors.to_numpy().argmax()), int(errors.to_numpy().argmin()))
    ]
    return [f"Errors are largest {said[0]} on average, and smallest {said[1]}."]


def _say_series(facts: TargetFacts) -> list[Any]:
    if not facts.has_series:
        return []
    shares = facts.series["wape"].dropna()
    if not len(shares):
        return []
    worst, best = shares.index[0], shares.index[-1]
    return [
        f"Of {len(facts.series):,} series, ",
        tag("b", worst),
        f" is forecast worst, off by {as_percent(shares.iloc[0])} of its average size, and ",
        tag("b", best),
        f" best, off by {as_percent(shares.iloc[-1])}; half of them are off by "
        f"{as_percent(shares.median())} or less.",
    ]


def _with_unit(value: Any, facts: TargetFacts) -> str:
    text = as_number(value)
    return text if facts.unit is None else f"{text} {facts.unit}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")
