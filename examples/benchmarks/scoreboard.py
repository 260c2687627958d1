"""Measure defaults on tasks of GIFT-Eval and fev-bench, beside what others published there.

Run ``python examples/benchmarks/scoreboard.py [TASK ...]``. Data are read from the folder
``SKINFORMER_BENCH_DATA``; docs/benchmarks.md says what belongs there. Each task is a line of
``published/skinformer.csv`` as soon as it is done, and is not measured again at the same commit.
``--check`` compares the seasonal naive's MASE with the published one, ``--page`` writes
docs/benchmarks.md from these lines.

A model is fitted before the first window, or before each where rows are few, and forecasts window
after window. MASE is that of the median; quantiles of the levels 0.1 to 0.9 are measured by the
board's own loss, GIFT-Eval's CRPS or fev-bench's SQL.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
import warnings
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from board_page import PAGE, write_page
from boards import FEV, LOOK_BACKS, LOSSES, PUBLISHED, TASKS, Task, read_published

from skinformer import InformerRegressor
from skinformer.evaluation import backtest

LEVELS = np.arange(1, 10) / 10
RESULTS = PUBLISHED / "skinformer.csv"
ROOT = Path(__file__).resolve().parents[2]

#: Values in the fits before all windows, up to which there is a fit before each of them.
_FEW_VALUES = 250_000


class Forecast(NamedTuple):
    """What is forecast of one series or target in one window, and what came.

    past: what came before; NaN is missing.
    quantiles: (horizon, levels).
    """

    window: int
    past: np.ndarray
    truth: np.ndarray
    quantiles: np.ndarray


# ------------------------------------------------------------------------------- forecasts
class Run:
    """A task with its rows, cut at the first step of each window."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rows = task.read()
        known = list(task.known)
        self.targets = list(task.targets or self.rows.columns.drop(known))
        n_rows = len(self.rows)
        n_windows = task.count_windows(n_rows)
        self.starts = n_rows - task.horizon * np.arange(n_windows, 0, -1)

    def forecast(self, parameters: dict[str, Any]) -> list[Forecast]:
        """Fit the estimator, and forecast each window."""
        model = self.make_model(parameters)
        n_fits = len(self.starts)
        n_values = len(self.data) * (1 if self.task.is_panel else len(self.targets))
        if n_fits == 1 or n_values * n_fits <= _FEW_VALUES:
            windows = self._forecast_by_new_fits(model)
        else:
            windows = self._forecast_by_one_fit(model)
        return [each for window in windows for each in window]

    def repeat_last_season(self) -> list[Forecast]:
        """Forecast the last season, or the last value where there is no whole one."""
        forecasts = []
        for window in range(len(self.starts)):
            quantiles = {}
            for name in self.targets:
                past = self.rows[name].iloc[: self.starts[window]].ffill().to_numpy()
                season = self.task.season if len(past) >= self.task.season else 1
                repeated = np.resize(past[-season:], self.task.horizon)
                quantiles[name] = np.repeat(repeated[:, None], len(LEVELS), axis=1)
            forecasts += self._beside_truth(window, quantiles)
        return forecasts

    @cached_property
    def data(self) -> pd.DataFrame:
        """What the estimator is given: a table, or a panel of series that end together."""
        if not self.task.is_panel:
            known = list(self.task.known)
            table = self.rows[[*self.targets, *known]].copy()
            # A value known ahead has to be there at every step.
            table[known] = table[known].ffill().bfill()
            return table
        series = {}
        for name in self.targets:
            values = self.rows[name].rename("y")
            series[name] = values.loc[values.first_valid_index() :].to_frame()
        return pd.concat(series, names=["series", "time"])

    def make_model(self, parameters: dict[str, Any]) -> InformerRegressor:
        """Make an estimator with defaults, but for what the task says and these parameters."""
        one = "y" if self.task.is_panel else self.targets[0]
        model = InformerRegressor(
            one if self.task.is_panel or len(self.targets) == 1 else self.targets,
            known_future=list(self.task.known) or None,
            seq_len=LOOK_BACKS[self.task.frequency],
            pred_len=self.task.horizon,
            loss="mae",
            random_state=0,
        )
        return model.set_params(**parameters)

    def _forecast_by_new_fits(
        self, model: InformerRegressor
    ) -> Iterator[list[Forecast]]:
        """Fit before each window."""
        for window in range(len(self.starts)):
            model.fit(self.rows_before(window))
            yield self.forecast_window(model, window)

    def rows_before(self, window: int) -> pd.DataFrame:
        """Return what the estimator is fitted to before a window."""
        times = self.data.index.get_level_values(-1)
        return self.data[times < self.rows.index[self.starts[window]]]

    def forecast_window(self, model: InformerRegressor, window: int) -> list[Forecast]:
        """Forecast a window by a model that was fitted to the rows before it."""
        start = self.starts[window]
        if self.task.known:
            times = self.data.index.get_level_values(-1)
            first = self.rows.index[start]
            last = self.rows.index[start + self.task.horizon - 1]
            is_ahead = (times >= first) & (times <= last)
            ahead = self.data.loc[is_ahead, list(self.task.known)]
            found = model.forecast(ahead, levels=LEVELS)
        else:
            found = model.forecast(horizon=self.task.horizon, levels=LEVELS)
        return self._beside_truth(window, self._split_forecast(found))

    def _split_forecast(self, found: pd.DataFrame) -> dict[str, np.ndarray]:
        """Return the quantiles of each series or target."""
        if self.task.is_panel:
            columns = [f"y_{level:g}" for level in LEVELS]
            return {
                name: found.xs(name, level=0)[columns].to_numpy()
                for name in self.targets
            }
        return {
            name: found[[f"{name}_{level:g}" for level in LEVELS]].to_numpy()
            for name in self.targets
        }

    def _forecast_by_one_fit(
        self, model: InformerRegressor
    ) -> Iterator[list[Forecast]]:
        """Fit before the first window."""
        train = self.rows_before(0)
        model.fit(train)
        later = self.data.drop(index=train.index)
        table = backtest(model, later, horizon=self.task.horizon, levels=LEVELS)
        key = "series" if self.task.is_panel else "target"
        columns = [f"q{level:g}" for level in LEVELS]
        for window, start in enumerate(self.starts):
            of_window = table[table["origin"] == self.rows.index[start]]
            quantiles = {
                name: part.sort_values("ahead")[columns].to_numpy()
                for name, part in of_window.groupby(key)
            }
            yield self._beside_truth(window, quantiles)

    def _beside_truth(
        self, window: int, quantiles: dict[str, np.ndarray]
    ) -> list[Forecast]:
        start = self.starts[window]
        end = start + self.task.horizon
        forecasts = []
        for name in self.targets:
            values = self.rows[name].to_numpy(float)
            forecasts.append(
                Forecast(window, values[:start], values[start:end], quantiles[name])
            )
        return forecasts


