"""What the linear path found: a blend of ridges as one map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.sums import Windows, mixed_features
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect

__all__ = ["LinearFit", "PhaseMaps", "mixed_rows"]


class PhaseMaps(NamedTuple):
    """
    Maps that turn with the phase of a cycle, mostly the time of the day at the origin.

    Parameters
    ----------
    places : ndarray of int64, shape (n_fields, 60)
        How cells of the calendar are numbered, see `Cells`.
    waves : ndarray of shape (n_times, n_waves)
        1, and sines and cosines of each time; a cell's number modulo `n_times` is its time.
    own : ndarray of shape (seq_len, n_own)
        What is read of a target's distances: by each number the share of each row.
    others : ndarray of shape (seq_len, n_others)
        What is read of the distances of every column that is not known ahead.
    weights : ndarray of shape (n_targets, n_waves * (n_own + n_columns * n_others + 1), pred_len)
        From what is read, and 1, times each wave to what is added to the forecast.
    """

    places: IntArray
    waves: Float64Array
    own: Float64Array
    others: Float64Array
    weights: Float64Array


class LinearFit(NamedTuple):
    """
    The blend as one linear map, and how it came about.

    Parameters
    ----------
    own : ndarray of shape (n_groups, seq_len, pred_len)
        From a target's distances to its own future; one group is shared by all targets.
    mixed : ndarray of shape (n_features, pred_len * n_targets), or None
        From the last rows of all columns, their last values and 1; see `MixedSums`.
    effect : ndarray of shape (n_known, n_targets)
        What columns known ahead do to the targets of their own row, whatever the time.
    blend : dict of str to float
        Weight of each candidate.
    apart : tuple of (int, LinearFit), default=()
        The same blend learnt without the windows of one time each: where the time ends among the
        windows' times, ascending, and the fit. What it forecasts of that time is honest.
    calendar : CalendarEffect or None, default=None
        What calendar and columns known ahead do, in place of `effect`; None for nothing.
    phases : PhaseMaps or None, default=None
        What is added to the forecast by the time of the day; None for nothing.
    """

    own: Float64Array
    mixed: Float64Array | None
    effect: Float64Array
    blend: dict[str, float]
    apart: tuple[tuple[int, LinearFit], ...] = ()
    calendar: CalendarEffect | None = None
    phases: PhaseMaps | None = None

    def blended(self, windows: Windows) -> Float64Array:
        """
        Forecast windows by the blend, without what is added by the time of the day.

        Parameters
        ----------
        windows : Windows
            From `gather`.

        Returns
        -------
        ndarray of shape (n, pred_len, n_targets)
            Distances of the targets from their last values.

        Examples
        --------
        >>> fit = LinearFit(np.full((1, 2, 1), 0.5), None, np.zeros((0, 1)), {})
        >>> numbers = (np.ones((1, n, 1)) for n in (2, 1))
        >>> fit.blended(Windows(*numbers, np.ones((1, 1)), np.ones((1, 1, 1)))).ravel()
        array([1.])
        """
        past, shape = windows.past, windows.future.shape
        seen = np.ascontiguousarray(past[..., : shape[2]].transpose(2, 0, 1))
        out: Float64Array = product(seen, self.own).transpose(1, 2, 0)
        if self.mixed is not None:
            features = mixed_features(windows, length=mixed_rows(self, past.shape[2]))
            out = out + product(features, self.mixed).reshape(shape)
        return out


def mixed_rows(fit: LinearFit, n_columns: int) -> int:
    """
    Tell over how many rows `mixed` looks.

    Parameters
    ----------
    fit : LinearFit
        The blend.
    n_columns : int
        Columns of the rows.

    Returns
    -------
    int
        0 where there is no such map.

    Examples
    --------
    >>> fit = LinearFit(np.zeros((1, 8, 2)), np.zeros((3 * 4 + 3 + 1, 2)), np.zeros((0, 1)), {})
    >>> mixed_rows(fit, n_columns=3)
    4
    """
    return 0 if fit.mixed is None else (len(fit.mixed) - 1) // n_columns - 1
