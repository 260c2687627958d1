"""Measure forecasts of whole panels as competitions do.

Run ``python measure.py --panel m3_yearly m3_monthly --panels-folder FOLDER``. A panel
is ``NAME.csv.gz`` (series, t, y; sorted, an empty y is missing) and ``NAME.meta.csv.gz`` (series,
horizon, m: rows of a season). The last `horizon` rows of each series are the test part; for
development they are cut off first, and the rows before them take their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from cuts import CUTS, cut_pieces
from protocol import peak_memory

from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.scores import seasonal_change
from skinformer.timeline.arrays import Float64Array

#: Frequencies of panels without dates, by the rows of a season.
_FREQUENCIES = {1: "YS", 4: "QS", 12: "MS", 7: "D"}
_LAST_START = "2020-01-01"  # the last training row of a series without dates
_LEAST_ROWS = 2  # a series with fewer training rows is left out


@dataclass(frozen=True)
class Panel:
    """Series of one kind, parted into training rows and truth.

    train: training rows of each series; NaN is missing.
    truth: what followed, (n_series, horizon); NaN where it is missing or a series' horizon is
    shorter.
    period: rows of a season; 1 for none.
    times: when the training rows were.
    """

    name: str
    series: list[str]
    train: list[Float64Array]
    truth: Float64Array
    period: int
    times: list[pd.Index]

    @property
    def horizon(self) -> int:
        """Longest horizon of a series, in rows."""
        return int(self.truth.shape[1])

    @property
    def filled(self) -> list[Float64Array]:
        """Training rows from the first known one, where a missing one is that a season before."""
        return [_filled(rows, self.period) for rows in self.train]


#: What forecasts a panel: gives shape (n_series, horizon).
Forecaster: TypeAlias = Callable[[Panel], Float64Array]


def load_panel(
    name: str,
    folder: str | Path,
    *,
    development: bool = False,
    one_horizon: bool = False,
) -> Panel:
    """Read a panel, without series that have fewer than two training rows, or none that is known.

    development: whether the last rows of each series, the test part, are cut off first.
    one_horizon: whether all series are forecast as far as the one with the longest horizon.
    """
    parts, horizons, period = _read_parts(name, Path(folder))
    longest = int(horizons.max())
    series, train, truths, times = [], [], [], []
    for key, part in parts.items():
        horizon = longest if one_horizon else int(horizons[key])
        values = part.to_numpy(dtype=np.float64)
        end = len(values) - horizon * (1 + development)
        if end < _LEAST_ROWS or np.isnan(values[:end]).all():
            continue
        truth = np.full(longest, np.nan)
        truth[:horizon] = values[end : end + horizon]
        series.append(key)
        train.append(values[:end])
        truths.append(truth)
        times.append(_times(part.index[:end], period))
    if not series:
        raise ValueError(
            f"no series of {name} has {_LEAST_ROWS} rows before its last rows."
        )
    return Panel(name, series, train, np.stack(truths), period, times)


def _read_parts(name: str, folder: Path) -> tuple[dict[str, pd.Series], pd.Series, int]:
    """Read the rows of each series by time, how far each is forecast, and the rows of a season."""
    if name in CUTS:
        cut = CUTS[name]
        parts = cut_pieces(name, folder)
        return parts, pd.Series(cut.horizon, index=[*parts]), cut.period
    rows = pd.read_csv(folder / f"{name}.csv.gz", dtype={"series": str})
    facts = pd.read_csv(folder / f"{name}.meta.csv.gz", dtype={"series": str})
    horizons = facts.set_index("series")["horizon"].astype(int)
    parts = {}
    for key, part in rows.groupby("series", sort=False):
        parts[str(key)] = part.set_index("t")["y"]
    return parts, horizons, int(facts["m"].iloc[0])


def panel_frame(panel: Panel) -> pd.DataFrame:
    """Make the frame that a user would have: column "y" under an index of series and time."""
    frame = pd.DataFrame(
        {
            "series": np.repeat(panel.series, [len(rows) for rows in panel.train]),
            "time": np.concatenate([times.to_numpy() for times in panel.times]),
            "y": np.concatenate(panel.train),
        }
    )
    return frame.set_index(["series", "time"])


def forecast_by_estimator(
    panel: Panel, parameters: dict[str, Any], levels: tuple[float, ...] | None = None
) -> Float64Array:
    """Fit the estimator and forecast: points, and behind them quantiles, in the last axis."""
    model = InformerRegressor("y", pred_len=panel.horizon).set_params(**parameters)
    frame = model.fit(panel_frame(panel)).forecast(levels=levels)
    ahead = {
        str(key): part.to_numpy() for key, part in frame.groupby(level=0, sort=False)
    }
    return np.stack([ahead[name][: panel.horizon] for name in panel.series])


def measure_panel(
    panel: Panel, forecasters: Mapping[str, Forecaster], *, naive2: Forecaster
) -> pd.DataFrame:
    """Measure forecasters, which give (n_series, horizon), beside the first of them.

    One row each: MASE (mean over series of the mean absolute error over the mean absolute seasonal
    change of the training rows; a series that never changes is left out), sMAPE in percent, OWA
    (the mean of both over Naive2's), MASE over the first one's, seconds, and the process's peak
    memory so far in MB.
    """
    reference = _errors(panel, naive2(panel))
    rows = {}
    for name, forecaster in forecasters.items():
        started = time.perf_counter()
        forecast = forecaster(panel)
        seconds = time.perf_counter() - started
        errors = _errors(panel, forecast)
        owa = np.mean([errors[key] / reference[key] for key in errors])
        rows[name] = errors | {"OWA": owa, "seconds": seconds, "peak_mb": peak_memory()}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.insert(3, "relative", table["MASE"] / table["MASE"].iloc[0])
    return table


def published_errors(name: str, folder: str | Path) -> pd.DataFrame:
    """Read MASE and sMAPE of others on a panel's test part, from the tables beside it, if any."""
    rows: dict[str, dict[str, float]] = {}
    for error, file in (("MASE", "monash_mean_mase"), ("sMAPE", "monash_mean_smape")):
        for method, value in published_table(folder, file, name).items():
            rows.setdefault(str(method), {})[error] = value
    for method, value in published_table(folder, "chronos_zero_shot", name).items():
        if str(method).startswith("chronos") and str(method).endswith("_MASE"):
            rows[str(method).removesuffix("_MASE")] = {"MASE": value}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["MASE", "sMAPE"])


