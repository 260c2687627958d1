"""Fit the linear path: let ridges compete on stretches of time, blend them, fold them into one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.budget import current_share
from skinformer.ridge.blend import (
    choose_strengths,
    choose_weights,
    errors_by_target,
    mixed_errors,
)
from skinformer.ridge.calendar import Effect, with_year
from skinformer.ridge.candidates import Candidate, Competition
from skinformer.ridge.linear_fit import LinearFit, LinearFits, is_near
from skinformer.ridge.phases import find_phases
from skinformer.ridge.sums import (
    STRENGTHS,
    Decomposition,
    Equations,
    Problem,
    TimedOrigins,
    WindowDistances,
    gather,
)
from skinformer.selection import mean_less_error
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.stillness import find_moves, is_no_chance
from skinformer.timeline.windows import spread_places

#: Of the log error: a cycle that is worth less is one more thing to know.
_LEAST_GAIN = 0.01


class _Trial(NamedTuple):
    """Candidates that have learnt all windows before the split, and what they forecast before.

    stretches: errors on each stretch of time, by what had learnt the windows before it: of each
    target that has maps of its own, or of all together, (n_groups, n_forecasts, n_forecasts).
    of_split: those on the validation split, of the same shape.
    noise: how much of a relative error is chance.
    """

    competition: Competition
    stretches: list[Float64Array]
    of_split: list[Float64Array]
    noise: float


class _Choice(NamedTuple):
    """Each candidate's weight, and the number of its forecast by the strength that it has.

    weights, chosen: (n_groups, n_candidates), of each target that has maps of its own, or of all
    together, as where nothing was compared.
    """

    weights: Float64Array
    chosen: IntArray


def fit_linear_path(
    problem: Problem,
    origins: IntArray,
    steps: IntArray,
    *,
    split: int | None,
    refit: bool,
    n_folds: int = 0,
    alone: bool = False,
) -> LinearFits:
    """Choose among ridges by forecasting ahead of what they were fitted to, and fit the winners.

    problem: the rows; its `effect` is found here.
    origins, steps: all windows, those of the validation split included, and the time of each.
    split: the time at which the validation split begins; None for no split.
    refit: whether the winners are fitted again with the split.
    n_folds: equal times, at least 2, for each of which there is a fit `folds`, and by which
    candidates are judged; 0 for none.
    alone: whether one map that all targets share competes with the last value alone, beside the
    effect of columns known ahead, but of no calendar.

    Candidates are compared on three equal parts of the second half of the training rows, before
    each of which they are solved from windows whose targets end before it, and on the times of the
    fits `folds`, each by what is solved without it: the newest stretches may be of one season. The
    split judges all members later and chooses nothing in the fit before it; the blend of the final
    one is chosen by it, too. Without a split, and where too few rows lie before it, there are four
    stretches, of all rows.

    Cost: one pass over the windows, ``n · n_targets · seq_len · (seq_len + pred_len)`` products, or
    for long runs of windows side by side some ``n_targets · (n log n + seq_len · pred_len)``, and
    six decompositions of each candidate; with `n_folds` one pass and ``2 · n_folds`` decompositions
    more. Memory: the sums, with `n_folds` those of each fold, too, where they are small, and 16 MB.
    """
    windows = _usable(problem, origins, steps)
    training = windows.ending_before(split, problem.pred_len)
    # 1. What calendar and columns known ahead do is taken off.
    effect = _choose_effect(problem, training, has_calendar=not alone)
    rest = effect.find(problem, training.origins)
    # 2. Blends of candidates, by stretches of time that they have not learnt.
    trial = _try_candidates(rest, windows, split, alone=alone)
    share = current_share()
    periods = _Periods(rest, training, 0 if share.must_stop() else n_folds)
    late = _without_jumps(rest, training, windows) if refit else origins[:0]
    fits = _fit_blends(trial, periods, late)
    # 3. The newest holiday, too.
    if len(late) and rest.calendar is not None:
        newest = effect.find(problem, np.append(training.origins, late))
        fits = fits._replace(final=replace(fits.final, calendar=newest.calendar))
    # 4. What the same maps at all hours leave.
    if split is None or not fits.folds:
        return fits
    validation = windows.take(windows.steps >= split)
    return find_phases(rest, fits, training, validation, late)


def _fit_blends(trial: _Trial, periods: _Periods, late: IntArray) -> LinearFits:
    """Weigh candidates; blend those of all windows, without each period, and with late ones."""
    trial.stretches.extend(periods.compare())
    choice = _weigh(trial)
    before = _blend(trial.competition, choice)
    folds = periods.fit(choice)
    final = before
    if len(late):
        trial.competition.learn(late)
        trial.stretches.extend(trial.of_split)
        final = _blend(trial.competition, _weigh(trial))
    return LinearFits(before, final, folds)


def _choose_effect(
    problem: Problem, windows: TimedOrigins, *, has_calendar: bool
) -> Effect:
    """Choose what is known ahead and found by itself, where ridges forecast better without it.

    The effect of columns alone explains changes since the origin, and so does whatever has the same
    cycle: the temperature of another city explains when people are in the street, as long as no
    ridge has seen the day before. So each kind of effect has to prove itself on later rows than
    those that it was found on.
    """
    stretches = _stretch_borders(problem, windows, None)
    if not stretches:
        return Effect()
    # Windows that end before the first stretch.
    early = windows.ending_before(stretches[0][0], problem.pred_len).origins
    best, taken_off = _best_effect(problem, windows, early, has_calendar=has_calendar)
    if not has_calendar or current_share().must_stop():
        return best
    with_waves = with_year(taken_off, early)
    if with_waves is taken_off:
        return best
    # By all candidates: those that see levels gain most.
    without = _log_errors(taken_off, windows, alone=False)
    gains = without - _log_errors(with_waves, windows, alone=False)
    return best._replace(year=mean_less_error(gains) >= _LEAST_GAIN)


def _best_effect(
    problem: Problem, windows: TimedOrigins, early: IntArray, *, has_calendar: bool
) -> tuple[Effect, Problem]:
    """Find effects by early windows; return the one that gains most, and the problem beside it."""
    kinds = [
        Effect(columns=True),
        Effect(calendar=True),
        Effect(columns=True, calendar=True),
    ]
    kinds = [
        kind
        for kind in kinds
        if (problem.n_known or not kind.columns) and (has_calendar or not kind.calendar)
    ]
    best = Effect()
    taken_off = problem
    highest = 0.0
    without = None
    share = current_share()
    for kind in kinds:
        if share.must_stop():
            break
        found = kind.find(problem, early)
        if found.calendar is None and not found.effect.any():
            continue
        if without is None:
            without = _log_errors(problem, windows)
        gains = without - _log_errors(found, windows)
        gain = gains.mean()
        if kind.calendar:  # columns were asked for, and need not be sure
            gain = mean_less_error(gains) - _LEAST_GAIN
        if gain >= highest:
            best = kind
            taken_off = found
            highest = gain
    return best, taken_off


def _log_errors(
    problem: Problem, windows: TimedOrigins, *, alone: bool = True
) -> Float64Array:
    """Return the log error, on each stretch, of short maps beside the problem's effect.

    It is NaN where nothing can be compared.

    alone: whether of the maps that all targets share, else of all candidates.
    """
    problem = problem._replace(seq_len=min(problem.seq_len, 336))
    windows = windows.thinned(10_000 if alone else 4_000)
    trial = _try_candidates(problem, windows, None, alone=alone)
    if not trial.stretches:
        return np.array([np.nan])
    return np.log(_mixed_errors(trial.stretches, _weigh(trial)))


def _try_candidates(
    problem: Problem, windows: TimedOrigins, split: int | None, *, alone: bool = False
) -> _Trial:
    """Forecast each stretch by candidates fitted before it, and fit them up to the split."""
    pred_len = problem.pred_len
    training = windows.ending_before(split, pred_len)
    competition = Competition(problem, alone=alone)
    stretches: list[Float64Array] = []
    of_split: list[Float64Array] = []
    n_times = []
    n_learnt = 0
    for start, end in _stretch_borders(problem, windows, split):
        ready = training.ending_before(start, pred_len).origins
        competition.learn(ready[n_learnt:])
        n_learnt = len(ready)
        if not n_learnt:
            continue
        held_out = windows.between(start, end)
        for errors in _compare(competition, held_out.origins):
            judges = of_split if start == split else stretches
            judges.append(errors)
            # Series of a panel move together: many of one time say hardly more than one.
            n_times.append(len(np.unique(held_out.steps)))
    competition.learn(training.origins[n_learnt:])
    # Brings random walks of 300 rows from 15 % above the last value (mean of five) to 2 % (of 60).
    noise = 0.5 * math.sqrt(pred_len / min(n_times, default=1))
    # Where the rows before the split are too few, it has to choose as well.
    if not stretches:
        stretches, of_split = of_split, []
    return _Trial(competition, stretches, of_split, noise)


def _stretch_borders(
    problem: Problem, windows: TimedOrigins, split: int | None
) -> list[tuple[int, int]]:
    """Cut the second half of the training windows into stretches; the split is the last one."""
    steps = windows.ending_before(split, problem.pred_len).steps
    if not len(steps):
        return []
    places = np.linspace(
        len(steps) // 2,
        len(steps) - 1,
        4 if split is None else 3,
        endpoint=False,
        dtype=np.int64,
    )
    borders = steps[places].tolist()
    if split is not None:
        borders.append(split)
    borders.append(windows.steps[-1] + 1)
    return _eventful(problem, windows, list(pairwise(borders)))


def _eventful(
    problem: Problem, windows: TimedOrigins, stretches: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Leave out stretches in which all rests, but for those after which nothing moves.

    The last value is right there to the last digit: relative to it nothing else counts.
    """
    moves = find_moves(problem.values[:, : problem.n_targets])
    n_moves = moves.any(axis=1).cumsum()
    pred_len = problem.pred_len
    origins = windows.origins
    is_moving = n_moves[origins + pred_len - 1] > n_moves[origins - 1]
    moving = windows.steps[is_moving]
    last_moving = moving.max(initial=windows.steps[0])

    def says_something(start: int, end: int) -> bool:
        """Return whether something moves between two times, or hardly ever does."""
        if start > last_moving or ((moving >= start) & (moving < end)).any():
            return True
        return not is_no_chance(end - start + pred_len - 1, n_moves[-1], len(n_moves))

    return [stretch for stretch in stretches if says_something(*stretch)]


