"""Error by budget: fits of some tables with ``max_seconds`` of 2, 5, 15 and 60, and without.

Run ``python examples/benchmarks/budget.py``; ``--tables street panel --seconds 5 15`` takes some,
and so do tasks of the public scoreboards by name, see scoreboard.py: ``--tables ett1/h/short``. A
task is fitted once, to the rows before its first window, and its error is the MASE there.
Each line has the seconds of a fit with its first prediction interval, their ratio to
``max_seconds``, the mean absolute error on later rows, and the members with a weight. A fit on a
busy machine learns less in the same seconds: say what else ran.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from boards import TASKS
from scoreboard import Run, score
from tables import DAY, TABLES, Table, street

from skinformer import InformerRegressor
from skinformer.evaluation import backtest


def panel() -> Table:
    """Eight streets as series of a panel, the last 2,000 hours before four weeks."""
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians()[-2000 - 28 * DAY :]
    train, later = counts[: -28 * DAY], counts[-28 * DAY :]
    columns = {"target": "count", "seq_len": 96, "pred_len": DAY}
    return Table(_stacked(train), _stacked(later), columns)


def gaps() -> Table:
    """One street of 3,000 hours, an eighth of which are missing."""
    table = street()
    train = table.train[-3000:].astype(float)
    is_missing = np.random.default_rng(0).random(len(train)) < 1 / 8
    train[is_missing] = np.nan
    return table._replace(train=train)


def _stacked(counts: pd.DataFrame) -> pd.DataFrame:
    """Lay columns one below the other, as series of a panel."""
    parts = {street: counts[street].rename("count") for street in counts}
    return pd.concat(parts, names=["street", "time"]).to_frame()


ALL = {name: TABLES[name] for name in ("street", "streets", "etth1", "bikes")} | {
    "panel": panel,
    "gaps": gaps,
}


def measure(name: str, max_seconds: float | None) -> dict[str, Any]:
    """Fit a table, and return its seconds, error and members."""
    if name in ALL:
        table = ALL[name]()
        model, train = InformerRegressor(**table.columns, random_state=0), table.train
    else:
        run = Run(TASKS[name])
        model, train = run.make_model({}), run.rows_before(0)
    model.set_params(max_seconds=max_seconds)
    began = time.perf_counter()
    model.fit(train)
    fitted = time.perf_counter()
    has_intervals = model.intervals_ is not None
    ended = time.perf_counter()
    if name in ALL:
        result = backtest(model, table.later).dropna(subset=["actual", "forecast"])
        error = (result["forecast"] - result["actual"]).abs().mean()
    else:
        error, _ = score(run.task, run.forecast_window(model, 0))
    board = model.leaderboard().query("takes_part and member != 'joint forecast'")
    return {
        "table": name,
        "max_seconds": max_seconds or np.inf,
        "fit": round(fitted - began, 1),
        "interval": round(ended - fitted, 1) if has_intervals else np.nan,
        "ratio": round((ended - began) / (max_seconds or np.inf), 2),
        "error": round(error, 3),
        "members": " ".join(board.index),
    }


def main() -> None:
    """Measure the tables that are asked for, and write a line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=[*ALL, *TASKS],
        default=list(ALL),
        metavar="TABLE",
    )
    parser.add_argument("--seconds", nargs="+", type=float, default=[2, 5, 15, 60])
    parser.add_argument(
        "--without", action="store_true", help="a fit without a limit, too"
    )
    parser.add_argument("--output", help="a CSV file for all fits")
    options = parser.parse_args()
    limits = [*options.seconds, *([None] if options.without else [])]
    found = []
    for name in options.tables:
        for max_seconds in limits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(measure(name, max_seconds))
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            line = "  ".join(f"{key} {value}" for key, value in found[-1].items())
            print(f"{line}  (processes that want a core: {load:.1f})", flush=True)
    if options.output:
        pd.DataFrame(found).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
