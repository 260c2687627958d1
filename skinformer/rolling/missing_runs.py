"""Gaps: runs of unknown targets, and the forecasts that fill them.

This is the one rule by which `fit`, `update`, `predict` and `forecast` fill what is missing: the
steps of a gap are forecast from its own first step, in parts of ``pred_len`` where it is longer.
So a forecast that fills depends on nothing but what lies before its gap. Before the first observed
target of a series the training mean stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.windows import origins_between, repeat_numbers

#: Forecasts that are made one after the other, each for the next one's context, where they
#: are not asked for. One takes about 8 ms, whatever the length of the series.
LONGEST_CHAIN = 500
#: Forecasts of gaps that are made one after the other before a gap does not wait for those before
#: it. Chains of 500 took seven times as long, and filled no better (notes/decisions.md).
CHAIN_OF_GAPS = 25


class MissingRuns(NamedTuple):
    """The forecasts that fill gaps, in the order of their rows; arrays of shape (n,).

    origins: first row of each forecast.
    lengths: rows that it fills, at most ``pred_len``.
    turn: forecasts of one turn need none of each other; those of turn 0 need none at all.
    """

    origins: IntArray
    lengths: IntArray
    turn: IntArray

    def take(self, some: slice | IntArray | BoolArray) -> MissingRuns:
        """Choose or reorder forecasts."""
        return MissingRuns(*[part[some] for part in self])

    def needed(self, wanted: IntArray, *, seq_len: int) -> MissingRuns:
        """Keep the forecasts that others build on, also by way of later gaps.

        They lie within the contexts of `wanted` origins, and within the contexts of these.
        """
        if not len(self.origins):
            return self
        ends = self.origins + self.lengths
        before = np.searchsorted(self.origins, wanted) - 1
        context = wanted - seq_len
        in_context = (before >= 0) & (ends[before] > context)
        seen = before[in_context]
        # Of each chain all forecasts up to the last one that is seen.
        begins = _begins_chain(self.origins, self.lengths, seq_len)
        chain = np.cumsum(begins)
        last_seen = np.full(chain[-1] + 1, -1)
        np.maximum.at(last_seen, chain[seen], seen)
        numbers = np.arange(len(chain))
        return self.take(numbers <= last_seen[chain])


def find_missing_runs(
    unknown: BoolArray, *, seq_len: int, pred_len: int, longest: int | None
) -> MissingRuns:
    """Find the forecasts that fill unknown rows, in one pass over the rows.

    unknown: rows that lack a target. Rows of one series follow each other, and between two series
    lie `seq_len` known rows.
    longest: forecasts within one gap, at most; the rest of it stays as it is. None for no limit.

    Where each gap lies in the context of the next, they are filled one after the other. Of such a
    chain about each `CHAIN_OF_GAPS` forecasts are followed by a gap that does not wait for those
    before it: it sees the last known value in their place.
    """
    origins, lengths, first_part = _split_gaps(unknown, pred_len, longest)
    begins = _begins_chain(origins, lengths, seq_len)
    place_in_chain = _since(begins)
    round_of_gap = place_in_chain[first_part] // CHAIN_OF_GAPS
    begins[first_part[1:]] |= np.diff(round_of_gap) > 0
    return MissingRuns(origins, lengths, _since(begins))


def _split_gaps(
    unknown: BoolArray, pred_len: int, longest: int | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Split gaps into forecasts: their origins and lengths, and the number of each gap's first."""
    changes = np.diff(unknown, prepend=False, append=False)
    edges = np.flatnonzero(changes)
    start = edges[::2]
    stop = edges[1::2]
    n_parts = -((start - stop) // pred_len)
    if longest is not None:
        n_parts = np.minimum(n_parts, longest)
    first_part = np.cumsum(n_parts) - n_parts
    gap, number = count_up(n_parts)
    origins = start[gap] + number * pred_len
    lengths = np.minimum(pred_len, stop[gap] - origins)
    return origins, lengths, first_part


def count_up(lengths: IntArray) -> tuple[IntArray, IntArray]:
    """List the elements of runs: the number of the run, and the place in there, of each.

    >>> count_up(np.array([2, 3]))
    (array([0, 0, 1, 1, 1]), array([0, 1, 0, 1, 2]))
    """
    return repeat_numbers(lengths), origins_between(np.zeros_like(lengths), lengths - 1)


def _begins_chain(origins: IntArray, lengths: IntArray, seq_len: int) -> BoolArray:
    """Whether forecasts have no filled row in their contexts."""
    begins = np.ones(len(origins), dtype=bool)
    ends = origins + lengths
    context = origins - seq_len
    begins[1:] = context[1:] >= ends[:-1]
    return begins


def _since(begins: BoolArray) -> IntArray:
    """Count places since the last one that begins a run."""
    places = np.arange(len(begins))
    last = np.where(begins, places, 0)
    return places - np.maximum.accumulate(last)