def _fold_ends(problem: Problem, steps: IntArray, n_folds: int) -> IntArray:
    """Cut training windows into equal times and return where each ends; none where few."""
    if len(steps) < n_folds * (problem.seq_len + problem.pred_len):
        return steps[:0]
    places = np.linspace(0, len(steps) - 1, n_folds + 1, dtype=np.int64)
    return steps[places[1:]] + 1


class _Periods:
    """Equal times of the training windows, each left out of what the others teach."""

    def __init__(self, problem: Problem, training: TimedOrigins, n_folds: int) -> None:
        self.problem = problem
        self.training = training.origins
        ends = _fold_ends(problem, training.steps, n_folds)
        self.ends = ends.tolist()
        self.number = np.searchsorted(ends, training.steps, side="right")
        # Windows on both sides of a border share truths.
        self.is_near = is_near(ends[:-1], training.steps, problem.pred_len)
        # PERF: the sums of each period are kept, where they are not several times the memory.
        self.parts = []
        if Competition(problem).is_small(len(ends)):
            for number in range(len(ends)):
                self.parts.append(self._learn(self.number == number))

    def compare(self) -> list[Float64Array]:
        """Return errors in each period, by what has learnt all others."""
        stretches = []
        for others, left_out in self._leave_one_out():
            stretches += _compare(others, left_out)
        return stretches

    def fit(self, choice: _Choice) -> tuple[tuple[int, LinearFit], ...]:
        """Return where each period ends, and the blend of all others."""
        fits = [_blend(others, choice) for others, _ in self._leave_one_out()]
        return tuple(zip(self.ends, fits, strict=True))

    def _leave_one_out(self) -> Iterator[tuple[Competition, IntArray]]:
        """Return what has learnt all others, and the windows whose truths are unknown to it."""
        for number in range(len(self.ends)):
            is_inside = self.number == number
            if self.parts:
                parts = self.parts[:number] + self.parts[number + 1 :]
                others = Competition.total(parts)
            else:
                others = self._learn(~is_inside)
            yield others, self.training[is_inside & ~self.is_near]

    def _learn(self, is_learnt: BoolArray) -> Competition:
        """Learn some of the windows."""
        competition = Competition(self.problem)
        competition.learn(self.training[is_learnt])
        return competition


