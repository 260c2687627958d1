"""What a season looks like in a panel: lent to windows that are too short to show it themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skinformer.classical.past import Past
from skinformer.classical.profiles import place_means
from skinformer.classical.windows import SeriesRows, UnitWindows
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.windows import real_rows, spread_places

#: Series, each of two seasons at least, of which a panel's profile is told.
_FEWEST_SERIES = 4
#: Series at most that are asked for it.
_MOST_SERIES = 400
#: Share of the error of levels that a profile has to save on series that it was not taken from.
_LEAST_GAIN = 0.05
#: Part of the mean below which no factor lies: on days that are nearly closed.
_LEAST_FACTOR = 0.05


@dataclass(frozen=True)
class PanelProfile:
    """
    Factors of the places of a season, of mean 1.

    Attributes
    ----------
    factors : ndarray of shape (season,)
        A single one where the panel shows no season that its series share.
    """

    factors: Float64Array

    @classmethod
    def none(cls) -> PanelProfile:
        """Return that of a panel without a common season."""
        return cls(np.ones(1))

    def at(self, wall: IntArray, n_known: IntArray) -> Float64Array:
        """
        Return the factors of rows.

        Parameters
        ----------
        wall : ndarray of int
            The steps of the rows on the clock on the wall.
        n_known : ndarray of int
            How many rows of each one's window are known. Where these are a season the profile
            counts in full, where they are two it does not count.
        """
        season = len(self.factors)
        need = np.clip(2.0 - n_known / season, 0.0, 1.0)
        return self.factors[wall % season] ** need

    def is_needed(self, n_known: IntArray) -> BoolArray:
        """Return which windows need it, by how many of their rows are known."""
        season = len(self.factors)
        return (n_known < 2 * season) & (season > 1)

    def forecast(
        self, forecast: Callable[[UnitWindows], Float64Array], windows: UnitWindows
    ) -> Float64Array:
        """Forecast windows, (n, pred_len), those that need a profile without it first."""
        n_rows = windows.past.shape[1]
        known = windows.known & real_rows(windows.length, n_rows)
        n_known = known.sum(axis=1)
        found = forecast(windows)
        few = np.flatnonzero(self.is_needed(n_known))
        if not len(few):
            return found
        steps = windows.steps[few, None] + np.arange(-n_rows, found.shape[1])
        wall = windows.clock.wall_steps(steps)
        factor, ahead = np.split(self.at(wall, n_known[few, None]), [n_rows], axis=1)
        some = UnitWindows(
            windows.past[few] / factor,
            windows.length[few],
            windows.known[few],
            windows.steps[few],
            windows.series[few],
            windows.clock,
        )
        found[few] = forecast(some) * ahead
        return found


def find_panel_profile(rows: SeriesRows, seasons: Sequence[int]) -> PanelProfile:
    """
    Find the season whose profile saves most of the error on series that it was not taken from.

    Parameters
    ----------
    rows : SeriesRows
        Rows of all series. Where one is negative nothing multiplies them, and there is none.
    seasons : sequence of int
        Rows of the seasons that there may be.

    Returns
    -------
    PanelProfile
        The mean over series of the places' means as parts of the series' mean.
    """
    if rows.values.min(initial=0.0) < 0:
        return PanelProfile.none()
    best = PanelProfile.none()
    most_gain = _LEAST_GAIN
    for season in seasons:
        series = _relative_series(rows, season)
        if len(series) < _FEWEST_SERIES:
            continue
        profiles = np.stack([_place_means(each, season) for each in series])
        halves = profiles[::2].mean(axis=0), profiles[1::2].mean(axis=0)
        gains = [_gain(each, halves[1 - i % 2]) for i, each in enumerate(series)]
        gain = float(np.mean(gains))
        if gain > most_gain:
            factors = np.maximum(profiles.mean(axis=0), _LEAST_FACTOR)
            best, most_gain = PanelProfile(factors), gain
    return best


def _relative_series(rows: SeriesRows, season: int) -> list[Past]:
    """List series that hold two seasons, and have sizes, as parts of their means, one each."""
    found = []
    wall = rows.wall
    n_rows = np.diff(rows.first_row)
    long = np.flatnonzero(n_rows >= 2 * season)
    for i in long[spread_places(len(long), _MOST_SERIES)]:
        part = slice(rows.first_row[i], rows.first_row[i + 1])
        known = rows.known[part]
        values = np.where(known, rows.values[part], np.nan)
        places = np.unique(wall[part][known] % season)
        mean = np.nanmean(values) if known.any() else 0.0
        if len(places) == season and mean > 0:
            found.append(Past(values[None] / mean, wall[None, part]))
    return found


def _place_means(series: Past, season: int) -> Float64Array:
    """Average each place of a season, as parts of their mean, (season,)."""
    [means] = place_means(series, season)
    return means / means.mean()


def _gain(series: Past, factors: Float64Array) -> float:
    """Return the share of the error of recent means that factors save."""
    season = len(factors)
    [values] = series.values
    factor = np.maximum(factors[series.wall[0] % season], _LEAST_FACTOR)
    n_recent = max(3, season // 2)
    plain = np.nanmean(np.abs(values - _recent_means(values, n_recent)))
    by_profile = np.nanmean(
        np.abs(values - _recent_means(values / factor, n_recent) * factor)
    )
    return float(1 - by_profile / plain) if plain > 0 else 0.0


def _recent_means(values: Float64Array, n_recent: int) -> Float64Array:
    """Average so many rows before each one; NaN for the first, and where none is known."""
    before = pd.Series(values).shift()
    means = before.rolling(n_recent, min_periods=1).mean().to_numpy()
    return np.where(np.arange(len(values)) < n_recent, np.nan, means)
