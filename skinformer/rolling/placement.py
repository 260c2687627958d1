"""Where the rows of X lie against the stored history: after or inside it, or elsewhere."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.timeline import Table, Timeline


class Placement(NamedTuple):
    """Segments of series, which are forecast independently of each other.

    series: that of each segment; those from the timeline's ``n_series`` on are new.
    anchor: a step at which a block begins.
    begin: from this step on a target that is not observed is forecast where later blocks need it;
    before it an unknown value is the training mean.
    stored: whether the stored history is context; else the rows of X are their own timeline.

    A series has one segment, or two where X holds rows of it before the stored history. Every array
    has shape (n_segments,).
    """

    series: IntArray
    anchor: IntArray
    begin: IntArray
    stored: BoolArray


def after_history(timeline: Timeline) -> Placement:
    """Place forecasts directly after the stored history: one segment a series, from its end on."""
    end = timeline.end_step
    return Placement(np.arange(len(end)), end, end, np.ones(len(end), dtype=bool))


def find_early(table: Table, timeline: Timeline) -> BoolArray:
    """Find the rows of X before the stored history, of known series and on the timeline's grid."""
    series = table.series
    is_fitted = series < timeline.n_series
    is_on_grid = is_fitted & (table.clock == timeline.clock)
    first_step = timeline.first_step[np.where(is_fitted, series, 0)]
    return is_on_grid & (table.steps < first_step)


def place_rows(
    table: Table, timeline: Timeline, observed: BoolArray, farthest: int
) -> tuple[Placement, IntArray]:
    """Place the rows of X: the segments that X has rows of, and the segment of each row.

    table: the rows of X; its clock differs from the timeline's when X is off the fitted grid.
    observed: rows with an observed target.
    farthest: observed rows that start more than so many steps after the history are their own
    timeline: the steps between are too many to forecast.

    Rows before the history, off its grid or of new series are their own timeline, too.
    """
    early = find_early(table, timeline)
    keys, segment = np.unique(table.series * 2 + early, return_inverse=True)
    series = keys // 2
    is_early = keys % 2 == 1
    steps = pd.Series(table.steps)
    first = steps.groupby(segment).min().to_numpy()
    is_fitted = series < timeline.n_series
    end = timeline.end_step[np.where(is_fitted, series, 0)]
    is_on_grid = is_fitted & (table.clock == timeline.clock)
    n_observed = np.bincount(segment, observed)
    is_far = (n_observed > 0) & (first > end + farthest)
    stored = is_on_grid & ~(is_early | is_far)
    anchor = np.where(is_on_grid, end, first)
    begin = np.where(stored, end, first)
    return Placement(series, anchor, begin, stored), segment
