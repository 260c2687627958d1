"""Maps that turn with the time of the day: what a blend that is the same at all hours leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from skinformer.algebra import tensor_of
from skinformer.ridge.candidates import affordable
from skinformer.ridge.linear_fit import LinearFit, LinearFits, PhaseMaps
from skinformer.ridge.linear_path import LinearPath, Phases
from skinformer.ridge.sums import (
    STRENGTHS,
    Decomposition,
    Problem,
    Sums,
    TimedOrigins,
    gather,
)
from skinformer.ridge.year import fourier
from skinformer.selection import (
    MOST_STRETCHES,
    SHARES,
    stretch_sums,
    time_stretches,
    upper_bound_share,
)
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray


class _Period(NamedTuple):
    """Windows of one time, and the blend that has not learnt them."""

    fit: LinearFit
    windows: TimedOrigins

    def thinned(self, n_most: int) -> _Period:
        """Return so many windows at most, spread over all."""
        return self._replace(windows=self.windows.thinned(n_most))


def find_phases(
    problem: Problem,
    fits: LinearFits,
    training: TimedOrigins,
    validation: TimedOrigins,
    late: IntArray,
) -> LinearFits:
    """Regress what a blend leaves of windows that it has not learnt, by the time of the day.

    problem: the rows, as the blend saw them, and their cells.
    fits: of the blend, some of them `folds`.
    training, validation: the windows before the split, and within it.
    late: windows of the split that are learnt at last; none for nothing of it.

    All fits come back with `phases`, the final one's learnt with `late`, too, or as they were where
    these are not sure to help. Windows of each time are corrected by maps that have learnt neither
    them nor their blend's luck with them. By these strength and share are chosen, and of the final
    one by the split, too: several seasons speak, where the split is one. Cost: 10,000 windows times
    the square of the features, and four decompositions for each target.
    """
    layout = _make_layout(problem)
    if layout is None:
        return fits
    # 1. Nothing large is learnt from little, and four sums fit in memory together.
    n_features = _n_features(problem, layout)
    n_rows = 4 * problem.n_targets * n_features
    if len(training.origins) < n_features or not affordable(
        n_rows * n_features, n_rows * problem.pred_len
    ):
        return fits
    # 2. Maps, judged by each time; the final one by the split, too.
    periods = _cut_periods(fits, training)
    split = _Period(fits.before, validation)
    if not all(len(period.windows.origins) for period in [*periods, split]):
        return fits
    return _with_maps(problem, layout, fits, periods, split, late)


def _with_maps(
    problem: Problem,
    layout: PhaseMaps,
    fits: LinearFits,
    periods: list[_Period],
    split: _Period,
    late: IntArray,
) -> LinearFits:
    """Add maps to all fits, as far as they are sure to help, by what each fit may know.

    Each blend gets those that have not learnt its period, with strength and share chosen by the
    periods alone, for the split judges it later; the final one's are chosen by the split, too.
    """
    ridges, last = _learn_ridges(problem, layout, fits, periods, late)
    # Strength and share, by what each ridge has not learnt.
    losses = _stretch_losses(problem, layout, [*periods, split], ridges)
    early = _choose(losses[:-1])
    # Where the split holds no two forecasts nothing is sure.
    latest = _choose(losses if len(losses[-1]) else losses[-1:])
    *of_folds, before = [_phases_of(layout, ridge, early) for ridge in ridges]
    folds = [
        (end, replace(fit, phases=phases))
        for (end, fit), phases in zip(fits.folds, of_folds, strict=True)
    ]
    return LinearFits(
        replace(fits.before, phases=before),
        replace(fits.final, phases=_phases_of(layout, last, latest)),
        tuple(folds),
    )


def _learn_ridges(
    problem: Problem,
    layout: PhaseMaps,
    fits: LinearFits,
    periods: list[_Period],
    late: IntArray,
) -> tuple[list[Decomposition], Decomposition]:
    """Learn ridges without each period, and of all of them; and one of late windows, too."""
    n_windows = sum(len(period.windows.origins) for period in periods)
    learn = partial(_learn, problem, layout, 10_000 / n_windows)
    sums = [learn(period) for period in periods]
    whole = Sums.total(sums)
    learnt = [*Sums.leave_one_out(sums), whole]
    ridges = [each.means().decomposed() for each in learnt]
    if not len(late):
        return ridges, ridges[-1]
    newest = learn(_Period(fits.before, TimedOrigins(late, late)))
    return ridges, Sums.total([whole, newest]).means().decomposed()


def _phases_of(
    layout: PhaseMaps, ridge: Decomposition, choice: _StrengthAndShare
) -> PhaseMaps | None:
    """Return the maps of a ridge; None where they have no share."""
    if not choice.share:
        return None
    weights = choice.share * ridge.solve(choice.strength)
    return layout._replace(weights=weights.astype(np.float32))


def _cut_periods(fits: LinearFits, training: TimedOrigins) -> list[_Period]:
    """Cut the training windows into the periods of the folds, each beside its fold's fit."""
    number = fits.fold_of(training.steps)
    return [
        _Period(fit, training.take(number == i))
        for i, (_, fit) in enumerate(fits.folds)
    ]


