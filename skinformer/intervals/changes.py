"""Sizes of errors where no earlier forecast tells of them.

What is known of series that were never forecast before is how far they move in a row; their errors
are taken to grow as those of a random walk do. Of a series without a truth not even that is known,
and it may be as large as any of the others.
"""

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import Spread, mean_of_known
from skinformer.timeline.arrays import BoolArray, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline

#: Paths that stand for a normal law, each as far off at all of its steps: a walk stays where it is.
_N_PATHS = 99
#: Mean size of an error in deviations of a normal law.
_MEAN_SIZE = np.sqrt(2 / np.pi)


def by_changes(
    spread: Spread, residuals: Residuals, timeline: Timeline, few: BoolArray
) -> tuple[Spread, Residuals]:
    """Return sizes and errors of targets of which too few errors are known, and all others' as is.

    timeline: the rows of the fit.
    few: (n_targets,), which targets these are.
    """
    pred_len, k = spread.typical.shape
    rows = np.arange(len(timeline.values))
    values = timeline.values[:, :k].astype(np.float64)
    if timeline.weight is not None:
        values[timeline.weight[rows] == 0] = np.nan
    changes = np.diff(values, axis=0)
    changes[timeline.first_row[1:-1] - 1] = np.nan
    # Squares: what moved once in many rows will move by as much as it did.
    deviation = np.sqrt(np.nan_to_num(mean_of_known(changes**2, axis=0)))
    step = np.arange(1.0, pred_len + 1)[:, None]
    typical = np.log(np.maximum(_MEAN_SIZE * deviation * np.sqrt(step), 1e-12))
    levels = np.arange(1, _N_PATHS + 1) / (_N_PATHS + 1)
    walk = (ndtri(levels) / _MEAN_SIZE)[:, None, None]
    errors = np.resize(residuals.errors, (max(_N_PATHS, len(residuals.errors)), pred_len, k))
    walks = np.resize(np.broadcast_to(walk, (_N_PATHS, pred_len, k)), errors.shape)
    return (
        replace(
            spread,
            typical=np.where(few, typical, spread.typical),
            slope=np.where(few[:, None], 0.0, spread.slope),
            profile=np.where(few, 0.0, spread.profile),
        ),
        replace(
            residuals,
            errors=np.where(few, walks, errors).astype(np.float32),
            series=np.resize(residuals.series, len(errors)),
            origins=np.arange(len(errors)),  # none of these happened at the time of another
        ),
    )


def level_sizes(timeline: Timeline, scaler: Scaler, n_targets: int) -> Float64Array:
    """Return logs of mean errors of series without a truth, (n_series, n_targets); NaN for others.

    Such a series is forecast at the mean of the others in the same units, and may have the level
    of any of them.
    """
    known = np.ones((len(timeline.values), n_targets), dtype=bool)
    if timeline.weight is not None:
        known = timeline.weight[:, :n_targets] > 0
    seen = np.logical_or.reduceat(known, timeline.first_row[:-1], axis=0)
    out = np.full(seen.shape, np.nan)
    logs = np.zeros(seen.shape, dtype=bool) if scaler.targets is None else scaler.targets.logs
    for series, j in np.argwhere(~seen):
        like = seen[:, j] & (logs[:, j] == logs[series, j])
        level, scale = scaler.mean[like, j], scaler.scale[series, j]
        if len(level) > 1:
            out[series, j] = np.log(_MEAN_SIZE * np.hypot(level.std(ddof=1) / scale, 1.0))
    return out
