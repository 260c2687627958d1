"""
Levels that changed at once: rows before the step are moved to the level behind it.

A step shows in seasonal differences, which it raises for one season and no longer. What it raises
has to be far from the other differences, and most of it has to be there at once: what grows or
wanders does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.classical.past import Past
from skinformer.classical.windows import mean_of_known, sums_before, sums_between
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Rows before and behind a step that have to differ by most of it.
_FEWEST = 3
_TINY = 1e-300


def without_step(
    past: Past, season: int, longer: int = 0, seen: Past | None = None
) -> Past:
    """
    Move the rows before the highest step of each window to the level behind it.

    Parameters
    ----------
    past : Past
        Windows.
    season : int
        Rows of their season, 1 for none. A step needs a season of rows before it, another one of
        differences to be told from, and three rows, or the last season, behind it.
    longer : int, default=0
        Rows of a longer season, 0 for none. What returns in it is no step.
    seen : Past or None, default=None
        The same windows as they were observed, in which steps are looked for; None for `past`.

    Returns
    -------
    Past
        The same windows where nothing changed at once.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[1.0, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 11, 13, 12]])
    >>> without_step(Past(values, np.arange(16)[None]), 3).values[0]
    array([11., 13., 12., 11., 13., 12., 11., 13., 12., 11., 13., 12., 11., 13., 12.])
    """
    seen = past if seen is None else seen
    step = find_step(seen, season)
    if step is None:
        return past
    step = step.unless(returns(seen, step, season, longer))
    is_before = np.arange(past.n_rows) < step.first_behind[:, None]
    moved = past.values + step.height[:, None]
    by_factor = _moved_by_factor(past, season, step)
    moved = np.where(np.isnan(by_factor), moved, by_factor)
    return Past(np.where(is_before, moved, past.values), past.wall)


def _moved_by_factor(past: Past, season: int, step: Step) -> Float64Array:
    """Multiply windows where the season behind a step looks so; NaN where it does not.

    What a factor makes of the usual season before is clearly nearer to the rows behind the step
    then than what is added makes of it. No row is negative there, and the season returns.
    """
    factor = np.full(len(past.values), np.nan)
    for i in np.flatnonzero(step.first_behind):
        factor[i] = _factor_of_step(past.values[i], step.first_behind[i], season)
    return factor[:, None] * past.values


def _factor_of_step(values: Float64Array, first: int, season: int) -> float:
    """Return the factor from before a row to the season behind it; NaN where none is nearer."""
    behind = values[first : first + season]
    # Of up to four seasons: the noise of one hides what is nearer.
    n_before = min(first // season, 4)
    seasons = values[first - n_before * season : first].reshape(n_before, season)
    before = mean_of_known(seasons.T)[: len(behind)]
    is_known = ~np.isnan(behind + before)
    seasons = seasons[:, : len(behind)][:, is_known]
    if not is_known.any() or np.nanmin(values) < 0 or not _are_alike(seasons):
        return np.nan
    behind, before = behind[is_known], before[is_known]
    if before.sum() <= 0:
        return np.nan
    factor = behind.sum() / before.sum()
    added = behind.mean() - before.mean()
    error_of_factor = ((behind - factor * before) ** 2).sum()
    error_of_added = ((behind - before - added) ** 2).sum()
    return factor if error_of_factor < 0.8 * error_of_added else np.nan


def _are_alike(seasons: Float64Array) -> bool:
    """Return whether seasons, (n, n_phases), are alike but for their levels; one always is.

    The mean of those that are not shows what happened in one of them, such as another step. By
    chance alone both sides are equal in the mean, but for the factor.

    >>> _are_alike(np.array([[1.0, 2, 5], [11, 12, 15]]))
    True
    >>> _are_alike(np.array([[1.0, 2, 5], [5, 2, 1]]))
    False
    """
    n_seasons = len(seasons)
    levelled = seasons - mean_of_known(seasons)[:, None]
    pattern = mean_of_known(levelled.T)
    rest = np.nansum((levelled - pattern) ** 2)
    explained = n_seasons * np.nansum(pattern**2)
    return bool((n_seasons - 1) * explained >= 4 * rest)


class Step(NamedTuple):
    """The highest step of each window.

    height: (n,), 0 where there is none.
    first_behind: (n,), the column of the first row behind it; 0 where there is none.
    """

    height: Float64Array
    first_behind: IntArray

    def unless(self, excluded: BoolArray) -> Step:
        """Return it without the steps of some windows, (n,)."""
        return Step(
            np.where(excluded, 0.0, self.height),
            np.where(excluded, 0, self.first_behind),
        )


def returns(past: Past, step: Step, season: int, longer: int) -> BoolArray:
    """
    Return which steps are there one longer season before or later, too, (n,).

    The trade of December is one, and what it falls back to in January: the level is no other than
    a year ago, neither before such a step nor behind it.

    Parameters
    ----------
    past : Past
        Windows. No step returns of which neither year beside it is known.
    step : Step
        A step of each of them.
    season, longer : int
        Rows of the season, and of a longer one, 0 for none.

    Returns
    -------
    ndarray of bool, shape (n,)
        False where there is no step.

    Examples
    --------
    >>> values = np.tile([5.0, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9, 9], 3)[None]
    >>> past = Past(values, np.arange(37)[None])
    >>> step = Step(np.array([4.0]), np.array([30]))
    >>> returns(past, step, 1, longer=12), returns(past, step, 1, longer=0)
    (array([ True]), array([False]))
    """
    nothing = np.zeros(len(past.values), dtype=bool)
    if not longer:
        return nothing
    # The same place of the shorter season, too.
    n_back = round(longer / season) * season
    earlier = _is_there_again(past, step, season, n_back, 0)
    later = _is_there_again(past, step, season, n_back, n_back)
    return (step.first_behind > 0) & (earlier | later)


def _is_there_again(
    past: Past, step: Step, season: int, n_back: int, n_later: int
) -> BoolArray:
    """Return whether rows beside steps, so many rows later, are as those so many rows before."""
    again = np.ones(len(past.values), dtype=bool)
    beside = np.arange(max(season, _FEWEST))
    for rows in (beside - len(beside), beside):
        columns = step.first_behind[:, None] + rows + n_later
        columns = np.where(columns < past.n_rows, columns, -1)
        change = _changes_since(past, columns, np.full((1, 1), n_back))
        again &= np.abs(mean_of_known(change)) < 0.5 * np.abs(step.height)
    return again


def find_step(past: Past, season: int) -> Step | None:
    """
    Find the highest step of each window.

    Parameters
    ----------
    past : Past
        Windows.
    season : int
        Rows of their season, 1 for none.

    Returns
    -------
    Step or None
        None where windows have too few rows for any. Where no step adds something, one that
        multiplies rows is looked for: behind it the differences of a strong season are as unlike
        each other as its rows.

    Examples
    --------
    >>> values = np.array([[1.0, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 11, 13, 12]])
    >>> find_step(Past(values, np.arange(16)[None]), 3)
    Step(height=array([10.]), first_behind=array([12]))
    """
    added = _find_added(past, season)
    if added is None:
        return None
    height, first_behind = added
    rest = np.flatnonzero(first_behind == 0)
    if len(rest):
        height[rest], first_behind[rest] = _find_multiplied(past.take(rest), season)
    return Step(height, first_behind)


def _find_multiplied(past: Past, season: int) -> Step:
    """Find the highest step of logarithms of windows without negative rows, at least one."""
    values = past.values
    # Single precision makes something of zeros.
    rounding = 1e-6 * np.fmax.reduce(np.abs(values), axis=1)
    has_sizes = np.fmin.reduce(values, axis=1) >= -rounding
    sizes = Past(np.maximum(values, 0.0), past.wall)
    found = _find_added(_logs_of_sizes(sizes), season)
    assert found is not None  # there are rows enough
    first_behind = np.where(has_sizes, found.first_behind, 0)
    height = np.zeros(len(values))
    for i in np.flatnonzero(first_behind):
        before, behind = np.split(values[i], first_behind[[i]])
        behind = behind[:season]
        before = before[-season:][: len(behind)]
        height[i] = np.nanmean(behind) - np.nanmean(before)
    return Step(height, first_behind)


def _logs_of_sizes(past: Past) -> Past:
    """Return the logarithms of windows without negative rows, a tenth of their means added.

    So those of zeros are numbers, and those of small rows not far below all others.
    """
    mean = mean_of_known(past.values)[:, None]
    return Past(np.log(past.values + 0.1 * mean + _TINY), past.wall)


def _find_added(past: Past, season: int) -> Step | None:
    """Find the highest step of each window that adds something to its rows."""
    n_differences = past.n_rows - season
    if n_differences < season + 2 * _FEWEST:
        return None
    differences = _seasonal_differences(past, season)
    distance = np.nan_to_num(np.abs(differences))
    unit = distance.max(axis=1, keepdims=True) + _TINY
    first_raised = np.arange(_FEWEST, n_differences - min(_FEWEST, season) + 1)
    height, growth, relative = _possible_steps(differences / unit, first_raised, season)

    highest = relative.argmax(axis=1)
    at_highest = np.arange(len(highest)), highest
    height = height[at_highest] * unit[:, 0]
    growth = growth[at_highest] * unit[:, 0]
    first_behind = season + first_raised[highest]
    is_step = _lasts(past, season, height, growth, first_behind)
    # In standard deviations of differences.
    is_step &= relative[at_highest] > 4.0
    return Step(np.where(is_step, height, 0.0), np.where(is_step, first_behind, 0))


def _lasts(
    past: Past,
    season: int,
    height: Float64Array,
    growth: Float64Array,
    first_behind: IntArray,
) -> BoolArray:
    """Return whether the last known rows are off the rows before each step by most of it.

    What grows in each season, (n,), is no part of it. A collapse that has been recovered from is
    none, nor is the recovery: the rows before are those of up to six seasons, of which a collapse
    is the smaller part.
    """
    last = _last_known(past)
    n_rows_behind = last - first_behind[:, None]
    n_seasons = n_rows_behind // season + 1
    raised = []
    for n_more in range(6):
        n_since = n_seasons + n_more
        change = (
            _changes_since(past, last, n_since * season) - n_since * growth[:, None]
        )
        raised.append(mean_of_known(np.where(n_rows_behind >= 0, change, np.nan)))
    known = np.isfinite(raised)
    remaining = np.zeros(len(height))
    some = known.any(axis=0)
    remaining[some] = np.nanmedian(np.array(raised)[:, some], axis=0)
    # What has grown since is farther off.
    lasts: BoolArray = remaining * np.sign(height) >= 0.6 * np.abs(height)
    return lasts


def _changes_since(past: Past, rows: IntArray, n_rows: IntArray) -> Float64Array:
    """Return how rows, (n, k), have changed since so many before each; NaN before a window."""
    before = rows - n_rows
    now = np.take_along_axis(past.values, np.maximum(rows, 0), axis=1)
    earlier = np.take_along_axis(past.values, np.maximum(before, 0), axis=1)
    return np.where(before >= 0, now - earlier, np.nan)


def _last_known(past: Past) -> IntArray:
    """Return the columns of the last known rows of windows, (n, 3); -1 where they are fewer."""
    columns = np.where(past.known, np.arange(past.n_rows), -1)
    found: IntArray = np.partition(columns, -_FEWEST, axis=1)[:, -_FEWEST:]
    return found


def _seasonal_differences(past: Past, season: int) -> Float64Array:
    """Subtract from each row the one a season before, by the clock on the wall."""
    wall = past.wall[:, : past.n_rows]
    clock_change = wall[:, season:] - wall[:, :-season] - season
    before = np.arange(past.n_rows - season) + clock_change
    before = np.clip(before, 0, past.n_rows - 1)
    earlier = np.take_along_axis(past.values, before, axis=1)
    return past.values[:, season:] - earlier


def _possible_steps(
    differences: Float64Array, begin: IntArray, season: int
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Compare the season of differences that begins at each row with all others.

    Returned is how much higher its differences are, (n, n_begins), the mean of the others, and
    the first in standard deviations of differences, 0 where there is no sudden step.
    """
    filled = np.nan_to_num(differences)
    sums = sums_before(~np.isnan(differences), filled, filled**2)
    end = np.minimum(begin + season, differences.shape[1])
    raised = sums_between(sums, begin, end)
    total = sums[:, :, -1:]
    others = total - raised
    growth = _mean(others)
    height = _mean(raised) - growth
    squares = _squares_around_mean(raised) + _squares_around_mean(others)
    n_known = total[0]
    deviation = np.sqrt(squares / np.maximum(n_known, 1))
    relative = np.abs(height) / np.maximum(deviation, _TINY)
    is_sudden = _is_sudden(sums, begin, season, raised, height)
    has_others = others[0] >= max(season, 2 * _FEWEST)
    return height, growth, relative * (is_sudden & has_others)


def _is_sudden(
    sums: Float64Array,
    begin: IntArray,
    season: int,
    raised: Float64Array,
    height: Float64Array,
) -> BoolArray:
    """Return whether most of each height is there at once, in the first row, and stays."""
    n_behind = min(_FEWEST, season)
    before = sums_between(sums, begin - _FEWEST, begin)
    behind = sums_between(sums, begin, begin + n_behind)
    first = sums_between(sums, begin, begin + 1)
    height_at_once = _mean(behind) - _mean(before)
    tolerance = 0.4 * np.abs(height)
    is_at_once = np.abs(height_at_once - height) <= tolerance
    is_in_first = np.abs(_mean(first) - _mean(raised)) <= tolerance
    is_known = (before[0] > 0) & (raised[0] >= n_behind)
    return is_at_once & is_in_first & is_known


def _mean(sums: Float64Array) -> Float64Array:
    """Average rows by their sums, 0 where none is known."""
    return sums[1] / np.maximum(sums[0], 1)


def _squares_around_mean(sums: Float64Array) -> Float64Array:
    """Sum the squared distances of rows from their mean."""
    return np.maximum(sums[2] - sums[1] * _mean(sums), 0.0)
