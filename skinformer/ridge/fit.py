"""Fit the linear path: let ridges compete on stretches of time, blend them, fold them into one."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.blend import Stretch, choose_strengths, choose_weights, mixed_errors
from skinformer.ridge.calendar import calendar_effect, known_columns, known_effect, year_effect
from skinformer.ridge.candidates import STRENGTHS, Candidate, Competition
from skinformer.ridge.lagged import in_runs
from skinformer.ridge.linear_fit import LinearFit, LinearFits
from skinformer.ridge.phases import find_phases
from skinformer.ridge.sums import Problem, Windows, gather
from skinformer.selection import sure_gain
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.windows import spread_places

_N_STRETCHES = 4  # on which candidates are compared, the newest ones
_WINDOWS_PER_STRETCH = 256  # that are forecast there, spread over it; fewer where they are large
_VALUES_PER_STRETCH = 1_000_000  # of all these forecasts together
_ENOUGH_COMPLETE = 4  # windows for each row of a window
_NEGLIGIBLE = 1e-6  # weight of a candidate that is left out
# Brings random walks of 300 rows from 15 % above the last value (mean of five) to 2 % (of 60).
_NOISE = 0.5
_USABLE_MISSING = 0.4  # share of truths; with more missing, the rows are mostly held values
# By so many windows, where they are no runs, and so many of their rows, it is judged what the
# calendar and columns do.
_EFFECT_JUDGES, _EFFECT_ROWS = 10_000, 336
_YEAR_JUDGES = 4_000  # for all candidates take part there
_EFFECT_GAIN = 0.01  # of the log error: a cycle that is worth less is only one more thing to know
_FORECAST_BYTES = 64_000_000  # of the forecasts of all candidates at a time
_FARTHEST = 10.0  # times the largest value before the split, from which one is not like it
_FALLBACK = Candidate("last")  # where nothing can be compared


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
    and six decompositions of each candidate; with `n_folds` two passes and ``2 · n_folds``
    decompositions more. Memory: the sums, with `n_folds` twice, and 16 MB.
    """
    order = np.argsort(steps, kind="stable")
    origins, steps = origins[order], steps[order]
    usable = _usable(problem, origins)
    origins, steps = origins[usable], steps[usable]
    n_training = _before(steps, split, problem.pred_len)
    bare, find = problem, _find_effect(problem, origins, steps, split)
    problem = find(bare, origins[:n_training])
    competition, stretches, noise = _compete(problem, origins, steps, split)
    training = origins[:n_training], steps[:n_training]
    ends = _fold_ends(problem, training[1], n_folds)
    for rest, unknown in _apart(competition, *training, ends):
        stretch = _compare(rest, _thinned(problem, unknown))
        stretches += [] if stretch is None else [stretch]
    weights = _weigh(competition, stretches, noise=noise)
    before = after = _blend(competition, *weights)
    # Learnt anew: the sums of all times beside each other would be several times the memory.
    others = [_blend(rest, *weights) for rest, _ in _apart(competition, *training, ends)]
    late = origins[:0]
    if refit and n_training < len(origins):
        late = _like_before(problem, origins, n_training)
        competition.learn(late)
        after = _blend(competition, *weights)
        if problem.calendar is not None:
            # The newest holiday, too.
            everything = np.append(origins[:n_training], late)
            after = replace(after, calendar=find(bare, everything).calendar)
    folds = tuple(zip(ends.tolist(), others, strict=True))
    fits = LinearFits(before, after, folds)
    if folds and split is not None:
        held_out = steps >= split
        within = origins[held_out], steps[held_out]
        fits = find_phases(problem, fits, training, within, late)
    return fits


