"""Holes: runs of unknown truths, and the forecasts that fill them.

This is the one rule by which `fit`, `update`, `predict` and `forecast` fill what is missing: the
steps of a gap are forecast from its own first step, in parts of ``pred_len`` where it is longer.
So a filler depends on nothing but what lies before its gap. Before the first observed truth of a
series the training mean stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray

#: Forecasts that are made one after the other, each for the next one's context, where nobody
#: asked for them. One takes about 8 ms, whatever the length of the series.
LONGEST_CHAIN = 500


class MissingRuns(NamedTuple):
    """The forecasts that fill gaps, in the order of their rows; arrays of shape (n,).

    origins: first row of each forecast.
    lengths: rows that it fills, at most ``pred_len``.
    turn: forecasts of one turn need none of each other; those of turn 0 need none at all.
    """

    origins: IntArray
    lengths: IntArray
    turn: IntArray

    def needed(self, wanted: IntArray, *, seq_len: int) -> MissingRuns:
        """Keep the forecasts that others build on, also by way of later gaps.

        They lie within the contexts of `wanted` origins, and within the contexts of these.
        """
        if not len(self.origins):
            return self
        last = self.origins + self.lengths - 1
        before = np.searchsorted(self.origins, wanted) - 1
        seen = before[(before >= 0) & (last[before] >= wanted - seq_len)]
        chain = np.cumsum(_begins_chain(self.origins, self.lengths, seq_len)) - 1
        reached = np.full(chain[-1] + 1, -1)
        np.maximum.at(reached, chain[seen], seen)
        kept = np.arange(len(chain)) <= reached[chain]
        return MissingRuns(*(part[kept] for part in self))


def find_missing_runs(
    unknown: BoolArray, *, seq_len: int, pred_len: int, longest: int | None
) -> MissingRuns:
    """Find the forecasts that fill unknown rows, in one pass over the rows.

    unknown: rows that lack a truth. Rows of one series follow each other, and between two series
    lie `seq_len` known rows.
    longest: forecasts within one gap, at most; the rest of it stays as it is. None for no limit.

    Where each gap lies in the context of the next, they are filled one after the other. Of such a
    chain about each `LONGEST_CHAIN` forecasts are followed by a gap that does not wait for those
    before it: it sees the last known value in their place.
    """
    edges = np.diff(np.concatenate([[0], unknown.view(np.int8), [0]]))
    start, stop = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    parts = -(-(stop - start) // pred_len)
    parts = parts if longest is None else np.minimum(parts, longest)
    first = np.cumsum(parts) - parts  # part that begins each gap
    number = np.arange(parts.sum()) - np.repeat(first, parts)
    origins = np.repeat(start, parts) + number * pred_len
    lengths = np.minimum(pred_len, np.repeat(stop, parts) - origins)
    free = _begins_chain(origins, lengths, seq_len)
    place = _since(free)
    rounds = place[first] // LONGEST_CHAIN
    free[first[1:]] |= rounds[1:] > rounds[:-1]
    return MissingRuns(origins, lengths, _since(free))


def filled_rows(runs: MissingRuns) -> tuple[IntArray, IntArray]:
    """List the rows that forecasts fill: the number of the forecast, and its step, of each."""
    number = np.repeat(np.arange(len(runs.lengths)), runs.lengths)
    begin = np.cumsum(runs.lengths) - runs.lengths
    return number, np.arange(len(number)) - begin[number]


def _begins_chain(origins: IntArray, lengths: IntArray, seq_len: int) -> BoolArray:
    """Return which forecasts have no filled row in their contexts."""
    begins = np.ones(len(origins), dtype=bool)
    begins[1:] = origins[1:] - seq_len >= (origins + lengths)[:-1]
    return begins


def _since(begins: BoolArray) -> IntArray:
    """Count places since the last one that begins a run."""
    places = np.arange(len(begins))
    return places - np.maximum.accumulate(np.where(begins, places, 0))
