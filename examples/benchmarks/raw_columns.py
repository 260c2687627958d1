"""What columns cost that come as a file holds them: text, holes, and what a user makes of them.

Run ``python examples/benchmarks/raw_columns.py``. Each table is forecast twice, with columns as
they come and with columns prepared by hand: names as columns of 0 and 1, holes filled. Bikes are
hourly rentals whose weather is text and whose measurements lack rows, one by one and for days;
shops are made: sales of days with a promotion, the name of a holiday, and what kind of shop it is;
events are such shops with the names of thirty events. Prints mean absolute errors and their ratio;
``--seeds 0 1 2`` draws other holes and shops.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer import InformerRegressor

DATA = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data"))
DAY = 24
#: What shops sell on the days of a holiday, beside one.
HOLIDAYS = {"christmas": 1.8, "easter": 1.3, "labour day": 0.3, "unity day": 0.5}


class Table(NamedTuple):
    """Rows as they come, the same prepared by hand, and how they are forecast."""

    raw: pd.DataFrame
    by_hand: pd.DataFrame
    target: str
    n_test: int
    sizes: dict[str, int]


def bikes(seed: int) -> Table:
    """Hourly rentals; a twelfth of the measurements is missing."""
    rows = pd.read_csv(
        DATA / "drivers/bike_sharing.csv.gz", index_col=0, parse_dates=True
    )
    known = ["holiday", "workingday", "weather", "temp", "atemp", "hum", "windspeed"]
    raw = rows.asfreq("h")[[*known, "users"]]
    rng = np.random.default_rng(seed)
    for name in ("temp", "atemp", "hum"):
        is_lost = rng.random(len(raw)) < 0.02
        for start in rng.integers(0, len(raw) - 72, size=30):
            is_lost[start : start + rng.integers(6, 72)] = True
        raw[name] = raw[name].mask(is_lost)
    filled = raw.ffill().bfill()
    by_hand = pd.get_dummies(filled, columns=["weather"], dtype=float)
    return Table(
        raw,
        _with_last(by_hand, "users"),
        "users",
        60 * DAY,
        {"seq_len": 7 * DAY, "pred_len": DAY},
    )


def shops(seed: int) -> Table:
    """Two years of daily sales of thirty shops of three types."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2023-01-01", periods=730)
    holiday = _holidays(days)
    parts = {}
    for number in range(30):
        kind = rng.choice(["city", "station", "village"])
        size = rng.lognormal(6, 0.5)
        week = {"city": 0.7, "station": 1.0, "village": 0.4}[kind]
        promotion = np.repeat(rng.random(105) < 0.4, 7)[: len(days)]
        lift = {"city": 1.3, "station": 1.1, "village": 1.5}[kind]
        level = np.where(days.day_of_week >= 5, week, 1.0)
        level = level * np.where(promotion, lift, 1.0) * holiday.map(HOLIDAYS).fillna(1)
        weather = rng.choice(["dry", "rain", "storm"], len(days), p=[0.6, 0.3, 0.1])
        level = level * pd.Series(weather).map({"dry": 1, "rain": 0.9, "storm": 0.6})
        parts[f"shop {number:02}"] = pd.DataFrame(
            {
                "kind": kind,
                "distance": np.nan if number % 7 == 0 else rng.lognormal(7),
                "weather": pd.Series(weather).mask(rng.random(len(days)) < 0.02),
                "temperature": pd.Series(
                    10 - 8 * np.cos(days.day_of_year / 58) + rng.normal(0, 3, len(days))
                ).mask(rng.random(len(days)) < 0.05),
                "promotion": promotion,
                "holiday": holiday,
                "sales": size * level * rng.lognormal(0, 0.1, len(days)),
            }
        ).set_index(days)
    raw = pd.concat(parts, names=["shop", "day"])
    by_hand = raw.assign(
        distance=raw["distance"].fillna(raw["distance"].median()),
        temperature=raw.groupby(level=0)["temperature"].ffill().bfill(),
    )
    by_hand = pd.get_dummies(
        by_hand, columns=["kind", "weather", "holiday"], dtype=float
    )
    return Table(
        raw, _with_last(by_hand, "sales"), "sales", 56, {"seq_len": 28, "pred_len": 14}
    )


def events(seed: int) -> Table:
    """Ten shops at which each of thirty events takes place some six times."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2023-01-01", periods=730)
    effects = pd.Series(
        rng.lognormal(0, 0.4, 30), [f"event {number}" for number in range(30)]
    )
    is_event = rng.random(len(days)) < 0.25
    names = pd.Series(rng.choice(effects.index, len(days))).where(is_event)
    effect = names.map(effects).fillna(1.0)
    week = np.where(days.day_of_week >= 5, 0.6, 1.0)
    parts = {}
    for number in range(10):
        noise = rng.lognormal(0, 0.1, len(days))
        sales = rng.lognormal(6, 0.5) * week * effect * noise
        part = pd.DataFrame({"event": names, "sales": sales}).set_index(days)
        parts[f"shop {number:02}"] = part
    raw = pd.concat(parts, names=["shop", "day"])
    by_hand = pd.get_dummies(raw, columns=["event"], dtype=float)
    return Table(
        raw, _with_last(by_hand, "sales"), "sales", 112, {"seq_len": 28, "pred_len": 14}
    )


TABLES: dict[str, Callable[[int], Table]] = {
    make.__name__: make for make in (bikes, shops, events)
}


def error_of(table: Table, rows: pd.DataFrame) -> float:
    """Return the mean absolute error on the last rows, a block after the other."""
    known = [name for name in rows if name != table.target]
    model = InformerRegressor(
        table.target, known_future=known, random_state=0, **table.sizes
    )
    n_series = rows.groupby(level=0).ngroups if rows.index.nlevels > 1 else 1
    first = len(rows) // n_series - table.n_test
    is_late = np.arange(len(rows)) % (len(rows) // n_series) >= first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of holes
        model.fit(rows[~is_late])
        y_pred = model.predict(rows[is_late])
    return np.abs(y_pred - rows.loc[is_late, table.target]).mean()


def _holidays(days: pd.DatetimeIndex) -> pd.Series:
    """Name the holidays among days; most days have no name."""
    dates = {
        "christmas": ["12-22", "12-23", "12-24"],
        "easter": ["04-07", "04-08", "04-06"],
        "labour day": ["05-01"],
        "unity day": ["10-03"],
    }
    names = {day: name for name, listed in dates.items() for day in listed}
    return pd.Series(days.strftime("%m-%d")).map(names)


def _with_last(rows: pd.DataFrame, target: str) -> pd.DataFrame:
    """Move the target behind all other columns."""
    return rows[[*rows.columns.drop(target), target]]


def main() -> None:
    """Measure all tables, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    print("| table | as it comes | by hand | ratio |\n|---|---|---|---|")
    for name in arguments.tables:
        for seed in arguments.seeds:
            table = TABLES[name](seed)
            raw = error_of(table, table.raw)
            by_hand = error_of(table, table.by_hand)
            print(
                f"| {name}, {seed} | {raw:.4g} | {by_hand:.4g} | {raw / by_hand:.3f} |"
            )


if __name__ == "__main__":
    main()
