"""Classical forecasters: for panels of short series, for what is shorter still, and for gaps.

Where rows are too few for ridges over whole windows, each series is forecast by the blend of
levels, trends, seasons and small ridges that proved itself at rolling origins of the series of its
panel, and at its own.
"""

from dataclasses import dataclass

import numpy as np

from skinformer.classical.candidates import Seasons, Sizes, shortest
from skinformer.classical.collapses import recovered_rows
from skinformer.classical.dates import YEARS
from skinformer.classical.fit import ClassicalFit, fit_classical
from skinformer.classical.past import Past
from skinformer.classical.ridges import look_backs
from skinformer.classical.steps import Step, find_step, returns
from skinformer.classical.totals import has_totals
from skinformer.classical.windows import SeriesRows
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.in_units import WINDOWS_AT_ONCE, PerSeriesMember
from skinformer.ensemble.names import CLASSICAL
from skinformer.ensemble.windows import Windows
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array
from skinformer.timeline.clock import Clock
from skinformer.timeline.periods import find_period
from skinformer.timeline.seasons import (
    calendar_seasons,
    first_last_day,
    likely_seasons,
    step_days,
)
from skinformer.timeline.timeline import Table
from skinformer.timeline.windows import real_rows

#: Rows that they look back at most: two weeks of quarters of an hour, four years of days.
MOST_ROWS = 1500


def ends_behind_step(table: Table, seq_len: int) -> bool:
    """Return whether a level of one series has changed at once in the last window."""
    seasons = calendar_seasons(table.clock, least_days=1)[:2]
    last = table.take(slice(-_rows_of_step(seq_len, seasons), None))
    values = np.stack(last.targets).astype(float)
    wall = np.tile(table.clock.wall_steps(last.steps), (len(values), 1))
    return bool(_has_step(Past(values, wall), seasons, seq_len).any())


def _rows_of_step(seq_len: int, seasons: Seasons) -> int:
    """Return the rows by which a step in a window, or a collapse as long as one, is found.

    A collapse is a quarter of four windows at most, and what returns in a longer season is neither.
    """
    longer = max(seasons, default=0)
    return max(seq_len + 3 * shortest(seasons) + longer, 4 * seq_len)


def _has_step(past: Past, seasons: Seasons, seq_len: int) -> BoolArray:
    """Return which windows have a step, or an ended collapse, in so many last rows, (n,)."""
    season = shortest(seasons)
    collapsed = recovered_rows(past.newest(4 * seq_len), season)
    is_changed = np.asarray(collapsed[:, -seq_len:].any(axis=1))
    recent = past.newest(seq_len + 2 * season)
    step = find_step(recent, season)
    if step is None:
        return is_changed
    is_inside = step.first_behind > recent.n_rows - seq_len
    n_earlier = past.n_rows - recent.n_rows
    step = Step(step.height, step.first_behind + n_earlier)
    is_inside &= ~returns(past, step, season, max(seasons, default=0))
    return is_changed | is_inside


