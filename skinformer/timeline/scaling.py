"""Standardisation of columns, per series: units in and units out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer.timeline.arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    Float64Array,
    IntArray,
)
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.windows import origins_between


class Limits(NamedTuple):
    """How high forecasts of each series may go, standardised; infinitely without logarithms.

    top: the largest value so far, (n_series, n_targets).
    rise, width: how far beyond it, or beyond the largest of a window, forecasts go freely, and how
    far beyond that they come at most.
    """

    top: Float32Array
    rise: Float32Array
    width: Float32Array

    def apply(
        self,
        y_pred: Float32Array,
        series: IntArray,
        greatest: Callable[[IntArray], Float32Array],
    ) -> Float32Array:
        """Compress what goes beyond its limit of forecasts, (n, n_steps, n_targets, …).

        greatest: returns the largest values of windows by their numbers, (n_some, n_targets).
        """
        top = self.top[series]
        rise = self.rise[series]
        limit = align_with_steps(top + rise, y_pred)
        windows = np.flatnonzero(any_of_window(y_pred > limit))
        if not len(windows):
            return y_pred
        record = np.maximum(top[windows], greatest(windows))
        knee = align_with_steps(record + rise[windows], y_pred)
        width = align_with_steps(self.width[series[windows]], y_pred)
        high = y_pred[windows]
        is_over = high > knee
        excess = np.where(is_over, high - knee, np.float32(1))
        # Rational, so that every machine, and every exported graph, computes the same.
        compressed = knee + width / (1 + width / excess)
        y_pred = y_pred.copy()
        y_pred[windows] = np.where(is_over, compressed, high)
        return y_pred


def align_with_steps(table: Float32Array, y_pred: Float32Array) -> Float32Array:
    """Add axes of length 1 to numbers of windows, (n, n_targets), where forecasts have more."""
    return np.expand_dims(table, (1, *range(3, y_pred.ndim)))


def any_of_window(flags: BoolArray) -> BoolArray:
    """Whether a flag of each window is set, (n,)."""
    axes = tuple(range(1, flags.ndim))
    return np.asarray(flags.any(axis=axes))


@dataclass(frozen=True)
class Scaler:
    """Means and deviations of columns, (n_series, n_columns), in their units once transformed.

    A constant column has the size of its value as scale (1 for 0), so that a later change weighs
    the same in every unit.
    """

    mean: Float64Array
    scale: Float64Array
    targets: TargetScale | None = None

    def transform(
        self, columns: list[AnyArray | None], series: IntArray
    ) -> Float32Array:
        """Standardise columns, None for missing ones: (n, n_columns), float32.

        Values are centred in float64 before they are rounded, so that 1e8 ± 1 keeps its digits. It
        is a ValueError if one lies so far off that the network would answer NaN.
        """
        out = np.full((len(series), len(columns)), np.nan, dtype=np.float32)
        for j, column in enumerate(columns):
            if column is None:
                continue
            values = self.forward(column, series, j).astype(np.float64)
            values -= self.mean[series, j]
            with np.errstate(over="ignore"):
                values /= self.scale[series, j]
            self._check_range(column, values, series, j)
            out[:, j] = values
        return out

    def forward(
        self,
        column: AnyArray,
        series: IntArray,
        j: int,
    ) -> AnyArray:
        """Transform column j as it is before it is standardised."""
        if self.targets is None:
            return column
        return self.targets.forward(column, series, j)

    def takes_logs(self, j: int) -> BoolArray:
        """Whether column j is in logarithms, of each series."""
        if self.targets is None or j >= self.targets.n_targets:
            return np.zeros(len(self.mean), dtype=bool)
        return self.targets.logs[:, j]

    def _check_range(
        self,
        column: AnyArray,
        values: Float64Array,
        owner: IntArray,
        j: int,
    ) -> None:
        """Raise if a value lies so far from the mean that its square overflows in float32."""
        farthest = 1e18
        far = np.flatnonzero(np.abs(values) > farthest)
        if len(far):
            series = owner[far[0]]
            raise ValueError(
                f"X holds {column[far[0]]:g}, which lies more than {farthest:g} deviations "
                f"({self.scale[series, j]:g}) from the mean of the training rows "
                f"({self.mean[series, j]:g}): no forecast can be built on it. Correct it, or make "
                "it NaN if it is a target's."
            )

    def inverse(
        self, values: npt.NDArray[np.floating], series: IntArray
    ) -> Float64Array:
        """Put standardised forecasts, (n, n_targets), into their units, within their bounds.

        What single precision made of a zero is zero again.
        """
        n_targets = values.shape[1]
        scale = self.scale[series, :n_targets]
        mean = self.mean[series, :n_targets]
        out: Float64Array = values.astype(np.float64)
        out *= scale
        out += mean
        rounding = 1e-7 * (np.abs(mean) + scale)
        out[np.abs(out) < rounding] = 0.0
        return out if self.targets is None else self.targets.inverse(out, series)

    @property
    def limits(self) -> Limits | None:
        """What no forecast exceeds by much; None where no logarithms are taken."""
        targets = self.targets
        if targets is None or targets.top is None or targets.rise is None:
            return None
        k = targets.n_targets
        scale = np.where(targets.logs, self.scale[:, :k], 1.0)
        mean = np.where(targets.logs, self.mean[:, :k], 0.0)
        # A mean lies above its median.
        rise = np.maximum(targets.rise - targets.smear, 0.0)
        most = np.log(1.1)  # a tenth more than what is free
        return Limits(
            top=((targets.top - mean) / scale).astype(np.float32),
            rise=(rise / scale).astype(np.float32),
            width=(most / scale).astype(np.float32),
        )

    def restored(
        self, values: npt.NDArray[np.floating], series: IntArray
    ) -> Float64Array:
        """Put standardised targets, or their quantiles, back into their units as they were.

        It is `inverse` but for what makes means of exponentials, which quantiles do not need.
        """
        if self.targets is None:
            return self.inverse(values, series)
        plain = replace(self.targets, smear=np.zeros_like(self.targets.smear))
        return replace(self, targets=plain).inverse(values, series)

    def affine_parameters(
        self, series: IntArray, k: int
    ) -> tuple[Float64Array, Float64Array]:
        """Return mean and deviation, (n, k), that put the first k columns into units on a line.

        They are 0 and 1 where a target is transformed: no straight line leads to its units.
        """
        mean = self.mean[series, :k]
        scale = self.scale[series, :k]
        # In units in which neither sums nor squares of the greatest numbers run over.
        size = np.maximum(np.abs(mean), scale)
        unit = np.where(size > 1e200, 2.0**1000, 1.0)
        mean = mean / unit
        scale = scale / unit
        if self.targets is not None:
            is_transformed = self.targets.is_transformed[series, :k]
            mean[is_transformed] = 0.0
            scale[is_transformed] = 1.0
        return mean, scale

    def updated(self, columns: list[AnyArray], first_row: IntArray) -> Scaler:
        """Update bounds by later rows: a series that has been below zero has none any more."""
        if self.targets is None:
            return self
        return replace(self, targets=self.targets.updated(columns, first_row))

    def of_series(self, chosen: IntArray) -> Scaler:
        """Keep the numbers of some series."""
        targets = None if self.targets is None else self.targets.of_series(chosen)
        return Scaler(self.mean[chosen], self.scale[chosen], targets)

    def with_unseen(self) -> Scaler:
        """Append the scale of a series that training did not hold: the mean over all series.

        It is over those alone that are transformed as it is.
        """
        targets = None if self.targets is None else self.targets.with_unseen()
        like = self._like_unseen(targets)
        mean = self.mean.mean(axis=0, where=like)
        apart = self.mean - mean
        size = np.maximum(self.scale, np.abs(apart))
        unit = _units(
            size.max(
                axis=0,
                where=like,
                initial=0,
            )
        )
        with np.errstate(over="ignore"):  # of those that do not count
            squares = (self.scale / unit) ** 2 + (apart / unit) ** 2
        spread = unit * np.sqrt(squares.mean(axis=0, where=like))
        return Scaler(
            mean=np.vstack([self.mean, mean]),
            scale=np.vstack([self.scale, spread]),
            targets=targets,
        )

    def _like_unseen(self, targets: TargetScale | None) -> BoolArray | Literal[True]:
        """Return which numbers have the units of the last series'."""
        if targets is None or not targets.logs.any():
            return True
        like = np.ones(self.mean.shape, dtype=bool)
        like[:, : targets.n_targets] = targets.logs[:-1] == targets.logs[-1]
        return like


