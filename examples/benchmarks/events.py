"""How well the defaults forecast data in which something happens: see notes/ordinary.md.

Run ``python examples/benchmarks/events.py``; ``--shape`` and ``--frequency`` run some of the cells.

The shapes beside those of ordinary.py: hours and days that are always zero, closures that a column
tells, shifts of the level in the last rows, a collapse with a recovery, dates in weeks, dates in
days beside leap days, a last period that is incomplete, seasons that no calendar has, and a level
that drifts out of what was seen. Errors are related to simple forecasts as there. Those read what a
careful user would let them read: no closed step, no incomplete period. Errors and coverage are of
open steps alone.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from ordinary import MEASURED, Draw, Frequency, geometric_mean, measure_forecast, relate

from skinformer import InformerRegressor


@dataclass(frozen=True)
class Drawn:
    """A series with what is known of its steps, past and future.

    y: (n_rows + horizon,).
    is_read: (n_rows + horizon,), what simple forecasts read, and whose errors count.
    known: (n_rows + horizon,), a column known ahead; None for none.
    """

    y: np.ndarray
    is_read: np.ndarray
    known: np.ndarray | None = None


@dataclass(frozen=True)
class Dates:
    """The timestamps of a draw's steps; numbers where there is no calendar."""

    draw: Draw
    index: pd.Index

    @property
    def day_of_week(self) -> np.ndarray:
        """Return the weekday of each step, Monday as 0."""
        return np.asarray(pd.DatetimeIndex(self.index).day_of_week)


def all_read(y: np.ndarray) -> Drawn:
    """Return a series of which everything is read."""
    return Drawn(y, np.ones(len(y), bool))


def opening_hours(dates: Dates) -> Drawn:
    """Return a shop that is open for two fifths of each season, and sells nothing else."""
    draw = dates.draw
    place = draw.steps % draw.frequency.season
    is_open = place < max(1, int(0.4 * draw.frequency.season))
    sales = 200 + 20 * draw.seasonal() + draw.normal(15)
    return Drawn(np.where(is_open, sales, 0.0), is_open)


def office_hours(dates: Dates) -> Drawn:
    """Return an office that is closed at night and on weekends."""
    draw = dates.draw
    hour = draw.steps % draw.frequency.season
    is_open = hour >= draw.frequency.season // 3
    is_open &= hour < 3 * draw.frequency.season // 4
    is_open &= dates.day_of_week < 5
    calls = 60 + 15 * draw.seasonal() + draw.normal(8)
    return Drawn(np.where(is_open, np.maximum(calls, 1.0), 0.0), is_open)


def fridays(dates: Dates) -> Drawn:
    """Return a market on Fridays."""
    is_open = dates.day_of_week == 4
    sales = 900 + dates.draw.normal(30)
    return Drawn(np.where(is_open, sales, 0.0), is_open)


def sunlight(dates: Dates) -> Drawn:
    """Return the sun's power: days of a length that changes over the year, and clouds."""
    draw = dates.draw
    season = draw.frequency.season
    year = 2 * np.pi * draw.steps / (365.25 * season)
    half_day = (0.25 - 0.06 * np.cos(year)) * season
    from_noon = np.abs(draw.steps % season - season / 2)
    height = np.cos(0.5 * np.pi * from_noon / half_day)
    is_light = from_noon < half_day
    power = 5 * height * draw.rng.uniform(0.6, 1.0, len(draw.steps))
    return Drawn(np.where(is_light, np.maximum(power, 0.0), 0.0), is_light)


def closure(dates: Dates) -> Drawn:
    """Return a shop that was closed for three weeks before the origin, as a column says."""
    draw = dates.draw
    n_closed = 3 * draw.frequency.season
    is_open = draw.steps < draw.n_rows - n_closed
    is_open |= draw.steps >= draw.n_rows
    sales = 220 + 60 * draw.seasonal() + draw.normal(10)
    return Drawn(np.where(is_open, sales, 0.0), is_open, is_open.astype(float))


def recent_shift(dates: Dates) -> Drawn:
    """Return a level that has changed one or two seasons (7 to 14 steps at least) ago."""
    draw = dates.draw
    shortest = max(draw.frequency.season, 7)
    n_new = int(draw.rng.integers(shortest, 2 * shortest + 1))
    change = draw.rng.choice([-50, 80])
    y = 150 + 15 * draw.seasonal() + draw.normal(4)
    return all_read(y + change * (draw.steps >= draw.n_rows - n_new))


def collapse(dates: Dates) -> Drawn:
    """Return two seasons of collapse and recovery, a season and a half before the origin."""
    draw = dates.draw
    season = draw.frequency.season
    since = draw.steps - (draw.n_rows - int(1.75 * season))
    recovery = np.clip(since / (1.2 * season), 0, 1)
    level = np.where(since < 0, 1.0, 0.05 + 0.95 * recovery)
    y = 300 + 60 * draw.seasonal() + draw.normal(10)
    return all_read(np.maximum(y * level, 0.0))


