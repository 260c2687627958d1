"""The chronological validation tail."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from skinformer.timeline.timeline import Table

__all__ = ["training_rows", "validation_start"]

Rows = npt.NDArray[np.int64]


def validation_start(
    first_step: Rows, end_step: Rows, *, seq_len: int, pred_len: int, fraction: float
) -> int:
    """
    Find the step at which the validation tail of all series begins.

    One step for all series, so that no validation target lies before a training target.

    Parameters
    ----------
    first_step, end_step : ndarray of int64, shape (n_series,)
        The steps of series i are ``first_step[i]`` … ``end_step[i] - 1``; the longest has at
        least ``seq_len + 2 * pred_len`` of them.
    seq_len, pred_len : int
        Steps in a context and in a forecast.
    fraction : float
        Share of the longest series for validation, in (0, 1): at least one forecast long, and
        never so long that no training window is left.

    Returns
    -------
    int
        Targets at this step and later belong to validation.

    Examples
    --------
    >>> import numpy as np
    >>> validation_start(np.array([0]), np.array([100]), seq_len=8, pred_len=4, fraction=0.1)
    90
    """
    longest = int(np.argmax(end_step - first_step))
    n_steps = int(end_step[longest] - first_step[longest])
    tail = max(pred_len, math.ceil(fraction * n_steps))
    return int(end_step[longest]) - min(tail, n_steps - seq_len - pred_len)


def training_rows(table: Table, tail: int | None) -> tuple[Rows, Rows]:
    """
    Find each series' rows before the validation tail.

    Parameters
    ----------
    table : Table
        Rows sorted by series and step.
    tail : int or None
        The step at which the tail begins; None for no tail.

    Returns
    -------
    tuple of ndarray of int64, shape (n_series,)
        Series i trains on rows ``start[i]`` … ``stop[i] - 1``.
    """
    start, end = table.first_row[:-1], table.first_row[1:]
    if tail is None:
        return start, end
    return start, start + np.clip(tail - table.steps[start], 0, end - start)
