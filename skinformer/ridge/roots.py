"""Square roots of targets that were never negative: in them ridges see effects that multiply."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skinformer.algebra import product, solution
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats
from skinformer.timeline.windows import spread_places, window_rows


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
    seq_len = 168  # a week of hours, which the calendar tells ridges, too
    origins = np.arange(seq_len, len(values) - pred_len + 1)
    if len(origins) < 2 * seq_len:
        return None
    origins = origins[spread_places(len(origins), 1500)]
    rows = window_rows(origins - seq_len, seq_len + pred_len)
    above_zero = np.maximum(np.nan_to_num(values.astype(np.float64)) - zero, 0.0)
    roots = np.sqrt(above_zero)
    deviation = roots.std(axis=0)
    taken = np.zeros(len(zero))
    variance = np.zeros((pred_len, len(zero)))
    is_tried = is_bounded & (zero > -4.0) & (deviation > 0)
    for j in np.flatnonzero(is_tried):
        windows = above_zero[rows, j]
        size = windows.std()
        if size == 0:  # all that is not zero lies between the windows
            continue
        trial = _RootsBesidePlain(windows / size, seq_len)
        if trial.roots_are_better(of_mean=of_mean):
            taken[j] = 1.0
            if of_mean:
                variance[:, j] = size * trial.variance
    if not taken.any():
        return None
    deviation[deviation == 0] = 1.0
    numbers = (taken, zero, roots.mean(axis=0), deviation, variance)
    return Roots(*(each.astype(np.float32) for each in numbers))


class _RootsBesidePlain:
    """Ridges of a target's windows and of their roots, each of what it has not learnt.

    windows: from the target's zero on, (n_windows, seq_len + pred_len).
    """

    def __init__(self, windows: Float64Array, seq_len: int) -> None:
        self.actual = windows[:, seq_len:]
        self.plain = _forecast_halves(windows, seq_len)
        roots = np.sqrt(windows)
        unit = roots.std()
        self.of_roots = unit * _forecast_halves(roots / unit, seq_len)
        #: Mean squared error of forecast roots, by which their squares fall short of means.
        self.variance = ((roots[:, seq_len:] - self.of_roots) ** 2).mean(axis=0)

    def roots_are_better(self, *, of_mean: bool) -> bool:
        """Return whether roots err less in each half of the windows, and 1% less in the mean."""
        squares = np.maximum(self.of_roots, 0.0) ** 2
        if of_mean:
            squares = squares + self.variance
        ratio = self._errors(squares, of_mean) / self._errors(self.plain, of_mean)
        return bool((ratio < 1.0).all() and ratio.mean() < 0.99)

    def _errors(self, forecast: Float64Array, of_mean: bool) -> Float64Array:
        """Return the mean squared or absolute error of each half, (2,), never quite 0."""
        distance = forecast - self.actual
        of_windows = (distance**2 if of_mean else np.abs(distance)).mean(axis=1)
        halves = [half.mean() for half in np.array_split(of_windows, 2)]
        return np.maximum(halves, np.finfo(float).tiny)


def _forecast_halves(windows: Float64Array, seq_len: int) -> Float64Array:
    """Forecast windows of each half by a ridge that has learnt those of the other one."""
    last = windows[:, seq_len - 1 : seq_len]
    level = last - last.mean()
    features = np.column_stack(
        [windows[:, : seq_len - 1] - last, level, np.ones_like(last)]
    )
    future = windows[:, seq_len:] - last
    first, second = np.array_split(np.arange(len(windows)), 2)
    strength = 0.03 * np.eye(features.shape[1])
    forecasts = []
    for learnt, forecast in ((second, first), (first, second)):
        n_learnt = len(learnt)
        gram = product(features[learnt].T, features[learnt]) / n_learnt
        cross = product(features[learnt].T, future[learnt]) / n_learnt
        maps = solution(gram + strength, cross)
        forecasts.append(last[forecast] + product(features[forecast], maps))
    return np.concatenate(forecasts)
