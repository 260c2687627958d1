"""By what share of a forecast another one is followed, as far as stretches of time prove it."""

from __future__ import annotations

import numpy as np

from skinformer.timeline.arrays import Float64Array, IntArray

__all__ = ["MOST_STRETCHES", "SHARES", "best_share", "cut_stretches", "mean_share", "surest_share"]

#: Shares that compete.
SHARES = tuple(float(share) for share in np.linspace(0, 1, 21))
#: Stretches on which a correction has to prove itself, fewer where they would be shorter than a
#: forecast; and those by the worst of which other shares are found.
MOST_STRETCHES, _N_STRETCHES = 12, 4
#: Standard errors by which a correction has to gain.
_SURE = 2.0


def cut_stretches(steps: IntArray, pred_len: int, *, n_most: int = _N_STRETCHES) -> IntArray | None:
    """Cut held-out windows into stretches of time, on each of which a share has to prove itself.

    Each holds a whole forecast at least; None where there would be one alone, which proves nothing.

    >>> cut_stretches(np.arange(8), 4)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    first, span = int(steps.min()), int(np.ptp(steps)) + 1
    n_stretches = min(n_most, span // pred_len)
    return None if n_stretches < 2 else (steps - first) * n_stretches // span


def best_share(losses: Float64Array) -> int:
    """Find the share that does best where it does worst; 0 if any share does harm somewhere.

    Losses have shape (n_stretches, n_shares), the first share being none, to which others relate.

    >>> best_share(np.array([[2.0, 1.6, 1.0], [2.0, 1.8, 2.2]]))
    1
    """
    relative = _relative(losses)
    return int(relative.max(axis=0).argmin()) if len(relative) else 0


def mean_share(losses: Float64Array, *, doubt: float = 0.0) -> int:
    """Find the share of the lowest mean log loss, so that no stretch counts for its size.

    losses: (n_stretches, n_shares); the first share is none.
    doubt: standard errors by which a share has to gain on none; 0 where neither is the safe one.

    >>> losses = np.array([[2.0, 1.6, 1.0], [2.0, 1.8, 2.2]])
    >>> mean_share(losses), mean_share(losses, doubt=1.0)
    (2, 1)
    """
    losses = losses[losses.sum(axis=1) > 0]
    least = np.finfo(np.float64).tiny  # of a loss of 0, which no other comes near
    logs = np.log(np.maximum(losses, least))
    if len(logs) < 2:
        return int(logs.sum(axis=0).argmin())
    gains = logs - logs[:, :1]
    error = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return int((gains.mean(axis=0) + doubt * error).argmin())


def surest_share(losses: Float64Array) -> int:
    """Find the share that does best on average, as far as that is no chance.

    Of losses, (n_stretches, n_shares), relative to those of the first share, which is none, the
    lowest mean with two standard errors added counts; 0 if all are above 1.

    >>> surest_share(np.array([[2.0, 1.6, 1.0], [2.0, 1.7, 1.9]]))
    1
    """
    relative = _relative(losses)
    if len(relative) < 2 or np.isinf(relative[:, 1:]).any():
        return 0
    doubt = relative.std(axis=0, ddof=1) / np.sqrt(len(relative))
    return int((relative.mean(axis=0) + _SURE * doubt).argmin())


def _relative(losses: Float64Array) -> Float64Array:
    """Give losses relative to those of the first share, on stretches where any has a loss."""
    losses = losses[losses.sum(axis=1) > 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = losses / losses[:, :1]
    # Where none has no error, any share does infinite harm.
    return np.where(np.isnan(relative), 1.0, relative)
