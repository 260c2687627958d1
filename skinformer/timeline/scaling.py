"""Standardisation of columns, per series: units in and units out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import (
    AnyArray,
    BoolArray,
    Float32Array,
    Float64Array,
    Floats,
    IntArray,
)
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.windows import origins_between, repeat_numbers


@dataclass(frozen=True)
class Scaler:
    """Means and deviations of columns, (n_series, n_columns), in their units once transformed.

    A constant column has the size of its value as scale (1 for 0), so that a later change weighs
    the same in every unit.
    """

    mean: Float64Array
    scale: Float64Array
    targets: TargetScale

    def transform(
        self, columns: list[AnyArray | None], series: IntArray
    ) -> Float32Array:
        """Standardise columns, None for missing ones: (n, n_columns), float32.

        Values are centred in float64 before they are rounded, so that 1e8 ± 1 keeps its digits. It
        is a ValueError if one lies so far off that the network would answer NaN.
        """
        shape = (len(series), len(columns))
        out = np.full(shape, np.nan, dtype=np.float32)
        for j, column in enumerate(columns):
            if column is None:
                continue
            values = self.forward(column, series, j)
            values = values.astype(np.float64)
            values -= self.mean[series, j]
            with np.errstate(over="ignore"):
                values /= self.scale[series, j]
            self._check_range(column, values, series, j)
            out[:, j] = values
        return out

    def forward(self, column: AnyArray, series: IntArray, j: int) -> AnyArray:
        """Transform column j as it is before it is standardised."""
        return self.targets.forward(column, series, j)

    def takes_logs(self, j: int) -> BoolArray:
        """Whether column j is in logarithms, of each series."""
        if j >= self.targets.n_targets:
            return np.zeros(len(self.mean), dtype=bool)
        return self.targets.logs[:, j]

    def _check_range(
        self, column: AnyArray, values: Float64Array, owner: IntArray, j: int
    ) -> None:
        """Raise if a value lies so far from the mean that its square overflows in float32."""
        farthest = 1e18
        is_far = np.abs(values) > farthest
        if is_far.any():
            row = is_far.argmax()
            series = owner[row]
            raise ValueError(
                f"X has the value {column[row]:g}, which is more than {farthest:g} "
                f"standard deviations ({self.scale[series, j]:g}) away from the mean "
                f"of the training rows ({self.mean[series, j]:g}): it cannot be used. "
                "Correct it, or, in a target, set it to NaN."
            )

    def inverse_with_smearing(self, values: Floats, series: IntArray) -> Float64Array:
        """Put standardised forecasts, (n, n_targets), into their units, within their bounds.

        Logarithms are raised so that exponentials are means, where means are asked for. What single
        precision made of a zero is zero again.
        """
        n_targets = values.shape[1]
        scale = self.scale[series, :n_targets]
        mean = self.mean[series, :n_targets]
        out = values.astype(np.float64)
        out *= scale
        out += mean
        rounding = 1e-7 * (np.abs(mean) + scale)
        is_rounding = np.abs(out) < rounding
        out[is_rounding] = 0.0
        return self.targets.inverse(out, series)

    def inverse_without_smearing(
        self, values: Floats, series: IntArray
    ) -> Float64Array:
        """Put standardised targets, or their quantiles, back into their units as they were.

        Exponentials of quantiles are quantiles: nothing is added that makes means of them.
        """
        plain = replace(self.targets, smear=0 * self.targets.smear)
        scaler = replace(self, targets=plain)
        return scaler.inverse_with_smearing(values, series)

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
        is_transformed = self.targets.is_transformed[series, :k]
        mean[is_transformed] = 0.0
        scale[is_transformed] = 1.0
        return mean, scale

    def updated(self, columns: list[AnyArray], first_row: IntArray) -> Scaler:
        """Update bounds by later rows: a series that has been below zero has none any more."""
        return replace(self, targets=self.targets.updated(columns, first_row))

    def of_series(self, chosen: IntArray) -> Scaler:
        """Keep the numbers of some series."""
        return Scaler(
            self.mean[chosen], self.scale[chosen], self.targets.of_series(chosen)
        )

    def with_unseen(self) -> Scaler:
        """Append the scale of a series that training did not hold: that of a usual series.

        It is over those alone that are transformed as it is.
        """
        targets = self.targets.with_unseen()
        k = targets.n_targets
        is_size = np.zeros(self.mean.shape[1], dtype=bool)
        is_size[:k] = (targets.floor[-1] == 0) & ~targets.logs[-1]
        like = np.ones(self.mean.shape, dtype=bool)
        like[:, :k] = targets.logs[:-1] == targets.logs[-1]
        columns = zip(self.mean.T, self.scale.T, like.T, is_size, strict=True)
        usual = [
            (_usual_size if is_amount else _usual_level)(mean[some], scale[some])
            for mean, scale, some, is_amount in columns
        ]
        mean, scale = np.transpose(usual)
        return Scaler(
            np.vstack([self.mean, mean]), np.vstack([self.scale, scale]), targets
        )


def _usual_size(mean: Float64Array, scale: Float64Array) -> tuple[float, float]:
    """Return mean and scale of a series of usual size, which varies by a usual share of it."""
    size = np.hypot(mean, scale)
    usual = np.median(size)
    return usual * np.median(mean / size), usual * np.median(scale / size)


def _usual_level(mean: Float64Array, scale: Float64Array) -> tuple[float, float]:
    """Return the usual mean, and how far values of a usual series lie from it."""
    usual = np.median(mean)
    return usual, np.median(np.hypot(scale, mean - usual))


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
    targets: how the first columns are transformed before; None where no column is a target.

    A column with one value only has no deviation; it gets the size of that value, and 1 for 0 or
    without any value. A target that is so in some series of a panel gets a tenth of that, and of
    the median series' deviation for 0.
    """
    n_series = len(start)
    rows = origins_between(start, stop - 1)
    owner = repeat_numbers(stop - start)
    shape = (n_series, len(columns))
    n_targets = 0
    if targets is None:
        targets = TargetScale.unbounded(*shape)
    else:
        n_targets = targets.n_targets
    scaler = Scaler(np.zeros(shape), np.ones(shape), targets)
    for j, column in enumerate(columns):
        values = scaler.forward(column[rows], owner, j)
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
        mean = means.mean()
        distance = np.abs(means - mean)
        spread = root_mean_square(distance, np.True_)
        return _Moments(
            np.full_like(self.mean, mean), np.full_like(self.mean, spread), self.seen
        )

    def lend(self, logs: BoolArray) -> None:
        """Set for series that start after the training rows what the others in their units have."""
        for kind in (~logs, logs):
            some = self.seen & kind
            others = ~self.seen & kind
            if some.any():
                self.mean[others] = self.mean[some].mean()
                self.deviation[others] = self.deviation[some].mean()

    def scale(self, logs: BoolArray, *, is_damped: bool) -> Float64Array:
        """Return the scale of each series: its deviation, else its size, else 1.

        is_damped: shrink the scale of series that never moved, so that forecasts move them little,
        in any unit; those without a size have that of the median series that varies.
        """
        size = np.abs(self.mean)
        rounding = 1e-12 * np.maximum(size, 1e-300)
        varies = self.deviation > rounding
        # What is constant in logarithms has no size: its unit would change the number.
        has_size = (size > 0) & ~logs
        scale = np.where(has_size, size, 1.0)
        scale[varies] = self.deviation[varies]
        if not is_damped:
            return scale
        # The whole deviation would let a promotion that moves others by one double a series that
        # is constant.
        share = 0.1
        for kind in (~logs, logs):
            is_still = ~varies & kind
            is_moving = varies & kind
            if is_moving.any():
                without_size = is_still & ~has_size
                scale[without_size] = np.median(scale[is_moving])
                scale[is_still] *= share
        return scale


