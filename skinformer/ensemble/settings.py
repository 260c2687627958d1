"""What a fit is told: frozen values, read from the parameters once, at its start."""

from dataclasses import dataclass
from typing import Any, Literal

import torch

from skinformer.ensemble.head import Head
from skinformer.ensemble.history_forecaster import HistoryForecaster
from skinformer.model.settings import NetworkSettings
from skinformer.training.record import TrainerSettings


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """
    Everything that a fit is told besides the rows and what their columns are.

    Every value is resolved, but for those that the rows decide: None for `label_len` and "auto"
    for the calendar and early stopping.

    classical: whether classical forecasters take part, as far as series are short enough for them,
    or where nobody else is wanted.
    own_ridges: whether ridges of each series take part, in panels.
    classifies: whether classes are forecast.
    class_base: whether their forecasts start from frequencies, transitions and a logistic map.
    regressor: what is fitted on features of steps ahead: "auto" for trees, an estimator, or None.
    forecasters: those of the user's.
    train_network: whether a network is wanted, and rows are enough for one to prove anything.
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
    embeddings: tuple[str, ...]
    target_transform: Any
    linear_path: bool
    classical: bool
    own_ridges: bool
    classifies: bool
    class_base: bool
    regressor: Any
    forecasters: tuple[HistoryForecaster, ...]
    train_network: bool
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    batch_size: int
    max_windows: int | None
    checkpoint: Any
    device: torch.device

    @property
    def refits_on_all(self) -> bool:
        """Whether members are fitted again to all rows, once they are weighed."""
        return self.early_stopping is not True

    @property
    def needs_no_split(self) -> bool:
        """Whether no member needs a validation split: all part the rows of series themselves."""
        return not self.linear_path and (self.classical or len(self.forecasters) > 0)
