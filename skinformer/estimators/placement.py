"""Where the rows of X lie against the stored history: continuing it, inside it, or elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skinformer.timeline.timeline import Table, Timeline

__all__ = ["Placement", "after_history", "place_rows"]

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Placement(NamedTuple):
    """
    The frame of reference of each series' forecasts; every array has shape (n_series,).

    Parameters
    ----------
    anchor : ndarray of int64
        A step at which a block begins.
    begin : ndarray of int64
        From this step on a target that is not observed is forecast where later blocks need it;
        before it an unknown value is the training mean.
    stored : ndarray of bool
        Whether the stored history is context; else X is its own timeline.
    """

    anchor: Rows
    begin: Rows
    stored: Flags


def after_history(timeline: Timeline) -> Placement:
    """
    Place forecasts directly after the stored history.

    Parameters
    ----------
    timeline : Timeline
        The stored history.

    Returns
    -------
    Placement
        Anchored at the end of each series.
    """
    end = timeline.end_step
    return Placement(end, end, np.ones(len(end), dtype=bool))


def place_rows(table: Table, timeline: Timeline, *, seq_len: int, has_history: bool) -> Placement:
    """
    Place the rows of X.

    Parameters
    ----------
    table : Table
        The rows of X; its clock differs from the timeline's when X is off the fitted grid.
    timeline : Timeline
        The stored history.
    seq_len : int
        Rows that start more than so many steps after the history are their own timeline.
    has_history : bool
        Whether X holds the targets' history. Without it only the stored one can be context.

    Returns
    -------
    Placement
        ``stored`` is False for series that training did not hold, and where X begins before
        the history, too far after it, or off its grid.
    """
    n_series = max(timeline.n_series, int(table.series.max(initial=-1)) + 1)
    unseen = np.arange(n_series) >= timeline.n_series
    first_step, end = np.zeros((2, n_series), dtype=np.int64)
    first_step[: timeline.n_series], end[: timeline.n_series] = (
        timeline.first_step,
        timeline.end_step,
    )
    first = np.full(n_series, np.iinfo(np.int64).max)
    np.minimum.at(first, table.series, table.steps)
    absent = np.bincount(table.series, minlength=n_series) == 0
    first[absent] = end[absent]
    other_grid = unseen | (table.clock != timeline.clock)
    elsewhere = other_grid | (first < first_step)
    if has_history:
        elsewhere |= first > end + seq_len
    return Placement(
        anchor=np.where(other_grid, first, end),
        begin=np.where(elsewhere, first, end),
        stored=~elsewhere,
    )
