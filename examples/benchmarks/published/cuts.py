"""Panels of long series, cut from tables: pieces of unlike columns, units and lengths.

Run ``python measure.py --panel cut_hourly_unlike --panels-folder FOLDER``, where the folder beside
FOLDER's name, its parent, holds the tables: WTH.csv, ETTh1.csv, ETTh2.csv, ``drivers/`` and
``long_panels/``. Counts of pedestrians come with the package. Every call cuts the same pieces.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.datasets import load_auckland_pedestrians


class Cut(NamedTuple):
    """What is cut: columns of which tables, summed over which steps, how many pieces of what size.

    rows: of the shortest and the longest piece, the test part included.
    period: rows of a season.
    """

    tables: tuple[str, ...]
    step: str
    n_series: int
    rows: tuple[int, int]
    horizon: int
    period: int


_LOAD, _ALL = (
    ("ett1", "ett2", "vic", "bike"),
    ("counts", "ett1", "ett2", "vic", "bike", "weather"),
)
CUTS = {
    "cut_hourly_counts": Cut(("counts",), "h", 48, (700, 1000), 48, 24),
    "cut_hourly_load": Cut(_LOAD, "h", 48, (700, 1000), 48, 24),
    "cut_hourly_unlike": Cut(_ALL, "h", 64, (300, 1000), 48, 24),
    "cut_hourly_air": Cut(("air",), "h", 48, (300, 1000), 24, 24),
    "cut_daily_unlike": Cut(_ALL, "D", 64, (300, 720), 14, 7),
    "cut_daily_air": Cut(("air",), "D", 60, (300, 1000), 14, 7),
    "cut_weekly_unlike": Cut(("weather", "vic", "counts"), "W", 40, (104, 205), 13, 52),
    "cut_weekly_air": Cut(("air",), "W", 60, (104, 205), 13, 52),
}


def cut_pieces(name: str, folder: Path) -> dict[str, pd.Series]:
    """Cut the pieces of a panel, by name.

    Tables are parted into equal times, a longest piece each. A piece is the end of one column in
    one of them, so that none holds rows of the time that another one is tested on.
    """
    cut, rng = CUTS[name], np.random.default_rng(zlib.crc32(name.encode()))
    ends = []
    for table in cut.tables:
        sums = _summed(_TABLES[table](folder.parent), cut.step).add_prefix(f"{table} ")
        times = np.arange(len(sums), min(cut.rows[1], len(sums)) - 1, -cut.rows[1])
        ends += [sums[column].iloc[:end] for column in sums for end in times]
    pieces = {}
    for i, place in enumerate(rng.permutation(len(ends))[: cut.n_series]):
        length = int(rng.integers(cut.rows[0], cut.rows[1] + 1))
        pieces[f"{i} {ends[place].name}"] = ends[place].iloc[-length:]
    return pieces


def _summed(table: pd.DataFrame, step: str) -> pd.DataFrame:
    """Sum up over steps, without the first and the last, which may be no whole ones."""
    steps = table.resample(step)
    known, whole = steps.count(), steps.size().median()
    sums: pd.DataFrame = (steps.mean() * whole).where(known >= 0.8 * whole).iloc[1:-1]
    return sums


def _read(path: Path, time: str) -> pd.DataFrame:
    table = pd.read_csv(path)
    table.index = pd.DatetimeIndex(
        pd.to_datetime(table.pop(time), utc=True)
    ).tz_localize(None)
    numbers: pd.DataFrame = table.select_dtypes("number").resample("h").mean()
    return numbers


def _counts(_: Path) -> pd.DataFrame:
    counts: pd.DataFrame = (
        load_auckland_pedestrians().tz_convert("UTC").tz_localize(None)
    )
    return counts


def _air(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "long_panels/beijing_air.csv.gz", parse_dates=["time"])
    names = ["pm25", "no2", "o3", "temperature", "wind_speed"]
    wide = table.pivot_table(index="time", columns="station", values=names)
    return wide.set_axis([" ".join(pair) for pair in wide.columns], axis=1)


#: Readers of hourly tables.
_TABLES: dict[str, Callable[[Path], pd.DataFrame]] = {
    "counts": _counts,
    "ett1": lambda folder: _read(folder / "ETTh1.csv", "date"),
    "ett2": lambda folder: _read(folder / "ETTh2.csv", "date"),
    "vic": lambda folder: _read(folder / "drivers/vic_electricity.csv.gz", "Time").drop(
        columns="Holiday"
    ),
    "bike": lambda folder: _read(folder / "drivers/bike_sharing.csv.gz", "date_time")[
        ["users", "temp", "hum", "windspeed"]
    ],
    "weather": lambda folder: _read(folder / "WTH.csv", "date").filter(
        regex="^(?!.*Farenheit)"
    ),
    "air": _air,
}