# ---------------------------------------------------------------------------------- errors
def score(task: Task, forecasts: list[Forecast]) -> tuple[float, float]:
    """Return MASE and the board's quantile loss."""
    if task.board == FEV:
        return score_like_fev(forecasts, task.season)
    return score_like_gift(forecasts, task.season)


def score_like_gift(forecasts: list[Forecast], season: int) -> tuple[float, float]:
    """Return MASE, a mean over all values, and CRPS.

    CRPS: the quantile loss over the sum of the truth's sizes, in the mean of all levels.
    """
    scaled, losses, size = [], [], 0.0
    for each in forecasts:
        known = np.isfinite(each.truth)
        error = absolute_error(each)[known]
        with np.errstate(all="ignore"):
            scaled.append(error / seasonal_change(each.past, season))
        losses.append(quantile_loss(each)[known].sum(axis=0))
        size += np.abs(each.truth[known]).sum()
    crps = np.sum(losses, axis=0).mean() / size
    return mean_of_finite(np.concatenate(scaled)), float(crps)


def score_like_fev(forecasts: list[Forecast], season: int) -> tuple[float, float]:
    """Return MASE and SQL, the scaled quantile loss: means over series, then over windows."""
    rows = []
    for each in forecasts:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a window without any truth
            scale = seasonal_change(each.past, season)
            mase = np.nanmean(absolute_error(each)) / scale
            sql = np.nanmean(quantile_loss(each)) / scale
        rows.append({"window": each.window, "MASE": mase, "SQL": sql})
    table = pd.DataFrame(rows).replace([np.inf, -np.inf], np.nan)
    means = table.groupby("window").mean().mean()
    return float(means["MASE"]), float(means["SQL"])


