"""The range of a series: how far from all other values, or how near to zero, none can be."""

from typing import Any, NamedTuple

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
    margin: how far beyond them outliers lie; infinite where too few values are known.
    is_rare: whether most values are alike, as of rare sales and flags.
    """

    low: float
    high: float
    margin: float
    is_rare: bool


UNKNOWN = Range(low=0.0, high=0.0, margin=float("inf"), is_rare=True)


def find_ranges(
    parts: list[Float64Array], explained: list[BoolArray], year: int = 0
) -> list[tuple[Range, BoolArray]]:
    """Find the range of each series of a panel, and where the values out of it are.

    What is rare in a series may be usual in its panel, and what returns after a year, such as
    Christmas, is usual at its date.

    explained: which values of each series have a reason to lie far beyond the usual.
    year: its rows; 0 for none.
    """
    found = [
        _find_range(values, has_reason, 0.0, year)
        for values, has_reason in zip(parts, explained, strict=True)
    ]
    margins = [usual.margin for usual, _ in found if not usual.is_rare]
    if not margins:
        return found
    least_margin = _HEAVY_TAIL * np.median(margins)
    for i, values in enumerate(parts):
        if found[i][0].is_rare:
            found[i] = _find_range(values, explained[i], least_margin, year)
    return found


def _find_range(
    values: Float64Array, explained: BoolArray, least_margin: float, year: int
) -> tuple[Range, BoolArray]:
    """Find the range of a series, whose outliers lie so far beyond it at least."""
    none = np.zeros_like(values, dtype=bool)
    values = _without_launch(values)
    if np.isfinite(values).sum() < 10:
        return UNKNOWN, none
    centre = np.nanmedian(values)
    distance = np.abs(values - centre)
    farthest, margin = _farthest_usual(distance, abs(centre), least_margin)
    if margin == 0:
        return UNKNOWN, none
    outlying = distance > farthest
    is_rare = np.nanmedian(distance) == 0
    if not is_rare:
        rest = np.where(outlying, np.nan, values)
        outlying |= _find_near_zero(rest)
    outlying &= ~_find_new_levels(values, outlying)
    outlying &= ~_find_returning(values > centre, outlying, year)
    most = farthest + margin_with_reason(margin, abs(centre))
    outlying &= ~(explained & (distance <= most))
    usual = values[~outlying]
    low = np.nanmin(usual)
    high = np.nanmax(usual)
    return Range(low, high, margin, is_rare), outlying


def margin_with_reason(margin: Any, size: Any) -> Any:
    """Return how far beyond the usual a value may lie that has a reason: promotions multiply.

    size: of what is usual.
    """
    return 10 * np.maximum(margin, 5 * size)


def _without_launch(values: Float64Array) -> Float64Array:
    """Replace the zeros before a launch by NaN: first sales are few, and rise."""
    begun = np.flatnonzero(np.nan_to_num(values))
    if len(begun) < 40:
        return values
    values = values.copy()
    values[: begun[0]] = np.nan
    return values


def _farthest_usual(
    distance: Float64Array, size: float, least_margin: float
) -> tuple[float, float]:
    """Return the farthest distance that is usual, and how far beyond it is too far.

    Of the few largest distances, those behind the first gap that is too wide are outliers'.

    distance: of values from their median.
    size: of the median: a constant has no distances.
    least_margin: of the distance beyond.
    """
    distance = distance[~np.isnan(distance)]
    plausible = distance
    most = np.quantile(distance, 0.8)
    if most > 0:
        size = 0.0
        absurd = 10_000.0 * most  # however often it comes
        plausible = distance[distance <= absurd]
    # What comes more often may come again.
    n_few = max(3, len(distance) // 500)
    largest = np.sort(plausible)[-n_few - 1 :]
    usual = np.maximum(largest, size)
    margin = np.maximum(_margins(usual, distance), least_margin)
    too_wide = margin[:-1]
    is_gap = (np.diff(largest) > too_wide) & (too_wide > 0)
    last = np.argmax(np.append(is_gap, True))
    return largest[last], margin[last]


def _margins(usual: Float64Array, distance: Float64Array) -> Float64Array:
    """Return how far beyond usual distances from the median outliers lie."""
    # Public series have 4 distances of the farthest other value from the median at most, in units
    # of hours 1 (notes/robustness.md). The one peak of a short table, as at Christmas, is
    # beyond all others, and no error.
    n_distances = 5.0 + 75.0 / len(distance)
    half, nearly_all = np.quantile(distance, [0.5, 0.95])
    if half == 0:
        return n_distances * _HEAVY_TAIL * usual
    tail = np.clip(usual / (4 * nearly_all), 1, _HEAVY_TAIL)
    return n_distances * tail * usual


def _find_near_zero(values: Float64Array) -> BoolArray:
    """Find values next to zero, or below, in a series that stays away from it.

    They are two, or one in a thousand, or zeros of as few failures of a sensor, each within less
    than a day of hours: what is sold comes to nothing by itself now and then.
    """
    near: BoolArray = values < NEAR_ZERO * np.nanmedian(values)
    n_events = _count_failures(values, near)
    others = values[~near]
    n_few = max(2, len(values) // 1000)
    if n_events > n_few or not _stays_away(others):
        return np.zeros_like(near)
    return near & (values < NEAR_ZERO * np.nanmin(others))


def _count_failures(values: Float64Array, near: BoolArray) -> int:
    """Count failures of a sensor among values near zero; the values where they are none."""
    rows = np.flatnonzero(near)
    gaps = np.diff(rows, prepend=-_LONG_LEVEL)
    begins = rows[gaps >= _LONG_LEVEL]
    failure = np.searchsorted(begins, rows, side="right") - 1
    is_short = rows - begins[failure] < _LONG_LEVEL
    is_failure = is_short.all() and not values[rows].any()
    return len(begins) if is_failure else len(rows)


def _stays_away(values: Float64Array) -> bool:
    """Whether values stay away from zero, as those of sensors do, and of counts do not."""
    known = np.unique(values[~np.isnan(values)])
    return len(known) > 15 and bool(known[-1] < COMPACT * known[0])


def _find_returning(is_above: BoolArray, outlying: BoolArray, year: int) -> BoolArray:
    """Find outliers that have one on the same side a year before or behind them.

    >>> outlying = np.isin(np.arange(130), [20, 50, 73])
    >>> np.flatnonzero(_find_returning(outlying, outlying, 52))
    array([20, 73])
    """
    found = np.zeros_like(outlying)
    if year < 2:
        return found
    # A leap day; of 52 weeks a year is some days longer.
    slack = 0 if year < 52 else -(-year // 366)
    for is_side in (is_above, ~is_above):
        rows = np.flatnonzero(outlying & is_side)
        apart = np.abs(rows[:, None] - rows)
        returns = np.abs(apart - year) <= slack
        found[rows] = returns.any(axis=1)
    return found


def _find_new_levels(values: Float64Array, outlying: BoolArray) -> BoolArray:
    """Find runs of outliers that are a new level: on one side, and to the end or long."""
    found = np.zeros_like(outlying)
    is_above = values > np.nanmax(values[~outlying])
    edges = np.flatnonzero(np.diff(outlying, prepend=False, append=False))
    for start, stop in edges.reshape(-1, 2):
        n_above = np.count_nonzero(is_above[start:stop])
        n_rows = stop - start
        enough = 3 if stop == len(values) else _LONG_LEVEL
        is_one_sided = n_above in (0, n_rows)
        found[start:stop] = is_one_sided and n_rows >= enough
    return found
