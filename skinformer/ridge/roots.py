"""Square roots of targets that were never negative: in them ridges see effects that multiply."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.windows import spread_places, window_rows

#: Rows of the windows by which roots are tried: a week of hours, which the calendar tells, too.
_SEQ_LEN = 168


class Roots(NamedTuple):
    """How ridges see targets: as standardised square roots of their distance from zero.

    Below zero, where later rows may lie, roots and squares of forecasts are negative, too.

    Numbers of every target, (n_targets,), float32. Arrays may be tensors.

    taken: 1 where roots are taken, 0 for a target that is left as it is.
    zero: the target's zero, standardised.
    mean, deviation: of its roots.
    variance: (pred_len, n_targets), of errors of forecast roots, in the targets' standardised
    units. Added to squares of forecasts it makes them means; 0 leaves them medians.

    >>> one = np.ones(1)
    >>> roots = Roots(one, -one, one, one, np.zeros((1, 1)))
    >>> roots.of(np.array([[8.0]])), roots.squared(np.array([[2.0]]))
    (array([[2.]]), array([[8.]]))
    """

    taken: Any
    zero: Any
    mean: Any
    deviation: Any
    variance: Any

    def of(self, values: Any) -> Any:
        """Take roots of standardised targets, (…, n_targets); NaN stays NaN."""
        distance = values - self.zero
        roots = distance.clip(0.0) ** 0.5 - (-distance).clip(0.0) ** 0.5
        standardised = (roots - self.mean) / self.deviation
        return self.taken * standardised + (1.0 - self.taken) * values

    def squared(self, roots: Any) -> Any:
        """Turn forecasts of roots, (…, pred_len, n_targets), into standardised targets."""
        in_units = roots * self.deviation + self.mean
        values = self.zero + in_units * abs(in_units) + self.variance
        return self.taken * values + (1.0 - self.taken) * roots


def find_roots(
    values: Floats,
    zero: Float64Array,
    is_bounded: BoolArray,
    *,
    pred_len: int,
    of_mean: bool,
) -> Roots | None:
    """Find the targets that small ridges forecast better by their roots; None if there are none.

    Where changes grow with the level, roots of values change by about the same amount at every
    level (Bartlett, 1947, The use of transformations), and an effect that multiplies targets is
    nearly one that is added. Whether it is so is tried: on windows of each half of the rows, by
    ridges that have learnt those of the other half.

    values: standardised targets in the order of time, (n_rows, n_targets); NaN is missing.
    zero: zeros of the targets, standardised, (n_targets,).
    is_bounded: targets that were never negative, (n_targets,). Roots of one whose mean is more than
    four deviations above zero are nearly a straight line of it, and are not tried.
    of_mean: whether forecasts are judged by squared errors; else by absolute ones.

    Cost: of each target 1,500 windows of 168 rows at most, learnt and forecast twice.

    >>> wave = np.sin(np.arange(2000) / 24 * 2 * np.pi)
    >>> noise = np.random.default_rng(0).normal(size=2000)
    >>> rows = np.stack([(2 + wave + 0.5 * noise) ** 2, 3 + wave + 0.5 * noise], axis=1)
    >>> never_negative = np.ones(2, bool)
    >>> roots = find_roots(rows, np.zeros(2), never_negative, pred_len=24, of_mean=True)
    >>> roots.taken.tolist()
    [1.0, 0.0]
    """
    rows = _rows_of_windows(len(values), pred_len)
    if rows is None:
        return None
    above_zero = np.maximum(np.nan_to_num(values.astype(np.float64)) - zero, 0.0)
    roots = np.sqrt(above_zero)
    deviation = roots.std(axis=0)
    taken = np.zeros(len(zero))
    variance = np.zeros((pred_len, len(zero)))
    is_tried = is_bounded & (zero > -4.0) & (deviation > 0)
    for j in np.flatnonzero(is_tried):
        found = _try_roots(above_zero[rows, j], of_mean=of_mean)
        if found is not None:
            taken[j] = 1.0
            variance[:, j] = found
    if not taken.any():
        return None
    deviation[deviation == 0] = 1.0
    numbers = (taken, zero, roots.mean(axis=0), deviation, variance)
    return Roots(*(each.astype(np.float32) for each in numbers))


def _rows_of_windows(n_rows: int, pred_len: int) -> IntArray | None:
    """Return the rows of windows, spread over all, (n_windows, n); None where rows are few."""
    origins = np.arange(_SEQ_LEN, n_rows - pred_len + 1)
    if len(origins) < 2 * _SEQ_LEN:
        return None
    origins = origins[spread_places(len(origins), 1500)]
    return window_rows(origins - _SEQ_LEN, _SEQ_LEN + pred_len)


def _try_roots(windows: Float64Array, *, of_mean: bool) -> Float64Array | None:
    """Return what makes means of squares of forecast roots, (pred_len,); None if these err more.

    Roots have to err less in each half of the windows, and 1% less in the mean.

    windows: of a target, from its zero on, (n_windows, seq_len + pred_len).
    """
    size = windows.std()
    if size == 0:  # all that is not zero lies between the windows
        return None
    windows = windows / size
    actual = windows[:, _SEQ_LEN:]
    # 1. Ridges of roots, whose squares fall short of means by their mean squared error.
    roots = np.sqrt(windows)
    unit = roots.std()
    of_roots = unit * _forecast_halves(roots / unit)
    squares = np.maximum(of_roots, 0.0) ** 2
    variance = np.zeros(actual.shape[1])
    if of_mean:
        variance = ((roots[:, _SEQ_LEN:] - of_roots) ** 2).mean(axis=0)
        squares += variance
    # 2. Ridges of the windows themselves.
    plain = _forecast_halves(windows)
    ratio = _errors(squares - actual, of_mean) / _errors(plain - actual, of_mean)
    is_better = (ratio < 1.0).all() and ratio.mean() < 0.99
    return size * variance if is_better else None


def _errors(distance: Float64Array, of_mean: bool) -> Float64Array:
    """Return the mean squared or absolute error of each half, (2,), never quite 0."""
    of_windows = (distance**2 if of_mean else np.abs(distance)).mean(axis=1)
    halves = [half.mean() for half in np.array_split(of_windows, 2)]
    return np.maximum(halves, np.finfo(float).tiny)


def _forecast_halves(windows: Float64Array) -> Float64Array:
    """Forecast windows of each half by a ridge that has learnt those of the other one."""
    last = windows[:, _SEQ_LEN - 1 : _SEQ_LEN]
    level = last - last.mean()
    features = np.column_stack(
        [windows[:, : _SEQ_LEN - 1] - last, level, np.ones_like(last)]
    )
    future = windows[:, _SEQ_LEN:] - last
    first, second = np.array_split(np.arange(len(windows)), 2)
    strength = 0.03 * np.eye(features.shape[1])
    forecasts = []
    for learnt, forecast in ((second, first), (first, second)):
        seen = features[learnt]
        gram = product(seen.T, seen) / len(seen)
        cross = product(seen.T, future[learnt]) / len(seen)
        maps = solution(gram + strength, cross)
        forecasts.append(last[forecast] + product(features[forecast], maps))
    return np.concatenate(forecasts)
