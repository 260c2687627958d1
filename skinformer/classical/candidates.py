"""
The classical candidates: what each of them forecasts for a batch of windows.

Every candidate is a fixed map of the window: nothing is learnt but what the window's own rows say.
They take a level, perhaps with a trend, and perhaps a season's profile on top; most of them speak
twice, of the values and of their logarithms. Rows before a step have been moved to its level. A
candidate that needs more rows than a window has answers NaN for it.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Ends, Past
from skinformer.classical.profiles import (
    around_level,
    at,
    last_values,
    nearest,
    place_means,
)
from skinformer.classical.smoothing import Grid, Smoothed, line, smooth
from skinformer.classical.steps import without_step
from skinformer.classical.windows import bounded
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import BoolArray, Float64Array

#: Forecasts by name, (n, horizon) each.
Named = dict[str, Float64Array]


class _Rest(NamedTuple):
    """Windows without a season: what it adds ahead, and which of them know it."""

    name: str
    past: Past
    wave: Float64Array
    able: BoolArray


#: What a season counts for beside the next one in profiles around a level.
_AROUND = 0.8
#: Constants of smoothing: level, trend, damping.
_LEVELS = [(a, 0.0, 0.0) for a in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)]
_TRENDS = [
    (a, b, p)
    for p in (0.98, 0.9)
    for a in (0.1, 0.3, 0.6, 0.9)
    for b in (0.05, 0.2, 0.5)
]
_GRID = Grid.of(*_LEVELS, *_TRENDS)
#: What a season counts for beside the next one in profiles of two seasons, which are harder to tell
#: apart.
_OF_TWO = 0.9


@cache
def candidate_names(seasons: tuple[int, ...], *, of_mean: bool) -> list[str]:
    """Name the candidates as `forecast_candidates` orders them."""
    past = Past(np.ones((1, 2)), np.arange(3)[None])
    plain = _on_values(past, seasons, of_mean=of_mean)
    return [*plain, *(f"log {name}" for name in _around_levels(past, seasons))]


def forecast_candidates(
    past: Past,
    seasons: tuple[int, ...],
    *,
    of_mean: bool,
) -> Float64Array:
    """
    Forecast windows by every candidate, (n, n_candidates, horizon).

    Parameters
    ----------
    past : Past
        Windows. Memory: as many as the caller gives.
    seasons : tuple of int
        Rows of a season, the short one first; at most two.
    of_mean : bool
        Whether means are forecast: there are no medians then, and logarithms are raised.

    Returns
    -------
    ndarray
        NaN where a window has too few rows for a candidate, or values that have no logarithms. No
        forecast lies farther outside of what the window holds than this is wide.
    """
    names = candidate_names(seasons, of_mean=of_mean)
    shape = len(past.values), len(names), past.horizon
    found = np.full(shape, np.nan)
    moved = without_step(past, seasons[0] if seasons else 1)
    plain = _on_values(moved, seasons, of_mean=of_mean)
    found[:, : len(plain)] = _stacked(plain)
    positive = np.nanmin(moved.values, axis=1) > 0
    if positive.any():
        by_logs = _by_logs(moved.take(positive), seasons, of_mean=of_mean)
        found[positive, len(plain) :] = by_logs
    return bounded(found, past.values)


def _stacked(found: Named) -> Float64Array:
    return np.stack(list(found.values()), axis=1)


def _by_logs(
    past: Past,
    seasons: tuple[int, ...],
    *,
    of_mean: bool,
) -> Float64Array:
    """Forecast positive windows by levels and trends of their logarithms."""
    logs = past.replaced(np.log(past.values))
    found = _stacked(_around_levels(logs, seasons))
    # Not so far above the greatest logarithm that there is no exponential.
    most = np.nanmax(logs.values, axis=1) + 1.0
    found = np.minimum(found, most[:, None, None])
    if of_mean:
        found += mean_log_shift(logs, seasons)[:, None, None]
    return np.exp(found)


def _on_values(
    past: Past,
    seasons: tuple[int, ...],
    *,
    of_mean: bool,
) -> Named:
    """Forecast by what repeats rows, then by levels and trends."""
    n_recent = max(2 * seasons[0], 6) if seasons else 6
    levels = {"last": Ends.of(past).last_value}
    rows = {"": past.values, "recent ": past.recent_values(n_recent)}
    for prefix, values in rows.items():
        levels[f"{prefix}mean"] = np.nanmean(values, axis=1)
        if not of_mean:
            levels[f"{prefix}median"] = np.nanmedian(values, axis=1)
    found = {}
    for name, level in levels.items():
        found[name] = np.repeat(level[:, None], past.horizon, axis=1)
    for season in seasons:
        last, means = last_values(past, season), place_means(past, season)
        found[f"season {season}"] = _repeated(past, last)
        found[f"means of season {season}"] = _repeated(past, means)
    return found | _around_levels(past, seasons)


def _repeated(past: Past, profile: Float64Array) -> Float64Array:
    """Repeat the profiles of windows that hold a season, (n, season)."""
    season = profile.shape[1]
    able = _holds(past, season)
    profile[able] = nearest(profile[able])
    _, ahead = past.places(season)
    forecast = at(profile, ahead)
    forecast[~able] = np.nan
    return forecast


def _around_levels(past: Past, seasons: tuple[int, ...]) -> Named:
    """Forecast by levels and trends alone, below each season's profile, and below both."""
    n = len(past.values)
    each = _without_seasons(past, seasons)
    # PERF: one run of smoothing for all of them.
    values = np.concatenate([one.past.values for one in each])
    wall = np.tile(past.wall, (len(each), 1))
    levels = _levels(Past(values, wall))
    found = {}
    for i, one in enumerate(each):
        windows = slice(i * n, (i + 1) * n)
        for name, forecast in levels.items():
            whole = forecast[windows] + one.wave
            whole[~one.able] = np.nan
            found[name + one.name] = whole
    return found


