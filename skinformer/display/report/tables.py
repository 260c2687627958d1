"""Tables of a report: who forecast how well, and by step ahead, time of the cycle and series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from skinformer.display.groups import group_label
from skinformer.display.report.facts import TargetFacts
from skinformer.display.report.markup import Markup, as_number, as_percent, tag
from skinformer.display.report.sentences import group_word

#: Rows of a table at most; of more groups some are shown, evenly chosen, or the worst.
_MOST = 48
_SHARES = ("wape", "skill", "coverage")
_HEADS = {
    "n": "forecasts",
    "mae": "error",
    "rmse": "root square",
    "bias": "bias",
    "wape": "of truth",
    "skill": "saved",
    "dm": "Diebold–Mariano",
    "p_value": "p",
    "coverage": "in range",
    "width": "width",
}


def write_table(
    caption: str, heads: Sequence[Any], rows: Sequence[Sequence[Any]], *, note: str = ""
) -> Markup:
    """Write a table that scrolls where the page is narrow; its first column names rows."""
    head = tag("thead", tag("tr", *(tag("th", each, scope="col") for each in heads)))
    lines = [
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    table = tag("table", tag("caption", caption), head, tag("tbody", *lines))
    scroller = tag("div", table, class_="scroller", tabindex="0", role="region", aria_label=caption)
    return tag("div", scroller, tag("p", note, class_="note") if note else Markup(), class_="table")


def comparison_table(facts: TargetFacts) -> Markup:
    """Put all forecasters side by side."""
    names = ["mae", "wape", "rmse", "bias"]
    note = (
        "Error: mean absolute error, and of truth its share of the truth's average size; root "
        "square: root of the mean squared error; bias: mean of forecast less truth."
    )
    if facts.reference is not None:
        names += ["skill", "dm", "p_value"]
        note += (
            f" Saved: by how much errors are smaller than those of {facts.reference}. The "
            "statistic of Diebold and Mariano is below zero where they are; p is how often chance "
            "alone gives one as far from zero."
        )
    if facts.levels:
        names += ["coverage", "width"]
        note += (
            f" In range: truths in the range that is to hold {as_percent(facts.requested)}; "
            "width: of this range."
        )
    return _errors(facts, "", "forecaster", facts.comparison[names], note)


def group_table(facts: TargetFacts, group: str) -> Markup:
    """Show errors by "ahead", or by the "hour", "day_of_week" or "month"."""
    errors = facts.by(group)
    table = errors[facts.name][["n", "mae", "rmse", "bias"]]
    if facts.reference is not None:
        other = errors[facts.reference]["mae"]
        table = table.assign(skill=1 - table["mae"] / other.where(other > 0))
    if facts.levels:
        table = table.join(errors[facts.name][["coverage", "width"]])
    note = ""
    if len(table) > _MOST:
        shown = np.unique(np.linspace(0, len(table) - 1, _MOST // 2).round().astype(int))
        note = f"{len(shown)} of {len(table):,} groups are shown."
        table = table.iloc[shown]
    if group != "ahead":
        table.index = pd.Index([group_word(group, each) for each in table.index])
    label = group_label(group)
    return _errors(facts, f" by {label}", label, table, note)


def series_table(facts: TargetFacts) -> Markup:
    """Show errors of each series, the worst first.

    >>> rows = {"series": ["a", "b"], "time": 0, "actual": [2.0, 4.0], "forecast": [1.0, 1.0]}
    >>> table = series_table(TargetFacts("load", None, {"model": pd.DataFrame(rows)}, None))
    >>> table.index(">b<") < table.index(">a<")
    True
    """
    table = facts.series
    names = ["n", "mae", "wape", "rmse", "bias"] + ["coverage", "width"] * bool(facts.levels)
    cut = f"The worst {_MOST} of {len(table):,} series are shown." * (len(table) > _MOST)
    return _errors(facts, " by series", "series", table[names][:_MOST], cut)


def _errors(facts: TargetFacts, by: str, corner: str, table: pd.DataFrame, note: str) -> Markup:
    """Write errors of a target, `by` which groups; the corner names what the rows are."""
    heads = [corner, *(_HEADS[str(name)] for name in table)]
    rows = [
        [label, *(_cell(name, value) for name, value in zip(table, row, strict=True))]
        for label, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    unit = "" if facts.unit is None else f"In {facts.unit}. "
    return write_table(f"Errors of {facts.target}{by}", heads, rows, note=f"{unit}{note}".strip())


def _cell(name: Any, value: float) -> str:
    if name == "n":
        return f"{int(value):,}"
    if name == "p_value":
        return "< 0.001" if value < 0.001 else as_number(value, 2)
    return as_percent(value) if name in _SHARES else as_number(value, 4)
