"""Maps that turn with the time of the day: what a blend that is the same at all hours leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from skinformer.ridge.calendar import fourier
from skinformer.ridge.candidates import affordable
from skinformer.ridge.linear_fit import LinearFit, LinearFits, PhaseMaps
from skinformer.ridge.linear_path import LinearPath
from skinformer.ridge.sums import (
    STRENGTHS,
    Decomposition,
    Equations,
    Problem,
    Sums,
    TimedOrigins,
    Windows,
    gather,
)
from skinformer.selection import MOST_STRETCHES, SHARES, cut_stretches, surest_share
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray


class _Period(NamedTuple):
    """Windows of one time, and the blend that has not learnt them."""

    fit: LinearFit
    windows: TimedOrigins


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
    these are not sure to help. Windows of each time are corrected by
    maps that have learnt neither them nor their blend's luck with them. By these, and by those of
    the split, strength and share are chosen: several seasons speak, where the split is one. Cost:
    10,000 windows times the square of the features, and four decompositions for each target.
    """
    layout = _make_layout(problem)
    if layout is None or len(training.origins) < _n_features(problem, layout):
        return fits  # nothing so large is learnt from so little
    ends = [end for end, _ in fits.folds[:-1]]
    number = np.searchsorted(ends, training.steps, side="right")
    periods = [
        _Period(fit, training.take(number == i))
        for i, (_, fit) in enumerate(fits.folds)
    ]
    judges = [*periods, _Period(fits.before, validation)]
    if not all(len(period.windows.origins) for period in judges):
        return fits
    # 1. Equations without each period, and of all of them.
    part = 10_000 / len(training.origins)
    sums = [_learn(problem, layout, period, part) for period in periods]
    whole = Sums.total(sums)
    equations = [
        *(others.means() for others in Sums.leave_one_out(sums)),
        whole.means(),
    ]
    # 2. Strength and share, by periods that were not learnt.
    best = _choose(problem, layout, judges, [each.decomposed() for each in equations])
    if best is None:
        return fits
    # 3. Each blend has the maps that have not learnt its period.
    if len(late):
        newest = _Period(fits.before, TimedOrigins(late, late))
        whole = Sums.total([whole, _learn(problem, layout, newest, part)])
    return _with_phases(fits, layout, [*equations, whole.means()], *best)


def _with_phases(
    fits: LinearFits,
    layout: PhaseMaps,
    equations: list[Equations],
    strength: float,
    share: float,
) -> LinearFits:
    """Add maps to all fits, by the equations of those without each period, before and final."""
    blends = [*(fit for _, fit in fits.folds), fits.before, fits.final]
    found = []
    for fit, learnt in zip(blends, equations, strict=True):
        weights = (share * learnt.solve(strength)).astype(np.float32)
        found.append(replace(fit, phases=layout._replace(weights=weights)))
    *folds, before, final = found
    ends = [end for end, _ in fits.folds]
    return LinearFits(before, final, tuple(zip(ends, folds, strict=True)))


