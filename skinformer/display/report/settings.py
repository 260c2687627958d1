"""The settings that reproduce a report: rows, origins, versions, parameters, code to paste."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from itertools import takewhile
from typing import Any

import pandas as pd
from sklearn import config_context

import skinformer
from skinformer.display.report.markup import Markup, tag
from skinformer.display.report.tables import write_table
from skinformer.evaluation.results import quantile_columns
from skinformer.timeline.clock import short_label

_PACKAGES = ("numpy", "pandas", "scikit-learn", "torch", "matplotlib")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def rows_table(result: pd.DataFrame) -> Markup:
    """Tell which rows were forecast."""
    origins, times = result["origin"].drop_duplicates(), result["time"]
    step = steps_between(result)
    levels = list(quantile_columns(result))
    rows = [
        ["targets", ", ".join(map(str, result["target"].unique()))],
        ["forecasts", f"{len(result):,}, {int(result['actual'].notna().sum()):,} of known truth"],
        ["times", f"{short_label(times.min())} to {short_label(times.max())}"],
        [
            "origins",
            f"{len(origins):,}, {short_label(origins.min())} to {short_label(origins.max())}",
        ],
        ["horizon", f"{int(result['ahead'].max()):,} steps"],
        ["between origins", "one origin" if step is None else f"{step:,} rows"],
        ["quantiles", ", ".join(f"{level:g}" for level in levels) or "none"],
    ]
    if "series" in result:
        rows.insert(0, ["series", f"{result['series'].nunique():,}"])
    return write_table("The backtest", ["what", "value"], rows)


def versions_table() -> Markup:
    """Tell the versions of Python and packages."""
    rows = [["skinformer", skinformer.__version__], ["Python", platform.python_version()]]
    rows += [[name, version(name)] for name in _PACKAGES]
    return write_table("Versions", ["what", "version"], rows)


def steps_between(result: pd.DataFrame) -> int | None:
    """Count the rows between origins; None where it cannot be told, as of a single origin."""
    keys = [key for key in ("series", "target") if key in result]
    rows = next(iter(result.groupby(keys)))[1] if keys else result
    origins = sorted(rows["origin"].unique())
    if len(origins) < 2:
        return None
    times = rows["time"].drop_duplicates()
    return int(((times >= origins[0]) & (times < origins[1])).sum())


def code_to_paste(
    estimators: Mapping[str, Any], results: Mapping[str, pd.DataFrame], reference: str | None
) -> Markup:
    """Write the code that makes the report again; estimators of some results may be missing."""
    lines, known = [], {}
    for name, estimator in estimators.items():
        made = _made(estimator)
        if made is not None:
            known[name] = made
            lines += _imports(estimator)
    lines += [
        "from skinformer.display import write_report",
        "from skinformer.evaluation import backtest",
    ]
    lines = [*sorted(set(lines)), "", "estimators = {"]
    lines += [f"    {name!r}: {known.get(name, '...')}," for name in results]
    lines += ["}", f"options = {_options(next(iter(results.values())))}", "results = {"]
    lines += [
        f"    {name!r}: backtest(estimators[{name!r}].fit(train), test, **options{_levels(table)}),"
        for name, table in results.items()
    ]
    lines += [
        "}",
        f"write_report('report.html', results, reference={reference!r}, estimator=estimators)",
    ]
    return tag("div", tag("pre", tag("code", "\n".join(lines))), class_="scroller", tabindex="0")


def _options(result: pd.DataFrame) -> str:
    options: dict[str, Any] = {"horizon": int(result["ahead"].max())}
    step = steps_between(result)
    if step is not None:
        options["step"] = step
    return repr(options)


def _levels(result: pd.DataFrame) -> str:
    levels = list(quantile_columns(result))
    return f", levels={levels}" if levels else ""


def _made(estimator: Any) -> str | None:
    """Write how an estimator is made, with the parameters that are not the default."""
    if not hasattr(estimator, "get_params"):
        return getattr(estimator, "__name__", None)
    with config_context(print_changed_only=True):
        text = estimator.__repr__(N_CHAR_MAX=1_000_000)
    return _ADDRESS.sub("", " ".join(text.split()))


def _imports(estimator: Any) -> list[str]:
    """Say where an estimator, and what it is made of, is imported from."""
    if not hasattr(estimator, "get_params"):
        return []
    parts = [estimator, *estimator.get_params(deep=True).values()]
    parts += [step[1] for step in getattr(estimator, "steps", ())]
    found = {type(part) for part in parts if hasattr(type(part), "get_params") or _is_part(part)}
    return sorted(f"from {_home(each)} import {each.__name__}" for each in found)


def _is_part(value: Any) -> bool:
    return type(value).__module__.startswith("skinformer.")


def _home(kind: type) -> str:
    """Name the module that a user imports a class from."""
    for module in (skinformer, skinformer.evaluation):
        if getattr(module, kind.__name__, None) is kind:
            return module.__name__
    return ".".join(takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