def _count_in_windows(
    problem: Problem, flags: BoolArray, origins: IntArray
) -> IntArray:
    """Count the flagged rows of each window."""
    total = np.insert(flags, 0, 0, axis=0).cumsum(axis=0)
    return total[origins + problem.pred_len] - total[origins - problem.seq_len]


def _usable(problem: Problem, origins: IntArray, steps: IntArray) -> TimedOrigins:
    """Choose the windows to learn from: whole ones if there are enough, else all or none.

    They are in order of time.

    A missing truth is held in the rows, in the window's past and in its future. A few do little;
    with many, and with those that are missing by the clock, a map would learn to continue held
    values, which forecasts never see.
    """
    order = np.argsort(steps, kind="stable")
    windows = TimedOrigins(origins[order], steps[order])
    if problem.missing is None:
        return windows
    n_missing = _count_in_windows(problem, problem.missing, windows.origins)
    whole = windows.take((n_missing == 0).all(axis=1))
    if len(whole.origins) >= min(4 * problem.seq_len, len(windows.origins)):
        return whole
    share = n_missing.mean() / (problem.seq_len + problem.pred_len)
    return windows if share <= 0.4 else windows.take(slice(0))


def _without_jumps(
    problem: Problem, training: TimedOrigins, windows: TimedOrigins
) -> IntArray:
    """Leave out windows of the split that hold what strengths chosen before it know nothing of.

    One series of 336 that a new product made rise to 2300 deviations made the ridges of all the
    others err four times as much.
    """
    size = np.abs(problem.values[:, : problem.n_targets]).max(axis=1)
    # Windows that begin with each row, less those that ended before it.
    change = np.zeros(len(size) + 1)
    np.add.at(change, training.origins - problem.seq_len, 1)
    np.subtract.at(change, training.origins + problem.pred_len, 1)
    is_learnt = change.cumsum()[:-1] > 0
    is_far = size > 10 * size[is_learnt].max(initial=1.0)
    late = windows.origins[len(training.origins) :]
    n_far = _count_in_windows(problem, is_far, late)
    return late[n_far == 0]


