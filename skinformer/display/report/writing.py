"""A report of a backtest: one file that a browser shows without anything else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from skinformer.display.axes import load_pyplot
from skinformer.display.report.facts import TargetFacts, split_targets
from skinformer.display.report.figures import pictures, show
from skinformer.display.report.markup import Markup, join, tag
from skinformer.display.report.page import write_page
from skinformer.display.report.sentences import say_summary, say_what, tiles
from skinformer.display.report.settings import code_to_paste, rows_table, versions_table
from skinformer.display.report.tables import comparison_table, group_table, series_table
from skinformer.evaluation.comparison import aligned, named_results
from skinformer.persistence.atomic import replacing
from skinformer.timeline.clock import short_label

#: Targets of which pictures and tables are shown; the summary tells of all.
_DETAILED = 8


def write_report(
    path: str | os.PathLike[str],
    results: pd.DataFrame | Mapping[Any, pd.DataFrame],
    *,
    reference: str | None = None,
    estimator: Any = None,
    unit: str | Mapping[Any, str] | None = None,
    title: str = "How good the forecasts are",
) -> Path:
    """
    Write what a backtest shows into one HTML file: sentences, tables, pictures and settings.

    Parameters
    ----------
    path : str or path-like
        Target file; its folder must exist. It holds the old content or the new one, never a part.
    results : DataFrame, or mapping of str to DataFrame
        From `backtest`, or several of the same rows by name; the first is reported, the others
        are what it is compared with.
    reference : str, default=None
        What errors are measured by, such as a `SeasonalNaive`; None is the last of several.
    estimator : estimator, or mapping of str to estimator, default=None
        Who forecast, for the settings; of several results by their names. It need not be fitted.
    unit : str, or mapping of target to str, default=None
        Of the truth.
    title : str, default="How good the forecasts are"
        Of the page.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If results are of different rows, hold no known truth, or lack a column of `backtest`.

    See Also
    --------
    skinformer.evaluation.compare : The numbers as a frame.
    skinformer.evaluation.summary : The same by groups.

    Notes
    -----
    The file holds no script and asks the network for nothing; names of columns and series are
    shown as text, whatever they are. It follows the reader's light or dark mode, and can be
    printed. The same results, settings and versions give the same bytes. Rows whose truth, or one
    of whose forecasts, is missing have no part.

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
    >>> "%</strong><span>smaller errors than 1" in page
    True
    """
    load_pyplot("write_report")
    columns = ("origin", "time", "ahead", "target", "actual", "forecast")
    tables = named_results(results, *columns)
    estimators = _by_name(estimator, list(tables))
    if "" in tables:
        tables = {next(iter(estimators), "The model"): tables[""]}
    reference = list(tables)[-1] if reference is None and len(tables) > 1 else reference
    tables = aligned(tables, next(iter(tables)) if reference is None else reference)
    targets = split_targets(tables, unit, reference)
    if not targets:
        raise ValueError(
            "results hold no row whose truth and whose forecasts are all known: there is nothing "
            "to report. Pass results without the forecaster that gives NaN."
        )
    names = ", ".join(str(facts.target) for facts in targets[_DETAILED:])
    left_out = f"Of these targets the summary alone is shown: {names}."
    body = join(
        tag("h1", title),
        _summary(targets, next(iter(tables.values()))),
        *(_details(facts, i) for i, facts in enumerate(targets[:_DETAILED])),
        tag("p", left_out, class_="note") if len(targets) > _DETAILED else "",
        _settings(tables, estimators, reference),
    )
    with replacing(path) as file:
        file.write(write_page(title, body).encode())
    return Path(path)


def _by_name(estimator: Any, names: list[str]) -> dict[str, Any]:
    """Give estimators by the names of their results."""
    if isinstance(estimator, Mapping):
        return {str(name): each for name, each in estimator.items()}
    if estimator is None:
        return {}
    name = names[0] or getattr(estimator, "__name__", type(estimator).__name__)
    return {name: estimator}


def _summary(targets: list[TargetFacts], result: pd.DataFrame) -> Markup:
    start, end = short_label(result["time"].min()), short_label(result["time"].max())
    missing = len(result) - sum(len(facts.main) for facts in targets)
    parts = [say_what(targets[0], f"the time from {start} to {end}", missing=missing)]
    for facts in targets:
        if len(targets) > 1:
            parts.append(tag("h3", facts.target))
        parts += [tiles(facts), say_summary(facts)]
    return tag("section", *parts)


def _details(facts: TargetFacts, number: int) -> Markup:
    shown = [show(each, f"p{number}-{i}") for i, each in enumerate(pictures(facts))]
    tables = [group_table(facts, group) for group in facts.groups]
    if facts.has_series:
        tables.append(series_table(facts))
    return tag(
        "section",
        tag("h2", f"In detail: {facts.target}"),
        tag("div", comparison_table(facts), class_="wide"),
        tag("div", *shown, class_="grid"),
        tag("h3", "Where errors are"),
        tag("div", *tables, class_="grid tables"),
    )


def _settings(
    tables: dict[str, pd.DataFrame], estimators: dict[str, Any], reference: str | None
) -> Markup:
    first = next(iter(tables.values()))
    note = (
        f"train are the rows before {short_label(first['origin'].min())}, test those from it on. "
        "Unit, title and options of backtest that results do not tell, such as refit, are left out."
    )
    return tag(
        "section",
        tag("h2", "How to make it again"),
        tag("div", rows_table(first), versions_table(), class_="grid settings"),
        tag("h3", "Code"),
        tag("p", note, class_="note"),
        code_to_paste(estimators, tables, reference),
    )
