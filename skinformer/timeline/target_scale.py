"""Transforms of targets before they are standardised: logarithms, a user's, and bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import (
    AnyArray,
    BoolArray,
    Float64Array,
    IntArray,
    take_rows,
)


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
        is_known = ~np.isnan(values)
        known = values[is_known]
        try:
            transformed = apply(self.transformer.transform, known)
        except ValueError as error:
            raise ValueError(self._refusal(known)) from error
        is_lost = ~np.isfinite(transformed)
        if is_lost.any():
            raise ValueError(self._refusal(known[is_lost]))
        out = np.full(len(values), np.nan)
        out[is_known] = transformed
        return out

    @property
    def is_decreasing(self) -> bool:
        """Whether transformed values fall where values rise."""
        ends = np.array([self.low, self.high])
        low, high = self.inverse(ends)
        return high < low

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
        out = np.array(function(values[:, None]), dtype=np.float64)
    return out.reshape(len(values))


@dataclass(frozen=True)
class TargetScale:
    """How targets were transformed, and what no forecast falls below; (n_series, n_targets) each.

    floor: 0 where no value ever lay below it, else minus infinity; in the targets' units.
    low: what smaller values count as where logarithms are taken.
    logs: where logarithms are taken.
    smear: added to forecasts of logarithms, so that their exponentials are means.
    transformers: one for each target, which all series share; none for logarithms alone.
    top: the largest logarithm so far; infinite without logarithms.
    rise: how far beyond it, or a window's own largest one, a soft clip begins (`Limits`). None of
    both sets no limit.
    """

    floor: Float64Array
    low: Float64Array
    logs: BoolArray
    smear: Float64Array
    transformers: tuple[FittedTransformer, ...] = ()
    top: Float64Array | None = None
    rise: Float64Array | None = None

    @classmethod
    def unbounded(cls, n_series: int, n_targets: int) -> TargetScale:
        """Return the scale of targets that are not transformed, and have no bound."""
        ones = np.ones((n_series, n_targets))
        return cls(floor=-np.inf * ones, low=ones, logs=ones < 0, smear=0 * ones)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.floor.shape[1]

    @property
    def is_transformed(self) -> BoolArray:
        """Where values are transformed, shape (n_series, n_targets)."""
        return np.ones_like(self.logs) if self.transformers else self.logs

    @property
    def is_decreasing(self) -> BoolArray:
        """Whether each transformer falls as the target rises; empty without transformers."""
        decreasing = [each.is_decreasing for each in self.transformers]
        return np.array(decreasing, dtype=bool)

    def forward(self, values: AnyArray, series: IntArray, j: int) -> AnyArray:
        """Transform column j, (n,); what is no target, or not transformed, is given as it is."""
        if j >= self.n_targets or not self.is_transformed[:, j].any():
            return values
        raw = values.astype(np.float64)
        if self.transformers:
            return self.transformers[j].forward(raw)
        low = self.low[series, j]
        logs = np.log(np.maximum(raw, low))
        takes_logs = self.logs[series, j]
        return np.where(takes_logs, logs, raw)

    def inverse(self, values: Float64Array, series: IntArray) -> Float64Array:
        """Put transformed forecasts, (n, n_targets), into units and bounds."""
        n_targets = values.shape[1]
        for j, transformer in enumerate(self.transformers[:n_targets]):
            values[:, j] = transformer.inverse(values[:, j])
        if self.logs.any() and not self.transformers:
            # Double precision has no number beyond.
            farthest = np.log(np.finfo(np.float64).max)
            raised = values + self.smear[series, :n_targets]
            raised = np.clip(raised, -farthest, farthest)
            takes_logs = self.logs[series, :n_targets]
            values = np.where(takes_logs, np.exp(raised), values)
        floor = self.floor[series, :n_targets]
        return np.maximum(values, floor)

    def of_series(self, chosen: IntArray) -> TargetScale:
        """Keep the numbers of some series."""
        return replace(
            self,
            floor=self.floor[chosen],
            low=self.low[chosen],
            logs=self.logs[chosen],
            smear=self.smear[chosen],
            top=take_rows(self.top, chosen),
            rise=take_rows(self.rise, chosen),
        )

    def with_unseen(self) -> TargetScale:
        """Append a series that training did not hold.

        It takes logarithms where more than half of the series do and none lay below zero, has a
        bound where all have, and the limits of the largest.
        """
        is_bounded = (self.floor == 0).all(axis=0)
        logs = is_bounded & (self.logs.mean(axis=0) > 0.5)
        floor = np.where(is_bounded, 0.0, -np.inf)
        low = self.low.min(axis=0, where=self.logs, initial=np.inf)
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
        begin = first_row[some]
        y = columns[: self.n_targets]
        least = _reduce(np.fmin, y, begin)
        largest = _reduce(np.fmax, y, begin)
        is_unbounded = _is_negative(least, largest) & ~self.logs[some]
        floor = self.floor.copy()
        floor[some] = np.where(is_unbounded, -np.inf, floor[some])
        if self.top is None:
            return replace(self, floor=floor)
        log = np.log(np.fmax(largest, self.low[some]))
        top = self.top.copy()
        top[some] = np.fmax(top[some], log)
        return replace(self, floor=floor, top=top)


def observe_targets(
    columns: list[AnyArray], first_row: IntArray, n_targets: int
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
    least = _reduce(np.fmin, y, begin)
    largest = _reduce(np.fmax, y, begin)
    least_of_all = np.nan_to_num(np.fmin.reduce(least, axis=0))
    least = np.where(np.isnan(least), least_of_all, least)
    is_negative = _is_negative(least, largest)
    # A zero that comes later is far below all others, not infinitely far.
    low = 0.01 * np.where(least > 0, least, 1.0)
    scale = TargetScale(
        floor=np.where(is_negative, -np.inf, 0.0),
        low=low,
        logs=np.zeros(low.shape, dtype=bool),
        smear=np.zeros(low.shape),
    )
    return scale, least


def fit_soft_clip(
    scale: TargetScale, columns: list[AnyArray], first_row: IntArray, n_steps: int
) -> TargetScale:
    """Find where forecasts of logarithms are clipped softly: `top` and `rise`.

    A series' record is its largest logarithm so far, ``max(log y_1, …, log y_t)``: `top` is the
    last one, and `rise` what ``n_steps`` observed rows of the later half of it added at most. It is
    no less than the median series' of the panel, nor than ``log(1.25)``.

    >>> rows = np.array([0, 9]), 2
    >>> scale, _ = observe_targets([2.0 ** np.arange(9)], rows[0], 1)
    >>> scale = replace(scale, logs=scale.floor == 0)
    >>> grown = fit_soft_clip(scale, [2.0 ** np.arange(9)], *rows)
    >>> np.exp2(grown.top / np.log(2)).item(), np.exp(grown.rise).round(3).item()
    (256.0, 4.0)
    """
    top = np.full(scale.logs.shape, np.inf)
    rise = top.copy()
    for i, j in np.argwhere(scale.logs):
        rows = slice(first_row[i], first_row[i + 1])
        values = columns[j][rows]
        known = values[~np.isnan(values)]
        if len(known):
            records = _running_maximum_log(known, scale.low[i, j])
            top[i, j] = records[-1]
            rise[i, j] = _largest_rise(records, n_steps)
    of_logs = pd.DataFrame(rise).replace(np.inf, np.nan)
    median_rise = of_logs.median().to_numpy()
    rise = np.fmax(rise, median_rise)
    # A quarter more needs no reason.
    rise = np.maximum(rise, np.log(1.25))
    return replace(scale, top=top, rise=rise)


def _running_maximum_log(values: AnyArray, low: float) -> Float64Array:
    """Return the largest logarithm so far at each observed value."""
    values = values.astype(np.float64)
    logs = np.log(np.maximum(values, low))
    return np.maximum.accumulate(logs)


def _largest_rise(records: Float64Array, n_steps: int) -> float:
    """Return by how much the later half of records rose in so many steps at most.

    It is in proportion where there are fewer.
    """
    later_half = records[len(records) // 2 :]
    n = min(n_steps, len(later_half) - 1)
    if n <= 0:
        return 0.0
    rises = later_half[n:] - later_half[:-n]
    return rises.max() * n_steps / n


def _with_largest(
    table: Float64Array | None, logs: BoolArray, new: BoolArray
) -> Float64Array | None:
    """Append the largest number of the series that take logarithms, where a new one does."""
    if table is None:
        return None
    largest = table.max(axis=0, where=logs, initial=-np.inf)
    row = np.where(new, largest, np.inf)
    return np.vstack([table, row])


def _is_negative(least: Float64Array, largest: Float64Array) -> BoolArray:
    """Whether series were below zero by more than rounding."""
    return least < -1e-9 * np.fmax(largest, 0.0)


def _reduce(
    function: np.ufunc, columns: list[AnyArray], start: IntArray
) -> Float64Array:
    """Reduce each column to one number of each series, NaN where all of its values are missing."""
    numbers = [function.reduceat(column, start) for column in columns]
    return np.column_stack(numbers).astype(np.float64)
