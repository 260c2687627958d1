"""Settings of a fit, and its course."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from skinformer.training.losses import Loss


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How to train; every value is resolved, none is "auto".

    max_iter: epochs at most.
    n_iter_no_change: epochs without an improvement after which a fit with validation stops.
    tol: an improvement lowers the best validation loss so far by more than this.
    learning_rate, muon_learning_rate: peak rates of AdamW and of Muon.
    weight_decay: see `make_optimizers`.
    optimizer: "adamw" for all parameters, or "muon" for those of the group "matrix".
    warmup_fraction: share of the steps with a rising learning rate; 2000 steps at most.
    max_grad_norm: bound of the gradients' global norm; None turns clipping off.
    accumulate: batches that share one optimiser step.
    precision: "fp32", "bf16", "fp16", see `make_scaler`.
    loss: one error per target value, see `losses`.
    """

    max_iter: int
    n_iter_no_change: int
    tol: float
    learning_rate: float
    muon_learning_rate: float
    weight_decay: float
    optimizer: str
    warmup_fraction: float
    max_grad_norm: float | None
    accumulate: int
    precision: str
    loss: Loss


class EpochRow(NamedTuple):
    """One epoch.

    epoch: 1 for the first.
    loss: weighted mean over the present training values, in the order and with the weights of the
    epoch's own steps.
    validation_loss: the same over the validation batches after the epoch; NaN without them.
    learning_rate: AdamW's (Muon's where nothing is left to AdamW), at the epoch's last step.
    gradient_norm: mean over the steps, before clipping, of those that are finite; NaN if none is.
    seconds: wall time of training and validation.
    """

    epoch: int
    loss: float
    validation_loss: float
    learning_rate: float
    gradient_norm: float
    seconds: float

    @property
    def last_loss(self) -> float:
        """Loss of the weights: of validation, or of training without it."""
        if math.isnan(self.validation_loss):
            return self.loss
        return self.validation_loss


@dataclass(kw_only=True)
class TrainingRecord:
    """The course of a fit.

    rows: one per finished epoch.
    best_iter: epoch whose weights the module now has; 0 for those it came with.
    best_loss: validation loss of that epoch (training loss without validation); infinite at first.
    stopped: "converged", "max_iter", "max_seconds", "callback" (also where the network gave up),
    "interrupted"; "" while the fit goes on.
    """

    rows: list[EpochRow] = field(default_factory=list)
    best_iter: int = 0
    best_loss: float = float("inf")
    stopped: str = ""

    @property
    def n_iter(self) -> int:
        """Number of finished epochs."""
        return len(self.rows)