def drop(dates: Dates) -> Drawn:
    """Return a third of a season at half of the level, a season and a half before the origin."""
    draw = dates.draw
    season = draw.frequency.season
    since = draw.steps - (draw.n_rows - int(1.6 * season))
    is_low = (since >= 0) & (since < max(season // 3, 1))
    y = 300 + 60 * draw.seasonal() + draw.normal(10)
    return all_read(np.where(is_low, 0.4 * y, y))


def christmas_weeks(dates: Dates) -> Drawn:
    """Return weekly sales that double in the week of Christmas, and rise in that before."""
    draw = dates.draw
    end = pd.DatetimeIndex(dates.index)
    days_since = np.array([(day - christmas_before(day)).days for day in end])
    y = 200 + 20 * draw.seasonal() + draw.normal(8)
    y = y + 250 * (days_since < 7)
    y = y + 100 * (days_since >= 358)
    return all_read(y)


def christmas_before(day: pd.Timestamp) -> pd.Timestamp:
    """Return the last Christmas up to a day."""
    christmas = pd.Timestamp(year=day.year, month=12, day=25)
    return christmas if day >= christmas else christmas - pd.DateOffset(years=1)


def dates_of_year(dates: Dates) -> Drawn:
    """Return days of which one date in each month sells twice as much, the same each year."""
    draw = dates.draw
    day = pd.DatetimeIndex(dates.index)
    date = 1 + (7 * day.month + 3) % 27
    is_date = np.asarray(day.day == date)
    y = 100 + 10 * draw.seasonal() + draw.normal(4)
    return all_read(y + 100 * is_date)


def incomplete_end(dates: Dates) -> Drawn:
    """Return a season whose last row holds 30% of its period."""
    draw = dates.draw
    is_last = draw.steps == draw.n_rows - 1
    y = 200 + 40 * draw.seasonal() + draw.normal(5)
    return Drawn(np.where(is_last, 0.3 * y, y), ~is_last)


def no_calendar(dates: Dates) -> Drawn:
    """Return a season of numbered rows."""
    return all_read(100 + 20 * dates.draw.seasonal() + dates.draw.normal(3))


def drift(dates: Dates) -> Drawn:
    """Return two waves on a level that leaves what was seen in the last fifth of the rows."""
    draw = dates.draw
    since = draw.steps - 0.8 * draw.n_rows
    drifted = 60 * np.clip(since, 0, None) / (0.2 * draw.n_rows)
    y = 50 + 8 * draw.seasonal() + draw.normal(2) + drifted
    return all_read(y)


FIFTEEN_MINUTES = Frequency("15min", 96, 672, 96, (1000, 2100))
HOURS = Frequency("h", 24, 168, 24, (340, 1600, 4000))
#: Up to a weekday: a whole day ahead is closed else, and nothing is measured.
HOURS_TO_WEEKDAY = Frequency("h", 24, 168, 24, (340, 1600, 4040))
DAYS = Frequency("D", 7, 0, 14, (60, 120, 400, 1100))
WEEKS = Frequency("W-SUN", 52, 0, 8, (160, 260))
SATURDAYS = Frequency("W-SAT", 52, 0, 8, (160, 260, 420))
MONTHS = Frequency("MS", 12, 0, 6, (48, 84, 108))
LONG_DAYS = Frequency("D", 7, 0, 28, (800, 1500))


@dataclass(frozen=True)
class Shape:
    """What is drawn, at which frequencies, and whether its rows are numbers.

    reaches: whether the forecast steps hold a date of the year; the first of them is the 18th of
    December then.
    """

    draw: Callable[[Dates], Drawn]
    frequencies: tuple[Frequency, ...]
    is_numbered: bool = False
    reaches_christmas: bool = False


NO_CALENDAR = tuple(
    Frequency(
        f"every {season}", season, 0, season, (2 * season + season // 2, 5 * season)
    )
    for season in (9, 20, 37)
)
SHAPES = {
    shape.draw.__name__: shape
    for shape in (
        Shape(opening_hours, (FIFTEEN_MINUTES, HOURS, DAYS)),
        Shape(office_hours, (HOURS_TO_WEEKDAY,)),
        Shape(fridays, (DAYS,)),
        Shape(sunlight, (FIFTEEN_MINUTES, HOURS)),
        Shape(closure, (HOURS, DAYS)),
        Shape(recent_shift, (HOURS, DAYS, MONTHS)),
        Shape(collapse, (DAYS, MONTHS)),
        Shape(drop, (DAYS, MONTHS)),
        Shape(christmas_weeks, (WEEKS, SATURDAYS), reaches_christmas=True),
        Shape(dates_of_year, (LONG_DAYS,)),
        Shape(incomplete_end, (HOURS, DAYS, WEEKS, MONTHS)),
        Shape(no_calendar, NO_CALENDAR, is_numbered=True),
        Shape(drift, (HOURS,)),
    )
}


@dataclass(frozen=True)
class Cell:
    """A shape at a frequency, and a number of rows."""

    shape: str
    frequency: Frequency
    n_rows: int

    def draw(self, seed: int) -> tuple[pd.Index, Drawn]:
        """Return the timestamps, and what happens at them."""
        shape = SHAPES[self.shape]
        frequency = self.frequency
        name = frequency.name + self.shape
        rng = np.random.default_rng([seed, self.n_rows, *map(ord, name)])
        steps = np.arange(self.n_rows + frequency.horizon)
        draw = Draw(steps, self.n_rows, frequency, rng)
        index = self._index(shape, len(steps))
        return index, shape.draw(Dates(draw, index))

    def _index(self, shape: Shape, n_steps: int) -> pd.Index:
        frequency = self.frequency
        if shape.is_numbered:
            return pd.RangeIndex(n_steps)
        if shape.reaches_christmas:
            end = pd.Timestamp("2024-12-18") + frequency.horizon * pd.Timedelta(weeks=1)
            return pd.date_range(end=end, periods=n_steps, freq=frequency.name)
        start = "2020-01-06" if frequency.season < 96 else "2025-01-06"
        return pd.date_range(start, periods=n_steps, freq=frequency.name)


def make_cells(shapes: list[str], frequencies: list[str]) -> list[Cell]:
    """Return all cells of some shapes and frequencies; none named are all."""
    return [
        Cell(name, frequency, n_rows)
        for name, shape in SHAPES.items()
        for frequency in shape.frequencies
        for n_rows in frequency.n_rows
        if (not shapes or name in shapes)
        and (not frequencies or frequency.name in frequencies)
    ]


def run(cell: Cell, seeds: list[int], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the mean errors and coverage of a cell, and those of simple forecasts."""
    measured = []
    for seed in seeds:
        index, drawn = cell.draw(seed)
        forecast = fit_and_forecast(cell, index, drawn, settings)
        past = np.where(drawn.is_read, drawn.y, np.nan)[: cell.n_rows]
        truth = np.where(drawn.is_read, drawn.y, np.nan)[cell.n_rows :]
        if np.isfinite(truth).any():
            season = cell.frequency.season
            measured.append(measure_forecast(past, truth, forecast, season))
    means = pd.DataFrame(measured, columns=MEASURED).mean(skipna=False)
    return {
        "frequency": cell.frequency.name,
        "shape": cell.shape,
        "rows": cell.n_rows,
        "series": 1,
        **means,
    }


def fit_and_forecast(
    cell: Cell, index: pd.Index, drawn: Drawn, settings: dict[str, Any]
) -> pd.DataFrame:
    """Fit, and forecast points with an interval of 80%."""
    df = pd.DataFrame({"y": drawn.y}, index=index)
    known = {}
    if drawn.known is not None:
        df["open"] = drawn.known
        known = {"known_future": ["open"]}
    model = InformerRegressor(
        "y", pred_len=cell.frequency.horizon, random_state=0, **{**known, **settings}
    )
    future = df[cell.n_rows :].drop(columns="y") if known else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = model.fit(df[: cell.n_rows]).forecast(future)
        interval = model.forecast(future, coverage=0.8)
    return pd.concat([point, interval.iloc[:, -2:]], axis=1)


def report(cells: pd.DataFrame) -> str:
    """Return ratios and coverage by shape and frequency, and the worst cells, as text."""
    ratios = cells.pivot_table(
        index="shape", columns="frequency", values="ratio", aggfunc=geometric_mean
    )
    covered = cells.pivot_table(index="shape", columns="frequency", values="covered")
    by_shape = cells.groupby("shape").agg(
        ratio=("ratio", geometric_mean), covered=("covered", "mean")
    )
    columns = ["frequency", "shape", "rows", "error", "ratio", "covered"]
    worst = cells.sort_values("ratio", ascending=False)[columns].head(20)
    parts = {
        "errors over the best simple forecast's": ratios,
        "coverage of intervals of 80%": covered,
        "by shape": by_shape,
    }
    texts = [f"{name}\n{part.round(2).to_string()}" for name, part in parts.items()]
    texts.append("worst\n" + worst.round(2).to_string(index=False))
    return "\n\n".join(texts)


def main() -> int:
    """Measure and print; 1 where a shape is above 1.3 in the mean."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--shape", nargs="*", default=[], choices=list(SHAPES))
    parser.add_argument("--frequency", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", help="a CSV file for all cells")
    options = parser.parse_args()
    cells = make_cells(options.shape, options.frequency)
    jobs = (delayed(run)(cell, options.seeds, {}) for cell in cells)
    found = relate(pd.DataFrame(Parallel(options.jobs, batch_size=1)(jobs)))
    if options.output:
        found.to_csv(options.output, index=False)
    print(report(found))
    return int((found.groupby("shape").ratio.agg(geometric_mean) > 1.3).any())


if __name__ == "__main__":
    sys.exit(main())