def _make_layout(problem: Problem) -> PhaseMaps | None:
    """Describe what is read, without weights; None where there is no cycle, or too much to read."""
    if problem.cycle is None:
        return None
    cells, k = problem.cycle.cells, problem.n_targets
    n_times = cells.n_times if cells.n_times > 1 else cells.n_cells
    period = len(
        np.unique(problem.cycle.of_row % n_times)
    )  # rows of a cycle: three-hourly, 8
    n_waves = min(4, (period - 1) // 2)
    waves = fourier(np.arange(n_times) / n_times, n_waves)
    own, others = _window_features(problem.seq_len, period)
    if problem.n_observed > 16:
        others = others[:, :0]
    tables = (
        table.astype(np.float32) for table in (waves, own, others, np.zeros((k, 0, 0)))
    )
    maps = PhaseMaps(cells.places, *tables)
    n = _n_features(problem, maps)
    # The sums of three times and all of them are held beside each other.
    fits = affordable(4 * k * n * n, 4 * k * n * problem.pred_len)
    return maps if n_waves and fits else None


def _window_features(seq_len: int, period: int) -> tuple[Float64Array, Float64Array]:
    """Return what is read of a target's window, and of every column's, (seq_len, n_features) each.

    Of a target's the last 24 rows, but for a distance of 0, and the means of 28 parts; of every
    column's the means over a cycle and the whole window.
    """
    rows = np.eye(seq_len)
    near = rows[:, max(seq_len - 25, 0) : -1]
    size = max(1, seq_len // 28)
    n_parts = seq_len // size
    parts = (
        rows[:, seq_len - n_parts * size :].reshape(seq_len, n_parts, size).mean(axis=2)
    )
    means = [rows[:, -n:].mean(axis=1) for n in (period, seq_len) if n <= seq_len]
    return np.concatenate([near, parts], axis=1), np.stack(means, axis=1)


def _n_features(problem: Problem, maps: PhaseMaps) -> int:
    """Count what the maps read of a target, times the waves."""
    n_read = maps.own.shape[1] + problem.n_observed * maps.others.shape[1] + 1
    return int(maps.waves.shape[1] * n_read)


def _residuals(
    problem: Problem, maps: PhaseMaps, fit: LinearFit, origins: IntArray
) -> Iterator[tuple[slice, Windows, Float32Array, Float64Array]]:
    """Return places of windows, these, what each target's maps read, and what a fit leaves.

    origins: ascending. Read is (n_targets, n_windows, n_features), left what `future` is.
    """
    path = LinearPath(replace(fit, phases=maps))
    assert problem.cycle is not None
    assert path.phases is not None
    stop = 0
    for windows in gather(problem, origins):
        part = slice(stop, stop + len(windows.last))
        stop = part.stop
        cell = problem.cycle.of_row[origins[part]]
        distance, last = (
            torch.tensor(windows.past).float(),
            torch.tensor(windows.last).float(),
        )
        features = path.phases.read(
            distance[..., : problem.n_observed], torch.tensor(cell).long()
        )
        left = windows.future - path.map_distances(distance, last).numpy()
        # PERF: products of float32 take half the time; sums over chunks are added in float64.
        yield part, windows, features.mT.numpy(), left


def _learn(problem: Problem, maps: PhaseMaps, period: _Period, part: float) -> Sums:
    """Add up what the maps read of a part of the windows, and what the fit leaves."""
    sums = Sums.of_sizes(
        problem.n_targets, _n_features(problem, maps), problem.pred_len
    )
    n_most = int(part * len(period.windows.origins)) + 1
    origins = period.windows.thinned(n_most).origins
    for _, windows, features, left in _residuals(problem, maps, period.fit, origins):
        for j in range(problem.n_targets):
            sums.add(j, features[j], left[:, :, j], windows.weight[:, :, j])
    return sums


def _choose(
    problem: Problem,
    maps: PhaseMaps,
    judges: list[_Period],
    ridges: list[Decomposition],
) -> tuple[float, float] | None:
    """Choose strength and share by all stretches of all times, the last of which is the split."""
    n_outputs = problem.pred_len * problem.n_targets
    n_most = min(max(2_000_000 // (n_outputs * len(judges)), 32), 600)
    losses = []
    for period, ridge in zip(judges, ridges, strict=True):
        is_split = period is judges[-1]
        some = period._replace(windows=period.windows.thinned(n_most))
        n_stretches = MOST_STRETCHES if is_split else 4
        stretches = cut_stretches(
            some.windows.steps, problem.pred_len, n_most=n_stretches
        )
        if stretches is not None:
            losses.append(_losses(problem, maps, some, ridge, stretches))
        elif is_split:
            return None
    # The first share is none, whatever the strength.
    strength, share = divmod(surest_share(np.concatenate(losses)), len(SHARES))
    return (STRENGTHS[strength], SHARES[share]) if share else None


def _losses(
    problem: Problem,
    maps: PhaseMaps,
    period: _Period,
    ridges: Decomposition,
    stretches: IntArray,
) -> Float64Array:
    """Return squared errors of each strength and share, (n_stretches, n_strengths * n_shares)."""
    shares, origins = np.array(SHARES), period.windows.origins
    out = np.zeros((int(stretches.max()) + 1, len(STRENGTHS), len(shares)))
    for part, windows, features, left in _residuals(problem, maps, period.fit, origins):
        alone = (windows.weight * left**2).sum(axis=(1, 2))[:, None]
        for i, forecast in enumerate(ridges.forecasts(features)):
            added = forecast.transpose(1, 2, 0)
            linear = (windows.weight * left * added).sum(axis=(1, 2))[:, None]
            square = (windows.weight * added**2).sum(axis=(1, 2))[:, None]
            losses = alone - 2 * shares * linear + shares**2 * square
            np.add.at(out[:, i], stretches[part], losses)
    return out.reshape(len(out), -1)