def fit_scaler(
    columns: list[AnyArray],
    start: IntArray,
    stop: IntArray,
    *,
    static: list[int],
    targets: TargetScale | None = None,
) -> Scaler:
    """Find the mean and deviation of each column on the training rows of each series.

    columns: raw values; NaN is missing.
    start, stop: of the training rows of each series; those that validation uses stay outside.
    static: columns that are constant in each series: standardised across the series.

    A column with one value only has no deviation; it gets the size of that value, and 1 for 0 or
    without any value. A target that is so in some series of a panel gets a tenth of that, and of
    the median series' deviation for 0.
    """
    n_series = len(start)
    rows = origins_between(start, stop - 1)
    owner = np.repeat(np.arange(n_series), stop - start)
    shape = (n_series, len(columns))
    scaler = Scaler(np.zeros(shape), np.ones(shape), targets)
    n_targets = 0 if targets is None else targets.n_targets
    for j, column in enumerate(columns):
        values = scaler.forward(column[rows], owner, j).astype(np.float64)
        moments = _moments(values, owner, n_series)
        logs = scaler.takes_logs(j)
        if j in static:
            moments = moments.across_series()
        else:
            moments.lend(logs)
        scaler.mean[:, j] = moments.mean
        scaler.scale[:, j] = moments.scale(logs, is_damped=j < n_targets)
    return scaler


