"""Sizes of errors where few errors of earlier forecasts are known, or none.

Of series that were never forecast before it is known how far they move in a row; their errors are
taken to grow as those of a random walk do. Where few errors are known such a walk counts beside
them. Of a series without any observed target not even that is known, and it may be as large as any
of the others.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from skinformer.intervals.features import STILL
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.runs import FEWEST
from skinformer.intervals.spread import Spread, mean_of_known
from skinformer.selection import shrinkage
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline

#: Forecasts whose errors a random walk counts for beside those that are known: one forecast says
#: little of sizes.
_WALK = 1.0
#: The least size of an error.
_LEAST = 1e-12
#: Mean size of an error in deviations of a normal law.
_MEAN_SIZE = np.sqrt(2 / np.pi)


def with_random_walk(
    spread: Spread,
    residuals: Residuals,
    timeline: Timeline,
    targets: Float32Array,
    errors: Float64Array,
) -> tuple[Spread, Residuals]:
    """Shrink sizes to a random walk's, as far as few errors are known; replace them if fewer are.

    Residuals are replaced with them.

    timeline: the rows of the fit.
    targets: (n_rows, n_targets), its targets; NaN does not count.
    errors: (n, pred_len, n_targets), from which spread and residuals were found; NaN is unknown.
    """
    pred_len = len(spread.typical)
    changes = _changes(timeline, targets)
    walk_sizes = _walk_sizes(changes, pred_len)
    n_known = np.isfinite(errors).sum(axis=(0, 1))
    # What never moved from one known row to the next has no such size.
    moves = walk_sizes[0] > np.log(_LEAST)
    share = np.where(moves, shrinkage(n_known / pred_len, _WALK), 1.0)
    shrunk = share * spread.typical + (1 - share) * walk_sizes
    few = (n_known < FEWEST) | _moved_once(changes)
    spread = replace(
        spread,
        typical=np.where(few, walk_sizes, shrunk),
        slope=np.where(few[:, None], 0.0, spread.slope),
        profile=np.where(few, 0.0, spread.profile),
    )
    if few.any():
        residuals = _with_walk_errors(residuals, few)
    return spread, residuals


def _with_walk_errors(residuals: Residuals, few: BoolArray) -> Residuals:
    """Replace errors of such targets by those of a normal law, each the same at all steps.

    A random walk that is off stays off. No two of them happened at one time.
    """
    n_paths = 99
    level = np.arange(1, n_paths + 1) / (n_paths + 1)
    walk = ndtri(level) / _MEAN_SIZE
    _, *shape = residuals.errors.shape
    n = max(n_paths, len(residuals.errors))
    errors = np.resize(residuals.errors, (n, *shape))
    errors[:, :, few] = np.resize(walk, (n, 1, 1))
    series = np.resize(residuals.series, n)
    return replace(
        residuals,
        errors=errors,
        series=series,
        origins=np.arange(n),
        points=np.resize(residuals.points, (n, *shape)),
        level_share=np.where(few, 0.0, residuals.level_share),
        recent_share=np.where(few, 0.0, residuals.recent_share),
    )


def _moved_once(changes: Float64Array) -> BoolArray:
    """Whether a target that stood still moved in one row, or there and back: (n_targets,).

    All errors but those around this row are those of a standstill.
    """
    most_share = 0.1
    n_moves = (np.abs(changes) >= STILL).sum(axis=0)
    n_known = np.isfinite(changes).sum(axis=0)
    is_once = (n_moves == 1) | (n_moves == 2)
    return is_once & (n_moves < most_share * n_known)


def _changes(timeline: Timeline, targets: Float32Array) -> Float64Array:
    """Compute changes of targets from row to row, (n_rows - 1, n_targets); NaN is unknown."""
    values = targets.astype(np.float64)
    if timeline.weight is not None:
        values[timeline.weight == 0] = np.nan
    changes = np.diff(values, axis=0)
    last_of_series = timeline.first_row[1:-1] - 1
    changes[last_of_series] = np.nan
    return changes


def _walk_sizes(changes: Float64Array, pred_len: int) -> Float64Array:
    """Compute logs of mean errors of a random walk with such changes: (pred_len, n_targets)."""
    # Squares: what moved once in many rows will move by as much as it did.
    mean_square = mean_of_known(changes**2, axis=0)
    deviation = np.sqrt(np.nan_to_num(mean_square))
    step = np.arange(1.0, pred_len + 1)[:, None]
    mean_error = _MEAN_SIZE * deviation * np.sqrt(step)
    return np.log(np.maximum(mean_error, _LEAST))


def level_sizes(timeline: Timeline, scaler: Scaler, n_targets: int) -> Float64Array:
    """Compute logs of mean errors of series never observed, (n_series, n_targets); else NaN.

    Such a series is forecast at the mean of the others in the same units, and may have the level
    of any of them.
    """
    if timeline.weight is None:
        return np.full((timeline.n_series, n_targets), np.nan)
    known = timeline.weight[:, :n_targets] > 0
    seen = np.logical_or.reduceat(known, timeline.first_row[:-1], axis=0)
    targets = scaler.targets
    is_log = targets.logs
    levels = pd.DataFrame(scaler.mean[:, :n_targets])
    # Of series of which logarithms are taken, and of the others.
    of_logs = levels.where(seen & is_log).std().to_numpy()
    of_others = levels.where(seen & ~is_log).std().to_numpy()
    scale = scaler.scale[:, :n_targets]
    deviation = np.where(is_log, of_logs, of_others) / scale
    mean_error = _MEAN_SIZE * np.hypot(deviation, 1.0)
    return np.where(seen, np.nan, np.log(mean_error))
