"""Fit the classical forecasters: candidates that are judged at rolling origins of each series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skinformer.classical.candidates import candidate_names, forecast_candidates
from skinformer.classical.judging import Ledger, origin_distances
from skinformer.classical.past import Past, begun
from skinformer.classical.ridges import SharedRidges, fit_ridges, ridge_names
from skinformer.classical.windows import UnitWindows, bounded, futures, padded, pasts
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

_BATCH = 256  # windows at a time: what smoothing holds then stays in the cache …
_BATCH_VALUES = 4_000_000  # … and fewer where forecasts are long
#: Known rows of a series before an origin at which it is judged.
_FEWEST = 3
#: The recent level is the mean of the last third of a horizon.
_RECENT = 3
#: Weight of the last value, which counts where nobody else can forecast.
_LEAST = 1e-9
#: The step from which a series without a row is alive.
_ALWAYS = -(1 << 62)


class SeriesRows(NamedTuple):
    """
    Rows of series, in their own units, series after series.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        What was not observed is filled.
    known : ndarray of shape (n_rows,)
        Which rows were observed.
    steps, wall : ndarray of shape (n_rows,)
        Their steps on the clock, and on that on the wall.
    first_row : ndarray of shape (n_series + 1,)
        Series i holds rows ``first_row[i]`` … ``first_row[i + 1] - 1``.
    """

    values: Float64Array
    known: BoolArray
    steps: IntArray
    wall: IntArray
    first_row: IntArray


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
    """

    seq_len: int
    pred_len: int
    seasons: tuple[int, ...]
    ridge_rows: int
    period: int


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
        plain = candidate_names(self.sizes.seasons, of_mean=self.of_mean)
        if self.ridges is None:
            return plain
        return plain + ridge_names(self.ridges.seq_len, self.ridges.period)

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
        order = np.argsort(past.known.argmax(axis=1), kind="stable")
        size = min(
            _BATCH, max(1, _BATCH_VALUES // (len(self.names) * self.sizes.pred_len))
        )
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            some = past.take(rows).trimmed()
            each = [forecast_candidates(some, self.sizes.seasons, of_mean=self.of_mean)]
            if self.ridges is not None:
                seen = filled[rows, -self.ridges.seq_len :]
                n_real = np.minimum(length[rows], self.ridges.seq_len)
                each.append(bounded(self.ridges.forecast(seen, n_real), seen))
            found = np.concatenate(each, axis=1)
            lowest = np.where(floor[rows], 0, -np.inf)[:, None, None]
            yield rows, np.maximum(found, lowest, out=found)


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
    """

    candidates: Candidates
    weights: Float32Array = field(repr=False)
    panel_weights: Float32Array = field(repr=False)
    never_negative: BoolArray = field(repr=False)
    begun: IntArray = field(repr=False)

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
        held = windows.series >= 0
        owner = np.where(held, windows.series, 0)
        n_rows = windows.past.shape[1]
        steps = windows.steps[:, None] + np.arange(-n_rows, self.pred_len)
        real = np.arange(n_rows) >= n_rows - windows.length[:, None]
        alive = (steps[:, :n_rows] >= self.begun[owner, None]) | ~held[:, None]
        known = windows.known & real & alive
        blind = ~known.any(axis=1)  # what is filled is better than nothing
        known[blind] = real[blind]
        past = Past(
            np.where(known, windows.past, np.nan), windows.clock.wall_steps(steps)
        )
        filled = padded(windows.past, windows.length)
        never = np.where(held, self.never_negative[owner], self.never_negative.all())
        floor = never & (filled.min(axis=1) >= 0)  # later rows may be below zero
        out = np.empty((len(filled), self.pred_len))
        for rows, forecast in self.candidates.forecast(
            past, filled, windows.length, floor
        ):
            weights = np.where(
                held[rows, None], self.weights[owner[rows]], self.panel_weights
            )
            out[rows] = _joint(forecast, weights)
        return out


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
        Cost: a forecast of every series by every candidate at 8 to 24 origins, and as many fits of
        ridges on at most 8192 windows each. Memory: some numbers per series and candidate.
    """
    first, end = rows.first_row[:-1], rows.first_row[1:]
    begin = first + _rows_before_begin(rows)
    seen = np.concatenate([[0], np.cumsum(rows.known)])
    rows = _with_a_row_more(rows)
    floor = np.minimum.reduceat(rows.values, first) >= 0

    def candidates(origin: IntArray) -> Candidates:
        ridges = _shared_ridges(rows.values, begin, origin, sizes, of_mean=of_mean)
        return Candidates(sizes, ridges, of_mean)

    final = candidates(end)
    ledger = Ledger.of(len(first), final.names)
    truths = np.where(rows.known, rows.values, np.nan)
    n_recent = max(_FEWEST, sizes.pred_len // _RECENT)
    for distance in origin_distances(sizes.pred_len, len(first)):
        origin = np.maximum(end - distance, begin)
        ahead = np.minimum(origin + sizes.pred_len, end)
        inside = np.maximum(begin, origin - sizes.seq_len)
        told = (seen[origin] - seen[inside] >= _FEWEST) & (seen[ahead] > seen[origin])
        some = np.flatnonzero(told)
        if not len(some):
            continue
        cut = _cut(rows, begin[some], origin[some], sizes)
        for part, forecast in candidates(origin).forecast(*cut, floor[some]):
            series = some[part]
            truth = futures(truths, origin[series], end[series], sizes.pred_len)
            level = cut[0].take(part).recent_level(n_recent)
            ledger.enter(series, forecast, truth, level)
    judged = np.flatnonzero(ledger.total > 0)
    cut = _cut(rows, begin[judged], end[judged], sizes)
    for part, forecast in final.forecast(*cut, floor[judged]):
        level = cut[0].take(part).recent_level(n_recent)
        ledger.compare_final(judged[part], forecast, level)
    weights, panel_weights = ledger.weights()
    return ClassicalFit(
        candidates=final,
        weights=weights,
        panel_weights=panel_weights,
        never_negative=floor,
        begun=np.where(end > first, rows.steps[begin], _ALWAYS),
    )


def _rows_before_begin(rows: SeriesRows) -> IntArray:
    """Count the rows of each series before it is alive."""
    spans = pairwise(rows.first_row.tolist())
    parts = (slice(start, stop) for start, stop in spans)
    return np.array([begun(rows.values[part], rows.known[part]) for part in parts])


def _with_a_row_more(rows: SeriesRows) -> SeriesRows:
    """Append a row, as the last series may hold none."""
    columns = (
        np.append(column, 0)
        for column in (rows.values, rows.known, rows.steps, rows.wall)
    )
    values, known, steps, wall = columns
    return SeriesRows(values, known.astype(bool), steps, wall, rows.first_row)


def _shared_ridges(
    values: Float64Array, begin: IntArray, end: IntArray, sizes: Sizes, *, of_mean: bool
) -> SharedRidges | None:
    """Fit the ridges of a panel; one series alone has nobody to share them with."""
    if len(begin) == 1:
        return None
    rows = {
        "seq_len": sizes.ridge_rows,
        "pred_len": sizes.pred_len,
        "period": sizes.period,
    }
    return fit_ridges(values, begin, end, **rows, of_mean=of_mean)


def _cut(
    rows: SeriesRows, begin: IntArray, origin: IntArray, sizes: Sizes
) -> tuple[Past, Float64Array, IntArray]:
    """Cut windows before origins: what was observed, the same filled, and how much is real."""
    filled, length = pasts(rows.values, begin, origin, sizes.seq_len)
    real = np.arange(sizes.seq_len) >= sizes.seq_len - length[:, None]
    place = origin[:, None] + np.arange(-sizes.seq_len, sizes.pred_len)
    held = np.clip(place, begin[:, None], len(rows.wall) - 2)
    wall = rows.wall[held] + place - held
    known = rows.known[held[:, : sizes.seq_len]] & real
    return Past(np.where(known, filled, np.nan), wall), filled, length


def _joint(forecast: Float64Array, weights: Float32Array) -> Float64Array:
    """Average forecasts, (n, n_candidates, pred_len), by the weights of those that there are."""
    able = ~np.isnan(forecast)
    share = weights[:, :, None].astype(np.float64) * able
    share[:, 0] += _LEAST  # the last value, which every window has
    total = (share * np.where(able, forecast, 0.0)).sum(axis=1)
    return np.asarray(total / share.sum(axis=1))
