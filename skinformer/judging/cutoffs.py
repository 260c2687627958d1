"""At which rows members are compared: the validation split, its windows, stretches of time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.names import CLASSICAL
from skinformer.ensemble.settings import FitSettings
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.split import series_with_truth, split_rows
from skinformer.timeline.timeline import Table, Timeline
from skinformer.timeline.windows import Origins
from skinformer.validation import parameters as checks


def find_split(
    table: Table, settings: FitSettings, names: pd.Index | None
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
        _warn_of_missing(table, table.missing, names, settings.pred_len)
    return split


def _warn_of_missing(
    table: Table, missing: BoolArray, names: pd.Index | None, pred_len: int
) -> None:
    """Warn of series without a truth, and of rows that end behind the last truth of all.

    missing: (n_rows, n_targets), where a truth is missing.
    """
    is_known = (~missing).any(axis=1)
    of_series = np.logical_or.reduceat(is_known, table.first_row[:-1])
    checks.warn_of_unknown_series(names, of_series)
    is_given = is_known
    if table.unused is not None:
        is_given = is_given | table.unused.any(axis=1)
    n_open = table.steps.max() - table.steps[is_given].max()
    if n_open >= pred_len:
        checks.warn_of_rows_to_come(n_open)


def cut_windows(
    timeline: Timeline, sizes: ModelSizes, split: IntArray | None
) -> tuple[Origins, Origins]:
    """Return the origins of training windows and of validation windows, none without a split.

    The former have targets that end before the split, the latter targets that begin in it.
    """
    earliest = timeline.first_row[:-1] + sizes.seq_len
    end = timeline.first_row[1:]
    stop = end if split is None else split
    training = Origins(earliest, stop - sizes.pred_len)
    validation = Origins(np.maximum(earliest, stop), end - sizes.pred_len)
    return training, validation


def cut_last_rows(timeline: Timeline, pred_len: int) -> tuple[IntArray, Origins]:
    """Return where the last rows of each series begin, and the windows of these.

    They are a quarter of a series' rows, one to four forecasts long; none of a series that does not
    hold three forecasts.
    """
    n_rows = np.diff(timeline.first_row)
    n_last = np.clip(n_rows // 4, pred_len, 4 * pred_len)
    end = timeline.first_row[1:]
    split = np.where(n_rows >= 3 * pred_len, end - n_last, end)
    return split, Origins(split, end - pred_len)


def series_origins(validation_origins: Origins) -> IntArray:
    """Choose windows to weigh by for each series, spread over its split."""
    some = np.flatnonzero(validation_origins.high >= validation_origins.low)
    n_origins = cut_offs_of_each(max(len(some), 1))
    place = np.arange(n_origins)
    low = validation_origins.low[some, None]
    high = validation_origins.high[some, None]
    return np.unique(low + (high - low) * place // (n_origins - 1))


def cut_offs_of_each(n_series: int) -> int:
    """Return at how many cut-offs each of so many series is forecast.

    They are 16 to 64, 4,000 of all series where these bounds allow it, but two where there would be
    more than 20,000 of all: forecasts that overlap say little more (notes/panels.md).

    >>> [cut_offs_of_each(n_series) for n_series in (1, 100, 1000, 10_000)]
    [64, 40, 16, 2]
    """
    wanted = min(max(4_000 // n_series, 16), 64)
    return min(wanted, max(20_000 // n_series, 2))
