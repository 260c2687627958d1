"""What a ridge needs of windows, added up chunk by chunk: the windows never exist all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from skinformer.algebra import product
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect, RowCells
from skinformer.timeline.windows import window_rows

_CHUNK_BYTES = 16_000_000  # of windows at a time


class Windows(NamedTuple):
    """Some windows, every column as its distance from its last value before the origin."""

    past: Float64Array
    """Distances in the window, shape (n, seq_len, n_columns); the last is 0."""
    future: Float64Array
    """Distances of the targets that followed, shape (n, pred_len, n_targets)."""
    last: Float64Array
    """The last values, shape (n, n_columns)."""
    weight: Float64Array
    """Weights of `future`, the same shape."""


class Problem(NamedTuple):
    """The rows that a linear path is fitted to.

    values: (n_rows, n_columns), standardised, the targets first; NaN counts as the mean.
    weight: (n_rows, n_targets), of each truth, 0 where it is missing; None when all weigh 1.
    missing: (n_rows, n_targets), where a truth was missing, so that `values` holds the one before
    it; None for nowhere.
    n_targets: number of first columns to forecast.
    seq_len, pred_len: rows before and from an origin.
    effect: (n_known, n_targets), what the last columns, which are known ahead, do to the targets of
    their own row. It is taken off the targets, so that the maps see what remains.
    cycle: where in the calendar's cycle each row lies; None without one.
    calendar: what is taken off in place of `effect`.
    """

    values: npt.NDArray[np.floating]
    weight: npt.NDArray[np.floating] | None
    missing: BoolArray | None
    n_targets: int
    seq_len: int
    pred_len: int
    effect: Float64Array
    cycle: RowCells | None = None
    calendar: CalendarEffect | None = None


def gather(problem: Problem, origins: IntArray) -> Iterator[Windows]:
    """Read the windows of origins, their first forecast steps, in chunks of at most 16 MB."""
    length = problem.seq_len + problem.pred_len
    size = max(1, _CHUNK_BYTES // (8 * length * problem.values.shape[1]))
    for start in range(0, len(origins), size):
        chunk = origins[start : start + size]
        places = window_rows(chunk - problem.seq_len, length)
        first, end = int(places.min()), int(places.max()) + 1
        # PERF: windows side by side share nearly all of their rows.
        if end - first < places.size:
            rows = remaining(problem, np.arange(first, end))[places - first]
        else:
            rows = remaining(problem, places)
        past, future = rows[:, : problem.seq_len], rows[:, problem.seq_len :]
        future, last = future[..., : problem.n_targets], past[:, -1]
        ahead = window_rows(chunk, problem.pred_len)
        yield Windows(
            past=past - last[:, None],
            future=future - last[:, None, : problem.n_targets],
            last=last,
            weight=np.ones_like(future)
            if problem.weight is None
            else problem.weight[ahead].astype(np.float64),
        )


def remaining(problem: Problem, places: IntArray) -> Float64Array:
    """Read rows, (…, n_columns), without the effects of calendar and columns known ahead."""
    rows = np.nan_to_num(problem.values[places].astype(np.float64), copy=False)
    known = rows[..., rows.shape[-1] - len(problem.effect) :]
    targets = rows[..., : problem.n_targets]
    if problem.calendar is not None and problem.cycle is not None:
        if problem.calendar.known.shape[1]:
            np.clip(known, *problem.calendar.bounds, out=known)
        targets -= problem.calendar.of_rows(known, problem.cycle.of_row[places])
    elif len(problem.effect):
        targets -= known @ problem.effect
    return rows


class Sums(Protocol):
    """Normal equations that grow with windows, one set per group of targets."""

    gram: Float64Array
    """Products of features with features, shape (n_groups, n_features, n_features)."""
    cross: Float64Array
    """Products of features with what followed, shape (n_groups, n_features, n_outputs)."""
    weight: Float64Array
    """Weight of the truths of each output, shape (n_groups, pred_len) or (n_outputs,)."""

    def add(self, windows: Windows) -> None:
        """Add some windows."""

    def means(self) -> tuple[Float64Array, Float64Array]:
        """Give `gram` and `cross` per unit of weight."""


def turn_over(part: Sums, whole: Sums) -> None:
    """Make the sums over some windows, in place, those over all others.

    PERF: instead of adding up all the others. What is left of a difference where no truth is left
    are rounding errors: there it is 0.
    """
    for mine, total in ((part.gram, whole.gram), (part.cross, whole.cross)):
        np.subtract(total, mine, out=mine)
    left = whole.weight - part.weight
    some = left > _ROUNDING * whole.weight
    part.weight[:] = np.where(some, left, 0.0)
    part.cross *= some[..., None, :]
    part.gram *= np.asarray(some.any(axis=-1))[..., None, None]


class ColumnSums:
    """Sums over each target's own window.

    per_column: whether each target has its own group; else all share one.

    Cost of a window: ``n_targets · seq_len · (seq_len + pred_len)`` products. A window counts in
    `gram` with the mean weight of its truths; each step of `cross` is put on the same footing,
    which is exact where the weights of a window are all alike, and else where they have nothing to
    do with its past.
    """

    def __init__(self, problem: Problem, *, per_column: bool) -> None:
        self.n_groups = problem.n_targets if per_column else 1
        self.gram = np.zeros((self.n_groups, problem.seq_len, problem.seq_len))
        self.cross = np.zeros((self.n_groups, problem.seq_len, problem.pred_len))
        self.weight = np.zeros((self.n_groups, problem.pred_len))

    def add(self, windows: Windows) -> None:
        """Add as many windows as fit in memory."""
        for j in range(windows.future.shape[2]):
            group = j % self.n_groups
            past = np.ascontiguousarray(windows.past[:, :, j])
            weight = windows.weight[:, :, j]
            self.gram[group] += product(past.T, past * weight.mean(axis=1, keepdims=True))
            self.cross[group] += product(past.T, windows.future[:, :, j] * weight)
            self.weight[group] += weight.sum(axis=0)

    def means(self) -> tuple[Float64Array, Float64Array]:
        """Give `gram` and `cross`, each group per unit of its own weight."""
        total = np.maximum(self.weight.mean(axis=1), _TINY)[:, None, None]
        return self.gram / total, self.cross / np.maximum(self.weight, _TINY)[:, None]

    def shared(self) -> ColumnSums:
        """Put the groups together, for one map that all targets share."""
        out = object.__new__(ColumnSums)
        out.n_groups = 1
        for name in ("gram", "cross", "weight"):
            setattr(out, name, getattr(self, name).sum(axis=0, keepdims=True))
        return out


class MixedSums:
    """Sums over the last rows of all columns together, their levels and a constant.

    length: rows of the window that are looked at, at most `seq_len`.

    The features are ``length · n_columns`` distances (row by row), ``n_columns`` last values and 1.
    All targets share one `gram`, in which a window counts with the mean weight of its truths.
    """

    def __init__(self, problem: Problem, *, length: int) -> None:
        n_features = (length + 1) * problem.values.shape[1] + 1
        self.length = length
        self.gram = np.zeros((1, n_features, n_features))
        self.cross = np.zeros((1, n_features, problem.pred_len * problem.n_targets))
        self.weight = np.zeros(problem.pred_len * problem.n_targets)

    def add(self, windows: Windows) -> None:
        """Add as many windows as fit in memory."""
        features = mixed_features(windows, length=self.length)
        weight = windows.weight.reshape(len(features), -1)
        future = windows.future.reshape(len(features), -1)
        self.gram[0] += product(features.T, features * weight.mean(axis=1, keepdims=True))
        self.cross[0] += product(features.T, future * weight)
        self.weight += weight.sum(axis=0)

    def means(self) -> tuple[Float64Array, Float64Array]:
        """Give `gram` and `cross` per unit of weight."""
        total = max(self.weight.mean(), _TINY)
        return self.gram / total, self.cross / np.maximum(self.weight, _TINY)


_TINY = 1e-300  # a weight of 0 leaves sums of 0
_ROUNDING = 1e-9  # of a weight: what differences of sums may leave of nothing


def mixed_features(windows: Windows, *, length: int) -> Float64Array:
    """Lay out distances of all columns row by row, then the last values, then 1: (n, features)."""
    n = len(windows.last)
    recent = windows.past[:, windows.past.shape[1] - length :].reshape(n, -1)
    return np.concatenate([recent, windows.last, np.ones((n, 1))], axis=1)