def _make_layout(problem: Problem) -> PhaseMaps | None:
    """Describe what is read, without weights; None where there is no cycle, or none to see."""
    cycle = problem.cycle
    if cycle is None:
        return None
    n_times = cycle.n_times if cycle.n_times > 1 else cycle.n_cells
    # Rows of a cycle: three-hourly, 8.
    period = len(np.unique(cycle.of_row % n_times))
    n_waves = min(4, (period - 1) // 2)
    if not n_waves:
        return None
    own, others = _window_features(problem.seq_len, period)
    if problem.n_observed > 16:
        others = others[:, :0]
    return PhaseMaps(
        cycle.places,
        waves=fourier(np.arange(n_times) / n_times, n_waves).astype(np.float32),
        own=own,
        others=others,
        weights=np.zeros((problem.n_targets, 0, 0), dtype=np.float32),
    )


def _window_features(seq_len: int, period: int) -> tuple[Float32Array, Float32Array]:
    """Return what is read of a target's window, and of every column's, (seq_len, n_features) each.

    Of a target's the last 24 rows, but for a distance of 0, and the means of 28 parts; of every
    column's the means over a cycle and the whole window.
    """
    rows = np.eye(seq_len, dtype=np.float32)
    size = max(1, seq_len // 28)
    n_parts = seq_len // size
    in_parts = rows[:, -n_parts * size :].reshape(seq_len, n_parts, size)
    own = np.column_stack([rows[:, -25:-1], in_parts.mean(axis=2)])
    others = [rows.mean(axis=1)]
    if period <= seq_len:
        of_cycle = rows[:, -period:].mean(axis=1)
        others.insert(0, of_cycle)
    return own, np.column_stack(others)


def _n_features(problem: Problem, maps: PhaseMaps) -> int:
    """Count what the maps read of a target, times the waves."""
    n_read = maps.own.shape[1] + problem.n_observed * maps.others.shape[1] + 1
    return maps.waves.shape[1] * n_read


class _Leftovers(NamedTuple):
    """What a fit leaves of some windows.

    features: what each target's maps read, (n_targets, n_windows, n_features).
    y: what is left, (n_windows, pred_len, n_targets).
    weight: of the same shape.
    """

    features: Float32Array
    y: Float64Array
    weight: Float64Array


def _residuals(
    problem: Problem, maps: PhaseMaps, period: _Period
) -> Iterator[_Leftovers]:
    """Compute what a fit leaves of windows, chunk by chunk."""
    path = LinearPath(period.fit)
    phases = Phases(maps)
    assert problem.cycle is not None
    for windows in gather(problem, period.windows.origins):
        cell = tensor_of(problem.cycle.of_row[windows.origins]).long()
        # PERF: products of float32 take half the time; sums over chunks are added in float64.
        distance = tensor_of(windows.past).float()
        last = tensor_of(windows.last).float()
        observed = distance[..., : problem.n_observed]
        yield _Leftovers(
            phases.read(observed, cell).mT.numpy(),
            windows.future - path.map_distances(distance, last).numpy(),
            windows.weight,
        )


def _learn(problem: Problem, maps: PhaseMaps, part: float, period: _Period) -> Sums:
    """Add up what the maps read of a part of the windows, and what the fit leaves."""
    sums = Sums.of_sizes(
        problem.n_targets, _n_features(problem, maps), problem.pred_len
    )
    n_most = int(part * len(period.windows.origins)) + 1
    for left in _residuals(problem, maps, period.thinned(n_most)):
        for j, features in enumerate(left.features):
            sums.add(j, features, left.y[:, :, j], left.weight[:, :, j])
    return sums


class _StrengthAndShare(NamedTuple):
    """The strength of a ridge, and the share of it that is added, 0 where none is sure to help."""

    strength: float
    share: float


def _choose(losses: list[Float64Array]) -> _StrengthAndShare:
    """Choose strength and share by the losses on stretches, (n_stretches, n) each."""
    known = np.concatenate(losses)
    if not len(known):
        return _StrengthAndShare(STRENGTHS[0], 0.0)
    strength, share = divmod(upper_bound_share(known), len(SHARES))
    return _StrengthAndShare(STRENGTHS[strength], SHARES[share])


def _stretch_losses(
    problem: Problem,
    maps: PhaseMaps,
    judges: list[_Period],
    ridges: list[Decomposition],
) -> list[Float64Array]:
    """Return losses of each period's stretches, (n_stretches, n_strengths * n_shares).

    The last period, the split, has more of them. There are none where one holds no two forecasts.
    """
    n_numbers = len(judges) * problem.pred_len * problem.n_targets
    n_windows = min(max(2_000_000 // n_numbers, 32), 600)
    losses = []
    for period, ridge in zip(judges, ridges, strict=True):
        some = period.thinned(n_windows)
        stretches = time_stretches(
            some.windows.steps,
            problem.pred_len,
            n_most=MOST_STRETCHES if period is judges[-1] else 4,
        )
        of_period = np.empty((0, len(STRENGTHS) * len(SHARES)))
        if stretches is not None:
            of_period = stretch_sums(_losses(problem, maps, some, ridge), stretches)
        losses.append(of_period)
    return losses


def _losses(
    problem: Problem, maps: PhaseMaps, period: _Period, ridges: Decomposition
) -> Float64Array:
    """Return squared errors of windows by strength and share, (n, n_strengths * n_shares)."""
    shares = np.array(SHARES)
    losses = []
    for left in _residuals(problem, maps, period):
        weighted = left.weight * left.y
        alone = (weighted * left.y).sum(axis=(1, 2))
        of_chunk = []
        for forecast in ridges.forecasts(left.features):
            added = forecast.transpose(1, 2, 0)
            linear = (weighted * added).sum(axis=(1, 2))
            square = (left.weight * added**2).sum(axis=(1, 2))
            gain = 2 * np.outer(linear, shares) - np.outer(square, shares**2)
            of_chunk.append(alone[:, None] - gain)
        losses.append(np.column_stack(of_chunk))
    return np.concatenate(losses)