def absolute_error(forecast: Forecast) -> np.ndarray:
    """Return the median's absolute errors, (horizon,)."""
    return np.abs(forecast.truth - forecast.quantiles[:, len(LEVELS) // 2])


def quantile_loss(forecast: Forecast) -> np.ndarray:
    """Return twice the pinball loss, (horizon, levels)."""
    error = forecast.truth[:, None] - forecast.quantiles
    return 2 * np.maximum(LEVELS * error, (LEVELS - 1) * error)


def seasonal_change(past: np.ndarray, season: int) -> float:
    """Return the mean absolute change over a season, or from row to row where rows are few."""
    lag = season if len(past) > season else 1
    changes = np.abs(past[lag:] - past[:-lag])
    return float(np.nanmean(changes)) if np.isfinite(changes).any() else np.nan


def mean_of_finite(values: np.ndarray) -> float:
    """Return the mean without series that never change."""
    return float(values[np.isfinite(values)].mean())


# --------------------------------------------------------------------------------- results
def read_results(path: Path) -> pd.DataFrame:
    """Read the results so far, by task; without a file there are none."""
    if not path.exists():
        columns = ["MASE", "quantile_loss", "windows", "cpu_seconds", "date", "commit"]
        return pd.DataFrame(columns=columns, index=pd.Index([], name="task"))
    return pd.read_csv(path, index_col="task", dtype={"commit": str})


def write_result(path: Path, task: str, result: dict[str, Any]) -> None:
    """Put the result of a task into the file, which is whole at any time."""
    results = read_results(path)
    others = results.drop(index=task, errors="ignore")
    new = pd.DataFrame([result], index=pd.Index([task], name="task"))
    both = pd.concat([others, new]) if len(others) else new
    order = [name for name in TASKS if name in both.index]
    partial_file = path.with_suffix(".part")
    both.loc[order].to_csv(partial_file, float_format="%.6g")
    os.replace(partial_file, path)


def commit_of_library() -> str:
    """Return the last commit that changed the library; "+" says that something is not committed."""
    commit = _git("log", "-1", "--format=%h", "--abbrev=8", "--", "skinformer")
    return commit + ("+" if _git("status", "--porcelain", "skinformer") else "")


def _git(*command: str) -> str:
    answer = subprocess.run(
        ["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def measure(task: Task, parameters: dict[str, Any]) -> dict[str, Any]:
    """Forecast and score a task; return its row of the results without the commit."""
    run = Run(task)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forecasts = run.forecast(parameters)
    seconds = time.process_time() - started
    mase, loss = score(task, forecasts)
    return {
        "MASE": mase,
        "quantile_loss": loss,
        "windows": len(run.starts),
        "cpu_seconds": round(seconds),
        "date": datetime.now(UTC).date().isoformat(),
    }


# --------------------------------------------------------------------------------- command
def check(tasks: Iterable[Task]) -> bool:
    """Print the seasonal naive's MASE beside the published one; return whether all are equal."""
    published = read_published().set_index(["task", "model"])["MASE"]
    agree = True
    for task in tasks:
        mase, _ = score(task, Run(task).repeat_last_season())
        expected = published[task.name, "seasonal naive"]
        agree &= bool(np.isclose(mase, expected, rtol=2e-4))
        print(f"{task.name:28s} {mase:8.4f}, published {expected:8.4f}")
    return agree


def run_tasks(tasks: Iterable[Task], path: Path, parameters: dict[str, Any]) -> None:
    """Measure what is not in the file of results yet, a task at a time, and print ratios."""
    commit = commit_of_library()
    published = read_published().set_index(["task", "model"])
    for task in tasks:
        results = read_results(path)
        if task.name in results.index and results.loc[task.name, "commit"] == commit:
            continue
        result = measure(task, parameters)
        write_result(path, task.name, {**result, "commit": commit})
        naive = published.loc[task.name, "seasonal naive"]
        mase = result["MASE"] / naive["MASE"]
        loss = result["quantile_loss"] / naive["quantile_loss"]
        print(
            f"{task.name:28s} MASE {mase:.3f}, {LOSSES[task.board]} {loss:.3f} of the seasonal "
            f"naive's, {result['cpu_seconds']} CPU-seconds",
            flush=True,
        )


def read_options() -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="by default all")
    parser.add_argument(
        "--check", action="store_true", help="the seasonal naive beside the published"
    )
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--list", action="store_true", help="print the tasks' names")
    parser.add_argument("--results", type=Path, help="a file instead of the page's own")
    parser.add_argument(
        "--parameters",
        type=json.loads,
        default={},
        help="of the estimator, in JSON; needs --results",
    )
    options = parser.parse_args()
    unknown = sorted(set(options.tasks) - set(TASKS))
    if unknown:
        parser.error(f"no such task: {', '.join(unknown)}; --list names them")
    if options.parameters and not options.results:
        parser.error("the page is about defaults: --parameters needs --results FILE")
    return options


def main() -> int:
    """Check, measure, or write the page."""
    options = read_options()
    tasks = [TASKS[name] for name in options.tasks or TASKS]
    path = options.results or RESULTS
    if options.list:
        print("\n".join(task.name for task in tasks))
    elif options.check:
        return int(not check(tasks))
    elif options.page:
        write_page(read_results(path))
    else:
        run_tasks(tasks, path, options.parameters)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
