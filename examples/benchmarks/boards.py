"""Tasks of GIFT-Eval and fev-bench that public files suffice for, and what others reached there.

A task is a table of columns by time, and what has to be forecast of it. Rows are read from
``SKINFORMER_BENCH_DATA`` and aggregated as the benchmarks do; docs/benchmarks.md says where each
file comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from tables import DATA, read_rows

PUBLISHED = Path(__file__).with_name("published")
GIFT, FEV = "GIFT-Eval", "fev-bench"

#: What quantile forecasts are measured by.
LOSSES = {GIFT: "CRPS", FEV: "SQL"}

#: Where published figures come from, and when.
SOURCES = {
    GIFT: "result files of SalesforceAIResearch/gift-eval, August 2026",
    FEV: "autogluon/fev, benchmarks/fev_bench/results, August 2026",
}

#: Rows that are looked back at, by frequency: two seasons or more.
LOOK_BACKS = {"15min": 672, "h": 336, "D": 56, "W": 52, "MS": 24, "QS": 12}


@dataclass(frozen=True)
class Task:
    """What is forecast, and how often.

    read: gives the rows; each column is a target, a column known ahead, or a series.
    horizon: steps ahead.
    season: rows of the seasonal naive forecast and of the errors' scale.
    frequency: what the look-back goes by.
    targets: the columns to forecast; none named are all.
    known: columns known ahead.
    n_windows: forecasts one after the other up to the last row; None: as many as a tenth of the
    rows holds, 20 at most.
    is_panel: whether each column is a series of its own.
    """

    board: str
    name: str
    read: Callable[[], pd.DataFrame]
    horizon: int
    season: int
    frequency: str
    targets: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    n_windows: int | None = None
    is_panel: bool = False

    def count_windows(self, n_rows: int) -> int:
        """Return how many windows of so many rows are forecast."""
        if self.n_windows is not None:
            return self.n_windows
        return min(max(1, math.ceil(n_rows / 10 / self.horizon)), 20)


# ----------------------------------------------------------------------------- aggregation
def aggregate(rows: pd.DataFrame, every: str, how: str, keep: str) -> pd.DataFrame:
    """Aggregate rows to periods.

    keep: "all" periods, "whole" ones, all "but the last", or "but first and last".
    """
    periods = rows.resample(every)
    found = periods.agg(how)
    if keep == "whole":
        n_rows = periods.count().max(axis=1)
        return found[n_rows == n_rows.max()]
    ends = {
        "all": slice(None),
        "but the last": slice(None, -1),
        "but first and last": slice(1, -1),
    }
    return found.iloc[ends[keep]]


def _periods(read: Callable[[], pd.DataFrame], *rule: str) -> pd.DataFrame:
    return aggregate(read(), *rule)


# ----------------------------------------------------------------------------------- files
def _file(name: str) -> pd.DataFrame:
    return read_rows(f"scoreboard/{name}.csv.gz")


def _panel(name: str) -> pd.DataFrame:
    """Read series that stand one below the other, and put them beside each other."""
    rows = pd.read_csv(DATA / f"panels/{name}.csv.gz", parse_dates=["t"])
    wide = rows.pivot_table(index="t", columns="series", values="y", sort=False)
    return wide.sort_index().astype(float)


def _transformers() -> pd.DataFrame:
    """Read the hours of both transformers of ETT."""
    tables = [read_rows(f"ETTh{i}.csv").add_suffix(f"_{i}") for i in (1, 2)]
    return pd.concat(tables, axis=1)


def _demand() -> pd.DataFrame:
    """Read load and temperature of GEFCom2014 from 2013 on."""
    rows = pd.read_csv(DATA / "scoreboard/gfc14.csv.gz").dropna(subset=["load"])
    hours = pd.to_timedelta(rows["Hour"] - 1, unit="h")
    rows.index = pd.DatetimeIndex(pd.to_datetime(rows["Date"]) + hours)
    return rows.loc["2013":, ["load", "T"]].asfreq("h")


def _tourism() -> pd.DataFrame:
    """Read tourists of Australia, whose rows are numbered quarters from 2000 on."""
    rows = pd.read_csv(DATA / "scoreboard/australian_tourism.csv.gz", index_col=0)
    quarters = pd.period_range("2000Q1", periods=len(rows), freq="Q")
    rows.index = quarters.to_timestamp()
    return rows


# ----------------------------------------------------------------------------------- tasks
#: By the part of a task's name: steps of a short task, rows of a season, frequency.
_GIFT_PARTS = {
    "15t": (48, 96, "15min"),
    "h": (48, 24, "h"),
    "d": (30, 1, "D"),
    "w": (8, 1, "W"),
    "m": (12, 12, "MS"),
}
_TERMS = {"short": 1, "medium": 10, "long": 15}


def _gift(
    name: str, read: Callable[[], pd.DataFrame], *, is_panel: bool = False
) -> Task:
    _, part, term = name.split("/")
    steps, season, frequency = _GIFT_PARTS[part]
    horizon = steps * _TERMS[term]
    return Task(GIFT, name, read, horizon, season, frequency, is_panel=is_panel)


_births = partial(_file, "us_births")
_river = partial(_file, "saugeen")
_sales = partial(_file, "hierarchical_sales")
_air = partial(_file, "uci_air_quality")
_quarters_of_hours = partial(read_rows, "ETTm1.csv.gz")
_births_by_week = partial(_periods, _births, "W-TUE", "sum", "whole")
_births_by_month = partial(_periods, _births, "MS", "sum", "all")
_river_by_week = partial(_periods, _river, "W-THU", "mean", "whole")
_river_by_month = partial(_periods, _river, "MS", "mean", "all")
_sales_by_week = partial(_periods, _sales, "W-WED", "sum", "but the last")
_air_by_day = partial(_periods, _air, "D", "mean", "but first and last")
_hours = partial(_periods, _quarters_of_hours, "h", "mean", "all")
_days = partial(_periods, _quarters_of_hours, "D", "mean", "whole")
_weeks = partial(_periods, _quarters_of_hours, "W-THU", "mean", "whole")
_both_by_day = partial(_periods, _transformers, "D", "mean", "but first and last")
_both_by_week = partial(_periods, _transformers, "W-SUN", "mean", "but first and last")

_POLLUTION = {
    "targets": ("C6H6(GT)", "CO(GT)", "NO2(GT)", "NOx(GT)"),
    "known": ("AH", "RH", "T"),
}
_GIFT_TASKS = (
    _gift("car_parts/m/short", partial(_panel, "car_parts"), is_panel=True),
    _gift("covid_deaths/d/short", partial(_panel, "covid_deaths"), is_panel=True),
    _gift("us_births/d/short", _births),
    _gift("us_births/w/short", _births_by_week),
    _gift("us_births/m/short", _births_by_month),
    _gift("saugeen/d/short", _river),
    _gift("saugeen/w/short", _river_by_week),
    _gift("saugeen/m/short", _river_by_month),
    _gift("hierarchical_sales/d/short", _sales, is_panel=True),
    _gift("hierarchical_sales/w/short", _sales_by_week, is_panel=True),
    _gift("ett1/15t/short", _quarters_of_hours),
    _gift("ett1/15t/medium", _quarters_of_hours),
    _gift("ett1/15t/long", _quarters_of_hours),
    _gift("ett1/h/short", _hours),
    _gift("ett1/h/medium", _hours),
    _gift("ett1/h/long", _hours),
    _gift("ett1/d/short", _days),
    _gift("ett1/w/short", _weeks),
)
_FEV_TASKS = (
    Task(FEV, "ETT_1H", _transformers, 168, 24, "h", n_windows=20),
    Task(FEV, "ETT_1D", _both_by_day, 28, 7, "D", n_windows=20),
    Task(FEV, "ETT_1W", _both_by_week, 13, 1, "W", n_windows=5),
    Task(FEV, "australian_tourism", _tourism, 8, 4, "QS", n_windows=2, is_panel=True),
    Task(
        FEV,
        "proenfo_gfc14",
        _demand,
        168,
        24,
        "h",
        targets=("load",),
        known=("T",),
        n_windows=20,
    ),
    Task(FEV, "uci_air_quality_1H", _air, 168, 24, "h", n_windows=20, **_POLLUTION),
    Task(
        FEV, "uci_air_quality_1D", _air_by_day, 28, 7, "D", n_windows=11, **_POLLUTION
    ),
    Task(FEV, "hierarchical_sales_1D", _sales, 28, 7, "D", n_windows=10, is_panel=True),
    Task(
        FEV,
        "hierarchical_sales_1W",
        _sales_by_week,
        13,
        1,
        "W",
        n_windows=10,
        is_panel=True,
    ),
)
TASKS = {task.name: task for task in (*_GIFT_TASKS, *_FEV_TASKS)}


# ------------------------------------------------------------------------- published figures
def read_published() -> pd.DataFrame:
    """Read what others published: task, model, kind, MASE, quantile loss (CRPS or SQL), leak.

    leak: whether the model is known to have been trained on the task's data.
    """
    files = {GIFT: "gift_eval.csv", FEV: "fev_bench.csv"}
    tables = []
    for board, name in files.items():
        table = pd.read_csv(PUBLISHED / name).rename(
            columns={LOSSES[board]: "quantile_loss"}
        )
        tables.append(table.assign(board=board))
    return pd.concat(tables, ignore_index=True)
