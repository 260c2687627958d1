"""From settings and the rows' sizes to the torch module."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.ensemble.names import RIDGES
from skinformer.ensemble.settings import FitSettings
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.model.settings import WindowLayout
from skinformer.ridge.linear_path import LinearPath
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.calendar import FIELDS, choose_fields, year_fields
from skinformer.timeline.roles import Roles
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.timeline import Timeline
from skinformer.validation.parameters import warn_of_one_series


class ModelSizes(NamedTuple):
    """What the data, not the user, decides about the module; no series: no embedding of them.

    mean_step: mean length of a step, where positions are continuous in time.
    may_miss: whether covariates may be NaN, which a learnt vector then stands for.
    n_network_fields: how many of the calendar fields, the first, the network embeds, where the
    ridges read more: by those of the year, of which years enough were seen.
    season: rows of the shortest season that is likely and fits in a window; 0 for none.
    """

    n_targets: int
    n_past: int
    n_known: int
    n_static: int
    n_series: int
    calendar_fields: tuple[str, ...]
    seq_len: int
    pred_len: int
    patch_len: int
    mean_step: float | None = None
    may_miss: bool = False
    n_network_fields: int | None = None
    season: int = 0

    @property
    def decoder_patch_len(self) -> int:
        """Decide how many steps make a token of the decoder.

        It is 1 where columns known ahead vary: all values of a token reach all its forecasts, which
        would depend on values of later steps, and on whether these were given at all.
        """
        return 1 if self.n_known > self.n_static else self.patch_len


def model_sizes(settings: FitSettings, roles: Roles, timeline: Timeline) -> ModelSizes:
    """Read the module's sizes off the training rows."""
    fields = _network_fields(settings, timeline)
    n_network_fields = None
    if fields and timeline.n_series == 1 and RIDGES in settings.members:
        of_year = year_fields(timeline.labels, fields)
        if of_year is not None:
            n_network_fields = len(fields)
            fields += of_year
    mean_step = None
    if settings.network.position == "continuous":
        mean_step = _mean_step(timeline)
    return ModelSizes(
        n_targets=timeline.values.shape[1] - len(roles.past) - len(roles.known),
        n_past=len(roles.past),
        n_known=len(roles.known),
        n_static=len(roles.static),
        n_series=_n_embedded(settings.embeddings, timeline.n_series),
        calendar_fields=fields,
        n_network_fields=n_network_fields,
        seq_len=settings.seq_len,
        pred_len=settings.pred_len,
        patch_len=settings.patch_len,
        mean_step=mean_step,
        may_miss="missing" in settings.embeddings,
        season=_season(timeline, settings.seq_len),
    )


def _network_fields(settings: FitSettings, timeline: Timeline) -> tuple[str, ...]:
    """Choose the calendar fields that the network embeds."""
    if settings.calendar is None or not timeline.clock.dated:
        return ()
    if settings.calendar == "auto":
        return choose_fields(timeline.labels)
    return tuple(settings.calendar)


def _season(timeline: Timeline, seq_len: int) -> int:
    """Return the shortest likely season that fits in a window; 0 for none."""
    seasons = calendar_seasons(timeline.clock)
    return next((season for season in seasons if season <= seq_len), 0)


def _n_embedded(embeddings: tuple[str, ...], n_series: int) -> int:
    """Count the series that get a vector; one alone would be one more bias."""
    if "series" not in embeddings:
        return 0
    if n_series == 1:
        warn_of_one_series(list(embeddings))
        return 0
    return n_series


def _mean_step(timeline: Timeline) -> float:
    first = timeline.first_step.min()
    last = timeline.end_step.max() - 1
    began, ended = timeline.clock.elapsed(np.array([first, last]))
    return float((ended - began) / max(1, last - first))


def limit_epochs(settings: FitSettings, first_row: IntArray) -> FitSettings:
    """Limit the epochs of a standalone network to three passes, before it overfits.

    first_row: (n_series + 1,), where each series begins.

    Of ten epochs of ETTh1 the first was the best; three are 7 % better (notes/).
    """
    trainer = settings.trainer
    window_len = settings.seq_len + settings.pred_len
    lengths = np.diff(first_row)
    n_windows = np.maximum(lengths - window_len + 1, 1).sum()
    n_drawn = min(n_windows, settings.max_windows or n_windows)
    # Three passes over all windows; of few windows as many as make 25,000.
    n_seen = max(3 * n_windows, 25_000)
    n_epochs = round(n_seen / n_drawn)
    if not _is_standalone(settings) or n_epochs >= trainer.max_iter:
        return settings
    return replace(settings, trainer=replace(trainer, max_iter=n_epochs))


def _is_standalone(settings: FitSettings) -> bool:
    """Whether the network corrects no ridges and normalises its windows.

    Networks as the papers have them do not: they see all columns together, and zeros.
    """
    alone = RIDGES not in settings.members
    return alone and settings.network.window_norm and settings.head.in_units


def build_module(
    settings: FitSettings, sizes: ModelSizes, *, path: LinearPath | None, seed: int
) -> Informer | Corrected:
    """Build the network with weights newly drawn by the seed, and the path that it corrects.

    It is in training mode, on the CPU; dropout and key sampling have the same seed.
    """
    label_len = settings.label_len
    if label_len is None:  # whole patches, so that none has to be filled up
        half = sizes.seq_len // 2
        label_len = half - half % sizes.decoder_patch_len
    standalone = _is_standalone(settings)
    # Targets forecast one by one: so many times the windows of a step are in memory.
    n_most_apart = 16
    layout = WindowLayout(
        n_targets=sizes.n_targets,
        n_past=sizes.n_past,
        n_known=sizes.n_known,
        apart=standalone and 1 < sizes.n_targets <= n_most_apart,
        season=sizes.season if standalone else 0,
        window_path=standalone,
        calendar_sizes=_calendar_sizes(sizes),
        seq_len=sizes.seq_len,
        label_len=label_len,
        pred_len=sizes.pred_len,
        patch_len=sizes.patch_len,
        decoder_patch_len=sizes.decoder_patch_len,
        outputs=settings.head.outputs,
        in_units=settings.head.in_units,
        forecasts_distance=path is not None,
        reads_forecast=path is not None,
        null_embedding=sizes.may_miss,
    )
    network = Informer(layout, settings.network, seed=seed)
    return network if path is None else Corrected(path, network)


def _calendar_sizes(sizes: ModelSizes) -> tuple[int, ...]:
    """Count the categories of each calendar field, and of series as one field more."""
    fields = sizes.calendar_fields[: sizes.n_network_fields]
    n_categories = [FIELDS[name].size for name in fields]
    if sizes.n_series:
        n_categories.append(sizes.n_series + 1)  # the last stands for other series
    return tuple(n_categories)
