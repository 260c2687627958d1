"""Tables of a report: errors of each forecaster, and of each series.

pandas writes them, and escapes what they hold.
"""

from pandas import DataFrame

from skinformer.display.axes import as_number
from skinformer.display.report.facts import TargetFacts, as_percent


def comparison_table(facts: TargetFacts) -> str:
    """Put all forecasters side by side."""
    errors = facts.comparison
    if facts.reference is None:
        errors = errors.drop(columns=["skill", "dm", "p_value"])
    return _write_errors(facts, errors.drop(columns="n"), "forecaster")


def series_table(facts: TargetFacts, errors: DataFrame) -> str:
    """Write errors of each series, the worst first."""
    most_rows = 48
    return _write_errors(facts, errors.head(most_rows), "series")


def _write_errors(facts: TargetFacts, table: DataFrame, corner: str) -> str:
    """Write errors as HTML, with a head for each; the corner names what the rows are."""
    heads = {
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
    formatters = {
        "forecasts": "{:,}".format,
        "WAPE": as_percent,
        "skill": as_percent,
        "coverage": as_percent,
    }
    if not facts.levels:
        table = table.drop(columns=["coverage", "width"], errors="ignore")
    shown = table.filter(items=list(heads)).rename(columns=heads)
    html = shown.rename_axis(index=None, columns=corner).to_html(
        border=0, na_rep="–", float_format=as_number, formatters=formatters
    )
    return f'<div class="table">{html}</div>'