def published_table(folder: str | Path, file: str, name: str) -> pd.Series:
    """Read a panel's row of a table of published results; empty without the table or the row."""
    path = Path(folder) / f"{file}.csv"
    if not path.exists():
        return pd.Series(dtype=np.float64)
    table = pd.read_csv(path, index_col="panel", na_values="-")
    found: pd.Series = table.T.get(name, pd.Series(dtype=np.float64))
    return found.dropna()


def _times(labels: pd.Index, period: int) -> pd.Index:
    """Return the dates of rows; those that are numbered end together."""
    if not pd.api.types.is_numeric_dtype(labels):
        return pd.Index(pd.to_datetime(labels))
    frequency = _FREQUENCIES.get(period, "D")
    return pd.date_range(end=_LAST_START, periods=len(labels), freq=frequency)


def _filled(rows: Float64Array, period: int) -> Float64Array:
    known = np.flatnonzero(~np.isnan(rows))
    rows = rows[known[0] :].copy()
    for i in np.flatnonzero(np.isnan(rows)):
        rows[i] = rows[i - period] if i >= period else rows[i - 1]
    return rows


def _errors(panel: Panel, forecast: Float64Array) -> dict[str, float]:
    """Compute MASE and sMAPE, each a mean over series."""
    error = np.abs(forecast - panel.truth)
    size = np.abs(forecast) + np.abs(panel.truth)
    percent = 200 * error / np.where(size == 0, 1, size)
    scale = np.array([seasonal_change(rows, panel.period) for rows in panel.train])
    known = ~np.isnan(panel.truth).all(axis=1)
    mase = np.nanmean(error[known], axis=1) / scale[known]
    return {
        "MASE": float(np.nanmean(mase)),
        "sMAPE": float(np.nanmean(percent[known], axis=1).mean()),
    }
