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
from skinformer.evaluation.comparison import quantile_columns
from skinformer.timeline.clock import short_label

_PACKAGES = ("numpy", "pandas", "scikit-learn", "torch", "matplotlib")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def rows_table(result: pd.DataFrame) -> Markup:
    """Tell which rows were forecast."""
    origins, times = result["origin"].drop_duplicates(), result["time"]
    step = steps_between(result)
    rows = [
        ["targets", ", ".join(map(str, result["target"].unique()))],
        ["forecasts", f"{len(result):,}, {int(result['actual'].notna().sum()):,} of known truth"],
        ["times", _span(times)],
        ["origins", f"{len(origins):,}, {_span(origins)}"],
        ["horizon", f"{int(result['ahead'].max()):,} steps"],
        ["between origins", "one origin" if step is None else f"{step:,} rows"],
        ["quantiles", ", ".join(f"{level:g}" for level in quantile_columns(result)) or "none"],
    ]
    if "series" in result:
        rows.insert(0, ["series", f"{result['series'].nunique():,}"])
    return write_table("The backtest", ["what", "value"], rows)


def _span(times: pd.Series) -> str:
    return f"{short_label(times.min())} to {short_label(times.max())}"


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
    imports = {
        "from skinformer.display import write_report",
        "from skinformer.evaluation import backtest",
    }
    first = next(iter(results.values()))
    step = steps_between(first)
    options = {"horizon": int(first["ahead"].max())} | ({} if step is None else {"step": step})
    made, calls = [], []
    for name, result in results.items():
        imports |= _imports(estimators.get(name))
        made.append(f"    {name!r}: {_made(estimators.get(name))},")
        levels = list(quantile_columns(result))
        more = f", levels={levels}" if levels else ""
        calls.append(
            f"    {name!r}: backtest(estimators[{name!r}].fit(train), test, **options{more}),"
        )
    lines = [*sorted(imports), "", "estimators = {", *made, "}", f"options = {options}"]
    lines += ["results = {", *calls, "}"]
    lines.append(
        f"write_report('report.html', results, reference={reference!r}, estimator=estimators)"
    )
    return tag("div", tag("pre", tag("code", "\n".join(lines))), class_="scroller", tabindex="0")


def _made(estimator: Any) -> str:
    """Write how an estimator is made, with the parameters that are not the default."""
    if not hasattr(estimator, "get_params"):
        return getattr(estimator, "__name__", "...")
    with config_context(print_changed_only=True):
        text = estimator.__repr__(N_CHAR_MAX=1_000_000)
    return _ADDRESS.sub("", " ".join(text.split()))


def _imports(estimator: Any) -> set[str]:
    """Say where an estimator, and what it is made of, is imported from."""
    if not hasattr(estimator, "get_params"):
        return set()
    kinds = map(type, [estimator, *estimator.get_params(deep=True).values()])
    return {
        f"from {_home(kind)} import {kind.__name__}"
        for kind in kinds
        if hasattr(kind, "get_params") or kind.__module__.startswith("skinformer.")
    }


def _home(kind: type) -> str:
    """Name the module that a user imports a class from."""
    for module in (skinformer, skinformer.evaluation):
        if getattr(module, kind.__name__, None) is kind:
            return module.__name__
    return ".".join(takewhile(lambda part: not part.startswith("_"), kind.__module__.split(".")))
