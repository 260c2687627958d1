"""Rows that forecasts are made on, and windows of them as members see these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.batches import WindowSource, window_source
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.predicting import WindowPredictor
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.clock import Clock


class Rows(NamedTuple):
    """Consecutive rows of every segment, from its first context to its last block.

    values: (n_rows, n_columns), standardised; before the first known target the training mean
    stands.
    segment, steps: (n_rows,), the segment and the step of each row.
    begin: (n_tracks,), the first row of each segment with a known target.
    known: (n_rows, n_targets), which targets were observed; others are filled, and are forecasts
    behind the history. None for all of them.
    """

    values: Float32Array
    segment: IntArray
    steps: IntArray
    begin: IntArray
    known: BoolArray | None = None


#: Forecasts windows, which begin at the given rows: outputs of shape
#: (n, pred_len, n_targets, *head.outputs).
Forecaster = Callable[[Rows, IntArray], Float32Array]


@dataclass(frozen=True)
class RowBuffer:
    """Rows, and the tensors and predictors made of them once, however often they forecast.

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
    predictors: dict[int, WindowPredictor] = field(default_factory=dict)

    @cached_property
    def source(self) -> WindowSource:
        """The rows as tensors; on the CPU in the same memory."""
        if self.given is not None:
            return self.given
        values, segment, steps = self.rows[:3]
        return window_source(
            values,
            steps,
            self.series[segment],
            self.clock,
            sizes=self.sizes,
            device=self.device,
        )

    def refresh(self) -> None:
        """Copy the rows to the device again: forecasts were put in."""
        if self.source.values.device.type != "cpu":
            self.source.values.copy_(torch.from_numpy(self.rows.values))

    def predictor(self, module: Callable[..., Tensor]) -> WindowPredictor:
        """Return what forecasts windows by a module."""
        if id(module) not in self.predictors:
            self.predictors[id(module)] = WindowPredictor(module, self.source)
        return self.predictors[id(module)]


@dataclass(frozen=True)
class Windows:
    """Windows of buffered rows, by the rows where their forecasts begin."""

    buffer: RowBuffer
    origins: IntArray

    def __len__(self) -> int:
        """Count them."""
        return len(self.origins)

    def take(self, some: IntArray) -> Windows:
        """Choose windows by number."""
        return replace(self, origins=self.origins[some])

    @property
    def values(self) -> Float32Array:
        """All rows, standardised."""
        return self.buffer.rows.values

    @property
    def known(self) -> BoolArray | None:
        """Which targets of the rows were observed; None for all."""
        return self.buffer.rows.known

    @property
    def begin(self) -> IntArray:
        """The first row of each window's series with a known target; of nothing known, its own."""
        begin = self.buffer.rows.begin[self.buffer.rows.segment[self.origins]]
        return np.where(
            begin < self.origins,
            begin,
            self.origins - self.buffer.sizes.seq_len,
        )

    @property
    def series(self) -> IntArray:
        """The series of each window."""
        return self.buffer.series[self.buffer.rows.segment[self.origins]]

    @property
    def steps(self) -> IntArray:
        """The step of each origin."""
        return self.buffer.rows.steps[self.origins]

    def predict(
        self, module: Callable[..., Tensor], base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast by a torch module, as `WindowPredictor` does."""
        return self.buffer.predictor(module)(self.origins, base)
