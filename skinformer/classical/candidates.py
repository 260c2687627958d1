"""
The classical candidates: what each of them forecasts for a batch of windows.

Every candidate is a fixed map of the window: nothing is learnt but what the window's own rows say.
They take a level, perhaps with a trend, and perhaps a season's profile on top; most of them speak
twice, of the values and of their logarithms. Rows before a step have been moved to its level. A
candidate that needs more rows than a window has answers NaN for it.
"""

from collections.abc import Iterator
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
from skinformer.classical.smoothing import Grid, line, smooth
from skinformer.classical.steps import without_step
from skinformer.classical.windows import bounded
from skinformer.timeline.arrays import BoolArray, Float64Array

#: Forecasts by name, (n, horizon) each.
Named = dict[str, Float64Array]


class _Rest(NamedTuple):
    """Windows without a season: what it adds ahead, and which of them know it; None for all."""

    name: str
    past: Past
    wave: Float64Array
    able: BoolArray | None


#: Constants of smoothing: level, trend, damping.
_LEVELS = [(a, 0.0, 0.0) for a in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)]
_TRENDS = [
    (a, b, p)
    for p in (0.98, 0.9)
    for a in (0.1, 0.3, 0.6, 0.9)
    for b in (0.05, 0.2, 0.5)
]
_GRID = Grid.of(*_LEVELS, *_TRENDS)
_OF_LEVELS, _OF_TRENDS = slice(len(_LEVELS)), slice(len(_LEVELS), None)
#: What a season counts for beside the next one: in profiles around a level, and in those of two
#: seasons, which are harder to tell apart.
_AROUND, _OF_TWO = 0.8, 0.9
#: Rows of a recent mean, or two seasons.
_RECENT = 6
#: Known rows from which there is a profile; and seasons from which a second one lies over it.
_FEWEST, _SEASONS_OF_TWO = 3, 1.5
#: How far above the greatest logarithm exponentials are taken.
_MOST_LOG = 1.0


@cache
def candidate_names(seasons: tuple[int, ...], *, of_mean: bool) -> list[str]:
    """Name the candidates as `forecast_candidates` orders them."""
    past = Past(np.ones((1, 2)), np.arange(3)[None])
    plain = [name for name, _ in _on_values(past, seasons, of_mean=of_mean)]
    return plain + [f"log {name}" for name, _ in _around_levels(past, seasons)]


