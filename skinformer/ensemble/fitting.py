"""Parts of a fit, between the rows that were read and the trained module."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from skinformer.ensemble.batches import WindowBatches, window_source
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.member import CLASSICAL
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Rows
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.split import series_with_truth, split_rows
from skinformer.timeline.timeline import Table, Timeline, first_known
from skinformer.timeline.windows import Origins
from skinformer.validation import parameters as checks


def find_split(
    table: Table,
    settings: FitSettings,
    names: pd.Index | None,
) -> IntArray | None:
    """Find the row where each series' validation split begins; None for no validation.

    names: of the series; those that are too short to learn from are warned of.
    """
    if settings.needs_no_split:
        return None
    sizes = {"seq_len": settings.seq_len, "pred_len": settings.pred_len}
    split = None
    if settings.early_stopping is not False:
        split = split_rows(
            table,
            **sizes,
            fraction=settings.validation_fraction,
            n_forecasts=2 if CLASSICAL in settings.members else 1,
        )
    is_trained, is_validated = series_with_truth(table, split, **sizes)
    if split is None or not (is_trained.any() and is_validated.any()):
        checks.check_both_sides(settings.refits_on_all)
        split = None
        is_trained, _ = series_with_truth(table, None, **sizes)
    checks.warn_of_idle_series(names, is_trained, **sizes)
    if table.missing is not None:
        is_known = (~table.missing).any(axis=1)
        checks.warn_of_unknown_series(
            names, np.logical_or.reduceat(is_known, table.first_row[:-1])
        )
        is_given = ~table.missing.all(axis=1)
        if table.unused is not None:
            is_given |= table.unused.any(axis=1)
        last_known = table.steps[is_given].max()
        n_open = table.steps.max() - last_known
        if n_open >= settings.pred_len:
            checks.warn_of_rows_to_come(n_open)
    return split


def cut_windows(
    timeline: Timeline,
    sizes: ModelSizes,
    split: IntArray | None,
) -> tuple[Origins, Origins]:
    """Return the origins of training windows and of validation windows, none without a split.

    The former have targets that end before the split, the latter targets that begin in it.
    """
    earliest = timeline.first_row[:-1] + sizes.seq_len
    end = timeline.first_row[1:]
    stop = end if split is None else split
    training = Origins(earliest, stop - sizes.pred_len)
    validation = Origins(
        np.maximum(earliest, stop),
        end - sizes.pred_len,
    )
    return training, validation


class FitBatches(NamedTuple):
    """Batches to train on, and those of the validation split if there is one."""

    training: WindowBatches
    validation: WindowBatches | None

    def with_share(self, share: float) -> FitBatches:
        """Draw fewer windows an epoch, for a network that has only a share of the forecast.

        share: of the windows drawn so far, in [0, 1]; a thousand are drawn at least. Where the user
        wants all, all are taken.

        No epoch judges by more windows than it learns from.
        """
        training, validation = self
        if training.max_windows is None:
            return self
        n_least = 1000  # a network needs these to learn anything
        n_drawn = max(int(share * training.n_drawn), n_least)
        training = training.with_max_windows(n_drawn)
        if validation is not None:
            validation = validation.with_max_windows(training.n_drawn)
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
    timeline = rows.timeline
    sizes = rows.sizes
    weight = None
    if timeline.weight is not None:
        weight = torch.from_numpy(timeline.weight).to(settings.device)
    training = WindowBatches(
        source=window_source(
            timeline.values,
            timeline.steps,
            timeline.series,
            timeline.clock,
            sizes=sizes,
            device=settings.device,
        ),
        origins=origins,
        weight=weight,
        n_targets=sizes.n_targets,
        batch_size=settings.batch_size,
        max_windows=settings.max_windows,
        seed=rows.seed,
        out_of_fold=out_of_fold,
    )
    validation = None
    if rows.validation_origins.count:
        validation = replace(
            training,
            origins=rows.validation_origins,
            seed=None,
            out_of_fold=None,
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
    calendars: what the calendar does, found before the split and on all rows.
    """

    timeline: Timeline
    sizes: ModelSizes
    scaler: Scaler
    split: IntArray | None
    validation_origins: Origins
    missing: BoolArray | None
    seed: int
    calendars: tuple[CalendarEffect | None, CalendarEffect | None] = (None, None)

    def before_split(self) -> Timeline:
        """Return the rows before the validation split; all where there is none."""
        return self.timeline if self.split is None else self.timeline.head(self.split)

    def times_of(self, rows: IntArray) -> IntArray:
        """Return times of rows: 0 is where their series' split begins; without one, clock steps."""
        if self.split is None:
            return self.timeline.steps_of(rows)
        return rows - self.split[self.timeline.series_of(rows)]

    def as_segments(self) -> Rows:
        """Return all rows as those that windows are forecast on."""
        timeline = self.timeline
        return Rows(
            timeline.values,
            timeline.series,
            timeline.steps,
            first_known(self.missing, timeline.first_row),
            observed_targets(timeline, self.sizes.n_targets),
        )


def observed_targets(timeline: Timeline, n_targets: int) -> BoolArray:
    """Return which targets of a timeline were observed, (n_rows, n_targets)."""
    if timeline.weight is not None:
        return timeline.weight > 0
    return np.ones((len(timeline.values), n_targets), dtype=bool)
