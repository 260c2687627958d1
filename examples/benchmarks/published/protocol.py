"""Measure forecasts by the protocol that published tables share.

Run ``python measure.py --data ETTh1.csv --horizon 96 192 --columns M``; ``--data
bundled`` takes the series that comes with the package. Every column is standardised by its training
rows; errors are averaged over all windows (stride 1, none dropped), steps and columns of the test
rows in that unit. The same path measures the references. A missing value is left out of the error;
as context the estimator fills it as it always does, and the references see the value before it.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from ridge import forecast_ridge, normal_equations, solve_ridge
from series import load_series
from sklearn.base import clone
from windows import forecast_windows

from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.estimators.regressor import InformerRegressor
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import is_dated

__all__ = [
    "Split",
    "load_series",
    "measure",
    "peak_memory",
    "rows_of_a_day",
    "split_rows",
]


_MONTH = 30 * 24  # rows of an hourly month, as the ETT papers count them


class Split(NamedTuple):
    """Borders of the rows: training ends before `train`, and so on."""

    train: int
    validation: int
    test: int


def split_rows(
    name: str, n_rows: int, shares: tuple[float, float] = (0.7, 0.2)
) -> Split:
    """Return the borders that published tables use, or raise if a part has no rows.

    ETTh* and ETTm* have 12, 4 and 4 months of 30 days; all others ``shares`` of training and of
    test rows, between which the validation rows lie.
    """
    if name.startswith("ETT"):
        month = _MONTH * (4 if name.startswith("ETTm") else 1)
        split = Split(12 * month, 16 * month, 20 * month)
        if n_rows < split.test:
            raise ValueError(
                f"{name} has {n_rows} rows, its published borders need {split.test}: give the "
                "whole series, or another name to split it by shares."
            )
        return split
    train, test = shares
    split = Split(int(n_rows * train), n_rows - int(n_rows * test), n_rows)
    if not 0 < split.train < split.validation < n_rows:
        raise ValueError(
            f"shares={train:g} {test:g} of {n_rows} rows must leave some to train on, to validate "
            "on (what lies between) and to test on; such as 0.7 0.2."
        )
    return split


def measure(
    frame: pd.DataFrame,
    split: Split,
    *,
    horizon: int,
    parameters: dict[str, Any],
    references: bool = True,
    parts: bool = False,
) -> pd.DataFrame:
    """Fit on the training rows, stop early on the validation rows, and measure on the test rows.

    All columns of the frame are forecast ``horizon`` steps ahead. One row per method: mse and mae
    (standardised units), and of the model the seconds of fit and of all forecasts, the process's
    peak memory so far in MB, the network's share and its epochs.

    references: whether the last value, the last day and the best ridge are measured, too.
    parts: whether these are, too, each with its share: ridges alone, without and with what the time
    of the day adds to them; these and trees; these and the network; a network alone, fitted anew.
    """
    # 1. Standardised rows, and the windows of the test rows.
    day = rows_of_a_day(frame.index)
    _check_parts(frame, split, horizon, day if references else None)
    train = frame.iloc[: split.train]
    deviation = train.std(ddof=0)
    scaled = (frame - train.mean()) / deviation.where(deviation > 0, 1)
    to_fit = scaled.iloc[: split.validation]
    origins = np.arange(split.validation, split.test - horizon + 1)
    truth = scaled.to_numpy()[origins[:, None] + np.arange(horizon)]

    def errors_of(model: InformerRegressor) -> dict[str, float]:
        """Measure all windows of the test rows."""
        return _errors(forecast_windows(model, scaled[: split.test], origins), truth)

    # 2. The model.
    started = time.perf_counter()
    model = InformerRegressor(
        list(frame.columns),
        pred_len=horizon,
        early_stopping=True,
        validation_fraction=1 - split.train / split.validation,
    )
    model.set_params(**parameters).fit(to_fit)
    fitted = time.perf_counter()
    whole: dict[str, Any] = errors_of(model)
    whole["fit_s"] = fitted - started
    whole["predict_s"] = time.perf_counter() - fitted
    whole["peak_mb"] = peak_memory()
    ensemble = getattr(model, "ensemble_", None)
    whole["trust"] = np.nan if ensemble is None else ensemble.trust
    whole["epochs"] = model.n_iter_
    rows = {type(model).__name__: whole}
    # 3. Its parts.
    if parts:
        rows |= _errors_of_parts(model, whole, errors_of)
        alone = clone(model).set_params(members=["network"])
        rows["network alone"] = errors_of(alone.fit(to_fit))
    # 4. What it has to beat.
    if references:
        rows |= _errors_of_references(scaled, origins, truth, split)
    return pd.DataFrame.from_dict(rows, orient="index")


def _errors_of_references(
    scaled: pd.DataFrame, origins: IntArray, truth: Float64Array, split: Split
) -> dict[str, dict[str, float]]:
    """Measure the last value, the last day and the best ridge."""
    day = rows_of_a_day(scaled.index)
    horizon = truth.shape[1]
    values = scaled.ffill().fillna(0).to_numpy()  # 0 is the training mean
    rows = {}
    last = values[origins - 1]
    rows["last value"] = _errors(np.repeat(last[:, None], horizon, axis=1), truth)
    places = origins[:, None] - day + np.arange(horizon) % day
    rows[f"last {day} rows"] = _errors(values[places], truth)
    started = time.perf_counter()
    ridge, name = _best_ridge(values, scaled.to_numpy(), split, horizon)
    rows[name] = _errors(ridge, truth)
    rows[name]["fit_s"] = time.perf_counter() - started
    return rows


def _errors_of_parts(
    model: InformerRegressor,
    whole: dict[str, float],
    errors_of: Callable[[InformerRegressor], dict[str, float]],
) -> dict[str, dict[str, float]]:
    """Measure an ensemble's parts, equal ones once: trees take minutes for all windows."""
    measured = {_speakers(model): {name: whole[name] for name in ("mse", "mae")}}
    out = {}
    for name, part in _parts(model).items():
        who = _speakers(part)
        if who not in measured:
            measured[who] = errors_of(part)
        out[name] = measured[who]
    return out


