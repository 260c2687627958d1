"""Measure forecasts by the protocol that published tables share.

Run ``python -m skinformer.benchmark --data ETTh1.csv --horizon 96 192 --columns M``; ``--data
bundled`` takes the series that comes with the package. Every column is standardised by its training
rows; errors are averaged over all windows (stride 1, none dropped), steps and columns of the test
rows in that unit. The same path measures the references.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer import recipes
from skinformer.datasets import load_auckland_pedestrians
from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.windows import forecast_windows
from skinformer.timeline.clock import is_dated
from skinformer.timeline.ridge import forecast_linear, normal_equations, solve_ridge

__all__ = ["Split", "load_series", "main", "measure", "rows_of_a_day", "split_rows"]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_MONTH = 30 * 24  # rows of an hourly month, as the ETT papers count them


class Split(NamedTuple):
    """Borders of the rows: training ends before `train`, and so on."""

    train: int
    validation: int
    test: int


def load_series(path: str | Path) -> pd.DataFrame:
    """
    Read a series from a CSV file whose first column is its time.

    Parameters
    ----------
    path : path-like
        File, may be compressed.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Under a DatetimeIndex.
    """
    frame = pd.read_csv(path, index_col=0)
    frame.index = pd.to_datetime(frame.index)
    return frame


def split_rows(name: str, n_rows: int, shares: tuple[float, float] = (0.7, 0.2)) -> Split:
    """
    Give the borders that published tables use.

    Parameters
    ----------
    name : str
        Name of the series: ETTh* and ETTm* have 12, 4 and 4 months of 30 days; all others
        shares of their rows.
    n_rows : int
        Rows in all.
    shares : tuple of float, default=(0.7, 0.2)
        Of training and test rows; the validation rows lie between them.

    Returns
    -------
    Split
        Row numbers.

    Examples
    --------
    >>> split_rows("ETTh1", 17420)
    Split(train=8640, validation=11520, test=14400)
    """
    if name.startswith("ETT"):
        month = _MONTH * (4 if name.startswith("ETTm") else 1)
        return Split(12 * month, 16 * month, 20 * month)
    train, test = shares
    return Split(int(n_rows * train), n_rows - int(n_rows * test), n_rows)


def measure(
    frame: pd.DataFrame,
    split: Split,
    *,
    horizon: int,
    parameters: dict[str, Any],
    references: bool = True,
) -> pd.DataFrame:
    """
    Fit on the training rows, stop early on the validation rows, and measure on the test rows.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        All columns are forecast.
    split : Split
        Borders of the rows.
    horizon : int
        Steps of a forecast.
    parameters : dict
        Parameters of `InformerRegressor`.
    references : bool, default=True
        Whether the last value, the last day and the best ridge are measured, too.

    Returns
    -------
    DataFrame
        One row per method: mse and mae (standardised units), and of the model the seconds of fit
        and of all forecasts, the process's peak memory so far in MB, how far the Informer was
        trusted and how many epochs it had.
    """
    train = frame.to_numpy(dtype=np.float64)[: split.train]
    deviation = train.std(axis=0)
    scaled = (frame - train.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    origins = np.arange(split.validation, split.test - horizon + 1)
    values = scaled.to_numpy()
    truth = values[origins[:, None] + np.arange(horizon)]
    started = time.perf_counter()
    model = InformerRegressor(
        list(frame.columns),
        pred_len=horizon,
        early_stopping=True,
        validation_fraction=1 - split.train / split.validation,
        **parameters,
    ).fit(scaled.iloc[: split.validation])
    fitted = time.perf_counter()
    rows = {
        type(model).__name__: _errors(forecast_windows(model, scaled[: split.test], origins), truth)
    }
    facts = {"fit_s": fitted - started, "predict_s": time.perf_counter() - fitted}
    facts |= {"peak_mb": _peak_memory()}
    facts |= {"trust": getattr(model, "trust_", np.nan), "epochs": model.n_iter_}
    rows = {name: row | facts for name, row in rows.items()}
    if not references:
        return pd.DataFrame.from_dict(rows, orient="index")
    rows["last value"] = _errors(np.repeat(values[origins - 1][:, None], horizon, axis=1), truth)
    day = rows_of_a_day(frame.index)
    places = origins[:, None] - day + np.arange(horizon) % day
    rows[f"last {day} rows"] = _errors(values[places], truth)
    started = time.perf_counter()
    ridge, name = _best_ridge(values, split, horizon)
    rows[name] = _errors(ridge, truth) | {"fit_s": time.perf_counter() - started}
    return pd.DataFrame.from_dict(rows, orient="index")


def rows_of_a_day(index: pd.Index) -> int:
    """
    Count the rows of a day.

    Parameters
    ----------
    index : Index of shape (n_rows,)
        Labels of the rows.

    Returns
    -------
    int
        24 for hourly rows and where the index has no dates; 7 where a row is a day or longer.

    Examples
    --------
    >>> rows_of_a_day(pd.date_range("2024-01-01", periods=9, freq="15min"))
    96
    """
    if not is_dated(index):
        return 24
    step = pd.Timedelta(np.median(np.diff(index.to_numpy())))
    per_day = round(pd.Timedelta(days=1) / step)
    return per_day if per_day >= 2 else 7


_LOOK_BACKS = (24, 96, 336, 512, 720)
_STRENGTHS = (1.0, 1e2, 1e3, 1e4, 3e4, 1e5)


def _best_ridge(values: Floats, split: Split, horizon: int) -> tuple[Floats, str]:
    """Forecast the test windows by the ridge that is best on the validation windows.

    Its look-back, strength and sharing are chosen there; it is fitted on the training rows.
    """
    held_out = np.arange(split.train, split.validation - horizon + 1)
    truth = values[held_out[:, None] + np.arange(horizon)]
    best: tuple[float, Floats, str] | None = None
    for seq_len in (n for n in _LOOK_BACKS if n + horizon <= split.train // 4):
        train = np.arange(seq_len, split.train - horizon + 1)
        for shared in (True, False):
            sums = normal_equations(values, train, seq_len=seq_len, pred_len=horizon, shared=shared)
            for alpha in _STRENGTHS:
                maps = solve_ridge(sums, alpha=alpha)
                error = _errors(forecast_linear(maps, values, held_out), truth)["mse"]
                if best is None or error < best[0]:
                    sharing = "one map" if shared else "a map per column"
                    best = error, maps, f"ridge ({seq_len} rows, {sharing}, {alpha:g})"
    if best is None:
        raise ValueError(
            f"horizon={horizon} is too long for {split.train} training rows: the shortest ridge "
            f"needs {4 * (_LOOK_BACKS[0] + horizon)}. Choose a shorter one."
        )
    test = np.arange(split.validation, split.test - horizon + 1)
    return forecast_linear(best[1], values, test), best[2]


def _errors(forecast: Floats, truth: Floats) -> dict[str, float]:
    error = forecast - truth
    return {"mse": float((error**2).mean()), "mae": float(np.abs(error).mean())}


def main(arguments: list[str] | None = None) -> int:
    """
    Run the benchmark from the command line.

    Parameters
    ----------
    arguments : list of str, default=None
        Command line; None takes the process's own.

    Returns
    -------
    int
        Exit status.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", required=True, help='CSV file, time first; or "bundled"')
    parser.add_argument("--horizon", required=True, type=int, nargs="+", help="steps forecast")
    parser.add_argument("--columns", choices="SM", default="M", help="S: the last alone; M: all")
    parser.add_argument("--recipe", choices=["NOTE", "BF16"], help="parameters of a source")
    parser.add_argument("--parameters", type=json.loads, default={}, help="of the model, as JSON")
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[0], help="random_state, one or more"
    )
    parser.add_argument(
        "--shares", type=float, nargs=2, default=(0.7, 0.2), help="of training and test rows"
    )
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    options = parser.parse_args(arguments)
    if options.data != "bundled" and not Path(options.data).exists():
        parser.error(f"--data {options.data}: no such file")
    name, frame = _load(options.data)
    frame = frame.iloc[:, -1:] if options.columns == "S" else frame
    split = split_rows(name, len(frame), tuple(options.shares))
    recipe = getattr(recipes, options.recipe) if options.recipe else {}
    if "random_state" in options.parameters:
        parser.error("--parameters: give the seeds by --seed, not as random_state.")
    sys.stdout.write(f"commit {_commit()}\n")
    results = []
    for horizon, seed in itertools.product(options.horizon, options.seed):
        parameters = recipe | {"random_state": seed} | options.parameters
        table = measure(
            frame,
            split,
            horizon=horizon,
            parameters=parameters,
            references=seed == options.seed[0],
        )
        sys.stdout.write(
            f"{name}, {horizon} steps ahead, {parameters}\n{table.round(4).to_string()}\n"
        )
        sys.stdout.flush()
        rows = table.to_dict(orient="index")
        results.append({"horizon": horizon, "parameters": parameters, "results": rows})
        if options.output:  # after each, so that a stopped run keeps what it has
            facts = {"data": name, "columns": options.columns, "split": split._asdict()}
            facts |= {"commit": _commit()}
            options.output.write_text(json.dumps(facts | {"runs": results}, indent=2))
    return 0


def _load(data: str) -> tuple[str, pd.DataFrame]:
    if data == "bundled":
        return data, load_auckland_pedestrians()
    return Path(data).name.split(".")[0], load_series(data)


def _commit() -> str | None:
    """Tell which version of the code was measured, where the package lies in a git checkout."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def _peak_memory() -> float:
    """Give the most memory that the process has held, imports included, in MB; NaN on Windows."""
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    sys.exit(main())
