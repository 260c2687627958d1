"""What ridges need of all windows of a run of rows, without the windows.

Windows that begin a row later hold the same rows but for two, so that their products differ from
the last ones by one row that came and one that went. Cost: ``rows · length`` products for each
column, where windows take ``rows · seq_len · length``.
"""

import numpy as np

from skinformer.ridge.sums import Problem, Sums, remaining
from skinformer.timeline.arrays import Float64Array, IntArray


def add_runs(sums: Sums, problem: Problem, origins: IntArray) -> IntArray:
    """Add the windows of long runs of consecutive origins; return the origins of all others."""
    runs, others = split_runs(problem, origins)
    for run in runs:
        if not _add_run(sums, problem, run):
            others = np.append(others, run)
    return others


def split_runs(problem: Problem, origins: IntArray) -> tuple[list[IntArray], IntArray]:
    """Cut origins into long runs of consecutive ones, and all others, as those with weights are."""
    if problem.weight is not None:
        return [], origins
    origins = np.sort(origins)
    runs = np.split(origins, np.flatnonzero(np.diff(origins) != 1) + 1)
    # PERF: shorter runs take more steps than products of their windows.
    long = [run for run in runs if len(run) >= problem.seq_len]
    short = [run for run in runs if len(run) < problem.seq_len]
    return long, np.concatenate([origins[:0], *short])


def _add_run(sums: Sums, problem: Problem, run: IntArray) -> bool:
    """Add windows of consecutive origins; False where their values are too large for that."""
    n, seq_len = len(run), problem.seq_len
    rows = remaining(problem, np.arange(run[0] - seq_len, run[-1] + problem.pred_len))
    targets = rows[:, : problem.n_targets].T
    targets = np.ascontiguousarray(targets - targets.mean(axis=1, keepdims=True))
    if np.abs(targets).max() > 1e3:  # the products of a row that went leave digits of rounding
        return False
    for j, values in enumerate(targets):
        group = j % len(sums.gram)
        products = lagged_products(values, n, seq_len)
        with_last = products[-1]  # of each row with the last one before the origin
        of_distances = products - with_last[:seq_len, None] - with_last + with_last[seq_len - 1]
        sums.gram[group] += of_distances[:, :seq_len]
        sums.cross[group] += of_distances[:, seq_len:]
        sums.weight[group] += n
    return True


def lagged_products(values: Float64Array, n: int, seq_len: int) -> Float64Array:
    """Add up products of rows of n windows, each a row later: (seq_len, length).

    values: (n + length - 1,).
    Those of the first `seq_len` rows with all rows of a window.

    >>> lagged_products(np.array([1.0, 2.0, 3.0, 4.0]), 2, 2)
    array([[ 5.,  8., 11.],
           [ 8., 13., 18.]])
    """
    out = np.empty((seq_len, len(values) - n + 1))
    out[0] = np.correlate(values, values[:n], "valid")
    for i in range(1, seq_len):
        came = values[n + i - 1] * values[n + i - 1 :]
        went = values[i - 1] * values[i - 1 : len(values) - n]
        out[i, i:] = out[i - 1, i - 1 : -1] + came - went
    below = np.tril_indices(seq_len, -1)
    out[below] = out[below[::-1]]
    return out