@dataclass(frozen=True)
class Classical(PerSeriesMember):
    """Classical forecasters, which compete at the end of each series, see `fit_classical`."""

    fit: ClassicalFit

    name = CLASSICAL

    @staticmethod
    @timed("classical")
    def fit_series(
        rows: SeriesRows,
        sizes: ModelSizes,
        *,
        of_mean: bool,
        whole: ClassicalFit | None,
    ) -> ClassicalFit:
        """Fit classical forecasters; of some rows the seasons are those of all of them."""
        if whole is not None:
            return fit_classical(rows, whole.candidates.sizes, of_mean=of_mean)
        clock = rows.clock
        period = find_period(rows.values, rows.first_row, likely_seasons(clock))
        longest = np.diff(rows.first_row).max()
        seasons = seasons_of(clock, min(longest, MOST_ROWS), period)
        # Ridges look back two seasons, where these are no longer than four windows.
        ridge_rows = sizes.seq_len
        if sizes.seq_len < 2 * period <= 4 * sizes.seq_len:
            ridge_rows = 2 * period
        n_rows = max(MOST_ROWS, ridge_rows)
        return fit_classical(
            rows,
            Sizes(
                n_rows,
                sizes.pred_len,
                seasons,
                ridge_rows,
                period if 2 * period <= ridge_rows else 1,
                *_steps_of_dates(clock, seasons),
                has_totals(rows.values, rows.known, rows.first_row, n_rows),
            ),
            of_mean=of_mean,
        )

    def knows_alone(self, windows: Windows) -> BoolArray | None:
        """Find steps behind a level that has changed at once, and those that dates tell.

        Others would go on from both levels, and know no date.
        """
        after_steps = self.after_steps(windows)
        dates = self._dates(windows)
        if dates is None:
            return after_steps
        at_dates, _ = dates
        return at_dates if after_steps is None else at_dates | after_steps

    def without_events(self, windows: Windows) -> Windows | None:
        """Return windows with usual rows in place of events; None where there are no events."""
        events = self.fit.events
        if events is None:
            return None
        rows = windows.buffer.rows
        every = np.arange(len(rows.values))
        n_series = len(self.scaler.mean) - 1
        series = np.minimum(windows.series_of_rows, n_series)
        wall = windows.buffer.clock.wall_steps(rows.steps)
        first = rows.begin[rows.segment]
        effect = self.effect.at(rows.values, every, series, self.scaler)
        usual = effect.taken_off(rows.values[:, : self.n_targets])
        stands_in = np.zeros(usual.shape, dtype=bool)
        for j in range(self.n_targets):
            number = np.where(series == n_series, -1, j * n_series + series)
            stand_ins = events.stand_ins(number, wall, first)
            usual[:, j] = usual[stand_ins, j]
            stands_in[:, j] = stand_ins != every
        values = rows.values.copy()
        targets = values[:, : self.n_targets]  # a view
        targets[stands_in] = effect.put_on(usual)[stands_in]
        return windows.with_values(values)

    def log_widening(self, windows: Windows) -> Float64Array | None:
        """Return how much larger errors are at dates, which few years have shown."""
        dates = self._dates(windows)
        return None if dates is None else np.log(dates[1])

    def after_steps(self, windows: Windows) -> BoolArray | None:
        """Find windows in which a level has changed at once, (n, pred_len, n_targets)."""
        seasons = self.fit.candidates.sizes.seasons
        seq_len = windows.buffer.sizes.seq_len
        n_rows = _rows_of_step(seq_len, seasons)
        past, known = self._read_past(windows, n_rows)
        is_real = real_rows(windows.origins - windows.begin, n_rows)
        is_seen = known & is_real[:, :, None]
        steps = windows.steps[:, None] + np.arange(-n_rows, 0)
        wall = windows.buffer.clock.wall_steps(steps)
        targets = []
        for j in range(self.n_targets):
            _, unit_windows = self._in_units(windows, past, known, j)
            seen = np.where(is_seen[:, :, j], unit_windows.past, np.nan)
            targets.append(_has_step(Past(seen, wall), seasons, seq_len))
        after = np.stack(targets, axis=1)[:, None]
        return np.repeat(after, self.fit.pred_len, axis=1) if after.any() else None

    def _dates(self, windows: Windows) -> tuple[BoolArray, Float64Array] | None:
        """Find steps of which dates say something, and by what factor errors are larger there.

        Both have shape (n, pred_len, n_targets). None for nowhere.
        """
        if not self.fit.candidates.sizes.step_days:
            return None
        shape = len(windows), self.fit.pred_len, self.n_targets
        at_dates = np.zeros(shape, dtype=bool)
        widening = np.ones(shape)
        for some, chunk in windows.chunks(WINDOWS_AT_ONCE):
            past, known = self._read_past(chunk)
            for j in range(self.n_targets):
                _, unit_windows = self._in_units(chunk, past, known, j)
                found = self.fit.dates(unit_windows)
                at_dates[some, :, j], widening[some, :, j] = found
        return (at_dates, widening) if at_dates.any() else None

    @property
    def fewest_rows(self) -> int:
        """Two seasons; where there are none the rows of the longest ridge."""
        candidates = self.fit.candidates
        sizes = candidates.sizes
        if sizes.seasons:
            return 2 * sizes.seasons[0]
        if candidates.ridges is None:
            return 0
        return max(look_backs(sizes.ridge_rows, 1), default=0)

    @property
    def blend(self) -> dict[str, float]:
        """Mean weight of each candidate that counts for a hundredth or more, the greatest first."""
        mean = self.fit.weights.mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        names = self.fit.names
        return {names[i]: round(float(mean[i]), 4) for i in order if mean[i] >= 0.01}

    @property
    def series_blend(self) -> tuple[list[str], Float32Array]:
        """Weights of candidates; those that count for less than a hundredth everywhere are none."""
        counts = np.flatnonzero((self.fit.weights >= 0.01).any(axis=0))
        return [self.fit.names[i] for i in counts], self.fit.weights[:, counts]


def _steps_of_dates(clock: Clock, seasons: tuple[int, ...]) -> tuple[int, int]:
    """Return days of a step, and the number of the last day of the clock's first one.

    Days are numbered from 1970. The first is 0 where no season is a year of weeks or days.
    """
    day = first_last_day(clock)
    if day is None:
        return 0, 0
    n_days = round(step_days(clock))
    if YEARS[n_days] not in seasons:
        return 0, 0
    return n_days, int(day.astype(np.int64))


def seasons_of(clock: Clock, n_rows: int, period: int) -> tuple[int, ...]:
    """
    Choose the two shortest seasons, that candidates know: named ones, else of the calendar.

    Parameters
    ----------
    clock : Clock
        What the rows' steps count.
    n_rows : int
        Rows of the longest series that are looked at; no season is longer.
    period : int
        The season that the rows showed, which stands alone where there are no others; 1 for none.
    """
    found = calendar_seasons(clock, least_days=1) or (period,)
    return tuple(season for season in found if 1 < season <= n_rows)[:2]
