"""Tables of a report: errors of each forecaster, and by step ahead, time of the cycle and series.

pandas writes them, and escapes what they hold.
"""

from __future__ import annotations

from calendar import day_name
from collections.abc import Callable
from typing import Any

import pandas as pd

from skinformer.display.groups import group_label
from skinformer.display.report.facts import TargetFacts, as_number, as_percent
from skinformer.evaluation.comparison import summary

#: Rows of a table at most; of more groups some are shown, evenly chosen, of series the worst.
_MOST = 48
_HEADS = {
    "n": "forecasts",
    "mae": "MAE",
    "wape": "WAPE",
    "rmse": "RMSE",
    "bias": "bias",
    "skill": "skill",
    "dm": "Diebold–Mariano",
    "p_value": "p-value",
    "coverage": "coverage",
    "width": "width",
}


def write_table(table: pd.DataFrame, corner: str) -> str:
    """Write a table as HTML; the corner names what the rows are.

    >>> "<th>&lt;b&gt;</th>" in write_table(pd.DataFrame({"a": ["x"]}, index=["<b>"]), "")
    True
    """
    named = table.rename_axis(index=None, columns=corner)
    with pd.option_context("display.max_colwidth", None):
        return f'<div class="table">{named.to_html(border=0)}</div>'


def comparison_table(facts: TargetFacts) -> str:
    """Put all forecasters side by side."""
    names = ["mae", "wape", "rmse", "bias"]
    if facts.reference is not None:
        names += ["skill", "dm", "p_value"]
    return _write_errors(facts.comparison.reindex(columns=names + _of_range(facts)), "forecaster")


def group_table(facts: TargetFacts, group: str) -> str:
    """Write errors by "ahead", or by the "hour", "day_of_week" or "month"."""
    table = summary(facts.main, group).drop(columns="pinball", errors="ignore")
    if facts.reference is not None:
        other = summary(facts.tables[facts.reference], group)["mae"]
        table["skill"] = 1 - table["mae"] / other.where(other > 0)
    if group == "day_of_week":
        table = table.rename(index=dict(enumerate(day_name)))
    every = -(-len(table) // _MOST)
    return _write_errors(table[::every], group_label(group))


def series_table(facts: TargetFacts, errors: pd.DataFrame) -> str:
    """Write errors of each series, the worst first.

    >>> rows = {"series": ["a", "b"], "time": 0, "actual": [2.0, 4.0], "forecast": [1.0, 1.0]}
    >>> facts = TargetFacts("load", None, {"model": pd.DataFrame(rows)}, None)
    >>> table = series_table(facts, facts.series)
    >>> table.index(">b<") < table.index(">a<")
    True
    """
    names = ["n", "mae", "wape", "rmse", "bias", *_of_range(facts)]
    return _write_errors(errors[names].head(_MOST), "series")


def _of_range(facts: TargetFacts) -> list[str]:
    return ["coverage", "width"] if facts.levels else []


def _write_errors(table: pd.DataFrame, corner: str) -> str:
    """Write errors as text, with a head for each."""
    texts = {}
    for name in table:
        write: Callable[[Any], str] = as_number
        if name == "n":
            write = "{:,}".format
        elif name in ("wape", "skill", "coverage"):
            write = as_percent
        texts[_HEADS[str(name)]] = table[name].map(write)
    return write_table(pd.DataFrame(texts, index=table.index), corner)
