"""What one wild value does to forecasts: the table of notes/robustness.md.

Run ``python examples/benchmarks/robustness.py``. Seven kinds of wild values spoil four tables in
the training rows, in the context of forecasts, at the last row before them, and in a column known
ahead; each error is divided by that without the value. The reference is LightGBM by absolute
errors on lags, or scikit-learn's boosting where LightGBM is not installed. Wild values lie at the
largest value of a stretch of rows; in a panel in every tenth series.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_pedestrians

DATA = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data"))
KINDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "×30": lambda v: v * 30,
    "×100": lambda v: v * 100,
    "×1000": lambda v: v * 1000,
    "×10⁶": lambda v: v * 1e6,
    "zero": lambda v: v * 0,
    "sign": lambda v: -v,
    "unit": lambda v: v * 1000,
}
PLACES = ("training", "two in a row", "context", "last", "known ahead")


@dataclass(frozen=True)
class Table:
    """Series of equal length, and where they are forecast from."""

    name: str
    values: np.ndarray  # (n_series, n_rows)
    known: np.ndarray  # likewise
    times: pd.DatetimeIndex
    season: int
    n_train: int
    origins: tuple[int, ...]
    seq_len: int
    pred_len: int
    back: int  # rows before an origin that are spoilt

    def frame(self, values: np.ndarray, known: np.ndarray, stop: int) -> pd.DataFrame:
        """Return all rows before `stop` as the estimator takes them."""
        labels = pd.MultiIndex.from_product([range(len(values)), self.times[:stop]])
        frame = pd.DataFrame(
            {"y": values[:, :stop].ravel(), "known": known[:, :stop].ravel()}
        )
        frame.index = labels if len(values) > 1 else self.times[:stop]
        return frame


def _cut(
    name: str, values: np.ndarray, known: np.ndarray, times: pd.Index, **sizes: int
) -> Table:
    n_train, gap, n = sizes.pop("n_train"), sizes.pop("gap"), sizes.pop("n_origins")
    first = n_train + sizes["back"] + 1
    origins = tuple(range(first, first + gap * n, gap))
    stop = origins[-1] + sizes["pred_len"]
    times = pd.DatetimeIndex(times[:stop])
    return Table(
        name,
        values[:, :stop],
        known[:, :stop],
        times,
        n_train=n_train,
        origins=origins,
        **sizes,
    )


def tables() -> list[Table]:
    """Read the four tables, cut so that a default fit takes seconds."""
    return [read_counts(), read_bikes(), read_car_parts(), read_covid_deaths()]


#: Sizes of the tables of hours.
HOURS = {
    "season": 24,
    "n_train": 1500,
    "gap": 41,
    "n_origins": 8,
    "seq_len": 48,
    "pred_len": 24,
    "back": 30,
}


def read_counts() -> Table:
    """Read pedestrians of a street; weekends are known ahead."""
    counts = load_auckland_pedestrians()[["45 Queen Street"]].astype(float)
    weekend = (counts.index.dayofweek >= 5).astype(float)
    return _cut("counts", counts.to_numpy().T, weekend[None], counts.index, **HOURS)


def read_bikes() -> Table:
    """Read bicycle rentals; the temperature is known ahead."""
    path = DATA / "drivers/bike_sharing.csv.gz"
    bikes = pd.read_csv(path, index_col=0, parse_dates=True)[9000:]
    users = bikes[["users"]].to_numpy(float).T
    temperature = bikes[["temp"]].to_numpy(float).T
    return _cut("bikes", users, temperature, bikes.index, **HOURS)


def read_car_parts() -> Table:
    """Read monthly sales of car parts, 100 series; a field of the calendar is known ahead."""
    sizes = {"season": 12, "seq_len": 12, "pred_len": 6, "back": 3}
    cuts = {"n_train": 36, "gap": 2, "n_origins": 3}
    wide = _read_panel("car_parts", n_train=36)[:100]
    times = pd.date_range("2020-01-01", periods=wide.shape[1], freq="MS")
    known = np.tile(times.month.to_numpy() % 3.0, (len(wide), 1))
    return _cut("car_parts", wide.to_numpy(float), known, times, **sizes, **cuts)


def read_covid_deaths() -> Table:
    """Read daily deaths of Covid-19, 40 series; a field of the calendar is known ahead."""
    sizes = {"season": 7, "seq_len": 28, "pred_len": 14, "back": 8}
    cuts = {"n_train": 160, "gap": 5, "n_origins": 4}
    wide = _read_panel("covid_deaths", n_train=160)[:40]
    times = pd.date_range("2020-01-01", periods=wide.shape[1], freq="D")
    known = np.tile(times.dayofweek.to_numpy() % 3.0, (len(wide), 1))
    return _cut("covid_deaths", wide.to_numpy(float), known, times, **sizes, **cuts)


def _read_panel(name: str, n_train: int) -> pd.DataFrame:
    """Read series as rows, but those of which less than a fifth of training rows is above 0."""
    long = pd.read_csv(DATA / f"panels/{name}.csv.gz")
    wide = long.pivot_table(index="series", columns="t", values="y").dropna()
    n_positive = (wide.iloc[:, :n_train] > 0).sum(axis=1)
    return wide[n_positive > n_train // 5]


def spoil(values: np.ndarray, kind: str, rows: slice, *, n: int = 1) -> np.ndarray:
    """Spoil the largest value of some rows, or all from there on."""
    values = values.astype(float).copy()
    for i in range(0, len(values), 10):
        at = rows.start + int(np.argmax(values[i, rows]))
        stop = None if kind == "unit" else at + n
        values[i, at:stop] = KINDS[kind](values[i, at:stop])
    return values


class Ours:
    """The estimator with its defaults, but for the sizes and what `--members` says."""

    members: str | list[str] = "auto"

    def __init__(self, table: Table, values: np.ndarray, known: np.ndarray) -> None:
        self.table = table
        model = InformerRegressor(
            "y",
            seq_len=table.seq_len,
            pred_len=table.pred_len,
            known_future=["known"],
            members=self.members,
            training=Training(max_iter=1),
            random_state=0,
        )
        self.model = model.fit(table.frame(values, known, table.n_train))

    def forecast(
        self, values: np.ndarray, known: np.ndarray, origin: int
    ) -> np.ndarray:
        """Forecast all series from an origin, (n_series, pred_len)."""
        values = values.copy()
        values[:, origin:] = np.nan
        stop = origin + self.table.pred_len
        frame = self.table.frame(values, known, stop)
        time = frame.index.get_level_values(-1)
        forecast = self.model.forecast(
            frame[time >= self.table.times[self.table.n_train]]
        )
        return forecast["y"].to_numpy().reshape(len(values), -1)


class Lags:
    """Boosting by absolute errors on the last values, and what is known of the step."""

    def __init__(self, table: Table, values: np.ndarray, known: np.ndarray) -> None:
        self.table = table
        origins = np.arange(table.seq_len, table.n_train - table.pred_len)
        origins = origins[
            :: max(1, len(origins) * len(values) * table.pred_len // 20_000)
        ]
        parts = [self._features(values, known, origin) for origin in origins]
        truth = [values[:, o : o + table.pred_len].ravel() for o in origins]
        try:
            from lightgbm import LGBMRegressor

            model = LGBMRegressor(
                objective="l1", n_estimators=100, n_jobs=1, verbose=-1
            )
        except ImportError:
            from sklearn.ensemble import HistGradientBoostingRegressor

            model = HistGradientBoostingRegressor(loss="absolute_error", max_iter=100)
        self.model = model.fit(np.concatenate(parts), np.concatenate(truth))

    def _features(
        self, values: np.ndarray, known: np.ndarray, origin: int
    ) -> np.ndarray:
        season, pred_len = self.table.season, self.table.pred_len
        steps = np.arange(pred_len)
        last = values[:, origin - self.table.seq_len : origin]
        phase = origin + steps - season * (steps // season + 1)
        same = values[:, np.maximum(phase, 0)]
        shape = (len(values), pred_len)
        parts = [
            np.broadcast_to(last[:, None], (*shape, last.shape[1])),
            same[..., None],
        ]
        parts.append(known[:, origin : origin + pred_len, None])
        phases = (steps, (origin + steps) % season, (origin + steps) // season % 7)
        parts += [np.broadcast_to(each, shape)[..., None] for each in phases]
        return np.concatenate(parts, axis=2).reshape(shape[0] * pred_len, -1)

    def forecast(
        self, values: np.ndarray, known: np.ndarray, origin: int
    ) -> np.ndarray:
        """Forecast all series from an origin, (n_series, pred_len)."""
        forecast = self.model.predict(self._features(values, known, origin))
        return forecast.reshape(len(values), -1)


def error(model: Ours | Lags, table: Table, kind: str = "", place: str = "") -> float:
    """Compute the mean absolute error over the origins, each spoilt by itself."""
    errors = []
    unit = np.ones((len(table.values), 1))
    if kind == "unit" and place != "known ahead":
        unit[::10] = 1000
    for origin in table.origins:
        values = table.values
        known = table.known
        if place in ("context", "last"):
            values = spoil(values, kind, rows_before(origin, table, place))
        elif kind == "unit" and place in ("training", "two in a row"):
            values = values * unit
        elif place == "known ahead":
            first = table.n_train + 1 if kind == "unit" else origin
            stop = origin if kind == "unit" else origin + 6
            known = spoil(known, kind, slice(first, stop))
        forecast = model.forecast(values, known, origin) / unit
        truth = table.values[:, origin : origin + table.pred_len]
        errors.append(np.abs(forecast - truth).mean())
    return float(np.mean(errors))


def rows_before(origin: int, table: Table, place: str) -> slice:
    """Return the rows before an origin of which one is spoilt."""
    first = origin - (table.back if place == "context" else 1)
    n_rows = 6 if table.back > 20 else 1
    return slice(first, min(first + n_rows, origin))


def measure(
    table: Table, make: type[Ours] | type[Lags]
) -> dict[tuple[str, str], float]:
    """Measure all cells of a table, as ratios to the error without wild values."""
    clean = make(table, table.values, table.known)
    usual = error(clean, table)
    found = {("", ""): usual}
    middle = slice(table.n_train // 2, table.n_train // 2 + table.season)
    for kind in KINDS:
        for place in PLACES:
            if place in ("training", "two in a row"):
                if kind == "unit" and place == "two in a row":
                    continue
                n = 1 if place == "training" else 2
                model = make(table, spoil(table.values, kind, middle, n=n), table.known)
            else:
                model = clean
            found[kind, place] = error(model, table, kind, place) / usual
            if place == "known ahead":
                dirty = make(table, table.values, spoil(table.known, kind, middle))
                rest = "" if kind != "unit" else kind
                ratio = error(dirty, table, rest, place if rest else "") / usual
                found[kind, "known, training"] = ratio
    return found


def main() -> int:
    """Print a table for each of the four."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("names", nargs="*", help="of tables; all by default")
    parser.add_argument("--ours-only", action="store_true", help="no reference")
    parser.add_argument(
        "--members", nargs="*", help="of the estimator; ridges network is quicker"
    )
    options = parser.parse_args()
    Ours.members = options.members or "auto"
    warnings.simplefilter("ignore")
    places = (*PLACES[:4], "known, training", "known ahead")
    for table in tables():
        if options.names and table.name not in options.names:
            continue
        both = [measure(table, Ours)]
        if not options.ours_only:
            both.append(measure(table, Lags))
        errors = " and ".join(f"{one['', '']:.4g}" for one in both)
        rows = [f"| {table.name} ({errors}) | " + " | ".join(places) + " |"]
        rows.append("|---" * (len(places) + 1) + "|")
        for kind in KINDS:
            cells = [
                " / ".join(
                    f"{one[kind, p]:.2f}" if (kind, p) in one else "–" for one in both
                )
                for p in places
            ]
            rows.append(f"| {kind} | " + " | ".join(cells) + " |")
        sys.stdout.write("\n".join(rows) + "\n\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
