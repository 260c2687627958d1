"""Transforms of targets before they are standardised: logarithms, a user's, and bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray


@dataclass(frozen=True)
class FittedTransformer:
    """A transformer of scikit-learn, fitted to the training rows of one target.

    low, high: the range of its training values, transformed.
    """

    transformer: Any
    low: float
    high: float

    def forward(self, values: Float64Array) -> Float64Array:
        """Transform values, NaN stays NaN; raise if the transformer has no finite answer to one."""
        there = ~np.isnan(values)
        given = values[there]
        out = np.full(len(values), np.nan)
        try:
            out[there] = apply(self.transformer.transform, given)
        except ValueError as error:
            raise ValueError(self._refusal(given)) from error
        far = ~np.isfinite(out[there])
        if far.any():
            raise ValueError(self._refusal(given[far]))
        return out

    @property
    def is_decreasing(self) -> bool:
        """Whether transformed values fall where values rise."""
        low, high = self.inverse(np.array([self.low, self.high]))
        return bool(high < low)

    def _refusal(self, values: Float64Array) -> str:
        """Return the message of an error."""
        return (
            f"target_transform={self.transformer!r} has no finite answer to a target among "
            f"{values.min():g} … {values.max():g}: it was fitted on other values. Make such a "
            "target NaN, or choose a transformer that is defined there."
        )

    def inverse(self, values: Float64Array) -> Float64Array:
        """Invert it; where that is not finite, at the nearer end of the training range."""
        out = apply(self.transformer.inverse_transform, values)
        lost = ~np.isfinite(out) & ~np.isnan(values)
        if lost.any():
            nearest = np.clip(values[lost], self.low, self.high)
            out[lost] = apply(self.transformer.inverse_transform, nearest)
        return out


def apply(function: Any, values: Float64Array) -> Float64Array:
    """Call ``transform`` or ``inverse_transform`` on one column, which may be empty; return a copy.

    >>> apply(np.log1p, np.array([0.0]))
    array([0.])
    """
    if not len(values):
        return values.copy()
    with np.errstate(all="ignore"):
        out = np.asarray(function(values[:, None]), dtype=np.float64)
    return out.reshape(len(values)).copy()


@dataclass(frozen=True)
class TargetScale:
    """How targets were transformed, and what no forecast falls below; (n_series, n_targets) each.

    floor: 0 where no value ever lay below it, else minus infinity; in the targets' units.
    low: what smaller values count as where logarithms are taken.
    logs: where logarithms are taken.
    smear: added to forecasts of logarithms, so that their exponentials are means.
    transformers: one for each target, which all series share; none for logarithms alone.
    top, rise: the largest logarithm so far, and how far beyond it and a window's own largest one a
    forecast goes freely; infinite without logarithms. None sets no limit.
    """

    floor: Float64Array
    low: Float64Array
    logs: BoolArray
    smear: Float64Array
    transformers: tuple[FittedTransformer, ...] = ()
    top: Float64Array | None = None
    rise: Float64Array | None = None

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return int(self.floor.shape[1])

    @property
    def is_transformed(self) -> BoolArray:
        """Where values are transformed, shape (n_series, n_targets)."""
        return np.ones_like(self.logs) if self.transformers else self.logs

    @property
    def is_decreasing(self) -> BoolArray:
        """Where a transformer falls as the target rises, shape (n_targets,)."""
        if not self.transformers:
            return np.zeros(self.n_targets, dtype=bool)
        return np.array([each.is_decreasing for each in self.transformers])

    def with_logs(self, logs: BoolArray) -> TargetScale:
        """Return the scale that takes logarithms there, (n_series, n_targets)."""
        return replace(self, logs=logs)

    def forward(
        self,
        values: AnyArray,
        series: IntArray,
        j: int,
    ) -> AnyArray:
        """Transform column j, (n,); what is no target, or not transformed, is given as it is."""
        if j >= self.n_targets or not self.is_transformed[:, j].any():
            return values
        raw: Float64Array = values.astype(np.float64)
        if self.transformers:
            return self.transformers[j].forward(raw)
        logs = np.log(np.maximum(raw, self.low[series, j]))
        return np.where(self.logs[series, j], logs, raw)

    def inverse(self, values: Float64Array, series: IntArray) -> Float64Array:
        """Put transformed forecasts, (n, n_targets), into units and bounds."""
        # Double precision has no number beyond.
        farthest = float(np.log(np.finfo(np.float64).max))
        n_targets = values.shape[1]
        for j, transformer in enumerate(self.transformers[:n_targets]):
            values[:, j] = transformer.inverse(values[:, j])
        if self.logs.any() and not self.transformers:
            raised = values + self.smear[series, :n_targets]
            restored = np.exp(np.clip(raised, -farthest, farthest))
            values = np.where(self.logs[series, :n_targets], restored, values)
        return np.maximum(values, self.floor[series, :n_targets])

    def of_series(self, chosen: IntArray) -> TargetScale:
        """Keep the numbers of some series."""
        return replace(
            self,
            floor=self.floor[chosen],
            low=self.low[chosen],
            logs=self.logs[chosen],
            smear=self.smear[chosen],
            top=None if self.top is None else self.top[chosen],
            rise=None if self.rise is None else self.rise[chosen],
        )

    def with_unseen(self) -> TargetScale:
        """Append a series that training did not hold.

        It takes logarithms where more than half of the series do and none lay below zero, has a
        bound where all have, and the limits of the largest.
        """
        is_bounded = (self.floor == 0).all(axis=0)
        logs = is_bounded & (self.logs.mean(axis=0) > 0.5)
        floor = np.where(is_bounded, 0.0, -np.inf)
        low = self.low.min(
            axis=0,
            where=self.logs,
            initial=np.inf,
        )
        n_logs = np.maximum(self.logs.sum(axis=0), 1)
        smear = (self.smear * self.logs).sum(axis=0) / n_logs
        return replace(
            self,
            floor=np.vstack([self.floor, floor]),
            low=np.vstack([self.low, low]),
            logs=np.vstack([self.logs, logs]),
            smear=np.vstack([self.smear, smear]),
            top=_with_largest(self.top, self.logs, logs),
            rise=_with_largest(self.rise, self.logs, logs),
        )

    def updated(self, columns: list[AnyArray], first_row: IntArray) -> TargetScale:
        """Update bounds by later rows: a series that has been below zero has none any more.

        Where logarithms are taken bounds stay. A series may have no rows.
        """
        some = np.flatnonzero(np.diff(first_row))
        if not len(some):
            return self
        begin = first_row[some]
        floor = self.floor.copy()
        top = None if self.top is None else self.top.copy()
        for j, column in enumerate(columns[: self.n_targets]):
            is_negative = _is_negative(_least(column, begin), _largest(column, begin))
            unbounded = some[is_negative & ~self.logs[some, j]]
            floor[unbounded, j] = -np.inf
            if top is not None:
                largest = _largest_log(column, begin, self.low[some, j])
                top[some, j] = np.fmax(top[some, j], largest)
        return replace(self, floor=floor, top=top)


def observe_targets(
    columns: list[AnyArray],
    first_row: IntArray,
    n_targets: int,
) -> tuple[TargetScale, Float64Array]:
    """Find the bounds of targets, and the least value of each series, (n_series, n_targets).

    columns: raw values, the targets first; NaN is missing. Series i holds rows ``first_row[i]`` …
    ``first_row[i + 1] - 1``, one at least; one without a value has the least of all.

    >>> scale, least = observe_targets([np.array([1.0, 2.0, 0.0, -1.0])], np.array([0, 2, 4]), 1)
    >>> scale.floor.ravel(), least.ravel()
    (array([  0., -inf]), array([ 1., -1.]))
    """
    begin = first_row[:-1]
    y = columns[:n_targets]
    least = np.column_stack([_least(column, begin) for column in y])
    largest = np.column_stack([_largest(column, begin) for column in y])
    least_of_all = np.nan_to_num(np.fmin.reduce(least, axis=0))
    least = np.where(np.isnan(least), least_of_all, least)
    floor = np.where(_is_negative(least, largest), -np.inf, 0.0)
    # A zero that comes later is far below all others, not infinitely far.
    low = 0.01 * np.where(least > 0, least, 1.0)
    logs = np.zeros(least.shape, dtype=bool)
    return TargetScale(floor, low, logs, np.zeros(least.shape)), least


def observe_records(
    scale: TargetScale,
    columns: list[AnyArray],
    first_row: IntArray,
    n_steps: int,
) -> TargetScale:
    """Find how high logarithms came, and by how much they broke their records.

    Beyond a record lies what ``n_steps`` steps of the later half of the training rows added to it
    at most, or to that of half of the panel's series; a quarter at least.

    >>> rows = np.array([0, 9]), 2
    >>> scale, _ = observe_targets([2.0 ** np.arange(9)], rows[0], 1)
    >>> grown = observe_records(scale.with_logs(scale.floor == 0), [2.0 ** np.arange(9)], *rows)
    >>> np.exp2(grown.top / np.log(2)).item(), np.exp(grown.rise).round(3).item()
    (256.0, 4.0)
    """
    top = np.full(scale.logs.shape, np.inf)
    rise = top.copy()
    for i, j in np.argwhere(scale.logs):
        values = columns[j][first_row[i] : first_row[i + 1]]
        record = _record_of_logs(values, scale.low[i, j])
        if len(record):
            top[i, j] = record[-1]
            later_half = record[len(record) // 2 :]
            rise[i, j] = _largest_rise(later_half, n_steps)
    for rises in rise.T:
        known = np.isfinite(rises)
        if known.any():
            rises[known] = np.maximum(rises[known], np.median(rises[known]))
    # A quarter more needs no reason.
    return replace(scale, top=top, rise=np.maximum(rise, np.log(1.25)))


def _largest_log(
    column: AnyArray,
    start: IntArray,
    low: Float64Array,
) -> Float64Array:
    """Return the largest logarithm of each series."""
    largest = np.fmax.reduceat(column, start).astype(np.float64)
    return np.log(np.fmax(largest, low))


def _record_of_logs(values: AnyArray, low: float) -> Float64Array:
    """Return the largest logarithm so far at each observed value."""
    logs = np.log(np.maximum(values.astype(np.float64), low))
    return np.asarray(np.fmax.accumulate(logs[~np.isnan(logs)]))


def _largest_rise(record: Float64Array, n_steps: int) -> float:
    """Return by how much a record rose in so many steps at most, in proportion if it is shorter."""
    n = min(n_steps, len(record) - 1)
    if n <= 0:
        return 0.0
    rise = (record[n:] - record[:-n]).max()
    return float(rise * n_steps / n)


def _with_largest(
    table: Float64Array | None,
    logs: BoolArray,
    new: BoolArray,
) -> Float64Array | None:
    """Append the largest number of the series that take logarithms, where a new one does."""
    if table is None:
        return None
    largest = table.max(
        axis=0,
        where=logs,
        initial=-np.inf,
    )
    return np.vstack([table, np.where(new, largest, np.inf)])


def _is_negative(least: Float64Array, largest: Float64Array) -> BoolArray:
    """Whether series were below zero by more than rounding."""
    return least < -1e-9 * largest


def _least(column: AnyArray, start: IntArray) -> Float64Array:
    """Find the least value of each series, NaN where all are missing."""
    return np.fmin.reduceat(column, start).astype(np.float64)


def _largest(column: AnyArray, start: IntArray) -> Float64Array:
    """Find the largest size of a value of each series, 0 where all are missing."""
    largest = np.fmax.reduceat(np.abs(column), start)
    return np.nan_to_num(largest.astype(np.float64))
