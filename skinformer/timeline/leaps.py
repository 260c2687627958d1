"""Leaps: how far values lie from what the rows before them lead to expect, each at its hour.

A value may be usual at another hour, and a leap at its own. The last row before a forecast counts
most, and nothing after it tells what it is: it is judged by its neighbours and by its season.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table, Timeline

#: So many times as far as ever before is a leap: at its own hour, or in series of few seasons,
#: whose hours are not told apart (docs/laboratory/robustness.md).
_OWN, _ALL = 2.0, 10.0
_PART = 0.3  # and, there, by at least so much of how far values lie apart
_NEW = 0.15  # of that, for zero, or a negative value, where nothing of the kind was before
_FEW = 2  # such values of a series that may be outliers; more may come again
_NEAR = 0.2  # of the distance to the median
_FEWEST = 60  # leaps that tell how far is usual: fewer have not seen a promotion
_STILLEST = 0.05  # of the mean leap of all hours: that of an hour at least
_LEAST_NOISE = 0.002  # of the range: a wave without noise tells nothing of leaps
_SEASONS = 40  # rows of each hour, or phase, that tell how far it leaps
_HEAVIEST = 3.0  # where some leaps are so far beyond most, as of prices, none is too far


def lags(season: int) -> tuple[int, int, int, int]:
    """Return how many rows before lie what a value might be like."""
    return 1, 2, season, season + 1


def _distances(values: npt.ArrayLike, before: Float64Array) -> Float64Array:
    """Return the distance to the nearest of what might be expected; NaN after gaps.

    before: (4, n), the values of so many `lags` before; NaN is unknown.
    """
    last, second, same, earlier = before
    expected = np.stack([last, second, same, last + same - earlier])
    nearest: Float64Array = np.fmin.reduce(np.abs(np.asarray(values) - expected))
    return np.where(np.isnan(last) & np.isnan(second), np.nan, nearest)


def n_phases(length: IntArray, season: int) -> int:
    """Return the number of phases that are told apart in series of such lengths."""
    return season if length.min() >= _SEASONS * season else 1


def judge_leaps(
    values: Float64Array, first_step: int, season: int, phases: int
) -> tuple[Float64Array, IntArray]:
    """Return how far a series leaps, see `_usual_leaps`, and the rows of outliers among its values.

    Those are zeros and negative values that leap: few in a series that has none but at its start.
    """
    positive = np.flatnonzero(values > 0)
    new = np.flatnonzero(values <= 0)
    new = new[new > np.append(positive, len(values))[0]]
    if not 0 < len(new) <= _FEW:
        return _usual_leaps(values, first_step, season, phases), new[:0]
    rest = values.copy()
    rest[new] = np.nan
    leaps = _usual_leaps(rest, first_step, season, phases)
    new = new[new > season]
    before = np.stack([rest[new - lag] for lag in lags(season)])
    far = is_leap(values[new], before, leaps[(first_step + new) % phases], np.nanmax(rest))
    if not far.any():
        return _usual_leaps(values, first_step, season, phases), new[:0]
    return leaps, new[far]


def _usual_leaps(values: Float64Array, first_step: int, season: int, phases: int) -> Float64Array:
    """Return how far a value may leap, the least and the greatest size: of each phase, (phases, 3).

    Infinitely far where it never leaps. The greatest leap in units of its hour's mean leap may
    come at any hour. Values before the first one that is not zero count for nothing.
    """
    begin = int(np.argmax(values != 0))
    at = begin + season + 1 + np.flatnonzero(~np.isnan(values[begin + season : -1]))
    leaps = _distances(values[at], np.stack([values[at - lag] for lag in lags(season)]))
    at, leaps = at[~np.isnan(leaps)], leaps[~np.isnan(leaps)]
    phase = (first_step + at) % phases
    mean = np.bincount(phase, leaps, phases) / np.maximum(np.bincount(phase, minlength=phases), 1)
    mean = np.maximum(mean, _STILLEST * leaps.mean() if len(leaps) else 0.0)
    found = np.tile([np.inf, np.inf, 0.0], (phases, 1))
    np.minimum.at(found[:, 1], phase, values[at])
    np.maximum.at(found[:, 2], phase, np.abs(values[at]))
    if not _bounded(values[begin:]):
        found[:, 1] = -np.inf
    known = mean[phase] > 0
    times = leaps[known] / mean[phase[known]]
    most, many = (times.max(), 4 * np.quantile(times, 0.95)) if len(times) else (0.0, 0.0)
    noisy = len(at) >= _FEWEST and leaps.max() > _LEAST_NOISE * np.ptp(values[at])
    if noisy and most < _HEAVIEST * many:
        factor = (_OWN if phases > 1 else _ALL) * most * max(most / many, 1.0)
        found[:, 0] = np.where(mean > 0, factor * mean, np.inf)
        if phases == 1:  # a few rows tell less
            found[:, 0] = np.maximum(found[:, 0], _PART * np.ptp(values[at]))
    return found


def _bounded(values: Float64Array) -> bool:
    """Return whether a series ends at its least value, as counts at 0: a twentieth are near it."""
    least, low, middle = np.nanquantile(values, [0, 0.05, 0.5])
    return bool(least >= 0 and low - least < _NEAR * (middle - low))


def is_leap(
    values: npt.ArrayLike, before: Float64Array, leaps: Float64Array, size: npt.ArrayLike
) -> BoolArray:
    """Return what leaps further than ever before, by far; or to zero, or below, where nothing was.

    leaps: (n, 3), how far is usual, the least and the greatest value; see `_usual_leaps`.
    size: of the greatest value of all. Where a series has grown, leaps have grown with it.
    """
    return np.asarray(_distances(values, before) > _allowed(values, before, leaps, size))


def usual_after(
    value: float, before: Float64Array, leaps: Float64Array, size: float
) -> tuple[float, float]:
    """Return from where to where a value that leaps would not: about what it is nearest to."""
    last, second, same, earlier = before
    expected = np.array([last, second, same, last + same - earlier])
    nearest = expected[np.nanargmin(np.abs(value - expected))]
    allowed = float(_allowed(value, before, leaps, size))
    return float(nearest - allowed), float(nearest + allowed)


def _allowed(
    values: npt.ArrayLike, before: Float64Array, leaps: Float64Array, size: npt.ArrayLike
) -> Float64Array:
    """Compute how far values may lie from what is expected, see `is_leap`."""
    values, (leap, least, most) = np.asarray(values), np.moveaxis(leaps, -1, 0)
    new = ((values == 0) & (least > 0)) | ((values < 0) & (least >= 0))
    last, _, same, _ = np.abs(before)
    pairs = ((last, size), (same, most))
    growth = (known / np.where(np.greater(of, 0), of, np.inf) for known, of in pairs)
    times = np.where(new, _NEW, 1.0) * np.fmax(np.fmax(*growth), 1.0)
    return np.asarray(times * leap)


def earlier_values(
    table: Table, history: Timeline, scaler: Scaler, owner: IntArray, j: int, season: int
) -> Float64Array:
    """Return a target's values `lags` before each row, (4, n): the table's, else stored ones.

    owner: the series of each row in the history.
    """
    width = int(table.steps.max(initial=0) - table.steps.min(initial=0)) + season + 2
    key = table.series * width + table.steps  # one for each series and step
    found = []
    for lag in lags(season):
        place = pd.Index(key).get_indexer(key - lag)
        known = stored(history, scaler, j, owner, table.steps - lag, n_targets=table.n_targets)
        found.append(np.where(place >= 0, table.columns[j][place], known))
    return np.stack(found)


def stored(
    history: Timeline, scaler: Scaler, j: int, series: IntArray, steps: IntArray, *, n_targets: int
) -> Float64Array:
    """Read a column of the history in its units, (n,); NaN where nothing was known."""
    out = np.full(len(steps), np.nan)
    rows = history.find(series, steps)
    at = np.flatnonzero(rows >= 0)
    series, rows = series[at], rows[at]
    if j < n_targets:
        out[at] = history.truths(rows, scaler, n_targets)[:, j]
    else:
        out[at] = history.values[rows, j] * scaler.scale[series, j] + scaler.mean[series, j]
    return out
