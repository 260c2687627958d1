"""The classical candidates: what each of them forecasts for a batch of windows.

Every candidate is a fixed map of the window: nothing is learnt but what the window's own rows say.
All of them speak twice, on the values and on their logarithms.
"""

from collections.abc import Iterator

import numpy as np

from skinformer.classical.means import mean_log_shift
from skinformer.classical.seasons import adjusted, effects, last_seasons, repeated
from skinformer.classical.smoothing import Grid, States, continue_states, line, smooth
from skinformer.classical.windows import on_both_scales
from skinformer.selection import softmax
from skinformer.timeline.arrays import Float64Array, IntArray

Named = tuple[list[str], Float64Array]

#: Constants of smoothing (level, trend, damping, season).
_SIMPLE = [(a, 0.0, 0.0, 0.0) for a in (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)]
_HOLT = [
    (a, b, p, 0.0) for p in (1.0, 0.9, 0.75) for a in (0.2, 0.5, 0.9) for b in (0.05, 0.2, 0.5)
]
_SEASONAL = [
    (a, b, p, g)
    for b, p in ((0.0, 0.0), (0.05, 1.0), (0.1, 0.9))
    for a in (0.1, 0.3, 0.6)
    for g in (0.05, 0.2, 0.5)
]
_PLAIN_GRID, _SEASONAL_GRID = Grid.of(*_SIMPLE, *_HOLT), Grid.of(*_SEASONAL)
_FIRST_ROWS = 10  # that a line is laid through, from which smoothing starts
_THETA = (0.2, 0.5, 0.8, 1.0)  # level constants beside half the line's slope
_N_CONSTANTS = 2  # that a trend has more: its own and its damping
_MEANS = (3, 6, 12)  # rows
_MEDIANS = (12,)  # rows; what repeats the median is right most often where most rows are 0
_SEASONS = (2, 3, 5)  # of which means are taken


def candidate_names(period: int, *, of_mean: bool) -> list[str]:
    """Name the candidates of one scale as `forecast_candidates` orders them; period 1: none."""
    past, length = np.zeros((1, 2)), np.array([2])
    families = _families(past, length, 1, period, of_mean=of_mean)
    return [name for names, _ in families for name in names]


def forecast_candidates(
    past: Float64Array, length: IntArray, horizon: int, period: int, *, of_mean: bool
) -> Float64Array:
    """Let every candidate forecast windows, the longest first: (n, n_candidates, horizon).

    Forecasts on the values come first, then those on their logarithms; a window that holds anything
    but positive values has the former twice. A period of 1 means no season. Memory: as many windows
    as the caller gives.

    of_mean: whether means are forecast: there are no medians then, and logarithms are raised.
    """

    def on_one_scale(_: str, some: IntArray, there: Float64Array) -> Float64Array:
        families = _families(there, length[some], horizon, period, of_mean=of_mean)
        return np.concatenate([forecast for _, forecast in families], axis=1)

    shift = mean_log_shift(past, length, period) if of_mean else 0.0
    return bounded(on_both_scales(on_one_scale, past, shift), past, length)


def bounded(forecast: Float64Array, past: Float64Array, length: IntArray) -> Float64Array:
    """Clip forecasts, (n, n_candidates, horizon), in place to what the window's range allows.

    They may lie beyond it by the range, and three times what a line through the window gains.
    """
    low, high = past.min(axis=1), past.max(axis=1)
    reach = 1 + 3 * np.arange(1, forecast.shape[2] + 1) / length[:, None]
    room = (high - low)[:, None] * reach
    lower, upper = low[:, None] - room, high[:, None] + room
    return np.clip(forecast, lower[:, None], upper[:, None], out=forecast)


def _families(
    past: Float64Array, length: IntArray, horizon: int, period: int, *, of_mean: bool
) -> Iterator[Named]:
    """Give one family of candidates after the other; the simplest is the first."""
    yield from _without_season("", past, length, horizon, of_mean=of_mean)
    if period > 1:
        season = effects(past, length, period)
        known = repeated(season, horizon)[:, None]
        calm = adjusted(past, season)
        for names, forecast in _without_season("adjusted ", calm, length, horizon, of_mean=of_mean):
            yield names, forecast + known
        yield _seasonal_smoothing(past, calm, season, length, horizon)
        yield _seasonal_means(past, length, horizon, period)


