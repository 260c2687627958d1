"""Ridges of a series' own, shrunk towards the one that its panel shares.

What the shared ridge leaves unexplained in a series' windows is mapped once more, from the few
directions in which the panel's windows vary most. So a series costs its rows times a few products,
and one that is short, or like all others, stays with the shared map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skinformer.algebra import eigenvectors, solution
from skinformer.classical.ridges import Scaled, SharedRidges, look_backs, scaled_as
from skinformer.classical.windows import futures, pasts, row_products
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import origins_between

__all__ = ["OWN_STRENGTHS", "OwnRidges", "fit_own_ridges", "own_names"]

#: How many windows the shared map counts for, in horizons: windows of one horizon overlap.
OWN_STRENGTHS = (4.0, 16.0)
_DIRECTIONS = 8
_MOST_WINDOWS = 128  # of a series, the newest ones
_BATCH = 4096  # windows at a time
_ANCHOR = "season"
_SHARED = 1  # place of the strength whose map is the start


def own_names() -> list[str]:
    """Name the ridges of a series' own as `OwnRidges.forecast` orders them."""
    return [f"own ridge {strength:g}" for strength in OWN_STRENGTHS]


@dataclass(frozen=True)
class OwnRidges:
    """What each series adds to the shared map.

    rows: over how many rows they look; 0 where there are none.
    basis: (rows - 1, n_directions), directions of distances.
    maps: (n_series, n_strengths, n_directions, pred_len), from directions to what the shared map
    leaves.
    """

    rows: int
    basis: Float64Array
    maps: Float32Array

    def forecast(
        self,
        shared: SharedRidges,
        past: Float64Array,
        length: IntArray,
        series: IntArray,
        fallback: Float64Array,
    ) -> Float64Array:
        """Forecast windows by their own series' ridges: (n, n_strengths, pred_len).

        shared: those that these were fitted beside.
        series: that of each window, -1 for one that is not known.
        fallback: (n, pred_len), for windows that are too short or of no known series.
        """
        out = np.repeat(fallback[:, None], len(OWN_STRENGTHS), axis=1)
        able = (length >= self.rows) & (series >= 0)
        if not self.rows or not able.any():
            return out
        scaled = scaled_as(shared, past[able], length[able])
        expected, directions = _shared_part(shared, scaled, self.rows, self.basis)
        added = np.einsum("np,nsph->nsh", directions, self.maps[series[able]])
        moved = (expected[:, None] + added) * scaled.unit[:, None, None]
        out[able] = scaled.anchors[_ANCHOR][:, None] + moved
        return out


def fit_own_ridges(
    values: Float64Array, begin: IntArray, end: IntArray, shared: SharedRidges
) -> OwnRidges:
    """Fit what each series adds to the shared ridges of the same rows, on its newest windows.

    Rows from `end` on are not seen. Cost: 64 products per row and direction. Memory: 16 · pred_len
    numbers per series, and a batch of windows.
    """
    rows = _look_back(shared)
    if not rows:
        return OwnRidges(0, np.empty((0, 0)), np.empty((len(begin), 0, 0, 0), dtype=np.float32))
    basis = _basis(shared, rows)
    n_directions, n_strengths = basis.shape[1], len(OWN_STRENGTHS)
    maps = np.zeros((len(begin), n_strengths, n_directions, shared.pred_len), dtype=np.float32)
    high = end - shared.pred_len
    low = np.maximum(begin + rows, high - _MOST_WINDOWS + 1)
    for series, origin in _batches(low, high):
        past, length = pasts(values, begin[series], origin, shared.seq_len)
        future = futures(values, origin, origin + shared.pred_len, shared.pred_len).values
        scaled = scaled_as(shared, past, length)
        expected, directions = _shared_part(shared, scaled, rows, basis)
        left = (future - scaled.anchors[_ANCHOR]) / scaled.unit[:, None] - expected
        found, first = np.unique(series, return_index=True)
        maps[found] = _solve(directions, left, first, shared.pred_len)
    return OwnRidges(rows, basis, maps)


def _look_back(shared: SharedRidges) -> int:
    """Take the second look-back, if the panel has a ridge of it, else the first or none."""
    there = [
        n for n in look_backs(shared.seq_len, shared.period) if ("", _ANCHOR, n) in shared.maps
    ]
    return there[:2][-1] if there else 0


def _basis(shared: SharedRidges, rows: int) -> Float64Array:
    """Give the directions of greatest variance, in which windows have the variance 1."""
    values, vectors = eigenvectors(shared.grams["", rows])
    most = min(_DIRECTIONS, rows - 1)
    basis: Float64Array = vectors[:, -most:] / np.sqrt(np.maximum(values[-most:], 1e-9))
    return basis


def _batches(low: IntArray, high: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Give the series and the origins of whole series, some thousand windows at a time."""
    ends = np.cumsum(np.maximum(high - low + 1, 0))
    start = 0
    while start < len(low):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _BATCH, side="right")))
        origin = origins_between(low[start:stop], high[start:stop])
        if len(origin):
            place = done + np.arange(len(origin))
            yield start + np.searchsorted(ends[start:stop], place, side="right"), origin
        start = stop


def _shared_part(
    shared: SharedRidges, scaled: Scaled, rows: int, basis: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Give by how much the shared map leaves its anchor, and the directions of the windows."""
    distance = scaled.over(rows)
    map_ = shared.maps["", _ANCHOR, rows][_SHARED]
    return row_products(distance, map_), row_products(distance, basis)


def _solve(
    directions: Float64Array, left: Float64Array, first: IntArray, pred_len: int
) -> Float64Array:
    """Solve for the maps of several series, whose windows begin at `first`."""
    # Absolute errors, nearly; by a fixed size, so that no series sees which others are beside it.
    weighted = directions / np.maximum(np.abs(left).mean(axis=1), 1)[:, None]
    gram = np.add.reduceat(directions[:, :, None] * weighted[:, None], first, axis=0)
    cross = np.add.reduceat(weighted[:, :, None] * left[:, None], first, axis=0)
    eye = np.eye(directions.shape[1])
    return np.stack([solution(gram + pred_len * s * eye, cross) for s in OWN_STRENGTHS], axis=1)
