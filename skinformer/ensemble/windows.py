"""Rows that forecasts are made on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from skinformer.timeline.arrays import Float32Array, IntArray

__all__ = ["Forecaster", "Rows"]


class Rows(NamedTuple):
    """Consecutive rows of every track, from its first context to its last block.

    values: (n_rows, n_columns), standardised; before the first known target the training mean
    stands.
    track, steps: (n_rows,), the track and the step of each row.
    begin: (n_tracks,), the first row of each track with a known target.
    """

    values: Float32Array
    track: IntArray
    steps: IntArray
    begin: IntArray


#: Forecasts windows, which begin at the given rows: outputs of shape
#: (n, pred_len, n_targets, *head.outputs).
Forecaster = Callable[[Rows, IntArray], Float32Array]
