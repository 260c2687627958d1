"""What each rule is worth: a table of notes/rules.md.

Run ``python examples/benchmarks/ablate.py [RULE …]``; it lists all rules with ``--list``. A rule is
switched off by replacing one name of a module, and measured on the development rows that it is for:
short series (nine panels, some of their series one at a time, and a random part of the map of
ordinary data), long tables by ridges alone or with trees, and panels of long series. Each number is
the change of the error in percent: above zero the rule is worth it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ordinary
import pandas as pd
import tables

from skinformer import InformerRegressor
from skinformer.evaluation.backtest import backtest

sys.path.append(str(Path(__file__).with_name("published")))
import panels

FOLDER = tables.DATA / "panels"
PANELS = (
    "m1_yearly",
    "m1_quarterly",
    "m1_monthly",
    "m3_yearly",
    "m3_quarterly",
    "m3_monthly",
    "tourism_quarterly",
    "tourism_monthly",
    "cif_2016",
)
LONG_PANELS = "nn5_daily", "aus_retail_monthly", "aus_livestock_monthly"
N_ALONE = 6  # series of each panel that are forecast one at a time
CELLS, SEEDS = 0.1, [21, 22]  # of the map of ordinary data
MOST_ROWS = 400
N_ORIGINS = 120  # of a long table


@dataclass(frozen=True)
class Rule:
    """A rule, what stands in its place when it is switched off, and the data that it is for."""

    name: str
    module: str
    attribute: str
    instead: Any
    data: str = "short"

    @contextmanager
    def off(self) -> Iterator[None]:
        """Switch it off for a moment."""
        module = importlib.import_module(f"skinformer.{self.module}")
        kept = getattr(module, self.attribute)
        setattr(module, self.attribute, self.instead)
        try:
            yield
        finally:
            setattr(module, self.attribute, kept)


def _first_known(_values: np.ndarray, known: np.ndarray) -> int:
    return int(known.argmax())


def _as_it_is(past: Any, _season: int) -> Any:
    return past


def _without_ridges(*_args: Any, **_options: Any) -> None:
    return None


def _no_effect(*_args: Any, **_options: Any) -> float:
    return 0.0


def _without_phases(_problem: Any, fits: Any, *_windows: Any) -> Any:
    return fits


def _no_ends(_problem: Any, steps: np.ndarray, _n_folds: int) -> np.ndarray:
    return steps[:0]


def _without_year(problem: Any, _origins: np.ndarray) -> Any:
    return problem


def _all_columns(*_args: Any) -> tuple[int, ...]:
    return ()


def _all_steps_alike(n_steps: int) -> np.ndarray:
    return np.ones((n_steps, n_steps))


RULES = (
    Rule("a season that was seen once counts more", "classical.judging", "_PRIOR", 0.0),
    Rule(
        "final forecasts move as far as usual", "classical.judging", "_USUAL_MOVES", 1e9
    ),
    Rule("own errors beside the panel's", "classical.judging", "_OTHERS", 1e9),
    Rule("typical errors beside own ones", "classical.judging", "_TYPICAL", 1e-6),
    Rule("a season never asked does not leap", "classical.judging", "_MOST_LEAP", 0.0),
    Rule(
        "rows before a step are moved",
        "classical.candidates",
        "without_step",
        _as_it_is,
    ),
    Rule("profiles follow their time", "classical.candidates", "_AROUND", 1.0),
    Rule("a series begins at its launch", "classical.fit", "begun", _first_known),
    Rule("ridges shared by a panel", "classical.fit", "fit_ridges", _without_ridges),
    Rule("few windows count less", "judging.weights", "prior_of_windows", _no_effect),
    Rule(
        "maps that turn with the day",
        "ridge.fit",
        "find_phases",
        _without_phases,
        "ridges",
    ),
    Rule("these, and thirds that judge", "ridge.fit", "_fold_ends", _no_ends, "ridges"),
    Rule("the time of the year", "ridge.fit", "with_year", _without_year, "ridges"),
    Rule("maps of all columns", "ridge.candidates", "_MIXED_ROWS", 0, "ridges"),
    Rule("half look-backs", "ridge.candidates", "_HALVINGS", 1, "ridges"),
    Rule("columns at each time of day", "ridge.calendar", "_MOST_TIMED", 0, "ridges"),
    Rule(
        "screening of columns",
        "tabular.fit",
        "unhelpful_columns",
        _all_columns,
        "trees",
    ),
    Rule(
        "weights by step", "judging.weights", "nearby_steps", _all_steps_alike, "trees"
    ),
    Rule(
        "joint errors of members", "judging.weights", "_JOINT_PRIOR", 1e9, "long panels"
    ),
    Rule("own errors of a series", "judging.weights", "_OWN", 0.0, "long panels"),
)

Measure = Callable[[], float]


def measure_panels(read: list[panels.Panel], members: Any = "auto") -> float:
    """Return the geometric mean of MASE over whole panels."""
    found = []
    for panel in read:
        parameters = {"random_state": 0, "members": members}
        forecast = panels.forecast_by_estimator(panel, parameters)[..., 0]
        found.append(panels._errors(panel, forecast)["MASE"])
    return float(np.exp(np.mean(np.log(found))))


def one_by_one(read: list[panels.Panel]) -> list[panels.Panel]:
    """Return panels of one series each."""
    alone = []
    for panel in read:
        rng = np.random.default_rng(3)
        for i in rng.choice(len(panel.series), N_ALONE, replace=False):
            parts = (panel.train[i : i + 1], panel.truth[i : i + 1], panel.period)
            one = panels.Panel(
                panel.name, panel.series[i : i + 1], *parts, panel.times[i : i + 1]
            )
            if len(panel.train[i]) > panel.period + 1:
                alone.append(one)
    return alone


def measure_alone(alone: list[panels.Panel]) -> float:
    """Return the geometric mean over panels of the mean MASE of series that are fitted alone."""
    rows = []
    for panel in alone:
        forecast = panels.forecast_by_estimator(panel, {"random_state": 0})[..., 0]
        rows.append(
            {"panel": panel.name, "mase": panels._errors(panel, forecast)["MASE"]}
        )
    means = pd.DataFrame(rows).groupby("panel").mase.mean()
    return float(np.exp(np.log(means).mean()))


def measure_ordinary() -> float:
    """Return the geometric mean of a random part of the map of ordinary data."""
    cells = [
        cell for cell in ordinary.make_cells(["table"]) if cell.n_rows <= MOST_ROWS
    ]
    taken = np.random.default_rng(5).random(len(cells)) < CELLS
    some = [cell for cell, is_taken in zip(cells, taken, strict=True) if is_taken]
    return ordinary.geometric_mean(ordinary.measure(some, SEEDS).ratio)


def measure_long(table: tables.Table, members: list[str]) -> float:
    """Return the mean over targets of the mean absolute error in standard deviations."""
    model = InformerRegressor(random_state=0, members=members, **table.columns).fit(
        table.train
    )
    horizon = table.columns["pred_len"]
    step = max(horizon // 4, (len(table.later) - horizon) // N_ORIGINS, 1)
    rows = backtest(model, table.later, horizon=horizon, step=step)
    rows = rows.dropna(subset=["actual", "forecast"])
    target = rows["target"] if "target" in rows else np.zeros(len(rows))
    off = (rows["actual"] - rows["forecast"]).abs().groupby(target).mean()
    return float((off / rows["actual"].groupby(target).std()).mean())


def measures_of_long(
    members: list[str], names: dict[str, tables.Table]
) -> dict[str, Measure]:
    """Make a measure of each long table."""
    return {
        name: lambda table=table: measure_long(table, members)  # type: ignore[misc]
        for name, table in names.items()
    }


def etth2() -> tables.Table:
    """Return another transformer than the first, up to the benchmark's test rows."""
    rows = pd.read_csv(tables.DATA / "ETTh2.csv", index_col=0, parse_dates=True)[
        :11_520
    ]
    columns = {"target": list(rows), "seq_len": 336, "pred_len": 96}
    return tables.Table(rows[:-2880], rows[-2880:], columns)


