"""Sizes of errors where no errors of earlier forecasts are known.

Of series that were never forecast before it is known how far they move in a row; their errors are
taken to grow as those of a random walk do. Of a series without any observed target not even that is
known, and it may be as large as any of the others.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import Spread, mean_of_known
from skinformer.timeline.arrays import BoolArray, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline

#: Mean size of an error in deviations of a normal law.
_MEAN_SIZE = np.sqrt(2 / np.pi)


def with_random_walk(
    spread: Spread, residuals: Residuals, timeline: Timeline, few: BoolArray
) -> tuple[Spread, Residuals]:
    """Replace sizes and errors of targets of which too few errors are known by a random walk's.

    timeline: the rows of the fit.
    few: (n_targets,), which targets these are.
    """
    walking = Spread(
        typical=np.where(
            few, _walk_sizes(timeline, *spread.typical.shape), spread.typical
        ),
        centre=spread.centre,
        slope=np.where(few[:, None], 0.0, spread.slope),
        profile=np.where(few, 0.0, spread.profile),
    )
    # Errors of a normal law, each the same at all steps: a random walk that is off stays off.
    n_paths = 99
    walk = ndtri(np.arange(1, n_paths + 1) / (n_paths + 1)) / _MEAN_SIZE
    n = max(n_paths, len(residuals.errors))
    errors = np.resize(residuals.errors, (n, *residuals.errors.shape[1:]))
    errors = np.where(few, np.resize(walk, n)[:, None, None], errors).astype(np.float32)
    # None of these happened at the time of another.
    series = np.resize(residuals.series, n)
    return walking, replace(
        residuals, errors=errors, series=series, origins=np.arange(n)
    )


def _walk_sizes(timeline: Timeline, pred_len: int, n_targets: int) -> Float64Array:
    """Compute logs of mean errors of a random walk with the changes of each target."""
    values = timeline.values[:, :n_targets].astype(np.float64)
    if timeline.weight is not None:
        values[timeline.weight == 0] = np.nan
    changes = np.diff(values, axis=0)
    changes[timeline.first_row[1:-1] - 1] = np.nan
    # Squares: what moved once in many rows will move by as much as it did.
    deviation = np.sqrt(np.nan_to_num(mean_of_known(changes**2, axis=0)))
    step = np.arange(1.0, pred_len + 1)[:, None]
    mean_error = _MEAN_SIZE * deviation * np.sqrt(step)
    return np.asarray(np.log(np.maximum(mean_error, 1e-12)))


def level_sizes(timeline: Timeline, scaler: Scaler, n_targets: int) -> Float64Array:
    """Compute logs of mean errors of series never observed, (n_series, n_targets); else NaN.

    Such a series is forecast at the mean of the others in the same units, and may have the level
    of any of them.
    """
    if timeline.weight is None:
        return np.full((timeline.n_series, n_targets), np.nan)
    known = timeline.weight[:, :n_targets] > 0
    seen = np.logical_or.reduceat(known, timeline.first_row[:-1], axis=0)
    targets: Any = scaler.targets  # a regressor's always has it
    is_log = targets.logs
    levels = pd.DataFrame(scaler.mean[:, :n_targets])
    # Of series of which logarithms are taken, and of the others.
    of_logs = levels.where(seen & is_log).std().to_numpy()
    of_others = levels.where(seen & ~is_log).std().to_numpy()
    deviation = np.where(is_log, of_logs, of_others) / scaler.scale[:, :n_targets]
    return np.where(seen, np.nan, np.log(_MEAN_SIZE * np.hypot(deviation, 1.0)))
