"""Lines to draw: what `ForecastDisplay` needs of the truth, the forecasts and the quantiles."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.clock import is_dated
from skinformer.validation.arguments import check_coverage, check_levels, check_range_levels
from skinformer.validation.columns import numeric_column
from skinformer.validation.index import time_labels


def drawn_line(values: Any, name: str, index: pd.Index | None = None) -> pd.Series:
    """Give values, (n,) or (n, 1), as one line of numbers in time order; `name` is for messages.

    index: labels of values that bring none; None numbers them.
    """
    if isinstance(values, pd.DataFrame):
        if values.shape[1] != 1:
            raise ValueError(
                f"{name} has {values.shape[1]} columns: one line is drawn. Pass one of them, "
                f"{name}[column]."
            )
        values = values.iloc[:, 0]
    if not isinstance(values, pd.Series):
        values = _labelled(values, name, index)
    if not len(values):
        raise ValueError(f"{name} has no rows to draw.")
    check_one_series(values.index, name)
    time, _ = time_labels(values.index, name)
    if not time.is_unique:
        raise ValueError(
            f"{name} holds {int(time.duplicated().sum())} times twice, the first "
            f"{time[time.duplicated()][0]}: each is drawn once. Keep one of them, "
            f"{name}[~{name}.index.duplicated()]."
        )
    numbers = numeric_column(values, values.name).astype(np.float64)
    return pd.Series(numbers, index=time, name=values.name).sort_index()


def _labelled(values: Any, name: str, index: pd.Index | None) -> pd.Series:
    """Give an array as a Series."""
    array = np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {array.shape}: one line is drawn. Pass one column.")
    if index is not None and len(index) != len(array):
        raise ValueError(
            f"{name} has {len(array)} values for {len(index)} times: without an index it needs one "
            "for each row of actual. Pass a Series with its own times."
        )
    return pd.Series(array, index=index)


def check_one_series(index: Any, name: str) -> None:
    """Raise if rows belong to several series."""
    if getattr(index, "nlevels", 1) > 1 and len(index.unique(0)) > 1:
        raise ValueError(f"{name} holds several series: draw one of them, {name}.loc[[series]].")


def check_same_axis(actual: pd.Index, forecast: pd.Index) -> None:
    """Raise if two lines have no time axis in common."""
    if is_dated(actual) != is_dated(forecast):
        raise TypeError(
            f"actual has {actual.dtype} labels and forecast {forecast.dtype} ones, which share no "
            "axis. Give both the same kind of index."
        )
    naive = [getattr(index, "tz", None) is None for index in (actual, forecast)]
    if naive[0] != naive[1]:
        raise TypeError(
            "of actual and forecast one is time-zone aware and one naive: the hours cannot be "
            "matched. Use tz_localize(zone) on the naive one."
        )


def drawn_levels(coverage: Any, levels: Any) -> list[float] | None:
    """Give the levels as they are asked for, of coverages in ascending order; None for none."""
    if coverage is None or levels is not None:
        requested = check_range_levels(coverage, levels)  # which refuses both
        return None if requested is None else requested.tolist()
    several = isinstance(coverage, list | tuple | np.ndarray)
    shares = [check_coverage(each) for each in (coverage if several else [coverage])]
    bounds = [round(0.5 + side * share / 2, 12) for share in shares for side in (-1, 1)]
    return sorted(map(float, check_levels(bounds)))


def labelled_quantiles(quantiles: Any, levels: list[float] | None, rows: Any) -> pd.DataFrame:
    """Give quantiles of some rows as a frame of a column a level; a frame brings its own rows."""
    if isinstance(quantiles, pd.DataFrame):
        if levels is None:
            return quantiles
        if quantiles.shape[1] != len(levels):
            raise ValueError(
                f"quantiles have {quantiles.shape[1]} columns for {len(levels)} levels, {levels}. "
                "Pass one column a level."
            )
        return quantiles.set_axis(levels, axis=1)
    array = np.asarray(quantiles)
    if levels is None:
        raise ValueError(
            f"quantiles of shape {array.shape} do not say their levels. Pass levels=, such as "
            "levels=[0.1, 0.9], or coverage=0.8."
        )
    if array.shape != (len(rows), len(levels)):
        raise ValueError(
            f"quantiles have the shape {array.shape}, and {len(rows)} forecasts at "
            f"{len(levels)} levels need {(len(rows), len(levels))}. Pass one target's rows."
        )
    return pd.DataFrame(array, index=rows_of(rows), columns=levels)


def rows_of(values: Any) -> pd.Index | None:
    """Give the labels of values that bring some."""
    return values.index if isinstance(values, pd.Series | pd.DataFrame) else None


def drawn_quantiles(quantiles: pd.DataFrame) -> pd.DataFrame:
    """Give quantiles of one series as numbers in time order; columns are levels, ascending.

    Names of columns are levels, or end in one.
    """
    lines = {}
    for place, name in enumerate(quantiles.columns):
        found = re.search(r"(?:^|_|q)(0?\.\d+)$", str(name))
        if found is None or not 0 < float(found[1]) < 1:
            raise ValueError(
                f"quantiles have a column {name!r}, which does not end in a level. Name it by its "
                "level, such as 0.05 or 'load_0.05'."
            )
        lines[float(found[1])] = drawn_line(quantiles.iloc[:, place], "quantiles")
    return pd.DataFrame(dict(sorted(lines.items())))
