"""What a ridge needs of windows, added up chunk by chunk: the windows never exist all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.cycle import CalendarEffect, RowCells
from skinformer.timeline.windows import window_rows

_CHUNK_BYTES = 16_000_000  # of windows at a time


class Windows(NamedTuple):
    """Some windows, every column as its distance from its last value before the origin.

    past: distances in the window, (n, seq_len, n_columns); the last is 0.
    future: distances of the targets that followed, (n, pred_len, n_targets).
    last: the last values, (n, n_columns).
    weight: weights of `future`, of the same shape.
    """

    past: Float64Array
    future: Float64Array
    last: Float64Array
    weight: Float64Array


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

    values: Floats
    weight: Floats | None
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
        weight = np.ones_like(future)
        if problem.weight is not None:
            weight = problem.weight[window_rows(chunk, problem.pred_len)].astype(np.float64)
        future = future - last[:, None, : problem.n_targets]
        yield Windows(past - last[:, None], future, last, weight)


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


class Sums(NamedTuple):
    """Normal equations that grow with windows, one set per group of targets.

    gram: products of features with features, (n_groups, n_features, n_features).
    cross: products of features with what followed, (n_groups, n_features, n_outputs).
    weight: of the truths of each output, (n_groups, n_outputs).

    A window counts in `gram` with the mean weight of its truths; each output of `cross` is put on
    the same footing, which is exact where the weights of a window are all alike, and else where
    they have nothing to do with its past.
    """

    gram: Float64Array
    cross: Float64Array
    weight: Float64Array

    @classmethod
    def of_sizes(cls, n_groups: int, n_features: int, n_outputs: int) -> Sums:
        """Start from nothing."""
        shapes = (n_features, n_features), (n_features, n_outputs), (n_outputs,)
        return cls(*(np.zeros((n_groups, *shape)) for shape in shapes))

    @classmethod
    def total(cls, parts: Sequence[Sums]) -> Sums:
        """Add sums up."""
        return cls(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))

    def add(self, group: int, features: Floats, future: Float64Array, weight: Float64Array) -> None:
        """Add some windows, (n, …) each, as many as fit in memory."""
        of_window = weight.mean(axis=1, keepdims=True).astype(features.dtype)
        self.gram[group] += product(features.T, features * of_window)
        self.cross[group] += product(features.T, (future * weight).astype(features.dtype))
        self.weight[group] += weight.sum(axis=0)

    def add_columns(self, windows: Windows) -> None:
        """Add each target's own window, to a group of its own where there are several.

        Cost of a window: ``n_targets · seq_len · (seq_len + pred_len)`` products.
        """
        for j in range(windows.future.shape[2]):
            past = np.ascontiguousarray(windows.past[:, :, j])
            group = j % len(self.gram)
            self.add(group, past, windows.future[:, :, j], windows.weight[:, :, j])

    def add_mixed(self, windows: Windows, *, length: int) -> None:
        """Add the last rows of all columns together, see `mixed_features`."""
        features = mixed_features(windows, length=length)
        future, weight = (x.reshape(len(features), -1) for x in (windows.future, windows.weight))
        self.add(0, features, future, weight)

    def means(self) -> tuple[Float64Array, Float64Array]:
        """Return `gram` and `cross`, each group per unit of its own weight."""
        total = np.maximum(self.weight.mean(axis=1), _TINY)[:, None, None]
        return self.gram / total, self.cross / np.maximum(self.weight, _TINY)[:, None]

    def shared(self) -> Sums:
        """Put the groups together, for one map that all targets share."""
        return Sums(*(part.sum(axis=0, keepdims=True) for part in self))

    def turn_over(self, whole: Sums) -> None:
        """Make the sums over some windows, in place, those over all others of the whole.

        PERF: instead of adding up all the others. What is left of a difference where no truth is
        left are rounding errors: there it is 0.
        """
        for mine, total in zip(self[:2], whole[:2], strict=True):
            np.subtract(total, mine, out=mine)
        left = whole.weight - self.weight
        some = left > _ROUNDING * whole.weight
        self.weight[:] = np.where(some, left, 0.0)
        self.cross[:] *= some[:, None]
        self.gram[:] *= np.asarray(some.any(axis=1))[:, None, None]


_TINY = 1e-300  # a weight of 0 leaves sums of 0
_ROUNDING = 1e-9  # of a weight: what differences of sums may leave of nothing


def mixed_features(windows: Windows, *, length: int) -> Float64Array:
    """Lay out distances of all columns row by row, then the last values, then 1: (n, features)."""
    n = len(windows.last)
    recent = windows.past[:, windows.past.shape[1] - length :].reshape(n, -1)
    return np.concatenate([recent, windows.last, np.ones((n, 1))], axis=1)