def _without_season(
    prefix: str, past: Float64Array, length: IntArray, horizon: int, *, of_mean: bool
) -> Iterator[Named]:
    steps = np.arange(1.0, horizon + 1)
    last = past[:, -1]
    first = np.take_along_axis(past, past.shape[1] - length[:, None], axis=1)[:, 0]
    drift = (last - first) / np.maximum(length - 1, 1)
    drifts = np.stack([np.zeros_like(last), drift], axis=1)
    yield [f"{prefix}last", f"{prefix}drift"], last[:, None, None] + drifts[:, :, None] * steps
    intercept, slope = line(past, length, past.shape[1])
    names = [f"{prefix}line"] + [f"{prefix}mean {k}" for k in (*_MEANS, "all")]
    means = [last_seasons(past, length, 1, k)[:, 0] for k in (*_MEANS, past.shape[1])]
    if not of_mean:
        names += [f"{prefix}median {k}" for k in (*_MEDIANS, "all")]
        means += [_median(past, length, k) for k in (*_MEDIANS, past.shape[1])]
    straight = (intercept + slope * length)[:, None] + slope[:, None] * steps
    flat = np.repeat(np.stack(means, axis=1)[:, :, None], horizon, axis=2)
    yield names, np.concatenate([straight[:, None], flat], axis=1)
    yield _smoothing(prefix, past, length, horizon)
    yield _theta(prefix, past, length, horizon, slope)


def _median(past: Float64Array, length: IntArray, most: int) -> Float64Array:
    """Give the median of the last real rows."""
    last = past[:, -most:]
    real = np.arange(last.shape[1]) >= last.shape[1] - length[:, None]
    return np.asarray(np.nanmedian(np.where(real, last, np.nan), axis=1))


def _smoothing(prefix: str, past: Float64Array, length: IntArray, horizon: int) -> Named:
    names = [f"{prefix}smooth {a:g} {b:g} {p:g}" for a, b, p, _ in _SIMPLE + _HOLT]
    states = smooth(past, length, _PLAIN_GRID, _start(past, length, _PLAIN_GRID))
    forecast, n = continue_states(states, _PLAIN_GRID, horizon), len(_SIMPLE)
    parts = {"simple": slice(n), "Holt": slice(n, None), "smooth": slice(None)}
    names += [f"{prefix}likely {name}" for name in parts]
    likely = [_likely(forecast, states, length, _PLAIN_GRID, part) for part in parts.values()]
    return names, np.concatenate([forecast, *likely], axis=1)


def _likely(
    forecast: Float64Array, states: States, length: IntArray, grid: Grid, part: slice = slice(None)
) -> Float64Array:
    """Weigh constants by how likely they make a window's errors a row ahead: (n, 1, horizon).

    These are Akaike's weights. Judged are last forecasts alone; here all rows of a window say how
    it is smoothed, as where constants are fitted.
    """
    missed = states.missed[:, part]
    missed = missed + 1e-9 * missed.max(axis=1, keepdims=True) + 1e-300
    scores = -length[:, None] * np.log(missed) - _N_CONSTANTS * grid.trending[part]
    return np.asarray(np.einsum("nch,nc->nh", forecast[:, part], softmax(scores))[:, None])


def _start(past: Float64Array, length: IntArray, grid: Grid) -> States:
    """Start at the line through the first rows; without a trend, at its middle."""
    level, trend = line(past, length, _FIRST_ROWS)
    middle = (np.minimum(length, _FIRST_ROWS) + 1) / 2 * trend
    return States(level[:, None] + middle[:, None] * (1 - grid.trending), trend, None, np.zeros(1))


def _theta(
    prefix: str, past: Float64Array, length: IntArray, horizon: int, slope: Float64Array
) -> Named:
    """Add half the slope of the line through all rows to simple smoothing, as Theta does."""
    grid = Grid.of(*[(a, 0.0, 0.0, 0.0) for a in _THETA])
    states = smooth(past, length, grid, _start(past, length, grid))
    behind = (1 - (1 - grid.alpha) ** length[:, None]) / grid.alpha
    steps = behind[:, :, None] + np.arange(horizon)
    half = states.level[:, :, None] + slope[:, None, None] / 2 * steps
    names = [f"{prefix}theta {a:g}" for a in _THETA] + [f"{prefix}likely theta"]
    return names, np.concatenate([half, _likely(half, states, length, grid)], axis=1)


def _seasonal_smoothing(
    past: Float64Array, calm: Float64Array, season: Float64Array, length: IntArray, horizon: int
) -> Named:
    names = [f"seasonal {a:g} {b:g} {p:g} {g:g}" for a, b, p, g in _SEASONAL]
    start = _start(calm, length, _SEASONAL_GRID)._replace(season=season)
    states = smooth(past, length, _SEASONAL_GRID, start)
    forecast = continue_states(states, _SEASONAL_GRID, horizon)
    likely = _likely(forecast, states, length, _SEASONAL_GRID)
    return [*names, "likely seasonal"], np.concatenate([forecast, likely], axis=1)


def _seasonal_means(past: Float64Array, length: IntArray, horizon: int, period: int) -> Named:
    """Repeat the last season, or the mean of some."""
    last = repeated(last_seasons(past, length, period, 1), horizon)
    means = [repeated(last_seasons(past, length, period, k), horizon) for k in _SEASONS]
    names = ["last season"] + [f"mean of {k} seasons" for k in _SEASONS]
    return names, np.stack([last, *means], axis=1)
