"""
The classical candidates: what each of them forecasts for a batch of windows.

Every candidate is a fixed map of the window: nothing is learnt but what the window's own rows say.
They take a level, perhaps with a trend, and perhaps a season's profile on top; most of them speak
twice, of the values and of their logarithms. Of running totals all speak of the changes, too. Rows
before a step have been moved to its level. A candidate that needs more rows than a window has
answers NaN for it.
"""

from collections.abc import Callable
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np

from skinformer.classical.collapses import recovered_rows
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past
from skinformer.classical.profiles import (
    around_level,
    last_values,
    nearest,
    place_means,
)
from skinformer.classical.smoothing import Grid, Smoothed, line, smooth
from skinformer.classical.steps import without_step
from skinformer.classical.totals import add_up, changes_of, find_totals
from skinformer.classical.windows import bounded
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray

#: Forecasts by name, (n, horizon) each.
Named = dict[str, Float64Array]
#: Rows of seasons, the short one first; at most two.
Seasons = tuple[int, ...]


class Sizes(NamedTuple):
    """
    How far candidates look.

    Attributes
    ----------
    seq_len, pred_len : int
        Rows of a window and of a forecast.
    seasons : tuple of int
        Rows of a season, the short one first; at most two.
    ridge_rows, period : int
        Rows of the ridges' windows and of their season, 1 for none.
    step_days : int
        Days of a step where a season is a year of weeks or days, else 0.
    last_day : int
        Number of the last day of the step at which the clock begins to count.
    of_totals : bool
        Whether there are running totals, whose changes are forecast, too.
    """

    seq_len: int
    pred_len: int
    seasons: Seasons
    ridge_rows: int
    period: int
    step_days: int = 0
    last_day: int = 0
    of_totals: bool = False

    def last_day_of(self, wall: IntArray) -> AnyArray:
        """Return the last day of steps on the clock on the wall, as ``datetime64[D]``."""
        return (self.last_day + self.step_days * wall).astype("datetime64[D]")


class _Rest(NamedTuple):
    """Windows without a season: what it adds ahead, and which of them know it.

    wave: (n, horizon); able: (n,); or one number for all of them.
    """

    name: str
    past: Past
    wave: Float64Array
    able: BoolArray


#: What a season counts for beside the next one in profiles around a level.
_AROUND = 0.8
#: Constants of smoothing: level, trend, damping.
_LEVELS = [(alpha, 0.0, 0.0) for alpha in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)]
_TRENDS = product((0.1, 0.3, 0.6, 0.9), (0.05, 0.2, 0.5), (0.98, 0.9))
_GRID = Grid(*np.transpose([*_LEVELS, *_TRENDS]))
#: What a season counts for beside the next one in profiles of two seasons, which are harder to tell
#: apart.
_OF_TWO = 0.9


@cache
def candidate_names(
    seasons: Seasons, *, of_mean: bool, of_totals: bool = False
) -> list[str]:
    """Name the candidates as `forecast_candidates` orders them."""
    past = Past(np.ones((1, 2)), np.arange(3)[None])
    plain = _on_values(past, seasons, of_mean=of_mean)
    by_logs = [f"log {name}" for name in _around_levels(past, seasons)]
    by_changes = [f"changes {name}" for name in plain] if of_totals else []
    return [*plain, *by_logs, *by_changes]


