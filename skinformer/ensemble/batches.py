"""Windows as tensors: one gather a batch, the same for training and prediction."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import Origins
from skinformer.training.batch import Batch

ModuleInputs: TypeAlias = tuple[
    Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None, Tensor | None
]


@dataclass(frozen=True)
class WindowSource:
    """Standardised rows from which windows are gathered.

    values: (n_rows, n_columns), without NaN; columns ordered targets, past-only, known ahead.
    steps: (n_rows,), each row's place in `calendar` and `elapsed`; empty where both are missing.
    calendar: (n_steps, n_fields), calendar fields of consecutive steps, where there are any.
    series: (n_rows,), each row's series, where series are embedded.
    elapsed: (n_steps,), time of consecutive steps, where positions are continuous.
    sizes: numbers of the columns, and of rows before and from a window's origin.
    """

    values: Tensor
    steps: Tensor
    calendar: Tensor | None
    series: Tensor | None
    elapsed: Tensor | None
    sizes: ModelSizes

    def inputs(self, origins: Tensor) -> ModuleInputs:
        """Gather what the module sees of windows; an origin is the row of the first forecast step.

        Past values, (batch, seq_len, n_columns); future values, (batch, pred_len, n_columns), with
        what is not known ahead masked; the categories of both; their times from the origin in mean
        steps. None where the module takes none.
        """
        return (
            *self.path_inputs(origins),
            self._times(origins, -self.sizes.seq_len, 0),
            self._times(origins, 0, self.sizes.pred_len),
        )

    def path_inputs(
        self, origins: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Gather what the linear path sees of windows: the first four of `inputs`."""
        sizes = self.sizes
        past = _rows(origins, -sizes.seq_len, 0)
        future = _rows(origins, 0, sizes.pred_len)
        values_ahead = _take(self.values, future)
        # MaskFuture (note, section 1): what is not known ahead stands at the mean. A raw zero may
        # lie many deviations from it, so values are masked once they are standardised.
        values_ahead[..., : sizes.n_targets + sizes.n_past] = 0.0
        return (
            _take(self.values, past),
            values_ahead,
            self._categories(past),
            self._categories(future),
        )

    def future(self, values: Tensor, origins: Tensor) -> Tensor:
        """Gather truths or weights, (n_rows, k), of the steps of windows: (batch, pred_len, k)."""
        return _take(values, _rows(origins, 0, self.sizes.pred_len))

    def _categories(self, rows: Tensor) -> Tensor | None:
        """Gather calendar fields and the series, (batch, length, n_fields), if there are any."""
        fields = []
        if self.calendar is not None:
            steps = _take(self.steps, rows)
            fields.append(_take(self.calendar, steps).long())
        if self.series is not None:
            fields.append(self.series[rows][..., None])
        return torch.cat(fields, dim=-1) if fields else None

    def _times(self, origins: Tensor, first: int, end: int) -> Tensor | None:
        """Gather the time from origins to rows beside them, (batch, length), in mean steps."""
        mean_step = self.sizes.mean_step
        if self.elapsed is None or mean_step is None:
            return None
        began = self.elapsed[self.steps[origins]]
        reached = self.elapsed[self.steps[_rows(origins, first, end)]]
        # Subtracted as integers: microseconds since the training began have too many digits.
        return ((reached - began[:, None]) / mean_step).float()


def _rows(origins: Tensor, first: int, end: int) -> Tensor:
    """Return the rows of windows, (batch, end - first), by their distances from origins."""
    return origins[:, None] + torch.arange(first, end, device=origins.device)


def _take(values: Tensor, rows: Tensor) -> Tensor:
    """Take rows of a tensor.

    PERF: rows that lie together are copied whole, where indexing by two axes takes number by
    number: .1 for .45 ms, 64 windows of 336 rows and 8 columns.
    """
    return values.index_select(0, rows.flatten()).view(*rows.shape, *values.shape[1:])


