"""Tables that whole fits are timed on: rows to fit to, rows behind them, and what they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data"))
DAY = 24


class Table(NamedTuple):
    """Rows, and the parameters that say what they are.

    train, later: frames; the latter's rows are forecast a window at a time.
    columns: arguments of the estimator besides its defaults.
    """

    train: pd.DataFrame
    later: pd.DataFrame
    columns: dict[str, Any]


def streets() -> Table:
    """Eight streets with holidays, as the quickstart has them, four weeks before its test."""
    from skinformer.datasets import load_auckland_holidays, load_auckland_pedestrians

    counts = load_auckland_pedestrians()
    holidays = load_auckland_holidays()
    n = 28 * DAY
    columns = {"target": list(counts), "known_future": list(holidays), "loss": "mae"}
    return _cut(
        counts.join(holidays)[:-n], n, columns | {"seq_len": 14 * DAY, "pred_len": DAY}
    )


def street() -> Table:
    """One street, of which nothing else is known."""
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians().iloc[:, -1:]
    return _cut(counts, 28 * DAY, {"seq_len": 96, "pred_len": DAY})


def etth1() -> Table:
    """Seven columns of a transformer, 336 hours to 96, up to the benchmark's test rows."""
    return _cut(read_rows("ETTh1.csv")[:11_520], 2880, {"seq_len": 336, "pred_len": 96})


def oil() -> Table:
    """One of these columns, 96 hours to 24."""
    rows = read_rows("ETTh1.csv")[["OT"]][:11_520]
    return _cut(rows, 2880, {"seq_len": 96, "pred_len": 24})


def bikes() -> Table:
    """Bike rentals with weather and holidays, up to the drivers' test rows."""
    rows = read_rows("drivers/bike_sharing.csv.gz").asfreq("h")
    known = ["holiday", "workingday", "temp", "atemp", "hum", "windspeed"]
    rows[known] = rows[known].ffill()
    n = 60 * DAY
    columns = {
        "target": "users",
        "known_future": known,
        "seq_len": 168,
        "pred_len": DAY,
    }
    return _cut(rows[["users", *known]][:-n], n, columns)


def stations() -> Table:
    """Twelve stations that measure fine dust, with their weather."""
    rows = pd.read_csv(DATA / "long_panels/beijing_air.csv.gz", parse_dates=["time"])
    rows = rows.set_index(["station", "time"]).sort_index()
    known = ["temperature", "pressure", "dew_point", "rain", "wind_speed"]
    rows[known] = rows.groupby(level=0)[known].transform(
        lambda x: x.interpolate().ffill().bfill()
    )
    times = rows.index.get_level_values(1)
    late = times > times.max() - pd.Timedelta(hours=60 * DAY)
    columns = {"target": "pm25", "known_future": known, "seq_len": 168, "pred_len": DAY}
    rows = rows[["pm25", *known]]
    return Table(rows[~late], rows[late], columns)


def levels() -> Table:
    """How crowded a street is: quiet, normal or busy."""
    people = street()
    low, high = people.train.iloc[:, 0].quantile([1 / 3, 2 / 3])
    names = ["quiet", "normal", "busy"]
    parts = (
        part.apply(pd.cut, bins=[-np.inf, low, high, np.inf], labels=names)
        for part in (people.train, people.later)
    )
    return Table(*parts, {"seq_len": 168, "pred_len": DAY})


TABLES = {
    make.__name__: make
    for make in (streets, street, etth1, oil, bikes, stations, levels)
}


def lagged(table: Table) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Lay out what is known of each row a window ahead, its truth, and whether it comes later.

    Lags of a window's length and more, by series and target; the clock; what is known ahead.
    """
    rows = pd.concat([table.train, table.later])
    is_panel = rows.index.nlevels > 1
    known = list(table.columns.get("known_future", ()))
    # 1. What all targets share: columns known ahead, the clock, and the split.
    shared = rows[known].copy()
    times = pd.DatetimeIndex(rows.index.get_level_values(-1))
    shared["hour"] = times.hour
    shared["weekday"] = times.dayofweek
    n_later = len(table.later) // _n_series(rows)
    shared["late"] = times > times.max() - n_later * step_of(times)
    # 2. The lags of each target.
    reach = table.columns["pred_len"]
    lags = [*range(reach, reach + 25), *range(7 * DAY, 28 * DAY + 1, 7 * DAY)]
    parts = []
    for number, target in enumerate(rows.columns.drop(known)):
        own = rows[target].groupby(level=0) if is_panel else rows[target]
        lagged_values = {f"lag {lag}": own.shift(lag) for lag in lags}
        part = pd.DataFrame(lagged_values, index=rows.index).join(shared)
        parts.append(part.assign(what=number, truth=rows[target]))
    # 3. All targets one below the other.
    laid = pd.concat(parts)
    if is_panel:
        laid["series"] = laid.index.get_level_values(0).astype("category").codes
    laid = laid[laid["truth"].notna()]
    return laid.drop(columns=["truth", "late"]), laid["truth"], laid["late"]


def step_of(times: pd.DatetimeIndex) -> pd.Timedelta:
    """Return the step of times, which may come once for each series."""
    return pd.Timedelta(np.diff(np.unique(times.to_numpy())).min())


def read_rows(name: str) -> pd.DataFrame:
    """Read a table of the data folder, whose first column is its time."""
    return pd.read_csv(DATA / name, index_col=0, parse_dates=True)


def _n_series(rows: pd.DataFrame) -> int:
    return rows.index.get_level_values(0).nunique() if rows.index.nlevels > 1 else 1


def _cut(rows: pd.DataFrame, n_later: int, columns: dict[str, Any]) -> Table:
    return Table(rows[:-n_later], rows[-n_later:], columns)
