"""What columns known ahead do to the targets of their own row: they add to them, or multiply them.

A price cut that doubles sales doubles those of small and of large products, of weak and of strong
weeks. Where that forecasts later rows better, the effect is one of logarithms, and all series of a
panel share it: of the logarithm of a price it is one elasticity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ridge.calendar import known_effect
from skinformer.ridge.sums import Problem
from skinformer.timeline.arrays import Float64Array, Floats, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, window_rows

#: Rows before an origin whose mean is the level by which kinds of effects are compared.
_LEVEL_ROWS = 8
#: Windows below which kinds of effects are not compared.
_FEWEST_WINDOWS = 8
#: Share of the error that a less simple kind of effect has to save.
_LEAST_GAIN = 0.01


@dataclass(frozen=True)
class KnownEffect:
    """
    The effect of columns known ahead.

    Attributes
    ----------
    table : ndarray of shape (n_known, n_targets)
        What a unit of each column does.
    low : ndarray of shape (n_known,)
        What smaller values count as where logarithms are read; 0 for a column that is read as it is
        standardised.
    bounds : ndarray of shape (2, n_targets) or None
        The least and the greatest effect that training rows had on the logarithms of targets; None
        where effects are added to standardised targets.
    """

    table: Float64Array
    low: Float64Array
    bounds: Float64Array | None = None

    @classmethod
    def of_nothing(cls, n_targets: int) -> KnownEffect:
        """Return that of no columns."""
        return cls(np.zeros((0, n_targets)), np.zeros(0))

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.table.shape[1]

    def at(
        self, values: Floats, rows: IntArray, series: IntArray, scaler: Scaler
    ) -> Effects:
        """
        Compute the effect at rows.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
            All rows, standardised; the columns known ahead are the last ones.
        rows : ndarray of int
            Which of them, (…); those behind the last one are of steps that nobody asked for.
        series : ndarray of int
            The series of each of these rows, of the same shape.
        scaler : Scaler
            How the series are standardised.
        """
        columns = known_columns(values, rows, series, scaler, self.low)
        mean, deviation = scaler.affine_parameters(series, self.n_targets)
        return self.of_columns(columns, mean, deviation)

    def of_columns(
        self, columns: Float64Array, mean: Float64Array, deviation: Float64Array
    ) -> Effects:
        """
        Compute the effect of columns, see `known_columns`.

        Parameters
        ----------
        columns : ndarray of shape (…, n_known)
            The columns.
        mean, deviation : ndarray of shape (…, n_targets)
            How targets are standardised.
        """
        effect = columns @ self.table
        if self.bounds is None:
            return Effects(effect, None, None)
        factor = np.exp(np.clip(effect, *self.bounds))
        shape = factor.shape
        return Effects(
            factor, np.broadcast_to(mean, shape), np.broadcast_to(deviation, shape)
        )


class Effects(NamedTuple):
    """
    Effects at some rows, (…, n_targets) each.

    Attributes
    ----------
    size : ndarray
        What is added to standardised targets, or the factor of targets in their units.
    mean, deviation : ndarray or None
        How targets are standardised; None where effects are added.
    """

    size: Float64Array
    mean: Float64Array | None
    deviation: Float64Array | None

    def rows(self, some: slice) -> Effects:
        """Choose rows of windows."""
        size = self.size[:, some]
        if self.mean is None or self.deviation is None:
            return Effects(size, None, None)
        return Effects(size, self.mean[:, some], self.deviation[:, some])

    def taken_off(self, y: Floats) -> Float64Array:
        """Take the effect off standardised targets."""
        if self.mean is None or self.deviation is None:
            return y - self.size
        in_units = y * self.deviation + self.mean
        return (in_units / self.size - self.mean) / self.deviation

    def put_on(self, y: Floats) -> Float64Array:
        """Put the effect on standardised targets."""
        if self.mean is None or self.deviation is None:
            return y + self.size
        in_units = y * self.deviation + self.mean
        return (in_units * self.size - self.mean) / self.deviation


def known_columns(
    values: Floats, rows: IntArray, series: IntArray, scaler: Scaler, low: Float64Array
) -> Float64Array:
    """Read columns known ahead, (…, n_known): standardised, or the logarithm of a part of the mean.

    low: see `KnownEffect`.
    """
    n_rows, n_columns = values.shape
    first = n_columns - len(low)
    known = values[np.minimum(rows, n_rows - 1), first:].astype(np.float64)
    known = np.nan_to_num(known)
    for i in np.flatnonzero(low):
        mean = scaler.mean[series, first + i]
        in_units = known[..., i] * scaler.scale[series, first + i] + mean
        # A series without a value of the column has a mean of zero.
        known[..., i] = np.log(np.maximum(in_units, low[i]) / np.maximum(mean, low[i]))
    return known


def fit_known_effect(
    timeline: Timeline, sizes: ModelSizes, scaler: Scaler
) -> KnownEffect:
    """
    Choose the kind of effect that forecasts best by windows that it was not fitted to.

    Parameters
    ----------
    timeline : Timeline
        Standardised rows.
    sizes : ModelSizes
        What the columns are.
    scaler : Scaler
        How they were standardised.

    Returns
    -------
    KnownEffect
        What columns add to targets, or by what they multiply them, where none of these is negative;
        of columns as they are, or of the logarithms of positive ones. Nothing, where no effect
        forecasts better than none. Cost: 4096 windows at most, of half a million rows.
    """
    if not sizes.n_known:
        return KnownEffect.of_nothing(sizes.n_targets)
    windows = _EffectWindows.of(timeline, sizes, scaler)
    everything = np.arange(windows.n_windows)
    halves = np.array_split(everything, 2)
    best = windows.fit(_KINDS[0], everything)
    if windows.n_windows < _FEWEST_WINDOWS:
        return best
    least_error = windows.cross_validated_error(_KINDS[0], halves)
    for kind in windows.other_kinds():
        error = windows.cross_validated_error(kind, halves)
        if error < (1 - _LEAST_GAIN) * least_error:
            best, least_error = windows.fit(kind, everything), error
    return best


class _EffectKind(NamedTuple):
    """
    A kind of effect.

    Attributes
    ----------
    multiplies : bool
        Whether it multiplies targets; else it is added to them.
    of_logs : bool
        Whether positive columns are read as logarithms.
    """

    multiplies: bool
    of_logs: bool


#: All kinds, the simplest first.
_KINDS = tuple(_EffectKind(*kind) for kind in product((False, True), repeat=2))


class _EffectWindows(NamedTuple):
    """
    Windows on which kinds of effects are fitted and judged.

    Attributes
    ----------
    y : ndarray of shape (n_windows, n_rows, n_targets)
        Standardised targets of the rows around each origin, which is row ``_LEVEL_ROWS``.
    columns : tuple of ndarray of shape (n_windows, n_rows, n_known)
        Columns known ahead, and these with logarithms of positive ones.
    weight : ndarray of shape (n_windows, n_rows, n_targets)
        Of each truth, 0 where it is missing.
    mean, deviation : ndarray of shape (n_windows, 1, n_targets)
        How targets are standardised.
    low : ndarray of shape (n_known,)
        Half of the least value of each positive column, 0 for others.
    has_sizes : bool
        Whether targets are sizes, never negative, which something may multiply.
    """

    y: Float64Array
    columns: tuple[Float64Array, Float64Array]
    weight: Float64Array
    mean: Float64Array
    deviation: Float64Array
    low: Float64Array
    has_sizes: bool

    @classmethod
    def of(
        cls, timeline: Timeline, sizes: ModelSizes, scaler: Scaler
    ) -> _EffectWindows:
        """Cut windows, spread over all series."""
        begin = timeline.first_row[:-1]
        end = timeline.first_row[1:]
        origins = Origins(begin + 1, end - sizes.pred_len)
        n_rows = _LEVEL_ROWS + sizes.pred_len
        origin = origins.thinned(min(4096, 500_000 // n_rows + 1))
        series = timeline.series_of(origin)[:, None]
        rows = window_rows(origin - _LEVEL_ROWS, n_rows)
        rows = np.maximum(rows, begin[series])
        n_targets = sizes.n_targets
        low = _least_positive(timeline, sizes, scaler)
        mean, deviation = scaler.affine_parameters(series, n_targets)
        return cls(
            timeline.values[rows, :n_targets].astype(np.float64),
            (
                known_columns(
                    timeline.values, rows, series, scaler, np.zeros_like(low)
                ),
                known_columns(timeline.values, rows, series, scaler, low),
            ),
            timeline.weights(n_targets)[rows].astype(np.float64),
            mean,
            deviation,
            low,
            _are_sizes(timeline, scaler, n_targets),
        )

    @property
    def n_windows(self) -> int:
        """Number of windows."""
        return len(self.y)

    def other_kinds(self) -> list[_EffectKind]:
        """List the kinds that there can be beside the first."""
        has_logs = self.low.any()
        return [
            kind
            for kind in _KINDS[1:]
            if (self.has_sizes or not kind.multiplies)
            and (has_logs or not kind.of_logs)
        ]

    def take(self, some: IntArray) -> _EffectWindows:
        """Choose windows."""
        return self._replace(
            y=self.y[some],
            columns=(self.columns[0][some], self.columns[1][some]),
            weight=self.weight[some],
            mean=self.mean[some],
            deviation=self.deviation[some],
        )

    def fit(self, kind: _EffectKind, some: IntArray) -> KnownEffect:
        """Fit a kind of effect to some windows."""
        table = self.take(some)._regress(kind)
        low = self.low if kind.of_logs else np.zeros_like(self.low)
        bounds = None
        if kind.multiplies:
            effect = self.columns[kind.of_logs] @ table
            bounds = np.stack([effect.min(axis=(0, 1)), effect.max(axis=(0, 1))])
        return KnownEffect(table, low, bounds)

    def _logs_of_targets(self) -> tuple[Float64Array, Float64Array]:
        """Return logarithms of targets in their units, and weights: 0 where these are no sizes."""
        in_units = self.y * self.deviation + self.mean
        # Single precision makes something of zeros.
        rounding = 1e-6 * (np.abs(self.mean) + self.deviation)
        is_positive = in_units > rounding
        logs = np.log(np.where(is_positive, in_units, 1.0))
        return logs, self.weight * is_positive

    def _regress(self, kind: _EffectKind) -> Float64Array:
        """Regress changes of targets, or of their logarithms, on changes of columns."""
        y, weight = (
            self._logs_of_targets() if kind.multiplies else (self.y, self.weight)
        )
        last = _LEVEL_ROWS - 1
        has_last = (weight[:, last] > 0).all(axis=1)
        columns = self.columns[kind.of_logs]
        both = np.concatenate([y, columns], axis=2)[has_last, last:]
        n_windows, n_rows, n_columns = both.shape
        problem = Problem(
            both.reshape(-1, n_columns),
            weight[has_last, last:].reshape(-1, y.shape[2]),
            missing=None,
            n_targets=y.shape[2],
            seq_len=1,
            pred_len=n_rows - 1,
            effect=np.zeros((columns.shape[2], y.shape[2])),
        )
        return known_effect(problem, 1 + n_rows * np.arange(n_windows))

    def cross_validated_error(self, kind: _EffectKind, parts: list[IntArray]) -> float:
        """Return the mean error on each of two parts by the effect that the other one shows."""
        errors = []
        for fitted, judged in (parts, parts[::-1]):
            effect = self.fit(kind, fitted)
            errors.append(self.take(judged)._error(kind, effect))
        return float(np.mean(errors))

    def _error(self, kind: _EffectKind, effect: KnownEffect) -> float:
        """Return the mean absolute error of the level before origins with the effect ahead."""
        columns = self.columns[kind.of_logs]
        found = effect.of_columns(columns, self.mean, self.deviation)
        past = slice(_LEVEL_ROWS)
        future = slice(_LEVEL_ROWS, None)
        level = found.rows(past).taken_off(self.y[:, past]).mean(axis=1, keepdims=True)
        level = np.broadcast_to(level, self.y[:, future].shape)
        distance = np.abs(found.rows(future).put_on(level) - self.y[:, future])
        weight = self.weight[:, future]
        return float((distance * weight).sum() / max(weight.sum(), 1e-300))


def _least_positive(
    timeline: Timeline, sizes: ModelSizes, scaler: Scaler
) -> Float64Array:
    """Return half of the least value of each positive column, 0 for others: (n_known,)."""
    n_columns = timeline.values.shape[1]
    low = np.zeros(sizes.n_known)
    series = timeline.series
    for i in range(sizes.n_known):
        j = n_columns - sizes.n_known + i
        column = timeline.values[:, j]
        in_units = column * scaler.scale[series, j] + scaler.mean[series, j]
        least = np.nanmin(in_units, initial=np.inf)
        # Single precision makes something of zeros.
        rounding = 1e-6 * np.nanmax(in_units, initial=0.0)
        if rounding < least < np.inf:
            low[i] = least / 2
    return low


def _are_sizes(timeline: Timeline, scaler: Scaler, n_targets: int) -> bool:
    """Whether no target is negative, and none is transformed already."""
    if scaler.targets.is_transformed.any():
        return False
    mean, deviation = scaler.affine_parameters(timeline.series, n_targets)
    in_units = timeline.values[:, :n_targets] * deviation + mean
    rounding = 1e-6 * (np.abs(mean) + deviation)
    return bool((in_units > -rounding).all())