def _parts(model: InformerRegressor) -> dict[str, InformerRegressor]:
    """Take members out of a fitted ensemble: those that are left keep their weights."""
    ensemble, found = model.ensemble_, {}
    others = [name for name in ensemble.members if name not in (RIDGES, NETWORK)]
    for name, phases, left_out, network in (
        ("ridges alone", False, others, False),
        ("ridges by the hour", True, others, False),
        ("ridges and trees", True, [], False),
        ("ridges and network", True, others, True),
    ):
        kept = ensemble.without(*left_out)
        part = copy.copy(model)
        part.ensemble_ = (kept if network else kept.with_network_share(0.0)).on_device(
            model.device_
        )
        path = getattr(part.module_, "path", None)
        if path is not None and not phases:
            path.phases = None
        found[name] = part
    return found


def _speakers(model: InformerRegressor) -> tuple[Any, ...]:
    """Describe which members take part in forecasts, and whether phase maps do."""
    ensemble, path = model.ensemble_, getattr(model.module_, "path", None)
    who = [name for name in ensemble.members if ensemble.weights_of(name).any()]
    return path is not None and path.phases is not None, *who


def rows_of_a_day(index: pd.Index) -> int:
    """Count the rows of a day: 24 without dates, 7 where a row is a day or longer.

    >>> rows_of_a_day(pd.date_range("2024-01-01", periods=9, freq="15min"))
    96
    """
    if not is_dated(index):
        return 24
    step = pd.Timedelta(np.median(np.diff(index.to_numpy())))
    per_day = round(pd.Timedelta(days=1) / step)
    return per_day if per_day >= 2 else 7


def peak_memory() -> float:
    """Return the most memory that the process has held, imports included, in MB; NaN on Windows."""
    try:
        import resource
    except ImportError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


_LOOK_BACKS = (24, 96, 336, 512, 720)
_STRENGTHS = (1.0, 1e2, 1e3, 1e4, 3e4, 1e5)


def _check_parts(
    frame: pd.DataFrame, split: Split, horizon: int, day: int | None
) -> None:
    """Raise if a part is too short for its windows, or for a day of the references, or is empty."""
    for part, n_rows in (
        ("validation", split.validation - split.train),
        ("test", split.test),
    ):
        n_rows -= split.validation if part == "test" else 0
        if n_rows < horizon:
            raise ValueError(
                f"horizon={horizon} is longer than the {n_rows} {part} rows: give a shorter one, "
                "or more rows."
            )
    needed = max(4 * (_LOOK_BACKS[0] + horizon), 0 if day is None else day)
    if day is not None and split.train < needed:
        raise ValueError(
            f"{split.train} training rows are too few: the references need {needed} for "
            f"horizon={horizon}. Give a shorter one, or more rows."
        )
    empty = frame.columns[frame.iloc[: split.train].isna().all()]
    if len(empty):
        raise ValueError(
            f"column {empty[0]!r} has no value in the {split.train} training rows."
        )
    for part, rows in (("validation", slice(*split[:2])), ("test", slice(*split[1:]))):
        if frame.iloc[rows].isna().all(axis=None):
            raise ValueError(f"the {part} rows hold no value to measure by.")


def _best_ridge(
    values: Float64Array, actual: Float64Array, split: Split, horizon: int
) -> tuple[Float64Array, str]:
    """Forecast the test windows by the ridge that is best on the validation windows.

    Its look-back, strength and sharing are chosen there; it is fitted on the training rows. In
    `values` what `actual` misses is filled.
    """
    held_out = np.arange(split.train, split.validation - horizon + 1)
    truth = actual[held_out[:, None] + np.arange(horizon)]
    best: tuple[float, Float64Array, str] | None = None
    for seq_len in (n for n in _LOOK_BACKS if n + horizon <= split.train // 4):
        train = np.arange(seq_len, split.train - horizon + 1)
        for shared in (True, False):
            sums = normal_equations(
                values, train, seq_len=seq_len, pred_len=horizon, shared=shared
            )
            for alpha in _STRENGTHS:
                maps = solve_ridge(sums, alpha=alpha)
                error = _errors(forecast_ridge(maps, values, held_out), truth)["mse"]
                if best is None or error < best[0]:
                    sharing = "one map" if shared else "a map per column"
                    best = error, maps, f"ridge ({seq_len} rows, {sharing}, {alpha:g})"
    assert best is not None  # _check_parts
    test = np.arange(split.validation, split.test - horizon + 1)
    return forecast_ridge(best[1], values, test), best[2]


def _errors(forecast: Float64Array, truth: Float64Array) -> dict[str, float]:
    error = (forecast - truth)[~np.isnan(truth)]
    return {"mse": float((error**2).mean()), "mae": float(np.abs(error).mean())}
