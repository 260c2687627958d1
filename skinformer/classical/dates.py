"""
What returns at a date, such as Christmas, in rows of weeks and of days.

Years of weeks are no seasons of 52 rows: each begins a day or two earlier in its week, and one of
five or six has 53. So the same date lies 52 or 53 rows ago, or beside that; of days, behind a leap
day, 366 ago. Where rows of the same
date agree better than those of the same number, they take the place of these, so that a season ago
is the same date. What sticks out at a date in all years is then known ahead: it is taken off before
candidates are asked, and added to whatever they forecast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from skinformer.classical.past import Past
from skinformer.classical.profiles import moving_mean, place_means
from skinformer.classical.windows import median_of_known
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.dates import number_of_date

#: Days of a step, and steps of a year.
YEARS = {7: 52, 1: 365}
#: Rows of which the mean is the level around a row of that many days: a year, a week.
_LEVEL_ROWS = {7: 52, 1: 7}
_MARGIN = 3  # places on both sides of the steps ahead that are looked at beside them
_QUARTER = 13  # rows
#: Square distances of what chance does not make, in usual ones.
_SURE = 25.0
#: How far from the level events lie, in distances that nearly no row has. Less far lie chance, as
#: of weather, and dates that move, as a Thanksgiving of one year (notes/decisions.md).
_FAR = 5.0
#: Years that differ by chance alone for which this counts beside those of a date.
_PRIOR_YEARS = 3
_DAY = np.timedelta64(1, "D")


class DateEffects(NamedTuple):
    """
    What dates do to windows of weeks.

    Attributes
    ----------
    rows : ndarray of shape (n, n_rows)
        The column that stands in place of each; its own where nothing differs.
    past : ndarray of shape (n, n_rows)
        What sticks out at dates, to be taken off the rows after that.
    ahead : ndarray of shape (n, horizon)
        What sticks out at the steps ahead.
    misled : ndarray of shape (n, horizon)
        Steps ahead at which nothing sticks out, but did as many rows ago as a season has.
    widening : ndarray of shape (n, horizon)
        By what factor errors at steps ahead are larger: few years show what sticks out.
    """

    rows: IntArray
    past: Float64Array
    ahead: Float64Array
    misled: BoolArray
    widening: Float64Array

    @property
    def steps(self) -> BoolArray:
        """Return steps ahead of which dates say something, (n, horizon)."""
        return (self.ahead != 0) | self.misled

    def taken_off(self, values: Float64Array) -> Float64Array:
        """Return rows, (n, n_rows), by date and without what sticks out."""
        return np.take_along_axis(values, self.rows, axis=1) - self.past


class _Groups(NamedTuple):
    """
    Rows of former years that may belong to the same date as a place around the steps ahead.

    Attributes
    ----------
    rows : ndarray of shape (n, n_places, n_groups, n_years)
        Their columns in the window; negative ones lie before it. The first group counts 52 weeks
        or 365 days for each year. Others have the step whose last day lies in as many days as it
        has, which begin 0 or more days before the date.
    usual : ndarray of shape (n, n_places)
        The group of weeks as they are counted from the year's nearer end.
    """

    rows: IntArray
    usual: IntArray

    def best(self, distance: Float64Array, usual: _Variances) -> IntArray:
        """Choose the group of each place, (n, n_places).

        distance: of rows from their level, (n, n_rows).
        """
        return _choose(_read(distance, self.rows), self.usual, usual)

    def chosen(self, best: IntArray) -> IntArray:
        """Return the rows of the group chosen for each place, (n, n_places, n_years)."""
        rows = np.take_along_axis(self.rows, best[:, :, None, None], axis=2)
        return rows[:, :, 0]

    def days_before(self, best: IntArray) -> IntArray:
        """Return the days between the date of each place and the last day of its step."""
        return np.where(best > 0, best, self.usual) - 1


def find_date_effects(
    past: Past, last_day: AnyArray, step_days: int
) -> DateEffects | None:
    """
    Find what returned in former years at the dates ahead.

    Parameters
    ----------
    past : Past
        Windows.
    last_day : ndarray of shape (n,)
        The last day of the first step ahead of each window, as ``datetime64[D]``.
    step_days : int
        Days of a step, of `YEARS`.

    Returns
    -------
    DateEffects or None
        None where windows hold no year.
    """
    year = YEARS[step_days]
    if past.n_rows < year:
        return None
    # 1. How far former years lie from their level: a share of it where all is positive.
    measured = _measure(past, past.values, step_days)
    usual = _find_variances(measured.distance, year)
    # 2. The rows of each date, which stand where those of the same number stood.
    places = np.arange(-_MARGIN, _n_ahead(past.horizon, year) + _MARGIN)
    groups = _find_groups(last_day, places, past.n_rows, step_days)
    by_date = groups.chosen(groups.best(measured.distance, usual))
    matches = _match(groups.rows[:, :, 0], by_date)
    # 3. What sticks out in all years, in the rows and ahead.
    found = _find_excess(past, measured, usual, matches, by_date, step_days)
    rows = matches.rows(past.n_rows)
    of_past = matches.spread(found.excess, found.unit, matches.by_number)
    rest = np.take_along_axis(past.values, rows, axis=1) - of_past
    ahead = _at_steps(found.excess, past.horizon, usually=0.0)
    ahead *= _unit_ahead(found.unit, rest, year)[:, None]
    misled = _was_date(found.of_dates, year, past.horizon) & (ahead == 0)
    widening = _at_steps(found.widening, past.horizon, usually=1.0)
    return DateEffects(rows, of_past, ahead, misled, widening)


def find_events(past: Past, last_day: AnyArray, step_days: int) -> BoolArray:
    """
    Find the dates at which something stuck out in both of the last two years.

    Parameters
    ----------
    past, last_day, step_days
        See `find_date_effects`.

    Returns
    -------
    ndarray of shape (n, 366)
        Whether each date, counted as `number_of_date` does, is one of these.
    """
    year = YEARS[step_days]
    # Rows of two years, a leap day among them; all is missing before the first one.
    n_rows = 2 * year + 2
    values = past.values[:, -n_rows:]
    n_before = n_rows - values.shape[1]
    values = np.pad(values, ((0, 0), (n_before, 0)), constant_values=np.nan)
    wall = past.wall[:, past.n_rows, None] + np.arange(-n_rows, 1)
    recent = Past(values, wall)
    measured = _measure(recent, recent.values, step_days)
    usual = _find_variances(measured.distance, year)
    # The year ahead has the dates of all rows of the last one.
    groups = _find_groups(last_day, np.arange(year + 1), n_rows, step_days)
    best = groups.best(measured.distance, usual)
    by_date = groups.chosen(best)
    by_date[by_date >= n_rows] = -1
    matches = _match(groups.rows[:, :, 0], by_date)
    found = _find_excess(recent, measured, usual, matches, by_date, step_days)
    nearly_all = np.nanquantile(np.abs(measured.distance), 0.95, axis=1, keepdims=True)
    is_far = np.abs(found.excess) > _FAR * nearly_all
    window, place = np.nonzero(
        is_far & ~_by_both_signs(found.excess, is_far, step_days)
    )
    days_ahead = step_days * place - groups.days_before(best)[window, place]
    events = np.zeros((len(values), 366), dtype=bool)
    events[window, number_of_date(last_day[window] + days_ahead * _DAY)] = True
    return events


def _by_both_signs(
    excess: Float64Array, is_far: BoolArray, step_days: int
) -> BoolArray:
    """Return which places, (n, n_places), have places far above and far below within a week.

    Beside a week that is closed, whose level is the closure, the usual days stick out.
    """
    week = 7 // step_days
    sign = np.where(is_far, np.sign(excess), 0.0)
    around = sliding_window_view(
        np.pad(sign, ((0, 0), (week, week))), 2 * week + 1, axis=1
    )
    return np.asarray((around > 0).any(axis=2) & (around < 0).any(axis=2))


def _n_ahead(horizon: int, year: int) -> int:
    """Return how many steps ahead have places around them that lie within one year."""
    return min(horizon, year - 2 * _MARGIN)


class _Excess(NamedTuple):
    """
    What sticks out at dates.

    Attributes
    ----------
    excess : ndarray of shape (n, n_places)
        At places around the steps ahead, in units.
    widening : ndarray of shape (n, n_places)
        By what factor errors are larger there.
    of_dates : ndarray of shape (n, n_rows)
        In rows of these dates, at first sight.
    unit : ndarray of shape (n, n_rows)
        The unit of each row.
    """

    excess: Float64Array
    widening: Float64Array
    of_dates: Float64Array
    unit: Float64Array


def _find_excess(
    past: Past,
    measured: _Measured,
    usual: _Variances,
    matches: _Matches,
    by_date: IntArray,
    step_days: int,
) -> _Excess:
    """Find what sticks out in all years at the rows of a date, (n, n_places, n_years).

    Found once, it is taken off before levels are measured again: neither these nor the places
    around hold a date then.
    """
    of_years = _read(measured.distance, by_date)
    excess = _common_excess(of_years, of_years, usual)
    of_dates = matches.spread(excess, measured.unit, matches.by_date)
    if of_dates.any():
        measured = _measure(past, past.values - of_dates, step_days)
        of_years = _read(measured.distance, by_date)
        of_rest = _read(measured.distance - of_dates / measured.unit, by_date)
        again = _common_excess(of_years, of_rest, usual)
        excess = np.where(excess != 0, again, 0.0)
    widening = np.where(excess != 0, _widening(of_years, usual), 1.0)
    return _Excess(excess, widening, of_dates, measured.unit)


def _read(of_rows: Float64Array, rows: IntArray) -> Float64Array:
    """Read values of windows, (n, n_rows), at rows of any number, (n, …); NaN outside of them."""
    window = np.arange(len(rows)).reshape(-1, *[1] * (rows.ndim - 1))
    inside = np.clip(rows, 0, of_rows.shape[1] - 1)
    return np.where(rows == inside, of_rows[window, inside], np.nan)


def _was_date(of_dates: Float64Array, year: int, horizon: int) -> BoolArray:
    """Return at which steps ahead something stuck out a season ago, (n, horizon).

    of_dates: what sticks out in rows, (n, n_rows).
    """
    n_ahead = _n_ahead(horizon, year)
    first = of_dates.shape[1] - year
    was_date = np.zeros((len(of_dates), horizon), dtype=bool)
    was_date[:, :n_ahead] = of_dates[:, first : first + n_ahead] != 0
    return was_date


class _Matches(NamedTuple):
    """
    Rows of former years, and those that stand in their place: of the same date.

    Attributes
    ----------
    window, place : ndarray of shape (n_matches,)
        The window, and the place around the steps ahead.
    by_number, by_date : ndarray of shape (n_matches,)
        The row so many whole years of steps ago, and that of the same date.
    n_windows : int
        Number of windows.
    """

    window: IntArray
    place: IntArray
    by_number: IntArray
    by_date: IntArray
    n_windows: int

    def rows(self, n_rows: int) -> IntArray:
        """Return the row that stands in place of each, (n_windows, n_rows)."""
        rows = np.tile(np.arange(n_rows), (self.n_windows, 1))
        rows[self.window, self.by_number] = self.by_date
        return rows

    def spread(
        self, excess: Float64Array, unit: Float64Array, row: IntArray
    ) -> Float64Array:
        """Put what sticks out at places, (n, n_places), to rows, in their units: (n, n_rows)."""
        out = np.zeros_like(unit)
        at = self.window, row
        out[at] = excess[self.window, self.place] * unit[at]
        return out


def _match(by_number: IntArray, by_date: IntArray) -> _Matches:
    """Match rows of the same date with those of the same number, (n, n_places, n_years) each."""
    by_date = by_date.copy()
    # Before the window a year is like the one after it.
    for later in range(by_date.shape[2] - 1):
        is_before = by_date[:, :, later + 1] < 0
        by_date[is_before, later + 1] = by_date[is_before, later]
    is_inside = (by_date >= 0) & (by_number >= 0)
    window, place, _ = np.nonzero(is_inside)
    return _Matches(
        window, place, by_number[is_inside], by_date[is_inside], len(by_date)
    )


def _at_steps(of_places: Float64Array, horizon: int, *, usually: float) -> Float64Array:
    """Return what stands at places around the steps ahead for the steps, (n, horizon)."""
    of_steps = np.full((len(of_places), horizon), usually)
    inner = of_places[:, _MARGIN:-_MARGIN]
    of_steps[:, : inner.shape[1]] = inner
    return of_steps


def _unit_ahead(unit: Float64Array, rest: Float64Array, year: int) -> Float64Array:
    """Return the unit of the steps ahead, (n,): that of the last rows, with growth since.

    rest: rows without what sticks out.
    """
    last = unit[:, -7:].mean(axis=1)
    if year != YEARS[7]:
        return last
    is_share = (unit != 1).any(axis=1)
    return last * np.where(is_share, _growth_since_level(rest), 1.0)


class _Measured(NamedTuple):
    """How far rows lie from what is usual around them, in units, and these, (n, n_rows)."""

    distance: Float64Array
    unit: Float64Array


def _measure(past: Past, usual: Float64Array, step_days: int) -> _Measured:
    """Measure how far rows lie from what is usual around them.

    It is a share of the level where all rows are positive. Of days each day of the week has its own
    distance from the level.

    usual: what levels are found by, (n, n_rows).
    """
    level = moving_mean(usual, _LEVEL_ROWS[step_days])
    is_share = (np.nanmin(past.values, axis=1) > 0) & (level.min(axis=1) > 0)
    unit = np.where(is_share[:, None], level, 1.0)
    distance = past.values - level
    if step_days == 1:
        of_weekday = place_means(Past(usual - level, past.wall), 7)
        of_weekday, _ = past.repeat(np.nan_to_num(of_weekday))
        distance -= of_weekday
    return _Measured(distance / unit, unit)


def _growth_since_level(values: Float64Array) -> Float64Array:
    """Return the factor by which rows have grown since half a year ago, where a mean of years ends.

    It is the root of that of the last quarter beside the same one of the year before.
    """
    recent = _mean(values[:, -_QUARTER:], axis=1)
    earlier = _mean(values[:, -_QUARTER - YEARS[7] : -YEARS[7]], axis=1)
    # A quarter without a known sale says nothing.
    is_known = (recent > 0) & (earlier > 0)
    ratio = np.where(is_known, recent, 1.0) / np.where(is_known, earlier, 1.0)
    return np.sqrt(np.clip(ratio, 0.25, 4.0))


def _find_groups(
    last_day: AnyArray, places: IntArray, n_rows: int, step_days: int
) -> _Groups:
    """List rows of former years by number and by date."""
    year = YEARS[step_days]
    years = np.arange(1, n_rows // year + 1)
    day = last_day[:, None] + step_days * places * _DAY
    days_ago = last_day[:, None, None] - _same_date(day, years)
    days_ago = days_ago.astype(np.int64)
    days_before = np.arange(step_days)[:, None]
    by_date = n_rows - (days_before + days_ago[:, :, None]) // step_days
    by_number = n_rows + places[:, None] - year * years
    by_number = np.broadcast_to(by_number, (len(day), *by_number.shape))
    rows = np.concatenate([by_number[:, :, None], by_date], axis=2)
    return _Groups(rows, 1 + _days_into_week(day) % step_days)


def _same_date(day: AnyArray, years: IntArray) -> AnyArray:
    """Return the same dates so many years ago, (n, n_places, n_years), of days, (n, n_places).

    Of a leap day it is the first of March.
    """
    month = day.astype("datetime64[M]")
    day_of_month = day - month.astype("datetime64[D]")
    same_month = (month[:, :, None] - 12 * years).astype("datetime64[D]")
    return same_month + day_of_month[:, :, None]


def _days_into_week(day: AnyArray) -> IntArray:
    """Count the days of weeks before a day; weeks begin or end with the year, which is nearer.

    >>> days = np.array(["2024-01-09", "2024-12-31", "2024-12-25"], dtype="datetime64[D]")
    >>> _days_into_week(days)
    array([1, 6, 0])
    """
    year = day.astype("datetime64[Y]")
    since_first = (day - year.astype("datetime64[D]")).astype(np.int64)
    until_last = ((year + 1).astype("datetime64[D]") - day).astype(np.int64) - 1
    return np.where(since_first < until_last, since_first % 7, 6 - until_last % 7)


class _Variances(NamedTuple):
    """
    How far places usually lie apart, (n, 1, 1) each.

    Attributes
    ----------
    chance : ndarray
        The typical variance of years around their mean at a place; infinite where there is one.
    places : ndarray
        That of the season from place to place, or of chance where this is more.
    """

    chance: Float64Array
    places: Float64Array


def _find_variances(distance: Float64Array, year: int) -> _Variances:
    """Compare years with each other, and places of the season with the next ones."""
    n, n_rows = distance.shape
    n_years = n_rows // year
    seasons = distance[:, n_rows - n_years * year :].reshape(n, n_years, year)
    years = _KnownValues.of(seasons, axis=1)
    is_known = years.n_known > 1
    variance = years.squares / np.maximum(years.n_known - 1, 1)
    chance = median_of_known(np.where(is_known, variance, np.nan), 1, np.inf)
    change = np.diff(np.where(is_known, years.mean, np.nan), axis=1)
    # Medians of a chi-square lie below its mean.
    chance /= _median_of_chi_square(n_years - 1)
    places = median_of_known(change**2, 1, np.inf) / 2 / _median_of_chi_square(1)
    return _Variances(chance[:, None, None], np.maximum(chance, places)[:, None, None])


def _median_of_chi_square(n_free: int) -> float:
    """Return the median of a chi-square by its mean, after Wilson and Hilferty."""
    return (1 - 2 / (9 * max(n_free, 1))) ** 3


def _choose(
    values: Float64Array, nearest_group: IntArray, usual: _Variances
) -> IntArray:
    """
    Choose the group of each place, (n, n_places): 0 where the same number of the week does.

    Parameters
    ----------
    values : ndarray of shape (n, n_places, n_groups, n_years)
        Distances from the level; NaN is unknown.
    nearest_group : ndarray of shape (n, n_places)
        Where several agree, the one nearest to this is preferred.
    usual : _Variances
        Square distances that chance and the season make.
    """
    years = _KnownValues.of(values, axis=3)
    agrees = _years_agree(years, usual)
    # Of groups that agree the nearest to the usual one; the first is no neighbour of any.
    distance = np.abs(np.arange(values.shape[2]) - nearest_group[:, :, None])
    distance = np.where(agrees, distance, np.inf)
    distance[:, :, 0] = np.inf
    nearest = distance.argmin(axis=2)
    # It has to say something else than the same number does, or this has to be mixed.
    of_nearest = np.take_along_axis(years.mean, nearest[:, :, None], axis=2)[:, :, 0]
    differs = (of_nearest - years.mean[:, :, 0]) ** 2 > _SURE * usual.places[:, :, 0]
    is_mixed = ~agrees[:, :, 0]
    is_needed = (differs | is_mixed) & np.isfinite(distance.min(axis=2))
    return np.where(is_needed, nearest, 0)


def _years_agree(years: _KnownValues, usual: _Variances) -> BoolArray:
    """Return in which groups of a place years differ by chance alone, (n, n_places, n_groups).

    Years with and without what happens at a date lie far apart.
    """
    square = years.mean_square
    most_mixed = square.max(axis=2, keepdims=True)
    agrees = square <= np.maximum(4 * usual.chance, most_mixed / 5)
    # What grows, or adds to another day of the week, is no share.
    agrees |= square <= years.mean**2 / 25
    # One year alone agrees with itself. The date of the earliest may lie before the window.
    agrees &= years.n_known >= np.maximum(years.n_known[:, :, :1] - 1, 2)
    return agrees


def _common_excess(
    of_years: Float64Array, of_rest: Float64Array, usual: _Variances
) -> Float64Array:
    """
    Return by how much each place lies above those around it in all years, (n, n_places).

    It is 0 where years differ as much, or where chance or the season could make it.

    of_years, of_rest: (n, n_places, n_years), distances of a place, and of those around it.
    """
    years = _KnownValues.of(of_years, axis=2)
    # Only places that were seen, and every place is beside itself.
    seen = np.where(years.n_known > 0, _mean(of_rest, axis=2), np.nan)
    ends = (0, 0), (_MARGIN, _MARGIN)
    padded = np.pad(seen, ends, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _MARGIN + 1, axis=1)
    unseen = np.isnan(around).all(axis=2)
    excess = years.mean - np.nanmedian(np.where(unseen[..., None], 0.0, around), axis=2)
    least = np.maximum(_SURE * usual.places[:, :, 0], 4 * years.mean_square)
    is_sure = (excess**2 > least) & (years.n_known >= 2)
    return np.where(is_sure, excess, 0.0)


def _widening(of_years: Float64Array, usual: _Variances) -> Float64Array:
    """
    Return by what factor errors at dates are larger than elsewhere, (n, n_places).

    Years of a date differ by chance at least. A year more differs from the mean of some by a
    variance that is larger by one of their number.
    """
    years = _KnownValues.of(of_years, axis=2)
    n_years = np.maximum(years.n_known, 1)
    chance = usual.chance[:, :, 0]
    variance = n_years * years.mean_square + _PRIOR_YEARS * chance
    variance /= n_years - 1 + _PRIOR_YEARS
    is_known = np.isfinite(chance) & (chance > 0)
    ratio = np.divide(variance, chance, out=np.ones_like(variance), where=is_known)
    return np.sqrt(np.maximum(ratio, 1.0) * (1 + 1 / n_years))


class _KnownValues(NamedTuple):
    """
    How values lie along an axis, as far as they are known.

    Attributes
    ----------
    n_known : ndarray
        How many there are.
    mean, squares : ndarray
        Their mean, and the sum of the squares around it; 0 where there are none.
    """

    n_known: IntArray
    mean: Float64Array
    squares: Float64Array

    @classmethod
    def of(cls, values: Float64Array, axis: int) -> _KnownValues:
        """Measure known values along an axis."""
        mean = _mean(values, axis)
        square = (values - np.expand_dims(mean, axis)) ** 2
        n_known = (~np.isnan(values)).sum(axis=axis)
        return cls(n_known, mean, np.nansum(square, axis=axis))

    @property
    def mean_square(self) -> Float64Array:
        """The mean square distance from the mean; 0 where nothing is known."""
        return self.squares / np.maximum(self.n_known, 1)


def _mean(values: Float64Array, axis: int) -> Float64Array:
    """Average what is known along an axis; 0 where nothing is."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return total / np.maximum(known.sum(axis=axis), 1)