def _find_effect(
    problem: Problem, origins: IntArray, steps: IntArray, split: int | None
) -> Callable[[Problem, IntArray], Problem]:
    """Find what is known ahead by itself, where ridges forecast better without it.

    The effect of columns alone explains changes since the origin, and so does whatever has the same
    cycle: the temperature of another city explains when people are in the street, as long as no
    ridge has seen the day before. So each kind of effect has to prove itself on later rows than
    those that it was found on.
    """
    n_training = _before(steps, split, problem.pred_len)
    start = min((a for a, _ in _stretch_borders(steps[:n_training], steps, split)), default=0)
    early = origins[: _before(steps[:n_training], start, problem.pred_len)]
    judged = origins, steps, split
    tried = [(margin, kind(problem, early)) for kind, margin in _EFFECTS]
    best, most, nothing = 0, 0.0, None
    for i, (margin, found) in enumerate(tried if any(found for _, found in tried[1:]) else ()):
        errors = None if found is None else _errors_with(found, *judged)
        if errors is None:
            continue
        nothing = errors if nothing is None else nothing
        gains = nothing - errors
        gain = sure_gain(gains) - margin if margin else float(gains.mean())
        if gain >= most:
            best, most = i, gain
    kind = _EFFECTS[best][0]

    def find(problem: Problem, origins: IntArray) -> Problem:
        return kind(problem, origins) or _without(problem)

    without = find(problem, early)
    within = _with_year(without, early)
    if within is None:
        return find
    # By all candidates: those that see levels gain most.
    before, after = (_errors_with(each, *judged, alone=False) for each in (without, within))
    if before is None or after is None or sure_gain(before - after) < _EFFECT_GAIN:
        return find

    def find_with_year(problem: Problem, origins: IntArray) -> Problem:
        found = find(problem, origins)
        return _with_year(found, origins) or found

    return find_with_year


def _with_year(problem: Problem, origins: IntArray) -> Problem | None:
    """Add the time of the year to what is known ahead; None where no whole year was seen."""
    k, calendar = problem.n_targets, problem.calendar
    year = year_effect(problem, origins) if len(origins) else None
    if year is None or problem.cycle is None:
        return None
    if calendar is None:
        cells = problem.cycle.cells
        seen = known_columns(problem, origins, len(problem.effect))
        bounds = np.stack([seen.min(axis=0), seen.max(axis=0)])
        none, effect = np.zeros((cells.n_cells, k)), problem.effect[None]
        calendar = CalendarEffect(none, effect, bounds, cells.places, cells.fields)
    return problem._replace(calendar=calendar._replace(year=year))


def _without(problem: Problem, _: IntArray | None = None) -> Problem:
    return problem._replace(effect=np.zeros_like(problem.effect), calendar=None)


def _of_columns(problem: Problem, origins: IntArray) -> Problem | None:
    effect = known_effect(problem, origins)
    return problem._replace(effect=effect) if effect.any() else None


def _of_calendar(
    problem: Problem, origins: IntArray, *, with_known: bool = False
) -> Problem | None:
    if with_known and not len(problem.effect):
        return None
    calendar = calendar_effect(problem, origins, with_known=with_known)
    return None if calendar is None else problem._replace(calendar=calendar)


_of_both = partial(_of_calendar, with_known=True)
#: What is tried, nothing first, and by what log error it surely has to be better; 0 for on average.
_EFFECTS = (
    (_without, 0.0),
    (_of_columns, 0.0),
    (_of_calendar, _EFFECT_GAIN),
    (_of_both, _EFFECT_GAIN),
)


def _errors_with(
    problem: Problem, origins: IntArray, steps: IntArray, split: int | None, *, alone: bool = True
) -> Float64Array | None:
    """Return the log error, on each stretch, of short maps beside the problem's effect."""
    problem = problem._replace(seq_len=min(problem.seq_len, _EFFECT_ROWS))
    rows = origins, steps
    if not (alone and in_runs(problem, origins)):
        some = spread_places(len(origins), _EFFECT_JUDGES if alone else _YEAR_JUDGES)
        rows = origins[some], steps[some]
    competition, stretches, noise = _compete(problem, *rows, split, alone=alone)
    if not stretches:
        return None
    weights, chosen = _weigh(competition, stretches, noise=noise)
    return np.log(mixed_errors(stretches, weights, chosen, len(STRENGTHS)))


