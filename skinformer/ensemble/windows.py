"""Rows that forecasts are made on, and windows of them as members see these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from skinformer.ensemble.batches import WindowSource, window_source
from skinformer.ensemble.building import ModelSizes
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows


class Rows(NamedTuple):
    """Consecutive rows of every segment, from its first context to its last block.

    values: (n_rows, n_columns), standardised; before the first known target the training mean
    stands.
    segment, steps: (n_rows,), the segment and the step of each row.
    begin: (n_tracks,), the first row of each segment with a known target.
    known: (n_rows, n_targets), which targets were observed; others are filled, and are forecasts
    behind the history.
    """

    values: Float32Array
    segment: IntArray
    steps: IntArray
    begin: IntArray
    known: BoolArray


#: Forecasts windows, which begin at the given rows: outputs of shape
#: (n, pred_len, n_targets, *head.outputs).
Forecaster = Callable[[Rows, IntArray], Float32Array]


@dataclass(frozen=True)
class RowBuffer:
    """Rows, and the tensors made of them once, however often they forecast.

    series: that of each segment; those from the last fitted one on are new.
    clock: what the steps count.
    given: the rows as tensors, where they are such already.
    """

    rows: Rows
    series: IntArray
    clock: Clock
    sizes: ModelSizes
    device: torch.device | str
    given: WindowSource | None = None

    @cached_property
    def source(self) -> WindowSource:
        """The rows as tensors; on the CPU in the same memory."""
        if self.given is not None:
            return self.given
        rows = self.rows
        return window_source(
            rows.values,
            rows.steps,
            self.series[rows.segment],
            self.clock,
            sizes=self.sizes,
            device=self.device,
        )

    def with_values(self, values: Float32Array) -> RowBuffer:
        """Return the same rows with other values."""
        return replace(self, rows=self.rows._replace(values=values), given=None)

    def refresh(self) -> None:
        """Copy the rows to the device again: forecasts were put in."""
        values = self.source.values
        if values.device.type != "cpu":
            values.copy_(torch.from_numpy(self.rows.values))


@dataclass(frozen=True)
class Windows:
    """Windows of buffered rows, by the rows where their forecasts begin."""

    buffer: RowBuffer
    origins: IntArray

    def __len__(self) -> int:
        """Count them."""
        return len(self.origins)

    def take(self, some: IntArray | slice) -> Windows:
        """Choose windows by number."""
        return replace(self, origins=self.origins[some])

    def chunks(self, size: int) -> Iterator[tuple[slice, Windows]]:
        """Return windows, so many at a time, and which of all these are."""
        for start in range(0, len(self), size):
            some = slice(start, start + size)
            yield some, self.take(some)

    @property
    def values(self) -> Float32Array:
        """All rows, standardised."""
        return self.buffer.rows.values

    @property
    def known(self) -> BoolArray:
        """Which targets of the rows were observed."""
        return self.buffer.rows.known

    def with_values(self, values: Float32Array) -> Windows:
        """Return the same windows of other values, standardised."""
        return replace(self, buffer=self.buffer.with_values(values))

    @property
    def series_of_rows(self) -> IntArray:
        """The series of each row."""
        return self.buffer.series[self.buffer.rows.segment]

    @property
    def begin(self) -> IntArray:
        """The first row of each window's series with a known target; of nothing known, its own."""
        begin = self.buffer.rows.begin[self._segment]
        return np.where(
            begin < self.origins, begin, self.origins - self.buffer.sizes.seq_len
        )

    @property
    def series(self) -> IntArray:
        """The series of each window."""
        return self.buffer.series[self._segment]

    @property
    def _segment(self) -> IntArray:
        return self.buffer.rows.segment[self.origins]

    @property
    def steps(self) -> IntArray:
        """The step of each origin."""
        return self.buffer.rows.steps[self.origins]

    def greatest(self, some: IntArray) -> Float32Array:
        """Return the greatest targets that some windows have shown, (n, n_targets)."""
        values, _ = self._past(some)
        return np.asarray(np.fmax.reduce(values, axis=1))

    def observed_range(self, some: IntArray) -> tuple[Float32Array, Float32Array]:
        """Return the least and the greatest observed targets; what is fed back is not observed."""
        values, rows = self._past(some)
        values = np.where(self.known[rows], values, np.float32(np.nan))
        return np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)

    def _past(self, some: IntArray) -> tuple[Float32Array, IntArray]:
        """Return the targets of the rows of windows, (n, seq_len, n_targets), and these rows."""
        sizes = self.buffer.sizes
        rows = window_rows(self.origins[some] - sizes.seq_len, sizes.seq_len)
        return self.values[:, : sizes.n_targets][rows], rows