def _without_seasons(past: Past, seasons: tuple[int, ...]) -> list[_Rest]:
    """Take nothing off windows, each season's profile, and both."""
    n = len(past.values)
    none = np.zeros((n, past.horizon))
    each = [_Rest("", past, none, np.ones(n, dtype=bool))]
    for season in seasons:
        rest, wave = _without(past, season, around_level(past, season, _AROUND))
        each.append(_Rest(f" + season {season}", rest, wave, _holds(past, season)))
    if len(seasons) > 1:
        short, long = seasons
        rest, wave = _without(past, short, around_level(past, short, _OF_TWO))
        rest, slow = _without(rest, long, _shrunk_means(rest, long))
        able = _holds(past, long, n_seasons=1.5)
        each.append(_Rest(" + both seasons", rest, wave + slow, able))
    return each


def _levels(past: Past) -> Named:
    """Forecast windows without a season by their levels and trends."""
    steps = np.arange(1.0, past.horizon + 1)
    states = smooth(past.values, _GRID)
    levels = states.some(slice(len(_LEVELS)))
    level = levels.likely(levels.level)[:, None]
    straight, ends = line(past.values), Ends.of(past)
    slope = straight.slope[:, None]
    n_behind = past.n_rows - 1 - ends.last  # rows since the last known one
    return {
        "level": np.repeat(level, past.horizon, axis=1),
        "damped": _damped(states.some(slice(len(_LEVELS), None)), steps),
        "theta": level + slope / 2 * steps,
        "drift": level + ends.slope[:, None] * (steps + n_behind[:, None]),
        "line": straight.end[:, None] + slope * steps,
    }


def _damped(trends: Smoothed, steps: Float64Array) -> Float64Array:
    """Go on by damped trends, as likely as their constants are."""
    phi = _GRID.phi[len(_LEVELS) :, None]
    reach = np.cumsum(phi**steps, axis=1)
    change = trends.trend[:, :, None] * reach
    return trends.likely(trends.level[:, :, None] + change)


def _without(
    past: Past,
    season: int,
    profile: Float64Array,
) -> tuple[Past, Float64Array]:
    """Subtract a profile from windows, and return what it adds to the steps ahead."""
    now, ahead = past.places(season)
    rest = past.values - at(profile, now)
    return past.replaced(rest), at(profile, ahead)


def _shrunk_means(rest: Past, season: int) -> Float64Array:
    """Average what is left at each place, shrunk as if one season more had nothing there."""
    middle = np.nanmean(rest.values, axis=1, keepdims=True)
    around = rest.replaced(rest.values - middle)
    means = np.nan_to_num(place_means(around, season, _OF_TWO))
    n_seasons = (rest.n_rows - Ends.of(rest).first) / season
    return means * shrinkage(n_seasons, 1.0)[:, None]


def _holds(
    past: Past,
    season: int,
    n_seasons: float = 1.0,
) -> BoolArray:
    """Return which windows hold so many seasons, and rows enough for a profile, (n,)."""
    n_rows = past.n_rows - Ends.of(past).first
    n_known = past.known.sum(axis=1)
    return (n_rows >= n_seasons * season) & (n_known >= 3)
