"""Which ridges compete: one map for all columns or one each, short look-backs or long ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from skinformer.ridge.runs import split_runs
from skinformer.ridge.sums import (
    Decomposition,
    Equations,
    Problem,
    Sums,
    WindowDistances,
    gather,
    mixed_features,
    remaining,
)
from skinformer.timeline.arrays import Float64Array, IntArray

_HALVINGS = 4  # lengths of look-backs: the whole, its half, and so on
_MIXED_ROWS = 48  # that all columns together are looked at over, and half of them


class Candidate(NamedTuple):
    """One way to map a window to its future.

    kind: "last" (repeat the last value), "shared", "per target" or "mixed".
    length: rows of the window that it looks at.
    level: whether it sees the last values themselves and a constant, not distances alone.
    """

    kind: str
    length: int = 0
    level: bool = False

    @property
    def margin(self) -> float:
        """Relative error by which it has to be better than a map that all targets share.

        Maps with more weights to learn have more to prove. On long tables it is worth nothing;
        without, a walk beside columns that say nothing is forecast 1.25 times as badly as by its
        last value.
        """
        return {"per target": 0.05, "mixed": 0.2}.get(self.kind, 0.0)

    def __str__(self) -> str:
        """Name the candidate, for reports."""
        if not self.length:
            return self.kind
        level = " and levels" if self.level else ""
        return f"{self.kind}, {self.length} rows{level}"


def affordable(n_gram: int, n_map: int) -> bool:
    """Return whether so many products may be kept in memory, 600 MB by this estimate.

    A fit of 80 targets over 720 rows peaks at five times of it, one of 321 over 336 at 3.5 times; a
    kind of candidates that needs more is left out, as with 862 targets over 336 rows.

    n_gram: products of features with features.
    n_map: products of features with what followed.
    """
    return 8 * (n_gram + 3 * n_map) <= 600_000_000


class Competition:
    """The candidates and their sums; shorter look-backs read parts of the sums of longer ones.

    alone: whether one map that all targets share competes with the last value alone.
    """

    def __init__(self, problem: Problem, *, alone: bool = False) -> None:
        self.problem = problem
        seq_len = problem.seq_len
        n_targets = problem.n_targets
        n_outputs = n_targets * problem.pred_len
        fits = affordable(n_targets * seq_len**2, seq_len * n_outputs)
        per_column = n_targets > 1 and fits and not alone
        self.columns = Sums.of_sizes(
            n_targets if per_column else 1, seq_len, problem.pred_len
        )
        self.mixed_len = 0 if alone else _mixed_length(problem)
        self.mixed = Sums.of_sizes(
            1, _n_mixed_features(problem, self.mixed_len), n_outputs
        )
        # The last value, then maps over the whole look-back, its half, and so on.
        self.candidates = [Candidate("last")]
        kinds = ["shared", "per target"] if per_column else ["shared"]
        for kind in kinds:
            for length in _halved(seq_len, 1 if alone else _HALVINGS):
                self.candidates.append(Candidate(kind, length))
        for length in _halved(self.mixed_len, 2):
            self.candidates.append(Candidate("mixed", length))
            self.candidates.append(Candidate("mixed", length, level=True))

    def learn(self, origins: IntArray) -> None:
        """Add windows to the sums that all candidates are fitted by.

        Long runs of windows side by side are not laid out, where all their truths weigh 1.
        """
        problem = self.problem
        runs, others = split_runs(origins, 2 * (problem.seq_len + problem.pred_len))
        for run in runs:
            if self._weighs_alike(run) and self._affords_runs:
                self._learn_run(run)
            else:
                others = np.append(others, run)
        for windows in gather(problem, others):
            self.columns.add_columns(windows)
            if self.mixed_len:
                self.mixed.add_mixed(windows, length=self.mixed_len)

    def _weighs_alike(self, run: IntArray) -> bool:
        """Return whether all truths of windows side by side weigh 1."""
        weight = self.problem.weight
        if weight is None:
            return True
        return bool((weight[run[0] : run[-1] + self.problem.pred_len] == 1).all())

    @property
    def _affords_runs(self) -> bool:
        """Return whether products of all columns at all distances may be kept in memory."""
        length = self.mixed_len
        n_columns = self.problem.n_columns + 1
        n_products = length * (length + self.problem.pred_len) * n_columns**2
        return affordable(4 * n_products, 0)

    def _learn_run(self, run: IntArray) -> None:
        """Add windows side by side, whose truths all weigh 1."""
        problem = self.problem
        first = run[0] - problem.seq_len
        rows = remaining(problem, np.arange(first, run[-1] + problem.pred_len))
        sizes = {"n_windows": len(run), "n_targets": problem.n_targets}
        self.columns.add_columns_of_run(rows, **sizes)
        length = self.mixed_len
        if length:
            rows = rows[problem.seq_len - length :]
            self.mixed.add_mixed_of_run(rows, length=length, **sizes)

    @classmethod
    def total(cls, parts: Sequence[Competition]) -> Competition:
        """Return what has learnt the windows of all parts."""
        out = cls(parts[0].problem)
        out.columns = Sums.total([part.columns for part in parts])
        out.mixed = Sums.total([part.mixed for part in parts])
        return out

    def is_small(self, n: int) -> bool:
        """Return whether the sums of so many may be kept in memory."""
        return affordable(
            n * (self.columns.gram.size + self.mixed.gram.size),
            n * (self.columns.cross.size + self.mixed.cross.size),
        )

    def equations(self) -> Iterator[tuple[Candidate, Equations]]:
        """Return those of the windows so far; "last", the first candidate, has none."""
        for candidate in self.candidates[1:]:
            sums = self.mixed if candidate.kind == "mixed" else self.columns
            sums = sums.of_features(self.features(candidate))
            if candidate.kind == "shared":
                sums = sums.shared()
            yield candidate, sums.means()

    def features(self, candidate: Candidate) -> slice:
        """Return the positions of the features of its sums that a candidate uses."""
        length = candidate.length
        if candidate.kind != "mixed":
            return slice(self.problem.seq_len - length, None)
        n_columns = self.problem.n_columns
        first = (self.mixed_len - length) * n_columns
        end = None if candidate.level else self.mixed_len * n_columns
        return slice(first, end)

    def forecasts(
        self, candidate: Candidate, ridges: Decomposition, windows: WindowDistances
    ) -> Iterator[Float64Array]:
        """Forecast distances from the last values, (n, pred_len, n_targets), by each strength."""
        if candidate.kind == "mixed":
            features = mixed_features(windows, length=self.mixed_len)[None]
        else:
            past = windows.past[..., : self.problem.n_targets]
            features = past.transpose(2, 0, 1)
        for forecast in ridges.forecasts(features[..., self.features(candidate)]):
            yield forecast.transpose(1, 2, 0).reshape(windows.future.shape)


def _halved(length: int, n_lengths: int) -> list[int]:
    """List a length, its half, and so on, as long as they differ; none of 0.

    >>> _halved(5, 4), _halved(0, 2)
    ([5, 2, 1], [])
    """
    return [length >> k for k in range(n_lengths) if length >> k]


def _mixed_length(problem: Problem) -> int:
    """Return over how many rows all columns are looked at together; 0 where they are too many."""
    length = min(
        problem.seq_len,
        _MIXED_ROWS,
        # The products must stay small.
        1024 // problem.n_columns,
    )
    n_features = _n_mixed_features(problem, length)
    fits = affordable(
        n_features**2, 2 * n_features * problem.n_targets * problem.pred_len
    )
    return length if problem.n_columns > 1 and fits else 0


def _n_mixed_features(problem: Problem, length: int) -> int:
    """Count the features of so many rows, the last values and 1; none of no rows."""
    return (length + 1) * problem.n_columns + 1 if length else 0
