"""Measure forecasts of a series whose drivers (weather, holidays) are known ahead.

Run ``python measure.py --drivers bike_sharing --drivers-folder FOLDER``. A series is
``NAME.csv.gz``, its first column time. Rows become hourly means; the last 60 whole days are the
test rows, and from each midnight of them 48 hours are forecast: fitted once on what lies before,
history up to the midnight and the drivers of all 48 hours given. For development the test rows are
cut off first, and the 60 days before them take their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from protocol import peak_memory
from series import read_times

from skinformer.timeline.arrays import Float64Array, IntArray

DAY = 24  # rows of a day, and between two origins
HORIZON = 48  # rows forecast from each
_TEST_DAYS = 60


class Columns(NamedTuple):
    """Which columns of a file take part."""

    target: str
    known: tuple[str, ...]


#: Files whose columns are not simply time, target and drivers.
_COLUMNS = {
    "bike_sharing": Columns(
        "users", ("holiday", "workingday", "temp", "atemp", "hum", "windspeed")
    ),
    "vic_electricity": Columns("Demand", ("Temperature", "Holiday")),
}


@dataclass(frozen=True)
class Driven:
    """A series with columns that are known ahead.

    frame: hourly rows under their time: the target first, then what is known ahead.
    n_train: rows to fit to; the rest is forecast.
    """

    name: str
    frame: pd.DataFrame
    n_train: int

    @property
    def origins(self) -> IntArray:
        """The row of each midnight from which all 48 hours can be measured."""
        return np.arange(self.n_train, len(self.frame) - HORIZON + 1, DAY)

    @property
    def ahead(self) -> IntArray:
        """The rows forecast from each origin, shape (n_origins, 48)."""
        return self.origins[:, None] + np.arange(HORIZON)


#: What forecasts a series: gives shape (n_origins, 48).
Forecaster: TypeAlias = Callable[[Driven], Float64Array]


def load_driven(
    name: str, folder: str | Path, *, development: bool = False, drivers: bool = True
) -> Driven:
    """Read a series with drivers, from its first whole day to its last one.

    But for the two of the protocol its columns are time, the target and, where they are numbers,
    drivers. ``development`` cuts off the test rows first; without ``drivers`` only the target is
    kept.
    """
    rows = pd.read_csv(Path(folder) / f"{name}.csv.gz", index_col=0)
    numbers = [str(column) for column in rows.select_dtypes("number").columns]
    target, known = _COLUMNS.get(name, Columns(numbers[0], tuple(numbers[1:])))
    rows = rows[[target, *(known if drivers else ())]].astype(np.float64)
    rows.index = read_times(rows.index.astype(str), rows.index.name)
    hours = rows.resample("h").mean()
    first, last = (
        hours.index[0].ceil("D"),
        (hours.index[-1] + pd.Timedelta(hours=1)).floor("D"),
    )
    hours = hours[(hours.index >= first) & (hours.index < last)]
    n_test = _TEST_DAYS * DAY
    n_train = len(hours) - n_test * (1 + development)
    if n_train < n_test:
        raise ValueError(
            f"{name} holds {len(hours) // DAY} whole days: {_TEST_DAYS} are forecast, and at least "
            "as many have to come before them."
        )
    return Driven(name, hours.iloc[: n_train + n_test], n_train)


def measure_driven(
    driven: Driven, forecasters: Mapping[str, Forecaster]
) -> pd.DataFrame:
    """Measure forecasters, which give (n_origins, 48), beside the first of them.

    One row each: MAE and RMSE in the target's units, MAE over the first one's, seconds, and the
    process's peak memory so far in MB. Truths that are missing are left out.
    """
    truth = driven.frame.iloc[:, 0].to_numpy()[driven.ahead]
    rows = {}
    for name, forecaster in forecasters.items():
        started = time.perf_counter()
        error = (forecaster(driven) - truth)[~np.isnan(truth)]
        rows[name] = {
            "MAE": float(np.abs(error).mean()),
            "RMSE": float(np.sqrt((error**2).mean())),
            "seconds": time.perf_counter() - started,
            "peak_mb": peak_memory(),
        }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.insert(2, "relative", table["MAE"] / table["MAE"].iloc[0])
    return table