def forecast_candidates(
    past: Past,
    seasons: Seasons,
    *,
    of_mean: bool,
    of_totals: bool = False,
    seen: Past | None = None,
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
    of_totals : bool, default=False
        Whether changes of running totals are forecast, too, see `find_totals`.
    seen : Past or None, default=None
        Windows as they were observed, where `past` is without what dates do; None for `past`.

    Returns
    -------
    ndarray
        NaN where a window has too few rows for a candidate, values that have no logarithms, or is
        no running total. No forecast lies farther outside of what the window holds than this is
        wide, and no change of a running total farther outside of its changes.
    """
    # 1. Windows without a collapse, and moved to the level behind a step.
    season = shortest(seasons)
    collapsed = recovered_rows(past, season)
    usual = Past(np.where(collapsed, np.nan, past.values), past.wall)
    if seen is not None:
        # Rows of other years that stand at their dates would look like steps of the level.
        seen = Past(np.where(collapsed, np.nan, seen.values), seen.wall)
    moved = without_step(usual, season, longer=max(seasons, default=0), seen=seen)
    # 2. Values, and logarithms of positive ones.
    plain = _stacked(_on_values(moved, seasons, of_mean=of_mean))
    n_plain = plain.shape[1]
    n_logs = len(candidate_names(seasons, of_mean=of_mean)) - n_plain
    positive = np.nanmin(moved.values, axis=1) > 0
    by_logs = partial(_by_logs, seasons=seasons, of_mean=of_mean)
    found = np.concatenate([plain, _of_some(moved, positive, by_logs, n_logs)], axis=1)
    found = bounded(found, past.values)
    if not of_totals:
        return found
    # 3. Changes of running totals.
    rising = find_totals(usual.values)
    by_changes = partial(_by_changes, seasons=seasons, of_mean=of_mean)
    of_changes = _of_some(usual, rising, by_changes, n_plain)
    return np.concatenate([found, of_changes], axis=1)


def _of_some(
    past: Past,
    able: BoolArray,
    forecast: Callable[[Past], Float64Array],
    n_candidates: int,
) -> Float64Array:
    """Forecast windows that are able to, (n, n_candidates, horizon); NaN for others."""
    found = np.full((len(able), n_candidates, past.horizon), np.nan)
    if able.any():
        found[able] = forecast(past.take(able))
    return found


def shortest(seasons: Seasons) -> int:
    """Return the rows of the shortest season, 1 for none."""
    return seasons[0] if seasons else 1


def _stacked(found: Named) -> Float64Array:
    return np.stack([*found.values()], axis=1)


def _by_logs(past: Past, seasons: Seasons, *, of_mean: bool) -> Float64Array:
    """Forecast positive windows by levels and trends of their logarithms."""
    logs = Past(np.log(past.values), past.wall)
    found = _stacked(_around_levels(logs, seasons))
    # Not so far above the greatest logarithm that there is no exponential.
    most = np.nanmax(logs.values, axis=1) + 1.0
    found = np.minimum(found, most[:, None, None])
    if of_mean:
        shift = mean_log_shift(logs, shortest(seasons))
        found += shift[:, None, None]
    return np.exp(found)


def _by_changes(totals: Past, seasons: Seasons, *, of_mean: bool) -> Float64Array:
    """Forecast running totals by what is forecast of their changes."""
    changes = changes_of(totals)
    ahead = _stacked(_on_values(changes, seasons, of_mean=of_mean))
    return add_up(totals, bounded(ahead, changes.values))


def _on_values(past: Past, seasons: Seasons, *, of_mean: bool) -> Named:
    """Forecast by what repeats rows, then by levels and trends."""
    n_recent = max(2 * shortest(seasons), 6)
    n_longer = max(2 * n_recent, past.horizon)
    levels = {"last": past.last_value}
    rows = {
        "": past.values,
        "longer ": past.recent_values(n_longer),
        "recent ": past.recent_values(n_recent),
    }
    for prefix, values in rows.items():
        levels[f"{prefix}mean"] = np.nanmean(values, axis=1)
        if not of_mean:
            levels[f"{prefix}median"] = np.nanmedian(values, axis=1)
    found = {}
    for name, level in levels.items():
        found[name] = np.repeat(level[:, None], past.horizon, axis=1)
    for season in seasons:
        last = last_values(past, season)
        means = place_means(past, season)
        found[f"season {season}"] = _repeated(past, last)
        found[f"means of season {season}"] = _repeated(past, means)
    return found | _around_levels(past, seasons)


def _repeated(past: Past, profile: Float64Array) -> Float64Array:
    """Repeat the profiles of windows that hold a season, (n, season)."""
    season = profile.shape[1]
    able = _holds(past, season)
    profile[able] = nearest(profile[able])
    _, forecast = past.repeat(profile)
    forecast[~able] = np.nan
    return forecast


def _around_levels(past: Past, seasons: Seasons) -> Named:
    """Forecast by levels and trends alone, below each season's profile, and below both."""
    each = _without_seasons(past, seasons)
    # PERF: one run of smoothing for all of them.
    values = np.concatenate([one.past.values for one in each])
    wall = np.tile(past.wall, (len(each), 1))
    levels = _levels(Past(values, wall))
    found = {}
    for i, one in enumerate(each):
        for name, forecasts in levels.items():
            forecast = np.split(forecasts, len(each))[i] + one.wave
            found[name + one.name] = np.where(one.able[:, None], forecast, np.nan)
    return found


def _without_seasons(past: Past, seasons: Seasons) -> list[_Rest]:
    """Take nothing off windows, each season's profile, and both."""
    everywhere = np.ones(1, dtype=bool)
    each = [_Rest("", past, np.zeros(1), everywhere)]
    for season in seasons:
        profile = around_level(past, season, _AROUND)
        rest, wave = _without(past, profile)
        able = _holds(past, season)
        each.append(_Rest(f" + season {season}", rest, wave, able))
    if len(seasons) > 1:
        short, long = seasons
        profile = around_level(past, short, _OF_TWO)
        rest, wave = _without(past, profile)
        rest, slow = _without(rest, _shrunk_means(rest, long))
        able = _holds(past, 1.5 * long)
        each.append(_Rest(" + both seasons", rest, wave + slow, able))
    return each


def _levels(past: Past) -> Named:
    """Forecast windows without a season by their levels and trends."""
    steps = np.arange(1.0, past.horizon + 1)
    states = smooth(past.values, _GRID)
    levels = states.some(slice(len(_LEVELS)))
    trends = states.some(slice(len(_LEVELS), None))
    level = levels.likely(levels.level)[:, None]
    end, slope = line(past.values)
    rise = slope * steps
    n_unknown = past.n_rows - 1 - past.last[:, None]
    return {
        "level": np.repeat(level, past.horizon, axis=1),
        "damped": _damped(trends, steps),
        "theta": level + rise / 2,
        "drift": level + past.drift[:, None] * (n_unknown + steps),
        "line": end + rise,
    }


def _damped(trends: Smoothed, steps: Float64Array) -> Float64Array:
    """Go on by damped trends, as likely as their constants are."""
    phi = _GRID.phi[len(_LEVELS) :, None]
    reach = np.cumsum(phi**steps, axis=1)
    change = trends.trend[:, :, None] * reach
    forecast = trends.level[:, :, None] + change
    return trends.likely(forecast)


def _without(past: Past, profile: Float64Array) -> tuple[Past, Float64Array]:
    """Subtract a profile from windows, and return what it adds to the steps ahead."""
    now, ahead = past.repeat(profile)
    return Past(past.values - now, past.wall), ahead


def _shrunk_means(rest: Past, season: int) -> Float64Array:
    """Average what is left at each place, shrunk as if one season more had nothing there."""
    middle = np.nanmean(rest.values, axis=1, keepdims=True)
    means = place_means(rest, season, _OF_TWO) - middle
    n_seasons = (rest.n_rows - rest.first) / season
    weight = shrinkage(n_seasons, 1.0)
    return np.nan_to_num(means) * weight[:, None]


def _holds(past: Past, n_rows: float) -> BoolArray:
    """Return which windows hold so many rows, and enough known ones for a profile, (n,)."""
    is_long = past.n_rows - past.first >= n_rows
    return is_long & (past.known.sum(axis=1) >= 3)
