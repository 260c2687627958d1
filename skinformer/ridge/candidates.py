"""Which ridges compete: one map for all columns or one each, short look-backs or long ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from skinformer.algebra import factor, product, solution, solve_factored
from skinformer.ridge.lagged import add_runs
from skinformer.ridge.sums import Problem, Sums, Windows, gather, mixed_features
from skinformer.threads import at_once
from skinformer.timeline.arrays import Float64Array, Floats, IntArray

#: Strengths of the ridge, per window: standardised columns make them comparable.
STRENGTHS = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
#: Maps with more weights to learn have more to prove. On long tables it is worth nothing; without,
#: a walk beside columns that say nothing is forecast 1.25 times as badly as by its last value.
_MARGINS = {"own": 0.05, "mixed": 0.2}
#: Look-backs are `seq_len` and its halves down to this share.
_HALVINGS = 4
#: All columns together are looked at over at most this many rows, and half of them …
_MIXED_ROWS = 48
#: … and this many features: their products must stay small.
_MIXED_FEATURES = 1024
#: Sums and maps of one kind of candidate may take this many bytes, by the estimate below (a fit
#: of 80 targets over 720 rows peaks at five times of it, one of 321 over 336 at 3.5 times); a kind
#: that needs more is left out, as with 862 targets over 336 rows.
_KIND_BYTES = 600_000_000


class Candidate(NamedTuple):
    """One way to map a window to its future.

    kind: "last" (repeat the last value), "shared", "own" or "mixed".
    length: rows of the window that it looks at.
    level: whether it sees the last values themselves and a constant, not distances alone.
    """

    kind: str
    length: int = 0
    level: bool = False

    @property
    def margin(self) -> float:
        """Relative error by which it has to be better than a map that all targets share."""
        return _MARGINS.get(self.kind, 0.0)

    def __str__(self) -> str:
        """Name the candidate, for reports."""
        level = " and levels" if self.level else ""
        return self.kind if not self.length else f"{self.kind}, {self.length} rows{level}"


class Equations(NamedTuple):
    """Normal equations per unit of weight, see `Sums`."""

    gram: Float64Array
    cross: Float64Array

    def solve(self, strength: float) -> Float64Array:
        """Return the maps of least mean squared error plus `strength` times their squared size."""
        return solution(self._ridge(strength), self.cross)

    def all_maps(self) -> list[Floats]:
        """Return the maps of each of `STRENGTHS`, rounded: 1e-7 of a forecast, for half the time.

        Cost: ``n_groups · n_features³ / 3`` products each.
        """
        return at_once([partial(self._rounded, strength) for strength in STRENGTHS])

    def _rounded(self, strength: float) -> Floats:
        return self.solve(strength).astype(np.float32)

    def all_forecasters(self, n_windows: int) -> Sequence[Floats | Factored]:
        """Return what forecasts so many windows soonest, for each of `STRENGTHS`.

        Fewer windows than a map has outputs are not worth solving it: of twelve columns, 720 steps
        ahead, ridges took 146 s, and take 94.
        """
        if n_windows >= self.cross.shape[-1]:
            return self.all_maps()
        return at_once([partial(self._factored, strength) for strength in STRENGTHS])

    def _factored(self, strength: float) -> Factored:
        return Factored(factor(self._ridge(strength)), self.cross)

    def _ridge(self, strength: float) -> Float64Array:
        return self.gram + strength * np.eye(self.gram.shape[-1])


class Factored(NamedTuple):
    """A map that is not solved for, by the Cholesky factor of its equations."""

    factors: Float64Array
    cross: Float64Array

    def forecast(self, seen: Floats) -> Floats:
        """Map rows of features, (…, n, n_features)."""
        by_window = solve_factored(self.factors, seen.astype(np.float64).swapaxes(-1, -2))
        return product(by_window.swapaxes(-1, -2), self.cross)


def affordable(n_gram: int, n_map: int) -> bool:
    """Return whether so many products may be kept in memory, by the estimate in `_KIND_BYTES`.

    n_gram: products of features with features.
    n_map: products of features with what followed.
    """
    return 8 * (n_gram + 3 * n_map) <= _KIND_BYTES


class Competition:
    """The candidates and their sums; shorter look-backs read parts of the sums of longer ones.

    alone: whether one map that all targets share competes with the last value alone.
    """

    def __init__(self, problem: Problem, *, alone: bool = False) -> None:
        n_columns, seq_len = problem.values.shape[1], problem.seq_len
        n_outputs = problem.n_targets * problem.pred_len
        fits = affordable(problem.n_targets * seq_len * seq_len, seq_len * n_outputs)
        self.per_column = problem.n_targets > 1 and fits and not alone
        self.problem = problem
        n_groups = problem.n_targets if self.per_column else 1
        self.columns = Sums.of_sizes(n_groups, seq_len, problem.pred_len)
        mixed = min(seq_len, _MIXED_ROWS, _MIXED_FEATURES // n_columns)
        n_features = (mixed + 1) * n_columns + 1
        fits = affordable(n_features**2, 2 * n_features * n_outputs) and not alone
        self.mixed_len = mixed if n_columns > 1 and fits else 0
        self.mixed = Sums.of_sizes(1, n_features * bool(self.mixed_len), n_outputs)
        halvings = range(1 if alone else _HALVINGS)
        lengths = sorted({max(1, seq_len >> k) for k in halvings}, reverse=True)
        kinds = ("shared", "own") if self.per_column else ("shared",)
        self.candidates = [Candidate("last")]
        self.candidates += [Candidate(kind, length) for kind in kinds for length in lengths]
        if self.mixed_len:
            lengths = sorted({mixed, max(1, mixed // 2)}, reverse=True)
            self.candidates += [
                Candidate("mixed", n, level) for n in lengths for level in (False, True)
            ]

    def learn(self, origins: IntArray) -> None:
        """Let all candidates learn from windows."""
        for windows in gather(self.problem, add_runs(self.columns, self.problem, origins)):
            self.columns.add_columns(windows)
        if self.mixed_len:
            short = self.problem._replace(seq_len=self.mixed_len)
            for windows in gather(short, origins):
                self.mixed.add_mixed(windows, length=self.mixed_len)

    def turn_over(self, whole: Competition) -> None:
        """Unlearn what was learnt, and learn all else that another one of this problem learnt."""
        self.columns.turn_over(whole.columns)
        self.mixed.turn_over(whole.mixed)

    def equations(self, skip: Sequence[Candidate] = ()) -> Iterator[tuple[Candidate, Equations]]:
        """Return those of the windows so far, but for ``skip`` and "last", which learns nothing."""
        groups = {"shared": self.columns.shared(), "own": self.columns, "mixed": self.mixed}
        for kind, sums in groups.items():
            gram, cross = sums.means()
            for candidate in self.candidates:
                if candidate.kind == kind and candidate not in skip:
                    used = self.features(candidate)
                    yield candidate, Equations(gram[:, used[:, None], used], cross[:, used])

    def features(self, candidate: Candidate) -> IntArray:
        """Return the positions of the features of its sums that a candidate uses."""
        if candidate.kind != "mixed":
            return np.arange(self.problem.seq_len - candidate.length, self.problem.seq_len)
        n_columns = self.problem.values.shape[1]
        stop = self.mixed_len * n_columns
        end = stop + n_columns + 1 if candidate.level else stop
        return np.arange(stop - candidate.length * n_columns, end)

    def forecasts(
        self, candidate: Candidate, maps: Sequence[Floats | Factored], windows: Windows
    ) -> Iterator[Floats]:
        """Forecast distances from the last values, (n, pred_len, n_targets), by each map."""
        used, mixed = self.features(candidate), candidate.kind == "mixed"
        if mixed:
            seen = mixed_features(windows, length=self.mixed_len)[None, :, used]
        else:
            seen = windows.past[:, used, : windows.future.shape[2]].transpose(2, 0, 1)
        if not isinstance(maps[0], Factored):
            seen = seen.astype(maps[0].dtype)
        for one in maps:
            each = one.forecast(seen) if isinstance(one, Factored) else product(seen, one)
            yield each.reshape(windows.future.shape) if mixed else each.transpose(1, 2, 0)
