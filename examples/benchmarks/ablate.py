"""What each rule is worth: a table of docs/decisions.md.

Run ``python examples/benchmarks/ablate.py [RULE …]``; it lists all rules with ``--list``. A rule is
switched off by replacing one name of a module; then the defaults forecast the development parts of
nine panels, some of their series one at a time, and a random part of the map of ordinary data. Each
number is the change of the geometric mean of errors in percent: above zero the rule is worth it.
"""

from __future__ import annotations

import argparse
import importlib
import os
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

sys.path.append(str(Path(__file__).with_name("published")))
import panels

FOLDER = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data")) / "panels"
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
N_ALONE = 6  # series of each panel that are forecast one at a time
CELLS, SEEDS = 0.1, [21, 22]  # of the map of ordinary data
MOST_ROWS = 400


@dataclass(frozen=True)
class Rule:
    """A rule, and what stands in its place when it is switched off."""

    name: str
    module: str
    attribute: str
    instead: Any

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


RULES = (
    Rule("a season that was seen once counts more", "classical.judging", "_PRIOR", 0.0),
    Rule("final forecasts move as far as usual", "classical.judging", "_USUAL_MOVES", 1e9),
    Rule("own errors beside the panel's", "classical.judging", "_OTHERS", 1e9),
    Rule("typical errors where not asked", "classical.judging", "_UNASKED", 1e-6),
    Rule("rows before a step are moved", "classical.candidates", "without_step", _as_it_is),
    Rule("profiles follow their time", "classical.candidates", "_AROUND", 1.0),
    Rule("a series begins at its launch", "classical.fit", "begun", _first_known),
    Rule("ridges shared by a panel", "classical.fit", "_shared_ridges", _without_ridges),
    Rule("few windows count less", "ensemble.weighing", "prior_of_windows", _no_effect),
    Rule("joint errors of a panel's members", "ensemble.weighing", "_OTHERS", 1e9),
    Rule("own errors of a series' members", "ensemble.weighing", "_OWN", 0.0),
)

Measure = Callable[[], float]


def measure_panels(read: list[panels.Panel]) -> float:
    """Return the geometric mean of MASE over whole panels."""
    found = []
    for panel in read:
        forecast = panels.forecast_by_estimator(panel, {"random_state": 0})[..., 0]
        found.append(panels._errors(panel, forecast)["MASE"])
    return float(np.exp(np.mean(np.log(found))))


def one_by_one(read: list[panels.Panel]) -> list[panels.Panel]:
    """Return panels of one series each."""
    alone = []
    for panel in read:
        rng = np.random.default_rng(3)
        for i in rng.choice(len(panel.series), N_ALONE, replace=False):
            parts = (panel.train[i : i + 1], panel.truth[i : i + 1], panel.period)
            one = panels.Panel(panel.name, panel.series[i : i + 1], *parts, panel.times[i : i + 1])
            if len(panel.train[i]) > panel.period + 1:
                alone.append(one)
    return alone


def measure_alone(alone: list[panels.Panel]) -> float:
    """Return the geometric mean over panels of the mean MASE of series that are fitted alone."""
    rows = []
    for panel in alone:
        forecast = panels.forecast_by_estimator(panel, {"random_state": 0})[..., 0]
        rows.append({"panel": panel.name, "mase": panels._errors(panel, forecast)["MASE"]})
    means = pd.DataFrame(rows).groupby("panel").mase.mean()
    return float(np.exp(np.log(means).mean()))


def measure_ordinary() -> float:
    """Return the geometric mean of a random part of the map of ordinary data."""
    cells = [cell for cell in ordinary.make_cells(["table"]) if cell.n_rows <= MOST_ROWS]
    taken = np.random.default_rng(5).random(len(cells)) < CELLS
    some = [cell for cell, is_taken in zip(cells, taken, strict=True) if is_taken]
    return ordinary.geometric_mean(ordinary.measure(some, SEEDS).ratio)


def main() -> None:
    """Measure with all rules, then without each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("rules", nargs="*", help="names; all by default")
    parser.add_argument("--list", action="store_true", help="print the names of the rules")
    options = parser.parse_args()
    if options.list:
        print("\n".join(rule.name for rule in RULES))
        return
    warnings.simplefilter("ignore")
    whole = [panels.load_panel(name, FOLDER, development=True) for name in PANELS]
    alone = one_by_one(whole)
    measures: dict[str, Measure] = {
        "nine panels": lambda: measure_panels(whole),
        "series alone": lambda: measure_alone(alone),
        "ordinary": measure_ordinary,
    }
    before = {name: measure() for name, measure in measures.items()}
    print("all rules:", {name: round(error, 4) for name, error in before.items()}, flush=True)
    print(f"| without the rule that … | {' | '.join(f'{name}, %' for name in measures)} |")
    print("|---" * (1 + len(measures)) + "|")
    for rule in RULES:
        if options.rules and rule.name not in options.rules:
            continue
        with rule.off():
            after = {name: measure() for name, measure in measures.items()}
        changes = (f"{100 * (after[name] / before[name] - 1):+.1f}" for name in measures)
        print(f"| {rule.name} | {' | '.join(changes)} |", flush=True)


if __name__ == "__main__":
    main()
