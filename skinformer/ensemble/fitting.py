"""Parts of a fit, between the rows that were read and the trained module."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from skinformer.budget import Share
from skinformer.ensemble.batches import WindowBatches, WindowSource
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import RowBuffer, Rows
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline, first_known
from skinformer.timeline.windows import Origins, origins_between


class FitBatches(NamedTuple):
    """Batches to train on, and those of the validation split if there is one."""

    training: WindowBatches
    validation: WindowBatches | None

    def with_share(self, share: float) -> FitBatches:
        """Draw fewer windows an epoch, for a network that has only a share of the forecast.

        share: of the windows drawn so far, in [0, 1]; a thousand are drawn at least. Where the user
        wants all, all are taken.
        """
        training = self.training
        if training.max_windows is None:
            return self
        n_least = 1000  # a network needs these to learn anything
        return self._drawing(max(int(share * training.n_drawn), n_least))

    def with_effort(self, share: Share) -> FitBatches:
        """Draw fewer windows an epoch where the seconds of a fit are limited."""
        if not share.is_limited:
            return self
        training = self.training
        n_drawn = share.of(training.n_drawn, least=training.batch_size, power=0.5)
        return self._drawing(n_drawn)

    def _drawing(self, n_drawn: int) -> FitBatches:
        """Draw so many windows an epoch at most.

        An epoch is judged by a quarter of as many, but by a thousand where it learns from these:
        most windows of the split overlap, and the share of a trained network is found by all.
        """
        training, validation = self
        training = training.with_max_windows(n_drawn)
        if validation is not None:
            n_drawn = training.n_drawn
            n_judging = max(n_drawn // 4, min(n_drawn, 1000))
            validation = validation.with_max_windows(n_judging)
        return FitBatches(training, validation)


def window_batches(
    rows: FitRows,
    origins: Origins,
    settings: FitSettings,
    out_of_fold: OutOfFoldPath | None = None,
) -> FitBatches:
    """Make batches of training and validation windows, on the device of the settings.

    origins: the windows to train on.
    out_of_fold: what the network corrects in training windows, if not the module's own path.
    """
    weight = None
    if rows.timeline.weight is not None:
        weight = torch.from_numpy(rows.timeline.weight).to(settings.device)
    training = WindowBatches(
        source=rows.as_buffer(settings.device).source,
        origins=origins,
        weight=weight,
        batch_size=settings.batch_size,
        max_windows=settings.max_windows,
        seed=rows.seed,
        out_of_fold=out_of_fold,
    )
    validation = None
    if rows.validation_origins.count:
        validation = replace(
            training, origins=rows.validation_origins, seed=None, out_of_fold=None
        )
    return FitBatches(training, validation)


@dataclass(frozen=True)
class FitRows:
    """The rows of a fit, and how they are parted.

    timeline, scaler: standardised rows, and how they were standardised.
    sizes: what the columns are.
    split: the row at which each series' validation split begins.
    validation_origins: the windows within these.
    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    seed: of whatever is drawn.
    calendars: what the calendar does, found before the split and on all rows; to roots of targets,
    where ridges see these.
    whole: all rows, where these are those before the split alone; else None.
    """

    timeline: Timeline
    sizes: ModelSizes
    scaler: Scaler
    split: IntArray | None
    validation_origins: Origins
    missing: BoolArray | None
    seed: int
    calendars: tuple[CalendarEffect | None, CalendarEffect | None] = (None, None)
    whole: FitRows | None = None

    def before_cutoff(self) -> FitRows:
        """Return a copy of the rows before the validation split as all that there are."""
        if self.split is None:
            return replace(self, whole=self)
        timeline = self.timeline
        missing = self.missing
        if missing is not None:
            first = timeline.first_row[:-1]
            missing = missing[origins_between(first, self.split - 1)]
        nowhere = np.zeros_like(self.split)
        return replace(
            self,
            timeline=timeline.head(self.split),
            missing=missing,
            split=None,
            validation_origins=Origins(nowhere, nowhere - 1),
            whole=self,
        )

    @property
    def calendar(self) -> CalendarEffect | None:
        """What the calendar does, found on these rows."""
        return self.calendars[self.is_whole]

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows."""
        return self.whole is None

    @property
    def longest(self) -> int:
        """Rows of the longest series, those behind the split among them."""
        timeline = (self.whole or self).timeline
        return int(np.diff(timeline.first_row).max())

    @property
    def zero_of_targets(self) -> Float64Array | None:
        """The zero of one table's targets, (n_targets,), standardised.

        It is None for a panel, whose series have one each, and where targets are transformed.
        """
        is_transformed = self.scaler.targets.is_transformed.any()
        if self.timeline.n_series > 1 or is_transformed:
            return None
        first = np.array([0])
        mean, deviation = self.scaler.affine_parameters(first, self.sizes.n_targets)
        zero: Float64Array = (-mean / deviation)[0]
        return zero

    def times_of(self, rows: IntArray) -> IntArray:
        """Return times of rows: 0 is where their series' split begins; without one, clock steps."""
        if self.split is None:
            return self.timeline.steps_of(rows)
        return rows - self.split[self.timeline.series_of(rows)]

    def as_buffer(
        self, device: torch.device | str, given: WindowSource | None = None
    ) -> RowBuffer:
        """Return all rows as those that windows are forecast on.

        given: the rows as tensors, where they are such already.
        """
        timeline = self.timeline
        rows = Rows(
            timeline.values,
            timeline.series,
            timeline.steps,
            first_known(self.missing, timeline.first_row),
            timeline.observed(self.sizes.n_targets),
        )
        every = np.arange(timeline.n_series)
        return RowBuffer(rows, every, timeline.clock, self.sizes, device, given)
