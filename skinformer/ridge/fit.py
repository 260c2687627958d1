"""Fit the linear path: let ridges compete on stretches of time, blend them, fold them into one."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.blend import (
    Stretch,
    choose_strengths,
    choose_weights,
    mixed_errors,
)
from skinformer.ridge.calendar import Effect, with_year
from skinformer.ridge.candidates import Candidate, Competition
from skinformer.ridge.linear_fit import LinearFit, LinearFits
from skinformer.ridge.phases import find_phases
from skinformer.ridge.sums import (
    STRENGTHS,
    Decomposition,
    Problem,
    TimedOrigins,
    Windows,
    gather,
)
from skinformer.selection import sure_gain
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import spread_places

_LEAST_GAIN = (
    0.01  # of the log error: a cycle that is worth less is one more thing to know
)


class _Trial(NamedTuple):
    """Candidates that have learnt all windows before the split, and what they forecast before.

    stretches: errors on each stretch of time, by what had learnt the windows before it.
    noise: how much of a relative error is chance.
    """

    competition: Competition
    stretches: list[Stretch]
    noise: float


def fit_linear_path(
    problem: Problem,
    origins: IntArray,
    steps: IntArray,
    *,
    split: int | None,
    refit: bool,
    n_folds: int = 0,
) -> LinearFits:
    """Choose among ridges by forecasting ahead of what they were fitted to, and fit the winners.

    problem: the rows; its `effect` is found here.
    origins, steps: all windows, those of the validation split included, and the time of each.
    split: the time at which the validation split begins; None for no split.
    refit: whether the winners are fitted again with the split.
    n_folds: equal times, at least 2, for each of which there is a fit `folds`, and by which
    candidates are judged; 0 for none.

    Candidates are compared on four stretches: the split and three equal parts of the second half of
    the training rows (without a split, four of them). Before each stretch they are solved from
    windows whose targets end before it. The times of the fits `folds` judge, too, each what is
    solved without it: the newest stretches may be of one season.

    Cost: one pass over the windows, ``n · n_targets · seq_len · (seq_len + pred_len)`` products,
    and six decompositions of each candidate; with `n_folds` two passes for each fold and
    ``2 · n_folds`` decompositions more. Memory: the sums, with `n_folds` twice, and 16 MB.
    """
    windows = TimedOrigins(origins, steps).take(np.argsort(steps, kind="stable"))
    windows = windows.take(_usable(problem, windows.origins))
    training = windows.ending_before(split, problem.pred_len)
    # 1. What calendar and columns known ahead do is taken off.
    bare, effect = problem, _choose_effect(problem, windows, split)
    problem = effect.find(bare, training.origins)
    # 2. Weights of candidates, by stretches of time that they have not learnt.
    trial = _try_candidates(problem, windows, split)
    ends = _fold_ends(problem, training.steps, n_folds)
    for others, left_out in _leave_one_period_out(problem, training, ends):
        trial.stretches.extend(_compare(others, left_out))
    weights, chosen = _weigh(trial)
    # 3. Maps of all training windows, and without each period. Learnt anew: the sums of all of
    # them beside each other would be several times the memory.
    before = after = _blend(trial.competition, weights, chosen)
    periods = _leave_one_period_out(problem, training, ends)
    folds = [_blend(others, weights, chosen) for others, _ in periods]
    # 4. Maps of all windows, and the newest holiday, too.
    late = (
        _without_jumps(problem, windows, len(training.origins))
        if refit
        else origins[:0]
    )
    if len(late):
        trial.competition.learn(late)
        after = _blend(trial.competition, weights, chosen)
        if problem.calendar is not None:
            newest = effect.find(bare, np.append(training.origins, late))
            after = replace(after, calendar=newest.calendar)
    fits = LinearFits(before, after, tuple(zip(ends.tolist(), folds, strict=True)))
    # 5. What the same maps at all hours leave.
    if folds and split is not None:
        fits = find_phases(
            problem, fits, training, windows.take(windows.steps >= split), late
        )
    return fits


def _choose_effect(
    problem: Problem, windows: TimedOrigins, split: int | None
) -> Effect:
    """Choose what is known ahead and found by itself, where ridges forecast better without it.

    The effect of columns alone explains changes since the origin, and so does whatever has the same
    cycle: the temperature of another city explains when people are in the street, as long as no
    ridge has seen the day before. So each kind of effect has to prove itself on later rows than
    those that it was found on.
    """
    stretches = _stretch_borders(problem, windows, split)
    if not stretches:
        return Effect()
    early = windows.ending_before(stretches[0][0], problem.pred_len).origins
    kinds = [Effect(calendar=True)]
    if problem.n_known:
        kinds = [Effect(columns=True), *kinds, Effect(columns=True, calendar=True)]
    best, highest, taken_off = Effect(), 0.0, problem
    nothing = None
    for kind in kinds:
        found = kind.find(problem, early)
        if found.calendar is None and not found.effect.any():
            continue
        if nothing is None:
            nothing = _log_errors(problem, windows, split)
        gains = nothing - _log_errors(found, windows, split)
        # Columns were asked for, and need not be sure.
        gain = sure_gain(gains) - _LEAST_GAIN if kind.calendar else float(gains.mean())
        if gain >= highest:
            best, highest, taken_off = kind, gain, found
    return best._replace(year=_has_year(taken_off, windows, split, early))


def _has_year(
    problem: Problem, windows: TimedOrigins, split: int | None, early: IntArray
) -> bool:
    """Return whether the time of the year, found by early windows, gains beside an effect.

    By all candidates: those that see levels gain most.
    """
    within = with_year(problem, early)
    if within is problem:
        return False
    before = _log_errors(problem, windows, split, alone=False)
    after = _log_errors(within, windows, split, alone=False)
    return sure_gain(before - after) >= _LEAST_GAIN


def _log_errors(
    problem: Problem, windows: TimedOrigins, split: int | None, *, alone: bool = True
) -> Float64Array:
    """Return the log error, on each stretch, of short maps beside the problem's effect.

    It is NaN where nothing can be compared.

    alone: whether of the maps that all targets share, else of all candidates.
    """
    problem = problem._replace(seq_len=min(problem.seq_len, 336))
    windows = windows.thinned(10_000 if alone else 4_000)
    trial = _try_candidates(problem, windows, split, alone=alone)
    if not trial.stretches:
        return np.full(1, np.nan)
    return np.log(mixed_errors(trial.stretches, *_weigh(trial), len(STRENGTHS)))


def _try_candidates(
    problem: Problem, windows: TimedOrigins, split: int | None, *, alone: bool = False
) -> _Trial:
    """Forecast each stretch by candidates fitted before it, and fit them up to the split."""
    pred_len = problem.pred_len
    training = windows.ending_before(split, pred_len)
    competition = Competition(problem, alone=alone)
    stretches: list[Stretch] = []
    n_times: list[int] = []
    n_learnt = 0
    for start, end in _stretch_borders(problem, windows, split):
        ready = training.ending_before(start, pred_len).origins
        competition.learn(ready[n_learnt:])
        n_learnt = len(ready)
        held_out = windows.take((windows.steps >= start) & (windows.steps < end))
        if n_learnt and len(held_out.origins):
            errors = _compare(competition, held_out.origins)
            stretches += errors
            # Series of a panel move together: many of one time say hardly more than one.
            n_times += [len(np.unique(held_out.steps))] * len(errors)
    competition.learn(training.origins[n_learnt:])
    # Brings random walks of 300 rows from 15 % above the last value (mean of five) to 2 % (of 60).
    noise = 0.5 * math.sqrt(pred_len / max(min(n_times, default=1), 1))
    return _Trial(competition, stretches, noise)


def _stretch_borders(
    problem: Problem, windows: TimedOrigins, split: int | None
) -> list[tuple[int, int]]:
    """Cut the second half of the training windows into stretches; the split is the last one."""
    training = windows.ending_before(split, problem.pred_len).steps
    if not len(training):
        return []
    n_parts = 4 if split is None else 3
    places = np.linspace(len(training) // 2, len(training) - 1, n_parts + 1).astype(
        np.int64
    )
    borders = training[places].tolist()
    borders[-1] += 1
    if split is not None:
        borders[-1:] = [split, int(windows.steps[-1]) + 1]
    return list(pairwise(borders))


def _fold_ends(problem: Problem, steps: IntArray, n_folds: int) -> IntArray:
    """Cut training windows into equal times and return where each ends; none where few."""
    if len(steps) < max(n_folds, 1) * (problem.seq_len + problem.pred_len):
        return steps[:0]
    places = np.linspace(0, len(steps) - 1, n_folds + 1).astype(np.int64)[1:]
    return steps[places] + 1


def _leave_one_period_out(
    problem: Problem, training: TimedOrigins, ends: IntArray
) -> Iterator[tuple[Competition, IntArray]]:
    """Learn all periods but one, and return what has with the windows whose truths are unknown."""
    period = np.searchsorted(ends, training.steps, side="right")
    # Windows on both sides of a border share truths.
    distance = np.abs(training.steps[:, None] - ends[:-1] + 0.5)
    is_near = (distance < problem.pred_len - 0.5).any(axis=1)
    for number in range(len(ends)):
        others = Competition(problem)
        others.learn(training.origins[period != number])
        yield others, training.origins[(period == number) & ~is_near]


def _count_in_windows(
    problem: Problem, flags: BoolArray, origins: IntArray
) -> IntArray:
    """Count the flagged rows of each window."""
    total = np.zeros((len(flags) + 1, *flags.shape[1:]), dtype=np.int64)
    np.cumsum(flags, axis=0, out=total[1:])
    counts: IntArray = (
        total[origins + problem.pred_len] - total[origins - problem.seq_len]
    )
    return counts


def _usable(problem: Problem, origins: IntArray) -> BoolArray:
    """Choose the windows to learn from: whole ones if there are enough, else all or none.

    A missing truth is held in the rows, in the window's past and in its future. A few do little;
    with many, and with those that are missing by the clock, a map would learn to continue held
    values, which forecasts never see.
    """
    if problem.missing is None:
        return np.ones(len(origins), dtype=bool)
    n_missing = _count_in_windows(problem, problem.missing, origins)
    is_whole: BoolArray = (n_missing == 0).all(axis=1)
    if is_whole.sum() >= min(4 * problem.seq_len, len(origins)):
        return is_whole
    share = n_missing.mean() / (problem.seq_len + problem.pred_len)
    return np.full(len(origins), share <= 0.4)


def _without_jumps(
    problem: Problem, windows: TimedOrigins, n_training: int
) -> IntArray:
    """Leave out windows of the split that hold what strengths chosen before it know nothing of.

    One series of 336 that a new product made rise to 2300 deviations made the ridges of all the
    others err four times as much.
    """
    size = np.abs(problem.values[:, : problem.n_targets]).max(axis=1)
    training, late = windows.origins[:n_training], windows.origins[n_training:]
    n_begun = np.bincount(training - problem.seq_len, minlength=len(size) + 1)
    n_ended = np.bincount(training + problem.pred_len, minlength=len(size) + 1)
    is_learnt = np.cumsum(n_begun - n_ended)[:-1] > 0
    is_far = size > 10 * size[is_learnt].max(initial=1.0)
    is_near: BoolArray = _count_in_windows(problem, is_far, late) == 0
    return late[is_near]


def _compare(competition: Competition, origins: IntArray) -> list[Stretch]:
    """Forecast some windows by every candidate and strength; nothing where no truth is known."""
    problem = competition.problem
    n_outputs = problem.n_targets * problem.pred_len
    n_forecasts = len(competition.candidates) * len(STRENGTHS)
    # Spread over the stretch, and fewer where they are large.
    n_most = min(max(1_000_000 // n_outputs, 32), 256)
    origins = origins[spread_places(len(origins), n_most)]
    ridges = {c: equations.decomposed() for c, equations in competition.equations()}
    products, total = np.zeros((n_forecasts, n_forecasts)), 0.0
    for windows in gather(
        problem, origins, max(1, 16_000_000 // (n_forecasts * n_outputs))
    ):
        errors = _weighted_errors(competition, ridges, windows)
        products += product(errors, errors.T)
        total += float(windows.weight.sum())
    return [products / total] if total else []


def _weighted_errors(
    competition: Competition, ridges: dict[Candidate, Decomposition], windows: Windows
) -> Float32Array:
    """Return the errors of all forecasts, (n_forecasts, n_truths), times roots of weights.

    Errors, not forecasts: where these are good, little is left of their products.
    """
    root = np.sqrt(windows.weight).ravel()
    of_last_value = (-windows.future.ravel() * root).astype(np.float32)
    errors = [of_last_value] * len(STRENGTHS)
    for candidate, decomposition in ridges.items():
        for forecast in competition.forecasts(candidate, decomposition, windows):
            error = (forecast - windows.future).ravel() * root
            errors.append(error.astype(np.float32))
    return np.stack(errors)


def _weigh(trial: _Trial) -> tuple[Float64Array, IntArray]:
    """Return each candidate its weight and its strength; the last value where none was compared."""
    candidates, stretches = trial.competition.candidates, trial.stretches
    learns = np.array([candidate.kind != "last" for candidate in candidates])
    if not stretches:
        return 1.0 - learns, np.zeros(len(candidates), dtype=np.int64)
    chosen = choose_strengths(stretches, len(STRENGTHS))
    # Whatever has to be learnt may have been lucky, the more so the shorter the stretches are.
    margins = (
        np.array([candidate.margin for candidate in candidates]) + trial.noise * learns
    )
    return choose_weights(stretches, chosen, len(STRENGTHS), margins=margins), chosen


def _blend(
    competition: Competition, weights: Float64Array, chosen: IntArray
) -> LinearFit:
    """Solve the candidates and add their weighted maps up."""
    problem, candidates = competition.problem, competition.candidates
    own = np.zeros_like(competition.columns.cross)
    mixed = np.zeros_like(competition.mixed.cross[0])
    negligible = [
        c for c, weight in zip(candidates, weights, strict=True) if weight < 1e-6
    ]
    for candidate, equations in competition.equations(negligible):
        place = candidates.index(candidate)
        maps = weights[place] * equations.solve(STRENGTHS[chosen[place]])
        used = competition.features(candidate)
        if candidate.kind == "mixed":
            mixed[used] += maps[0]
        else:
            own[:, used] += maps
    blend = {
        str(c): round(float(w), 4) for c, w in zip(candidates, weights, strict=True)
    }
    return LinearFit(
        own.astype(np.float32),
        mixed.astype(np.float32),
        competition.mixed_len,
        problem.effect.astype(np.float32),
        blend,
        problem.calendar,
    )
