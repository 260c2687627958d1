"""Maps that turn with the time of the day: what a blend that is the same at all hours leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.candidates import STRENGTHS, Equations, affordable
from skinformer.ridge.linear_fit import LinearFit, LinearFits, PhaseMaps
from skinformer.ridge.sums import Problem, Sums, Windows, gather
from skinformer.selection import MOST_STRETCHES, SHARES, cut_stretches, surest_share
from skinformer.timeline.arrays import Float32Array, Float64Array, Floats, IntArray
from skinformer.timeline.windows import spread_places

#: Last rows of a target's window that its maps read one by one, and parts of the window of which
#: they read the mean.
_N_NEAR, _N_PARTS = 24, 28
#: Waves of a day at most, and columns at most whose means all targets read.
_N_WAVES, _MOST_COLUMNS = 4, 16
#: Windows to learn from, and of each time to judge by, with so many values at most.
_LEARNT, _JUDGED, _MOST_VALUES = 10_000, 600, 2_000_000
#: Stretches of each time that a fit has not seen.
_N_STRETCHES_OF_FOLD = 4


#: Origins of windows, and their steps.
_Drawn: TypeAlias = tuple[IntArray, IntArray]


class _Times(NamedTuple):
    """Windows by when they are, each with the fit that has not learnt its time."""

    fit: LinearFit
    origins: IntArray
    steps: IntArray

    def some(self, n_most: int) -> _Times:
        places = spread_places(len(self.origins), n_most)
        return self._replace(origins=self.origins[places], steps=self.steps[places])


def find_phases(
    problem: Problem, fits: LinearFits, training: _Drawn, split: _Drawn, late: IntArray
) -> LinearFits:
    """Regress what a blend leaves of windows that it has not learnt, by the time of the day.

    problem: the rows, as the blend saw them, and their cells.
    fits: of the blend, some of them `folds`.
    training, split: origins and times of the windows before the split, and within it.
    late: windows of the split that are learnt at last; none for nothing of it.

    All fits come back with `phases`, the final one's learnt with `late`, too, or as they were where
    these are not sure to help. Windows of each time are corrected by
    maps that have learnt neither them nor their blend's luck with them. By these, and by those of
    the split, strength and share are chosen: several seasons speak, where the split is one. Cost:
    `_LEARNT` windows times the square of the features, and four decompositions for each target.
    """
    layout = _layout(problem)
    ends = np.array([end for end, _ in fits.folds])
    place = np.searchsorted(ends[:-1], training[1], side="right")
    times = [
        _Times(other, *(part[place == number] for part in training))
        for number, (_, other) in enumerate(fits.folds)
    ]
    judges = [*times, _Times(fits.before, *split)]
    if layout is None or not all(len(time.origins) for time in judges):
        return fits
    if len(training[0]) < _n_features(problem, layout):
        return fits  # nothing so large is learnt from so little
    thinning = _LEARNT / len(training[0])
    sums = [_learn(problem, layout, t.some(int(thinning * len(t.origins)) + 1)) for t in times]
    whole = Sums.total(sums)
    for part in sums:
        part.turn_over(whole)
    equations = [Equations(*part.means()) for part in (*sums, whole)]
    best = _choose(problem, layout, judges, [each.all_maps() for each in equations])
    if best is None:
        return fits
    strength, share = best
    found = [layout._replace(weights=share * each.solve(strength)) for each in equations]
    pairs = zip(fits.folds, found[:-1], strict=True)
    folds = tuple((end, replace(other, phases=maps)) for (end, other), maps in pairs)
    last = found[-1]
    if len(late):
        new = _Times(fits.before, late, steps=late).some(int(thinning * len(late)) + 1)
        both = Sums.total([whole, _learn(problem, layout, new)])
        last = layout._replace(weights=share * Equations(*both.means()).solve(strength))
    before = replace(fits.before, phases=found[-1])
    return LinearFits(before, replace(fits.final, phases=last), folds)


def _layout(problem: Problem) -> PhaseMaps | None:
    """Describe what is read, without weights; None where there is no cycle, or too much to read."""
    if problem.cycle is None:
        return None
    cells, seq_len = problem.cycle.cells, problem.seq_len
    n_times = cells.n_times if cells.n_times > 1 else cells.n_cells
    length = len(np.unique(problem.cycle.of_row % n_times))  # rows of a cycle: three-hourly, 8
    n_waves = min(_N_WAVES, (length - 1) // 2)
    angle = 2 * np.pi * np.arange(n_times)[:, None] / n_times * np.arange(1, n_waves + 1)
    waves = np.concatenate([np.ones((n_times, 1)), np.cos(angle), np.sin(angle)], axis=1)
    size = max(1, seq_len // _N_PARTS)
    n_parts = seq_len // size
    rows = np.eye(seq_len)
    near = rows[:, max(seq_len - _N_NEAR - 1, 0) : -1]  # the last distance is 0
    parts = rows[:, seq_len - n_parts * size :].reshape(seq_len, n_parts, size).mean(axis=2)
    means = [rows[:, -n:].mean(axis=1) for n in (length, seq_len) if n <= seq_len]
    n_columns, k = _n_columns(problem), problem.n_targets
    others = np.stack(means, axis=1) if n_columns <= _MOST_COLUMNS else rows[:, :0]
    own = np.concatenate([near, parts], axis=1)
    maps = PhaseMaps(cells.places, waves, own, others, np.zeros((k, 0, 0)))
    n = _n_features(problem, maps)
    # The sums of three times and all of them are held beside each other.
    fits = affordable(4 * k * n * n, 4 * k * n * problem.pred_len)
    return maps if n_waves and fits else None


def _rests(
    problem: Problem, maps: PhaseMaps, time: _Times
) -> Iterator[tuple[slice, Windows, Float32Array, Float64Array]]:
    """Return places of windows, these, what the maps of each target read of them, and what is left.

    Read is (n_targets, n_windows, n_features), left by the fit what the windows' future is.
    """
    assert problem.cycle is not None
    begun = 0
    for windows in gather(problem, time.origins):
        part = slice(begun, begun + len(windows.last))
        begun, cell = part.stop, problem.cycle.of_row[time.origins[part]]
        seen = maps.read(windows.past[..., : _n_columns(problem)], cell)
        # PERF: half the time of their products; sums over chunks are added in float64.
        yield part, windows, seen.astype(np.float32), windows.future - time.fit.blended(windows)


def _learn(problem: Problem, maps: PhaseMaps, time: _Times) -> Sums:
    """Add up what the maps read, and what the fit leaves."""
    sums = Sums.of_sizes(problem.n_targets, _n_features(problem, maps), problem.pred_len)
    for _, windows, seen, rest in _rests(problem, maps, time):
        for j, features in enumerate(seen):
            sums.add(j, features, rest[:, :, j], windows.weight[:, :, j])
    return sums


def _n_features(problem: Problem, maps: PhaseMaps) -> int:
    n_others, n_own = maps.others.shape[1], maps.own.shape[1]
    return int(maps.waves.shape[1] * (n_own + _n_columns(problem) * n_others + 1))


def _n_columns(problem: Problem) -> int:
    """Count those that are not known ahead: what these do is taken off."""
    return int(problem.values.shape[1]) - len(problem.effect)


def _choose(
    problem: Problem, maps: PhaseMaps, judges: list[_Times], solutions: list[list[Floats]]
) -> tuple[float, float] | None:
    """Choose strength and share by all stretches of all times, the last of which is the split."""
    n_most = max(_MOST_VALUES // (problem.pred_len * problem.n_targets * len(judges)), 32)
    losses = []
    for number, (time, solved) in enumerate(zip(judges, solutions, strict=True)):
        is_split = number == len(judges) - 1
        some = time.some(min(_JUDGED, n_most))
        n_stretches = MOST_STRETCHES if is_split else _N_STRETCHES_OF_FOLD
        stretches = cut_stretches(some.steps, problem.pred_len, n_most=n_stretches)
        if stretches is not None:
            losses.append(_losses(problem, maps, some, solved, stretches))
        elif is_split:
            return None
    # The first share is none, whatever the strength.
    best = surest_share(np.concatenate(losses))
    strength, share = divmod(best, len(SHARES))
    return (STRENGTHS[strength], SHARES[share]) if share else None


def _losses(
    problem: Problem, maps: PhaseMaps, time: _Times, solved: list[Floats], stretches: IntArray
) -> Float64Array:
    """Return squared errors of each strength and share, (n_stretches, n_strengths * n_shares)."""
    share = np.array(SHARES)
    out = np.zeros((int(stretches.max()) + 1, len(STRENGTHS), len(share)))
    for part, windows, seen, left in _rests(problem, maps, time):
        rest, weight = left.transpose(2, 0, 1), windows.weight.transpose(2, 0, 1)
        alone = (weight * rest**2).sum(axis=(0, 2))[:, None]
        for i, weights in enumerate(solved):
            added = product(seen, weights)
            both = (weight * rest * added).sum(axis=(0, 2))[:, None]
            itself = (weight * added**2).sum(axis=(0, 2))[:, None]
            np.add.at(out[:, i], stretches[part], alone - 2 * share * both + share**2 * itself)
    return out.reshape(len(out), -1)
