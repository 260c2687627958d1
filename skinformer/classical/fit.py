"""Fit the classical forecasters: candidates that are judged at rolling origins of each series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from skinformer.budget import current_share
from skinformer.classical.candidates import (
    Sizes,
    candidate_names,
    forecast_candidates,
    shortest,
)
from skinformer.classical.dates import (
    YEARS,
    DateEffects,
    find_date_effects,
    find_events,
)
from skinformer.classical.events import Events
from skinformer.classical.judging import ErrorAccumulator, origin_distances
from skinformer.classical.past import Past, begun
from skinformer.classical.ridges import (
    MOST_WINDOWS,
    SharedRidges,
    fit_ridges,
    ridge_names,
)
from skinformer.classical.windows import SeriesRows, UnitWindows, padded
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.stillness import find_moves, resting_rows
from skinformer.timeline.windows import pasts, real_rows

#: The step from which a series without a row is alive.
_ALWAYS = -(1 << 62)
#: Known rows of a series before an origin at which it is judged.
_FEWEST = 3
#: Windows of a batch.
_AT_ONCE = 256


@dataclass(frozen=True)
class Candidates:
    """
    All that compete, for windows of any series.

    Attributes
    ----------
    sizes : Sizes
        How far they look back and ahead, and their seasons.
    ridges : SharedRidges or None
        Those that learn from the windows of a panel.
    of_mean : bool
        Whether means are forecast; else medians.
    """

    sizes: Sizes
    ridges: SharedRidges | None = field(repr=False)
    of_mean: bool

    @property
    def names(self) -> list[str]:
        """Their names."""
        plain = candidate_names(
            self.sizes.seasons, of_mean=self.of_mean, of_totals=self.sizes.of_totals
        )
        if self.ridges is None:
            return plain
        return plain + ridge_names(self.sizes.ridge_rows, self.sizes.period)

    def forecast(
        self, past: Past, filled: Float64Array, length: IntArray, floor: BoolArray
    ) -> Iterator[tuple[IntArray, Float64Array]]:
        """
        Forecast windows batch by batch.

        Parameters
        ----------
        past : Past
            Windows.
        filled : ndarray of shape (n, n_rows)
            Their rows, what was not observed filled.
        length : ndarray of shape (n,)
            How many of the last rows are real.
        floor : ndarray of shape (n,)
            Whether forecasts are not negative.

        Yields
        ------
        rows : ndarray
            Numbers of some windows.
        forecast : ndarray of shape (n_some, n_candidates, pred_len)
            NaN where a candidate cannot forecast a window.
        """
        # PERF: windows of as many rows lie in one batch, which is cut to these.
        order = np.argsort(past.first, kind="stable")
        # What smoothing holds of so many stays in the cache; of long forecasts there are fewer.
        n_values = len(self.names) * self.sizes.pred_len
        size = min(_AT_ONCE, max(1, 4_000_000 // n_values))
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            some = past.take(rows).trimmed()
            found = self._forecast_batch(some, filled[rows], length[rows])
            lowest = np.where(floor[rows], 0.0, -np.inf)
            np.maximum(found, lowest[:, None, None], out=found)
            yield rows, found

    def _forecast_batch(
        self, past: Past, filled: Float64Array, length: IntArray
    ) -> Float64Array:
        """Forecast windows by all candidates; what has ended goes on as it is."""
        by_date = self.date_effects(past)
        rest = past
        if by_date is not None:
            rest = Past(by_date.taken_off(past.values), past.wall)
            n_before = filled.shape[1] - past.n_rows
            real = by_date.taken_off(filled[:, n_before:])
            filled = np.concatenate([filled[:, :n_before], real], axis=1)
        found = forecast_candidates(
            rest,
            self.sizes.seasons,
            of_mean=self.of_mean,
            of_totals=self.sizes.of_totals,
            seen=past,
        )
        if self.ridges is not None:
            by_ridges = self.ridges.forecast(filled, length)
            found = np.concatenate([found, by_ridges], axis=1)
        if by_date is not None:
            found += by_date.ahead[:, None]
        ended = past.ended(max(self.sizes.seasons, default=1))
        found[ended] = past.last_value[ended, None, None]
        return found

    def date_effects(self, past: Past) -> DateEffects | None:
        """Find what returns at the dates ahead, where steps are weeks or days."""
        sizes = self.sizes
        if not sizes.step_days:
            return None
        day = sizes.last_day_of(past.wall[:, past.n_rows])
        return find_date_effects(past, day, sizes.step_days)


@dataclass(frozen=True)
class ClassicalFit:
    """
    Candidates and how much each counts for each series.

    Attributes
    ----------
    candidates : Candidates
        The candidates.
    weights : ndarray of shape (n_series, n_candidates)
        Of sum 1.
    panel_weights : ndarray of shape (n_candidates,)
        Those of a series that the fit did not hold.
    never_negative : ndarray of shape (n_series,)
        Whether no row of the series lies below zero; then no forecast does.
    begun : ndarray of shape (n_series,)
        The step from which on each series is alive.
    events : Events or None
        Dates at which something sticks out; None where there are none.
    """

    candidates: Candidates
    weights: Float32Array = field(repr=False)
    panel_weights: Float32Array = field(repr=False)
    never_negative: BoolArray = field(repr=False)
    begun: IntArray = field(repr=False)
    events: Events | None = field(repr=False)

    @property
    def seq_len(self) -> int:
        """Rows of a window, of which fewer may be known."""
        return self.candidates.sizes.seq_len

    @property
    def pred_len(self) -> int:
        """Rows of a forecast."""
        return self.candidates.sizes.pred_len

    @property
    def names(self) -> list[str]:
        """Names of the candidates."""
        return self.candidates.names

    def forecast(self, windows: UnitWindows) -> Float64Array:
        """Forecast windows by the weighted candidates of their series: (n, pred_len).

        Memory: that of 256 windows or fewer at a time.
        """
        series = windows.series
        is_new = series < 0
        past = self._past(windows)
        filled = padded(windows.past, windows.length)
        if self.events is not None:
            past, filled = self.events.taken_off(past, filled, series)
        # Later rows may be below zero.
        floor = filled.min(axis=1) >= 0
        floor &= np.where(
            is_new, self.never_negative.all(), self.never_negative[series]
        )
        weights = np.where(is_new[:, None], self.panel_weights, self.weights[series])
        out = np.empty((len(filled), self.pred_len))
        batches = self.candidates.forecast(past, filled, windows.length, floor)
        for rows, forecast in batches:
            out[rows] = _joint(forecast, weights[rows])
        return out

    def dates(self, windows: UnitWindows) -> tuple[BoolArray, Float64Array]:
        """Return of which steps dates say something, and the widening there, (n, pred_len)."""
        past = self._past(windows)
        n = len(past.values)
        steps = np.zeros((n, self.pred_len), dtype=bool)
        widening = np.ones((n, self.pred_len))
        for some in np.split(np.arange(n), range(_AT_ONCE, n, _AT_ONCE)):
            by_date = self.candidates.date_effects(past.take(some).trimmed())
            if by_date is not None:
                steps[some] = by_date.steps
                widening[some] = by_date.widening
        return steps, widening

    def _past(self, windows: UnitWindows) -> Past:
        """Leave out what was not observed, and rows from before a series was alive."""
        series = windows.series
        alive_from = np.where(series < 0, _ALWAYS, self.begun[series])
        n_rows = windows.past.shape[1]
        steps = windows.steps[:, None] + np.arange(-n_rows, self.pred_len)
        is_alive = steps[:, :n_rows] >= alive_from[:, None]
        is_real = real_rows(windows.length, n_rows)
        known = windows.known & is_real & is_alive
        # Where nothing is known, what is filled is better.
        known |= is_real & ~known.any(axis=1, keepdims=True)
        values = np.where(known, windows.past, np.nan)
        wall = windows.clock.wall_steps(steps)
        return Past(values, wall)


def fit_classical(rows: SeriesRows, sizes: Sizes, *, of_mean: bool) -> ClassicalFit:
    """
    Weigh classical forecasters and shared ridges by their forecasts at rolling origins.

    Parameters
    ----------
    rows : SeriesRows
        The rows of all series.
    sizes : Sizes
        How far candidates look back and ahead.
    of_mean : bool
        Whether forecasts are to be means; else medians. Both are judged by absolute errors: squared
        ones chose no better among means.

    Returns
    -------
    ClassicalFit
        Cost: a forecast of every series by every candidate at 8 to 24 origins, and at most as many
        fits of ridges on at most `MOST_WINDOWS` windows each. Memory: some numbers per series and
        candidate.
    """
    judged = _JudgedRows(rows, sizes, of_mean=of_mean)
    final = judged.candidates_before(judged.end)
    errors = ErrorAccumulator(len(judged.end), final.names)

    # 1. Candidates are judged at origins.
    _judge_at_origins(judged, errors)

    # 2. What they forecast in the end is compared with how far the series went.
    some = np.flatnonzero(errors.total > 0)
    for series, past, forecast in judged.forecasts(final, some, judged.end):
        leaps = past.leaps_to(forecast[:, :, 0])
        errors.compare_final(series, forecast, past.recent_level, leaps)

    weights, panel_weights = errors.weights()
    # The median of rare sales is zero, and a mean with other candidates would lie above it. Where
    # means are wanted, absolute errors would choose what forecasts zero, or the last sale again.
    kind = "mean" if of_mean else "median"
    of_rare = np.array([name.endswith(kind) for name in final.names])
    weights = _among(of_rare, weights, judged.rare)
    panel_weights = _among(of_rare, panel_weights, judged.new_is_rare)
    return ClassicalFit(
        final,
        weights,
        panel_weights,
        judged.never_negative,
        judged.first_steps,
        judged.events,
    )


def _among(
    chosen: BoolArray, weights: Float32Array, where: BoolArray | bool
) -> Float32Array:
    """Divide weights, (…, n_candidates), among chosen candidates, for some series, (…,)."""
    share = (weights + np.float32(1e-9)) * chosen
    share /= share.sum(axis=-1, keepdims=True)
    return np.where(np.asarray(where)[..., None], share, weights)


def find_rare(rows: SeriesRows, season: int) -> tuple[BoolArray, bool]:
    """
    Find series of rare sales.

    More than half of the rows between their sales are zero, and a season after a sale zeros are at
    least half as frequent: nights, closed days and goods of one season are not rare.

    Parameters
    ----------
    rows : SeriesRows
        The rows of all series.
    season : int
        Rows of a season, 1 for none.

    Returns
    -------
    tuple of ndarray of shape (n_series,) and bool
        Which series are rare, and whether a series that the fit did not hold is taken to be. Series
        of which little is known are as those of the panel are.

    Examples
    --------
    >>> from skinformer.timeline.clock import RowClock
    >>> values = np.array([3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 4, 5, 3, 6, 4, 5, 3, 7.0])
    >>> known = np.ones(21, dtype=bool)
    >>> first_row = np.array([0, 13, 21])
    >>> find_rare(SeriesRows(values, known, np.arange(21), first_row, RowClock()), 1)
    (array([ True, False]), False)
    """
    between = []
    after_sales = []
    for start, stop in pairwise(rows.first_row.tolist()):
        seen = rows.values[start:stop][rows.known[start:stop]]
        # From the first sale to the last one; without a sale there is nothing.
        trimmed = np.trim_zeros(seen)
        between.append(trimmed[1:])
        after_sales.append(trimmed[season:][trimmed[:-season] != 0])
    share = _shares_of_zeros(between)
    is_rare = (share > 0.5) & (_shares_of_zeros(after_sales) > share / 2)
    return is_rare[:-1], bool(is_rare[-1])


def _shares_of_zeros(parts: list[Float64Array]) -> Float64Array:
    """Return the share of zeros in the rows of each series, drawn to that of all, and this.

    parts: rows of each series. The result has shape (n_series + 1,).
    """
    prior = 12.0  # rows for which the share of all series counts
    n_rows = np.array([len(part) for part in parts])
    n_zero = n_rows - np.array([np.count_nonzero(part) for part in parts])
    of_panel = n_zero.sum() / max(n_rows.sum(), 1.0)
    shares = (n_zero + prior * of_panel) / (n_rows + prior)
    return np.append(shares, of_panel)


def _judge_at_origins(judged: _JudgedRows, errors: ErrorAccumulator) -> None:
    """Add up errors of candidates at origins, the nearest to the end first."""
    share = current_share()
    distances = origin_distances(judged.sizes.pred_len, len(judged.end))
    distances = distances[: share.of(len(distances), least=3)]
    last = judged.end_before_rest(distances[-1])
    ends = ends_of_ridges(distances, judged.rows_that_ridges_may_miss())
    end = None
    for n_judged, distance in enumerate(distances):
        if n_judged > 0 and share.must_stop():
            break
        origin = np.maximum(last - distance, judged.begin)
        some = judged.known_around(origin)
        if not len(some):
            continue
        if ends[distance] != end:
            end = ends[distance]
            learnt = np.maximum(last - end, judged.begin)
            candidates = judged.candidates_before(learnt)
        judged.add_errors(errors, candidates, some, origin)


class _JudgedRows:
    """
    Rows of series, at any of whose origins candidates are fitted and forecast.

    Parameters
    ----------
    rows : SeriesRows
        The rows.
    sizes : Sizes
        How far candidates look back and ahead.
    of_mean : bool
        Whether forecasts are to be means.

    Attributes
    ----------
    begin, end : ndarray of shape (n_series,)
        The first row of each series that is alive, and the row behind it.
    first_steps : ndarray of shape (n_series,)
        The step from which on each series is alive.
    never_negative : ndarray of shape (n_series,)
        Whether none of its rows lies below zero.
    rare : ndarray of shape (n_series,)
    new_is_rare : bool
        See `find_rare`.
    events : Events or None
        Dates at which something sticks out; None where there are none.
    """

    def __init__(self, rows: SeriesRows, sizes: Sizes, *, of_mean: bool) -> None:
        self.rows = rows
        self.wall = rows.wall
        self.sizes = sizes
        self.of_mean = of_mean
        self.begin = rows.first_row[:-1].copy()
        self.end = rows.first_row[1:]
        self.first_steps = np.full_like(self.end, _ALWAYS)
        self.never_negative = np.ones(len(self.end), dtype=bool)
        self.rare, self.new_is_rare = find_rare(rows, shortest(sizes.seasons))
        for i, (start, stop) in enumerate(pairwise(rows.first_row.tolist())):
            if start < stop:
                values = rows.values[start:stop]
                self.never_negative[i] = values.min() >= 0
                # Of what is seldom sold a few sales begin nothing.
                if not self.rare[i]:
                    begin = start + begun(values, rows.known[start:stop])
                    self.begin[i] = begin
                    self.first_steps[i] = rows.steps[begin]
        self.events = self._find_events()

    def _find_events(self) -> Events | None:
        """Find dates at which something stuck out in the last two years."""
        sizes = self.sizes
        if not sizes.step_days:
            return None
        dates = np.zeros((len(self.end) + 1, 366), dtype=bool)
        n_rows = np.minimum(self.end - self.begin, sizes.seq_len)
        long = np.flatnonzero(n_rows > YEARS[sizes.step_days])
        for some in np.split(long, range(_AT_ONCE, len(long), _AT_ONCE)):
            past = self._past(some, self.end, n_rows[some])
            day = sizes.last_day_of(past.wall[:, past.n_rows])
            dates[some] = find_events(past, day, sizes.step_days)
        if not dates.any():
            return None
        return Events(dates, sizes.step_days, sizes.last_day)

    def end_before_rest(self, n_judged: int) -> IntArray:
        """Return where a night, a weekend or a closure begins that ends a series, else its end.

        n_judged: rows by which series are judged; those that all rest say nothing.
        """
        n_still = resting_rows(find_moves(self.rows.values), self.begin, self.end)
        return np.where(n_still < n_judged, self.end, self.end - n_still)

    def candidates_before(self, origin: IntArray) -> Candidates:
        """Fit candidates to rows before the origin of each series."""
        ridges = None
        if len(origin) > 1:  # one series alone shares none
            ridges = fit_ridges(
                self.rows.values, self.begin, origin, self.sizes, of_mean=self.of_mean
            )
        return Candidates(self.sizes, ridges, self.of_mean)

    def rows_that_ridges_may_miss(self) -> int:
        """Return how many rows before an origin shared ridges need not learn.

        A twentieth of the rows of a series, where ridges learn from some of the windows anyway.
        """
        n_rows = self.end - self.begin
        sizes = self.sizes
        n_windows = np.maximum(n_rows - sizes.ridge_rows - sizes.pred_len, 0).sum()
        if n_windows <= MOST_WINDOWS:
            return 0
        return int(np.median(n_rows)) // 20

    def add_errors(
        self,
        errors: ErrorAccumulator,
        candidates: Candidates,
        some: IntArray,
        origin: IntArray,
    ) -> None:
        """Add errors of candidates, which learnt no rows behind the origin of each series."""
        for series, past, forecast in self.forecasts(candidates, some, origin):
            truth = self.truths(series, origin)
            errors.add(series, forecast, truth, past.recent_level)

    def known_around(self, origin: IntArray) -> IntArray:
        """Find series of which enough rows before their origin are known, and one behind it."""
        ahead = np.minimum(origin + self.sizes.pred_len, self.end)
        inside = np.maximum(self.begin, origin - self.sizes.seq_len)
        n_known_before = np.append(0, np.cumsum(self.rows.known))
        n_before = n_known_before[origin] - n_known_before[inside]
        n_behind = n_known_before[ahead] - n_known_before[origin]
        return np.flatnonzero((n_before >= _FEWEST) & (n_behind > 0))

    def truths(self, series: IntArray, origin: IntArray) -> Float64Array:
        """Cut what came behind the origins of some series, NaN where it is not known."""
        row = origin[series, None] + np.arange(self.sizes.pred_len)
        is_inside = row < self.end[series, None]
        row = np.where(is_inside, row, 0)
        is_known = is_inside & self.rows.known[row]
        return np.where(is_known, self.rows.values[row], np.nan)

    def forecasts(
        self, candidates: Candidates, some: IntArray, origin: IntArray
    ) -> Iterator[tuple[IntArray, Past, Float64Array]]:
        """Forecast some series at their origins: numbers of a batch, windows, forecasts."""
        filled, length = pasts(
            self.rows.values, self.begin[some], origin[some], self.sizes.seq_len
        )
        past = self._past(some, origin, length)
        if self.events is not None:
            past, filled = self.events.taken_off(past, filled, some)
        floor = self.never_negative[some]
        batches = candidates.forecast(past, filled, length, floor)
        for part, forecast in batches:
            yield some[part], past.take(part), forecast

    def _past(self, some: IntArray, origin: IntArray, length: IntArray) -> Past:
        """Cut what was observed before origins, of which so many rows are real."""
        rows = self.rows
        seq_len = self.sizes.seq_len
        row = origin[some, None] + np.arange(-seq_len, self.sizes.pred_len)
        # Behind the last row of a series the clock goes on; the next row is of another one.
        last = np.maximum(self.end - 1, self.begin)
        held = np.clip(row, self.begin[some, None], last[some, None])
        wall = self.wall[held] + row - held
        seen = held[:, :seq_len]
        is_known = rows.known[seen] & real_rows(length, seq_len)
        values = np.where(is_known, rows.values[seen], np.nan)
        return Past(values, wall)


def ends_of_ridges(distances: list[int], n_missed: int) -> dict[int, int]:
    """Return for each distance of an origin the one, as far or farther, where its ridges end.

    n_missed: rows between both, at most.

    >>> ends_of_ridges([4, 8, 12], 5)
    {12: 12, 8: 12, 4: 4}
    """
    ends: dict[int, int] = {}
    end = distances[-1]
    for distance in reversed(distances):
        if end - distance > n_missed:
            end = distance
        ends[distance] = end
    return ends


def _joint(forecast: Float64Array, weights: Float32Array) -> Float64Array:
    """Average forecasts, (n, n_candidates, pred_len), by the weights of those that there are."""
    able = ~np.isnan(forecast)
    share = weights[:, :, None].astype(np.float64) * able
    # Else the last value, which every window has.
    share[:, 0] += share.sum(axis=1) == 0
    total = (share * np.nan_to_num(forecast)).sum(axis=1)
    return total / share.sum(axis=1)