def _compare(competition: Competition, origins: IntArray) -> list[Float64Array]:
    """Forecast some windows by every candidate and strength; nothing where no truth is known."""
    problem = competition.problem
    n_outputs = problem.n_targets * problem.pred_len
    n_forecasts = len(competition.candidates) * len(STRENGTHS)
    # Spread over the stretch, and fewer where they are large.
    n_most = min(max(1_000_000 // n_outputs, 32), 256)
    origins = origins[spread_places(len(origins), n_most)]
    ridges = {c: equations.decomposed() for c, equations in competition.equations()}
    n_groups = len(competition.columns.gram)
    products = np.zeros((n_groups, n_forecasts, n_forecasts))
    total = 0.0
    for windows in gather(
        problem, origins, max(1, 16_000_000 // (n_forecasts * n_outputs))
    ):
        errors = _weighted_errors(competition, ridges, windows)
        of_groups = errors.reshape(n_forecasts, -1, n_groups).transpose(2, 0, 1)
        of_groups = np.ascontiguousarray(of_groups)
        products += product(of_groups, of_groups.swapaxes(1, 2))
        total += windows.weight.sum()
    return [products / total] if total else []


def _weighted_errors(
    competition: Competition,
    ridges: dict[Candidate, Decomposition],
    windows: WindowDistances,
) -> Float32Array:
    """Return the errors of all forecasts, (n_forecasts, n_truths), times roots of weights.

    Errors, not forecasts: where these are good, little is left of their products.
    """
    root = np.sqrt(windows.weight).ravel()
    of_last_value = -windows.future.ravel() * root
    errors = [of_last_value.astype(np.float32)] * len(STRENGTHS)
    for candidate, decomposition in ridges.items():
        for forecast in competition.forecasts(candidate, decomposition, windows):
            error = (forecast - windows.future).ravel() * root
            errors.append(error.astype(np.float32))
    return np.stack(errors)


def _weigh(trial: _Trial) -> _Choice:
    """Choose weights and strengths; the last value alone where nothing was compared."""
    candidates = trial.competition.candidates
    first = np.arange(len(candidates)) * len(STRENGTHS)
    if not trial.stretches:
        return _Choice(np.eye(len(candidates))[:1], first[None])
    margins = np.array([candidate.margin for candidate in candidates])
    # Whatever has to be learnt may have been lucky, the more so the shorter the stretches are.
    margins[1:] += trial.noise
    weights, chosen = [], []
    for stretches in errors_by_target(trial.stretches):
        by_strength = first + choose_strengths(stretches, len(STRENGTHS))
        chosen.append(by_strength)
        weights.append(choose_weights(stretches, by_strength, margins=margins))
    return _Choice(np.stack(weights), np.stack(chosen))


def _mixed_errors(stretches: list[Float64Array], choice: _Choice) -> Float64Array:
    """Return the mean squared error of the targets' blends on each stretch."""
    of_groups = [
        mixed_errors(list(own), weights, chosen)
        for own, weights, chosen in zip(
            np.stack(stretches, axis=1), *choice, strict=True
        )
    ]
    return np.sum(of_groups, axis=0)


def _weighted_maps(
    candidate: Candidate,
    equations: Equations,
    weights: Float64Array,
    strengths: Float64Array,
) -> Float64Array:
    """Solve a candidate by the strength of each target, times the weights.

    weights, strengths: (n_groups,).
    """
    if candidate.kind == "per target":
        return weights[:, None, None] * equations.solve(strengths[:, None, None])
    gram, cross = equations
    n_groups = len(weights) if candidate.kind == "shared" else 1
    total = np.zeros((n_groups, *cross.shape[1:]))
    for strength in np.unique(strengths[weights > 0]):
        share = np.where(strengths == strength, weights, 0.0)
        if candidate.kind == "shared":
            total += share[:, None, None] * equations.solve(strength)
            continue
        # Outputs are the targets at the first step, at the second, and so on.
        of_outputs = np.resize(share, cross.shape[2])
        some = of_outputs > 0
        maps = Equations(gram, cross[..., some]).solve(strength)
        total[..., some] = of_outputs[some] * maps
    return total


def _blend(competition: Competition, choice: _Choice) -> LinearFit:
    """Solve the candidates and add their weighted maps up."""
    own = np.zeros_like(competition.columns.cross)
    mixed = np.zeros_like(competition.mixed.cross)
    strengths = np.array(STRENGTHS)[choice.chosen % len(STRENGTHS)]
    worth_solving = np.where(choice.weights >= 1e-6, choice.weights, 0.0)
    # The first candidate, the last value, has no map.
    for (candidate, equations), weights, strength in zip(
        competition.equations(), worth_solving.T[1:], strengths.T[1:], strict=True
    ):
        if weights.any():
            whole = mixed if candidate.kind == "mixed" else own
            used = competition.features(candidate)
            whole[:, used] += _weighted_maps(candidate, equations, weights, strength)
    names = map(str, competition.candidates)
    rounded = choice.weights.mean(axis=0).round(4).tolist()
    return LinearFit(
        own.astype(np.float32),
        mixed[0].astype(np.float32),
        competition.mixed_len,
        competition.problem.effect.astype(np.float32),
        dict(zip(names, rounded, strict=True)),
        competition.problem.calendar,
    )
