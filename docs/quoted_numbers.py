"""Write the numbers that pages and docstrings quote: ``python docs/quoted_numbers.py [--measure]``.

Constants are read from the code, and benchmarks from the tables of the pages that record them, with
their commands. ``--measure`` also runs the quickstart, the README's first lines and the ten-minute
start, some minutes in all; without it what these gave last time is kept. `tests/test_numbers.py`
compares README, guides and docstrings with the file, `quoted_numbers.json` beside this script.
"""

import json
import re
import runpy
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from skinformer import InformerClassifier, InformerRegressor, Training
from skinformer.intervals.runs import N_TRAILING
from skinformer.judging import plan, trial
from skinformer.rolling.missing_runs import LONGEST_CHAIN
from skinformer.selection import MOST_STRETCHES

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
FILE = DOCS / "quoted_numbers.json"
RECORDS = ROOT / "notes"


def read_code():
    """Return constants of the code that pages quote."""
    return {
        "rows_of_trees": plan._ROWS_OF_TREES,
        "windows_of_ridges": plan._LONG,
        "windows_of_a_panel": plan._SHORT,
        "forecasts_of_the_network": plan._FORECASTS,
        "rows_of_a_trial": trial.TRIAL,
        "forecasts_of_a_split": MOST_STRETCHES,
        "forecasts_of_a_range": N_TRAILING,
        "blocks_of_a_chain": LONGEST_CHAIN,
        "max_windows": Training().max_windows,
        "seq_len": InformerRegressor().seq_len,
        "pred_len": InformerClassifier().pred_len,
    }


def read_records():
    """Return errors of the pages that record benchmarks, and the means that follow from them."""
    drivers = (RECORDS / "drivers.md").read_text(encoding="utf-8")
    panels = (RECORDS / "panels.md").read_text(encoding="utf-8")
    accuracy = (RECORDS / "accuracy.md").read_text(encoding="utf-8")
    found = {}
    for name in ("bike_sharing", "vic_electricity"):
        naive, ridge, boosting, _trees, ours = _row(drivers, name)[:5]
        found[name] = {
            "skinformer": ours,
            "boosting on lags": boosting,
            "ridge on lags": ridge,
            "seasonal naive": naive,
        }
    _ours, ets, theta, _best, chronos = _row(panels, "**geometric mean**")[:5]
    [ours] = re.findall(
        r"geometric mean of the nine is (\S+) by `loss=\"mae\"`", panels
    )
    found["nine panels"] = {
        "skinformer": float(ours),
        "ETS": ets,
        "Theta": theta,
        "Chronos-Bolt": chronos,
    }
    for name in ("ETTh1", "ETTm1", "ETTh2"):
        found[f"{name}, ratio to DUET"] = _ratio_to_duet(accuracy, name)
    return found


def _row(page, name):
    """Return the first numbers of the cells of a table's row."""
    [cells] = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", page, re.M)[:1]
    return [
        float(number)
        for number in re.findall(
            r"(?<![\d.(])\d*\.\d+(?![\d.)])", cells.replace("*", "")
        )
    ]


def _ratio_to_duet(page, name):
    """Return the mean ratio over the horizons, fitted to training rows only."""
    section = page[page.index(f"| {name}, 720 → 96 |") :]
    rows = section.splitlines()[:4]
    ours = [row.split(" | ")[3] for row in rows]
    duet = [float(re.search(r"DUET (\S+)", row)[1]) for row in rows]
    ours = [float(re.search(r"\.\d+", error)[0]) for error in ours]
    return round(float(np.mean(np.divide(ours, duet))), 3)


def measure():
    """Run what the first pages show, and return what it gives."""
    return {
        "quickstart": measure_quickstart(),
        "leaderboard": measure_leaderboard(),
        "start": measure_start(),
    }


def measure_quickstart():
    """Return the errors of each method, over all rows and without the month of the settings."""
    sys.path.insert(0, str(ROOT / "examples"))
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["plot_quickstart.py", "--output", folder]
        run = runpy.run_path(str(ROOT / "examples/plot_quickstart.py"))
    found = {}
    for name, prediction in run["predictions"].items():
        errors = (run["test"][run["streets"]] - prediction).abs().mean(axis=1)
        found[name] = {
            "half year": round(errors.mean(), 1),
            "Christmas": round(errors["2024-12-24":].mean(), 1),
            "without November": round(errors[errors.index.month != 11].mean(), 1),
        }
    return found


def measure_leaderboard():
    """Return the numbers of the README's leaderboard."""
    [code] = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    namespace = {}
    exec(compile(code, "README.md", "exec"), namespace)
    table = namespace["model"].leaderboard()[["weight", "error", "error_without"]]
    digits = {"weight": 2, "error": 3, "error_without": 3}
    return json.loads(table.round(digits).T.to_json())


def measure_start():
    """Return the errors that the ten-minute start prints, and the forecasts of its last part."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["examples/forecast_csv.py", "examples/data/load.csv"]
        command += ["--target", "load", "--output", folder]
        printed = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    errors = re.search(r"^ +MAE\n(.*?)\n\n", printed, re.M | re.S)[1]
    return {
        name: float(error)
        for name, error in re.findall(r"^(\S.*?) +([\d.]+)$", errors, re.M)
    }


def main():
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    measured = kept.get("measured", {})
    if "--measure" in sys.argv:
        warnings.simplefilter("ignore")
        measured = measure()
    numbers = {"code": read_code(), "records": read_records(), "measured": measured}
    FILE.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
