"""What columns known ahead do to the targets of their own row, in closed form."""

from __future__ import annotations

import numpy as np

from skinformer.algebra import solution
from skinformer.ridge.sums import Problem, gather
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.windows import spread_places

_MAX_EFFECT_WINDOWS = 4096  # from which the effect of columns known ahead is found
_EFFECT_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, np.inf)  # the last is no effect


def known_effect(problem: Problem, origins: IntArray) -> Float64Array:
    """Regress the targets' changes since the origin on those of the columns known ahead.

    Changes, not levels: two series that both rise are no effect of one on the other, and the maps
    forecast changes. The strength is chosen on the newer half of the windows, the older ones come
    first. The result, (n_known, n_targets), is 0 where no effect forecasts better than none.
    """
    n_known = len(problem.effect)
    if not n_known or len(origins) < 2:
        return np.zeros_like(problem.effect)
    drawn = origins[spread_places(len(origins), _MAX_EFFECT_WINDOWS)]
    older, newer = (_change_sums(problem, part) for part in np.array_split(drawn, 2))
    best = min(_EFFECT_STRENGTHS, key=lambda s: unexplained(*newer, _effect(*older, strength=s)))
    return _effect(*_change_sums(problem, drawn), strength=best)


def _change_sums(problem: Problem, origins: IntArray) -> tuple[Float64Array, Float64Array]:
    """Give mean products of known columns' changes with themselves and with the targets'."""
    n_known, n_targets, n_columns = len(problem.effect), problem.n_targets, problem.values.shape[1]
    everything = problem._replace(n_targets=n_columns, effect=np.empty((0, n_columns)))
    gram, cross = np.zeros((n_known, n_known)), np.zeros((n_known, n_targets))
    n_steps, weights = 0, np.zeros(n_targets)
    for windows in gather(everything, origins):
        changes = windows.future.reshape(-1, n_columns)
        known = changes[:, -n_known:]
        weight = windows.weight.reshape(len(changes), -1)[:, :n_targets]
        gram += known.T @ known
        cross += known.T @ (changes[:, :n_targets] * weight)
        n_steps += len(changes)
        weights += weight.sum(axis=0)
    return gram / n_steps, cross / np.where(weights > 0, weights, 1)


def _effect(gram: Float64Array, cross: Float64Array, *, strength: float) -> Float64Array:
    if np.isinf(strength):
        return np.zeros_like(cross)
    return solution(gram + strength * np.eye(len(gram)), cross)


def unexplained(gram: Float64Array, cross: Float64Array, effect: Float64Array) -> float:
    """Give the mean squared change that an effect leaves, less a constant."""
    return float((effect * (gram @ effect)).sum() - 2 * (effect * cross).sum())


def known_columns(problem: Problem, rows: IntArray, n_known: int) -> Float64Array:
    """Read the last columns of rows, which are known ahead."""
    first = problem.values.shape[1] - n_known
    return np.nan_to_num(problem.values[rows, first:].astype(np.float64))