def ettm1() -> tables.Table:
    """Return the first one by quarters of an hour, ten months of them."""
    rows = pd.read_csv(tables.DATA / "ETTm1.csv.gz", index_col=0, parse_dates=True)[
        16_080:46_080
    ]
    columns = {"target": list(rows), "seq_len": 336, "pred_len": 96}
    return tables.Table(rows[:-6000], rows[-6000:], columns)


def weather(rule: str = "h") -> tables.Table:
    """Return twelve readings of weather, by hours or days, up to the benchmark's test rows."""
    rows = pd.read_csv(tables.DATA / "WTH.csv", index_col=0, parse_dates=True)
    rows = rows[: int(0.8 * len(rows))].resample(rule).mean()
    seq_len, pred_len, n_later = (168, 24, 3500) if rule == "h" else (90, 7, 150)
    columns = {"target": list(rows), "seq_len": seq_len, "pred_len": pred_len}
    return tables.Table(rows[:-n_later], rows[-n_later:], columns)


def measures_for(data: str) -> dict[str, Measure]:
    """Make the measures of one kind of data."""
    if data == "ridges":
        found = {
            name: tables.TABLES[name]()
            for name in ("street", "streets", "oil", "bikes")
        }
        found |= {"ETTh1": tables.etth1(), "ETTh2": etth2(), "ETTm1": ettm1()}
        found |= {"WTH": weather(), "WTH by days": weather("D")}
        return measures_of_long(["ridges"], found)
    if data == "trees":
        found = {name: tables.TABLES[name]() for name in ("street", "streets", "bikes")}
        return measures_of_long(["ridges", "trees"], found)
    if data == "long panels":
        members = ["classical", "own_ridges", "ridges"]
        read = {
            name: panels.load_panel(name, FOLDER, development=True)
            for name in LONG_PANELS
        }
        return {
            name: lambda panel=panel: measure_panels([panel], members)  # type: ignore[misc]
            for name, panel in read.items()
        }
    whole = [panels.load_panel(name, FOLDER, development=True) for name in PANELS]
    alone = one_by_one(whole)
    return {
        "nine panels": lambda: measure_panels(whole),
        "series alone": lambda: measure_alone(alone),
        "ordinary": measure_ordinary,
    }


def main() -> None:
    """Measure with all rules, then without each."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("rules", nargs="*", help="names; all by default")
    parser.add_argument(
        "--list", action="store_true", help="print the names of the rules"
    )
    options = parser.parse_args()
    if options.list:
        print("\n".join(rule.name for rule in RULES))
        return
    warnings.simplefilter("ignore")
    chosen = [rule for rule in RULES if not options.rules or rule.name in options.rules]
    for data in dict.fromkeys(rule.data for rule in chosen):
        measures = measures_for(data)
        before = {name: measure() for name, measure in measures.items()}
        print(
            "all rules:",
            {name: round(error, 4) for name, error in before.items()},
            flush=True,
        )
        print(
            f"| without the rule that … | {' | '.join(f'{name}, %' for name in measures)} |"
        )
        print("|---" * (1 + len(measures)) + "|")
        for rule in (rule for rule in chosen if rule.data == data):
            with rule.off():
                after = {name: measure() for name, measure in measures.items()}
            changes = (
                f"{100 * (after[name] / before[name] - 1):+.1f}" for name in measures
            )
            print(f"| {rule.name} | {' | '.join(changes)} |", flush=True)


if __name__ == "__main__":
    main()
