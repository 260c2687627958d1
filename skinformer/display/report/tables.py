"""Tables of a report: errors of each forecaster, and by step ahead, time of the cycle and series.

pandas writes them, and escapes what they hold.
"""

from __future__ import annotations

from calendar import day_name

import pandas as pd

from skinformer.display.axes import as_number
from skinformer.display.groups import GROUPS
from skinformer.display.report.facts import TargetFacts, as_percent
from skinformer.evaluation.comparison import summary

#: Rows of a table at most; of more groups some are shown, evenly chosen, of series the worst.
_MOST = 48
#: Columns in their order, and their heads.
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


def comparison_table(facts: TargetFacts) -> str:
    """Put all forecasters side by side."""
    errors = facts.comparison
    if facts.reference is None:
        errors = errors.drop(columns=["skill", "dm", "p_value"])
    return _write_errors(errors.drop(columns="n"), "forecaster")


def group_table(facts: TargetFacts, group: str) -> str:
    """Write errors by "ahead", or by the "hour", "day_of_week" or "month"."""
    table = summary(facts.main, group)
    if facts.reference is not None:
        other = summary(facts.tables[facts.reference], group)["mae"]
        table["skill"] = 1 - table["mae"] / other.where(other > 0)
    if group == "day_of_week":
        table = table.rename(index=dict(enumerate(day_name)))
    every = -(-len(table) // _MOST)
    return _write_errors(table[::every], GROUPS.get(group, group))


def series_table(errors: pd.DataFrame) -> str:
    """Write errors of each series, the worst first.

    >>> "<th>&lt;b&gt;</th>" in series_table(pd.DataFrame({"mae": [1.0]}, index=["<b>"]))
    True
    """
    return _write_errors(errors.head(_MOST), "series")


def _write_errors(table: pd.DataFrame, corner: str) -> str:
    """Write errors as HTML, with a head for each; the corner names what the rows are."""
    html = (
        table.filter(items=[*_HEADS])
        .rename(columns=_HEADS)
        .rename_axis(index=None, columns=corner)
        .to_html(
            border=0,
            na_rep="–",
            float_format=as_number,
            formatters={
                "forecasts": "{:,}".format,
                "WAPE": as_percent,
                "skill": as_percent,
                "coverage": as_percent,
            },
        )
    )
    return f'<div class="table">{html}</div>'
