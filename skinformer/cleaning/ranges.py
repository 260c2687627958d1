"""The range of a series: how far from all other values, or how near to zero, none can be."""

from typing import NamedTuple, TypeAlias

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array

#: So many times as far where a few values are far beyond most, as of prices and rare sales.
_HEAVY_TAIL = 5.0
#: Share of the least other value below which one is next to zero.
NEAR_ZERO = 0.05
#: The greatest value is less than so many times the least: sensors stay away from zero, counts come
#: near it.
COMPACT = 4.0
#: Rows of outliers on one side that are a new level anywhere.
_LONG_LEVEL = 24


class Range(NamedTuple):
    """The values of a series, outliers aside.

    low, high: the least and the greatest one, after the launch.
    reach: how far beyond them outliers lie; infinite where nothing can be told.
    rare: whether most values are alike, as of rare sales and flags.
    """

    low: float
    high: float
    reach: float
    rare: bool


UNKNOWN = Range(low=0.0, high=0.0, reach=float("inf"), rare=True)
Judged: TypeAlias = tuple[Range, BoolArray]  # and where outliers are


def find_ranges(parts: list[Float64Array]) -> list[Judged]:
    """Find the range of each series of a panel, and the values out of it.

    What is rare in a series may be usual in its panel.
    """
    found = [_find_range(values, 0.0) for values in parts]
    reaches = [usual.reach for usual, _ in found if not usual.rare]
    if not reaches:
        return found
    least_reach = _HEAVY_TAIL * float(np.median(reaches))
    return [
        _find_range(values, least_reach) if judged[0].rare else judged
        for values, judged in zip(parts, found, strict=True)
    ]


def _find_range(values: Float64Array, least_reach: float) -> Judged:
    unknown = UNKNOWN, np.zeros(len(values), dtype=bool)
    begun = np.flatnonzero(np.nan_to_num(values))
    if (
        len(begun) >= 40
    ):  # enough without the zeros before a launch: first sales are few, and rise
        values = np.where(np.arange(len(values)) < begun[0], np.nan, values)
    if (~np.isnan(values)).sum() < 10:
        return unknown
    centre = np.nanmedian(values)
    distance = np.abs(values - centre)
    farthest, reach, rare = _usual_distances(distance, abs(centre), least_reach)
    if reach == 0:
        return unknown
    outlying = distance > farthest
    if not rare:
        outlying |= _near_zero(np.where(outlying, np.nan, values))
    outlying &= ~_new_levels(values, outlying)
    usual = np.where(outlying, np.nan, values)
    return Range(
        float(np.nanmin(usual)), float(np.nanmax(usual)), reach, rare
    ), outlying


def _usual_distances(
    distance: Float64Array, size: float, least_reach: float
) -> tuple[float, float, bool]:
    """Return the farthest distance that is usual, how far beyond is too far, and whether rare.

    Of the few largest distances, those behind the first gap that is too wide are outliers'.

    distance: of values from their median.
    size: of the median: a constant has no distances.
    least_reach: of the distance beyond.
    """
    # Public series have 4 distances of the farthest other value from the median at most, in units
    # of hours 1 (docs/laboratory/robustness.md). The one peak of a short table, as at Christmas, is
    # beyond all others, and no error.
    distance = distance[~np.isnan(distance)]
    n_distances = 5.0 + 75.0 / len(distance)
    half, most, nearly_all = np.quantile(distance, [0.5, 0.8, 0.95])
    absurd = 10_000.0 * most  # however often it comes
    plausible = distance[distance <= absurd] if most else distance
    largest = np.sort(plausible)[-_n_few(distance) - 1 :]
    usual = np.maximum(largest, 0 if most else size)
    tail = np.clip(usual / (4 * nearly_all), 1, _HEAVY_TAIL) if half else _HEAVY_TAIL
    reach = np.maximum(n_distances * tail * usual, least_reach)
    is_gap = (np.diff(largest) > reach[:-1]) & (reach[:-1] > 0)
    last = int(np.argmax(np.append(is_gap, True)))
    return float(largest[last]), float(reach[last]), bool(half == 0)


def _n_few(values: Float64Array) -> int:
    """Return how many values may be outliers; what comes more often may come again."""
    return max(2, len(values) // 1000)


def _near_zero(values: Float64Array) -> BoolArray:
    """Find values next to zero, or below, in a series that stays away from it.

    They are as few as outliers may be, or zeros of as few failures of a sensor, each within less
    than a day of hours.
    """
    near: BoolArray = values < NEAR_ZERO * np.nanmedian(values)
    others = values[~near]
    rows = np.flatnonzero(near)
    begins = rows[np.diff(rows, prepend=-_LONG_LEVEL) >= _LONG_LEVEL]
    since = rows - begins[np.searchsorted(begins, rows, side="right") - 1]
    is_failure = (since < _LONG_LEVEL).all() and not values[rows].any()
    n_apart = len(begins) if is_failure else len(rows)
    if n_apart > _n_few(values) or not _stays_away(others):
        return np.zeros_like(near)
    return near & (values < NEAR_ZERO * np.nanmin(others))


def _stays_away(values: Float64Array) -> bool:
    """Whether values stay away from zero, as those of sensors do, and of counts do not."""
    known = np.unique(values[~np.isnan(values)])
    return len(known) > 15 and bool(known[-1] < COMPACT * known[0])


def _new_levels(values: Float64Array, outlying: BoolArray) -> BoolArray:
    """Find runs of outliers that are a new level: on one side, and to the end or long."""
    found = np.zeros_like(outlying)
    above = values > np.nanmax(values[~outlying])
    edges = np.flatnonzero(np.diff(np.r_[False, outlying, False]))
    for start, stop in edges.reshape(-1, 2):
        enough = 3 if stop == len(values) else _LONG_LEVEL
        found[start:stop] = (
            stop - start >= enough and len(np.unique(above[start:stop])) == 1
        )
    return found
