"""A report of a backtest: one file that a browser shows without anything else."""

import os
import platform
from collections.abc import Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from pandas import DataFrame

from skinformer.display.axes import load_pyplot
from skinformer.display.report.facts import TargetFacts, split_targets
from skinformer.display.report.pictures import write_pictures
from skinformer.display.report.sentences import describe_backtest, summary_sentences
from skinformer.display.report.tables import comparison_table, series_table
from skinformer.evaluation.comparison import aligned, named_results
from skinformer.persistence.atomic import replacing
from skinformer.timeline.clock import short_label

#: Targets of which pictures and tables are shown; the summary is of all.
_DETAILED = 8


def write_report(
    path: str | os.PathLike[str],
    results: DataFrame | Mapping[Any, DataFrame],
    *,
    reference: str | None = None,
    estimator: Any = None,
    unit: str | Mapping[Any, str] | None = None,
    title: str = "How good the forecasts are",
) -> Path:
    """
    Write a report of backtests into one HTML file: sentences, tables, plots and settings.

    Parameters
    ----------
    path : str or path-like
        The file to write; its folder must exist. If writing fails, an existing file stays as it
        was.
    results : DataFrame, or mapping of str to DataFrame
        A result of `backtest`, or several results of the same rows by name. The report is about the
        first, and compares it with the others.
    reference : str, default=None
        The result to which errors are relative, such as that of a `SeasonalNaive`; None is the last
        one.
    estimator : estimator, or mapping of str to estimator, default=None
        The estimator whose settings are shown; for several results a mapping by their names. It
        need not be fitted.
    unit : str, or mapping of target to str, default=None
        Unit of the actual values.
    title : str, default="How good the forecasts are"
        Title of the page.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If results are of different rows, have no actual values, or lack a column of a `backtest`.

    See Also
    --------
    skinformer.evaluation.compare : The numbers as a frame.
    skinformer.evaluation.summary : The same by groups.

    Notes
    -----
    The file holds no script and loads nothing from the network; names of columns and series are
    shown as text, whatever they are. The same results, settings and versions give the same bytes.
    Rows with a missing actual value or forecast are left out.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from skinformer.display import write_report
    >>> from skinformer.evaluation import SeasonalNaive, backtest
    >>> df = pd.DataFrame({"load": 2 + np.sin(np.arange(60.0) * np.pi / 6)})
    >>> naive = {str(n): SeasonalNaive(n).fit(df[:24]) for n in (12, 1)}
    >>> X, y = df[24:], df["load"][24:]
    >>> results = {name: backtest(each, X, y, horizon=3) for name, each in naive.items()}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(f"{folder}/report.html", results, estimator=naive)
    ...     page = path.read_text("utf-8")
    >>> "smaller than that of 1" in page
    True
    """
    load_pyplot("write_report")
    tables, reference = _read_tables(results, reference)
    targets = split_targets(tables, unit, reference)
    if not targets:
        raise ValueError(
            "results have no row with an actual value and all forecasts, so there is "
            "nothing to report. Leave out the forecaster that returns NaN."
        )
    first = targets[0].name
    parts = [_summary(targets, tables[first])]
    parts += map(_details, targets[:_DETAILED])
    if estimator is not None and not isinstance(estimator, Mapping):
        estimator = {first: estimator}
    parts.append(_settings(estimator or {}))
    page = _page(title, "\n".join(parts))
    with replacing(path) as file:
        file.write(page.encode())
    return Path(path)


def _read_tables(
    results: Any, reference: str | None
) -> tuple[dict[str, DataFrame], str | None]:
    """Return results by name, of the same rows, and which of them the others are measured by."""
    columns = ("origin", "time", "ahead", "target", "actual", "forecast")
    named = named_results(results, *columns)
    tables = {name or "The model": table for name, table in named.items()}
    first, *others = tables
    if others and reference is None:
        reference = others[-1]
    return aligned(tables, first if reference is None else reference), reference


def _page(title: str, body: str) -> str:
    """Write a page around a body."""
    frame = files("skinformer.display.report") / "page.html"
    template = Template(frame.read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body)


def _element(name: str, text: Any) -> str:
    """Write an element that holds text, which is escaped."""
    return f"<{name}>{escape(str(text))}</{name}>"


def _summary(targets: list[TargetFacts], result: DataFrame) -> str:
    """Write what was forecast, and how good the forecasts of each target are."""
    n_reported = sum(len(facts.main) for facts in targets)
    first = short_label(result["time"].min())
    last = short_label(result["time"].max())
    text = describe_backtest(targets[0], f"{first} to {last}", len(result) - n_reported)
    parts = [_element("p", text)]
    for facts in targets:
        if len(targets) > 1:
            parts.append(_element("h3", facts.target))
        items = [_element("li", sentence) for sentence in summary_sentences(facts)]
        parts.append(f"<ul>{''.join(items)}</ul>")
    if len(targets) > _DETAILED:
        parts.append(
            f"<p>Tables and pictures are of the first {_DETAILED} targets.</p>"
        )
    return "\n".join(parts)


def _details(facts: TargetFacts) -> str:
    """Write the tables and pictures of a target."""
    heading = str(facts.target)
    if facts.unit is not None:
        heading += f" (in {facts.unit})"
    pictures = "\n".join(write_pictures(facts))
    parts = [
        _element("h2", heading),
        comparison_table(facts),
        f'<div class="grid">{pictures}</div>',
    ]
    if facts.series is not None:
        parts += [_element("h3", "By series"), series_table(facts, facts.series)]
    return "\n".join(parts)


def _settings(estimators: Mapping[Any, Any]) -> str:
    """Write a table of versions and of what the estimators were set to."""
    packages = ("skinformer", "numpy", "pandas", "scikit-learn", "torch", "matplotlib")
    versions = [f"{name} {version(name)}" for name in packages]
    versions.insert(0, f"Python {platform.python_version()}")
    settings = {"versions": ", ".join(versions), **estimators}
    rows = ""
    for name, value in settings.items():
        rows += f"<tr>{_element('th', name)}{_element('td', value)}</tr>"
    heading = _element("h2", "Settings")
    return f'{heading}<div class="table words"><table>{rows}</table></div>'
