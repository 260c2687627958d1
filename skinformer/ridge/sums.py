"""What a ridge needs of windows, added up by chunks or runs: they never exist all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from skinformer.algebra import eigenvectors, product, solution
from skinformer.ridge.roots import Roots
from skinformer.ridge.runs import sum_products
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.cycle import CalendarEffect, Cycle
from skinformer.timeline.windows import spread_places, window_rows

#: Strengths of the ridge, per window: standardised columns make them comparable.
STRENGTHS = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)


class WindowDistances(NamedTuple):
    """Some windows, every column as its distance from its last value before the origin.

    past: distances in the window, (n, seq_len, n_columns); the last is 0.
    future: distances of the targets that followed, (n, pred_len, n_targets).
    last: the last values, (n, n_columns).
    weight: weights of `future`, of the same shape.
    origins: the rows of the first steps of `future`, (n,).
    """

    past: Float64Array
    future: Float64Array
    last: Float64Array
    weight: Float64Array
    origins: IntArray


class TimedOrigins(NamedTuple):
    """Windows by their origins, the rows of their first forecast steps, and the time of each."""

    origins: IntArray
    steps: IntArray

    def take(self, places: Any) -> TimedOrigins:
        """Return some of them, by a slice, numbers or a mask."""
        return TimedOrigins(self.origins[places], self.steps[places])

    def ending_before(self, split: int | None, pred_len: int) -> TimedOrigins:
        """Return those, in order of time, whose truths all lie before a split; all without one."""
        if split is None:
            return self
        end = np.searchsorted(self.steps, split - pred_len, side="right")
        return self.take(slice(end))

    def between(self, start: int, end: int) -> TimedOrigins:
        """Return those, in order of time, from one time on and before another."""
        return self.take(slice(*np.searchsorted(self.steps, [start, end])))

    def thinned(self, n_most: int) -> TimedOrigins:
        """Return so many at most, spread over all."""
        return self.take(spread_places(len(self.origins), n_most))


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
    cycle: Cycle | None = None
    calendar: CalendarEffect | None = None

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return self.values.shape[1]

    @property
    def n_known(self) -> int:
        """Number of last columns that are known ahead."""
        return len(self.effect)

    def in_roots(self, roots: Roots) -> Problem:
        """Return it with the square roots of targets in place of targets."""
        targets, others = np.split(self.values, [self.n_targets], axis=1)
        of_targets = roots.of(targets).astype(targets.dtype)
        return self._replace(values=np.column_stack([of_targets, others]))

    @property
    def n_observed(self) -> int:
        """Number of first columns, those that are not known ahead."""
        return self.n_columns - self.n_known


def gather(
    problem: Problem, origins: IntArray, n_most: int = 2_000_000
) -> Iterator[WindowDistances]:
    """Read windows in the order of their rows, in chunks of 16 MB and `n_most` windows at most."""
    length = problem.seq_len + problem.pred_len
    n_bytes = 8 * length * problem.n_columns
    size = min(max(16_000_000 // n_bytes, 1), n_most)
    origins = np.sort(origins)
    for start in range(0, len(origins), size):
        yield _read_windows(problem, origins[start : start + size])


def _read_windows(problem: Problem, origins: IntArray) -> WindowDistances:
    """Read windows of ascending origins."""
    seq_len = problem.seq_len
    rows = window_rows(origins - seq_len, seq_len + problem.pred_len)
    first = rows[0, 0]
    end = rows[-1, -1] + 1
    if end - first > rows.size:
        distance = remaining(problem, rows)
    else:
        # PERF: windows side by side share nearly all of their rows; `take` is four times as fast
        # as an index.
        every = remaining(problem, np.arange(first, end))
        distance = every.take(rows - first, axis=0)
    last = distance[:, seq_len - 1].copy()
    distance -= last[:, None]
    past = distance[:, :seq_len]
    future = distance[:, seq_len:, : problem.n_targets]
    if problem.weight is None:
        weight = np.ones_like(future)
    else:
        weight = problem.weight[rows[:, seq_len:]].astype(float)
    return WindowDistances(past, future, last, weight, origins)


def remaining(problem: Problem, rows: IntArray) -> Float64Array:
    """Read rows, (…, n_columns), without the effects of calendar and columns known ahead."""
    out = np.nan_to_num(problem.values[rows].astype(float), copy=False)
    targets = out[..., : problem.n_targets]
    known = out[..., problem.n_observed :]
    calendar = problem.calendar
    if calendar is not None and problem.cycle is not None:
        if calendar.bounds.size:
            np.clip(known, *calendar.bounds, out=known)
        targets -= calendar.of_rows(known, problem.cycle.of_row[rows])
    elif problem.n_known:
        targets -= known @ problem.effect
    return out


def known_truths(problem: Problem, rows: IntArray) -> Float64Array:
    """Return 1 where a row has a truth, and 0 where it is missing or has no weight."""
    out = np.ones((len(rows), problem.n_targets))
    if problem.missing is not None:
        out *= ~problem.missing[rows]
    if problem.weight is not None:
        out *= problem.weight[rows] > 0
    return out


class Equations(NamedTuple):
    """Normal equations per unit of weight, of each group of targets, see `Sums`."""

    gram: Float64Array
    cross: Float64Array

    def solve(self, penalty: float | Float64Array) -> Float64Array:
        """Return the maps of least mean squared error plus a penalty times their squared size.

        penalty: one number, or one of each feature.
        """
        return solution(self.gram + penalty * np.eye(self.gram.shape[-1]), self.cross)

    def unexplained(self, maps: Float64Array) -> float:
        """Return the mean squared error that maps leave, less that of maps of zeros."""
        slope = product(self.gram, maps) - 2 * self.cross
        return (maps * slope).sum()

    def decomposed(self) -> Decomposition:
        """Decompose the equations, to forecast by many strengths."""
        values, vectors = eigenvectors(self.gram)
        return Decomposition(
            np.maximum(values, 0), vectors, product(vectors.swapaxes(1, 2), self.cross)
        )


class Decomposition(NamedTuple):
    """Ridges of all strengths by one decomposition, ``gram = V diag(d) V'``.

    The map of a strength is ``V diag(1 / (d + strength)) V' cross``.

    eigenvalues: d, (n_groups, n_features).
    vectors: V, (n_groups, n_features, n_features).
    cross: ``V' cross``, (n_groups, n_features, n_outputs).
    """

    eigenvalues: Float64Array
    vectors: Float64Array
    cross: Float64Array

    def forecasts(self, features: Floats) -> Iterator[Float64Array]:
        """Map features, (n_groups, n, n_features), by the ridge of each of `STRENGTHS`."""
        kind = features.dtype
        turned = product(features, self.vectors.astype(kind))
        cross = self.cross.astype(kind)
        for strength in STRENGTHS:
            shrunk = turned / (self.eigenvalues[:, None] + strength).astype(kind)
            yield product(shrunk, cross)

    def solve(self, strength: float) -> Float64Array:
        """Return the map of a strength, (n_groups, n_features, n_outputs)."""
        shrunk = self.vectors / (self.eigenvalues[:, None] + strength)
        return product(shrunk, self.cross)


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
        return cls(
            gram=np.zeros((n_groups, n_features, n_features)),
            cross=np.zeros((n_groups, n_features, n_outputs)),
            weight=np.zeros((n_groups, n_outputs)),
        )

    @classmethod
    def total(cls, parts: Sequence[Sums]) -> Sums:
        """Add sums up."""
        total = cls(*map(np.copy, parts[0]))
        for part in parts[1:]:
            for whole, added in zip(total, part, strict=True):
                whole += added
        return total

    @classmethod
    def leave_one_out(cls, parts: list[Sums]) -> Iterator[Sums]:
        """Add up all parts but the first, then all but the second, and so on."""
        for i in range(len(parts)):
            yield cls.total(parts[:i] + parts[i + 1 :])

    def add(
        self, group: int, features: Floats, future: Float64Array, weight: Float64Array
    ) -> None:
        """Add some windows, (n, …) each, as many as fit in memory."""
        of_window = weight.mean(axis=1, keepdims=True).astype(features.dtype)
        weighted = (future * weight).astype(features.dtype)
        self.gram[group] += product(features.T, features * of_window)
        self.cross[group] += product(features.T, weighted)
        self.weight[group] += weight.sum(axis=0)

    def add_columns(self, windows: WindowDistances) -> None:
        """Add each target's own window, to a group of its own where there are several.

        Cost of a window: ``n_targets · seq_len · (seq_len + pred_len)`` products.
        """
        for j in range(windows.future.shape[2]):
            self.add(
                j % len(self.gram),
                np.ascontiguousarray(windows.past[:, :, j]),
                windows.future[:, :, j],
                windows.weight[:, :, j],
            )

    def add_mixed(self, windows: WindowDistances, *, length: int) -> None:
        """Add the last rows of all columns together, see `mixed_features`."""
        features = mixed_features(windows, length=length)
        n = len(features)
        self.add(
            0, features, windows.future.reshape(n, -1), windows.weight.reshape(n, -1)
        )

    def add_columns_of_run(
        self, rows: Float64Array, *, n_windows: int, n_targets: int
    ) -> None:
        """Add what `add_columns` adds, of windows side by side whose truths all weigh 1.

        rows: of all these windows, (n_rows, n_columns), the targets first.
        """
        seq_len = self.gram.shape[1]
        for j in range(n_targets):
            # Distances stay as they are, and small rows have small products.
            own = rows[:, [j]] - rows[:, j].mean()
            products = sum_products(own, n_windows, seq_len)[:, 0, :, 0]
            distances = products - products[-1]
            distances -= distances[:, [seq_len - 1]]
            group = j % len(self.gram)
            self.gram[group] += distances[:, :seq_len]
            self.cross[group] += distances[:, seq_len:]
            self.weight[group] += n_windows

    def add_mixed_of_run(
        self, rows: Float64Array, *, length: int, n_windows: int, n_targets: int
    ) -> None:
        """Add what `add_mixed` adds, of windows side by side whose truths all weigh 1.

        rows: of windows that begin with the `length` rows before their origins.
        """
        with_ones = np.column_stack([rows, np.ones(len(rows))])
        products = sum_products(with_ones, n_windows, length)
        by_features = _as_mixed_features(products)
        past, future = np.split(by_features, [length], axis=1)
        self.gram[0] += _as_mixed_features(np.moveaxis(past, 0, -1))
        distances = future - past[:, [-1]]
        self.cross[0] += distances[..., :n_targets].reshape(len(distances), -1)
        self.weight[0] += n_windows

    def of_features(self, used: slice) -> Sums:
        """Return the sums of some features."""
        return Sums(self.gram[:, used, used], self.cross[:, used], self.weight)

    def means(self) -> Equations:
        """Return `gram` and `cross`, each group per unit of its own weight."""
        # Of no weight all sums are 0.
        weight = np.maximum(self.weight, 1e-300)
        of_group = weight.mean(axis=1)
        return Equations(
            self.gram / of_group[:, None, None], self.cross / weight[:, None]
        )

    def shared(self) -> Sums:
        """Put the groups together, for one map that all targets share."""
        return Sums(*(part.sum(axis=0, keepdims=True) for part in self))


def mixed_features(windows: WindowDistances, *, length: int) -> Float64Array:
    """Lay out distances of all columns row by row, then the last values, then 1: (n, features)."""
    n, seq_len, _ = windows.past.shape
    return np.column_stack(
        [windows.past[:, seq_len - length :].reshape(n, -1), windows.last, np.ones(n)]
    )


def _as_mixed_features(of_rows: Float64Array) -> Float64Array:
    """Make what is linear in rows, (length, n_columns + 1, …), so in `mixed_features`.

    The last of the columns is 1.
    """
    last = of_rows[-1]
    distances = of_rows[:, :-1] - last[:-1]
    return np.concatenate([distances.reshape(-1, *last.shape[1:]), last])