def window_source(
    values: Float32Array,
    steps: IntArray,
    series: IntArray,
    clock: Clock,
    *,
    sizes: ModelSizes,
    device: torch.device | str,
) -> WindowSource:
    """Put rows and the calendar of their steps onto a device.

    values: (n_rows, n_columns), standardised; on the CPU memory is shared with them.
    steps: of each row on the clock; not read without a calendar and continuous positions.
    series: of each row, those from ``sizes.n_series`` on were not trained; not read where series
    are not embedded.
    """
    categories = None
    if sizes.n_series:
        categories = torch.from_numpy(np.minimum(series, sizes.n_series)).to(device)
    places = np.empty(0, dtype=np.int64)
    calendar = None
    elapsed = None
    # Else 8 bytes a row are saved.
    if sizes.calendar_fields or sizes.mean_step is not None:
        every = _consecutive(steps)
        places = steps - every[0]
        if sizes.calendar_fields:
            fields = calendar_values(clock.labels(every), sizes.calendar_fields)
            calendar = torch.from_numpy(fields).to(device)
        if sizes.mean_step is not None:
            elapsed = torch.from_numpy(clock.elapsed(every)).to(device)
    return WindowSource(
        values=torch.from_numpy(values).to(device),
        steps=torch.from_numpy(places).to(device),
        calendar=calendar,
        series=categories,
        elapsed=elapsed,
        sizes=sizes,
    )


def _consecutive(steps: IntArray) -> IntArray:
    """Return all steps from the first to the last one."""
    first = steps.min() if len(steps) else 0
    return np.arange(first, steps.max(initial=first) + 1)


@dataclass(eq=False, repr=False, kw_only=True)
class WindowBatches:
    """Batches of windows for the trainer.

    weight: (n_rows, n_targets), of each truth.
    batch_size: windows in a batch.
    max_windows: windows of a pass at most: one is drawn from each of so many equal runs of windows.
    None takes all.
    seed: of the draw and the shuffling; None keeps the order.
    out_of_fold: what forecasts the windows in place of the module's own path, see `OutOfFoldPath`.
    """

    source: WindowSource
    origins: Origins
    weight: Tensor | None
    batch_size: int
    max_windows: int | None
    seed: int | None
    out_of_fold: OutOfFoldPath | None = None

    def __post_init__(self) -> None:
        n_windows = self.origins.count
        self.n_drawn = min(n_windows, self.max_windows or n_windows)
        self.y = self.source.values[:, : self.source.sizes.n_targets]
        self.generator = None
        if self.seed is not None:
            self.generator = torch.Generator().manual_seed(self.seed)

    def with_max_windows(self, n_windows: int) -> WindowBatches:
        """Return a copy, sharing the shuffling, that draws at most so many windows in a pass."""
        batches = copy.copy(self)
        batches.n_drawn = min(n_windows, self.n_drawn)
        return batches

    def __len__(self) -> int:
        """Count the batches."""
        return -(-self.n_drawn // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches, newly shuffled if there is a seed."""
        drawn = self.draw()
        on_device = torch.from_numpy(drawn).to(self.source.values.device)
        for first in range(0, len(drawn), self.batch_size):
            some = slice(first, first + self.batch_size)
            origins = on_device[some]
            inputs: tuple[Tensor | None, ...] = self.source.inputs(origins)
            if self.out_of_fold is not None:  # what the network corrects
                inputs = *inputs, self.out_of_fold.forecast(inputs[:4], drawn[some])
            weight = None
            if self.weight is not None:
                weight = self.source.future(self.weight, origins)
            yield Batch(inputs, self.source.future(self.y, origins), weight)

    def draw(self) -> IntArray:
        """Choose the windows of a pass, one in each of `n_drawn` equal runs, shuffled by the seed.

        Without a seed they are always the same.
        """
        if self.generator is None:
            return self.origins.thinned(self.n_drawn)
        n_drawn = self.n_drawn
        generator = self.generator
        places = torch.arange(n_drawn)
        n_windows = self.origins.count
        if n_drawn < n_windows:
            inside = torch.rand(n_drawn, generator=generator, dtype=torch.float64)
            run_length = n_windows / n_drawn
            places = ((places + inside) * run_length).long()
        order = torch.randperm(n_drawn, generator=generator)
        return self.origins.take(places[order].numpy())

    def get_state(self) -> Tensor | None:
        """Return the state of the shuffling."""
        return None if self.generator is None else self.generator.get_state()

    def set_state(self, state: Tensor | None) -> None:
        """Continue shuffling from a state of `get_state`."""
        if self.generator is not None and state is not None:
            self.generator.set_state(state)