def _compete(
    problem: Problem, origins: IntArray, steps: IntArray, split: int | None, *, alone: bool = False
) -> tuple[Competition, list[Stretch], float]:
    """Let all candidates forecast stretches, each fitted before them, and learn up to the split.

    The last is how much of a relative error is chance.
    """
    n_training = _before(steps, split, problem.pred_len)
    competition = Competition(problem, alone=alone)
    stretches: list[Stretch] = []
    sizes: list[int] = []
    n_learnt = 0
    for start, end in _stretch_borders(steps[:n_training], steps, split):
        ready = _before(steps[:n_training], start, problem.pred_len)
        competition.learn(origins[n_learnt:ready])
        n_learnt = max(n_learnt, ready)
        held_out = np.flatnonzero((steps >= start) & (steps < end))
        if n_learnt and len(held_out):
            stretch = _compare(competition, _thinned(problem, origins[held_out]))
            if stretch is not None:
                stretches.append(stretch)
                # Series of a panel move together: many of one time say hardly more than one.
                sizes.append(len(np.unique(steps[held_out])))
    competition.learn(origins[n_learnt:n_training])
    # How much a relative error says by chance: a stretch has so many times of forecasts.
    noise = _NOISE * math.sqrt(problem.pred_len / max(min(sizes, default=1), 1))
    return competition, stretches, noise


def _fold_ends(problem: Problem, steps: IntArray, n_folds: int) -> IntArray:
    """Cut training windows into equal times, and say where each ends; none where they are few."""
    if len(steps) < max(n_folds, 1) * (problem.seq_len + problem.pred_len):
        return steps[:0]
    places = np.linspace(0, len(steps) - 1, n_folds + 1).astype(np.int64)[1:]
    return steps[places] + 1


def _apart(
    whole: Competition, origins: IntArray, steps: IntArray, ends: IntArray
) -> Iterator[tuple[Competition, IntArray]]:
    """Give, for each time, what has learnt all others, and the windows of unknown truths.

    `whole` has learnt all of them.
    """
    of_window = np.searchsorted(ends, steps, side="right")
    # Windows on both sides of a border share truths.
    near = (np.abs(steps[:, None] - ends[:-1] + 0.5) < whole.problem.pred_len - 0.5).any(axis=1)
    for number in range(len(ends)):
        inside, rest = of_window == number, Competition(whole.problem)
        rest.learn(origins[inside])
        rest.turn_over(whole)
        yield rest, origins[inside & ~near]


def _before(steps: IntArray, split: int | None, pred_len: int) -> int:
    """Count the windows whose targets all lie before the split."""
    if split is None:
        return len(steps)
    return int(np.searchsorted(steps, split - pred_len, side="right"))


def _usable(problem: Problem, origins: IntArray) -> BoolArray:
    """Choose the windows to learn from: whole ones if there are enough, else all or none.

    A missing truth is held in the rows, in the window's past and in its future. A few do little;
    with many, and with those that are missing by the clock, a map would learn to continue held
    values, which forecasts never see.
    """
    everything = np.ones(len(origins), dtype=bool)
    if problem.missing is None:
        return everything
    missing = np.zeros((len(problem.missing) + 1, problem.missing.shape[1]), dtype=np.int64)
    np.cumsum(problem.missing, axis=0, out=missing[1:])
    seen = missing[origins + problem.pred_len] - missing[origins - problem.seq_len]
    whole: BoolArray = (seen == 0).all(axis=1)
    if whole.sum() >= min(_ENOUGH_COMPLETE * problem.seq_len, len(origins)):
        return whole
    length = problem.seq_len + problem.pred_len
    few = bool(seen.mean() <= _USABLE_MISSING * length)
    return everything if few else ~everything


def _like_before(problem: Problem, origins: IntArray, n_training: int) -> IntArray:
    """Leave out windows of the split that hold what strengths chosen before it know nothing of.

    One series of 336 that a new product made rise to 2300 deviations made the ridges of all the
    others err four times as much.
    """
    size = np.abs(problem.values[:, : problem.n_targets]).max(axis=1)
    first, end = origins - problem.seq_len, origins + problem.pred_len
    seen = np.zeros(len(size) + 1, dtype=np.int64)
    np.add.at(seen, first[:n_training], 1)
    np.add.at(seen, end[:n_training], -1)
    before = size[np.cumsum(seen[:-1]) > 0]
    far = np.concatenate([[0], np.cumsum(size > _FARTHEST * before.max(initial=1.0))])
    near: BoolArray = far[end] == far[first]
    return origins[n_training:][near[n_training:]]


