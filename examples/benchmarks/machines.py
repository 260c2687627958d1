"""Measure what docs/machines.md computes with: one core's seconds for each kind of work.

Seconds are the process's own, which others on the machine hardly change::

    OMP_NUM_THREADS=1 python examples/benchmarks/machines.py
"""

import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd

import skinformer
from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians


def cpu_seconds(work, repeats=1):
    """Return the least of several runs."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def measure_fit(street):
    """Fit a default model of one street."""
    model = InformerRegressor(street.columns[0], random_state=0)
    size = len(pickle.dumps(street)) / 1e6
    return {"fit": cpu_seconds(lambda: model.fit(street)), "rows, MB": size}


def measure_series(n=2000, months=60):
    """Forecast monthly series that the fit has not seen, and all around it."""
    random = np.random.default_rng(0)
    labels = pd.MultiIndex.from_product(
        [range(n), pd.date_range("2020-01-01", periods=months, freq="MS")]
    )
    season = np.exp(0.3 * np.sin(np.arange(n * months) * np.pi / 6))
    sold = season * random.lognormal(sigma=0.05, size=n * months)
    panel = pd.DataFrame({"sold": sold}, index=labels)
    model = InformerRegressor("sold", seq_len=36, pred_len=6, random_state=0)
    found = {"fit on 500 series": cpu_seconds(lambda: model.fit(panel.loc[:499]))}
    rest = panel.loc[500:]
    found["forecast of 1000 series"] = (
        cpu_seconds(lambda: model.forecast(rest, horizon=6)) / 1.5
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.skinformer")
        model.save(path, history="context")
        found["load"] = cpu_seconds(lambda: skinformer.load(path))
        file = Path(folder, "rows.parquet")
        table = panel.reset_index(names=["series", "time"])
        found["read and write of 1000 series"] = (
            cpu_seconds(lambda: (table.to_parquet(file), pd.read_parquet(file)))
            * 1000
            / n
        )
    begin = (
        "import time; from skinformer import InformerRegressor as R; R; "
        "print(time.process_time())"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin], capture_output=True, text=True, check=True
    )
    return {**found, "start of a worker": float(done.stdout)}


def compute_seconds(street, series, n_machines):
    """Return the seconds of a search, a backtest and ten million series on some machines."""
    slowest = 1.2 if n_machines > 1 else 1.0  # of many tasks of one length; assumed
    start = series["start of a worker"]
    fit = street["fit"]
    partition = (
        series["forecast of 1000 series"] + series["read and write of 1000 series"]
    ) / 2
    once = series["fit on 500 series"] + series["load"] + start
    return {
        "search": ceil(100 / n_machines) * fit * slowest + fit + start,
        "backtest": ceil(365 / n_machines) * fit * slowest + start,
        "series": ceil(20_000 / n_machines) * partition * slowest + once,
    }


def main():
    warnings.simplefilter("ignore")
    street = measure_fit(load_auckland_pedestrians()[["45 Queen Street"]])
    series = measure_series()
    for name, found in {
        "one street, default": street,
        "monthly series": series,
        **{f"{n} machines": compute_seconds(street, series, n) for n in (1, 10, 1000)},
    }.items():
        print(
            f"{name}: "
            + "  ".join(f"{key} {value:.4g}" for key, value in found.items())
        )


if __name__ == "__main__":
    main()
