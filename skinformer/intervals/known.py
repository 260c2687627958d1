"""Which rows were observed, and how far what is known before each of them goes."""

import numpy as np

from skinformer.ensemble.windows import Rows
from skinformer.rolling.blocks import RequestedSteps
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.timeline import Timeline


def find_known(
    rows: Rows,
    history: Timeline,
    requested: RequestedSteps,
    n_targets: int,
) -> BoolArray:
    """Find rows that were observed, in the history or in X: (n_rows,)."""
    known = _known_in_history(rows, history, requested)
    segments = _as_timeline(rows, requested)
    observed = requested.observed
    is_given = ~np.isnan(observed.values[:, :n_targets]).any(axis=1)
    if requested.observed.filled is not None:
        is_given &= ~requested.observed.filled
    row = segments.find(observed.segment[is_given], observed.steps[is_given])
    known[row[row >= 0]] = True
    return known


def _known_in_history(
    rows: Rows,
    history: Timeline,
    requested: RequestedSteps,
) -> BoolArray:
    """Whether rows are those of the history, and were observed there."""
    place = requested.place
    stored = history.find(place.series[rows.segment], rows.steps)
    known = place.stored[rows.segment] & (stored >= 0)
    if history.weight is not None:
        has_truth = history.weight[stored] > 0
        known &= has_truth.all(axis=1)
    return known


def _as_timeline(rows: Rows, requested: RequestedSteps) -> Timeline:
    """Return the rows of segments as a timeline, whose series are the segments."""
    n_segments = len(requested.place.series)
    first_row = np.searchsorted(rows.segment, np.arange(n_segments + 1))
    last = len(rows.steps) - 1
    first_step = rows.steps[np.minimum(first_row[:-1], last)]
    return Timeline(
        rows.values,
        None,
        first_row,
        first_step,
        requested.clock,
    )


def known_until(rows: Rows, known: BoolArray) -> IntArray:
    """Return for each row the one after the last known before it, from its segment's first on."""
    number = np.arange(len(known))
    after_known = np.where(known, number + 1, 0)
    until = np.append(0, np.maximum.accumulate(after_known)[:-1])
    return np.maximum(until, first_rows(rows, number))


def first_rows(rows: Rows, chosen: IntArray) -> IntArray:
    """Return the first rows of the segments of chosen ones."""
    return np.searchsorted(rows.segment, rows.segment[chosen])