def _thinned(problem: Problem, origins: IntArray) -> IntArray:
    """Keep so many that can be compared, spread over all."""
    n_most = max(_VALUES_PER_STRETCH // (problem.n_targets * problem.pred_len), 32)
    return origins[spread_places(len(origins), min(n_most, _WINDOWS_PER_STRETCH))]


def _stretch_borders(
    training: IntArray, steps: IntArray, split: int | None
) -> list[tuple[int, int]]:
    """Cut the second half of the training windows into stretches; the split is the last one."""
    if not len(training):
        return []
    n_parts = _N_STRETCHES if split is None else _N_STRETCHES - 1
    places = np.linspace(len(training) // 2, len(training) - 1, n_parts + 1).astype(np.int64)
    borders = training[places]
    borders[-1] += 1
    if split is not None:
        borders = np.concatenate([borders, [int(steps[-1]) + 1]])
        borders[-2] = split
    return [(int(a), int(b)) for a, b in pairwise(borders)]


def _compare(competition: Competition, origins: IntArray) -> Stretch | None:
    """Forecast some windows by every candidate and strength; None where no truth is known."""
    solutions = [(c, e.all_forecasters(len(origins))) for c, e in competition.equations()]
    n_forecasts = len(competition.candidates) * len(STRENGTHS)
    products, total = np.zeros((n_forecasts, n_forecasts)), 0.0
    for windows in gather(competition.problem, origins):
        size = max(1, _FORECAST_BYTES // (n_forecasts * windows.future[0].size * 4))
        for start in range(0, len(windows.last), size):
            part = Windows(*(a[start : start + size] for a in windows))
            # Errors, not forecasts: where these are good, little is left of their products.
            errors = np.empty((n_forecasts, *part.future.shape), dtype=np.float32)
            errors[: len(STRENGTHS)] = -part.future  # of the last value
            for candidate, maps in solutions:
                first = competition.candidates.index(candidate) * len(STRENGTHS)
                for i, forecast in enumerate(competition.forecasts(candidate, maps, part), first):
                    np.subtract(forecast, part.future, out=errors[i], casting="same_kind")
            errors *= np.sqrt(part.weight).astype(np.float32)
            flat = errors.reshape(n_forecasts, -1)
            products += product(flat, flat.T)
            total += float(part.weight.sum())
    return products / total if total else None


def _weigh(
    competition: Competition, stretches: list[Stretch], *, noise: float
) -> tuple[Float64Array, IntArray]:
    """Return each candidate its weight and its strength; the last value where none was compared."""
    candidates = competition.candidates
    if not stretches:
        weights = np.array([float(candidate == _FALLBACK) for candidate in candidates])
        return weights, np.zeros(len(candidates), dtype=np.int64)
    chosen = choose_strengths(stretches, len(STRENGTHS))
    # Whatever has to be learnt may have been lucky, the more so the shorter the stretches are.
    margins = np.array([c.margin + noise * (c != _FALLBACK) for c in candidates])
    return choose_weights(stretches, chosen, len(STRENGTHS), margins=margins), chosen


def _blend(competition: Competition, weights: Float64Array, chosen: IntArray) -> LinearFit:
    """Solve the candidates and add their weighted maps up."""
    problem, candidates = competition.problem, competition.candidates
    pairs = list(zip(candidates, weights, strict=True))
    own = np.zeros((len(competition.columns.gram), problem.seq_len, problem.pred_len))
    mixed = np.zeros(competition.mixed.cross.shape[1:])
    skip = [c for c, w in pairs if w < _NEGLIGIBLE]
    for candidate, equations in competition.equations(skip):
        place = candidates.index(candidate)
        maps = weights[place] * equations.solve(STRENGTHS[chosen[place]])
        used = competition.features(candidate)
        if candidate.kind == "mixed":
            mixed[used] += maps[0]
        else:
            own[:, used] += maps
    blend = {str(c): round(float(w), 4) for c, w in pairs}
    return LinearFit(own, mixed, competition.mixed_len, problem.effect, blend, problem.calendar)