class _Moments(NamedTuple):
    """Mean and deviation of each series, 0 of one without a value, and which have any."""

    mean: Float64Array
    deviation: Float64Array
    seen: BoolArray

    def across_series(self) -> _Moments:
        """Return the mean and deviation of the means, for every series."""
        if not self.seen.any():
            return self
        means = self.mean[self.seen]
        apart = means - means.mean()
        unit = _units(np.abs(apart).max())
        spread = unit * np.sqrt(((apart / unit) ** 2).mean())
        mean = np.full_like(self.mean, means.mean())
        return _Moments(mean, np.full_like(mean, spread), self.seen)

    def lend(self, logs: BoolArray) -> None:
        """Set for series that start after the training rows what the others in their units have."""
        for kind in (~logs, logs):
            some = self.seen & kind
            if some.any():
                self.mean[~self.seen & kind] = self.mean[some].mean()
                self.deviation[~self.seen & kind] = self.deviation[some].mean()

    def scale(self, logs: BoolArray, *, is_damped: bool) -> Float64Array:
        """Return the scale of each series: its deviation, else its size, else 1."""
        size = np.abs(self.mean)
        varies = self.deviation > 1e-12 * np.maximum(size, 1e-300)
        # What is constant in logarithms has no size: its unit would change the number.
        has_size = (size > 0) & ~logs
        scale = np.where(has_size, size, 1.0)
        scale[varies] = self.deviation[varies]
        if is_damped:
            _damp(scale, varies, has_size, logs)
        return scale


def _damp(
    scale: Float64Array,
    varies: BoolArray,
    has_size: BoolArray,
    logs: BoolArray,
) -> None:
    """Shrink the scale of series that never moved, so that forecasts move them little, in any unit.

    has_size: which have a size of their own; others have that of the median series that varies.
    """
    # The whole deviation would let a promotion that moves others by one double a series that is
    # constant.
    share = 0.1
    for kind in (~logs, logs):
        is_still = ~varies & kind
        if (varies & kind).any():
            scale[is_still & ~has_size] = np.median(scale[varies & kind])
            scale[is_still] *= share


def _moments(
    values: Float64Array,
    owner: IntArray,
    n_series: int,
) -> _Moments:
    """Compute the moments of each series, without overflow."""
    size = np.zeros(n_series)
    np.fmax.at(size, owner, np.abs(values))
    unit = _units(size)
    groups = pd.Series(values / unit[owner]).groupby(owner)
    mean = groups.mean().reindex(range(n_series)).to_numpy()
    deviation = groups.std(ddof=0).reindex(range(n_series)).to_numpy()
    seen = ~np.isnan(mean)
    return _Moments(
        mean=unit * np.where(seen, mean, 0.0),
        deviation=unit * np.where(seen, deviation, 0.0),
        seen=seen,
    )


def _units(sizes: npt.ArrayLike) -> Float64Array:
    """Return the power of two below each size, 1 for 0: in such units no square runs over."""
    _, exponent = np.frexp(sizes)  # dividing by a power of two rounds nothing
    return np.ldexp(1.0, np.where(np.equal(sizes, 0), 0, exponent - 1))


def affine_link(
    source: Float64Array, truth: Float64Array
) -> tuple[float, float] | None:
    """Find slope and intercept that map a scaled column to its raw truth, (n,) each.

    None where the relation is not affine, to 1e-4 of the truth's range; rows with a NaN are left
    out.
    """
    source = np.asarray(source, dtype=np.float64)
    truth = np.asarray(truth, dtype=np.float64)
    known = ~(np.isnan(source) | np.isnan(truth))
    source = source[known]
    truth = truth[known]
    if not len(truth):
        return 1.0, 0.0
    # Before any mean, whose rounding would pass for a relation.
    is_constant = np.ptp(truth) == 0
    if is_constant and np.ptp(source) > 0:
        return None  # a column that varies would forecast a constant ever after
    if is_constant:  # one constant for another: nothing is known of the slope
        return 1.0, float(truth[0] - source[0])
    return _fit_line(source, truth)


def _fit_line(source: Float64Array, truth: Float64Array) -> tuple[float, float] | None:
    """Fit slope and intercept by least squares; None where they miss a value."""
    source_unit = _units(np.ptp(source))
    truth_unit = _units(np.ptp(truth))
    x = (source - source.mean()) / source_unit
    y = (truth - truth.mean()) / truth_unit
    variance = (x**2).sum()
    slope = (x * y).sum() / variance if variance else 0.0
    if np.abs(y - slope * x).max() > 1e-4 * np.ptp(y):
        return None
    slope *= truth_unit / source_unit
    return float(slope), float(truth.mean() - slope * source.mean())