def forecast_candidates(
    past: Past, seasons: tuple[int, ...], *, of_mean: bool
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
    seen = past.values
    past = without_step(past, seasons[0] if seasons else 1)
    plain = [forecast for _, forecast in _on_values(past, seasons, of_mean=of_mean)]
    positive = np.nanmin(past.values, axis=1) > 0
    n_logs = len(candidate_names(seasons, of_mean=of_mean)) - len(plain)
    logs = np.full((n_logs, *plain[0].shape), np.nan)
    if positive.any():
        there = past.take(positive)
        there = there.replaced(np.log(there.values))
        found = np.stack([forecast for _, forecast in _around_levels(there, seasons)])
        most = np.nanmax(there.values, axis=1)[:, None] + _MOST_LOG
        shift = mean_log_shift(there, seasons) if of_mean else np.zeros(len(most))
        logs[:, positive] = np.exp(np.minimum(found, most) + shift[:, None])
    return bounded(np.concatenate([np.stack(plain), logs]).swapaxes(0, 1), seen)


def _on_values(
    past: Past, seasons: tuple[int, ...], *, of_mean: bool
) -> Iterator[tuple[str, Float64Array]]:
    """Yield the names and forecasts of what repeats rows, then of levels and trends."""
    recent = max(2 * seasons[0], _RECENT) if seasons else _RECENT
    late = np.cumsum(past.known[:, ::-1], axis=1)[:, ::-1] <= recent
    rows = {"": past.values, "recent ": np.where(late, past.values, np.nan)}
    yield "last", _flat(Ends.of(past).last_value, past)
    for prefix, values in rows.items():
        yield f"{prefix}mean", _flat(np.nanmean(values, axis=1), past)
        if not of_mean:
            yield f"{prefix}median", _flat(np.nanmedian(values, axis=1), past)
    for season in seasons:
        able = _holds(past, season)
        _, ahead = past.places(season)
        profiles = {
            "season": last_values(past, season),
            "means of season": place_means(past, season),
        }
        for name, profile in profiles.items():
            profile[able] = nearest(profile[able])
            yield f"{name} {season}", _only(able, at(profile, ahead))
    yield from _around_levels(past, seasons)


def _around_levels(
    past: Past, seasons: tuple[int, ...]
) -> Iterator[tuple[str, Float64Array]]:
    """Yield levels and trends alone, below each season's profile, and below both."""
    each = [_Rest("", past, np.zeros((len(past.values), past.horizon)), None)]
    for season in seasons:
        rest, wave = _without(past, season, around_level(past, season, _AROUND))
        each.append(_Rest(f" + season {season}", rest, wave, _holds(past, season)))
    if len(seasons) > 1:
        short, long = seasons
        rest, wave = _without(past, short, around_level(past, short, _OF_TWO))
        rest, slow = _without(rest, long, _shrunk_means(rest, long))
        able = _holds(past, long, _SEASONS_OF_TWO)
        each.append(_Rest(" + both seasons", rest, wave + slow, able))
    # PERF: one run of smoothing for all of them.
    values = np.concatenate([one.past.values for one in each])
    levels = _levels(Past(values, np.tile(past.wall, (len(each), 1))))
    for i, one in enumerate(each):
        part = slice(i * len(past.values), (i + 1) * len(past.values))
        for name, forecast in levels.items():
            whole = forecast[part] + one.wave
            yield (
                f"{name}{one.name}",
                whole if one.able is None else _only(one.able, whole),
            )


def _levels(past: Past) -> Named:
    """Forecast windows without a season by their levels and trends."""
    steps = np.arange(1.0, past.horizon + 1)
    states, straight, ends = (
        smooth(past.values, _GRID),
        line(past.values),
        Ends.of(past),
    )
    levels, trends = states.some(_OF_LEVELS), states.some(_OF_TRENDS)
    level = levels.likely(levels.level)[:, None]
    reach = np.cumsum(_GRID.phi[_OF_TRENDS, None] ** steps, axis=1)
    damped = trends.level[:, :, None] + trends.trend[:, :, None] * reach
    behind = (past.n_rows - 1 - ends.last)[:, None]  # rows since the last known one
    return {
        "level": level + 0 * steps,
        "damped": trends.likely(damped),
        "theta": level + straight.slope[:, None] / 2 * steps,
        "drift": level + ends.slope[:, None] * (steps + behind),
        "line": straight.end[:, None] + straight.slope[:, None] * steps,
    }


def _without(
    past: Past, season: int, profile: Float64Array
) -> tuple[Past, Float64Array]:
    """Subtract a profile from windows, and return what it adds to the steps ahead."""
    now, ahead = past.places(season)
    return past.replaced(past.values - at(profile, now)), at(profile, ahead)


def _shrunk_means(rest: Past, season: int) -> Float64Array:
    """Average what is left at each place, shrunk as if one season more had nothing there."""
    middle = np.nanmean(rest.values, axis=1, keepdims=True)
    means = np.nan_to_num(
        place_means(rest.replaced(rest.values - middle), season, _OF_TWO)
    )
    n_seasons = (rest.n_rows - Ends.of(rest).first) / season
    return means * (n_seasons / (1 + n_seasons))[:, None]


def _holds(past: Past, season: int, n_seasons: float = 1.0) -> BoolArray:
    """Return which windows hold so many seasons, and rows enough for a profile, (n,)."""
    rows = past.n_rows - Ends.of(past).first
    return np.asarray(
        (rows >= n_seasons * season) & (past.known.sum(axis=1) >= _FEWEST)
    )


def _only(able: BoolArray, forecast: Float64Array) -> Float64Array:
    return np.where(able[:, None], forecast, np.nan)


def _flat(value: Float64Array, past: Past) -> Float64Array:
    return np.repeat(value[:, None], past.horizon, axis=1)
