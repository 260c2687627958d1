"""How well the defaults forecast ordinary data: the tables of notes/ordinary.md.

Run ``python examples/benchmarks/ordinary.py``; ``--part 0.05`` runs a random part of the cells.

A cell is a frequency, a shape and a number of rows. Seventeen shapes are what small firms have:
a season with noise, growth, a line, a walk, counts, rare sales, a step, a late start, holes, hours
that are never open. Each cell is drawn by some seeds, fitted by defaults and forecast; its error is
divided by that of the simple forecast that suits frequency and shape best over all numbers of rows:
the last value, the last season, the mean of each place in the season, the mean, or the line through
the first and the last row. Cells in which anything absurd is forecast are listed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from skinformer import InformerRegressor

#: Added to relative errors, in parts of a series' mean deviation: differences below do not count.
NEGLIGIBLE = 0.02
#: How many spreads of what was seen a forecast may lie outside of it.
FARTHEST = 1.5
N_SERIES = 8  # of a panel


@dataclass(frozen=True)
class Frequency:
    """A frequency, with its season, a longer one (0 for none), and what is fitted and forecast."""

    name: str
    season: int
    long_season: int
    horizon: int
    n_rows: tuple[int, ...]


FREQUENCIES = (
    Frequency("15min", 96, 672, 96, (200, 300, 700, 2100)),
    Frequency("h", 24, 168, 24, (50, 72, 119, 121, 143, 200, 340, 700, 1600)),
    Frequency("D", 7, 0, 14, (14, 21, 28, 60, 109, 124, 200, 400, 1100)),
    Frequency("B", 5, 0, 10, (15, 30, 60, 120, 260, 520)),
    Frequency("W-SUN", 52, 0, 8, (20, 52, 60, 104, 105, 130, 160, 260)),
    Frequency("MS", 12, 0, 6, (8, 12, 18, 24, 25, 30, 36, 48, 60, 120)),
    Frequency("QS", 4, 0, 4, (6, 8, 9, 12, 13, 16, 24, 40)),
    Frequency("YS", 1, 0, 3, (5, 6, 8, 12, 20, 40)),
)


@dataclass(frozen=True)
class Draw:
    """What shapes are made from: steps, of which the first `n_rows` are fitted, and a generator."""

    steps: np.ndarray
    n_rows: int
    frequency: Frequency
    rng: np.random.Generator

    def normal(self, scale: float) -> np.ndarray:
        """Return noise at each step."""
        return scale * self.rng.normal(size=len(self.steps))

    def profile(self, season: int) -> np.ndarray:
        """Return a profile of two waves and something of each place, of size 1, at each step."""
        place = np.arange(season)
        first, second = self.rng.uniform(0, 2 * np.pi, 2)
        profile = np.sin(2 * np.pi * place / season + first)
        profile += 0.5 * np.sin(4 * np.pi * place / season + second)
        profile += 0.4 * self.rng.normal(size=season)
        return (profile - profile.mean())[self.steps % season]

    def seasonal(self) -> np.ndarray:
        """Return a profile of the season at each step."""
        return self.profile(self.frequency.season)

    def is_late_in_season(self, share: float) -> np.ndarray:
        """Return whether a step lies behind this share of its season."""
        season = self.frequency.season
        return self.steps % season >= max(1, int(share * season))


def wave(draw: Draw) -> np.ndarray:
    """Return a season and noise."""
    return 100 + 20 * draw.seasonal() + draw.normal(3)


def two_waves(draw: Draw) -> np.ndarray:
    """Return a season, a longer one where the frequency has one, and noise."""
    y = 100 + 15 * draw.seasonal()
    if draw.frequency.long_season:
        y += 15 * draw.profile(draw.frequency.long_season)
    return y + draw.normal(3)


def growth(draw: Draw) -> np.ndarray:
    """Return exponential growth with a season that grows with it."""
    length = max(draw.n_rows, 4 * draw.frequency.season)
    season = 1 + 0.25 * draw.seasonal()
    return 50 * np.exp(draw.steps / length) * season * np.exp(draw.normal(0.03))


def line(draw: Draw) -> np.ndarray:
    """Return a line up or down, and noise."""
    return 100 + draw.rng.choice([-60, 60]) * draw.steps / draw.n_rows + draw.normal(3)


def walk(draw: Draw) -> np.ndarray:
    """Return a random walk."""
    return 100 + np.cumsum(draw.normal(2))


def noise(draw: Draw) -> np.ndarray:
    """Return noise around a level."""
    return 100 + draw.normal(10)


def counts(draw: Draw) -> np.ndarray:
    """Return counts of a seasonal mean of about six."""
    return draw.rng.poisson(6 * np.exp(0.6 * draw.seasonal())).astype(float)


def rare(draw: Draw) -> np.ndarray:
    """Return sales at one step of four."""
    sold = draw.rng.random(len(draw.steps)) < 0.25
    return np.where(sold, draw.rng.integers(1, 6, len(draw.steps)), 0).astype(float)


def step(draw: Draw) -> np.ndarray:
    """Return a season whose level rises before the last quarter."""
    new = draw.steps >= draw.n_rows - max(draw.n_rows // 4, 3)
    return wave(draw) + 80 * new


def late(draw: Draw) -> np.ndarray:
    """Return a season of which the first third is missing."""
    return np.where(draw.steps < draw.n_rows // 3, np.nan, wave(draw))


def launched(draw: Draw) -> np.ndarray:
    """Return a season that is 0 for the first third."""
    return np.where(draw.steps < draw.n_rows // 3, 0.0, wave(draw))


def holes(draw: Draw) -> np.ndarray:
    """Return a season of which the second quarter is missing."""
    gone = (draw.steps >= draw.n_rows // 4) & (draw.steps < draw.n_rows // 2)
    return np.where(gone, np.nan, wave(draw))


def gappy(draw: Draw) -> np.ndarray:
    """Return a season of which every seventh row is missing, by chance."""
    y = wave(draw)
    gone = (draw.rng.random(len(y)) < 0.15) & (draw.steps < draw.n_rows)
    return np.where(gone, np.nan, y)


def ending(draw: Draw) -> np.ndarray:
    """Return what falls to almost nothing."""
    return np.maximum(100 * (1 - 0.95 * draw.steps / draw.n_rows) + draw.normal(2), 0.5)


def shut(draw: Draw) -> np.ndarray:
    """Return a season that is never observed in its last three fifths."""
    return np.where(draw.is_late_in_season(0.4), np.nan, wave(draw))


def dark(draw: Draw) -> np.ndarray:
    """Return the sun: an arc, and nothing for the last two fifths of each season."""
    season = draw.frequency.season
    place = (draw.steps % season + 0.5) / max(1, int(0.6 * season))
    light = 200 * np.sin(np.pi * place) * draw.rng.uniform(0.6, 1.2, len(draw.steps))
    return np.where(draw.is_late_in_season(0.6), 0.0, np.maximum(light, 0))


def still(draw: Draw) -> np.ndarray:
    """Return a constant for the first half, then a season."""
    later = 40 + 10 * draw.seasonal() + draw.normal(1)
    return np.where(draw.steps < draw.n_rows // 2, 40.0, later)


Shape = Callable[[Draw], np.ndarray]
SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        wave,
        two_waves,
        growth,
        line,
        walk,
        noise,
        counts,
        rare,
        step,
        late,
        launched,
        holes,
        gappy,
        ending,
        shut,
        dark,
        still,
    )
}
#: The simple forecast that is right by construction; elsewhere it is the one that did best.
RIGHT = {"walk": "last", "noise": "mean", "line": "line"}
NEED_A_SEASON = ("shut", "dark")
NEED_ROWS = ("late", "launched", "holes", "shut", "gappy")
NEVER_NEGATIVE = ("growth", "counts", "rare", "ending", "dark", "launched")
STANDS_STILL = ("dark", "rare", "counts")


@dataclass(frozen=True)
class Cell:
    """What is drawn, fitted and forecast."""

    frequency: Frequency
    shape: str
    n_rows: int
    n_series: int = 1

    def draw(self, seed: int) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Return rows to fit, and what comes behind them by series.

        Series of a panel differ in size, and every third begins later.
        """
        frequency, n_rows = self.frequency, self.n_rows
        name = frequency.name + self.shape
        rng = np.random.default_rng([seed, n_rows, *map(ord, name)])
        steps = np.arange(n_rows + frequency.horizon)
        start = "2018-01-01" if frequency.season < 96 else "2025-01-06"
        index = pd.date_range(
            start, periods=len(steps), freq=frequency.name, name="time"
        )
        rows, truths = {}, {}
        for i in range(self.n_series):
            y = SHAPES[self.shape](Draw(steps, n_rows, frequency, rng))
            first = 0
            if self.n_series > 1:
                y = y * 10 ** rng.uniform(-1, 2)
                first = int(rng.integers(0, max(n_rows // 3, 1))) if i % 3 == 2 else 0
            rows[f"series {i}"] = pd.DataFrame(
                {"y": y[first:n_rows]}, index=index[first:n_rows]
            )
            truths[f"series {i}"] = y[n_rows:]
        if self.n_series == 1:
            return rows["series 0"], truths
        return pd.concat(rows, names=["series", "time"]), truths


def make_cells(kinds: list[str]) -> list[Cell]:
    """Return all cells of tables, of panels of eight series, or of both."""
    cells = []
    for frequency, shape, kind in product(FREQUENCIES, SHAPES, kinds):
        if shape in NEED_A_SEASON and frequency.season < 4:
            continue
        for n_rows in frequency.n_rows:
            too_few = shape in NEED_ROWS and n_rows < 2 * frequency.season + 6
            if too_few or (kind == "panel" and not 8 <= n_rows <= 400):
                continue
            cells.append(
                Cell(frequency, shape, n_rows, N_SERIES if kind == "panel" else 1)
            )
    return cells


def simple_forecasts(y: np.ndarray, season: int, horizon: int) -> dict[str, np.ndarray]:
    """Forecast by five rules of a line each; NaN where one has nothing to say."""
    known = np.flatnonzero(~np.isnan(y))
    ahead = len(y) + np.arange(horizon)
    places = pd.Series(y[known]).groupby(known % season)
    slope = (y[known[-1]] - y[known[0]]) / max(known[-1] - known[0], 1)
    return {
        "last": np.full(horizon, y[known[-1]]),
        "season": places.last().reindex(ahead % season).to_numpy(),
        "mean of season": places.mean().reindex(ahead % season).to_numpy(),
        "mean": np.full(horizon, y[known].mean()),
        "line": y[known[-1]] + slope * (ahead - known[-1]),
    }


def find_absurd(cell: Cell, past: np.ndarray, forecast: pd.DataFrame) -> list[str]:
    """Name what must never be in a forecast and its range."""
    values = forecast.to_numpy()
    if not np.isfinite(values).all():
        return ["not finite"]
    point, low, high = values.T
    least, most = np.nanmin(past), np.nanmax(past)
    slack = FARTHEST * (most - least) + 1e-6
    unit = np.nanmean(np.abs(past - np.nanmean(past))) + 1e-9
    absurd = {
        "far outside": cell.n_series == 1
        and bool((point < least - slack).any() or (point > most + slack).any()),
        "negative": cell.shape in NEVER_NEGATIVE and point.min() < -1e-6,
        "a range of no width": cell.shape not in STANDS_STILL
        and most > least
        and bool((high - low < 1e-9 * unit).any()),
        "outside of its range": bool(
            ((point < low - 1e-6 * unit) | (point > high + 1e-6 * unit)).mean() > 0.2
        ),
    }
    return [name for name, found in absurd.items() if found]


def run(cell: Cell, seeds: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    """Return a cell's errors, its simple rivals' errors, its coverage of 80%, and the absurd."""
    measured = []
    absurd = set()
    for seed in seeds:
        df, truths = cell.draw(seed)
        try:
            forecast = forecast_with_interval(df, cell.frequency.horizon, settings)
        except Exception as error:
            absurd.add(f"{type(error).__name__}: {str(error)[:80]}")
            continue
        for name, truth in truths.items():
            if np.isnan(truth).all():
                continue
            mine = forecast if cell.n_series == 1 else forecast.loc[name]
            past = (df if cell.n_series == 1 else df.loc[name])["y"].to_numpy()
            absurd.update(find_absurd(cell, past, mine))
            measured.append(measure_forecast(past, truth, mine, cell.frequency.season))
    means = pd.DataFrame(measured, columns=MEASURED).mean(skipna=False)
    return {
        "frequency": cell.frequency.name,
        "shape": cell.shape,
        "rows": cell.n_rows,
        "series": cell.n_series,
        "seasons": cell.n_rows / cell.frequency.season,
        "absurd": "; ".join(sorted(absurd)),
        **means,
    }


def forecast_with_interval(
    df: pd.DataFrame, horizon: int, settings: dict[str, Any]
) -> pd.DataFrame:
    """Fit, and forecast points with an interval of 80%."""
    model = InformerRegressor("y", pred_len=horizon, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = model.fit(df).forecast()
        interval = model.forecast(coverage=0.8).iloc[:, -2:]
    return pd.concat([point, interval], axis=1)


#: What a forecast is measured by: its error and coverage, and the errors of its simple rivals.
MEASURED = ["error", "covered", "last", "season", "mean of season", "mean", "line"]


def measure_forecast(
    past: np.ndarray, truth: np.ndarray, forecast: pd.DataFrame, season: int
) -> dict[str, float]:
    """Measure a forecast of a series, and its rivals, in units of the past's mean deviation."""
    known = ~np.isnan(truth)
    unit = np.nanmean(np.abs(past - np.nanmean(past))) + 1e-9
    point, low, high = forecast.to_numpy().T
    is_covered = (truth >= low) & (truth <= high)
    found = {
        "error": np.abs(point - truth)[known].mean() / unit,
        "covered": is_covered[known].mean(),
    }
    for name, simple in simple_forecasts(past, season, len(truth)).items():
        found[name] = np.abs(simple - truth)[known].mean() / unit
    return found


def relate(cells: pd.DataFrame) -> pd.DataFrame:
    """Add `ratio`: the error beside the simple forecast's that suits frequency and shape best."""
    names = ["last", "season", "mean of season", "mean", "line"]
    related = cells.copy()
    related["ratio"] = np.nan
    for (_, shape, _), rows in cells.groupby(["frequency", "shape", "series"]):
        logs = (rows[names] + NEGLIGIBLE).map(np.log)
        ranked = logs.sub(logs.mean(axis=1), axis=0).mean().sort_values().index
        order = [RIGHT[shape], *ranked] if shape in RIGHT else [*ranked]
        # The first of them that could be had.
        best = rows[order].bfill(axis=1).iloc[:, 0]
        related.loc[rows.index, "ratio"] = (rows["error"] + NEGLIGIBLE) / (
            best + NEGLIGIBLE
        )
    return related


def geometric_mean(ratios: pd.Series) -> float:
    """Return the geometric mean of what is known."""
    return float(np.exp(np.log(ratios.dropna()).mean()))


def measure(
    cells: list[Cell], seeds: list[int], n_jobs: int = 1, **settings: Any
) -> pd.DataFrame:
    """Run cells, each in a process of its own where there are several jobs."""
    jobs = (delayed(run)(cell, seeds, settings) for cell in cells)
    return relate(pd.DataFrame(Parallel(n_jobs=n_jobs, batch_size=1)(jobs)))


def report(cells: pd.DataFrame) -> str:
    """Return the tables as text."""
    table = cells.pivot_table(
        index="shape",
        columns=["series", "frequency"],
        values="ratio",
        aggfunc=geometric_mean,
    )
    long = cells[cells.seasons >= 2]
    short = cells[cells.seasons < 2]
    lines = [table.round(2).to_string(), ""]
    for name, some in (("all", cells), ("two seasons and more", long), ("less", short)):
        if len(some):
            lines.append(
                f"{name}: {len(some)} cells, geometric mean {geometric_mean(some.ratio):.3f}, "
                f"above 1.3 {(some.ratio > 1.3).mean():.3f}, above 2 {(some.ratio > 2).mean():.3f}"
            )
    covered = cells.groupby("frequency").covered.mean().round(3).to_dict()
    lines.append(f"covered of 0.8: {covered}")
    columns = ["frequency", "shape", "rows", "series", "error", "ratio"]
    worst = cells.sort_values("ratio", ascending=False)[columns].head(20)
    lines += ["", "worst", worst.round(2).to_string(index=False)]
    absurd = cells[cells.absurd != ""]
    lines += ["", f"{len(absurd)} cells with what must never be"]
    if len(absurd):
        lines.append(absurd[[*columns, "absurd"]].to_string(index=False))
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--kind", nargs="*", default=["table", "panel"])
    parser.add_argument(
        "--part", type=float, default=1.0, help="share of the cells, by chance"
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", help="a CSV file for all cells")
    options = parser.parse_args()
    cells = make_cells(options.kind)
    chosen = np.random.default_rng(0).random(len(cells)) < options.part
    some = [cell for cell, taken in zip(cells, chosen, strict=True) if taken]
    found = measure(some, options.seeds, options.jobs)
    if options.output:
        found.to_csv(options.output, index=False)
    print(report(found))
    return int((found.absurd != "").any())


if __name__ == "__main__":
    sys.exit(main())
