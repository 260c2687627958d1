"""What a fit is told: frozen values, read from the parameters once, at its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from skinformer.ensemble.head import ClassHead, Head
from skinformer.ensemble.history_forecaster import HistoryForecaster
from skinformer.ensemble.names import CLASSICAL, RIDGES
from skinformer.model.settings import NetworkSettings
from skinformer.training.record import TrainerSettings


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """
    Everything that a fit is told besides the rows and what their columns are.

    Every value is resolved, but for those that the rows decide: None for `label_len` and "auto"
    for the calendar and early stopping.

    seasons: rows of each that a user named, ascending; none where the clock or the rows tell.
    members: those of the package that take part, by name: "auto", or the estimator that a user
    gave in place of trees.
    forecasters: those of the user's.
    batch_size: windows in memory at once.
    """

    head: Head
    network: NetworkSettings
    trainer: TrainerSettings
    seq_len: int
    label_len: int | None
    pred_len: int
    patch_len: int
    calendar: Literal["auto"] | list[str] | None
    seasons: tuple[int, ...]
    embeddings: tuple[str, ...]
    target_transform: Any
    members: Mapping[str, Any]
    forecasters: tuple[HistoryForecaster, ...]
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    batch_size: int
    max_windows: int | None
    checkpoint: Any
    device: torch.device

    def without(self, *names: str) -> FitSettings:
        """Leave members out."""
        kept = {name: self.members[name] for name in self.members if name not in names}
        return replace(self, members=kept)

    @property
    def classifies(self) -> bool:
        """Whether classes are forecast."""
        return isinstance(self.head, ClassHead)

    @property
    def refits_on_all(self) -> bool:
        """Whether members are fitted again to all rows, once they are weighed."""
        return self.early_stopping is not True

    @property
    def needs_no_split(self) -> bool:
        """Whether no member needs a validation split: all part the rows of series themselves."""
        judge_themselves = CLASSICAL in self.members or len(self.forecasters) > 0
        return judge_themselves and RIDGES not in self.members