def _moments(values: AnyArray, owner: IntArray, n_series: int) -> _Moments:
    """Compute the moments of each series, without overflow."""
    values = values.astype(np.float64)
    size = np.zeros(n_series)
    np.fmax.at(size, owner, np.abs(values))
    unit = _units(size)
    in_units = values / unit[owner]
    groups = pd.Series(in_units).groupby(owner)
    moments = pd.DataFrame(
        {"mean": groups.mean(), "deviation": groups.std(ddof=0)}, index=range(n_series)
    )
    seen = moments["mean"].notna().to_numpy()
    moments = moments.fillna(0.0).mul(unit, axis=0)
    return _Moments(
        moments["mean"].to_numpy(copy=True),
        moments["deviation"].to_numpy(copy=True),
        seen,
    )


def root_mean_square(values: Float64Array, like: Any) -> Any:
    """Return the root mean square of values, not negative, that are marked, in the first axis."""
    largest = values.max(axis=0, where=like, initial=0)
    unit = _units(largest)
    with np.errstate(over="ignore"):  # of those that do not count
        squares = (values / unit) ** 2
    mean_square = squares.mean(axis=0, where=like)
    return unit * np.sqrt(mean_square)


def _units(sizes: Any) -> Any:
    """Return the power of two below each size, 1 for 0: in such units no square runs over."""
    # Dividing by a power of two rounds nothing.
    _, exponent = np.frexp(sizes)
    below = np.where(sizes == 0, 0, exponent - 1)
    return np.ldexp(1.0, below)


def affine_link(source: AnyArray, truth: Float64Array) -> tuple[float, float] | None:
    """Find slope and intercept that map a scaled column to its raw truth, (n,) each.

    None where the relation is not affine, to 1e-4 of the truth's range; rows with a NaN are left
    out.
    """
    missing = np.isnan(source) | np.isnan(truth)
    source = source[~missing].astype(np.float64)
    truth = truth[~missing]
    if not len(truth):
        return 1.0, 0.0
    # Before any mean, whose rounding would pass for a relation.
    if np.ptp(truth) > 0:
        return _fit_line(source, truth)
    # A column that varies would forecast a constant ever after.
    if np.ptp(source) > 0:
        return None
    # One constant for another: nothing is known of the slope.
    return 1.0, float(truth[0] - source[0])


def _fit_line(source: Float64Array, truth: Float64Array) -> tuple[float, float] | None:
    """Fit slope and intercept by least squares; None where they miss a value."""
    source_unit = _units(np.ptp(source))
    truth_unit = _units(np.ptp(truth))
    x = (source - source.mean()) / source_unit
    y = (truth - truth.mean()) / truth_unit
    variance = (x**2).sum()
    slope = (x * y).sum() / variance if variance else 0.0
    residuals = y - slope * x
    tolerance = 1e-4 * np.ptp(y)
    if np.abs(residuals).max() > tolerance:
        return None
    slope *= truth_unit / source_unit
    intercept = truth.mean() - slope * source.mean()
    return float(slope), float(intercept)
